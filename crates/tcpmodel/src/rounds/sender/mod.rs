//! The sending half of an end.

mod classic;
mod selective;

use super::{clock::Clock, path::Packet, rto::Rto};
use crate::{Recovery, RtoRule, Stack};
use classic::Classic;
use selective::Selective;

/// The sending half of an end, by what it is told about losses.
#[derive(Clone, Debug)]
pub(super) enum Sender {
    Classic(Box<Classic>),
    Selective(Box<Selective>),
}

impl Sender {
    /// The sending half of an end; the other end lets `most_out` segments be under way.
    pub(super) fn new(stack: &Stack, most_out: u32, rto: Rto, clock: Clock) -> Self {
        match stack.recovery {
            Recovery::NewReno if stack.rto_rule == RtoRule::Linux => {
                Self::Selective(Box::new(Selective::new(stack, most_out, rto, clock)))
            }
            Recovery::Timeout | Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => {
                Self::Classic(Box::new(Classic::new(stack, most_out, rto, clock)))
            }
            Recovery::Sack | Recovery::Rack => {
                Self::Selective(Box::new(Selective::new(stack, most_out, rto, clock)))
            }
        }
    }

    /// A program has written something, perhaps after a pause.
    pub(super) fn wake(&mut self, now_s: f64) {
        match self {
            Self::Classic(sender) => sender.wake(now_s),
            Self::Selective(sender) => sender.wake(now_s),
        }
    }

    /// There are so many segments to send.
    pub(super) fn offer(&mut self, segments: u32) {
        match self {
            Self::Classic(sender) => sender.offer(segments),
            Self::Selective(sender) => sender.offer(segments),
        }
    }

    /// The connection is open: may send `window` packets, in slow start until `threshold`.
    pub(super) fn open(&mut self, window: f64, threshold: f64) {
        match self {
            Self::Classic(sender) => sender.open(window, threshold),
            Self::Selective(sender) => sender.open(window, threshold),
        }
    }

    pub(super) fn rto(&mut self) -> &mut Rto {
        match self {
            Self::Classic(sender) => &mut sender.rto,
            Self::Selective(sender) => &mut sender.rto,
        }
    }

    /// Sends what the window allows.
    pub(super) fn send(&mut self, now_s: f64, out: &mut Vec<u32>) {
        match self {
            Self::Classic(sender) => sender.send(now_s, out),
            Self::Selective(sender) => sender.send(now_s, out),
        }
    }

    /// A packet arrives; `arrived` is what the other end has received, `pure` says that the
    /// packet has no data.
    pub(super) fn receive(
        &mut self,
        now_s: f64,
        packet: &Packet,
        arrived: &[u32],
        pure: bool,
        out: &mut Vec<u32>,
    ) {
        match self {
            Self::Classic(sender) => {
                sender.receive(now_s, packet.ack, pure, packet.echo_s, out);
            }
            Self::Selective(sender) => sender.receive(now_s, packet, arrived, pure, out),
        }
    }

    /// When its timer fires, in seconds.
    pub(super) fn timer_s(&self) -> f64 {
        match self {
            Self::Classic(sender) => sender.timer_s,
            Self::Selective(sender) => sender.timer_s,
        }
    }

    /// The timer fires. Was it for want of acknowledgements?
    pub(super) fn timeout(&mut self, now_s: f64, out: &mut Vec<u32>) -> bool {
        match self {
            Self::Classic(sender) => {
                sender.timeout(now_s, out);
                true
            }
            Self::Selective(sender) => sender.timeout(now_s, out),
        }
    }

    /// All segments before this one are acknowledged.
    pub(super) fn acknowledged(&self) -> u32 {
        match self {
            Self::Classic(sender) => sender.acknowledged,
            Self::Selective(sender) => sender.acknowledged,
        }
    }
}
