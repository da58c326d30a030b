use study_short_transfers::{models, reference, root};
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let trials: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let mut rows = reference::linux(&root()).unwrap();
    rows.extend(reference::ns2(&root()).unwrap());
    let (mut n, mut e, mut chi, mut med, mut nm) = (0., 0., 0., 0., 0.);
    for row in rows {
        if !row.group.contains(&which) { continue; }
        let j = models::judge(row, trials).unwrap();
        let (m, p) = (j.row.delivered, j.delivered);
        let err = p.mean_s / m.mean_s - 1.0;
        let se = p.std_s / f64::from(j.row.repetitions).sqrt();
        let z = if se > 0.0 { (p.mean_s - m.mean_s) / se } else { 0.0 };
        let me = p.median_s / m.median_s - 1.0;
        println!("{} {:.0}ms {:.2} mean {:.4} {:+.1}% z {:+.2} sd {:.3}/{:.3} median {:.4} {:+.1}%", j.row.bytes, j.row.delay_s*1e3, j.row.loss, m.mean_s, 100.*err, z, p.std_s, m.std_s, m.median_s, 100.*me);
        n += 1.; e += err.abs(); if se > 0.0 { chi += z*z; }
        if j.row.loss <= 0.02 { med += me.abs(); nm += 1.; }
    }
    println!("{} rows: error {:.2}% chi2 {:.2} median {:.2}%", n, 100.*e/n, chi/n, 100.*med/nm);
}
