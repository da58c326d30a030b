//! Claims of the study with fewer seeds; all seeds with `cargo test --release -p study-burstiness
//! -- --ignored --nocapture`.

use std::sync::LazyLock;

use study_burstiness::Gateway::{Fifo, Red};
use study_burstiness::Protocol::{Reno, RenoDelayed, Udp, Vegas};
use study_burstiness::page::{CellResult, distance_outside, verdict};
use study_burstiness::reference::{Reference, root};
use study_burstiness::{Cell, Gateway, Mean, Protocol, cells, mean};

static REFERENCE: LazyLock<Reference> = LazyLock::new(|| Reference::read().unwrap());

fn mean_of_few_seeds(protocol: Protocol, gateway: Gateway, clients: u32) -> Mean {
    let cell = Cell {
        protocol,
        gateway,
        clients,
    };
    let mean = mean(cell, 3);
    println!("{cell:?} {mean:?}");
    mean
}

/// Returns the c.o.v. after checking that it is within 20 % of ns-2, or between its two results.
fn error_to_ns2(protocol: Protocol, gateway: Gateway, clients: u32) -> f64 {
    let found = mean_of_few_seeds(protocol, gateway, clients).mean;
    let cell = Cell {
        protocol,
        gateway,
        clients,
    };
    let ns = REFERENCE.of(cell).unwrap();
    assert!(
        distance_outside(found.cov, ns.span(|o| o.cov)).abs() < 0.2,
        "{cell:?}"
    );
    let delivered = distance_outside(found.delivered_pkts, ns.span(|o| o.delivered_pkts));
    assert!(delivered.abs() < 0.01, "{cell:?}");
    found.cov
}

#[test]
fn burstiness_jumps_between_38_and_39_clients() {
    // The mean of three seeds at 38 clients varies by 2 %. The increase is 1.45 in ns-2, and 1.64
    // with jitter.
    assert!(error_to_ns2(Reno, Fifo, 39) > 1.35 * error_to_ns2(Reno, Fifo, 38));
}

#[test]
fn red_is_burstier_than_fifo() {
    for clients in [39, 50] {
        assert!(error_to_ns2(Reno, Red, clients) > 1.05 * error_to_ns2(Reno, Fifo, clients));
    }
    assert!(error_to_ns2(Vegas, Red, 50) > 1.5 * error_to_ns2(Vegas, Fifo, 50));
}

#[test]
fn vegas_with_red_loses_most() {
    let loss = |protocol, gateway| mean_of_few_seeds(protocol, gateway, 50).mean.loss;
    let most = loss(Vegas, Red);
    for (protocol, gateway) in [
        (Reno, Fifo),
        (Reno, Red),
        (RenoDelayed, Fifo),
        (RenoDelayed, Red),
        (Vegas, Fifo),
    ] {
        assert!(loss(protocol, gateway) < most, "{protocol} {gateway}");
    }
}

#[test]
fn udp_is_as_smooth_as_its_clients() {
    for clients in [5, 20, 50] {
        let cov = error_to_ns2(Udp, Fifo, clients);
        let poisson = 1.0 / f64::from(10 * clients).sqrt();
        assert!((cov / poisson - 1.0).abs() < 0.06, "{clients}: {cov}");
    }
}

/// The page is that of the study's last run, and all criteria hold.
#[test]
fn page_is_current_and_all_criteria_hold() {
    let page = std::fs::read_to_string(root().join("studies/burstiness/README.md")).unwrap();
    for line in [
        "| c.o.v. within 10 % of the span between plain and jittered ns-2 | 90 % of the cells | 100 % |",
        "| within 20 % | all | 100 % |",
    ] {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
#[ignore = "a minute: all cells, ten seeds"]
fn all_cells_match_ns2() {
    let judge = |cell| -> CellResult { (cell, mean(cell, 10), REFERENCE.of(cell).unwrap()) };
    let judged: Vec<CellResult> = cells().map(judge).collect();
    let [tenth, fifth, delivered, loss] = verdict(&judged);
    println!("within 10 %: {tenth}, within 20 %: {fifth}, delivered {delivered}, loss {loss}");
    assert!(tenth >= 0.9 && fifth == 1.0 && loss < 0.25);
    // The only experiment that exceeds 1 %, by name. When it no longer does, remove it here.
    let missed: Vec<String> = judged
        .iter()
        .filter(|(_, mean, ns)| {
            let span = ns.span(|o| o.delivered_pkts);
            distance_outside(mean.mean.delivered_pkts, span).abs() >= 0.01
        })
        .map(|(cell, ..)| format!("{} {} {}", cell.protocol, cell.gateway, cell.clients))
        .collect();
    assert_eq!(missed, ["Vegas RED 38"]);
}
