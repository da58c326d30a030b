//! `netflow solve --where`.
#![cfg(unix)]

mod common;

use std::path::Path;

use serde_json::Value;

fn solved(options: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let line = format!("netflow solve scenarios/topology.toml --starts 0 --json {options}");
    let output = common::shell(&line, &root).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is told of a larger link is what comes out with one.
#[test]
fn so_much_more_is_that_setting() {
    let number = |value: &Value| value.as_f64().unwrap();
    let (before, more) = (solved(""), solved("--where --more '1 Mbit/s'"));
    // The first setting is of both directions.
    let after =
        solved("--set 'link.N5->N7.bandwidth=9 Mbit/s' --set 'link.N7->N5.bandwidth=8 Mbit/s'");
    let gained = |key: &str| number(&after["totals"][key]) - number(&before["totals"][key]);
    let first = &more["links"][0];
    assert_eq!(first["link"], "N5->N7");
    for key in ["goodput_bps", "delay_s", "loss_probability"] {
        let (is, told) = (gained(key), number(&first[key]));
        assert!((told / is - 1.0).abs() < 1e-6, "{key}: {told} {is}");
    }
    assert!(gained("goodput_bps") > 0.9e6);
}
