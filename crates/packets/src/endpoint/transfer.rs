//! Transfers: a sender and a receiver, with their arrivals and timers.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{
    Acks, AppliedLimits, ConnectionSpec, HEADER_BYTES, Limit, Source, WorkloadSpec, segment_bytes,
};
use netflow_tcpmodel::tcp::ns2::Receiver;
use netflow_tcpmodel::tcp::{NEVER, TcpState};
use rand_pcg::Pcg32;

use crate::endpoint::ns2::SESSION_WINDOW_LIMIT;
use crate::endpoint::receiver::{AckPolicy, ReceiverEndpoint};
use crate::endpoint::sender::{AnySender, EndpointOutput, TransferSender, window_limit};
use crate::endpoint::stack::StackReceiver;
use crate::link::wire::Wires;
use crate::ns;
use crate::topology::TransferPaths;
use crate::{Purpose, random};

/// Sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub ends: TransferPaths,
    sender: AnySender,
    /// Further state of a user's connection.
    user: Option<Box<SessionEndpoint>>,
    start_ns: u64,
    stop_ns: u64,
    started: bool,
    stopped: bool,
    counts_acks: bool,
    pub acks_arrived: u64,
    /// Data packets without a route.
    pub unrouted: u64,
    pub receiver: ReceiverEndpoint,
    /// Windows at the send times of packets that have not reached the edge yet, if it marks by window.
    windows: Option<VecDeque<f64>>,
    /// Round-trip times in ns that the sender has measured since the last readout.
    pub rtts_ns: Vec<u64>,
}

/// Further state of a user's connection.
#[derive(Clone, Debug)]
struct SessionEndpoint {
    workload: Arc<WorkloadSpec>,
    /// Requests or replies in order: one past the last packet, and the bytes of the last packet on the wire.
    messages: Vec<(i32, u32)>,
    /// True if the server's answer to the first packet has been acknowledged.
    is_accepted: bool,
    visited: bool,
    /// Random numbers for the clock phases of a stack's receivers.
    random: Pcg32,
}

impl Transfer {
    pub fn new(
        spec: &ConnectionSpec,
        jitter_s: f64,
        ends: TransferPaths,
        seed: u64,
        number: u64,
    ) -> Transfer {
        let start_ns = match &spec.source {
            Source::Users(_) => NEVER, // until a session arrives
            _ => ns(spec.start_s),
        };
        let sender = AnySender::new(spec, jitter_s, start_ns, seed, number);
        let every_second = spec.acks == Acks::EverySecond;
        let answers = match &spec.source {
            Source::Constant { .. } | Source::Poisson { .. } => AckPolicy::NoAcks,
            Source::Profile(_) => AckPolicy::Each { every_second },
            Source::Users(traffic) => match traffic.workload.source {
                Some(_) => AckPolicy::InOrder(Receiver::new(
                    SESSION_WINDOW_LIMIT,
                    traffic.workload.delayed_ack,
                )),
                None => {
                    let mut random = random(seed, Purpose::Receiver, number);
                    let workload = &traffic.workload;
                    let segment_bytes = segment_bytes(workload.packet_size_bytes);
                    let receiver = StackReceiver::new(&workload.stack, segment_bytes, &mut random);
                    AckPolicy::Stack(Box::new(receiver))
                }
            },
            Source::Tcp(stack) => {
                let mut random = random(seed, Purpose::Receiver, number);
                let segment_bytes = segment_bytes(spec.packet_size_bytes);
                let receiver = StackReceiver::new(stack, segment_bytes, &mut random);
                AckPolicy::Stack(Box::new(receiver))
            }
            Source::Ns2Tcp(_) => {
                AckPolicy::InOrder(Receiver::new(window_limit(spec), every_second))
            }
        };
        let user = match &spec.source {
            Source::Users(traffic) => Some(Box::new(SessionEndpoint {
                workload: traffic.workload.clone(),
                messages: Vec::new(),
                is_accepted: false,
                visited: false,
                random: random(seed, Purpose::Receiver, number),
            })),
            _ => None,
        };
        Transfer {
            ends,
            sender,
            user,
            start_ns,
            stop_ns: spec.stop_s.map_or(NEVER, ns),
            started: false,
            stopped: false,
            counts_acks: spec.acks != Acks::None,
            acks_arrived: 0,
            unrouted: 0,
            receiver: ReceiverEndpoint::new(spec, answers),
            windows: None,
            rtts_ns: Vec::new(),
        }
    }

    /// Returns a placeholder for a transfer whose endpoints belong to partitions.
    pub fn placeholder(&self) -> Transfer {
        Transfer {
            sender: AnySender::placeholder(),
            user: None,
            receiver: self.receiver.placeholder(),
            windows: None,
            rtts_ns: Vec::new(),
            ..*self
        }
    }

    /// Swaps the senders of two transfers.
    pub fn swap_sending(&mut self, there: &mut Transfer) {
        std::mem::swap(self, there);
        std::mem::swap(&mut self.receiver, &mut there.receiver);
    }

    /// Records windows from now on, because an edge marks the packets.
    pub fn record_windows(&mut self) {
        if self.sender.with_window().is_some() {
            self.windows = Some(VecDeque::new());
        }
    }

    /// Returns the congestion window in packets at the send time of the packet that reaches the edge next, if
    /// the source has a window.
    pub fn window_of_next(&mut self) -> Option<f64> {
        self.windows.as_mut()?.pop_front()
    }

    /// Starts a session at `now_ns`. The client's sender opens a connection; that of the `server` waits for
    /// requests.
    pub fn start_session(&mut self, now_ns: u64, server: bool) {
        let (Some(user), Some(sender)) = (&mut self.user, self.sender.with_window_mut()) else {
            return;
        };
        sender.restart(&user.workload, server);
        match &mut self.receiver.ack_policy {
            AckPolicy::InOrder(receiver) => receiver.restart(i32::from(server)),
            AckPolicy::Stack(receiver) => {
                receiver.restart(&user.workload.stack, server, &mut user.random);
            }
            AckPolicy::Each { .. } | AckPolicy::NoAcks => {}
        }
        user.messages.clear();
        user.is_accepted = false;
        user.visited = true;
        self.start_ns = now_ns;
        self.started = server;
    }

    /// Ends the session.
    pub fn end_session(&mut self) {
        if let Some(user) = &mut self.user {
            user.visited = false;
        }
    }

    /// Returns true if nothing remains to be done at both endpoints, unless packets are in flight.
    pub fn is_idle(&self) -> bool {
        let sender = self.sender.with_window();
        sender.is_some_and(|sender| sender.is_idle()) && self.receiver.due_ns() == NEVER
    }

    /// Adds a message of `bytes` bytes, in packets of its own.
    pub fn add_message(&mut self, bytes: u64) {
        let (before, end) = (self.available(), self.message_end(bytes));
        let Some(user) = &mut self.user else { return };
        let full = f64::from(end - before - 1) * user.workload.payload_bytes();
        let last = bytes as f64 - full + HEADER_BYTES;
        user.messages.push((end, last.round() as u32));
        if let Some(sender) = self.sender.with_window_mut() {
            sender.offer(end);
        }
    }

    /// Returns the number of packets available to send, including the first one without payload.
    fn available(&self) -> i32 {
        let sender = self.sender.with_window();
        sender.map_or(0, |sender| sender.available())
    }

    /// Returns one past the last packet of a further message of `bytes` bytes.
    pub fn message_end(&self, bytes: u64) -> i32 {
        let Some(user) = &self.user else {
            return i32::MAX;
        };
        let pkts = (bytes as f64 / user.workload.payload_bytes()).ceil();
        self.available().saturating_add(pkts.max(1.0) as i32)
    }

    /// Sends available data as far as allowed.
    pub fn push(&mut self, now_ns: u64, wires: &mut Wires) {
        if let Some(sender) = self.sender.with_window_mut() {
            sender.push(now_ns);
            let mut out = EndpointOutput {
                path: self.ends.data,
                wires,
                unrouted: &mut self.unrouted,
                windows: self.windows.as_mut(),
            };
            sender.emit(now_ns, &mut out);
        }
    }

    /// Returns true if the first packet is acknowledged.
    pub fn is_connected(&self) -> bool {
        let sender = self.sender.with_window();
        sender.is_some_and(|sender| sender.is_connected())
    }

    /// Returns true if a packet was retransmitted in this session (for a stack, only the SYN counts).
    pub fn has_repeated(&self) -> bool {
        let sender = self.sender.with_window();
        sender.is_some_and(|sender| sender.has_repeated())
    }

    /// Returns true if the server's answer to the client's first packet has been acknowledged.
    pub fn is_accepted(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.is_accepted)
    }

    /// Records that the server's answer of `from_ns` has been acknowledged. This is a round-trip sample,
    /// unless the first packet was `repeated`.
    pub fn accept(&mut self, from_ns: u64, to_ns: u64, repeated: bool) {
        if let Some(user) = &mut self.user {
            user.is_accepted = true;
        }
        if let Some(sender) = self.sender.with_window_mut() {
            sender.accept(from_ns, to_ns, repeated);
        }
    }

    /// Returns the bytes of one of a user's packets on the wire.
    pub fn wire_bytes(&self, seq: i32) -> f64 {
        let Some(user) = &self.user else {
            return HEADER_BYTES;
        };
        let next = user.messages.partition_point(|&(end, _)| end <= seq);
        match user.messages.get(next) {
            Some(&(end, last)) if end == seq + 1 => f64::from(last),
            _ => user.workload.packet_size_bytes,
        }
    }

    /// Returns the time of the next event at either endpoint, in ns.
    pub fn next_ns(&self, wires: &Wires) -> u64 {
        let ends = &self.ends;
        let arrives_ns = wires
            .head_ns(ends.data_input_wire)
            .min(wires.head_ns(ends.acks_input_wire));
        self.due_ns().min(arrives_ns)
    }

    /// Returns the time of the next event without an arrival at either endpoint, in ns.
    pub fn due_ns(&self) -> u64 {
        self.sender_due_ns().min(self.receiver.due_ns())
    }

    /// Returns the time of the sender's next event without an arrival, in ns.
    pub fn sender_due_ns(&self) -> u64 {
        if !self.started {
            return self.start_ns;
        }
        let stop_ns = if self.stopped { NEVER } else { self.stop_ns };
        self.sender.due_ns().min(stop_ns)
    }

    /// Returns true if the sender observes arrivals at its receiver directly. Its acknowledgements are not
    /// traffic, or it has no feedback and stops when its size has arrived.
    pub fn sees_arrivals(&self) -> bool {
        if self.sender.has_feedback() {
            !self.counts_acks
        } else {
            self.receiver.size.is_some()
        }
    }

    /// Returns the number of packets sent, including retransmissions.
    pub fn sent(&self) -> u64 {
        self.sender.sent()
    }

    /// Returns the rate in packets/s: the window per round-trip time, or the rate of the source. If there is
    /// no more to send, packets in flight limit it, per round-trip time.
    pub fn rate_pps(&self, now_ns: u64) -> f64 {
        if !self.is_sending(now_ns) {
            return 0.0;
        }
        let rate_pps = self.sender.rate_pps();
        match (self.tcp_state(), self.applied()) {
            (Some(tcp), Err(Some(Limit::Application | Limit::Size))) if tcp.srtt_s > 0.0 => {
                rate_pps.min(f64::from(tcp.in_flight) / tcp.srtt_s)
            }
            _ => rate_pps,
        }
    }

    /// Sets the rate of a fixed-rate source from `now_ns` on.
    pub fn set_rate(&mut self, now_ns: u64, rate_pps: f64) {
        if let Some(sender) = self.sender.with_fixed_rate() {
            sender.set_rate(now_ns, rate_pps);
        }
    }

    /// Returns true if the transfer has started and not ended.
    pub fn is_sending(&self, now_ns: u64) -> bool {
        if let Some(user) = &self.user {
            return user.visited;
        }
        let is_open = self.start_ns <= now_ns && now_ns < self.stop_ns;
        is_open && self.receiver.finished_ns.is_none()
    }

    /// Returns the sender's smoothed round-trip time in seconds.
    pub fn smoothed_rtt_s(&self) -> f64 {
        self.sender.smoothed_rtt_s()
    }

    /// Returns the last computation of a source with a profile; for other sources, the current limit, if
    /// known.
    pub fn applied(&self) -> Result<&AppliedLimits, Option<Limit>> {
        self.sender.applied(self.receiver.size.is_some())
    }

    /// Returns the maximum window in packets; infinite without one.
    pub fn window_limit_pkts(&self) -> f64 {
        self.sender.window_limit_pkts()
    }

    /// Returns the current retransmission timeout in seconds, including back-off, if the source has one.
    pub fn rto_s(&self) -> Option<f64> {
        self.sender.with_window().map(|sender| sender.rto_s())
    }

    /// Returns the state of a sender with a congestion window.
    pub fn tcp_state(&self) -> Option<TcpState> {
        self.sender.with_window().map(|sender| sender.tcp_state())
    }

    /// Returns the maximum number of packets in flight so far, of a sender with a congestion window.
    pub fn max_in_flight_pkts(&self) -> Option<u32> {
        (self.sender.with_window()).map(|sender| sender.max_in_flight_pkts())
    }

    /// Returns the sum of measured round-trip times in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, f64) {
        let (sum_s, rtts) = self.sender.rtt_sum();
        (sum_s, rtts as f64)
    }

    /// Returns the times in ns outside the profile's domain, too far outside to be usable, and active in
    /// total.
    pub fn outside_ns(&self) -> [u64; 3] {
        self.sender.outside_ns()
    }

    /// Returns the number of packets that the application made; `None` for sources without a generator.
    pub fn generated(&self) -> Option<u64> {
        self.sender.with_window().map(|sender| sender.generated())
    }

    /// Returns the numbers of timeouts and of losses found by duplicate acknowledgements.
    pub fn detected_losses(&self) -> Option<(u64, u64)> {
        (self.sender.with_window()).map(|sender| sender.detected_losses())
    }

    /// Runs all events at both endpoints before `until_ns`.
    pub fn run(&mut self, until_ns: u64, wires: &mut Wires) {
        self.receiver.receive(&self.ends, until_ns, wires);
        self.run_sender(until_ns, wires);
    }

    /// Runs all events at the sender before `until_ns`.
    pub fn run_sender(&mut self, until_ns: u64, wires: &mut Wires) {
        let acks_in = self.ends.acks_input_wire;
        wires.sort(acks_in);
        let mut taken = 0;
        let mut out = EndpointOutput {
            path: self.ends.data,
            wires,
            unrouted: &mut self.unrouted,
            windows: self.windows.as_mut(),
        };
        if !self.started && self.start_ns < until_ns {
            self.started = true;
            self.sender.start(self.start_ns, &mut out);
        }
        while self.started {
            let ack = out.wires.get(acks_in, taken);
            let ack_ns = ack.map_or(NEVER, |p| p.time_ns);
            let stop_ns = if self.stopped {
                NEVER
            } else if self.sender.has_feedback() {
                self.stop_ns
            } else {
                // It stops when its size has been delivered.
                self.stop_ns.min(self.receiver.finished_ns.unwrap_or(NEVER))
            };
            let due_ns = self.sender.due_ns();
            let now_ns = ack_ns.min(due_ns).min(stop_ns);
            if now_ns >= until_ns {
                break;
            }
            let (sum_before_s, rtts_before) = self.sender.rtt_sum();
            if stop_ns == now_ns {
                self.stopped = true;
                self.sender.stop(now_ns);
            } else if let Some(packet) = ack
                && ack_ns <= due_ns
            {
                taken += 1;
                self.acks_arrived += u64::from(self.counts_acks);
                self.sender.acknowledge(now_ns, &packet);
            } else {
                self.sender.run_due_event(now_ns, &mut out);
            }
            let (sum_s, rtts) = self.sender.rtt_sum();
            if rtts > rtts_before {
                let rtt_ns = (sum_s - sum_before_s) * 1e9;
                self.rtts_ns.push(rtt_ns.round() as u64);
            }
            self.sender.emit(now_ns, &mut out);
        }
        wires.skip(acks_in, taken);
    }
}
