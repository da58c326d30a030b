use netflow_fluid::*;
use netflow_problems::*;
use std::time::Instant;
fn main() {
    let a: Vec<usize> = std::env::args()
        .skip(1)
        .map(|x| x.parse().unwrap())
        .collect();
    let (nodes, links, conns) = (a[0], a[1], a[2]);
    let t = Instant::now();
    let net = random_network(RandomNetwork {
        nodes,
        links,
        connections: conns,
        events: 0,
        duration_s: 60.,
        seed: 1,
        plain: true,
    });
    println!("build {:?} classes {}", t.elapsed(), net.class_count());
    for (tr, cp) in [
        (Transport::WellMixed, Coupling::Lagged),
        (Transport::WellMixed, Coupling::Implicit),
        (Transport::Fifo, Coupling::Lagged),
    ] {
        if a.len() > 3 && a[3] == 1 && tr != Transport::WellMixed {
            continue;
        }
        if a.len() > 3 && cp != Coupling::Lagged {
            continue;
        }
        let o = Options {
            duration_s: 60.,
            step: Step::Fixed { step_s: 0.05 },
            transport: tr,
            coupling: cp,
            model: Model::Fluid,
        };
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let t = Instant::now();
            let mut s = match Simulation::new(net.clone(), o) {
                Ok(s) => s,
                Err(e) => {
                    println!("{e}");
                    continue;
                }
            };
            let setup = t.elapsed();
            s.step().unwrap();
            let hops: usize = net
                .connections()
                .map(|c| net.path(c).len() + net.return_path(c).len())
                .sum();
            let t = Instant::now();
            let n = if conns >= 100_000 { 20 } else { 1000 };
            pool.install(|| {
                for _ in 0..n {
                    s.step().unwrap();
                }
            });
            let e = t.elapsed().as_secs_f64() / n as f64;
            println!(
                "{tr:?} {cp:?} threads {threads}: setup {setup:?} step {:.1} us, hops {hops}, {:.2} ns/hop",
                e * 1e6,
                e * 1e9 / hops as f64
            );
        }
    }
}
