//! Transfers: a sender and a receiver, with their arrivals and timers.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{
    Acks, Application, AppliedLimits, ConnectionSpec, DEFAULT_MAX_WINDOW_PKTS, HEADER_BYTES, Limit,
    MAX_STACK_WINDOW_PKTS, Source, WindowSource, WorkloadSpec, segment_bytes,
};
use netflow_tcpmodel::Stack;
use netflow_tcpmodel::tcp::ns2::{Receiver, Sender, Sent};
use netflow_tcpmodel::tcp::{NEVER, TcpState};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::endpoint::generator::PacketGenerator;
use crate::endpoint::receiver::{AckPolicy, ReceiverEndpoint};
use crate::endpoint::stack::{StackReceiver, StackSender};
use crate::endpoint::tfrc::TfrcSender;
use crate::link::queue_disc::SEND_TIME_MASK;
use crate::link::wire::{Packet, Wires};
use crate::ns;
use crate::topology::{PathStart, TransferPaths};
use crate::{Purpose, random};

/// Sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub ends: TransferPaths,
    kind: TransferSender,
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

#[derive(Clone, Debug)]
enum TransferSender {
    Tcp(Box<Tcp>),
    /// Sender with a TCP stack.
    Stack(Box<StackSender>),
    /// TFRC source with a profile.
    Tfrc(Box<TfrcSender>),
    /// Source without feedback.
    FixedRate(Box<FixedRate>),
}

#[derive(Clone, Debug)]
struct FixedRate {
    generator: PacketGenerator,
    rate_pps: f64,
    sent: u64,
}

#[derive(Clone, Debug)]
struct Tcp {
    sender: Sender,
    application: PacketGenerator,
    /// Maximum random delay of a packet before it is sent, in ns.
    jitter_ns: f64,
    /// Time in ns until which sending is delayed.
    delayed_until_ns: u64,
    random: Pcg32,
    sent: Sent,
    /// Number of packets without data before the first data packet: 1 if the connection is opened, or 0.
    syn_pkts: i32,
    /// Maximum number of packets of the application, including these.
    size: i32,
}

/// Further state of a user's connection.
#[derive(Clone, Debug)]
struct SessionEndpoint {
    workload: Arc<WorkloadSpec>,
    /// Requests or replies in order: one past the last packet, and the bytes of the last packet on the wire.
    messages: Vec<(i32, u32)>,
    /// Retransmissions and timeouts before this session.
    repeated: u64,
    /// True if the server's answer to the first packet has been acknowledged.
    is_accepted: bool,
    visited: bool,
    /// Random numbers for the clock phases of a stack's receivers.
    random: Pcg32,
}

/// Number of packets that no transfer exceeds.
const UNLIMITED: i32 = i32::MAX - 1;
/// Maximum window of a user's connection in packets.
const SESSION_WINDOW_LIMIT: f64 = DEFAULT_MAX_WINDOW_PKTS;

/// Returns the maximum window of a connection in packets.
pub(crate) fn window_limit(spec: &ConnectionSpec) -> f64 {
    spec.max_window_pkts.unwrap_or(match spec.source {
        Source::Tcp(_) => MAX_STACK_WINDOW_PKTS,
        _ => DEFAULT_MAX_WINDOW_PKTS,
    })
}

/// Returns the stack with segments for packets of `packet_bytes` bytes.
fn stack_for_packet_size(stack: &Arc<Stack>, packet_bytes: f64) -> Arc<Stack> {
    let mss_bytes = segment_bytes(packet_bytes);
    if stack.mss_bytes == mss_bytes {
        stack.clone()
    } else {
        Arc::new(Stack {
            mss_bytes,
            ..Stack::clone(stack)
        })
    }
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
        let of_application = random(seed, Purpose::Application, number);
        let of_sender = random(seed, Purpose::Sender, number);
        let kind = match &spec.source {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => {
                TransferSender::FixedRate(Box::new(FixedRate {
                    generator: PacketGenerator::for_source(&spec.source, start_ns, of_application),
                    rate_pps: *rate_pps,
                    sent: 0,
                }))
            }
            Source::Profile(profile) => TransferSender::Tfrc(Box::new(TfrcSender::new(
                profile.clone(),
                spec.max_window_pkts,
                spec.application.mean_pps(),
                spec.packet_size_bytes,
                of_sender,
            ))),
            Source::Users(traffic) => {
                TransferSender::unused_slot(&traffic.workload, of_sender, of_application)
            }
            Source::Tcp(stack) => {
                let application =
                    PacketGenerator::for_application(spec.application, start_ns, of_application);
                let limit = window_limit(spec);
                let stack = stack_for_packet_size(stack, spec.packet_size_bytes);
                let sender = StackSender::new(&stack, spec, limit, application, of_sender);
                TransferSender::Stack(Box::new(sender))
            }
            Source::Ns2Tcp(window) => {
                let application =
                    PacketGenerator::for_application(spec.application, start_ns, of_application);
                TransferSender::Tcp(Box::new(Tcp::new(
                    spec,
                    window,
                    jitter_s,
                    application,
                    of_sender,
                )))
            }
        };
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
                repeated: 0,
                is_accepted: false,
                visited: false,
                random: random(seed, Purpose::Receiver, number),
            })),
            _ => None,
        };
        Transfer {
            ends,
            kind,
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
        let nothing = PacketGenerator::for_application(Application::Bulk, NEVER, Pcg32::new(0, 0));
        Transfer {
            kind: TransferSender::FixedRate(Box::new(FixedRate {
                generator: nothing,
                rate_pps: 0.0,
                sent: 0,
            })),
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
        if let TransferSender::Tcp(_) | TransferSender::Stack(_) = self.kind {
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
        let Some(user) = &mut self.user else { return };
        match &mut self.kind {
            TransferSender::Tcp(tcp) => {
                let offset = tcp.random.random();
                let source = user.workload.source.unwrap_or_default();
                tcp.sender =
                    tcp.sender
                        .new_connection(&source, SESSION_WINDOW_LIMIT, offset, !server);
                tcp.delayed_until_ns = NEVER;
                user.repeated = tcp.sender.retransmissions;
            }
            TransferSender::Stack(stack) => stack.reset(),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => return,
        }
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
        let sender_rests = match &self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.is_idle(),
            TransferSender::Stack(stack) => stack.is_idle(),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => false,
        };
        sender_rests && self.receiver.due_ns() == NEVER
    }

    /// Adds a message of `bytes` bytes, in packets of its own.
    pub fn add_message(&mut self, bytes: u64) {
        let (before, end) = (self.kind.available(), self.message_end(bytes));
        let Some(user) = &mut self.user else { return };
        let full = f64::from(end - before - 1) * user.workload.payload_bytes();
        let last = bytes as f64 - full + HEADER_BYTES;
        user.messages.push((end, last.round() as u32));
        match &mut self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.available = end,
            TransferSender::Stack(stack) => stack.offer(end),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => {}
        }
    }

    /// Returns one past the last packet of a further message of `bytes` bytes.
    pub fn message_end(&self, bytes: u64) -> i32 {
        let Some(user) = &self.user else {
            return i32::MAX;
        };
        let pkts = (bytes as f64 / user.workload.payload_bytes()).ceil();
        self.kind.available().saturating_add(pkts.max(1.0) as i32)
    }

    /// Sends available data as far as allowed.
    pub fn push(&mut self, now_ns: u64, wires: &mut Wires) {
        let mut out = EndpointOutput {
            path: self.ends.data,
            wires,
            stranded: &mut self.unrouted,
            windows: self.windows.as_mut(),
        };
        match &mut self.kind {
            TransferSender::Tcp(tcp) => {
                tcp.sender.restart_after_idle(now_ns);
                tcp.try_to_send(now_ns);
                tcp.emit(now_ns, &mut out);
            }
            TransferSender::Stack(stack) => {
                stack.push(now_ns);
                let window_pkts = stack.window_pkts();
                stack
                    .emit(|seq, metadata| out.send_with_window(now_ns, metadata, seq, window_pkts));
            }
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => {}
        }
    }

    /// Returns true if the first packet is acknowledged.
    pub fn is_connected(&self) -> bool {
        match &self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.acknowledged >= 0,
            TransferSender::Stack(stack) => stack.is_open(),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => false,
        }
    }

    /// Returns true if a packet was retransmitted in this session (for a stack, only the SYN counts).
    pub fn has_repeated(&self) -> bool {
        match (&self.kind, &self.user) {
            (TransferSender::Tcp(tcp), Some(user)) => tcp.sender.retransmissions > user.repeated,
            (TransferSender::Stack(stack), _) => stack.has_repeated_syn(),
            _ => false,
        }
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
        match &mut self.kind {
            TransferSender::Tcp(tcp) if !repeated => {
                tcp.sender.measure_handshake_rtt(from_ns, to_ns)
            }
            TransferSender::Stack(stack) => stack.accept(from_ns, to_ns, repeated),
            TransferSender::Tcp(_) | TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => {}
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
        let own_ns = match &self.kind {
            TransferSender::FixedRate(open) => open.generator.next_ns(),
            TransferSender::Tfrc(sender) => sender.due_ns(),
            TransferSender::Tcp(tcp) => tcp.due_ns(),
            TransferSender::Stack(stack) => stack.due_ns(),
        };
        own_ns.min(stop_ns)
    }

    /// Returns true if the sender observes arrivals at its receiver directly. Its acknowledgements are not
    /// traffic, or it has no feedback and stops when its size has arrived.
    pub fn sees_arrivals(&self) -> bool {
        match self.kind {
            TransferSender::FixedRate(_) => self.receiver.size.is_some(),
            _ => !self.counts_acks,
        }
    }

    /// Returns the number of packets sent, including retransmissions.
    pub fn sent(&self) -> u64 {
        match &self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.sent,
            TransferSender::Stack(stack) => stack.sent,
            TransferSender::Tfrc(sender) => sender.sent,
            TransferSender::FixedRate(open) => open.sent,
        }
    }

    /// Returns the rate in packets/s: the window per round-trip time, or the rate of the source. If there is
    /// no more to send, packets in flight limit it, per round-trip time.
    pub fn rate_pps(&self, now_ns: u64) -> f64 {
        let rate_pps = match &self.kind {
            _ if !self.is_sending(now_ns) => 0.0,
            TransferSender::Tcp(tcp) => match tcp.sender.smoothed_rtt_s() {
                rtt_s if rtt_s > 0.0 => tcp.sender.window.min(tcp.sender.limit) / rtt_s,
                _ => 0.0,
            },
            TransferSender::Stack(stack) => stack.rate_pps(),
            TransferSender::Tfrc(sender) => sender.rate_pps,
            TransferSender::FixedRate(open) => open.rate_pps,
        };
        match (self.tcp_state(), self.applied()) {
            (Some(tcp), Err(Some(Limit::Application | Limit::Size))) if tcp.srtt_s > 0.0 => {
                rate_pps.min(f64::from(tcp.in_flight) / tcp.srtt_s)
            }
            _ => rate_pps,
        }
    }

    /// Sets the rate of a fixed-rate source from `now_ns` on.
    pub fn set_rate(&mut self, now_ns: u64, rate_pps: f64) {
        if let TransferSender::FixedRate(open) = &mut self.kind {
            open.rate_pps = rate_pps;
            open.generator.set_rate(now_ns, rate_pps);
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
        match &self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.smoothed_rtt_s(),
            TransferSender::Stack(stack) => stack.srtt_s(),
            TransferSender::Tfrc(sender) => sender.rtt_s,
            TransferSender::FixedRate(_) => 0.0,
        }
    }

    /// Returns the last computation of a source with a profile; for other sources, the current limit, if
    /// known.
    pub fn applied(&self) -> Result<&AppliedLimits, Option<Limit>> {
        match &self.kind {
            TransferSender::Tfrc(sender) => sender.applied.as_ref().ok_or(None),
            TransferSender::FixedRate(_) => Err(Some(Limit::Own)),
            TransferSender::Tcp(tcp) => Err(Some(tcp.limited_by(self.receiver.size.is_some()))),
            TransferSender::Stack(stack) => {
                Err(Some(stack.limited_by(self.receiver.size.is_some())))
            }
        }
    }

    /// Returns the maximum window in packets; infinite without one.
    pub fn window_limit_pkts(&self) -> f64 {
        match &self.kind {
            TransferSender::Tcp(tcp) => tcp.sender.limit,
            TransferSender::Stack(stack) => stack.limit(),
            TransferSender::Tfrc(sender) => sender.window,
            TransferSender::FixedRate(_) => f64::INFINITY,
        }
    }

    /// Returns the current retransmission timeout in seconds, including back-off, if the source has one.
    pub fn rto_s(&self) -> Option<f64> {
        match &self.kind {
            TransferSender::Tcp(tcp) => Some(tcp.sender.rto_s()),
            TransferSender::Stack(stack) => Some(stack.rto_s()),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => None,
        }
    }

    /// Returns the state of a sender with a congestion window.
    pub fn tcp_state(&self) -> Option<TcpState> {
        match &self.kind {
            TransferSender::Tcp(tcp) => Some(tcp.sender.state()),
            TransferSender::Stack(stack) => Some(stack.state()),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => None,
        }
    }

    /// Returns the maximum number of packets in flight so far, of a sender with a congestion window.
    pub fn max_in_flight_pkts(&self) -> Option<u32> {
        match &self.kind {
            TransferSender::Tcp(tcp) => Some(tcp.sender.max_in_flight as u32),
            TransferSender::Stack(stack) => Some(stack.max_in_flight()),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => None,
        }
    }

    /// Returns the sum of measured round-trip times in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, f64) {
        let (sum_s, rtts) = self.kind.rtt_sum();
        (sum_s, rtts as f64)
    }

    /// Returns the times in ns outside the profile's domain, too far outside to be usable, and active in
    /// total.
    pub fn outside_ns(&self) -> [u64; 3] {
        match &self.kind {
            TransferSender::Tfrc(sender) => {
                [sender.outside_ns, sender.unusable_ns, sender.active_ns]
            }
            _ => [0; 3],
        }
    }

    /// Returns the number of packets that the application made; `None` for sources without a generator.
    pub fn generated(&self) -> Option<u64> {
        match &self.kind {
            TransferSender::Tcp(tcp) => Some(tcp.application.generated()),
            TransferSender::Stack(stack) => Some(stack.generated()),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => None,
        }
    }

    /// Returns the numbers of timeouts and of losses found by duplicate acknowledgements.
    pub fn detected_losses(&self) -> Option<(u64, u64)> {
        match &self.kind {
            TransferSender::Tcp(tcp) => Some((tcp.sender.timeouts, tcp.sender.fast_retransmits)),
            TransferSender::Stack(stack) => Some(stack.detected_losses()),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => None,
        }
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
            stranded: &mut self.unrouted,
            windows: self.windows.as_mut(),
        };
        if !self.started && self.start_ns < until_ns {
            self.started = true;
            match &mut self.kind {
                TransferSender::Tcp(tcp) => {
                    tcp.try_to_send(self.start_ns);
                    tcp.emit(self.start_ns, &mut out);
                }
                TransferSender::Stack(stack) => stack.start(self.start_ns, |seq| {
                    out.send_with_window(self.start_ns, 0, seq, 1.0);
                }),
                TransferSender::Tfrc(sender) => sender.start(self.start_ns),
                TransferSender::FixedRate(_) => {}
            }
        }
        while self.started {
            let ack = out.wires.get(acks_in, taken);
            let ack_ns = ack.map_or(NEVER, |p| p.time_ns);
            let stop_ns = match &self.kind {
                _ if self.stopped => NEVER,
                // It stops when its size has been delivered.
                TransferSender::FixedRate(_) => {
                    self.stop_ns.min(self.receiver.finished_ns.unwrap_or(NEVER))
                }
                _ => self.stop_ns,
            };
            let due_ns = match &self.kind {
                TransferSender::Tcp(tcp) => tcp.due_ns(),
                TransferSender::Stack(stack) => stack.due_ns(),
                TransferSender::Tfrc(sender) => sender.due_ns(),
                TransferSender::FixedRate(open) => open.generator.next_ns(),
            };
            let now_ns = ack_ns.min(due_ns).min(stop_ns);
            if now_ns >= until_ns {
                break;
            }
            let (sum_before_s, rtts_before) = self.kind.rtt_sum();
            if stop_ns == now_ns {
                self.stopped = true;
                match &mut self.kind {
                    TransferSender::Tcp(tcp) => tcp.stop(),
                    TransferSender::Stack(stack) => stack.stop(),
                    TransferSender::Tfrc(sender) => sender.stop(now_ns),
                    TransferSender::FixedRate(open) => open.generator.stop(),
                }
            } else if let Some(packet) = ack
                && ack_ns <= due_ns
            {
                taken += 1;
                self.acks_arrived += u64::from(self.counts_acks);
                match &mut self.kind {
                    TransferSender::Tcp(tcp) => {
                        if tcp.sender.acknowledge(now_ns, packet.seq, &mut tcp.sent) {
                            tcp.try_to_send(now_ns);
                        }
                        if self.user.is_some() {
                            tcp.sender.stop_timer_if_done();
                        }
                    }
                    TransferSender::Stack(stack) => {
                        stack.acknowledge(now_ns, packet.seq, packet.metadata)
                    }
                    TransferSender::Tfrc(sender) => {
                        sender.acknowledge(now_ns, packet.seq, packet.metadata);
                        let size = self.receiver.size;
                        if size.is_some_and(|size| packet.metadata >= size) {
                            sender.stop(now_ns);
                        }
                    }
                    TransferSender::FixedRate(_) => {}
                }
            } else {
                match &mut self.kind {
                    TransferSender::Tcp(tcp) => tcp.run_due_event(now_ns),
                    TransferSender::Stack(stack) => stack.run_due_event(now_ns, |seq| {
                        out.send_with_window(now_ns, 0, seq, 1.0);
                    }),
                    TransferSender::Tfrc(sender) => {
                        if let Some(seq) = sender.run_due_event(now_ns) {
                            out.send(now_ns, seq);
                        }
                    }
                    TransferSender::FixedRate(open) => {
                        open.sent += 1;
                        open.generator.advance();
                        // Sequence numbers are not used, but 0 is a packet without payload.
                        out.send(now_ns, 1);
                    }
                }
            }
            let (sum_s, rtts) = self.kind.rtt_sum();
            if rtts > rtts_before {
                let rtt_ns = (sum_s - sum_before_s) * 1e9;
                self.rtts_ns.push(rtt_ns.round() as u64);
            }
            match &mut self.kind {
                TransferSender::Tcp(tcp) => tcp.emit(now_ns, &mut out),
                TransferSender::Stack(stack) => {
                    let window_pkts = stack.window_pkts();
                    stack.emit(|seq, metadata| {
                        out.send_with_window(now_ns, metadata, seq, window_pkts)
                    });
                }
                TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => {}
            }
        }
        wires.skip(acks_in, taken);
    }
}

/// Output of an endpoint.
struct EndpointOutput<'a> {
    path: PathStart,
    wires: &'a mut Wires,
    stranded: &'a mut u64,
    windows: Option<&'a mut VecDeque<f64>>,
}

impl EndpointOutput<'_> {
    /// Sends a packet. Returns false if it has no route.
    #[inline(always)]
    fn send(&mut self, time_ns: u64, seq: i32) -> bool {
        self.send_with_metadata(time_ns, 0, seq)
    }

    /// Sends a packet with this metadata and the send time. Returns false if it has no route.
    #[inline(always)]
    fn send_with_metadata(&mut self, time_ns: u64, metadata: u64, seq: i32) -> bool {
        let packet = Packet {
            time_ns,
            metadata: time_ns & SEND_TIME_MASK | metadata,
            hop: self.path.hop,
            seq,
        };
        let sent = self.wires.push(self.path.wire, packet);
        *self.stranded += u64::from(!sent);
        sent
    }
}

impl EndpointOutput<'_> {
    /// Sends a packet, and records the window for an edge that marks it.
    #[inline(always)]
    fn send_with_window(&mut self, now_ns: u64, metadata: u64, seq: i32, window_pkts: f64) {
        if self.send_with_metadata(now_ns, metadata, seq)
            && let Some(windows) = &mut self.windows
        {
            windows.push_back(window_pkts);
        }
    }
}

impl TransferSender {
    /// Returns the sender of an unused session slot.
    fn unused_slot(workload: &WorkloadSpec, random: Pcg32, unused: Pcg32) -> TransferSender {
        let unused = PacketGenerator::for_application(Application::Bulk, 0, unused);
        match &workload.source {
            Some(source) => TransferSender::Tcp(Box::new(Tcp::unused_slot(source, unused, random))),
            None => {
                let stack = Arc::new(workload.stack.clone());
                let stack = stack_for_packet_size(&stack, workload.packet_size_bytes);
                let sender =
                    StackSender::without_data(&stack, MAX_STACK_WINDOW_PKTS, unused, random);
                TransferSender::Stack(Box::new(sender))
            }
        }
    }

    /// Returns the number of packets available to send, including the first one without payload.
    fn available(&self) -> i32 {
        match self {
            TransferSender::Tcp(tcp) => tcp.sender.available,
            TransferSender::Stack(stack) => stack.available(),
            TransferSender::Tfrc(_) | TransferSender::FixedRate(_) => 0,
        }
    }

    #[inline]
    fn rtt_sum(&self) -> (f64, u64) {
        match self {
            TransferSender::Tcp(tcp) => (tcp.sender.rtt_sum_s, tcp.sender.rtts),
            TransferSender::Stack(stack) => stack.rtt_sum(),
            TransferSender::Tfrc(sender) => (sender.rtt_sum_s, sender.rtts),
            TransferSender::FixedRate(_) => (0.0, 0),
        }
    }
}

impl Tcp {
    fn new(
        spec: &ConnectionSpec,
        window: &WindowSource,
        jitter_s: f64,
        application: PacketGenerator,
        mut random: Pcg32,
    ) -> Tcp {
        let limit = window_limit(spec);
        let opening = i32::from(window.variant.opens_connections());
        let size = spec
            .size_pkts
            .map_or(UNLIMITED, |size| size.ceil().min(1e9) as i32 + opening);
        let available = match spec.application {
            Application::Bulk => size,
            _ => 0,
        };
        Tcp {
            sender: Sender::new(window, limit, available, random.random()),
            application,
            jitter_ns: ns(jitter_s) as f64,
            delayed_until_ns: NEVER,
            random,
            sent: Sent::new(),
            syn_pkts: opening,
            size,
        }
    }

    /// Returns the sender of an unused session slot. By default it has no jitter, because sessions arrive at
    /// random.
    fn unused_slot(source: &WindowSource, unused: PacketGenerator, mut random: Pcg32) -> Tcp {
        Tcp {
            sender: Sender::new(source, SESSION_WINDOW_LIMIT, 0, random.random()),
            application: unused,
            jitter_ns: ns(source.send_jitter_s.unwrap_or_default()) as f64,
            delayed_until_ns: NEVER,
            random,
            sent: Sent::new(),
            syn_pkts: 1,
            size: UNLIMITED,
        }
    }

    /// Returns the limit of the sending rate. `has_size` is true if the transfer has a size.
    fn limited_by(&self, has_size: bool) -> Limit {
        match self.sender.has_sent_all() {
            true if has_size => Limit::Size,
            true => Limit::Application,
            false if self.sender.window >= self.sender.limit => Limit::Window,
            false => Limit::CongestionWindow,
        }
    }

    fn due_ns(&self) -> u64 {
        let timer_ns = self.sender.timer_ns();
        timer_ns
            .min(self.delayed_until_ns)
            .min(self.application.next_ns())
    }

    /// Sends available packets, after a random delay if there is one.
    fn try_to_send(&mut self, now_ns: u64) {
        if self.jitter_ns == 0.0 {
            self.sender.send(now_ns, &mut self.sent);
        } else if self.delayed_until_ns == NEVER && self.sender.may_send() {
            let wait_ns = self.jitter_ns * self.random.random::<f64>();
            self.delayed_until_ns = now_ns + wait_ns as u64;
        }
    }

    fn run_due_event(&mut self, now_ns: u64) {
        if self.delayed_until_ns == now_ns {
            self.delayed_until_ns = NEVER;
            self.sender.send(now_ns, &mut self.sent);
        } else if self.application.next_ns() == now_ns {
            if self.sender.available == 0 {
                self.sender.available = self.syn_pkts;
            }
            self.sender.available += 1;
            self.application.advance();
            if self.sender.available >= self.size {
                self.application.stop();
            }
            self.try_to_send(now_ns);
        } else {
            self.sender.time_out(now_ns);
            self.try_to_send(now_ns);
        }
    }

    /// Stops new data. Lost packets are still retransmitted.
    fn stop(&mut self) {
        self.sender.available = self.sender.highest_sent + 1;
        self.application.stop();
    }

    fn emit(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        let window_pkts = self.sender.window.min(self.sender.limit);
        for seq in self.sent.drain(..) {
            out.send_with_window(now_ns, 0, seq, window_pkts);
        }
    }
}
