//! Memory of many flows. A test binary of its own, because it measures the memory of its process.

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};

use netflow_needs::{Need, skip};
use netflow_trace::analysis::{Connections, Summary};
use netflow_trace::sender::{Options, Samplers, Senders};
use netflow_trace::{Event, from_reader};

const FLOWS: u64 = 100_000;

/// A flow with one packet and its acknowledgement keeps a few hundred bytes, as documented; its packets
/// in flight are released.
#[test]
fn many_flows_take_bounded_memory() {
    if resident_bytes().is_none() {
        skip(
            Need::System,
            "/proc/self/statm does not tell of memory here",
        );
        return;
    }
    let mut senders = Senders::new(Options::default());
    check_bytes_per_flow(400, |event| senders.on_event(event, |_, _| {}));
    assert_eq!(senders.flows().count() as u64, FLOWS);

    let mut summary = Summary::default();
    check_bytes_per_flow(300, |event| summary.on_event(event));
    assert_eq!(summary.flows() as u64, 2 * FLOWS);

    let mut connections = Connections::new(100.0, Options::default());
    check_bytes_per_flow(800, |event| connections.on_event(event));
    assert_eq!(connections.finish().len() as u64, FLOWS);

    let mut samplers = Samplers::new(Options::default(), 100);
    check_bytes_per_flow(700, |event| samplers.on_event(event));
    assert_eq!(samplers.finish("made").len() as u64, FLOWS);
}

/// Checks that the analysis keeps at most `most` bytes per flow.
fn check_bytes_per_flow(most: u64, mut on: impl FnMut(&Event)) {
    let before = resident_bytes().unwrap();
    let mut reader = from_reader("made", GeneratedTrace::default()).unwrap();
    while let Some(event) = reader.next().unwrap() {
        on(event);
    }
    let bytes = resident_bytes().unwrap().saturating_sub(before) / FLOWS;
    assert!(bytes <= most, "{bytes} bytes a flow, not {most}");
    println!("{bytes} bytes a flow");
}

fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Generated trace of [`FLOWS`] flows, one after the other.
#[derive(Default)]
struct GeneratedTrace {
    flow: u64,
    lines: String,
    at: usize,
}

impl Read for GeneratedTrace {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.lines.len() && self.flow < FLOWS {
            let (node, port, sent_ms) = (self.flow % 1000, self.flow / 1000, self.flow);
            self.lines.clear();
            self.at = 0;
            for (what, from, to, kind, ends, ms) in [
                (
                    "+",
                    node,
                    1000,
                    "tcp",
                    format!("{node}.{port} 1000.1"),
                    sent_ms,
                ),
                (
                    "r",
                    node,
                    1000,
                    "tcp",
                    format!("{node}.{port} 1000.1"),
                    sent_ms + 10,
                ),
                (
                    "r",
                    1000,
                    node,
                    "ack",
                    format!("1000.1 {node}.{port}"),
                    sent_ms + 20,
                ),
            ] {
                let time_s = ms as f64 * 1e-3;
                writeln!(
                    self.lines,
                    "{what} {time_s} {from} {to} {kind} 40 ------- 1 {ends} 0 7"
                )
                .unwrap();
            }
            self.flow += 1;
        }
        let rest = &self.lines.as_bytes()[self.at..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
