//! Tests of `netflow latency`: known values, documented fields, and equal answers for any number of
//! threads.

mod common;

use common::{Workplace, text};
use serde_json::Value;

fn json(arguments: &str) -> Value {
    let output = Workplace::new().expect(&format!("latency {arguments} --format json"), 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(answer: &Value, field: &str) -> f64 {
    answer[field]
        .as_f64()
        .unwrap_or_else(|| panic!("{field} in {answer}"))
}

/// 20 packets at 5 % loss over 50 ms, computed by an independent program.
#[test]
fn model_matches_worked_example() {
    let answer = json("--size 10KB --delay 50ms --loss 5% --model short");
    for (field, value) in [
        ("mean_s", 2.544386),
        ("handshake_s", 0.521679),
        ("timeout_s", 1.249998),
        ("transfer_s", 0.772709),
        ("effective_loss", 0.0975),
    ] {
        assert!((number(&answer, field) - value).abs() < 1e-6, "{field}");
    }
    assert_eq!(answer["packets"], 20);
    let high = json("--size 10KB --delay 50ms --loss 5% --model model-c");
    assert!((number(&high, "mean_s") - 2.477190).abs() < 1e-6);
    assert!((number(&high, "mean_low_s") - 1.420753).abs() < 1e-6);
    let high = json("--size 10KB --delay 50ms --loss 5% --model csa");
    assert!((number(&high, "mean_s") - 2.288531).abs() < 1e-6);
    assert!((number(&high, "mean_low_s") - 1.365856).abs() < 1e-6);
}

#[test]
fn all_models_have_documented_consistent_fields() {
    for (model, has_quantiles) in [
        ("short", true),
        ("short --samples 1000", true),
        ("rounds --samples 1000", true),
        ("model-c", false),
        ("csa", false),
    ] {
        let answer = json(&format!(
            "--size 10KB --delay 50ms --loss 5% --model {model}"
        ));
        let parts_s = ["handshake_s", "timeout_s", "transfer_s"].map(|part| number(&answer, part));
        let sum_s: f64 = parts_s.iter().sum();
        assert!(
            (sum_s / number(&answer, "mean_s") - 1.0).abs() < 1e-9,
            "{model}"
        );
        assert!((number(&answer, "effective_loss") - 0.0975).abs() < 1e-12);
        let spread = ["std_s", "median_s", "p90_s", "p99_s"];
        if has_quantiles {
            let [std_s, median_s, p90_s, p99_s] = spread.map(|field| number(&answer, field));
            assert!(0.0 < std_s && 0.15 < median_s && median_s < p90_s && p90_s < p99_s);
        } else {
            assert!(
                spread.iter().all(|field| answer[field].is_null()),
                "{model}"
            );
        }
    }
}

#[test]
fn grid_has_all_combinations_in_order() {
    let grid = "--delay 50ms --grid size=3KB,10KB --grid loss=0%,5%";
    let answers = json(grid);
    let questions: Vec<(u64, f64)> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| {
            (
                answer["size_bytes"].as_u64().unwrap(),
                number(answer, "loss"),
            )
        })
        .collect();
    assert_eq!(
        questions,
        [(3000, 0.0), (3000, 0.05), (10000, 0.0), (10000, 0.05)]
    );
    let output = Workplace::new().expect(&format!("latency {grid} --format csv"), 0);
    let csv = text(&output.stdout);
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mean = columns.iter().position(|name| *name == "mean_s").unwrap();
    for (line, answer) in lines.by_ref().zip(answers.as_array().unwrap()) {
        let mean_s: f64 = line.split(',').nth(mean).unwrap().parse().unwrap();
        assert_eq!(mean_s, number(answer, "mean_s"));
    }
    assert_eq!(csv.lines().count(), 5);
    // A grid with one combination is still a list.
    assert_eq!(
        json("--delay 50ms --grid size=3KB")
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn latency_is_independent_of_threads() {
    let place = Workplace::new();
    for model in ["short", "rounds"] {
        let arguments = format!(
            "latency --size 10KB --delay 50ms --loss 5% --model {model} --samples 5000 --format json"
        );
        let with = |threads: &str| {
            let mut command = place.netflow(arguments.split_whitespace());
            command.env("RAYON_NUM_THREADS", threads).output().unwrap()
        };
        let one = with("1");
        assert!(one.status.success());
        for threads in ["2", "8"] {
            assert_eq!(text(&one.stdout), text(&with(threads).stdout));
        }
    }
}

#[test]
fn missing_stack_file_exits_with_3() {
    let output = Workplace::new().expect("latency --size 1KB --delay 1ms --stack no.toml", 3);
    assert!(text(&output.stderr).starts_with("no.toml: error: cannot be read: "));
}
