//! Profiles fitted to traces, compared with profiles measured otherwise.
//!
//! - ns-2: traces of one Reno flow's first link, over a grid of losses and round-trip times,
//!   compared with `crates/profile/data/measurements/ns2.csv`, which was counted inside ns-2 by
//!   true loss.
//! - Linux: a capture, compared with the throughput measured for it
//!   (`tests/reference/linux/profile_table.csv`).
//!
//! The long part, five minutes on two cores:
//! `cargo test --release --test fitted_profiles -- --ignored --nocapture`
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use netflow::profile::fit::{Fit, FlowSamples, Method, ProfileLabel, fit};
use netflow::profile::{from_toml, to_toml};
use netflow::trace::EventKind;
use netflow::trace::read::{Reader, from_reader, open};
use netflow::trace::sender::{Options, Samplers, Senders};
use netflow_needs::{Need, skip};
use rayon::prelude::*;
use tempfile::TempDir;

/// One Reno flow on its own 10 Gbit/s path with a one-way delay of rtt/2 and Bernoulli loss of data
/// only, as in the measurement of the reference. Only the sender's link is traced, to the standard
/// output.
const ONE_FLOW: &str = include_str!("../crates/profile/data/measurements/one-flow.tcl");
const TRACED: &str = r#"
$ns trace-queue $a $b stdout
$ns trace-queue $b $a stdout
proc check {} {
    global ns tcp packets
    if {[$tcp set ndatapack_] >= $packets} { exit 0 }
    $ns at [expr [$ns now] + 1.0] check
}
$ns at 1.0 check
$ns run
"#;

#[test]
fn fit_recovers_some_ns_reno_cells() {
    let losses = [0.01, 0.03, 0.1];
    let rtts_ms = [60.0, 100.0, 200.0];
    let Some(fit) = fit_to_ns(&losses, &rtts_ms, 40_000, Method::LongRun) else {
        return;
    };
    let errors = errors(&fit, |loss, rtt_ms| {
        losses.contains(&loss) && rtts_ms.contains(&rtt_ms)
    });
    assert_eq!(errors.len(), 9);
    // 400 to 4000 losses in each: accurate to 1–3 %, as the reference.
    assert!(quantile(&errors, 0.5) < 0.05 && quantile(&errors, 1.0) < 0.15);
}

#[test]
#[ignore = "five minutes of ns-2"]
fn fit_recovers_ns_reno_surface() {
    // Slightly more than the domain, so that its edges are inside.
    let losses = [
        0.0045, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.17,
        0.19, 0.21,
    ];
    let rtts_ms = [57.0, 80.0, 100.0, 150.0, 200.0, 300.0, 500.0, 750.0, 1050.0];
    let domain =
        |loss: f64, rtt_ms: f64| (0.005..=0.2).contains(&loss) && (60.0..=1000.0).contains(&rtt_ms);
    let Some(fit) = fit_to_ns(&losses, &rtts_ms, 100_000, Method::LongRun) else {
        return;
    };
    let errors = errors(&fit, domain);
    assert!(errors.len() > 200);
    assert!(quantile(&errors, 0.5) <= 0.05 && quantile(&errors, 0.9) <= 0.15);
}

/// At 20 % loss a quarter of Reno's packets are retransmissions; the drops in the trace are the
/// true losses.
#[test]
fn losses_are_distinguished_from_spurious_retransmissions() {
    let Some(place) = ns() else {
        return;
    };
    let (_child, mut reader) = run(&script(&place), 0.2, 100.0, 30_000, 7);
    let mut senders = Senders::new(Options::default());
    let mut dropped = 0.0;
    while let Some(event) = reader.next().unwrap() {
        senders.on_event(event, |_, _| ());
        dropped += f64::from(u8::from(event.kind == EventKind::Dropped));
    }
    let (_, tracker) = senders.flows().next().unwrap();
    let (lost, resent) = (tracker.totals().lost_pkts(), tracker.totals().resent_pkts);
    println!("{dropped} dropped, {lost} lost as the sender sees it, {resent} resent");
    assert!((lost as f64 / dropped - 1.0).abs() < 0.005);
    assert!(resent as f64 / dropped > 1.2);
}

/// Loss, throughput and round-trip time match the emulator's values and counts: 10 % loss, 61 ms,
/// and 50.98 packets/s over 60 s.
#[test]
fn linux_capture_gives_known_loss_and_throughput() {
    let trace = root().join("tests/reference/linux/reno_0.1_60_0.pcap.gz");
    let flows = samples(open(&trace).unwrap(), "reno_0.1_60_0.pcap.gz", 100);
    let fit = fitted(&flows, Method::LongRun);
    let measured = reference("tests/reference/linux/profile_table.csv", "reno");
    let (loss, rtt_ms, rate_pps) = *measured
        .iter()
        .find(|(loss, rtt_ms, _)| *loss == 0.1 && (60.0..62.0).contains(rtt_ms))
        .unwrap();
    let [cell] = fit.cells[..] else {
        panic!("one condition is one cell: {:?}", fit.cells);
    };
    println!(
        "loss {:.4} for {loss}, rtt {:.1} ms for {rtt_ms}, {:.2} packets/s for {rate_pps} ({})",
        cell.loss,
        1e3 * cell.rtt_s,
        cell.throughput_pps,
        flows[0].rtt_method
    );
    assert!((cell.loss / loss - 1.0).abs() < 0.1);
    assert!((cell.throughput_pps / rate_pps - 1.0).abs() < 0.1);
    // The emulator adds 1 ms to its setting.
    assert!((1e3 * cell.rtt_s / (rtt_ms + 1.0) - 1.0).abs() < 0.1);
}

fn fit_to_ns(losses: &[f64], rtts_ms: &[f64], packets: u32, method: Method) -> Option<Fit> {
    let place = ns()?;
    let script = script(&place);
    let grid: Vec<(f64, f64)> = losses
        .iter()
        .flat_map(|&loss| rtts_ms.iter().map(move |&rtt_ms| (loss, rtt_ms)))
        .collect();
    let flows: Vec<FlowSamples> = grid
        .par_iter()
        .enumerate()
        .flat_map(|(i, &(loss, rtt_ms))| {
            let (mut ns, reader) = run(&script, loss, rtt_ms, packets, 1000 + i);
            let samples = samples(reader, &format!("{loss} {rtt_ms} ms"), 100);
            assert!(ns.wait().unwrap().success());
            samples
        })
        .collect();
    Some(fitted(&flows, method))
}

/// Returns a directory for scripts; `None`, with a message, if ns-2 is not installed.
fn ns() -> Option<TempDir> {
    if Command::new("ns").stdin(Stdio::null()).output().is_err() {
        skip(Need::Ns2, "ns is not installed (Debian: apt install ns2)");
        return None;
    }
    Some(tempfile::tempdir().unwrap())
}

fn script(place: &TempDir) -> PathBuf {
    let script = place.path().join("one_flow.tcl");
    fs::write(&script, [ONE_FLOW, TRACED].concat()).unwrap();
    script
}

/// Starts ns-2 and reads its trace while it is written, without storing it.
fn run(script: &Path, loss: f64, rtt_ms: f64, packets: u32, seed: usize) -> (Child, Reader) {
    let mut ns = Command::new("ns")
        .arg(script)
        .args(["Agent/TCP/Reno", "Agent/TCPSink", "10000"])
        .args([loss, rtt_ms].map(|x| x.to_string()))
        .args([packets.to_string(), seed.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let trace = ns.stdout.take().unwrap();
    (ns, from_reader("ns", trace).unwrap())
}

fn samples(mut reader: Reader, trace: &str, k: u32) -> Vec<FlowSamples> {
    let mut samplers = Samplers::new(Options::default(), k);
    while let Some(event) = reader.next().unwrap() {
        samplers.on_event(event);
    }
    samplers.finish(trace)
}

fn fitted(flows: &[FlowSamples], method: Method) -> Fit {
    let names = ProfileLabel {
        name: "fitted",
        description: "",
    };
    let fit = fit(flows, method, &names).unwrap();
    // The file that `netflow run` would read.
    let file = to_toml(fit.profile().unwrap()).unwrap();
    let read = from_toml(&file).unwrap();
    assert_eq!(read.domain(), fit.profile().unwrap().domain());
    fit
}

/// Returns |fitted / measured − 1| at the reference's points, sorted, and prints them.
fn errors(fit: &Fit, wanted: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let profile = fit.profile().unwrap();
    let mut errors = Vec::new();
    println!("loss    rtt ms  measured  fitted  error %");
    for (loss, rtt_ms, rate_pps) in
        reference("crates/profile/data/measurements/ns2.csv", "reno,10000")
    {
        if wanted(loss, rtt_ms) {
            let fitted_pps = profile.throughput(loss, 1e-3 * rtt_ms);
            let error = fitted_pps / rate_pps - 1.0;
            println!(
                "{loss:<7} {rtt_ms:<7} {rate_pps:<9.2} {fitted_pps:<7.2} {:.1}",
                100.0 * error
            );
            errors.push(error.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "{} points: median error {:.1} %, 90 % of them within {:.1} %, all within {:.1} %",
        errors.len(),
        100.0 * quantile(&errors, 0.5),
        100.0 * quantile(&errors, 0.9),
        100.0 * quantile(&errors, 1.0)
    );
    errors
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[(part * (sorted.len() - 1) as f64).round() as usize]
}

/// Returns loss, round-trip time in ms and throughput in packets/s of the lines with this
/// beginning.
fn reference(file: &str, begin: &str) -> Vec<(f64, f64, f64)> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix(begin)?.strip_prefix(','))
        .map(|rest| {
            let numbers: Vec<f64> = rest.split(',').map(|x| x.parse().unwrap()).collect();
            (numbers[0], numbers[1], 1e3 * numbers[2])
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
