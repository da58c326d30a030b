//! A simulated connection: two ends and the packets between them.

use super::{
    Direction,
    connection_end::{ConnectionEnd, HandshakeState},
    loss_model::LossModel,
    path::{LinkDirection, Packet, PacketKind},
    send_queue::SendQueue,
};
use crate::Stack;
use crate::tcp::{Handshake, NEVER, Receiver, Sender};

/// Bytes of the IPv4 and TCP headers of a packet, without options.
pub const HEADER_BYTES: f64 = 40.0;

/// Returns the payload of packets of this size on the wire, at least one byte.
pub fn segment_bytes(packet_bytes: f64) -> u32 {
    (packet_bytes - HEADER_BYTES).max(1.0) as u32
}
/// The index of the end that opens the connection, and of its packets.
pub(super) const OPENER: usize = 0;
/// The index of the other end.
pub(super) const LISTENER: usize = 1;

/// The time and number of repairs of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryCost {
    /// The time until the opener may send data.
    pub handshake_ns: u64,
    /// The time spent in timeouts after that.
    pub timeout_ns: u64,
    /// The number of timeouts after the handshake.
    pub timeouts: u32,
    /// The number of data packets sent again.
    pub retransmissions: u32,
}

/// A connection with the same stack at both ends.
pub(super) struct Connection<'a, C> {
    stack: &'a Stack,
    pub losses: &'a mut C,
    ends: [ConnectionEnd; 2],
    /// The data that programs at both ends have written.
    send_queues: [SendQueue; 2],
    /// The packets in flight from each end.
    directions: [LinkDirection; 2],
    /// Segments to send; kept to avoid allocations.
    out: Vec<u32>,
    /// The time of the last timeout.
    waited_until_ns: u64,
    /// Consecutive timeouts of each end without an acknowledgement.
    unacked_timeouts: [u32; 2],
    recovery: RecoveryCost,
}

/// The kinds of events at an end.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Packet,
    Handshake,
    Timer,
    Acknowledge,
}

/// A notification to the program at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notification {
    /// The opener may send because the connection is open.
    Opened,
    /// More bytes have been delivered to this end.
    Delivered(usize),
}

impl<'a, C: LossModel> Connection<'a, C> {
    /// Returns a connection without written data and without packets in flight.
    pub(super) fn new(
        stack: &'a Stack,
        mss_bytes: u32,
        directions: [LinkDirection; 2],
        losses: &'a mut C,
    ) -> Self {
        let phase = losses.phase();
        // Segments are at most half the window, so that one can be sent while the other is acknowledged
        // (Linux).
        let window_bytes = stack.receive_window_bytes.unwrap_or(u32::MAX);
        let mss_bytes = mss_bytes.min(window_bytes / 2).max(1);
        let ends = [OPENER, LISTENER].map(|_| {
            let sender = Sender::new(stack, mss_bytes, u32::MAX, [phase, losses.phase()]);
            let receiver = Receiver::new(stack, mss_bytes, [phase, losses.phase()]);
            ConnectionEnd::new(Handshake::new(stack, phase), sender, receiver)
        });
        Self {
            stack,
            losses,
            ends,
            send_queues: [SendQueue::new(mss_bytes), SendQueue::new(mss_bytes)],
            directions,
            out: Vec::new(),
            waited_until_ns: 0,
            unacked_timeouts: [0, 0],
            recovery: RecoveryCost::default(),
        }
    }

    /// Sends the SYN of the opener.
    pub(super) fn open(&mut self, now_ns: u64) {
        self.ends[OPENER].handshake_state = HandshakeState::SynSent;
        self.send(OPENER, now_ns, PacketKind::Syn);
    }

    /// Writes `bytes` of the program at an end, and sends the segments that the window allows.
    pub(super) fn write(&mut self, end_index: usize, now_ns: u64, bytes: u64) {
        self.send_queues[end_index].write(bytes);
        let sender = &mut self.ends[end_index].sender;
        sender.restart_after_idle(now_ns);
        sender.offer(self.send_queues[end_index].segments());
        sender.send(now_ns, &mut self.out);
        self.send_segments(end_index, now_ns);
    }

    /// Returns the number of bytes delivered to an end.
    pub(super) fn delivered(&self, end_index: usize) -> u64 {
        self.send_queues[1 - end_index].bytes_before(self.ends[end_index].receiver.next())
    }

    /// Returns the number of an end's bytes that were acknowledged.
    pub(super) fn acknowledged(&self, end_index: usize) -> u64 {
        self.send_queues[end_index].bytes_before(self.ends[end_index].sender.acknowledged())
    }

    /// Returns the number of consecutive timeouts without an acknowledgement, at the end with more of them.
    pub(super) fn unacked_timeouts(&self) -> u32 {
        self.unacked_timeouts[OPENER].max(self.unacked_timeouts[LISTENER])
    }

    /// Returns the time and number of repairs until now.
    pub(super) fn recovery(&self) -> RecoveryCost {
        self.recovery
    }

    /// Changes the path of the packets from an end, from now on.
    pub(super) fn set_direction(&mut self, end_index: usize, direction: &Direction) {
        self.directions[end_index].set_parameters(direction);
    }

    /// Returns the time, end and kind of the next event; `NEVER` without one.
    pub(super) fn next_event(&self) -> (u64, usize, Event) {
        let mut next = (NEVER, OPENER, Event::Packet);
        for who in [OPENER, LISTENER] {
            let end = &self.ends[who];
            for (at_ns, event) in [
                (self.directions[1 - who].next_ns(), Event::Packet),
                (end.handshake.timer_ns(), Event::Handshake),
                (end.sender.timer_ns(), Event::Timer),
                (end.receiver.due_ns(), Event::Acknowledge),
            ] {
                if at_ns < next.0 {
                    next = (at_ns, who, event);
                }
            }
        }
        next
    }

    /// Processes an event. Returns the notification to a program, if any.
    pub(super) fn process(
        &mut self,
        (now_ns, who, event): (u64, usize, Event),
    ) -> Option<Notification> {
        match event {
            Event::Packet => return self.receive(who, now_ns),
            Event::Handshake => self.handshake_timeout(who, now_ns),
            Event::Timer => self.timeout(who, now_ns),
            Event::Acknowledge => self.send(who, now_ns, PacketKind::Ack),
        }
        None
    }

    fn send(&mut self, end_index: usize, now_ns: u64, kind: PacketKind) {
        let end = &mut self.ends[end_index];
        end.active_ns = now_ns;
        let ack = match kind {
            PacketKind::Syn | PacketKind::SynAck => {
                end.handshake
                    .send(self.stack, now_ns, kind == PacketKind::Syn);
                end.receiver.echo()
            }
            PacketKind::Ack | PacketKind::Data { .. } => {
                end.receiver.acknowledge(kind == PacketKind::Ack)
            }
        };
        let packet = Packet {
            kind,
            ack,
            sent_ns: now_ns,
        };
        let payload_bytes = match kind {
            PacketKind::Data { segment } => f64::from(self.send_queues[end_index].size(segment)),
            _ => 0.0,
        };
        let bytes = HEADER_BYTES + payload_bytes;
        let lost = self.losses.is_lost(end_index, bytes);
        self.directions[end_index].send(now_ns, packet, bytes, lost);
    }

    /// Sends the segments that the sending half has selected.
    fn send_segments(&mut self, end_index: usize, now_ns: u64) {
        let mut out = std::mem::take(&mut self.out);
        for segment in out.drain(..) {
            if self.send_queues[end_index].is_segmented(segment) {
                self.recovery.retransmissions += 1;
            } else {
                self.send_queues[end_index].cut_segment();
            }
            self.send(end_index, now_ns, PacketKind::Data { segment });
        }
        self.out = out;
    }

    fn receive(&mut self, end_index: usize, now_ns: u64) -> Option<Notification> {
        let packet = self.directions[1 - end_index].receive()?;
        self.ends[end_index].active_ns = now_ns;
        match packet.kind {
            PacketKind::Syn => self.receive_syn(now_ns, &packet),
            PacketKind::SynAck => return self.receive_syn_ack(now_ns, &packet),
            PacketKind::Ack => self.receive_ack(end_index, now_ns, &packet),
            PacketKind::Data { segment } => {
                self.receive_ack(end_index, now_ns, &packet);
                return self.receive_data(end_index, now_ns, segment, &packet);
            }
        }
        None
    }

    fn receive_syn(&mut self, now_ns: u64, packet: &Packet) {
        let end = &mut self.ends[LISTENER];
        end.receiver.set_echo(packet.sent_ns);
        match end.handshake_state {
            HandshakeState::Listening => end.handshake_state = HandshakeState::SynReceived,
            HandshakeState::SynReceived if self.stack.syn_answered_again => {
                end.handshake.repeat();
            }
            _ => return,
        }
        self.send(LISTENER, now_ns, PacketKind::SynAck);
    }

    fn receive_syn_ack(&mut self, now_ns: u64, packet: &Packet) -> Option<Notification> {
        let end = &mut self.ends[OPENER];
        end.receiver.set_echo(packet.sent_ns);
        if end.handshake_state != HandshakeState::SynSent {
            self.send(OPENER, now_ns, PacketKind::Ack);
            return None;
        }
        end.open(self.stack, now_ns, packet.ack.echo_ns);
        self.unacked_timeouts[OPENER] = 0;
        self.recovery.handshake_ns = now_ns;
        self.send(OPENER, now_ns, PacketKind::Ack);
        self.ends[OPENER].sender.send(now_ns, &mut self.out);
        self.send_segments(OPENER, now_ns);
        Some(Notification::Opened)
    }

    /// Processes the acknowledgement in a packet that does not belong to the handshake.
    fn receive_ack(&mut self, end_index: usize, now_ns: u64, packet: &Packet) {
        let end = &mut self.ends[end_index];
        if end.handshake_state == HandshakeState::SynReceived {
            end.open(self.stack, now_ns, packet.ack.echo_ns);
            self.unacked_timeouts[end_index] = 0;
        }
        if end.handshake_state != HandshakeState::Open {
            return;
        }
        let acknowledged = end.sender.acknowledged();
        end.sender.receive(now_ns, &packet.ack, &mut self.out);
        if end.sender.acknowledged() > acknowledged {
            self.unacked_timeouts[end_index] = 0;
        }
        self.send_segments(end_index, now_ns);
    }

    fn receive_data(
        &mut self,
        who: usize,
        now_ns: u64,
        segment: u32,
        packet: &Packet,
    ) -> Option<Notification> {
        let full = self.send_queues[1 - who].is_full(segment);
        let rto_ns = self.ends[who].sender.rto_ns();
        let receiver = &mut self.ends[who].receiver;
        let had = receiver.next();
        let (_, at_once) = receiver.receive(now_ns, segment, full, packet.sent_ns, rto_ns, false);
        if at_once {
            self.send(who, now_ns, PacketKind::Ack);
        }
        (self.ends[who].receiver.next() > had).then_some(Notification::Delivered(who))
    }

    fn handshake_timeout(&mut self, end_index: usize, now_ns: u64) {
        let end = &mut self.ends[end_index];
        end.handshake.time_out();
        self.unacked_timeouts[end_index] += 1;
        let kind = if end_index == OPENER {
            PacketKind::Syn
        } else {
            PacketKind::SynAck
        };
        self.send(end_index, now_ns, kind);
    }

    fn timeout(&mut self, end_index: usize, now_ns: u64) {
        let end = &mut self.ends[end_index];
        // Both ends may wait at the same time; that time is counted once.
        let since_ns = end.active_ns.max(self.waited_until_ns);
        if end.sender.time_out(now_ns, &mut self.out) {
            self.recovery.timeouts += 1;
            self.unacked_timeouts[end_index] += 1;
            self.recovery.timeout_ns += now_ns - since_ns.max(self.recovery.handshake_ns);
            self.waited_until_ns = now_ns;
        }
        self.send_segments(end_index, now_ns);
    }
}
