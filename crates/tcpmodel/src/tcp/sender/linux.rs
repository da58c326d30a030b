//! The sender of Linux 6: RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), F-RTO
//! (RFC 5682) and undo of spurious recoveries. Without selective acknowledgements from the other end, it follows
//! Linux's NewReno.

mod accurate_ecn;
mod ack_processing;
mod cwnd_validation;
mod dupack_counting;
mod loss_detection;
mod recovery_state;
mod segmentation_offload;
mod send_buffer;
mod timers;
mod undo;
mod window;

use super::super::congestion::{
    Algorithm, Congestion, IdlePeriod, Lost, NO_SSTHRESH, RecoveryState as State, Window,
};
use super::super::ranges::Ranges;
use super::super::{Ack, Clock, NEVER, Receiver, RttEstimator};
use super::LossRecovery;
use super::pacer::Pacer;
use super::rate::{DeliveryRate, Stamp};
use super::retransmission_queue::RetransmissionQueue;
use crate::{Recovery, Stack};
use accurate_ecn::MarkedSegments;
use cwnd_validation::CwndValidation;
use loss_detection::Reordering;
use send_buffer::SendBuffer;
use undo::Undo;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Retransmission,
    /// Tail loss probe.
    Probe,
    /// RACK reordering timer: segments not acknowledged by then are lost.
    Reordering,
}

/// The information in one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct AckInfo {
    advanced: bool,
    /// Segments newly reported as arrived.
    delivered: u32,
    sacked: bool,
    /// True if segments sent only once are among them.
    original: bool,
    newly_lost: bool,
    /// True if a retransmitted segment was lost again.
    lost_again: bool,
    set_timer: bool,
    pure_duplicate: bool,
    /// True if it reports a duplicate segment (D-SACK), and if that is the end of a tail loss probe.
    duplicate: bool,
    duplicate_probe: bool,
    /// The first unacknowledged segment before it.
    prior_acknowledged: u32,
    /// The send time or the episode of the echoed packet.
    echo_ns: Option<u64>,
    echo_odd_episode: Option<bool>,
    /// True if it reports ECN marks, and the number of segments newly reported as marked.
    congested: bool,
    marked: u32,
    /// The round-trip time of the latest sent segment that arrived and was sent only once.
    rtt_ns: Option<u64>,
    may_be_delayed: bool,
    /// True if it acknowledges just the end of a retransmission by a tail loss probe.
    acks_tail_probe: bool,
    /// Packets in flight and segments marked lost before it.
    in_flight_before: u32,
    lost_before: u64,
}

/// The kind of segments sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    /// New data first, to detect a spurious timeout (F-RTO).
    New,
}

/// Constants of the sender.
#[derive(Clone, Copy, Debug)]
struct LinuxSettings {
    /// True with selective acknowledgements; otherwise duplicate ones are counted.
    sack: bool,
    /// True if losses are found by time (RACK).
    rack: bool,
    has_tail_loss_probe: bool,
    segmentation_offload: bool,
    /// The number of later arrivals that indicates a loss.
    dupack_threshold: u32,
    min_rto_ns: u64,
}

/// A window reduction in proportion to deliveries (proportional rate reduction, RFC 6937).
#[derive(Clone, Copy, Debug, Default)]
struct ProportionalRateReduction {
    prior_cwnd: u32,
    delivered: u32,
    sent: u32,
}

/// A sender with Linux's loss recovery.
#[derive(Clone, Debug)]
pub(super) struct LinuxSender {
    rules: LinuxSettings,
    clock: Clock,
    pub rtt: RttEstimator,
    pub window: Window,
    congestion: Congestion,
    validation: CwndValidation,
    rate: DeliveryRate,
    pacer: Pacer,
    /// The maximum number of segments in flight that the other end allows.
    pub peer_window_segments: u32,
    /// The right edge of the other end's receive window: one past its last segment; `None` without a limit.
    window_edge: Option<u32>,
    /// The number of segments available to send.
    pub offered: u32,
    send_buffer: SendBuffer,
    segments: RetransmissionQueue,
    /// Segments reported as received out of order.
    scoreboard: Ranges,
    /// A buffer, kept to avoid allocations.
    newly_sacked: Vec<(u32, u32)>,
    /// True if the next acknowledgement without data counts as a window update and not as a duplicate. This
    /// is so if the last packet had data or belonged to the handshake, because its sequence number was
    /// lower.
    pure_ack_updates_window: bool,
    state: State,
    /// The recovery point: the state ends when all segments before it are acknowledged.
    recovery_point: u32,
    prr: ProportionalRateReduction,
    undo: Undo,
    /// The packet number of the latest sent packet among those delivered, and its round-trip time.
    latest_order: Option<u64>,
    latest_rtt_ns: u64,
    latest_is_new: bool,
    /// The send time of the first segment delivered by the current acknowledgement, if unambiguous.
    probable_echo_ns: Option<u64>,
    min_rtt_ns: u64,
    reordering: Reordering,
    probe_end: u32,
    /// True if the probe is a retransmission, and the state of its segment at the transmission before.
    probe_again: bool,
    probed: Stamp,
    frto: bool,
    timeouts_in_a_row: u32,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    round_end: u32,
    marked: MarkedSegments,
    timer: Timer,
    timer_ns: u64,
}

impl LinuxSender {
    pub(super) fn new(
        stack: &Stack,
        segment_bytes: u32,
        peer_window_segments: u32,
        clock: Clock,
        phase: f64,
    ) -> Self {
        let sack = stack.recovery != Recovery::NewReno;
        Self {
            rules: LinuxSettings {
                sack,
                rack: stack.recovery == Recovery::Rack,
                has_tail_loss_probe: stack.tail_loss_probe && sack,
                segmentation_offload: stack.segmentation_offload,
                dupack_threshold: stack.duplicate_acks,
                min_rto_ns: netflow_units::ns(stack.min_rto_s),
            },
            clock,
            rtt: RttEstimator::new(stack, phase),
            window: Window {
                cwnd: 0,
                ssthresh: NO_SSTHRESH,
            },
            congestion: Congestion::new(stack, clock, phase),
            validation: CwndValidation::new(stack),
            rate: DeliveryRate::default(),
            pacer: Pacer::default(),
            peer_window_segments,
            window_edge: Receiver::first_window(stack, segment_bytes),
            offered: 0,
            send_buffer: SendBuffer::new(stack, segment_bytes),
            segments: RetransmissionQueue::default(),
            scoreboard: Ranges::default(),
            newly_sacked: Vec::new(),
            pure_ack_updates_window: true,
            state: State::Open,
            recovery_point: 0,
            prr: ProportionalRateReduction::default(),
            undo: Undo::default(),
            latest_order: None,
            latest_rtt_ns: 0,
            latest_is_new: false,
            probable_echo_ns: None,
            min_rtt_ns: NEVER,
            reordering: Reordering::new(stack.duplicate_acks),
            probe_end: 0,
            probe_again: false,
            probed: Stamp::default(),
            frto: false,
            timeouts_in_a_row: 0,
            timeouts: 0,
            fast_retransmits: 0,
            round_end: 0,
            marked: MarkedSegments::default(),
            timer: Timer::Retransmission,
            timer_ns: NEVER,
        }
    }

    /// Opens the connection. The round-trip time of the handshake is the first measurement.
    pub(super) fn open(&mut self, now_ns: u64, cwnd: u32, ssthresh: u32) {
        self.window = Window { cwnd, ssthresh };
        let rtt_ns = self.rtt.srtt_ns();
        if rtt_ns > 0 {
            self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
            if let Some(control) = self.congestion.as_window_control() {
                control.open(now_ns, self.window, rtt_ns);
            }
        }
    }

    /// Returns the first segment not acknowledged cumulatively.
    pub(super) fn acknowledged(&self) -> u32 {
        self.segments.first()
    }

    /// Returns the estimated number of packets in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.segments.in_flight()
    }

    /// Returns the next segment to be sent for the first time.
    pub(super) fn next(&self) -> u32 {
        self.segments.next()
    }

    /// Returns the time of the next event: a timer or the end of a pacing delay.
    pub(super) fn timer_ns(&self) -> u64 {
        self.timer_ns.min(self.pacer.until_ns())
    }

    /// Returns the pacing rate in packets/s, if the congestion control sets one.
    pub(super) fn pacing_pps(&self) -> Option<f64> {
        self.congestion.pacing().map(|(rate, _)| 1e9 * rate)
    }

    /// Returns the state of loss recovery.
    pub(super) fn loss_recovery(&self) -> LossRecovery {
        LossRecovery {
            state: self.state,
            sacked: self.segments.sacked,
            lost: self.segments.lost,
            retransmitted: self.segments.retransmitted,
        }
    }

    /// Returns true during loss recovery.
    pub(super) fn is_in_recovery(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    /// Sends new segments as the window allows.
    pub(super) fn send(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let (mut any, mut rearms) = (false, false);
        self.write();
        let (mut burst_left, mut is_deferred) = (0, false);
        while self.may_send_new() && self.segments.in_flight() < self.window.cwnd {
            if self.rules.segmentation_offload && burst_left == 0 {
                burst_left = self.burst_segments();
                is_deferred = self.defers(now_ns, burst_left);
            }
            if is_deferred || !self.pacer.try_send(now_ns, self.congestion.pacing()) {
                break;
            }
            rearms |= self.send_new(now_ns, out);
            any = true;
            burst_left = burst_left.saturating_sub(1);
        }
        if any && !self.schedule_probe(now_ns, false) && rearms {
            self.rearm(now_ns);
        }
        let in_flight = self.segments.in_flight();
        if self.segments.next() >= self.written()
            && in_flight < self.window.cwnd
            && self.segments.lost <= self.segments.retransmitted
        {
            self.rate.mark_app_limited(in_flight);
        }
        self.pacer.end_burst();
        self.validate_cwnd(now_ns, any, is_deferred);
    }

    /// Returns the number of unacknowledged segments that the other end allows.
    pub(super) fn receive_window_segments(&self) -> u32 {
        let window = self.receive_window();
        window.map_or(self.peer_window_segments, |window| {
            window.min(self.peer_window_segments)
        })
    }

    /// Returns the receive window as announced by the other end.
    pub(super) fn receive_window(&self) -> Option<u32> {
        self.window_edge.map(|edge| edge - self.acknowledged())
    }

    /// Returns true if unacknowledged segments fill the receive window. Segments received out of order
    /// count, because the receiver keeps them.
    pub(super) fn is_receive_window_limited(&self) -> bool {
        self.segments.packets_out() >= self.receive_window_segments()
    }

    /// Returns true if there is a new segment and the receive window allows it.
    fn may_send_new(&self) -> bool {
        self.segments.next() < self.written() && !self.is_receive_window_limited()
    }

    /// Sends the next segment. Returns true if the retransmission timer restarts, unless a probe is
    /// scheduled.
    fn send_new(&mut self, now_ns: u64, out: &mut Vec<u32>) -> bool {
        let was_empty = self.segments.packets_out() == 0;
        if was_empty {
            let idle = IdlePeriod {
                now_ns,
                idle_ns: now_ns.saturating_sub(self.validation.last_sent_ns),
                is_app_limited: self.rate.is_app_limited(),
            };
            self.congestion.on_idle_restart(&mut self.window, &idle);
        }
        let in_flight = self.segments.in_flight() + 1;
        let stamp = self.rate.stamp(now_ns, was_empty, in_flight);
        out.push(self.segments.send(now_ns, stamp));
        self.validation.last_sent_ns = now_ns;
        self.prr.sent += 1;
        was_empty || self.timer_ns < NEVER && self.timer == Timer::Probe
    }

    fn retransmit(&mut self, now_ns: u64, segment: u32, out: &mut Vec<u32>) {
        let in_flight = self.segments.in_flight() + 1;
        let stamp = self.rate.stamp(now_ns, false, in_flight);
        if self.segments.retransmit(now_ns, segment, stamp) {
            self.validation.last_sent_ns = now_ns;
            self.undo.retransmissions += 1;
            out.push(segment);
        }
    }

    /// Retransmits a segment that is considered lost.
    fn repair(&mut self, now_ns: u64, segment: u32, out: &mut Vec<u32>) {
        let before_ns = self.segments.get(segment).map_or(0, |it| it.sent_ns);
        self.undo.on_repair(now_ns, before_ns);
        self.retransmit(now_ns, segment, out);
    }

    /// Processes an acknowledgement.
    pub(super) fn receive(&mut self, now_ns: u64, ack: &Ack, out: &mut Vec<u32>) {
        if ack.cumulative > self.segments.next() {
            return;
        }
        if ack.cumulative < self.acknowledged() {
            self.receive_late(now_ns, ack, out);
            return;
        }
        let (in_flight_before, lost_before) = (self.segments.in_flight(), self.rate.lost);
        self.probable_echo_ns = None;
        if let Some(window) = ack.window {
            let edge = ack.cumulative.saturating_add(window);
            self.window_edge = self
                .window_edge
                .map(|before| before.max(edge))
                .or(Some(edge));
        }
        let mut info = AckInfo {
            in_flight_before,
            lost_before,
            ..self.mark_reported(now_ns, ack)
        };
        info.marked = match ack.ce_counter {
            Some(counter) => self.marked.advance(counter),
            None if ack.congested => info.delivered,
            None => 0,
        };
        info.congested = ack.congested || info.marked > 0;
        self.rate.marked += u64::from(info.marked);
        info.pure_duplicate = ack.pure
            && !info.advanced
            && !info.sacked
            && self.segments.packets_out() > 0
            && (self.rules.sack || !self.pure_ack_updates_window);
        self.pure_ack_updates_window = !ack.pure;
        if info.advanced {
            self.timeouts_in_a_row = 0;
        }
        let acked = self.acked(now_ns, &info);
        self.congestion.on_ack(&mut self.window, &acked);
        self.end_probe(now_ns, ack, &mut info);
        let mut resend = Resend::Nothing;
        self.update_reordering_time();
        let is_dubious = info.sacked || info.congested || info.duplicate;
        let is_counted = !self.rules.sack && info.pure_duplicate;
        if self.state != State::Open || is_dubious || is_counted {
            resend = self.update_state(now_ns, &mut info);
        }
        if info.set_timer && !self.schedule_probe(now_ns, true) {
            self.rearm(now_ns);
        }
        self.update_cwnd(now_ns, &info);
        self.send_again(now_ns, resend, out);
    }

    /// Processes an acknowledgement that a later one has overtaken. Its SACK blocks only mark segments: they count
    /// neither as delivered nor for the window (`old_ack` in Linux's `tcp_ack`, since version 5.9).
    fn receive_late(&mut self, now_ns: u64, ack: &Ack, out: &mut Vec<u32>) {
        if !self.rules.sack || ack.sacks.blocks().is_empty() && ack.duplicate.is_none() {
            return;
        }
        let mut info = self.ack_info(ack);
        let delivered_before = self.rate.delivered;
        self.mark_duplicate(ack, &mut info);
        self.mark_sack_blocks(now_ns, ack, &mut info, &mut None);
        self.rate.discard_deliveries(delivered_before);
        let resend = self.update_state(now_ns, &mut info);
        self.send_again(now_ns, resend, out);
    }

    /// Sends segments after an acknowledgement.
    fn send_again(&mut self, now_ns: u64, resend: Resend, out: &mut Vec<u32>) {
        match resend {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(now_ns, out),
            Resend::New => {
                self.send(now_ns, out);
                if self.segments.next() <= self.recovery_point {
                    self.frto = false;
                    self.send_lost(now_ns, out);
                }
            }
        }
        self.send(now_ns, out);
    }

    /// Marks a segment lost, counts it, and reports it to the congestion control.
    fn mark_lost(&mut self, now_ns: u64, segment: u32) {
        if let Some(stamp) = self.segments.mark_lost(segment) {
            report_lost(
                &mut self.rate,
                &mut self.congestion,
                self.window,
                now_ns,
                &stamp,
            );
        }
    }

    /// Retransmits lost segments as the window allows.
    fn send_lost(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let mut head_sent = false;
        while let Some(segment) = self.segments.to_retransmit()
            && self.segments.in_flight() < self.window.cwnd
            && self.pacer.try_send(now_ns, self.congestion.pacing())
        {
            self.repair(now_ns, segment, out);
            self.prr.sent += 1;
            head_sent |= segment == self.acknowledged()
                && !(self.timer_ns < NEVER && self.timer == Timer::Reordering);
        }
        if head_sent {
            self.set_timer(now_ns, Timer::Retransmission, self.rtt.timeout_ns());
        }
    }
}

/// Counts a segment with this stamp as lost, and reports it to the congestion control.
fn report_lost(
    rate: &mut DeliveryRate,
    congestion: &mut Congestion,
    window: Window,
    now_ns: u64,
    stamp: &Stamp,
) {
    rate.lost += 1;
    if let Some(control) = congestion.as_window_control() {
        control.on_lost(window, &lost(rate, now_ns, stamp));
    }
}

/// Returns the report of a lost segment with this stamp.
fn lost(rate: &DeliveryRate, now_ns: u64, stamp: &Stamp) -> Lost {
    Lost {
        now_ns,
        delivered: rate.delivered,
        flight: rate.flight(stamp),
    }
}
