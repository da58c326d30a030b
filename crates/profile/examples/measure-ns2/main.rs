//! Measurement of ns-2's TCPs for `data/measurements/ns2.csv`: one flow on its own path with random
//! losses.
//!
//! `cargo run --release -p netflow-profile --example measure-ns2 -- 1 3 10 30 > rows.csv`
//!
//! The arguments are round-trip times in ms. Four of them take about half an hour on two cores.

use std::error::Error;
use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// Script of one flow: agent, sink, window, loss, round-trip time in ms, packets to measure, seed.
/// It has no random send delays, because there is no queue with phase effects and Vegas would
/// interpret the delays as queueing.
const ONE_FLOW: &str = include_str!("../../data/measurements/one-flow.tcl");

/// Tcl code that prints packets per ms (retransmissions included), from shortly after the 200th
/// packet on.
const RATE: &str = r#"
set from_s -1
proc check {} {
    global ns tcp packets from_s before
    set sent [$tcp set ndatapack_]
    if {$from_s < 0 && $sent >= 200} { set from_s [$ns now]; set before $sent }
    if {$from_s >= 0 && $sent >= $before + $packets} {
        puts [format %.6g [expr ($sent - $before) / ([$ns now] - $from_s) / 1000.0]]
        exit 0
    }
    $ns at [expr [$ns now] + 0.1] check
}
check
$ns run
"#;

/// Names in the CSV file, and ns-2's agent and sink.
const TCPS: [(&str, &str, &str); 5] = [
    ("reno", "Agent/TCP/Reno", "Agent/TCPSink"),
    ("newreno", "Agent/TCP/Newreno", "Agent/TCPSink"),
    ("sack1", "Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
    ("vegas", "Agent/TCP/Vegas", "Agent/TCPSink"),
    ("tahoe", "Agent/TCP", "Agent/TCPSink"),
];
const WINDOWS: [u32; 2] = [10_000, 64];

struct Cell {
    tcp: usize,
    window: u32,
    loss: f64,
    rtt_ms: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rtts_ms: Vec<f64> = std::env::args()
        .skip(1)
        .map(|it| it.parse())
        .collect::<Result<_, _>>()?;
    let losses = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075]
        .into_iter()
        .chain((1..=30).map(|percent| f64::from(percent) / 100.0));
    let losses: Vec<f64> = losses.collect();
    let mut cells = Vec::new();
    for (tcp, window) in (0..TCPS.len()).flat_map(|tcp| WINDOWS.map(|window| (tcp, window))) {
        if TCPS[tcp].0 == "tahoe" && window == 64 {
            continue;
        }
        for (&loss, &rtt_ms) in losses
            .iter()
            .flat_map(|p| rtts_ms.iter().map(move |r| (p, r)))
        {
            cells.push(Cell {
                tcp,
                window,
                loss,
                rtt_ms,
            });
        }
    }
    let script = std::env::temp_dir().join(format!("one-flow-{}.tcl", std::process::id()));
    fs::write(&script, [ONE_FLOW, RATE].concat())?;
    let (next, out) = (AtomicUsize::new(0), Mutex::new(std::io::stdout()));
    let workers = thread::available_parallelism()?.get();
    let results: Vec<Result<(), String>> = thread::scope(|scope| {
        let work = || {
            while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                let row = measured(&script, cell)?;
                let mut out = out.lock().map_err(|e| e.to_string())?;
                writeln!(out, "{row}").map_err(|e| e.to_string())?;
            }
            Ok(())
        };
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .map(|worker| worker.join().unwrap_or(Err("a worker panicked".to_owned())))
            .collect()
    });
    fs::remove_file(&script)?;
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(())
}

/// Measures one cell, in which at least 100 packets are lost.
fn measured(script: &std::path::Path, cell: &Cell) -> Result<String, String> {
    let (name, agent, sink) = TCPS[cell.tcp];
    let packets = (300.0 / cell.loss).clamp(40_000.0, 200_000.0);
    // Each cell has its own seed, so that random variation is independent.
    let seed = 1 + (cell.loss * 1e4) as u32 + 10_000 * cell.rtt_ms as u32;
    let output = Command::new("ns")
        .arg(script)
        .args([agent, sink])
        .args([cell.window.to_string(), cell.loss.to_string()])
        .args([
            cell.rtt_ms.to_string(),
            packets.to_string(),
            seed.to_string(),
        ])
        .output()
        .map_err(|e| format!("cannot run ns: {e}"))?;
    let rate: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .map_err(|_| format!("ns: {}", String::from_utf8_lossy(&output.stderr)))?;
    let (window, loss, rtt_ms) = (cell.window, cell.loss, cell.rtt_ms);
    Ok(format!("{name},{window},{loss:.4},{rtt_ms},{rate}"))
}
