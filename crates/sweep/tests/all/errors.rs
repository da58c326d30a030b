//! Errors are reported before any evaluation.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use netflow_results::Format;
use netflow_sweep::{Axis, Error, Model, Sweep, SweepRequest, WriteOptions};

use crate::common::{axes, error_text, load, request, sweep};

fn sweep_error(request: SweepRequest) -> String {
    match Sweep::new(request, &load, &|| false) {
        Err(error) => error_text(&error),
        Ok(sweep) => panic!("{} cases", sweep.cases().count()),
    }
}

#[test]
fn invalid_ranges_and_lists_are_rejected() {
    for (option, message) in [
        ("k", "the `=` between key and values is missing"),
        ("=1,2", "the key before `=` is missing"),
        ("k=", "the list of values is empty"),
        ("k=1,,2", "a value between two commas is empty"),
        ("k=1 ms,2 ms,1 ms", "the value `1 ms` is given twice"),
        ("k=1..4 Mbit/s", "the range `1..4 Mbit/s` has no count"),
        ("k=1..4", "the range `1..4` has no count"),
        ("k=1..4 ms/0", "a range has 2 to 100000 values, not 0"),
        ("k=1..4 ms/1", "a range has 2 to 100000 values, not 1"),
        (
            "k=1..4 ms/100001",
            "a range has 2 to 100000 values, not 100001",
        ),
        (
            "k=1..4 ms/99999999999999999999",
            "a range has 2 to 100000 values, not 99999999999999999999",
        ),
        ("k=1..4 ms/2.5", "the count `2.5` is not a whole number"),
        ("k=1..4 ms/-3", "the count `-3` is not a whole number"),
        ("k=4..1 ms/4", "the range from 4 to 1 does not increase"),
        ("k=1 ms..1 ms/4", "the range from 1 to 1 does not increase"),
        ("k=1 Mbit/s..4/3", "only the first end has a unit, `Mbit/s`"),
        (
            "k=1 ms..4 s/3",
            "the ends have different units, `ms` and `s`",
        ),
        ("k=NaN..3 ms/4", "`NaN` is not a number with a unit"),
        ("k=1..inf/4", "`inf` is not a number with a unit"),
        ("k=1..1e999/4", "`1e999` is too large"),
        (
            "k=0..3 ms/4x",
            "a range with equal ratios cannot begin at 0",
        ),
        ("k=1../3", "`` is not a number with a unit"),
    ] {
        let error = Axis::parse(option).unwrap_err();
        assert_eq!(error.message, message, "{option}");
        assert!(!error.help.is_empty());
    }
}

#[test]
fn invalid_values_are_rejected() {
    for (option, message) in [
        (
            "link.A->D.bandwidth=1..2 Mbit/s/3",
            "--set `link.A->D.bandwidth=1 Mbit/s`: unknown link `A->D`",
        ),
        (
            "link.A->B.bandwith=1..2 Mbit/s/3",
            "--set `link.A->B.bandwith=1 Mbit/s`: link `A->B` has no key `bandwith` that can be set",
        ),
        ("link.*.bandwidth=1..2/3", "`bandwidth` has no unit: 1"),
        (
            "link.*.bandwidth=-1..2 Mbit/s/3",
            "`bandwidth` cannot be -1 Mbit/s",
        ),
        ("link.*.buffer=10ms,NaN", "NaN"),
        ("connection.c1.count=1..2/3", "1.5"),
        (
            "connection.c1.source.constant=1 Mbit/s,1 Mbq",
            "unknown unit `Mbq`",
        ),
        ("simulation.model=fluid,liquid", "liquid"),
        ("nothing.at=1,2", "unknown setting `nothing.at`"),
    ] {
        let said = sweep_error(SweepRequest {
            axes: axes(&[option]),
            ..request()
        });
        assert!(said.contains(message), "{option}: {said}");
    }
}

#[test]
fn invalid_requests_are_rejected() {
    let same = "link.A->B.delay=1 ms,2 ms";
    let set = vec!["link.A->B.delay=5 ms".to_owned()];
    let cases: [(SweepRequest, &str); 9] = [
        (
            SweepRequest {
                axes: axes(&[same, same]),
                ..request()
            },
            "`link.A->B.delay` is varied twice",
        ),
        (
            SweepRequest {
                axes: axes(&[same]),
                settings: set,
                ..request()
            },
            "`link.A->B.delay` is both set and varied",
        ),
        (
            SweepRequest {
                axes: axes(&[same, "link.*.delay=8 ms,9 ms"]),
                ..request()
            },
            "`link.A->B.delay` is varied before `link.*.delay`, which replaces it",
        ),
        (
            SweepRequest {
                axes: axes(&["simulation.seed=1,2"]),
                ..request()
            },
            "`simulation.seed` is varied by `--seeds`",
        ),
        (
            SweepRequest {
                axes: axes(&["simulation.model=fluid,window"]),
                model: Model::Fluid,
                ..request()
            },
            "`simulation.model` is set by `--model`",
        ),
        (
            SweepRequest {
                seeds: 2,
                ..request()
            },
            "steady states are not random",
        ),
        (
            SweepRequest {
                seeds: 2,
                model: Model::Fluid,
                ..request()
            },
            "only the packet model and users are random",
        ),
        (
            SweepRequest {
                at_s: Some(1.0),
                model: Model::Fluid,
                ..request()
            },
            "`--at` requires `--model solve`",
        ),
        (
            SweepRequest {
                format: Format::Jsonl,
                ..request()
            },
            "tables cannot be written as jsonl",
        ),
    ];
    for (request, message) in cases {
        let said = sweep_error(request);
        assert!(said.contains(message), "{said}");
    }
    let said = sweep_error(SweepRequest {
        settings: vec!["connection.c2.source={ ns2-tcp = \"reno\" }".to_owned()],
        ..request()
    });
    assert!(
        said.contains("it has a TCP source of the packet model") && said.contains("--model packet"),
        "{said}"
    );
}

#[test]
fn too_many_cases_are_rejected() {
    let axis = |key: &str| axes(&[&format!("{key}=1..2 Mbit/s/100000")]).remove(0);
    let mut request = SweepRequest {
        axes: vec![axis("link.A->B.bandwidth"), axis("link.B->C.bandwidth")],
        ..request()
    };
    let said = sweep_error(request.clone());
    assert!(
        said.starts_with(
            "the sweep has 50000000000 cases with 450000000000 rows; the limit is 100000000"
        ),
        "{said}"
    );
    for key in ["link.A->C", "link.C->A", "connection.c1.source"] {
        let key = if key.starts_with("link") {
            format!("{key}.bandwidth")
        } else {
            format!("{key}.constant")
        };
        request.axes.push(axis(&key));
    }
    assert!(sweep_error(request.clone()).contains("50000000000000000000000000 cases"));
    for i in 0..4 {
        let axis = &mut request.axes[i].clone();
        axis.key = axis.key.replace("bandwidth", "delay");
        axis.values
            .iter_mut()
            .for_each(|value| *value = value.replace("Mbit/s", "ms"));
        request.axes.push(axis.clone());
    }
    assert!(sweep_error(request).contains("more than 10^38 cases"));
}

#[test]
fn foreign_directories_are_rejected() {
    let ours = sweep(request());
    let place = tempfile::tempdir().unwrap();
    let write = |sweep: &Sweep, writing: &WriteOptions| {
        let to = place.path().join("sweep");
        sweep.write(&to, writing, &load, &mut |_| {}, &|| false)
    };
    write(&ours, &WriteOptions::default()).unwrap();
    let other = sweep(SweepRequest {
        each_link_fails: false,
        ..request()
    });
    let error = write(&other, &WriteOptions::default()).unwrap_err();
    assert!(matches!(error, Error::OtherSweep { .. }));
    let said = error.to_string();
    assert!(
        said.ends_with("contains another sweep: `cases`, `chunks`, `fail` differ"),
        "{said}"
    );
    assert!(error.help().unwrap().contains("--force"));

    let description = place.path().join("sweep/sweep.json");
    for (text, message) in [
        ("{", "EOF"),
        ("[]", "it is not an object"),
        ("{}", "it has no `digest`"),
    ] {
        fs::write(&description, text).unwrap();
        let error = write(&ours, &WriteOptions::default()).unwrap_err();
        assert!(
            matches!(error, Error::InvalidDescription { .. })
                && error.to_string().contains(message),
            "{error}"
        );
    }
    let force = WriteOptions {
        force: true,
        ..WriteOptions::default()
    };
    assert_eq!(write(&other, &force).unwrap().cases, 12);

    fs::write(place.path().join("file"), "").unwrap();
    let error = ours.write(
        &place.path().join("file"),
        &force,
        &load,
        &mut |_| {},
        &|| false,
    );
    assert!(error.unwrap_err().to_string().starts_with("cannot write "));
}

/// The scenario is loaded again for every combination of values.
#[test]
fn changed_scenario_is_rejected() {
    let ours = sweep(request());
    let changed = |settings: &[String]| {
        let text = "simulation = { duration = \"6 s\" }\n\
            link = [{ from = \"A\", to = \"B\", bandwidth = \"4 Mbit/s\" }]\n\
            connection = [{ name = \"c1\", from = \"A\", to = \"B\", source = { constant = \"1 Mbit/s\" } }]";
        netflow_scenario::from_str("lab.toml", text, ".".as_ref(), settings)
    };
    let place = tempfile::tempdir().unwrap();
    let error = ours.write(
        place.path(),
        &WriteOptions::default(),
        &changed,
        &mut |_| {},
        &|| false,
    );
    assert!(matches!(error, Err(Error::Changed)));
}

/// Validating very many values can be stopped.
#[test]
fn validation_can_be_stopped() {
    let loads = AtomicU64::new(0);
    let counted = |settings: &[String]| {
        loads.fetch_add(1, Ordering::Relaxed);
        load(settings)
    };
    let many = SweepRequest {
        axes: axes(&["connection.c1.source.constant=0.5..3.5 Mbit/s/10000"]),
        each_link_fails: false,
        ..request()
    };
    let stopped = Sweep::new(many, &counted, &|| loads.load(Ordering::Relaxed) > 5);
    let Err(Error::Stopped { done, cases }) = stopped else {
        panic!("{} loads", loads.into_inner());
    };
    assert_eq!((done, cases), (0, 10_000));
    // The other threads may have started some meanwhile.
    assert!(loads.into_inner() < 1000);
}

/// Very many numbers are not all validated. The last one is, and an invalid one among the others gives a case
/// without a result.
#[test]
fn numeric_axes_are_validated_at_1000_values() {
    let sweep = |values: &str| {
        let loads = AtomicU64::new(0);
        let counted = |settings: &[String]| {
            loads.fetch_add(1, Ordering::Relaxed);
            load(settings)
        };
        let many = SweepRequest {
            axes: axes(&[&format!("connection.c1.source.constant={values}")]),
            each_link_fails: false,
            ..request()
        };
        let sweep = Sweep::new(many, &counted, &|| false);
        (sweep, loads.into_inner())
    };
    let (all, loads) = sweep("0.5..3.5 Mbit/s/900");
    assert_eq!((all.unwrap().cases().count(), loads), (900, 900));
    let (many, loads) = sweep("0.5..3.5 Mbit/s/3000");
    assert_eq!((many.unwrap().cases().count(), loads), (3000, 1001));
    // The last is negative, or one that is not validated.
    let values = |wrong: usize| {
        let values = (0..3000).map(|i| {
            if i == wrong {
                -1.0
            } else {
                1.0 + f64::from(i as u32)
            }
        });
        let values: Vec<String> = values.map(|it| format!("{it} kbit/s")).collect();
        values.join(",")
    };
    let (last, _) = sweep(&values(2999));
    assert!(matches!(last, Err(Error::Scenario(_))));
    let (other, _) = sweep(&values(1));
    let place = tempfile::tempdir().unwrap();
    let written = other.unwrap().write(
        place.path(),
        &WriteOptions::default(),
        &load,
        &mut |_| {},
        &|| false,
    );
    let written = written.unwrap();
    assert_eq!((written.cases, written.without_result), (3000, 1));
}
