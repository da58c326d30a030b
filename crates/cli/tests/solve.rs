//! Tests of `netflow solve --sensitivity`.
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

/// The predicted gain of a larger bandwidth equals that of a scenario with this bandwidth.
#[test]
fn more_equals_setting_the_bandwidth() {
    let number = |value: &Value| value.as_f64().unwrap();
    let (before, more) = (solved(""), solved("--sensitivity --upgrade '1 Mbit/s'"));
    // The first setting applies to both directions.
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

/// A connection that does not send has no derivatives, which is an error instead of zeros. Names are kept
/// complete.
#[test]
fn sensitivity_of_idle_connection_is_rejected() {
    let scenario = r#"
        link = [{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "1 ms" }]
        event = [{ at = "3 s", link = "B->A", down = true }]
        [simulation]
        duration = "10 s"
        [[demand]]
        name = "first of two"
        from = "A"
        to = "B"
        rate = "5 Mbit/s"
        stop = "5 s"
        [[demand]]
        name = "back"
        from = "B"
        to = "A"
        rate = "5 Mbit/s"
    "#;
    let workplace = common::Workplace::new();
    std::fs::write(workplace.path("silent.toml"), scenario).unwrap();
    let told = |options: &str| {
        let line = format!("netflow solve silent.toml --sensitivity {options}");
        common::shell(&line, &workplace.path("")).output().unwrap()
    };
    for (of, because) in [
        ("first of two", "all sources are inactive at that time"),
        ("back", "no route exists"),
    ] {
        let refused = told(&format!("--target '{of}'"));
        assert_eq!(refused.status.code(), Some(2));
        let error = String::from_utf8(refused.stderr).unwrap();
        let should =
            format!("error: no traffic from `{of}` at the selected time: {because}; choose");
        assert!(error.contains(&should), "{error}");
    }
    let silent = told("");
    assert_eq!(silent.status.code(), Some(2));
    let error = String::from_utf8(silent.stderr).unwrap();
    assert!(
        error.contains("error: no traffic from the network at the selected time"),
        "{error}"
    );
    let sends = told("--target 'first of two' --at '2 s'");
    let text = String::from_utf8(sends.stdout).unwrap();
    assert!(
        text.starts_with("first of two: goodput 5.00 Mbit/s"),
        "{text}"
    );
    assert!(
        text.contains("sensitivities for first of two: goodput"),
        "{text}"
    );
}
