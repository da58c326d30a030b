//! What a TCP sender's own trace tells: what it sent, what of that was sent again, round-trip
//! times, and samples of (loss, round-trip time, throughput).
//!
//! Everything here sees the network as the sender does: its data as they leave, the
//! acknowledgements as they come in.
//!
//! - Of an ns-2 trace these are the data packets enqueued (`+`) at a link that starts at the
//!   sender's node, and the acknowledgements received (`r`) at a link that ends there; a trace of
//!   just these two links is enough.
//! - A capture is taken to be made at the sender; [`Senders::vantage`] tells where it was made as
//!   far as handshakes say. Both directions of a connection are followed,
//!   since it is not known beforehand which one carries the data; [`Senders::is_sender`] tells at
//!   the end: the direction with more payload.
//!
//! ```
//! use netflow_trace::sender::{Options, Senders};
//! # use netflow_trace::Event;
//! # let events: Vec<Event> = Vec::new();
//!
//! let mut senders = Senders::new(Options::default());
//! let mut resent = 0;
//! for event in &events {
//!     senders.on(event, |_flow, seen| resent += seen.resent_pkts);
//! }
//! for (flow, tracker) in senders.flows() {
//!     println!("{flow}: {} packets", tracker.totals().sent_pkts);
//! }
//! ```
//!
//! What is kept of a flow to the end are its sums and its place in a table, about 250 bytes (of a
//! captured connection with its handshake, and data both ways, 650); besides, what it has in flight, 48 bytes
//! a packet and at most [`MOST_IN_FLIGHT`] of them. Nothing says that a flow has ended: ports are used
//! again, so that no flow is forgotten. There are at most [`MOST_FLOWS`] of them; what is of others is left
//! out and counted in [`Senders::flows_left_out`].

mod arrivals;
mod flight;
mod full;
mod handshake;
mod rtt;
mod samples;
mod table;
mod tracker;

use std::cmp::Ordering;
use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;

use full::Full;

pub use flight::MOST_IN_FLIGHT;
pub use handshake::Vantage;
pub use rtt::RttMethod;
pub use samples::{Sampler, Samplers};
pub use table::{SampleRow, SamplesWriter, TableError, read_samples};
pub use tracker::{Observation, Totals, Tracker};

use crate::{Endpoint, Event, Transport, What};

/// Flows that are followed; each direction of a captured connection that carries data is one.
pub const MOST_FLOWS: usize = 1 << 22;

/// How connections are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How round-trip times are found; `None`: for every connection the best that it allows.
    pub rtt_method: Option<RttMethod>,
}

/// One direction of a connection: who sends data to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// Sender of the data.
    pub from: Endpoint,
    /// Receiver of the data.
    pub to: Endpoint,
}

impl Flow {
    /// The other direction.
    pub fn reversed(self) -> Flow {
        Flow {
            from: self.to,
            to: self.from,
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", Named(self.from), Named(self.to))
    }
}

/// An endpoint as traces write it: `0.1` for port 1 of ns-2's node 0, `10.0.0.1:80`, `[::1]:80`.
struct Named(Endpoint);

impl fmt::Display for Named {
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
    most_flows: usize,
    /// In the order in which they sent first.
    flows: IndexMap<Flow, Tracker>,
    handshakes: handshake::Handshakes,
    flows_left_out: u64,
}

impl Senders {
    /// Before the first event.
    pub fn new(options: Options) -> Senders {
        Senders::of_at_most(MOST_FLOWS, options)
    }

    pub(crate) fn of_at_most(most_flows: usize, options: Options) -> Senders {
        Senders {
            options,
            most_flows,
            flows: IndexMap::new(),
            handshakes: handshake::Handshakes::default(),
            flows_left_out: 0,
        }
    }

    /// Events that were left out because they are of flows beyond the first [`MOST_FLOWS`].
    pub fn flows_left_out(&self) -> u64 {
        self.flows_left_out
    }

    /// Takes the next event; `observe` is told what it showed: nothing for most events of a whole
    /// ns-2 trace, up to two things for a captured packet (data one way, an acknowledgement the
    /// other way).
    pub fn on(&mut self, event: &Event, mut observe: impl FnMut(&Flow, &Observation)) {
        self.on_places(event, |_, flow, seen| observe(flow, seen));
    }

    /// The same with the place of the flow among [`flows`](Self::flows).
    pub(crate) fn on_places(
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
        if event.what == What::Captured {
            self.handshakes.on(event.time_ns, flow, segment);
            if segment.syn {
                self.take_announcements(flow);
            }
        }
        if leaves_its_sender(event)
            && let Some((place, tracker)) = self.sending(flow, segment.len > 0)
            && let Some(seen) = tracker.on_data(event.time_ns, segment)
        {
            observe(place, &flow, &seen);
        }
        let back = flow.reversed();
        if reaches_its_receiver(event)
            && let Some((place, _, tracker)) = self.flows.get_full_mut(&back)
            && let Some(seen) = tracker.on_ack(event.time_ns, segment)
        {
            observe(place, &back, &seen);
        }
    }

    /// Every direction that carried data, in the order in which they did so first.
    pub fn flows(&self) -> impl Iterator<Item = (&Flow, &Tracker)> {
        self.flows.iter()
    }

    /// One of them.
    pub fn get(&self, flow: &Flow) -> Option<&Tracker> {
        self.flows.get(flow)
    }

    /// Whether what was found out about this flow is what its sender saw: in ns-2 traces always,
    /// in captures for the direction with more payload (the first one, if both have the same).
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

    /// Where on the path of this flow's data a capture was made; `None` where no handshake tells.
    pub fn vantage(&self, flow: &Flow) -> Option<Vantage> {
        self.handshakes.vantage(flow)
    }

    /// The flows of which the capture was made near the receiver: their round-trip times are not
    /// those of the path.
    pub fn near_the_receiver(&self) -> impl Iterator<Item = (&Flow, Vantage)> {
        let senders = self.flows().filter(|(flow, _)| self.is_sender(flow));
        let near = senders.filter_map(|(flow, _)| Some((flow, self.vantage(flow)?)));
        near.filter(|(_, vantage)| vantage.is_near_the_receiver())
    }

    /// Tells those that have sent before of a SYN what it says: a connection may follow another one between the
    /// same ports, and the first SYN may carry data.
    fn take_announcements(&mut self, flow: Flow) {
        let full = Full::captured(self.handshakes.least_mss(&flow));
        for flow in [flow, flow.reversed()] {
            if let Some(tracker) = self.flows.get_mut(&flow) {
                tracker.set_full(full);
            }
        }
    }

    /// The tracker of a flow; a new one only if it is about to carry data.
    fn sending(&mut self, flow: Flow, data: bool) -> Option<(usize, &mut Tracker)> {
        let count = self.flows.len();
        let full = || match flow.from {
            Endpoint::Node { .. } => Full::Uncut,
            _ => Full::captured(self.handshakes.least_mss(&flow)),
        };
        match self.flows.entry(flow) {
            Entry::Occupied(known) => Some((known.index(), known.into_mut())),
            Entry::Vacant(_) if !data => None,
            Entry::Vacant(_) if count >= self.most_flows => {
                self.flows_left_out += 1;
                None
            }
            Entry::Vacant(new) => Some((count, new.insert(Tracker::new(self.options, full())))),
        }
    }
}

fn leaves_its_sender(event: &Event) -> bool {
    match (event.what, event.link, event.packet.from) {
        (What::Captured, ..) => true,
        (What::Enqueued, Some(link), Endpoint::Node { node, .. }) => link.from == node,
        _ => false,
    }
}

fn reaches_its_receiver(event: &Event) -> bool {
    match (event.what, event.link, event.packet.to) {
        (What::Captured, ..) => true,
        (What::Received, Some(link), Endpoint::Node { node, .. }) => link.to == node,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::analysis::Connections;
    use crate::from_reader;

    /// Those that are there are followed on; nothing of the others is shown, and that is told.
    #[test]
    fn flows_beyond_the_most_are_left_out_and_counted() {
        let line = |port: u32, seq: u32| {
            format!(
                "+ 0.5 0 1 tcp 1000 ------- 1 0.{port} 1.0 {seq} {}\n",
                10 * port + seq
            )
        };
        let text = line(0, 0) + &line(1, 0) + &line(2, 0) + &line(0, 1) + &line(2, 1);
        let mut senders = Senders::of_at_most(2, Options::default());
        let mut connections = Connections::of_at_most(2, 1.0, Options::default());
        let mut reader = from_reader("made", Cursor::new(text.into_bytes())).unwrap();
        while let Some(event) = reader.next().unwrap() {
            senders.on(event, |_, _| {});
            connections.on(event);
        }
        let sent: Vec<u64> = senders
            .flows()
            .map(|(_, tracker)| tracker.totals().sent_pkts)
            .collect();
        assert_eq!((sent, senders.flows_left_out()), (vec![2, 1], 2));
        assert_eq!(connections.flows_left_out(), 2);
        assert_eq!(connections.finish().len(), 2);
    }
}
