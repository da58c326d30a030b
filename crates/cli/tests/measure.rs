//! Tests of profiles measured on this machine. They are skipped if namespaces, TUN devices or a
//! congestion control are not available, or if the machine is too busy.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use netflow_needs::{Need, skip};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `netflow profile measure` into this directory. Returns its output, or `None` if it is not
/// possible here.
fn measure(place: &Path, arguments: &str) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_netflow"))
        .args(["profile", "measure", "-o"])
        .arg(place)
        .args(arguments.split(' '))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("not available here") || errors.contains("unknown congestion control") {
        skip(Need::Namespaces, &errors);
        return None;
    }
    if errors.contains("inconclusive") {
        skip(Need::Quiet, &errors);
        return None;
    }
    assert!(output.status.success(), "{errors}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    eprintln!("{said}");
    Some(said)
}

/// Rates in packets/s by loss in permille and round-trip time in ms.
type Rates = BTreeMap<(u32, u32), f64>;

/// Returns the nominal round-trip time in ms for a measured one, which is slightly longer.
fn nominal_rtt_ms(rtt_ms: f64) -> u32 {
    let all = [60_u32, 100, 200, 500];
    let near = |&set: &u32| (0.98..1.1).contains(&(rtt_ms / f64::from(set)));
    all.into_iter().find(near).expect("a time that was set")
}

/// Reads the rates of a profile file with a grid.
fn measured(place: &Path, congestion_control: &str) -> Rates {
    let text = fs::read_to_string(place.join(format!("{congestion_control}.toml"))).unwrap();
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    let numbers = |list: &str| -> Vec<f64> {
        let clean = list
            .replace(['[', ']', '"', '}', ','], " ")
            .replace("ms", " ");
        clean
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let rtts = numbers(line("rtt = "));
    let mut rates = Rates::new();
    for row in text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ loss = "))
    {
        let (loss, row) = row.split_once(',').unwrap();
        let loss: f64 = loss.parse().unwrap();
        for (rtt, rate) in rtts.iter().zip(numbers(row)) {
            rates.insert(((1e3 * loss).round() as u32, nominal_rtt_ms(*rtt)), rate);
        }
    }
    rates
}

/// Reads the rates of the reference table, measured by others.
fn reference(congestion_control: &str) -> Rates {
    let text = fs::read_to_string(root().join("tests/reference/linux/profile_table.csv")).unwrap();
    let mut rates = Rates::new();
    for line in text.lines() {
        if let [cc, loss, rtt, rate] = line.split(',').collect::<Vec<_>>()[..]
            && cc == congestion_control
        {
            let loss = (1e3 * loss.parse::<f64>().unwrap()).round() as u32;
            rates.insert(
                (loss, rtt.parse().unwrap()),
                1e3 * rate.parse::<f64>().unwrap(),
            );
        }
    }
    rates
}

/// Returns the exponent A in rate ~ rtt^-A by least squares over these cells, averaged over losses.
fn slope(rates: &Rates, cells: &Rates) -> f64 {
    let mut slopes = Vec::new();
    let mut losses: Vec<u32> = cells.keys().map(|cell| cell.0).collect();
    losses.dedup();
    for loss in losses {
        let cells = cells.keys().filter(|cell| cell.0 == loss);
        let points: Vec<(f64, f64)> = cells
            .map(|cell| (f64::from(cell.1).ln(), rates[cell].ln()))
            .collect();
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| {
            points.iter().map(f).sum::<f64>() / points.len() as f64
        };
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        slopes.push(-mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2)));
    }
    slopes.iter().sum::<f64>() / slopes.len() as f64
}

fn compare(measured: &Rates, reference: &Rates, cell_tolerance: f64, slope_tolerance: f64) {
    for (cell, rate) in measured {
        let off = rate / reference[cell] - 1.0;
        assert!(
            off.abs() <= cell_tolerance,
            "{cell:?}: {rate} instead of {}",
            reference[cell]
        );
    }
    let (found, expected) = (slope(measured, measured), slope(reference, measured));
    eprintln!("A {found:.3}, in the table {expected:.3}");
    assert!(
        (found - expected).abs() <= slope_tolerance,
        "A {found} instead of {expected}"
    );
}

/// Four transfers of 8 s for each of four cells. Their means have an error of 10 to 15 %, so a tolerance
/// of 50 % excludes random failures.
#[test]
fn short_measurement_approximates_reference_table() {
    let place = tempfile::tempdir().unwrap();
    let options = "--congestion reno --rtt 60ms,200ms --loss 2%,10% --transfer 8s --repeat 4";
    let Some(said) = measure(place.path(), options) else {
        return;
    };
    // Cells with one or two transfers are random, and a cell may have none.
    if said.matches("inconclusive, left out").count() > 3 {
        skip(Need::Quiet, &said);
        return;
    }
    let rates = measured(place.path(), "reno");
    assert_eq!(rates.len(), 4);
    compare(&rates, &reference("reno"), 0.5, 0.35);

    // There is a capture for each transfer.
    assert_eq!(
        fs::read_dir(place.path().join("captures")).unwrap().count(),
        16
    );
    // A scenario accepts the profile.
    let scenario = fs::read_to_string(root().join("scenarios/topology.toml")).unwrap();
    let scenario = scenario.replace("profile = \"ns-reno\"", "profile = \"reno.toml\"");
    fs::write(place.path().join("mine.toml"), scenario).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_netflow"))
        .args(["run", "mine.toml", "--set", "simulation.duration=5 s"])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert!(String::from_utf8_lossy(&run.stdout).contains("N5->N7"));
}

/// BBR fills the link at a loss of 10 % as it does at 2 %, so no profile can be fitted.
#[test]
fn bbr_profile_is_rejected_with_reason() {
    let place = tempfile::tempdir().unwrap();
    let options = "--congestion bbr --rtt 60ms --loss 2%,10% --transfer 5s --repeat 2";
    let Some(said) = measure(place.path(), options) else {
        return;
    };
    if !said.contains("bbr: no profile: it does not reduce its rate after losses") {
        // The only valid transfer may be one with a bad start.
        assert!(said.contains("inconclusive, left out"), "{said}");
    }
    assert!(!place.path().join("bbr.toml").exists() || said.contains("inconclusive"));
}

/// The defaults of the command, which take about 40 s.
#[test]
#[ignore = "takes a minute, and a quiet machine"]
fn reno_and_cubic_match_reference_table() {
    let place = tempfile::tempdir().unwrap();
    if measure(place.path(), "--congestion reno,cubic --transfer 30s").is_none() {
        return;
    }
    let (reno, cubic) = (
        measured(place.path(), "reno"),
        measured(place.path(), "cubic"),
    );
    compare(&reno, &reference("reno"), 0.35, 0.15);
    let (reno, cubic) = (slope(&reno, &reno), slope(&cubic, &cubic));
    eprintln!("A of CUBIC {cubic:.3}, of Reno {reno:.3}");
    assert!(cubic < reno - 0.1, "{cubic} {reno}");
}
