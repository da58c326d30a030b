//! Trace analysis from the view of a TCP sender: packets sent and retransmitted, round-trip times, and
//! samples of (loss, round-trip time, throughput).
//!
//! The sender's view consists of its data at the time of sending, and the acknowledgements at the time of
//! arrival.
//!
//! - In an ns-2 trace, its data are the packets enqueued (`+`) at a link that starts at the sender's
//!   node. Its acknowledgements are those received (`r`) at a link that ends at that node. A trace of
//!   these two links is enough.
//! - A capture is assumed to be made at the sender; [`Senders::capture_point`] returns its position as far as
//!   handshakes show it. Both directions of a connection are tracked, because the direction of the data
//!   is not known in advance. [`Senders::is_sender`] returns at the end whether a direction has more
//!   payload.
//!
//! ```
//! use netflow_trace::sender::{Options, Senders};
//! # use netflow_trace::Event;
//! # let events: Vec<Event> = Vec::new();
//!
//! let mut senders = Senders::new(Options::default());
//! let mut resent = 0;
//! for event in &events {
//!     senders.on_event(event, |_flow, seen| resent += seen.resent_pkts);
//! }
//! for (flow, tracker) in senders.flows() {
//!     println!("{flow}: {} packets", tracker.totals().sent_pkts);
//! }
//! ```
//!
//! A flow keeps its sums and its table entry until the end, about 250 bytes. A captured connection with
//! its handshake and data in both directions takes 650. In addition, each packet in flight takes 48
//! bytes, for at most [`MAX_IN_FLIGHT`] packets. Ports are reused, so the end of a flow is unknown and
//! no flow is forgotten. There are at most [`MAX_FLOWS`] flows; events of others are left out and
//! counted in [`Senders::events_of_omitted_flows`].

mod flight;
mod handshake;
mod rtt_method;
mod samples;
mod samples_csv;
mod segment_size;
mod spurious_retransmissions;
mod tracker;

use std::cmp::Ordering;
use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;

use segment_size::SegmentSize;

pub use flight::MAX_IN_FLIGHT;
pub use handshake::CapturePoint;
pub use rtt_method::RttMethod;
pub use samples::{Sampler, Samplers};
pub use samples_csv::{SampleRow, SamplesWriter, TableError, read_samples};
pub use tracker::{Observation, Totals, Tracker};

use crate::{Endpoint, Event, EventKind, Transport};

/// Maximum number of tracked flows; each direction of a captured connection that carries data is one.
pub const MAX_FLOWS: usize = 1 << 22;

/// Options of the analysis of senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Method of round-trip times; `None` selects the best that each connection allows.
    pub rtt_method: Option<RttMethod>,
}

/// Direction of a connection, from the sender of data to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// Sender of the data.
    pub from: Endpoint,
    /// Receiver of the data.
    pub to: Endpoint,
}

impl Flow {
    /// Returns the other direction.
    pub fn reversed(self) -> Flow {
        Flow {
            from: self.to,
            to: self.from,
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}->{}",
            DisplayEndpoint(self.from),
            DisplayEndpoint(self.to)
        )
    }
}

/// Endpoint in the notation of traces: `0.1` for port 1 of ns-2's node 0, `10.0.0.1:80`, `[::1]:80`.
struct DisplayEndpoint(Endpoint);

impl fmt::Display for DisplayEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Endpoint::Node { node, port } => write!(f, "{node}.{port}"),
            Endpoint::V4(address, port) => write!(f, "{address}:{port}"),
            Endpoint::V6(address, port) => write!(f, "[{address}]:{port}"),
        }
    }
}

/// All TCP senders of a trace.
#[derive(Debug)]
pub struct Senders {
    options: Options,
    max_flows: usize,
    /// Flows in the order of their first data.
    flows: IndexMap<Flow, Tracker>,
    handshakes: handshake::Handshakes,
    events_of_omitted_flows: u64,
}

impl Senders {
    /// Creates an analysis without senders.
    pub fn new(options: Options) -> Senders {
        Senders::with_max_flows(MAX_FLOWS, options)
    }

    pub(crate) fn with_max_flows(max_flows: usize, options: Options) -> Senders {
        Senders {
            options,
            max_flows,
            flows: IndexMap::new(),
            handshakes: handshake::Handshakes::default(),
            events_of_omitted_flows: 0,
        }
    }

    /// Returns the number of events left out because they belong to flows beyond the first
    /// [`MAX_FLOWS`].
    pub fn events_of_omitted_flows(&self) -> u64 {
        self.events_of_omitted_flows
    }

    /// Processes the next event and passes its observations to `observe`. Most events of a whole ns-2
    /// trace yield none. A captured packet yields up to two: data in one direction, an acknowledgement in
    /// the other.
    pub fn on_event(&mut self, event: &Event, mut observe: impl FnMut(&Flow, &Observation)) {
        self.on_event_with_index(event, |_, flow, seen| observe(flow, seen));
    }

    /// Processes the next event; `observe` also gets the index of the flow in [`flows`](Self::flows).
    pub(crate) fn on_event_with_index(
        &mut self,
        event: &Event,
        mut observe: impl FnMut(usize, &Flow, &Observation),
    ) {
        let (Transport::Tcp, Some(segment)) = (event.packet.transport, &event.packet.segment)
        else {
            return;
        };
        let flow = Flow {
            from: event.packet.from,
            to: event.packet.to,
        };
        if event.kind == EventKind::Captured {
            self.handshakes.on_segment(event.time_ns, flow, segment);
            if segment.syn {
                self.apply_announced_mss(flow);
            }
        }
        if is_at_sender(event)
            && let Some((place, tracker)) = self.tracker_entry(flow, segment.len > 0)
            && let Some(seen) = tracker.on_data(event.time_ns, segment)
        {
            observe(place, &flow, &seen);
        }
        let back = flow.reversed();
        if is_at_receiver(event)
            && let Some((place, _, tracker)) = self.flows.get_full_mut(&back)
            && let Some(seen) = tracker.on_ack(event.time_ns, segment)
        {
            observe(place, &back, &seen);
        }
    }

    /// Returns every direction that carried data, in the order of the first data.
    pub fn flows(&self) -> impl Iterator<Item = (&Flow, &Tracker)> {
        self.flows.iter()
    }

    /// Returns the tracker of a flow.
    pub fn get(&self, flow: &Flow) -> Option<&Tracker> {
        self.flows.get(flow)
    }

    /// Returns whether the results of this flow are the sender's view. In ns-2 traces they always are. In
    /// captures they are for the direction with more payload (the first one if both are equal).
    pub fn is_sender(&self, flow: &Flow) -> bool {
        let Some((place, _, tracker)) = self.flows.get_full(flow) else {
            return false;
        };
        if matches!(flow.from, Endpoint::Node { .. }) {
            return true;
        }
        let payload = tracker.totals().payload;
        match self.flows.get_full(&flow.reversed()) {
            None => true,
            Some((other, _, back)) => match payload.cmp(&back.totals().payload) {
                Ordering::Less => false,
                Ordering::Equal => place < other,
                Ordering::Greater => true,
            },
        }
    }

    /// Returns the position of the capture on the path of this flow's data; `None` without a usable
    /// handshake.
    pub fn capture_point(&self, flow: &Flow) -> Option<CapturePoint> {
        self.handshakes.capture_point(flow)
    }

    /// Returns the flows that were captured near the receiver: their round-trip times are not those of
    /// the path.
    pub fn captured_near_receiver(&self) -> impl Iterator<Item = (&Flow, CapturePoint)> {
        let senders = self.flows().filter(|(flow, _)| self.is_sender(flow));
        let near = senders.filter_map(|(flow, _)| Some((flow, self.capture_point(flow)?)));
        near.filter(|(_, vantage)| vantage.is_near_receiver())
    }

    /// Passes the MSS of a SYN to both directions that have sent before. A connection may reuse the ports
    /// of an earlier one, and the first SYN may carry data.
    fn apply_announced_mss(&mut self, flow: Flow) {
        let segment_size = SegmentSize::from_mss(self.handshakes.path_mss(&flow));
        for flow in [flow, flow.reversed()] {
            if let Some(tracker) = self.flows.get_mut(&flow) {
                tracker.set_segment_size(segment_size);
            }
        }
    }

    /// Returns the tracker of a flow, and its index. Creates it only for a packet with data.
    fn tracker_entry(&mut self, flow: Flow, data: bool) -> Option<(usize, &mut Tracker)> {
        let count = self.flows.len();
        let segment_size = || match flow.from {
            Endpoint::Node { .. } => SegmentSize::SinglePackets,
            _ => SegmentSize::from_mss(self.handshakes.path_mss(&flow)),
        };
        match self.flows.entry(flow) {
            Entry::Occupied(known) => Some((known.index(), known.into_mut())),
            Entry::Vacant(_) if !data => None,
            Entry::Vacant(_) if count >= self.max_flows => {
                self.events_of_omitted_flows += 1;
                None
            }
            Entry::Vacant(new) => Some((
                count,
                new.insert(Tracker::new(self.options, segment_size())),
            )),
        }
    }
}

fn is_at_sender(event: &Event) -> bool {
    match (event.kind, event.link, event.packet.from) {
        (EventKind::Captured, ..) => true,
        (EventKind::Enqueued, Some(link), Endpoint::Node { node, .. }) => link.from == node,
        _ => false,
    }
}

fn is_at_receiver(event: &Event) -> bool {
    match (event.kind, event.link, event.packet.to) {
        (EventKind::Captured, ..) => true,
        (EventKind::Received, Some(link), Endpoint::Node { node, .. }) => link.to == node,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::analysis::Connections;
    use crate::from_reader;

    /// Known flows are tracked further; other flows are counted as left out.
    #[test]
    fn events_of_omitted_flows_are_counted() {
        let line = |port: u32, seq: u32| {
            format!(
                "+ 0.5 0 1 tcp 1000 ------- 1 0.{port} 1.0 {seq} {}\n",
                10 * port + seq
            )
        };
        let text = line(0, 0) + &line(1, 0) + &line(2, 0) + &line(0, 1) + &line(2, 1);
        let mut senders = Senders::with_max_flows(2, Options::default());
        let mut connections = Connections::with_max_flows(2, 1.0, Options::default());
        let mut reader = from_reader("made", Cursor::new(text.into_bytes())).unwrap();
        while let Some(event) = reader.next().unwrap() {
            senders.on_event(event, |_, _| {});
            connections.on_event(event);
        }
        let sent: Vec<u64> = senders
            .flows()
            .map(|(_, tracker)| tracker.totals().sent_pkts)
            .collect();
        assert_eq!((sent, senders.events_of_omitted_flows()), (vec![2, 1], 2));
        assert_eq!(connections.events_of_omitted_flows(), 2);
        assert_eq!(connections.finish().len(), 2);
    }
}
