//! Receiver of a transfer: arrivals, timers and acknowledgements.

use netflow_network::{Acks, ConnectionSpec, Source};
use netflow_tcpmodel::tcp::NEVER;
use netflow_tcpmodel::tcp::ns2::Receiver;

use crate::endpoint::delay_histograms::OneWayDelays;
use crate::endpoint::stack::StackReceiver;
use crate::link::queue_disc::{CONGESTED, delay_ns};
use crate::link::wire::{Packet, Wires};
use crate::topology::TransferPaths;

/// Receiver with its counters.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverEndpoint {
    pub ack_policy: AckPolicy,
    /// True if acknowledgements are traffic and counted.
    counts_acks: bool,
    /// Packets that arrived, and those of them that were new.
    pub arrived: u64,
    pub delivered: u64,
    pub acks_sent: u64,
    /// Acknowledgements without a route.
    pub acks_unrouted: u64,
    /// True if the first packet opens the connection and has no data.
    starts_with_syn: bool,
    /// Number of packets to receive, and time in ns at which all of them had arrived.
    pub size: Option<u64>,
    pub finished_ns: Option<u64>,
    /// One-way delays in ns of packets since the last [`drain_delays`](ReceiverEndpoint::drain_delays), and the last delay
    /// before.
    new_delays_ns: Vec<u64>,
    last_ns: Option<u64>,
}

/// Acknowledgement policy.
#[derive(Clone, Debug)]
pub(crate) enum AckPolicy {
    /// Cumulative acknowledgements of an ns-2 agent.
    InOrder(Receiver),
    /// An acknowledgement of each packet, or of every second one.
    Each {
        every_second: bool,
    },
    /// Acknowledgements of a TCP stack.
    Stack(Box<StackReceiver>),
    NoAcks,
}

impl ReceiverEndpoint {
    /// Returns the receiver of a connection with this acknowledgement policy.
    pub fn new(spec: &ConnectionSpec, answers: AckPolicy) -> ReceiverEndpoint {
        ReceiverEndpoint {
            ack_policy: answers,
            counts_acks: spec.acks != Acks::None,
            arrived: 0,
            delivered: 0,
            acks_sent: 0,
            acks_unrouted: 0,
            starts_with_syn: match &spec.source {
                Source::Ns2Tcp(window) => window.variant.opens_connections(),
                _ => true,
            },
            size: spec.size_pkts.map(|size| size.ceil() as u64),
            finished_ns: None,
            new_delays_ns: Vec::new(),
            last_ns: None,
        }
    }

    /// Returns a placeholder for a receiver that belongs to a partition.
    pub fn placeholder(&self) -> ReceiverEndpoint {
        ReceiverEndpoint {
            ack_policy: AckPolicy::NoAcks,
            new_delays_ns: Vec::new(),
            ..*self
        }
    }

    /// Returns the time of the next timer event in ns.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match &self.ack_policy {
            AckPolicy::InOrder(receiver) => receiver.due_ns,
            AckPolicy::Stack(receiver) => receiver.due_ns(),
            AckPolicy::Each { .. } | AckPolicy::NoAcks => NEVER,
        }
    }

    /// Returns true if packets have arrived since their delays were drained.
    #[inline]
    pub fn has_new_delays(&self) -> bool {
        !self.new_delays_ns.is_empty()
    }

    /// Moves the delays of new arrivals to the statistics `into`.
    pub fn drain_delays(&mut self, into: &mut OneWayDelays) {
        for delay_ns in self.new_delays_ns.drain(..) {
            into.add(delay_ns, self.last_ns.replace(delay_ns));
        }
    }

    /// Returns the number of the next packet expected in order.
    pub fn next_expected(&self) -> i32 {
        match &self.ack_policy {
            AckPolicy::InOrder(receiver) => receiver.in_order() + 1,
            AckPolicy::Stack(receiver) => receiver.next_expected(),
            AckPolicy::Each { .. } | AckPolicy::NoAcks => 0,
        }
    }

    /// Runs all events before `until_ns`.
    pub fn receive(&mut self, ends: &TransferPaths, until_ns: u64, wires: &mut Wires) {
        let data_in = ends.data_input_wire;
        wires.sort(data_in);
        let mut taken = 0;
        loop {
            let next = wires.get(data_in, taken);
            let next = next.filter(|p| p.time_ns < until_ns);
            let due_ns = self.due_ns();
            let (now_ns, ack) = match next {
                Some(packet) if packet.time_ns <= due_ns => {
                    taken += 1;
                    self.new_delays_ns
                        .push(delay_ns(packet.time_ns, packet.metadata));
                    if let AckPolicy::Stack(receiver) = &mut self.ack_policy {
                        let congested = packet.metadata & CONGESTED != 0;
                        if let Some(first) = receiver.flush_delayed_ack(packet.seq, congested) {
                            self.send_ack(ends, packet.time_ns, first, wires);
                        }
                    }
                    (packet.time_ns, self.receive_data(packet))
                }
                _ if due_ns < until_ns => (due_ns, self.take_due_ack()),
                _ => break,
            };
            if let Some(ack) = ack {
                self.send_ack(ends, now_ns, ack, wires);
            }
        }
        wires.skip(data_in, taken);
    }

    /// Sends an acknowledgement with this sequence number and metadata.
    #[inline]
    fn send_ack(
        &mut self,
        ends: &TransferPaths,
        now_ns: u64,
        (seq, metadata): (i32, u64),
        wires: &mut Wires,
    ) {
        let ack = Packet {
            time_ns: now_ns + ends.off_network_ack_delay_ns,
            metadata,
            hop: ends.acks.hop,
            seq,
        };
        let sent = wires.push(ends.acks.wire, ack);
        if self.counts_acks {
            self.acks_sent += 1;
            self.acks_unrouted += u64::from(!sent);
        }
    }

    /// Processes a data packet. Returns the acknowledgement to send at once, if any.
    #[inline]
    fn receive_data(&mut self, packet: Packet) -> Option<(i32, u64)> {
        self.arrived += 1;
        let (new, ack) = match &mut self.ack_policy {
            AckPolicy::InOrder(receiver) => {
                let (new, at_once) = receiver.receive(packet.time_ns, packet.seq);
                let has_data = packet.seq > 0 || !self.starts_with_syn;
                (new && has_data, at_once.then(|| (receiver.in_order(), 0)))
            }
            AckPolicy::Each {
                every_second: second,
            } => {
                let at_once = !*second || self.arrived.is_multiple_of(2);
                (true, at_once.then_some((packet.seq, self.arrived)))
            }
            AckPolicy::Stack(receiver) => {
                let congested = packet.metadata & CONGESTED != 0;
                receiver.receive(packet.time_ns, packet.seq, packet.metadata, congested)
            }
            AckPolicy::NoAcks => (true, None),
        };
        if new && self.finished_ns.is_none() {
            self.delivered += 1;
            if self.size == Some(self.delivered) {
                self.finished_ns = Some(packet.time_ns);
            }
        }
        ack
    }

    /// Returns the delayed acknowledgement that is due now.
    fn take_due_ack(&mut self) -> Option<(i32, u64)> {
        match &mut self.ack_policy {
            AckPolicy::InOrder(receiver) => {
                receiver.due_ns = NEVER;
                Some((receiver.in_order(), 0))
            }
            AckPolicy::Stack(receiver) => Some(receiver.acknowledgement()),
            AckPolicy::Each { .. } | AckPolicy::NoAcks => None,
        }
    }
}
