//! TCP sender of ns-2, with its application.

use netflow_network::{
    Application, AppliedLimits, ConnectionSpec, DEFAULT_MAX_WINDOW_PKTS, Limit, WindowSource,
    WorkloadSpec,
};
use netflow_tcpmodel::tcp::ns2::{Sender, Sent};
use netflow_tcpmodel::tcp::{NEVER, TcpState};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::endpoint::generator::PacketGenerator;
use crate::endpoint::sender::{EndpointOutput, TransferSender, WindowSender, window_limit};
use crate::link::wire::Packet;
use crate::ns;

/// Number of packets that no transfer exceeds.
const UNLIMITED: i32 = i32::MAX - 1;

/// Maximum window of a user's connection in packets.
pub(crate) const SESSION_WINDOW_LIMIT: f64 = DEFAULT_MAX_WINDOW_PKTS;

/// TCP sender of ns-2.
#[derive(Clone, Debug)]
pub(crate) struct Ns2Sender {
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
    /// True if it belongs to sessions.
    in_session: bool,
    /// Retransmissions and timeouts before this session.
    repeated_before: u64,
}

impl Ns2Sender {
    pub fn new(
        spec: &ConnectionSpec,
        window: &WindowSource,
        jitter_s: f64,
        application: PacketGenerator,
        mut random: Pcg32,
    ) -> Ns2Sender {
        let limit = window_limit(spec);
        let opening = i32::from(window.variant.opens_connections());
        let size = spec
            .size_pkts
            .map_or(UNLIMITED, |size| size.ceil().min(1e9) as i32 + opening);
        let available = match spec.application {
            Application::Bulk => size,
            _ => 0,
        };
        Ns2Sender {
            sender: Sender::new(window, limit, available, random.random()),
            application,
            jitter_ns: ns(jitter_s) as f64,
            delayed_until_ns: NEVER,
            random,
            sent: Sent::new(),
            syn_pkts: opening,
            size,
            in_session: false,
            repeated_before: 0,
        }
    }

    /// Returns the sender of an unused session slot. By default it has no jitter, because sessions arrive at
    /// random.
    pub fn unused_slot(
        source: &WindowSource,
        unused: PacketGenerator,
        mut random: Pcg32,
    ) -> Ns2Sender {
        Ns2Sender {
            sender: Sender::new(source, SESSION_WINDOW_LIMIT, 0, random.random()),
            application: unused,
            jitter_ns: ns(source.send_jitter_s.unwrap_or_default()) as f64,
            delayed_until_ns: NEVER,
            random,
            sent: Sent::new(),
            syn_pkts: 1,
            size: UNLIMITED,
            in_session: true,
            repeated_before: 0,
        }
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
}

impl TransferSender for Ns2Sender {
    fn start(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        self.try_to_send(now_ns);
        self.emit(now_ns, out);
    }

    /// Stops new data. Lost packets are still retransmitted.
    fn stop(&mut self, _now_ns: u64) {
        self.sender.available = self.sender.highest_sent + 1;
        self.application.stop();
    }

    #[inline]
    fn due_ns(&self) -> u64 {
        let timer_ns = self.sender.timer_ns();
        timer_ns
            .min(self.delayed_until_ns)
            .min(self.application.next_ns())
    }

    fn run_due_event(&mut self, now_ns: u64, _out: &mut EndpointOutput<'_>) {
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

    #[inline]
    fn acknowledge(&mut self, now_ns: u64, packet: &Packet) {
        if (self.sender).acknowledge(now_ns, packet.seq, &mut self.sent) {
            self.try_to_send(now_ns);
        }
        if self.in_session {
            self.sender.stop_timer_if_done();
        }
    }

    #[inline]
    fn emit(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        let window_pkts = self.sender.window.min(self.sender.limit);
        for seq in self.sent.drain(..) {
            out.send_with_window(now_ns, 0, seq, window_pkts);
        }
    }

    fn sent(&self) -> u64 {
        self.sender.sent
    }

    fn rate_pps(&self) -> f64 {
        match self.sender.smoothed_rtt_s() {
            rtt_s if rtt_s > 0.0 => self.sender.window.min(self.sender.limit) / rtt_s,
            _ => 0.0,
        }
    }

    fn smoothed_rtt_s(&self) -> f64 {
        self.sender.smoothed_rtt_s()
    }

    #[inline]
    fn rtt_sum(&self) -> (f64, u64) {
        (self.sender.rtt_sum_s, self.sender.rtts)
    }

    fn applied(&self, has_size: bool) -> Result<&AppliedLimits, Option<Limit>> {
        Err(Some(match self.sender.has_sent_all() {
            true if has_size => Limit::Size,
            true => Limit::Application,
            false if self.sender.window >= self.sender.limit => Limit::Window,
            false => Limit::CongestionWindow,
        }))
    }

    fn window_limit_pkts(&self) -> f64 {
        self.sender.limit
    }
}

impl WindowSender for Ns2Sender {
    fn rto_s(&self) -> f64 {
        self.sender.rto_s()
    }

    fn tcp_state(&self) -> TcpState {
        self.sender.state()
    }

    fn max_in_flight_pkts(&self) -> u32 {
        self.sender.max_in_flight as u32
    }

    fn generated(&self) -> u64 {
        self.application.generated()
    }

    fn detected_losses(&self) -> (u64, u64) {
        (self.sender.timeouts, self.sender.fast_retransmits)
    }

    fn is_idle(&self) -> bool {
        self.sender.is_idle()
    }

    fn restart(&mut self, workload: &WorkloadSpec, server: bool) {
        let offset = self.random.random();
        let source = workload.source.unwrap_or_default();
        self.sender = (self.sender).new_connection(&source, SESSION_WINDOW_LIMIT, offset, !server);
        self.delayed_until_ns = NEVER;
        self.repeated_before = self.sender.retransmissions;
    }

    fn available(&self) -> i32 {
        self.sender.available
    }

    fn offer(&mut self, available: i32) {
        self.sender.available = available;
    }

    fn push(&mut self, now_ns: u64) {
        self.sender.restart_after_idle(now_ns);
        self.try_to_send(now_ns);
    }

    fn is_connected(&self) -> bool {
        self.sender.acknowledged >= 0
    }

    fn has_repeated(&self) -> bool {
        self.sender.retransmissions > self.repeated_before
    }

    fn accept(&mut self, from_ns: u64, to_ns: u64, repeated: bool) {
        if !repeated {
            self.sender.measure_handshake_rtt(from_ns, to_ns);
        }
    }
}
