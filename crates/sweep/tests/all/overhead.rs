//! Overhead of a sweep over its cases; ignored by default.

use netflow_results::Format;
use netflow_scenario::generate::{SizeRequest, random};
use netflow_scenario::{CompiledScenario, Problems, from_str};
use netflow_steady::{SteadyOptions, solve};
use netflow_sweep::{Axis, Sweep, SweepRequest, WriteOptions};

/// Returns the CPU time of this process in seconds, which other processes do not affect. Linux counts it in
/// hundredths.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let fields = fields.split_whitespace().skip(11).take(2);
    fields.filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Compares a fraction of a sweep of 100 000 cases with 100 nodes with cases prepared and solved directly.
/// Both alternate, because other processes change the time per case.
#[test]
#[ignore = "ten minutes; run with --release and --nocapture"]
fn sweep_overhead_is_small() {
    const CASES: u64 = 100_000;
    const ROUNDS: u32 = 5;
    /// Number of parts of the sweep, of which [`ROUNDS`] are evaluated.
    const PARTS: u32 = 25;
    /// A prime stride, so that the selected cases cover all values of the settings.
    const EVERY: u64 = 499;
    let text = random(&SizeRequest {
        nodes: Some(100),
        ..SizeRequest::default()
    })
    .unwrap();
    let load = |settings: &[String]| -> Result<CompiledScenario, Problems> {
        from_str("random.toml", &text, ".".as_ref(), settings)
    };
    let base = load(&[]).unwrap();
    let first = base.network.links().next().unwrap();
    let link = base.network.link_name(first);
    let axes = [
        format!("link.{link}.bandwidth=5..50 Mbit/s/100"),
        "link.*.buffer=20..2000 pkt/1000x".to_owned(),
    ];
    let sweep = |format: Format| {
        let request = SweepRequest {
            axes: axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect(),
            format,
            ..SweepRequest::default()
        };
        let began_s = processor_s();
        let sweep = Sweep::new(request, &load, &|| false).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sweep.cases().count(), CASES);
        // Share of this part in the validation before the sweep.
        let part = f64::from(ROUNDS) / f64::from(PARTS);
        (
            sweep,
            tempfile::tempdir().unwrap(),
            part * (processor_s() - began_s),
        )
    };
    let formats = [Format::Parquet, Format::Csv].map(|format| (format, format.is_available()));
    let mut sweeps: Vec<_> = (formats.iter())
        .filter(|(_, is_available)| *is_available)
        .map(|&(format, _)| (format, sweep(format), [0; 2]))
        .collect();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one = one.unwrap();
    let (mut alone_s, mut prepare_s, mut alone) = (0.0, 0.0, 0);
    for round in 1..=ROUNDS {
        let (cases, ..) = &sweeps[0].1;
        let began_s = processor_s();
        for index in (u64::from(round)..CASES).step_by(EVERY as usize) {
            let before_s = processor_s();
            let scenario = load(&cases.settings_of(&cases.cases().case(index))).unwrap();
            prepare_s += processor_s() - before_s;
            let at_s = scenario.options.duration_s;
            assert!(solve(&scenario.network, at_s, &SteadyOptions::default()).is_ok());
            alone += 1;
        }
        alone_s += processor_s() - began_s;
        for (_, (sweep, place, time_s), [cases, rows]) in &mut sweeps {
            let began_s = processor_s();
            let writing = WriteOptions {
                shard: format!("{round}/{PARTS}").parse().unwrap(),
                ..WriteOptions::default()
            };
            let written = one
                .install(|| sweep.write(place.path(), &writing, &load, &mut |_| {}, &|| false))
                .unwrap();
            *time_s += processor_s() - began_s;
            assert_eq!(written.without_result, 0);
            *cases += written.cases;
            *rows += written.rows;
        }
    }
    let ms = |time_s: f64, cases: u64| 1e3 * time_s / cases as f64;
    let alone_ms = ms(alone_s, alone);
    let prepare_ms = ms(prepare_s, alone);
    println!("alone {alone_ms:.3} ms of processor a case, {prepare_ms:.2} of it to prepare");
    for (format, (_, _, time_s), [cases, rows]) in sweeps {
        let sweep_ms = ms(time_s, cases);
        println!(
            "{format}: {cases} cases, {rows} rows: {sweep_ms:.3} ms of processor a case, {:+.1} %",
            100.0 * (sweep_ms / alone_ms - 1.0)
        );
    }
}
