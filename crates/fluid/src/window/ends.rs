//! The two ends of a transfer: what they do when packets arrive and when time has come.

use rand::RngExt;
use rand_pcg::Pcg32;

use super::plan::Ends;
use super::receiver::Receiver;
use super::tcp::{NEVER, Sender, Sent};
use super::wire::{Packet, Wire};
use super::{Purpose, random};
use crate::{Acks, Application, ConnectionSpec, Source, WindowSource};

/// A sender and its receiver.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub(super) ends: Ends,
    pub(super) kind: Kind,
    start_ns: u64,
    stop_ns: u64,
    started: bool,
    stopped: bool,
    /// Packets that reached the receiver, and those of them that were new.
    pub arrived: u64,
    pub delivered: u64,
    pub acks_sent: u64,
    pub acks_arrived: u64,
    /// What it has to deliver, and when that was done.
    size: Option<u64>,
    finished_ns: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Tcp(Box<Tcp>),
    /// Sends whatever happens: the time between packets, 0 for random ones.
    Open {
        interval_ns: f64,
        random_times: bool,
        next_ns: f64,
        sent: u64,
        random: Pcg32,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Tcp {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Mean time between the application's packets; 0: there is always more.
    between_ns: f64,
    next_made_ns: f64,
    /// A packet may wait up to this before it is sent.
    jitter_ns: f64,
    /// Until when sending is held back.
    held_ns: u64,
    random: Pcg32,
    application: Pcg32,
    sent: Sent,
}

/// More than any transfer sends.
const ENDLESS: i32 = i32::MAX - 1;

impl Transfer {
    pub fn new(spec: &ConnectionSpec, ends: Ends, seed: u64, index: u32) -> Transfer {
        let mut sender_random = random(seed, Purpose::Sender, index);
        let mut application = random(seed, Purpose::Application, index);
        let start_ns = ns(spec.start_s) as u64;
        let kind = match &spec.source {
            Source::Constant { rate_pps } => Kind::Open {
                interval_ns: 1e9 / rate_pps,
                random_times: false,
                next_ns: start_ns as f64,
                sent: 0,
                random: application,
            },
            Source::Poisson { rate_pps } => Kind::Open {
                interval_ns: 1e9 / rate_pps,
                random_times: true,
                next_ns: start_ns as f64 + exponential(&mut application) * 1e9 / rate_pps,
                sent: 0,
                random: application,
            },
            source => {
                let default = WindowSource::default();
                let window = match source {
                    Source::Window(window) => window,
                    _ => &default,
                };
                let limit = spec.max_window_pkts.unwrap_or(1e4);
                let (between_ns, available) = match (spec.application, spec.size_pkts) {
                    (Application::Poisson { rate_pps }, _) => (1e9 / rate_pps, 0),
                    (_, Some(size)) => (0.0, size.ceil().min(1e9) as i32),
                    _ => (0.0, ENDLESS),
                };
                let delayed = spec.acks == Acks::EverySecond;
                Kind::Tcp(Box::new(Tcp {
                    sender: Sender::new(window, limit, available, sender_random.random()),
                    receiver: Receiver::new(limit, delayed),
                    between_ns,
                    next_made_ns: match between_ns {
                        0.0 => f64::INFINITY,
                        _ => start_ns as f64 + exponential(&mut application) * between_ns,
                    },
                    jitter_ns: ns(window.send_jitter_s),
                    held_ns: NEVER,
                    random: sender_random,
                    application,
                    sent: Sent::new(),
                }))
            }
        };
        Transfer {
            ends,
            kind,
            start_ns,
            stop_ns: spec.stop_s.map_or(NEVER, |s| ns(s) as u64),
            started: false,
            stopped: false,
            arrived: 0,
            delivered: 0,
            acks_sent: 0,
            acks_arrived: 0,
            size: spec.size_pkts.map(|size| size.ceil() as u64),
            finished_ns: None,
        }
    }

    /// When it has something to do by itself.
    pub fn due_ns(&self) -> u64 {
        if !self.started {
            return self.start_ns;
        }
        let stop_ns = if self.stopped { NEVER } else { self.stop_ns };
        match &self.kind {
            Kind::Open { next_ns, .. } if !self.stopped => *next_ns as u64,
            Kind::Open { .. } => NEVER,
            Kind::Tcp(tcp) => tcp.due_ns().min(tcp.receiver.due_ns).min(stop_ns),
        }
    }

    /// Packets sent, repeated ones included.
    pub fn sent(&self) -> u64 {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.sent,
            Kind::Open { sent, .. } => *sent,
        }
    }

    /// Packets/s: the window over the round-trip time, or the mean rate.
    pub fn rate_pps(&self, now_ns: u64) -> f64 {
        match &self.kind {
            _ if !self.is_sending(now_ns) => 0.0,
            Kind::Tcp(tcp) => match tcp.sender.smoothed_rtt_s() {
                rtt_s if rtt_s > 0.0 => tcp.sender.window.min(tcp.sender.limit) / rtt_s,
                _ => 0.0,
            },
            Kind::Open { interval_ns, .. } => 1e9 / interval_ns,
        }
    }

    /// Whether it has begun and not ended.
    pub fn is_sending(&self, now_ns: u64) -> bool {
        self.start_ns <= now_ns && now_ns < self.stop_ns && self.finished_ns.is_none()
    }

    /// The smoothed round-trip time as the sender's timer has it, in seconds.
    pub fn seen_rtt_s(&self) -> f64 {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.sender.smoothed_rtt_s(),
            Kind::Open { .. } => 0.0,
        }
    }

    /// The sum of the round-trip times measured, in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, f64) {
        match &self.kind {
            Kind::Tcp(tcp) => (tcp.sender.rtt_sum_s, tcp.sender.rtts as f64),
            Kind::Open { .. } => (0.0, 0.0),
        }
    }

    /// When its size was delivered.
    pub fn finished_ns(&self) -> Option<u64> {
        self.finished_ns
    }

    /// All that happens at both ends before `until_ns`; whether packets are on their way here.
    pub fn act(&mut self, until_ns: u64, wires: &mut [Wire]) -> bool {
        let ends = self.ends;
        match &mut self.kind {
            Kind::Open {
                interval_ns,
                random_times,
                next_ns,
                sent,
                random,
            } => {
                self.started = true;
                let stop_ns = self.stop_ns.min(until_ns) as f64;
                while *next_ns < stop_ns {
                    *sent += 1;
                    wires[ends.data.wire as usize].push_unsorted(Packet {
                        time_ns: *next_ns as u64,
                        hop: ends.data.hop,
                        seq: 1,
                    });
                    *next_ns += *interval_ns
                        * if *random_times {
                            exponential(random)
                        } else {
                            1.0
                        };
                }
                self.stopped = *next_ns >= self.stop_ns as f64;
                let wire = &mut wires[ends.data_in as usize];
                while let Some(packet) = wire.first()
                    && packet.time_ns < until_ns
                {
                    wire.pop();
                    self.arrived += 1;
                    self.delivered += 1;
                }
                !wire.is_empty()
            }
            Kind::Tcp(_) => {
                self.receive(until_ns, wires);
                self.send(until_ns, wires);
                !wires[ends.data_in as usize].is_empty() || !wires[ends.acks_in as usize].is_empty()
            }
        }
    }

    fn receive(&mut self, until_ns: u64, wires: &mut [Wire]) {
        let ends = self.ends;
        let Kind::Tcp(tcp) = &mut self.kind else {
            return;
        };
        loop {
            let next = wires[ends.data_in as usize].first().copied();
            let next = next.filter(|p| p.time_ns < until_ns);
            let due_ns = tcp.receiver.due_ns;
            let at_ns = match next {
                Some(packet) if packet.time_ns <= due_ns => {
                    wires[ends.data_in as usize].pop();
                    self.arrived += 1;
                    let (new, at_once) = tcp.receiver.receive(packet.time_ns, packet.seq);
                    self.delivered += u64::from(new);
                    if self.size == Some(self.delivered) && new {
                        self.finished_ns = Some(packet.time_ns);
                    }
                    if !at_once {
                        continue;
                    }
                    packet.time_ns
                }
                _ if due_ns < until_ns => {
                    tcp.receiver.due_ns = NEVER;
                    due_ns
                }
                _ => return,
            };
            self.acks_sent += 1;
            wires[ends.acks.wire as usize].push_unsorted(Packet {
                time_ns: at_ns,
                hop: ends.acks.hop,
                seq: tcp.receiver.in_order(),
            });
        }
    }

    fn send(&mut self, until_ns: u64, wires: &mut [Wire]) {
        let ends = self.ends;
        let Kind::Tcp(tcp) = &mut self.kind else {
            return;
        };
        if !self.started && self.start_ns < until_ns {
            self.started = true;
            tcp.try_to_send(self.start_ns);
            tcp.emit(self.start_ns, ends, wires);
        }
        loop {
            let ack = wires[ends.acks_in as usize].first().copied();
            let ack_ns = ack.map_or(NEVER, |p| p.time_ns);
            let stop_ns = if self.stopped { NEVER } else { self.stop_ns };
            let due_ns = tcp.due_ns().min(stop_ns);
            let now_ns = ack_ns.min(due_ns);
            if now_ns >= until_ns || !self.started {
                return;
            }
            if due_ns < ack_ns {
                if stop_ns == now_ns {
                    self.stopped = true;
                    tcp.stop();
                } else {
                    tcp.time_has_come(now_ns);
                }
            } else if let Some(packet) = ack {
                wires[ends.acks_in as usize].pop();
                self.acks_arrived += 1;
                if tcp.sender.acknowledge(now_ns, packet.seq, &mut tcp.sent) {
                    tcp.try_to_send(now_ns);
                }
            }
            tcp.emit(now_ns, ends, wires);
        }
    }
}

impl Tcp {
    fn due_ns(&self) -> u64 {
        let timer_ns = self.sender.timer_ns();
        timer_ns.min(self.held_ns).min(self.next_made_ns as u64)
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
        } else if self.next_made_ns as u64 == now_ns {
            self.sender.available += 1;
            self.next_made_ns += self.between_ns * exponential(&mut self.application);
            self.try_to_send(now_ns);
        } else {
            self.sender.time_out(now_ns);
            self.try_to_send(now_ns);
        }
    }

    /// Nothing new from now on; what was lost is repeated.
    fn stop(&mut self) {
        self.sender.available = self.sender.highest_sent + 1;
        self.next_made_ns = f64::INFINITY;
    }

    fn emit(&mut self, now_ns: u64, ends: Ends, wires: &mut [Wire]) {
        for seq in self.sent.drain(..) {
            wires[ends.data.wire as usize].push_unsorted(Packet {
                time_ns: now_ns,
                hop: ends.data.hop,
                seq,
            });
        }
    }
}

fn ns(seconds: f64) -> f64 {
    (seconds * 1e9).round()
}

/// An exponentially distributed number with mean 1.
fn exponential(random: &mut Pcg32) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}
