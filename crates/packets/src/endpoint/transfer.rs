//! The two ends of a transfer: what they do when packets arrive and when time has come.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{
    Acks, Application, Applied, ConnectionSpec, DEFAULT_MOST_WINDOW, HEADER_BYTES, Limit,
    MOST_STACK_WINDOW, Source, WindowSource, WorkloadSpec, segment_bytes,
};
use netflow_tcpmodel::Stack;
use netflow_tcpmodel::tcp::ns2::{Receiver, Sender, Sent};
use netflow_tcpmodel::tcp::{NEVER, TcpState};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::endpoint::generator::PacketGenerator;
use crate::endpoint::receiver::{Answers, ReceiverEndpoint};
use crate::endpoint::stack::{StackReceiver, StackSender};
use crate::endpoint::tfrc::TfrcSender;
use crate::link::queue_disc::SENT_TIME;
use crate::link::wire::{Packet, Wires};
use crate::ns;
use crate::topology::{Ends, Way};
use crate::{Purpose, random};

/// A sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub ends: Ends,
    kind: Kind,
    /// What a user's connection has beside.
    user: Option<Box<User>>,
    start_ns: u64,
    stop_ns: u64,
    started: bool,
    stopped: bool,
    counts_acks: bool,
    pub acks_arrived: u64,
    /// Data packets that had no way to go.
    pub stranded: u64,
    pub receiving: ReceiverEndpoint,
    /// Of a sender whose packets an edge marks by its window: what that was, for each packet that has
    /// not come to the edge yet.
    windows: Option<VecDeque<f64>>,
    /// SyncRound-trip times that its sender has measured since somebody asked, in nanoseconds.
    pub rtts_ns: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Kind {
    Tcp(Box<Tcp>),
    /// By the rules of a real stack.
    Stack(Box<StackSender>),
    /// Sends at its profile's rate.
    Equation(Box<TfrcSender>),
    /// Sends whatever happens.
    Open(Box<Open>),
}

#[derive(Clone, Debug)]
struct Open {
    generator: PacketGenerator,
    rate_pps: f64,
    sent: u64,
}

#[derive(Clone, Debug)]
struct Tcp {
    sender: Sender,
    application: PacketGenerator,
    /// A packet may wait up to this before it is sent.
    jitter_ns: f64,
    /// Until when sending is held back.
    held_ns: u64,
    random: Pcg32,
    sent: Sent,
    /// Packets without data that its first packet of data follows: one that opens the connection, or none.
    opening: i32,
    /// Packets that the application makes at most, with those.
    size: i32,
}

/// What a user's connection has beside.
#[derive(Clone, Debug)]
struct User {
    workload: Arc<WorkloadSpec>,
    /// Requests, or replies, in order: one past their last packets, and the bytes of those on the
    /// wire.
    messages: Vec<(i32, u32)>,
    /// Repeated packets and timeouts before this visit.
    repeated: u64,
    /// Whether the server knows that its answer to the first packet has come.
    is_accepted: bool,
    visited: bool,
    /// Where the clocks of a stack's receivers stand.
    random: Pcg32,
}

/// More than any transfer sends.
const ENDLESS: i32 = i32::MAX - 1;
/// The largest window of a user's connection.
const USER_LIMIT: f64 = DEFAULT_MOST_WINDOW;

/// The largest window of a connection.
pub(crate) fn window_limit(spec: &ConnectionSpec) -> f64 {
    spec.max_window_pkts.unwrap_or(match spec.source {
        Source::Stack(_) => MOST_STACK_WINDOW,
        _ => DEFAULT_MOST_WINDOW,
    })
}

/// The stack with segments of packets of this size.
fn fitted(stack: &Arc<Stack>, packet_bytes: f64) -> Arc<Stack> {
    let mss_bytes = segment_bytes(packet_bytes);
    match stack.mss_bytes == mss_bytes {
        true => stack.clone(),
        false => Arc::new(Stack {
            mss_bytes,
            ..Stack::clone(stack)
        }),
    }
}

impl Transfer {
    pub fn new(
        spec: &ConnectionSpec,
        jitter_s: f64,
        ends: Ends,
        seed: u64,
        number: u64,
    ) -> Transfer {
        let start_ns = match &spec.source {
            Source::Users(_) => NEVER, // when the first user comes
            _ => ns(spec.start_s),
        };
        let of_application = random(seed, Purpose::Application, number);
        let of_sender = random(seed, Purpose::Sender, number);
        let kind = match &spec.source {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => {
                Kind::Open(Box::new(Open {
                    generator: PacketGenerator::of_source(&spec.source, start_ns, of_application),
                    rate_pps: *rate_pps,
                    sent: 0,
                }))
            }
            Source::Profile(profile) => Kind::Equation(Box::new(TfrcSender::new(
                profile.clone(),
                spec.max_window_pkts,
                spec.application.mean_pps(),
                spec.packet_size_bytes,
                of_sender,
            ))),
            Source::Users(traffic) => Kind::of_users(&traffic.workload, of_sender, of_application),
            Source::Stack(stack) => {
                let application =
                    PacketGenerator::of_application(spec.application, start_ns, of_application);
                let limit = window_limit(spec);
                let stack = fitted(stack, spec.packet_size_bytes);
                let sender = StackSender::new(&stack, spec, limit, application, of_sender);
                Kind::Stack(Box::new(sender))
            }
            Source::Window(window) => {
                let application =
                    PacketGenerator::of_application(spec.application, start_ns, of_application);
                Kind::Tcp(Box::new(Tcp::new(
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
            Source::Constant { .. } | Source::Poisson { .. } => Answers::Nothing,
            Source::Profile(_) => Answers::Each {
                second: every_second,
            },
            Source::Users(traffic) => match traffic.workload.source {
                Some(_) => {
                    Answers::InOrder(Receiver::new(USER_LIMIT, traffic.workload.delayed_ack))
                }
                None => {
                    let mut random = random(seed, Purpose::Receiver, number);
                    let workload = &traffic.workload;
                    let segment_bytes = segment_bytes(workload.packet_size_bytes);
                    let receiver = StackReceiver::new(&workload.stack, segment_bytes, &mut random);
                    Answers::Stack(Box::new(receiver))
                }
            },
            Source::Stack(stack) => {
                let mut random = random(seed, Purpose::Receiver, number);
                let segment_bytes = segment_bytes(spec.packet_size_bytes);
                let receiver = StackReceiver::new(stack, segment_bytes, &mut random);
                Answers::Stack(Box::new(receiver))
            }
            Source::Window(_) => Answers::InOrder(Receiver::new(window_limit(spec), every_second)),
        };
        let user = match &spec.source {
            Source::Users(traffic) => Some(Box::new(User {
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
            stranded: 0,
            receiving: ReceiverEndpoint::new(spec, answers),
            windows: None,
            rtts_ns: Vec::new(),
        }
    }

    /// What stands where its ends would be, while they are elsewhere.
    pub fn placeholder(&self) -> Transfer {
        let nothing = PacketGenerator::of_application(Application::Bulk, NEVER, Pcg32::new(0, 0));
        Transfer {
            kind: Kind::Open(Box::new(Open {
                generator: nothing,
                rate_pps: 0.0,
                sent: 0,
            })),
            user: None,
            receiving: self.receiving.placeholder(),
            windows: None,
            rtts_ns: Vec::new(),
            ..*self
        }
    }

    /// The sender here is there from now on, and the other way round.
    pub fn swap_sending(&mut self, there: &mut Transfer) {
        std::mem::swap(self, there);
        std::mem::swap(&mut self.receiving, &mut there.receiving);
    }

    /// Its packets are marked by an edge.
    pub fn is_marked(&mut self) {
        if let Kind::Tcp(_) | Kind::Stack(_) = self.kind {
            self.windows = Some(VecDeque::new());
        }
    }

    /// The congestion window in packets, of sources that have one, when the packet was sent that
    /// comes to the edge next.
    pub fn window_of_next(&mut self) -> Option<f64> {
        self.windows.as_mut()?.pop_front()
    }

    /// Somebody comes to its sender at `now_ns`, to open a connection; or, if it is the
    /// `server`'s, may ask it for something.
    pub fn visit(&mut self, now_ns: u64, server: bool) {
        let Some(user) = &mut self.user else { return };
        match &mut self.kind {
            Kind::Tcp(tcp) => {
                let offset = tcp.random.random();
                let source = user.workload.source.unwrap_or_default();
                tcp.sender = tcp
                    .sender
                    .new_connection(&source, USER_LIMIT, offset, !server);
                tcp.held_ns = NEVER;
                user.repeated = tcp.sender.repeated;
            }
            Kind::Stack(stack) => stack.reset(),
            Kind::Equation(_) | Kind::Open(_) => return,
        }
        match &mut self.receiving.answers {
            Answers::InOrder(receiver) => receiver.restart(i32::from(server)),
            Answers::Stack(receiver) => {
                receiver.restart(&user.workload.stack, server, &mut user.random);
            }
            Answers::Each { .. } | Answers::Nothing => {}
        }
        user.messages.clear();
        user.is_accepted = false;
        user.visited = true;
        self.start_ns = now_ns;
        self.started = server;
    }

    /// The visit is over.
    pub fn leave(&mut self) {
        if let Some(user) = &mut self.user {
            user.visited = false;
        }
    }

    /// Whether both ends have nothing left to do, if nothing is on the way.
    pub fn is_at_rest(&self) -> bool {
        let sender_rests = match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.is_idle(),
            Kind::Stack(stack) => stack.is_at_rest(),
            Kind::Equation(_) | Kind::Open(_) => false,
        };
        sender_rests && self.receiving.due_ns() == NEVER
    }

    /// There are so many more bytes to send, in packets of their own.
    pub fn say(&mut self, bytes: u64) {
        let (before, end) = (self.kind.available(), self.end_of(bytes));
        let Some(user) = &mut self.user else { return };
        let full = f64::from(end - before - 1) * user.workload.payload_bytes();
        let last = bytes as f64 - full + HEADER_BYTES;
        user.messages.push((end, last.round() as u32));
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.sender.available = end,
            Kind::Stack(stack) => stack.offer(end),
            Kind::Equation(_) | Kind::Open(_) => {}
        }
    }

    /// One past the packet that the last of so many more bytes would be in.
    pub fn end_of(&self, bytes: u64) -> i32 {
        let Some(user) = &self.user else {
            return i32::MAX;
        };
        let pkts = (bytes as f64 / user.workload.payload_bytes()).ceil();
        self.kind.available().saturating_add(pkts.max(1.0) as i32)
    }

    /// Sends what it was told to, as far as it may.
    pub fn push(&mut self, now_ns: u64, wires: &mut Wires) {
        let mut out = Out {
            way: self.ends.data,
            wires,
            stranded: &mut self.stranded,
            windows: self.windows.as_mut(),
        };
        match &mut self.kind {
            Kind::Tcp(tcp) => {
                tcp.sender.end_pause(now_ns);
                tcp.try_to_send(now_ns);
                tcp.emit(now_ns, &mut out);
            }
            Kind::Stack(stack) => {
                stack.push(now_ns);
                let window_pkts = stack.window_pkts();
                stack.emit(|seq, metadata| out.send_with(now_ns, metadata, seq, window_pkts));
            }
            Kind::Equation(_) | Kind::Open(_) => {}
        }
    }

    /// Whether the first packet is acknowledged.
    pub fn is_connected(&self) -> bool {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.acknowledged >= 0,
            Kind::Stack(stack) => stack.is_open(),
            Kind::Equation(_) | Kind::Open(_) => false,
        }
    }

    /// Whether the first packet, or anything else, was sent twice in this visit.
    pub fn has_repeated(&self) -> bool {
        match (&self.kind, &self.user) {
            (Kind::Tcp(tcp), Some(user)) => tcp.sender.repeated > user.repeated,
            (Kind::Stack(stack), _) => stack.has_repeated_syn(),
            _ => false,
        }
    }

    /// Whether the server knows that its answer to the client's first packet has come.
    pub fn is_accepted(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.is_accepted)
    }

    /// The server learns that its answer of `from_ns` has come, and with it how long a round trip takes,
    /// unless the first packet was `repeated`.
    pub fn accept(&mut self, from_ns: u64, to_ns: u64, repeated: bool) {
        if let Some(user) = &mut self.user {
            user.is_accepted = true;
        }
        match &mut self.kind {
            Kind::Tcp(tcp) if !repeated => tcp.sender.measure_handshake_rtt(from_ns, to_ns),
            Kind::Stack(stack) => stack.accept(from_ns, to_ns, repeated),
            Kind::Tcp(_) | Kind::Equation(_) | Kind::Open(_) => {}
        }
    }

    /// Bytes of one of a user's packets on the wire.
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

    /// When the next thing happens at one of its ends.
    pub fn next_ns(&self, wires: &Wires) -> u64 {
        let ends = &self.ends;
        let arrives_ns = wires.head_ns(ends.data_in).min(wires.head_ns(ends.acks_in));
        self.due_ns().min(arrives_ns)
    }

    /// When one of its ends has something to do by itself.
    pub fn due_ns(&self) -> u64 {
        self.sender_due_ns().min(self.receiving.due_ns())
    }

    /// When its sender has.
    pub fn sender_due_ns(&self) -> u64 {
        if !self.started {
            return self.start_ns;
        }
        let stop_ns = if self.stopped { NEVER } else { self.stop_ns };
        let own_ns = match &self.kind {
            Kind::Open(open) => open.generator.next_ns(),
            Kind::Equation(sender) => sender.due_ns(),
            Kind::Tcp(tcp) => tcp.due_ns(),
            Kind::Stack(stack) => stack.due_ns(),
        };
        own_ns.min(stop_ns)
    }

    /// Whether its sender knows at once what has arrived, and not from acknowledgements that are
    /// traffic: they are none, or it makes no more than what its receiver is to get.
    pub fn sees_arrivals(&self) -> bool {
        match self.kind {
            Kind::Open(_) => self.receiving.size.is_some(),
            _ => !self.counts_acks,
        }
    }

    /// Packets sent, repeated ones included.
    pub fn sent(&self) -> u64 {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.sent,
            Kind::Stack(stack) => stack.sent,
            Kind::Equation(sender) => sender.sent,
            Kind::Open(open) => open.sent,
        }
    }

    /// Packets/s: the window over the round-trip time, what is on its way over that where there is no more to send, or the rate.
    pub fn rate_pps(&self, now_ns: u64) -> f64 {
        let rate_pps = match &self.kind {
            _ if !self.is_sending(now_ns) => 0.0,
            Kind::Tcp(tcp) => match tcp.sender.smoothed_rtt_s() {
                rtt_s if rtt_s > 0.0 => tcp.sender.window.min(tcp.sender.limit) / rtt_s,
                _ => 0.0,
            },
            Kind::Stack(stack) => stack.rate_pps(),
            Kind::Equation(sender) => sender.rate_pps,
            Kind::Open(open) => open.rate_pps,
        };
        match (self.tcp_state(), self.applied()) {
            (Some(tcp), Err(Some(Limit::Application | Limit::Size))) if tcp.srtt_s > 0.0 => {
                rate_pps.min(f64::from(tcp.in_flight) / tcp.srtt_s)
            }
            _ => rate_pps,
        }
    }

    /// The rate of a source that has one of its own is this from `now_ns` on.
    pub fn set_rate(&mut self, now_ns: u64, rate_pps: f64) {
        if let Kind::Open(open) = &mut self.kind {
            open.rate_pps = rate_pps;
            open.generator.set_rate(now_ns, rate_pps);
        }
    }

    /// Whether it has begun and not ended.
    pub fn is_sending(&self, now_ns: u64) -> bool {
        if let Some(user) = &self.user {
            return user.visited;
        }
        let is_open = self.start_ns <= now_ns && now_ns < self.stop_ns;
        is_open && self.receiving.finished_ns.is_none()
    }

    /// The smoothed round-trip time that the sender has, in seconds.
    pub fn seen_rtt_s(&self) -> f64 {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.smoothed_rtt_s(),
            Kind::Stack(stack) => stack.srtt_s(),
            Kind::Equation(sender) => sender.rtt_s,
            Kind::Open(_) => 0.0,
        }
    }

    /// What a source with a profile reckoned with last; else what limits the source now, if that
    /// can be told.
    pub fn applied(&self) -> Result<&Applied, Option<Limit>> {
        match &self.kind {
            Kind::Equation(sender) => sender.applied.as_ref().ok_or(None),
            Kind::Open(_) => Err(Some(Limit::Own)),
            Kind::Tcp(tcp) => Err(Some(tcp.limited_by(self.receiving.size.is_some()))),
            Kind::Stack(stack) => Err(Some(stack.limited_by(self.receiving.size.is_some()))),
        }
    }

    /// The largest window that it may have, in packets; infinite where there is none.
    pub fn window_limit_pkts(&self) -> f64 {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.limit,
            Kind::Stack(stack) => stack.limit(),
            Kind::Equation(sender) => sender.window,
            Kind::Open(_) => f64::INFINITY,
        }
    }

    /// The retransmission timeout in seconds as it is now, back-off included, of sources that have
    /// one.
    pub fn rto_s(&self) -> Option<f64> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp.sender.rto_s()),
            Kind::Stack(stack) => Some(stack.rto_s()),
            Kind::Equation(_) | Kind::Open(_) => None,
        }
    }

    /// The state of a sender with a congestion window.
    pub fn tcp_state(&self) -> Option<TcpState> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp.sender.state()),
            Kind::Stack(stack) => Some(stack.state()),
            Kind::Equation(_) | Kind::Open(_) => None,
        }
    }

    /// The most packets that a sender with a congestion window has had under way at a time.
    pub fn most_out_pkts(&self) -> Option<u32> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp.sender.max_out as u32),
            Kind::Stack(stack) => Some(stack.most_out()),
            Kind::Equation(_) | Kind::Open(_) => None,
        }
    }

    /// The sum of the round-trip times measured, in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, f64) {
        let (sum_s, rtts) = self.kind.rtt_sum();
        (sum_s, rtts as f64)
    }

    /// Nanoseconds that it spent outside the domain of its profile, further outside than is
    /// usable, and all that it sent.
    pub fn outside_ns(&self) -> [u64; 3] {
        match &self.kind {
            Kind::Equation(sender) => [sender.outside_ns, sender.unusable_ns, sender.active_ns],
            _ => [0; 3],
        }
    }

    /// Packets that its application made; `None` of sources that have no such clock.
    pub fn made(&self) -> Option<u64> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp.application.made()),
            Kind::Stack(stack) => Some(stack.made()),
            Kind::Equation(_) | Kind::Open(_) => None,
        }
    }

    /// Retransmission timeouts, and losses found by duplicate acknowledgements.
    pub fn losses_found(&self) -> Option<(u64, u64)> {
        match &self.kind {
            Kind::Tcp(tcp) => Some((tcp.sender.timeouts, tcp.sender.fast_retransmits)),
            Kind::Stack(stack) => Some(stack.losses_found()),
            Kind::Equation(_) | Kind::Open(_) => None,
        }
    }

    /// All that happens at both ends before `until_ns`.
    pub fn act(&mut self, until_ns: u64, wires: &mut Wires) {
        self.receiving.receive(&self.ends, until_ns, wires);
        self.send(until_ns, wires);
    }

    /// All that happens at the sender before `until_ns`.
    pub fn send(&mut self, until_ns: u64, wires: &mut Wires) {
        let acks_in = self.ends.acks_in;
        wires.sort(acks_in);
        let mut taken = 0;
        let mut out = Out {
            way: self.ends.data,
            wires,
            stranded: &mut self.stranded,
            windows: self.windows.as_mut(),
        };
        if !self.started && self.start_ns < until_ns {
            self.started = true;
            match &mut self.kind {
                Kind::Tcp(tcp) => {
                    tcp.try_to_send(self.start_ns);
                    tcp.emit(self.start_ns, &mut out);
                }
                Kind::Stack(stack) => stack.start(self.start_ns, |seq| {
                    out.send_with(self.start_ns, 0, seq, 1.0);
                }),
                Kind::Equation(sender) => sender.start(self.start_ns),
                Kind::Open(_) => {}
            }
        }
        while self.started {
            let ack = out.wires.get(acks_in, taken);
            let ack_ns = ack.map_or(NEVER, |p| p.time_ns);
            let stop_ns = match &self.kind {
                _ if self.stopped => NEVER,
                // It makes no more once its size is delivered.
                Kind::Open(_) => self
                    .stop_ns
                    .min(self.receiving.finished_ns.unwrap_or(NEVER)),
                _ => self.stop_ns,
            };
            let due_ns = match &self.kind {
                Kind::Tcp(tcp) => tcp.due_ns(),
                Kind::Stack(stack) => stack.due_ns(),
                Kind::Equation(sender) => sender.due_ns(),
                Kind::Open(open) => open.generator.next_ns(),
            };
            let now_ns = ack_ns.min(due_ns).min(stop_ns);
            if now_ns >= until_ns {
                break;
            }
            let (sum_before_s, rtts_before) = self.kind.rtt_sum();
            if stop_ns == now_ns {
                self.stopped = true;
                match &mut self.kind {
                    Kind::Tcp(tcp) => tcp.stop(),
                    Kind::Stack(stack) => stack.stop(),
                    Kind::Equation(sender) => sender.stop(now_ns),
                    Kind::Open(open) => open.generator.stop(),
                }
            } else if let Some(packet) = ack
                && ack_ns <= due_ns
            {
                taken += 1;
                self.acks_arrived += u64::from(self.counts_acks);
                match &mut self.kind {
                    Kind::Tcp(tcp) => {
                        if tcp.sender.acknowledge(now_ns, packet.seq, &mut tcp.sent) {
                            tcp.try_to_send(now_ns);
                        }
                        if self.user.is_some() {
                            tcp.sender.stop_timer_if_done();
                        }
                    }
                    Kind::Stack(stack) => stack.acknowledge(now_ns, packet.seq, packet.metadata),
                    Kind::Equation(sender) => {
                        sender.acknowledge(now_ns, packet.seq, packet.metadata);
                        let size = self.receiving.size;
                        if size.is_some_and(|size| packet.metadata >= size) {
                            sender.stop(now_ns);
                        }
                    }
                    Kind::Open(_) => {}
                }
            } else {
                match &mut self.kind {
                    Kind::Tcp(tcp) => tcp.time_has_come(now_ns),
                    Kind::Stack(stack) => stack.time_has_come(now_ns, |seq| {
                        out.send_with(now_ns, 0, seq, 1.0);
                    }),
                    Kind::Equation(sender) => {
                        if let Some(seq) = sender.time_has_come(now_ns) {
                            out.send(now_ns, seq);
                        }
                    }
                    Kind::Open(open) => {
                        open.sent += 1;
                        open.generator.advance();
                        // Its numbers are of no use, but 0 is a packet without payload.
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
                Kind::Tcp(tcp) => tcp.emit(now_ns, &mut out),
                Kind::Stack(stack) => {
                    let window_pkts = stack.window_pkts();
                    stack.emit(|seq, metadata| out.send_with(now_ns, metadata, seq, window_pkts));
                }
                Kind::Equation(_) | Kind::Open(_) => {}
            }
        }
        wires.skip(acks_in, taken);
    }
}

/// Where packets go from an end.
struct Out<'a> {
    way: Way,
    wires: &'a mut Wires,
    stranded: &'a mut u64,
    windows: Option<&'a mut VecDeque<f64>>,
}

impl Out<'_> {
    /// Sends a packet; whether there is a way for it.
    #[inline(always)]
    fn send(&mut self, time_ns: u64, seq: i32) -> bool {
        self.send_telling(time_ns, 0, seq)
    }

    /// Likewise, one that metadata so much beside when it was sent.
    #[inline(always)]
    fn send_telling(&mut self, time_ns: u64, metadata: u64, seq: i32) -> bool {
        let packet = Packet {
            time_ns,
            metadata: time_ns & SENT_TIME | metadata,
            hop: self.way.hop,
            seq,
        };
        let sent = self.wires.push(self.way.wire, packet);
        *self.stranded += u64::from(!sent);
        sent
    }
}

impl Out<'_> {
    /// Sends a packet; if an edge marks it, by this window.
    #[inline(always)]
    fn send_with(&mut self, now_ns: u64, metadata: u64, seq: i32, window_pkts: f64) {
        if self.send_telling(now_ns, metadata, seq)
            && let Some(windows) = &mut self.windows
        {
            windows.push_back(window_pkts);
        }
    }
}

impl Kind {
    /// That of users, none of whom has come yet.
    fn of_users(workload: &WorkloadSpec, random: Pcg32, unused: Pcg32) -> Kind {
        let unused = PacketGenerator::of_application(Application::Bulk, 0, unused);
        match &workload.source {
            Some(source) => Kind::Tcp(Box::new(Tcp::of_users(source, unused, random))),
            None => {
                let stack = Arc::new(workload.stack.clone());
                let stack = fitted(&stack, workload.packet_size_bytes);
                let sender = StackSender::silent(&stack, MOST_STACK_WINDOW, unused, random);
                Kind::Stack(Box::new(sender))
            }
        }
    }

    /// Packets that there are to send, from the first on, which has no payload.
    fn available(&self) -> i32 {
        match self {
            Kind::Tcp(tcp) => tcp.sender.available,
            Kind::Stack(stack) => stack.available(),
            Kind::Equation(_) | Kind::Open(_) => 0,
        }
    }

    #[inline]
    fn rtt_sum(&self) -> (f64, u64) {
        match self {
            Kind::Tcp(tcp) => (tcp.sender.rtt_sum_s, tcp.sender.rtts),
            Kind::Stack(stack) => stack.rtt_sum(),
            Kind::Equation(sender) => (sender.rtt_sum_s, sender.rtts),
            Kind::Open(_) => (0.0, 0),
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
            .map_or(ENDLESS, |size| size.ceil().min(1e9) as i32 + opening);
        let available = match spec.application {
            Application::Bulk => size,
            _ => 0,
        };
        Tcp {
            sender: Sender::new(window, limit, available, random.random()),
            application,
            jitter_ns: ns(jitter_s) as f64,
            held_ns: NEVER,
            random,
            sent: Sent::new(),
            opening,
            size,
        }
    }

    /// That of a user, who has not come yet, and comes at random anyway.
    fn of_users(source: &WindowSource, unused: PacketGenerator, mut random: Pcg32) -> Tcp {
        Tcp {
            sender: Sender::new(source, USER_LIMIT, 0, random.random()),
            application: unused,
            jitter_ns: ns(source.send_jitter_s.unwrap_or_default()) as f64,
            held_ns: NEVER,
            random,
            sent: Sent::new(),
            opening: 1,
            size: ENDLESS,
        }
    }

    /// What keeps it from sending more: `has_size` metadata whether what is available is all there will
    /// be of it.
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
        timer_ns.min(self.held_ns).min(self.application.next_ns())
    }

    /// Sends what it may, after a random wait if there is one.
    fn try_to_send(&mut self, now_ns: u64) {
        if self.jitter_ns == 0.0 {
            self.sender.send(now_ns, &mut self.sent);
        } else if self.held_ns == NEVER && self.sender.may_send() {
            let wait_ns = self.jitter_ns * self.random.random::<f64>();
            self.held_ns = now_ns + wait_ns as u64;
        }
    }

    fn time_has_come(&mut self, now_ns: u64) {
        if self.held_ns == now_ns {
            self.held_ns = NEVER;
            self.sender.send(now_ns, &mut self.sent);
        } else if self.application.next_ns() == now_ns {
            if self.sender.available == 0 {
                self.sender.available = self.opening;
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

    /// Nothing new from now on; what was lost is repeated.
    fn stop(&mut self) {
        self.sender.available = self.sender.highest_sent + 1;
        self.application.stop();
    }

    fn emit(&mut self, now_ns: u64, out: &mut Out<'_>) {
        let window_pkts = self.sender.window.min(self.sender.limit);
        for seq in self.sent.drain(..) {
            out.send_with(now_ns, 0, seq, window_pkts);
        }
    }
}
