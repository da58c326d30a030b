//! Senders of transfers behind one interface: TCP of ns-2, TCP stacks, TFRC with a profile, and fixed rates.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{
    Application, AppliedLimits, ConnectionSpec, DEFAULT_MAX_WINDOW_PKTS, Limit,
    MAX_STACK_WINDOW_PKTS, Source, WorkloadSpec, segment_bytes,
};
use netflow_tcpmodel::Stack;
use netflow_tcpmodel::tcp::{NEVER, TcpState};
use rand_pcg::Pcg32;

use crate::endpoint::generator::PacketGenerator;
use crate::endpoint::ns2::Ns2Sender;
use crate::endpoint::stack::StackSender;
use crate::endpoint::tfrc::TfrcSender;
use crate::link::queue_disc::SEND_TIME_MASK;
use crate::link::wire::{Packet, Wires};
use crate::topology::PathStart;
use crate::{Purpose, random};

/// Sender of a transfer. It acts when it starts, when it is due, and when acknowledgements arrive. The defaults are
/// those of senders without feedback.
pub(crate) trait TransferSender {
    /// Starts to send.
    fn start(&mut self, _now_ns: u64, _out: &mut EndpointOutput<'_>) {}

    /// Stops new data.
    fn stop(&mut self, now_ns: u64);

    /// Returns the time of the next event without an arrival, in ns.
    fn due_ns(&self) -> u64;

    /// Runs the event that is due.
    fn run_due_event(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>);

    /// Processes an acknowledgement.
    fn acknowledge(&mut self, _now_ns: u64, _packet: &Packet) {}

    /// Sends the packets that an event has released.
    fn emit(&mut self, _now_ns: u64, _out: &mut EndpointOutput<'_>) {}

    /// Returns the number of packets sent, including retransmissions.
    fn sent(&self) -> u64;

    /// Returns the rate in packets/s while it sends: the window per round-trip time, or the rate of the source.
    fn rate_pps(&self) -> f64;

    /// Returns the smoothed round-trip time in seconds.
    fn smoothed_rtt_s(&self) -> f64 {
        0.0
    }

    /// Returns the sum of measured round-trip times in seconds, and their number.
    fn rtt_sum(&self) -> (f64, u64) {
        (0.0, 0)
    }

    /// Returns the last computation of a source with a profile; for other sources, the current limit, if
    /// known. `has_size` is true if the transfer has a size.
    fn applied(&self, has_size: bool) -> Result<&AppliedLimits, Option<Limit>>;

    /// Returns the maximum window in packets; infinite without one.
    fn window_limit_pkts(&self) -> f64 {
        f64::INFINITY
    }

    /// Returns the times in ns outside the profile's domain, too far outside to be usable, and active in
    /// total.
    fn outside_ns(&self) -> [u64; 3] {
        [0; 3]
    }
}

/// Sender with a congestion window.
pub(crate) trait WindowSender: TransferSender {
    /// Returns the current retransmission timeout in seconds, including back-off.
    fn rto_s(&self) -> f64;

    /// Returns the state.
    fn tcp_state(&self) -> TcpState;

    /// Returns the maximum number of packets in flight so far.
    fn max_in_flight_pkts(&self) -> u32;

    /// Returns the number of packets that the application made.
    fn generated(&self) -> u64;

    /// Returns the numbers of timeouts and of losses found by duplicate acknowledgements.
    fn detected_losses(&self) -> (u64, u64);

    /// Returns true if nothing remains to be done, unless packets are in flight.
    fn is_idle(&self) -> bool;

    /// Starts a connection of a session. Counters continue.
    fn restart(&mut self, workload: &WorkloadSpec, server: bool);

    /// Returns the number of packets available to send, including the first one without payload.
    fn available(&self) -> i32;

    /// Makes data available up to this packet, exclusive.
    fn offer(&mut self, available: i32);

    /// Sends available data, perhaps after an idle period.
    fn push(&mut self, now_ns: u64);

    /// Returns true if the first packet is acknowledged.
    fn is_connected(&self) -> bool;

    /// Returns true if a packet was retransmitted in this session (for a stack, only the SYN counts).
    fn has_repeated(&self) -> bool;

    /// Records that the server's answer of `from_ns` has been acknowledged. This is a round-trip sample,
    /// unless the first packet was `repeated`.
    fn accept(&mut self, from_ns: u64, to_ns: u64, repeated: bool);
}

/// Sender of any kind.
#[derive(Clone, Debug)]
pub(crate) enum AnySender {
    Ns2(Box<Ns2Sender>),
    /// Sender with a TCP stack.
    Stack(Box<StackSender>),
    /// TFRC source with a profile.
    Tfrc(Box<TfrcSender>),
    /// Source without feedback.
    FixedRate(Box<FixedRate>),
}

/// Calls a method of the sender.
macro_rules! dispatch {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            AnySender::Ns2(sender) => sender.$method($($argument),*),
            AnySender::Stack(sender) => sender.$method($($argument),*),
            AnySender::Tfrc(sender) => sender.$method($($argument),*),
            AnySender::FixedRate(sender) => sender.$method($($argument),*),
        }
    };
}

impl AnySender {
    /// Returns the sender of a connection that starts at `start_ns`. Number `number` selects its random streams.
    pub fn new(
        spec: &ConnectionSpec,
        jitter_s: f64,
        start_ns: u64,
        seed: u64,
        number: u64,
    ) -> AnySender {
        let of_application = random(seed, Purpose::Application, number);
        let of_sender = random(seed, Purpose::Sender, number);
        match &spec.source {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => {
                AnySender::FixedRate(Box::new(FixedRate {
                    generator: PacketGenerator::for_source(&spec.source, start_ns, of_application),
                    rate_pps: *rate_pps,
                    sent: 0,
                }))
            }
            Source::Profile(profile) => {
                let profile = profile.clone();
                AnySender::Tfrc(Box::new(TfrcSender::new(profile, spec, of_sender)))
            }
            Source::Users(traffic) => {
                AnySender::unused_slot(&traffic.workload, of_sender, of_application)
            }
            Source::Tcp(stack) => {
                let application =
                    PacketGenerator::for_application(spec.application, start_ns, of_application);
                let limit = window_limit(spec);
                let stack = stack_for_packet_size(stack, spec.packet_size_bytes);
                let sender = StackSender::new(&stack, spec, limit, application, of_sender);
                AnySender::Stack(Box::new(sender))
            }
            Source::Ns2Tcp(window) => {
                let application =
                    PacketGenerator::for_application(spec.application, start_ns, of_application);
                let sender = Ns2Sender::new(spec, window, jitter_s, application, of_sender);
                AnySender::Ns2(Box::new(sender))
            }
        }
    }

    /// Returns the sender of an unused session slot.
    fn unused_slot(workload: &WorkloadSpec, random: Pcg32, unused: Pcg32) -> AnySender {
        let unused = PacketGenerator::for_application(Application::Bulk, 0, unused);
        match &workload.source {
            Some(source) => {
                AnySender::Ns2(Box::new(Ns2Sender::unused_slot(source, unused, random)))
            }
            None => {
                let stack = Arc::new(workload.stack.clone());
                let stack = stack_for_packet_size(&stack, workload.packet_size_bytes);
                let sender =
                    StackSender::without_data(&stack, MAX_STACK_WINDOW_PKTS, unused, random);
                AnySender::Stack(Box::new(sender))
            }
        }
    }

    /// Returns a sender that never sends.
    pub fn placeholder() -> AnySender {
        AnySender::FixedRate(Box::new(FixedRate {
            generator: PacketGenerator::for_application(Application::Bulk, NEVER, Pcg32::new(0, 0)),
            rate_pps: 0.0,
            sent: 0,
        }))
    }

    /// Returns the sender if it has a congestion window.
    pub fn with_window(&self) -> Option<&dyn WindowSender> {
        match self {
            AnySender::Ns2(sender) => Some(&**sender),
            AnySender::Stack(sender) => Some(&**sender),
            AnySender::Tfrc(_) | AnySender::FixedRate(_) => None,
        }
    }

    /// Returns the sender if it has a congestion window.
    pub fn with_window_mut(&mut self) -> Option<&mut dyn WindowSender> {
        match self {
            AnySender::Ns2(sender) => Some(&mut **sender),
            AnySender::Stack(sender) => Some(&mut **sender),
            AnySender::Tfrc(_) | AnySender::FixedRate(_) => None,
        }
    }

    /// Returns the sender if it has a fixed rate.
    pub fn with_fixed_rate(&mut self) -> Option<&mut FixedRate> {
        match self {
            AnySender::FixedRate(sender) => Some(sender),
            AnySender::Ns2(_) | AnySender::Stack(_) | AnySender::Tfrc(_) => None,
        }
    }

    /// Returns true if acknowledgements control its rate.
    #[inline]
    pub fn has_feedback(&self) -> bool {
        !matches!(self, AnySender::FixedRate(_))
    }
}

impl TransferSender for AnySender {
    fn start(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        dispatch!(self.start(now_ns, out))
    }

    fn stop(&mut self, now_ns: u64) {
        dispatch!(self.stop(now_ns))
    }

    #[inline]
    fn due_ns(&self) -> u64 {
        dispatch!(self.due_ns())
    }

    #[inline]
    fn run_due_event(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        dispatch!(self.run_due_event(now_ns, out))
    }

    #[inline]
    fn acknowledge(&mut self, now_ns: u64, packet: &Packet) {
        dispatch!(self.acknowledge(now_ns, packet))
    }

    #[inline]
    fn emit(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        dispatch!(self.emit(now_ns, out))
    }

    fn sent(&self) -> u64 {
        dispatch!(self.sent())
    }

    fn rate_pps(&self) -> f64 {
        dispatch!(self.rate_pps())
    }

    fn smoothed_rtt_s(&self) -> f64 {
        dispatch!(self.smoothed_rtt_s())
    }

    #[inline]
    fn rtt_sum(&self) -> (f64, u64) {
        dispatch!(self.rtt_sum())
    }

    fn applied(&self, has_size: bool) -> Result<&AppliedLimits, Option<Limit>> {
        dispatch!(self.applied(has_size))
    }

    fn window_limit_pkts(&self) -> f64 {
        dispatch!(self.window_limit_pkts())
    }

    fn outside_ns(&self) -> [u64; 3] {
        dispatch!(self.outside_ns())
    }
}

/// Sender with a fixed rate.
#[derive(Clone, Debug)]
pub(crate) struct FixedRate {
    generator: PacketGenerator,
    rate_pps: f64,
    sent: u64,
}

impl FixedRate {
    /// Sets the rate from `now_ns` on.
    pub fn set_rate(&mut self, now_ns: u64, rate_pps: f64) {
        self.rate_pps = rate_pps;
        self.generator.set_rate(now_ns, rate_pps);
    }
}

impl TransferSender for FixedRate {
    fn stop(&mut self, _now_ns: u64) {
        self.generator.stop();
    }

    #[inline]
    fn due_ns(&self) -> u64 {
        self.generator.next_ns()
    }

    #[inline]
    fn run_due_event(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        self.sent += 1;
        self.generator.advance();
        // Sequence numbers are not used, but 0 is a packet without payload.
        out.send(now_ns, 1);
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn rate_pps(&self) -> f64 {
        self.rate_pps
    }

    fn applied(&self, _has_size: bool) -> Result<&AppliedLimits, Option<Limit>> {
        Err(Some(Limit::Own))
    }
}

/// Output of a sender.
pub(crate) struct EndpointOutput<'a> {
    pub path: PathStart,
    pub wires: &'a mut Wires,
    /// Number of packets without a route.
    pub unrouted: &'a mut u64,
    /// Windows at the send times of packets, if an edge marks by window.
    pub windows: Option<&'a mut VecDeque<f64>>,
}

impl EndpointOutput<'_> {
    /// Sends a packet. Returns false if it has no route.
    #[inline(always)]
    pub fn send(&mut self, time_ns: u64, seq: i32) -> bool {
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
        *self.unrouted += u64::from(!sent);
        sent
    }

    /// Sends a packet, and records the window for an edge that marks it.
    #[inline(always)]
    pub fn send_with_window(&mut self, now_ns: u64, metadata: u64, seq: i32, window_pkts: f64) {
        if self.send_with_metadata(now_ns, metadata, seq)
            && let Some(windows) = &mut self.windows
        {
            windows.push_back(window_pkts);
        }
    }
}

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
