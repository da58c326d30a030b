//! Packet traces, and all statistics computed from them.

use std::io::Cursor;

use netflow_trace::analysis::{
    Burstiness, ConnectionSeries, Connections, LinkSeries, Links, Summary,
};
use netflow_trace::sender::{Options, Samplers};
use netflow_trace::{Reader, from_reader};

pub(super) const DICTIONARY: &[&str] = &[
    "+",
    "-",
    "r",
    "d",
    "tcp",
    "ack",
    "cbr",
    "exp",
    "-------",
    "---C---",
    "0x10",
    "0x12",
    "-1.0",
    "1e-05",
    "1e300",
    "9223372035.9",
    "# netflow node 0 a\n",
];

/// A line that identifies the text as a trace.
const LINE: &[u8] = b"+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n";

/// Reads any bytes after one valid line as an ns-2 trace.
///
/// # Panics
/// On an error in netflow.
pub fn ns2(bytes: &[u8]) {
    let reader = read_trace(&[LINE, bytes].concat());
    assert!(reader.is_some(), "it begins well");
}

/// Reads any bytes as a capture, with and without a valid header before them.
///
/// # Panics
/// On an error in netflow.
pub fn capture(bytes: &[u8]) {
    const PCAP: &[u8] = &[
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0,
    ];
    const PCAPNG: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a];
    read_trace(bytes);
    read_trace(&[PCAP, bytes].concat());
    read_trace(&[PCAPNG, bytes].concat());
}

/// Events later than this are counted in long intervals only.
const FAR_NS: i64 = 5_000_000_000_000;

/// Maximum number of rows checked. There may be millions of similar ones.
const MAX_ROWS: usize = 1000;

/// Computes all statistics of a trace; `None` if the input is not one.
fn read_trace(input: &[u8]) -> Option<Reader> {
    let most = input.len() as u64;
    // Compressed input may expand.
    let compressed = input.starts_with(&[0x1f, 0x8b]);
    let mut reader = from_reader("hostile", Cursor::new(input.to_vec())).ok()?;
    let (mut events, mut start_ns) = (0, None);
    // The usual interval, and long ones for which centuries are only a few intervals.
    let mut all: Vec<_> = [0.5, 1e5, 1e9]
        .into_iter()
        .map(|every_s| {
            (
                Links::new(every_s),
                Connections::new(every_s, Options::default()),
                Burstiness::new(every_s, 0.0, None),
            )
        })
        .collect();
    let mut samplers = Samplers::new(Options::default(), 3);
    let mut summary = Summary::default();
    while let Ok(Some(event)) = reader.next() {
        let start_ns = *start_ns.get_or_insert(event.time_ns.max(0));
        let far = event.time_ns.saturating_sub(start_ns) > FAR_NS;
        // Millions of intervals are valid but take seconds, so that only a few thousand are tried.
        for (links, connections, burstiness) in all.iter_mut().skip(usize::from(far)) {
            links.on_event(event);
            connections.on_event(event);
            burstiness.on_event(event);
        }
        samplers.on_event(event);
        summary.on_event(event);
        events += 1;
        assert!(events <= most || compressed);
    }
    assert_eq!(summary.events, events);
    for (links, connections, burstiness) in all {
        let links = links.finish();
        for series in &links {
            let totals = &series.totals;
            assert!(totals.lost_pkts <= totals.offered_pkts + totals.departed_pkts + events);
            assert!(totals.loss_probability >= 0.0 && totals.mean_waiting_pkts >= 0.0);
            assert!(
                totals
                    .utilization
                    .is_none_or(|busy| (0.0..=1.0 + 1e-9).contains(&busy))
            );
        }
        LinkSeries::rows(&links, reader.names())
            .take(MAX_ROWS)
            .count();
        let connections = connections.finish();
        for series in &connections {
            assert!((0.0..=1.0).contains(&series.totals.loss_probability()));
        }
        ConnectionSeries::rows(&connections, reader.names())
            .take(MAX_ROWS)
            .count();
        for spread in burstiness.finish() {
            assert!(spread.packets <= events && spread.cov >= 0.0);
        }
    }
    samplers.senders().captured_near_receiver().count();
    for flow in samplers.finish("hostile") {
        for sample in &flow.samples {
            assert!(sample.rtt_s.is_finite() && !sample.duration_s.is_nan());
        }
    }
    Some(reader)
}
