//! One transfer, packet by packet.

use super::{
    Until,
    chance::Chance,
    clock::Clock,
    end::{End, Handshake},
    path::{Kind, Packet, Way},
    receiver::Receiver,
    rto::Rto,
    sender::Sender,
    setting::Setting,
};

/// Headers of a packet, in bytes.
const HEADER_BYTES: f64 = 40.0;
/// Events so close to one another, in seconds, happen together, a packet's arrival first: the same
/// moment, summed up in another order, is not the same to the bit.
const TOGETHER_S: f64 = 1e-9;
/// The end that opens the connection, and the packets it sends.
pub(super) const OPENER: usize = 0;
/// The other end.
pub(super) const LISTENER: usize = 1;

/// What one transfer took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// From the first SYN to the end, in seconds.
    pub latency_s: f64,
    /// Until the opener may send data, in seconds.
    pub handshake_s: f64,
    /// Waiting for timers after that, in seconds.
    pub timeout_s: f64,
    /// How many timers fired after the handshake.
    pub timeouts: u32,
    /// How many packets of data were sent again.
    pub retransmissions: u32,
}

/// A transfer under way.
pub(super) struct Trial<'a, C> {
    setting: &'a Setting,
    chance: &'a mut C,
    ends: [End; 2],
    /// What is on its way from either end.
    ways: [Way; 2],
    /// Segments to send; kept to save allocations.
    out: Vec<u32>,
    /// So many segments of either end have been sent at least once.
    sent: [u32; 2],
    /// When a timer fired last, in seconds.
    waited_until_s: f64,
    taken: Taken,
}

/// What happens next.
#[derive(Clone, Copy)]
enum Event {
    Packet,
    Handshake,
    Timer,
    Acknowledge,
}

impl<'a, C: Chance> Trial<'a, C> {
    /// A transfer about to begin.
    pub(super) fn new(setting: &'a Setting, chance: &'a mut C) -> Self {
        let stack = &setting.stack;
        let phase = chance.phase();
        let ends = [OPENER, LISTENER].map(|who| {
            let clock = Clock::new(stack, phase);
            let rto = Rto::new(stack, chance.phase());
            let sender = Sender::new(stack, rto, clock);
            let other = setting.segments[1 - who];
            End::new(
                clock,
                sender,
                Receiver::new(stack, other, clock, chance.phase()),
            )
        });
        let way = Way::new(setting.delay_s, setting.bandwidth_bps);
        Self {
            setting,
            chance,
            ends,
            ways: [way.clone(), way],
            out: Vec::new(),
            sent: [0, 0],
            waited_until_s: 0.0,
            taken: Taken::default(),
        }
    }

    /// Plays it to its end.
    pub(super) fn run(mut self) -> Taken {
        let mut now_s = 0.0;
        self.ends[OPENER].handshake = Handshake::SynSent;
        self.ends[OPENER]
            .sender
            .offer(self.setting.segments[OPENER]);
        self.send(OPENER, 0.0, Kind::Syn);
        self.ends[OPENER].set_handshake_timer(&self.setting.stack, 0.0, true);
        while !self.is_over() {
            let (at_s, who, event) = self.next_event();
            if at_s == f64::INFINITY {
                break;
            }
            now_s = at_s;
            match event {
                Event::Packet => self.arrive(who, now_s),
                Event::Handshake => self.handshake_timeout(who, now_s),
                Event::Timer => self.timeout(who, now_s),
                Event::Acknowledge => self.send(who, now_s, Kind::Ack),
            }
        }
        self.taken.latency_s = now_s;
        self.taken
    }

    fn is_over(&self) -> bool {
        let source = self.setting.source;
        let all = self.setting.segments[source];
        match self.setting.until {
            Until::Delivered => self.ends[1 - source].receiver.next() >= all,
            Until::Acknowledged => self.ends[source].sender.acknowledged() >= all,
        }
    }

    fn next_event(&self) -> (f64, usize, Event) {
        let mut next = (f64::INFINITY, OPENER, Event::Packet);
        for who in [OPENER, LISTENER] {
            let end = &self.ends[who];
            for (at_s, event) in [
                (self.ways[1 - who].next_s(), Event::Packet),
                (end.handshake_timer_s, Event::Handshake),
                (end.sender.timer_s(), Event::Timer),
                (end.receiver.due_s(), Event::Acknowledge),
            ] {
                if at_s < next.0 - TOGETHER_S {
                    next = (at_s, who, event);
                }
            }
        }
        next
    }

    fn send(&mut self, who: usize, now_s: f64, kind: Kind) {
        let end = &mut self.ends[who];
        end.active_s = now_s;
        let duplicate = match kind {
            Kind::Syn | Kind::SynAck => {
                end.handshake_sent_s = now_s;
                false
            }
            Kind::Ack | Kind::Data { .. } => end.receiver.told(),
        };
        let packet = Packet {
            kind,
            ack: end.receiver.next(),
            arrivals: end.receiver.arrivals(),
            duplicate,
            sent_s: now_s,
            echo_s: end.receiver.echo_s(),
        };
        let payload_bytes = match kind {
            Kind::Data { segment } if segment + 1 == self.setting.segments[who] => {
                self.setting.last_bytes[who]
            }
            Kind::Data { .. } => self.setting.mss_bytes,
            _ => 0.0,
        };
        let lost = self.chance.is_lost(who);
        self.ways[who].send(now_s, packet, HEADER_BYTES + payload_bytes, lost);
    }

    /// Sends the segments that the sending half has chosen.
    fn send_chosen(&mut self, who: usize, now_s: f64) {
        let mut out = std::mem::take(&mut self.out);
        for segment in out.drain(..) {
            if segment < self.sent[who] {
                self.taken.retransmissions += 1;
            } else {
                self.sent[who] = segment + 1;
            }
            self.send(who, now_s, Kind::Data { segment });
        }
        self.out = out;
    }

    fn arrive(&mut self, who: usize, now_s: f64) {
        let Some(packet) = self.ways[1 - who].receive() else {
            return;
        };
        self.ends[who].active_s = now_s;
        match packet.kind {
            Kind::Syn => self.syn(now_s, &packet),
            Kind::SynAck => self.syn_ack(now_s, &packet),
            Kind::Ack => self.answered(who, now_s, &packet),
            Kind::Data { segment } => {
                self.answered(who, now_s, &packet);
                self.data(who, now_s, segment, &packet);
            }
        }
    }

    fn syn(&mut self, now_s: f64, packet: &Packet) {
        let end = &mut self.ends[LISTENER];
        end.receiver.set_echo(packet.sent_s);
        match end.handshake {
            Handshake::Listening => end.handshake = Handshake::SynReceived,
            Handshake::SynReceived if self.setting.stack.syn_answered_again => {
                end.handshake_again += 1;
            }
            _ => return,
        }
        end.set_handshake_timer(&self.setting.stack, now_s, false);
        self.send(LISTENER, now_s, Kind::SynAck);
    }

    fn syn_ack(&mut self, now_s: f64, packet: &Packet) {
        let end = &mut self.ends[OPENER];
        end.receiver.set_echo(packet.sent_s);
        if end.handshake == Handshake::SynSent {
            end.open(&self.setting.stack, now_s, packet.echo_s);
            self.taken.handshake_s = now_s;
            self.send(OPENER, now_s, Kind::Ack);
            self.ends[OPENER].sender.send(now_s, &mut self.out);
            self.send_chosen(OPENER, now_s);
        } else {
            self.send(OPENER, now_s, Kind::Ack);
        }
    }

    /// A packet that is no part of a handshake arrives: what it acknowledges.
    fn answered(&mut self, who: usize, now_s: f64, packet: &Packet) {
        let [opener, listener] = &mut self.ends;
        let (end, other) = if who == OPENER {
            (opener, listener)
        } else {
            (listener, opener)
        };
        if end.handshake == Handshake::SynReceived {
            end.open(&self.setting.stack, now_s, packet.echo_s);
        }
        if end.handshake != Handshake::Open {
            return;
        }
        let pure = packet.kind == Kind::Ack;
        end.sender
            .receive(now_s, packet, other.receiver.arrived(), pure, &mut self.out);
        self.send_chosen(who, now_s);
    }

    fn data(&mut self, who: usize, now_s: f64, segment: u32, packet: &Packet) {
        let segments = self.setting.segments[1 - who];
        let full =
            segment + 1 < segments || self.setting.last_bytes[1 - who] >= self.setting.mss_bytes;
        let rto_s = self.ends[who].sender.rto().timeout_s();
        let receiver = &mut self.ends[who].receiver;
        let had = receiver.next();
        if receiver.receive(now_s, segment, full, packet.sent_s, rto_s) {
            self.send(who, now_s, Kind::Ack);
        }
        let has = self.ends[who].receiver.next();
        if who == LISTENER && self.setting.source == LISTENER && has > had && has == segments {
            // The request is complete: the reply.
            let sender = &mut self.ends[LISTENER].sender;
            sender.offer(self.setting.segments[LISTENER]);
            sender.send(now_s, &mut self.out);
            self.send_chosen(LISTENER, now_s);
        }
    }

    fn handshake_timeout(&mut self, who: usize, now_s: f64) {
        let end = &mut self.ends[who];
        end.handshake_timeouts += 1;
        end.handshake_again += 1;
        end.set_handshake_timer(&self.setting.stack, now_s, who == OPENER);
        let kind = if who == OPENER {
            Kind::Syn
        } else {
            Kind::SynAck
        };
        self.send(who, now_s, kind);
    }

    fn timeout(&mut self, who: usize, now_s: f64) {
        let end = &mut self.ends[who];
        // Both ends may wait at the same time, which is counted once.
        let since_s = end.active_s.max(self.waited_until_s);
        if end.sender.timeout(now_s, &mut self.out) {
            self.taken.timeouts += 1;
            self.taken.timeout_s += now_s - since_s.max(self.taken.handshake_s);
            self.waited_until_s = now_s;
        }
        self.send_chosen(who, now_s);
    }
}
