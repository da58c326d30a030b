//! What a sweep costs beside its cases; asked for by name.

use std::time::Instant;

use netflow_results::Format;
use netflow_scenario::new::{Wishes, random};
use netflow_scenario::{Prepared, Problems, from_str};
use netflow_steady::{SteadyOptions, solve};
use netflow_sweep::{Axis, Request, Sweep, Writing};

/// Cases of 100 nodes by a sweep, and prepared and solved one after the other; both on one thread.
#[test]
#[ignore = "a minute; run with --release and --nocapture"]
fn a_sweep_costs_little_more_than_its_cases() {
    const CASES: u64 = 10_000;
    let text = random(&Wishes {
        nodes: Some(100),
        ..Wishes::default()
    })
    .unwrap();
    let load = |settings: &[String]| -> Result<Prepared, Problems> {
        from_str("random.toml", &text, ".".as_ref(), settings)
    };
    let link = {
        let base = load(&[]).unwrap();
        let first = base.network.links().next().unwrap();
        base.network.link_name(first).to_owned()
    };
    let axes = [
        format!("link.{link}.bandwidth=5..50 Mbit/s/100"),
        "link.*.buffer=20..200 pkt/100x".to_owned(),
    ];
    for format in [Format::Csv, Format::Parquet] {
        if !format.is_available() {
            println!("{format}: not in this build");
            continue;
        }
        let request = Request {
            axes: axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect(),
            format,
            ..Request::default()
        };
        let sweep = Sweep::new(request, Some(1), &load).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sweep.cases().count(), CASES);

        let began = Instant::now();
        let (mut prepare_s, mut goodput_bps) = (0.0, 0.0);
        for index in 0..CASES {
            let began = Instant::now();
            let scenario = load(&sweep.settings_of(&sweep.cases().case(index))).unwrap();
            prepare_s += began.elapsed().as_secs_f64();
            let rest = solve(
                &scenario.network,
                scenario.options.duration_s,
                &SteadyOptions::default(),
            );
            goodput_bps += rest.unwrap().totals.goodput_bps;
        }
        let direct_s = began.elapsed().as_secs_f64();

        let place = tempfile::tempdir().unwrap();
        let writing = Writing {
            threads: Some(1),
            ..Writing::default()
        };
        let began = Instant::now();
        let written = sweep
            .write(place.path(), &writing, &load, &mut |_| {}, &|| false)
            .unwrap();
        let sweep_s = began.elapsed().as_secs_f64();
        assert_eq!((written.cases, written.without_answer), (CASES, 0));
        assert!(goodput_bps > 0.0);
        let ms = |time_s: f64| 1e3 * time_s / CASES as f64;
        println!(
            "{format}: {CASES} cases, {} rows; prepared and solved by the library {:.3} ms a case ({:.3} of it prepared), \
             by the sweep {:.3} ms: {:+.1} %",
            written.rows,
            ms(direct_s),
            ms(prepare_s),
            ms(sweep_s),
            100.0 * (sweep_s / direct_s - 1.0)
        );
    }
}
