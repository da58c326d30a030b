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
//! The state of a connection is what it has in flight, at most [`MOST_IN_FLIGHT`] packets.

mod arrivals;
mod flight;
mod handshake;
mod rtt;
mod samples;
mod tracker;

use std::collections::HashMap;
use std::fmt;

pub use flight::MOST_IN_FLIGHT;
pub use handshake::Vantage;
pub use rtt::RttMethod;
pub use samples::{Sampler, Samplers};
pub use tracker::{Observation, Totals, Tracker};

use crate::{Endpoint, Event, Transport, What};

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
#[derive(Debug, Default)]
pub struct Senders {
    options: Options,
    places: HashMap<Flow, usize>,
    /// In the order in which they sent first.
    flows: Vec<(Flow, Tracker)>,
    handshakes: handshake::Handshakes,
}

impl Senders {
    /// Before the first event.
    pub fn new(options: Options) -> Senders {
        Senders {
            options,
            ..Senders::default()
        }
    }

    /// Takes the next event; `observe` is told what it showed: nothing for most events of a whole
    /// ns-2 trace, up to two things for a captured packet (data one way, an acknowledgement the
    /// other way).
    pub fn on(&mut self, event: &Event, mut observe: impl FnMut(&Flow, &Observation)) {
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
        }
        if leaves_its_sender(event)
            && let Some(tracker) = self.sending(flow, segment.len > 0)
            && let Some(seen) = tracker.on_data(event.time_ns, segment)
        {
            observe(&flow, &seen);
        }
        let back = flow.reversed();
        if reaches_its_receiver(event)
            && let Some(&place) = self.places.get(&back)
            && let Some((_, tracker)) = self.flows.get_mut(place)
            && let Some(seen) = tracker.on_ack(event.time_ns, segment)
        {
            observe(&back, &seen);
        }
    }

    /// Every direction that carried data, in the order in which they did so first.
    pub fn flows(&self) -> impl Iterator<Item = (&Flow, &Tracker)> {
        self.flows.iter().map(|(flow, tracker)| (flow, tracker))
    }

    /// One of them.
    pub fn get(&self, flow: &Flow) -> Option<&Tracker> {
        self.flows
            .get(*self.places.get(flow)?)
            .map(|(_, tracker)| tracker)
    }

    /// Whether what was found out about this flow is what its sender saw: in ns-2 traces always,
    /// in captures for the direction with more payload (the first one, if both have the same).
    pub fn is_sender(&self, flow: &Flow) -> bool {
        let (Some(&place), back) = (self.places.get(flow), flow.reversed()) else {
            return false;
        };
        if matches!(flow.from, Endpoint::Node { .. }) {
            return true;
        }
        let payload = |flow: &Flow| self.get(flow).map_or(0, |tracker| tracker.totals().payload);
        match self.places.get(&back) {
            None => true,
            Some(&other) if payload(flow) == payload(&back) => place < other,
            Some(_) => payload(flow) > payload(&back),
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

    /// The tracker of a flow; a new one only if it is about to carry data.
    fn sending(&mut self, flow: Flow, data: bool) -> Option<&mut Tracker> {
        let place = match self.places.get(&flow) {
            Some(&place) => place,
            None if data => {
                self.flows.push((flow, Tracker::new(self.options)));
                self.places.insert(flow, self.flows.len() - 1);
                self.flows.len() - 1
            }
            None => return None,
        };
        self.flows.get_mut(place).map(|(_, tracker)| tracker)
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
