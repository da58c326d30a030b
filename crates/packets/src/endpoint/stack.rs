//! The ends of a connection by the rules of a real stack: what its state machines are told, and what
//! they send.
//!
//! The packet 0 is the SYN, its answer says [`SYN_ANSWERED`]; segment n is packet n + 1. Left out: a limit of the
//! receive buffer (`tcp_rmem`), and what hosts add between a socket and the wire.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{Application, ConnectionSpec, Limit};
use netflow_tcpmodel::tcp::NEVER;
use netflow_tcpmodel::tcp::{Ack, Handshake, Receiver, Sender, TcpState};
use netflow_tcpmodel::{CongestionControl, Stack};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::endpoint::ack_encoding::{
    SYN_ANSWERED, lists, pack, pack_number, unpack, unpack_number,
};
use crate::endpoint::generator::PacketGenerator;
use crate::link::queue_disc::{ROUND_TRIP, ROUND_TRIP_NS, SENT_AGAIN, SENT_TIME, delay_ns};

/// How long a host may keep an acknowledgement at most, in nanoseconds: interrupts and whoever else runs.
/// Without it phases lock behind a drop-tail queue, and always the same connections lose (Floyd & Jacobson,
/// 1992).
const MOST_HELD_NS: f64 = 100_000.0;

/// More than any transfer sends.
const ENDLESS: u32 = i32::MAX as u32 - 1;

/// A sender.
#[derive(Clone, Debug)]
pub(crate) struct StackSender {
    stack: Arc<Stack>,
    opening: Handshake,
    is_open: bool,
    sender: Sender,
    /// The most segments that it may have under way, whatever the other end says.
    limit: u32,
    application: PacketGenerator,
    /// Segments that the application makes at most.
    size: u32,
    /// Acknowledgements that the host has not taken to the sender yet: when it will, and what they say.
    held: VecDeque<(u64, i32, u64)>,
    random: Pcg32,
    /// Segments to be sent now.
    out: Vec<u32>,
    /// The first that has never been sent.
    fresh: u32,
    /// The most segments that were under way at a time.
    most_out: u32,
    /// Packets sent, the SYNs included.
    pub sent: u64,
    /// Of connections before this one: round-trip times in seconds, their number, and losses found.
    rtts_before: (f64, u64),
    losses_before: (u64, u64),
}

impl StackSender {
    pub fn new(
        stack: &Arc<Stack>,
        spec: &ConnectionSpec,
        limit: f64,
        application: PacketGenerator,
        random: Pcg32,
    ) -> StackSender {
        let mut new = StackSender::silent(stack, limit, application, random);
        if let Some(size) = spec.size_pkts {
            new.size = size.ceil().min(f64::from(ENDLESS)) as u32;
        }
        if let Application::Bulk = spec.application {
            new.sender.offer(new.size);
        }
        new
    }

    /// One that has nothing to send yet: of an application, or of users, none of whom has come.
    pub fn silent(
        stack: &Arc<Stack>,
        limit: f64,
        application: PacketGenerator,
        mut random: Pcg32,
    ) -> StackSender {
        let limit = limit as u32;
        let mut phase = || random.random::<f64>();
        let (timers, ticks) = (phase(), phase());
        StackSender {
            stack: stack.clone(),
            opening: Handshake::new(stack, timers),
            is_open: false,
            sender: Sender::new(stack, stack.mss_bytes, limit, [timers, ticks]),
            limit,
            application,
            size: ENDLESS,
            held: VecDeque::new(),
            random,
            out: Vec::new(),
            fresh: 0,
            most_out: 0,
            sent: 0,
            rtts_before: (0.0, 0),
            losses_before: (0, 0),
        }
    }

    /// A new connection, of which nothing has been sent: what went before is counted on.
    pub fn reset(&mut self) {
        (self.rtts_before, self.losses_before) = (self.rtt_sum(), self.losses_found());
        let mut phase = || self.random.random::<f64>();
        let (timers, ticks) = (phase(), phase());
        self.opening = Handshake::new(&self.stack, timers);
        self.sender = Sender::new(
            &self.stack,
            self.stack.mss_bytes,
            self.limit,
            [timers, ticks],
        );
        self.is_open = false;
        self.held.clear();
        self.out.clear();
        self.fresh = 0;
    }

    /// The server's: its answer to a SYN, sent at `from_ns`, is answered. `repeated` says that the SYN came
    /// more than once, so that nothing was measured.
    pub fn accept(&mut self, from_ns: u64, now_ns: u64, repeated: bool) {
        self.opening.send(&self.stack, from_ns, false);
        if repeated {
            self.opening.repeat();
        }
        self.is_open = true;
        self.opening
            .end(&self.stack, now_ns, None, &mut self.sender);
    }

    /// Whether its SYN went out more than once.
    pub fn has_repeated_syn(&self) -> bool {
        self.opening.has_repeated()
    }

    /// Whether data may flow.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Packets from the first SYN on that there are.
    pub fn available(&self) -> i32 {
        self.sender.offered() as i32 + 1
    }

    /// There is data up to this packet, the last excluded.
    pub fn offer(&mut self, available: i32) {
        self.sender.offer((available - 1).max(0) as u32);
    }

    /// Sends what there is, perhaps after a pause.
    pub fn push(&mut self, now_ns: u64) {
        if self.is_open {
            self.sender.wake(now_ns);
            self.sender.send(now_ns, &mut self.out);
        }
    }

    /// Whether nothing is left to be done, if nothing is on the way.
    pub fn is_at_rest(&self) -> bool {
        self.due_ns() == NEVER && self.sender.acknowledged() == self.sender.sent()
    }

    /// Sends its SYN.
    pub fn start(&mut self, now_ns: u64, send: impl FnOnce(i32)) {
        self.opening.send(&self.stack, now_ns, true);
        self.sent += 1;
        send(0);
    }

    /// When it has something to do by itself.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        let timer_ns = match self.is_open {
            true => self.sender.timer_ns(),
            false => self.opening.timer_ns(),
        };
        let held_ns = self.held.front().map_or(NEVER, |&(at_ns, ..)| at_ns);
        timer_ns.min(self.application.next_ns()).min(held_ns)
    }

    /// An acknowledgement arrives at the host, which takes it to the sender a little later.
    pub fn acknowledge(&mut self, now_ns: u64, seq: i32, told: u64) {
        let most_ns = MOST_HELD_NS.min(1e9 * self.sender.srtt_s() / 16.0);
        let at_ns = now_ns + (most_ns * self.random.random::<f64>()) as u64;
        // Their order stays.
        let last_ns = self.held.back().map_or(at_ns, |&(last_ns, ..)| last_ns);
        self.held.push_back((at_ns.max(last_ns), seq, told));
    }

    /// An acknowledgement comes to the sender.
    fn take(&mut self, now_ns: u64, seq: i32, told: u64) {
        if self.is_open {
            if seq != SYN_ANSWERED {
                let ack = unpack(seq, told);
                self.sender.receive(now_ns, &ack, &mut self.out);
            }
        } else if seq == SYN_ANSWERED {
            self.is_open = true;
            let echo_ns = now_ns - delay_ns(now_ns, told);
            self.opening
                .end(&self.stack, now_ns, Some(echo_ns), &mut self.sender);
            self.sender.send(now_ns, &mut self.out);
        }
    }

    /// Something is due; `send_syn` is called if that is a SYN.
    pub fn time_has_come(&mut self, now_ns: u64, send_syn: impl FnOnce(i32)) {
        if let Some(&(at_ns, seq, told)) = self.held.front()
            && at_ns == now_ns
        {
            self.held.pop_front();
            self.take(now_ns, seq, told);
        } else if self.application.next_ns() == now_ns {
            let offered = self.sender.offered() + 1;
            if self.is_open {
                self.sender.wake(now_ns);
            }
            self.sender.offer(offered);
            self.application.advance();
            if offered >= self.size {
                self.application.stop();
            }
            if self.is_open {
                self.sender.send(now_ns, &mut self.out);
            }
        } else if self.is_open {
            self.sender.time_out(now_ns, &mut self.out);
        } else {
            self.opening.time_out();
            self.start(now_ns, send_syn);
        }
    }

    /// Packets that its application made.
    pub fn made(&self) -> u64 {
        self.application.made()
    }

    /// Nothing new from now on; what was lost is repeated.
    pub fn stop(&mut self) {
        self.sender.offer(self.sender.sent());
        self.application.stop();
    }

    /// The packets to send now, and what they tell beside when. DCTCP's may be marked whenever they are sent, as
    /// in Linux.
    pub fn emit(&mut self, mut send: impl FnMut(i32, u64)) {
        self.sent += self.out.len() as u64;
        self.most_out = self
            .most_out
            .max(self.sender.sent() - self.sender.acknowledged());
        let is_dctcp = self.stack.congestion == CongestionControl::Dctcp;
        let round_trip = 1e9 * self.sender.srtt_s() / ROUND_TRIP_NS as f64;
        let round_trip = Some(round_trip as u32).filter(|&it| it > 0);
        let round_trip = u64::from(pack_number(round_trip));
        for segment in self.out.drain(..) {
            let again = segment < self.fresh && !is_dctcp;
            self.fresh = self.fresh.max(segment + 1);
            let flag = if again { SENT_AGAIN } else { 0 };
            send(segment as i32 + 1, flag | round_trip << ROUND_TRIP);
        }
    }

    /// The congestion window in packets, no larger than what the other end allows.
    pub fn window_pkts(&self) -> f64 {
        self.sender
            .cwnd_pkts()
            .min(f64::from(self.sender.receive_window_segments()))
    }

    /// The largest window in packets.
    pub fn limit(&self) -> f64 {
        f64::from(self.sender.peer_window_segments())
    }

    /// The most segments that were under way at a time.
    pub fn most_out(&self) -> u32 {
        self.most_out
    }

    /// Packets/s: the window over the round-trip time, or what it lets go.
    pub fn rate_pps(&self) -> f64 {
        match self.sender.srtt_s() {
            srtt_s if srtt_s > 0.0 => {
                let window_pps = self.window_pkts() / srtt_s;
                self.paces_below(window_pps).unwrap_or(window_pps)
            }
            _ => 0.0,
        }
    }

    /// The rate at which it lets packets go, if that is less than this.
    fn paces_below(&self, window_pps: f64) -> Option<f64> {
        let pacing_pps = self.sender.state().pacing_pps;
        pacing_pps.filter(|&pacing_pps| pacing_pps < window_pps)
    }

    pub fn srtt_s(&self) -> f64 {
        self.sender.srtt_s()
    }

    pub fn rto_s(&self) -> f64 {
        1e-9 * self.sender.rto_ns() as f64
    }

    pub fn losses_found(&self) -> (u64, u64) {
        let (timeouts, others) = self.sender.losses_found();
        let (timeouts_before, others_before) = self.losses_before;
        (timeouts_before + timeouts, others_before + others)
    }

    /// The sum of measured round-trip times in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, u64) {
        let (sum_s, rtts) = self.sender.rtt_sum();
        (self.rtts_before.0 + sum_s, self.rtts_before.1 + rtts)
    }

    /// What keeps it from sending more.
    pub fn limited_by(&self, has_size: bool) -> Limit {
        if !self.is_open {
            return Limit::Handshake;
        }
        match self.sender.sent() >= self.sender.offered() {
            false if self.sender.is_buffer_empty() => Limit::SendBuffer,
            true if has_size => Limit::Size,
            true => Limit::Application,
            false
                if self
                    .paces_below(self.window_pkts() / self.srtt_s())
                    .is_some() =>
            {
                Limit::Pacing
            }
            false
                if self.sender.is_receive_window_limited()
                    || self.sender.cwnd_pkts()
                        >= f64::from(self.sender.receive_window_segments()) =>
            {
                match self.sender.receive_window_segments() < self.limit {
                    true => Limit::ReceiveWindow,
                    false => Limit::Window,
                }
            }
            false => Limit::CongestionWindow,
        }
    }

    /// What its state machines tell of themselves.
    pub fn state(&self) -> TcpState {
        self.sender.state()
    }
}

/// A receiver.
#[derive(Clone, Debug)]
pub(crate) struct StackReceiver {
    receiver: Receiver,
    /// When the other end's SYN was sent that came first, as far as packets tell it.
    greeted_ns: Option<u64>,
    segment_bytes: u32,
    /// A pause after which it acknowledges at once for a while.
    pause_ns: u64,
}

impl StackReceiver {
    /// One of segments of so many bytes.
    pub fn new(stack: &Stack, segment_bytes: u32, random: &mut Pcg32) -> StackReceiver {
        let mut phase = || random.random::<f64>();
        StackReceiver {
            receiver: Receiver::new(stack, segment_bytes, [phase(), phase()]),
            greeted_ns: None,
            segment_bytes,
            pause_ns: crate::ns(stack.min_rto_s),
        }
    }

    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.receiver.due_ns()
    }

    /// Nothing has come of a new connection; but its SYN, if data is all that comes.
    pub fn restart(&mut self, stack: &Stack, is_greeted: bool, random: &mut Pcg32) {
        *self = StackReceiver::new(stack, self.segment_bytes, random);
        self.greeted_ns = is_greeted.then_some(0);
    }

    /// The next packet in order that it waits for.
    pub fn heard(&self) -> i32 {
        self.receiver.next() as i32 + i32::from(self.greeted_ns.is_some())
    }

    /// Before a packet with data arrives: what is said first of those that wait.
    pub fn settle(&mut self, seq: i32, congested: bool) -> Option<(i32, u64)> {
        let ack =
            (seq != 0).then(|| self.receiver.ack_before(seq as u32 - 1, congested, lists))??;
        Some((ack.cumulative as i32, pack(&ack)))
    }

    /// A packet arrives that metadata when it was sent: whether it brings something new, and what is said
    /// at once, if anything is.
    pub fn receive(
        &mut self,
        now_ns: u64,
        seq: i32,
        metadata: u64,
        congested: bool,
    ) -> (bool, Option<(i32, u64)>) {
        if seq == 0 {
            // A SYN that comes again is answered with the first one's timestamp.
            let greeted_ns = *self.greeted_ns.get_or_insert(metadata & SENT_TIME);
            return (false, Some((SYN_ANSWERED, greeted_ns)));
        }
        let segment = seq as u32 - 1;
        let sent_ns = now_ns - delay_ns(now_ns, metadata);
        if let Some(round_trip) = unpack_number((metadata >> ROUND_TRIP) as u32 & 0x3ff) {
            self.receiver
                .set_round_trip(u64::from(round_trip) * ROUND_TRIP_NS);
        }
        let (is_new, at_once) =
            self.receiver
                .receive(now_ns, segment, true, sent_ns, self.pause_ns, congested);
        (is_new, at_once.then(|| self.say()))
    }

    /// What an acknowledgement says now: its sequence number, and what it metadata.
    pub fn say(&mut self) -> (i32, u64) {
        let ack: Ack = self.receiver.acknowledge(true);
        (ack.cumulative as i32, pack(&ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Segments 0 to 2, then 1 again, then 3: RFC 3168, 6.1.5. A new connection begins with new ones.
    #[test]
    fn what_is_sent_again_may_not_be_marked_but_dctcps() {
        for (congestion, again) in [
            (CongestionControl::Reno, SENT_AGAIN),
            (CongestionControl::Dctcp, 0),
        ] {
            let mut stack = Stack::builtin("linux-6").unwrap();
            stack.set_congestion(congestion);
            let random = || Pcg32::seed_from_u64(1);
            let application = PacketGenerator::of_application(Application::Bulk, 0, random());
            let mut sender = StackSender::silent(&Arc::new(stack), 100.0, application, random());
            let mut emit = |segments: &[u32]| {
                sender.out.extend_from_slice(segments);
                let mut told = Vec::new();
                sender.emit(|packet, metadata| told.push((packet, metadata)));
                told
            };
            assert_eq!(emit(&[0, 1, 2]), [(1, 0), (2, 0), (3, 0)]);
            assert_eq!(emit(&[1, 3]), [(2, again), (4, 0)]);
            sender.reset();
            sender.out.push(0);
            sender.emit(|packet, metadata| assert_eq!((packet, metadata), (1, 0)));
        }
    }
}
