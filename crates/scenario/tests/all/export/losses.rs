//! Random losses of links, in ns-2.

use netflow_scenario::export::{ExportError, Ns2Options, ns2};

use super::ns2::{compile_scenario, run, sums};

fn lossy(loss: &str) -> String {
    format!(
        r#"
[simulation]
duration = "100 s"
packet-size = "1000 B"

[[link]]
from = "A"
to = "R"
bandwidth = "8 Mbit/s"
delay = "20 ms"
loss = {loss}

[[link]]
from = "R"
to = "B"
bandwidth = "80 Mbit/s"

[[connection]]
from = "A"
to = "B"
packet-size = "1000 B"
source = {{ constant = "400 pkt/s" }}
"#
    )
}

/// The expected number of 40 000 packets arrives, for losses per packet and per bit.
#[test]
fn ns2_loss_matches_link_loss() {
    for (loss, wanted) in [
        ("\"10 %\"", 0.1),
        ("{ ber = 1e-5 }", 1.0 - (1.0 - 1e-5_f64).powi(8000)),
        (
            "{ random = 0.05, ber = 1e-5 }",
            1.0 - 0.95 * (1.0 - 1e-5_f64).powi(8000),
        ),
    ] {
        let Some(run) = run(&compile_scenario(&lossy(loss)), &Ns2Options::default(), 3) else {
            return;
        };
        let sums = sums(&run.links);
        let (departed, arrived) = (sums["A->R"][2], sums["R->B"][0]);
        let share = 1.0 - arrived / departed;
        let deviation = (wanted * (1.0 - wanted) / 40_000.0).sqrt();
        // At most 8 packets are in flight at the end.
        assert!(
            (share - wanted).abs() < 4.0 * deviation + 3e-4,
            "{share} of {wanted}"
        );
    }
}

/// A loss that changes after 16 000 of 40 000 packets, on a lossy link and on one without loss
/// before.
#[test]
fn ns2_applies_loss_events() {
    let by_bits = 1.0 - (1.0 - 1e-5_f64).powi(8000);
    for (first, before) in [("0", 0.0), ("\"10 %\"", 0.1)] {
        for (then, after) in [("0.02", 0.02), ("{ ber = 1e-5 }", by_bits), ("0", 0.0)] {
            let event = "[[event]]\nat = \"40 s\"\nlink = \"A->R\"\nset = { loss = ";
            let text = format!("{}\n{event}{then} }}\n", lossy(first));
            let Some(run) = run(&compile_scenario(&text), &Ns2Options::default(), 3) else {
                return;
            };
            let sums = sums(&run.links);
            let lost = sums["A->R"][2] - sums["R->B"][0];
            let wanted = 16e3 * before + 24e3 * after;
            let variance = 16e3 * before * (1.0 - before) + 24e3 * after * (1.0 - after);
            // At most 8 packets are in flight at the end, and at the change.
            assert!(
                (lost - wanted).abs() < 16.0 + 4.0 * variance.sqrt(),
                "{lost} of {wanted} for {first}, then {then}"
            );
        }
    }
}

#[test]
fn bursty_losses_are_rejected() {
    for loss in [
        "{ gilbert = { p = 0.01, r = 0.25 } }",
        "{ ber = 1e-5, burst = 16 }",
    ] {
        let event = "[[event]]\nat = \"40 s\"\nlink = \"A->R\"\nset = { loss = ";
        let later = format!("{}\n{event}{loss} }}\n", lossy("0"));
        for text in [lossy(loss), later] {
            let error = ns2(&compile_scenario(&text), &Ns2Options::default()).unwrap_err();
            let link = "A->R".to_owned();
            assert_eq!(error, ExportError::BurstyLoss { link });
        }
    }
}
