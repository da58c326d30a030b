//! Endpoints of a TCP stack (Linux, for example): an interface between packets and its state machines.
//!
//! Packet 0 is the SYN, which is answered with [`SYN_ACK_SEQ`]. Segment n is packet n + 1. The limit of the
//! receive buffer (`tcp_rmem`) and delays between socket and wire are not modelled.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{Application, AppliedLimits, ConnectionSpec, Limit, WorkloadSpec};
use netflow_tcpmodel::tcp::NEVER;
use netflow_tcpmodel::tcp::{Ack, Handshake, Receiver, Sender, TcpState};
use netflow_tcpmodel::{EcnFeedback, Stack};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::endpoint::ack_encoding::{
    SYN_ACK_SEQ, can_encode_block, pack, pack_number, unpack, unpack_number,
};
use crate::endpoint::generator::PacketGenerator;
use crate::endpoint::sender::{EndpointOutput, TransferSender, WindowSender};
use crate::link::queue_disc::{
    ODD_EPISODE, RETRANSMITTED, RTT_SHIFT, RTT_UNIT_NS, SEND_TIME_MASK, delay_ns,
};
use crate::link::wire::Packet;

/// Number of segments that no transfer exceeds.
const UNLIMITED: u32 = i32::MAX as u32 - 1;

/// Sender with a TCP stack.
#[derive(Clone, Debug)]
pub(crate) struct StackSender {
    stack: Arc<Stack>,
    handshake: Handshake,
    is_open: bool,
    sender: Sender,
    /// Maximum number of segments in flight, whatever the receive window.
    limit: u32,
    application: PacketGenerator,
    /// Maximum number of segments of the application.
    size: u32,
    /// Acknowledgements that the host has not delivered yet: time of delivery in ns, sequence number and
    /// metadata.
    undelivered_acks: VecDeque<(u64, i32, u64)>,
    random: Pcg32,
    /// Segments to send now.
    to_send: Vec<u32>,
    /// First segment that has never been sent.
    first_unsent: u32,
    /// Maximum number of segments in flight so far.
    max_in_flight: u32,
    /// Number of packets sent, including SYNs.
    sent: u64,
    /// Totals of earlier connections: round-trip times in seconds with their number, and losses found.
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
        let mut new = StackSender::without_data(stack, limit, application, random);
        if let Some(size) = spec.size_pkts {
            new.size = size.ceil().min(f64::from(UNLIMITED)) as u32;
        }
        if let Application::Bulk = spec.application {
            new.sender.offer(new.size);
        }
        new
    }

    /// Returns a sender without data yet: of an application, or of an unused session slot.
    pub fn without_data(
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
            handshake: Handshake::new(stack, timers),
            is_open: false,
            sender: Sender::new(stack, stack.mss_bytes, limit, [timers, ticks]),
            limit,
            application,
            size: UNLIMITED,
            undelivered_acks: VecDeque::new(),
            random,
            to_send: Vec::new(),
            first_unsent: 0,
            max_in_flight: 0,
            sent: 0,
            rtts_before: (0.0, 0),
            losses_before: (0, 0),
        }
    }

    /// Starts a new connection. Counters continue.
    fn reset(&mut self) {
        (self.rtts_before, self.losses_before) = (self.rtt_sum(), self.detected_losses());
        let mut phase = || self.random.random::<f64>();
        let (timers, ticks) = (phase(), phase());
        self.handshake = Handshake::new(&self.stack, timers);
        self.sender = Sender::new(
            &self.stack,
            self.stack.mss_bytes,
            self.limit,
            [timers, ticks],
        );
        self.is_open = false;
        self.undelivered_acks.clear();
        self.to_send.clear();
        self.first_unsent = 0;
    }

    /// Calls `send` for each packet to send now, with its metadata except for the send time. Some
    /// congestion controls allow marks of retransmissions, as in Linux.
    #[inline]
    fn release(&mut self, mut send: impl FnMut(i32, u64)) {
        self.sent += self.to_send.len() as u64;
        self.max_in_flight = self
            .max_in_flight
            .max(self.sender.sent() - self.sender.acknowledged());
        let marks_all = self.stack.ecn_rules().marks_retransmissions;
        let round_trip = 1e9 * self.sender.srtt_s() / RTT_UNIT_NS as f64;
        let round_trip = Some(round_trip as u32).filter(|&it| it > 0);
        let round_trip = u64::from(pack_number(round_trip));
        let episode = if self.sender.has_odd_episode() {
            ODD_EPISODE
        } else {
            0
        };
        for segment in self.to_send.drain(..) {
            let again = segment < self.first_unsent && !marks_all;
            self.first_unsent = self.first_unsent.max(segment + 1);
            let flag = if again { RETRANSMITTED } else { 0 };
            send(segment as i32 + 1, flag | episode | round_trip << RTT_SHIFT);
        }
    }

    /// Delivers an acknowledgement to the sender.
    fn deliver_ack(&mut self, now_ns: u64, seq: i32, encoded: u64) {
        if self.is_open {
            if seq != SYN_ACK_SEQ {
                let feedback = self.stack.ecn_rules().feedback;
                let ack = unpack(seq, encoded, feedback == EcnFeedback::Accurate);
                self.sender.receive(now_ns, &ack, &mut self.to_send);
            }
        } else if seq == SYN_ACK_SEQ {
            self.is_open = true;
            let echo_ns = now_ns - delay_ns(now_ns, encoded);
            self.handshake
                .end(&self.stack, now_ns, Some(echo_ns), &mut self.sender);
            self.sender.send(now_ns, &mut self.to_send);
        }
    }

    /// Returns the congestion window in packets, limited by the receive window.
    fn window_pkts(&self) -> f64 {
        self.sender
            .cwnd_pkts()
            .min(f64::from(self.sender.receive_window_segments()))
    }

    /// Returns the pacing rate if it is below `window_pps`.
    fn pacing_rate_below(&self, window_pps: f64) -> Option<f64> {
        let pacing_pps = self.sender.state().pacing_pps;
        pacing_pps.filter(|&pacing_pps| pacing_pps < window_pps)
    }

    /// Returns the limit of the sending rate.
    fn limit(&self, has_size: bool) -> Limit {
        if !self.is_open {
            return Limit::Handshake;
        }
        match self.sender.sent() >= self.sender.offered() {
            false if self.sender.is_buffer_empty() => Limit::SendBuffer,
            true if has_size => Limit::Size,
            true => Limit::Application,
            false
                if self
                    .pacing_rate_below(self.window_pkts() / self.smoothed_rtt_s())
                    .is_some() =>
            {
                Limit::Pacing
            }
            false
                if self.sender.is_receive_window_limited()
                    || self.sender.cwnd_pkts()
                        >= f64::from(self.sender.receive_window_segments()) =>
            {
                if self.sender.receive_window_segments() < self.limit {
                    Limit::ReceiveWindow
                } else {
                    Limit::Window
                }
            }
            false => Limit::CongestionWindow,
        }
    }
}

impl TransferSender for StackSender {
    /// Sends the SYN.
    fn start(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        self.handshake.send(&self.stack, now_ns, true);
        self.sent += 1;
        out.send_with_window(now_ns, 0, 0, 1.0);
    }

    /// Stops new data. Lost packets are still retransmitted.
    fn stop(&mut self, _now_ns: u64) {
        self.sender.offer(self.sender.sent());
        self.application.stop();
    }

    #[inline]
    fn due_ns(&self) -> u64 {
        let timer_ns = if self.is_open {
            self.sender.timer_ns()
        } else {
            self.handshake.timer_ns()
        };
        let held_ns = self
            .undelivered_acks
            .front()
            .map_or(NEVER, |&(at_ns, ..)| at_ns);
        timer_ns.min(self.application.next_ns()).min(held_ns)
    }

    /// Receives an acknowledgement at the host, which delivers it to the sender a little later. Without this
    /// random delay, phase effects at drop-tail queues make the same connections lose always (Floyd and
    /// Jacobson, 1992).
    fn acknowledge(&mut self, now_ns: u64, packet: &Packet) {
        let most_ns = 1e9 * self.stack.host_delay_s.min(self.sender.srtt_s() / 16.0);
        let at_ns = now_ns + (most_ns * self.random.random::<f64>()) as u64;
        // Acknowledgements stay in order.
        let last_ns = self
            .undelivered_acks
            .back()
            .map_or(at_ns, |&(last_ns, ..)| last_ns);
        self.undelivered_acks
            .push_back((at_ns.max(last_ns), packet.seq, packet.metadata));
    }

    fn run_due_event(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        if let Some(&(at_ns, seq, told)) = self.undelivered_acks.front()
            && at_ns == now_ns
        {
            self.undelivered_acks.pop_front();
            self.deliver_ack(now_ns, seq, told);
        } else if self.application.next_ns() == now_ns {
            let offered = self.sender.offered() + 1;
            if self.is_open {
                self.sender.restart_after_idle(now_ns);
            }
            self.sender.offer(offered);
            self.application.advance();
            if offered >= self.size {
                self.application.stop();
            }
            if self.is_open {
                self.sender.send(now_ns, &mut self.to_send);
            }
        } else if self.is_open {
            self.sender.time_out(now_ns, &mut self.to_send);
        } else {
            self.handshake.time_out();
            self.start(now_ns, out);
        }
    }

    #[inline]
    fn emit(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        let window_pkts = self.window_pkts();
        self.release(|seq, metadata| out.send_with_window(now_ns, metadata, seq, window_pkts));
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the window per round-trip time, or the pacing rate if it is lower.
    fn rate_pps(&self) -> f64 {
        match self.sender.srtt_s() {
            srtt_s if srtt_s > 0.0 => {
                let window_pps = self.window_pkts() / srtt_s;
                self.pacing_rate_below(window_pps).unwrap_or(window_pps)
            }
            _ => 0.0,
        }
    }

    fn smoothed_rtt_s(&self) -> f64 {
        self.sender.srtt_s()
    }

    fn rtt_sum(&self) -> (f64, u64) {
        let (sum_s, rtts) = self.sender.rtt_sum();
        (self.rtts_before.0 + sum_s, self.rtts_before.1 + rtts)
    }

    fn applied(&self, has_size: bool) -> Result<&AppliedLimits, Option<Limit>> {
        Err(Some(self.limit(has_size)))
    }

    fn window_limit_pkts(&self) -> f64 {
        f64::from(self.sender.peer_window_segments())
    }
}

impl WindowSender for StackSender {
    fn rto_s(&self) -> f64 {
        1e-9 * self.sender.rto_ns() as f64
    }

    fn tcp_state(&self) -> TcpState {
        self.sender.state()
    }

    fn max_in_flight_pkts(&self) -> u32 {
        self.max_in_flight
    }

    fn generated(&self) -> u64 {
        self.application.generated()
    }

    fn detected_losses(&self) -> (u64, u64) {
        let (timeouts, others) = self.sender.detected_losses();
        let (timeouts_before, others_before) = self.losses_before;
        (timeouts_before + timeouts, others_before + others)
    }

    fn is_idle(&self) -> bool {
        self.due_ns() == NEVER && self.sender.acknowledged() == self.sender.sent()
    }

    fn restart(&mut self, _workload: &WorkloadSpec, _server: bool) {
        self.reset();
    }

    fn available(&self) -> i32 {
        self.sender.offered() as i32 + 1
    }

    fn offer(&mut self, available: i32) {
        self.sender.offer((available - 1).max(0) as u32);
    }

    fn push(&mut self, now_ns: u64) {
        if self.is_open {
            self.sender.restart_after_idle(now_ns);
            self.sender.send(now_ns, &mut self.to_send);
        }
    }

    fn is_connected(&self) -> bool {
        self.is_open
    }

    fn has_repeated(&self) -> bool {
        self.handshake.has_repeated()
    }

    /// Opens the server's side: its answer to a SYN, sent at `from_ns`, is acknowledged at `to_ns`. If the SYN was
    /// `repeated`, there is no round-trip sample.
    fn accept(&mut self, from_ns: u64, to_ns: u64, repeated: bool) {
        self.handshake.send(&self.stack, from_ns, false);
        if repeated {
            self.handshake.repeat();
        }
        self.is_open = true;
        self.handshake
            .end(&self.stack, to_ns, None, &mut self.sender);
    }
}

/// Receiver with a TCP stack.
#[derive(Clone, Debug)]
pub(crate) struct StackReceiver {
    receiver: Receiver,
    /// Send time of the first SYN in ns, as in its metadata.
    syn_arrived_ns: Option<u64>,
    segment_bytes: u32,
    /// Pause in ns after which segments are acknowledged at once for a while.
    pause_ns: u64,
    /// True if acknowledgements have a counter of marked packets (Accurate ECN).
    has_counter: bool,
}

impl StackReceiver {
    /// Returns a receiver of segments of `segment_bytes` bytes.
    pub fn new(stack: &Stack, segment_bytes: u32, random: &mut Pcg32) -> StackReceiver {
        let mut phase = || random.random::<f64>();
        StackReceiver {
            receiver: Receiver::new(stack, segment_bytes, [phase(), phase()]),
            syn_arrived_ns: None,
            segment_bytes,
            pause_ns: crate::ns(stack.min_rto_s),
            has_counter: stack.ecn_rules().feedback == EcnFeedback::Accurate,
        }
    }

    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.receiver.due_ns()
    }

    /// Resets the receiver for a new connection. With `has_syn`, the SYN counts as received because only
    /// data arrives.
    pub fn restart(&mut self, stack: &Stack, has_syn: bool, random: &mut Pcg32) {
        *self = StackReceiver::new(stack, self.segment_bytes, random);
        self.syn_arrived_ns = has_syn.then_some(0);
    }

    /// Returns the number of the next packet expected in order.
    pub fn next_expected(&self) -> i32 {
        self.receiver.next() as i32 + i32::from(self.syn_arrived_ns.is_some())
    }

    /// Returns the delayed acknowledgement to send before data packet `seq` is received, if any.
    pub fn flush_delayed_ack(&mut self, seq: i32, congested: bool) -> Option<(i32, u64)> {
        let ack = (seq != 0).then(|| {
            self.receiver
                .ack_before(seq as u32 - 1, congested, |block| {
                    can_encode_block(block, self.has_counter)
                })
        })??;
        Some((ack.cumulative as i32, pack(&ack)))
    }

    /// Receives a packet with this metadata. Returns whether it is new, and the acknowledgement to send at
    /// once, if any.
    pub fn receive(
        &mut self,
        now_ns: u64,
        seq: i32,
        metadata: u64,
        congested: bool,
    ) -> (bool, Option<(i32, u64)>) {
        if seq == 0 {
            // A repeated SYN is answered with the timestamp of the first one.
            let syn_arrived_ns = *self.syn_arrived_ns.get_or_insert(metadata & SEND_TIME_MASK);
            return (false, Some((SYN_ACK_SEQ, syn_arrived_ns)));
        }
        let segment = seq as u32 - 1;
        let sent_ns = now_ns - delay_ns(now_ns, metadata);
        if let Some(round_trip) = unpack_number((metadata >> RTT_SHIFT) as u32 & 0x3ff) {
            self.receiver
                .set_round_trip(u64::from(round_trip) * RTT_UNIT_NS);
        }
        self.receiver.set_episode(metadata & ODD_EPISODE != 0);
        let (is_new, at_once) =
            self.receiver
                .receive(now_ns, segment, true, sent_ns, self.pause_ns, congested);
        (is_new, at_once.then(|| self.acknowledgement()))
    }

    /// Returns the current acknowledgement: its sequence number and metadata.
    pub fn acknowledgement(&mut self) -> (i32, u64) {
        let ack: Ack = self.receiver.acknowledge(true);
        (ack.cumulative as i32, pack(&ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netflow_tcpmodel::CongestionControl;
    use rand::SeedableRng;

    /// Segments 0 to 2, then 1 again, then 3 (RFC 3168, 6.1.5). A new connection starts with new segments.
    #[test]
    fn only_dctcp_retransmissions_may_be_marked() {
        for (congestion, again) in [
            (CongestionControl::Reno, RETRANSMITTED),
            (CongestionControl::Dctcp, 0),
        ] {
            let mut stack = Stack::builtin("linux-6").unwrap();
            stack.set_congestion(congestion);
            let random = || Pcg32::seed_from_u64(1);
            let application = PacketGenerator::for_application(Application::Bulk, 0, random());
            let mut sender =
                StackSender::without_data(&Arc::new(stack), 100.0, application, random());
            let mut emit = |segments: &[u32]| {
                sender.to_send.extend_from_slice(segments);
                let mut told = Vec::new();
                sender.release(|packet, metadata| told.push((packet, metadata)));
                told
            };
            assert_eq!(emit(&[0, 1, 2]), [(1, 0), (2, 0), (3, 0)]);
            assert_eq!(emit(&[1, 3]), [(2, again), (4, 0)]);
            sender.reset();
            sender.to_send.push(0);
            sender.release(|packet, metadata| assert_eq!((packet, metadata), (1, 0)));
        }
    }
}
