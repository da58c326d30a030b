//! What a sweep costs beside its cases; asked for by name.

use netflow_results::Format;
use netflow_scenario::new::{Wishes, random};
use netflow_scenario::{Prepared, Problems, from_str};
use netflow_steady::{SteadyOptions, solve};
use netflow_sweep::{Axis, Request, Sweep, Writing};

/// Seconds that this process has had of processors, which other work beside it does not add to; Linux
/// counts them in hundredths.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let fields = fields.split_whitespace().skip(11).take(2);
    fields.filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Cases of 100 nodes by a sweep; and every fifth of them prepared and solved by the library.
#[test]
#[ignore = "five minutes; run with --release and --nocapture"]
fn a_sweep_costs_little_more_than_its_cases() {
    const CASES: u64 = 10_000;
    const EVERY: u64 = 5;
    let text = random(&Wishes {
        nodes: Some(100),
        ..Wishes::default()
    })
    .unwrap();
    let load = |settings: &[String]| -> Result<Prepared, Problems> {
        from_str("random.toml", &text, ".".as_ref(), settings)
    };
    let base = load(&[]).unwrap();
    let first = base.network.links().next().unwrap();
    let link = base.network.link_name(first);
    let axes = [
        format!("link.{link}.bandwidth=5..50 Mbit/s/100"),
        "link.*.buffer=20..200 pkt/100x".to_owned(),
    ];
    let sweep = |format: Format| {
        let request = Request {
            axes: axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect(),
            format,
            ..Request::default()
        };
        Sweep::new(request, &load, &|| false).unwrap_or_else(|error| panic!("{error}"))
    };
    let ms = |time_s: f64, cases: u64| 1e3 * time_s / cases as f64;

    let cases = sweep(Format::Csv);
    assert_eq!(cases.cases().count(), CASES);
    let began_s = processor_s();
    let mut prepare_s = 0.0;
    for index in (0..CASES).step_by(EVERY as usize) {
        let before_s = processor_s();
        let scenario = load(&cases.settings_of(&cases.cases().case(index))).unwrap();
        prepare_s += processor_s() - before_s;
        let at_s = scenario.options.duration_s;
        assert!(solve(&scenario.network, at_s, &SteadyOptions::default()).is_ok());
    }
    let alone_ms = ms(processor_s() - began_s, CASES / EVERY);
    let prepare_ms = ms(prepare_s, CASES / EVERY);
    println!("alone {alone_ms:.3} ms of processor a case, {prepare_ms:.2} of it to prepare");

    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one = one.unwrap();
    for format in [Format::Parquet, Format::Csv] {
        if !format.is_available() {
            println!("{format}: not in this build");
            continue;
        }
        let sweep = sweep(format);
        let place = tempfile::tempdir().unwrap();
        let began_s = processor_s();
        let written = one.install(|| {
            let writing = Writing::default();
            sweep.write(place.path(), &writing, &load, &mut |_| {}, &|| false)
        });
        let written = written.unwrap();
        let sweep_ms = ms(processor_s() - began_s, CASES);
        assert_eq!((written.cases, written.without_answer), (CASES, 0));
        println!(
            "{format}: {CASES} cases, {} rows: {sweep_ms:.3} ms of processor a case, {:+.1} %",
            written.rows,
            100.0 * (sweep_ms / alone_ms - 1.0)
        );
    }
}
