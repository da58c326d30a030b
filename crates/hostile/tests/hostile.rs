//! Every reader with inputs that failed before and a few hundred reproducible random inputs.

use std::time::Duration;

use netflow_hostile::{FuzzOptions, READERS, replay, run};

fn assert_no_failures(name: &str) {
    let reader = READERS
        .iter()
        .find(|reader| reader.name == name)
        .expect("a reader");
    if let Err(failed) = replay(reader) {
        panic!(
            "{}, as before: {}",
            failed.message,
            failed.input_file.display()
        );
    }
    let plan = FuzzOptions {
        seed: 1,
        inputs: 400,
        time: Duration::from_secs(60),
        threads: 1,
    };
    let tried = run(reader, &plan);
    assert!(
        tried.failures.is_empty(),
        "seed {}: {:?}",
        plan.seed,
        tried.failures
    );
    assert!(tried.inputs > 0);
}

macro_rules! sound {
    ($($name:ident),*) => {
        $(#[test] fn $name() { assert_no_failures(stringify!($name)); })*
        #[test]
        fn every_reader_is_tested() {
            let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

sound!(
    scenario,
    workloads,
    links_table,
    connections_table,
    profile,
    stack,
    ns2,
    capture,
    ipb,
    summary,
    manifest,
    network,
    series,
    series_jsonl,
    measurements,
    samples_table,
    packets_table,
    topology
);
