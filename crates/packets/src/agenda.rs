//! Who is to be looked at when.

use crate::calendar::{Calendar, Moments};
use crate::wire::Packet;

/// What is due, and how many steps links and transfers take at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    /// When each transfer has something to do by itself.
    pub due_ns: Vec<u64>,
    /// Transfers at which packets arrive, and links.
    pub awake: Vec<u32>,
    pub is_awake: Vec<bool>,
    pub active_links: Vec<u32>,
    /// By step, the wires on which packets arrive.
    pub calendar: Calendar,
    /// Instead of it where moment follows moment: when to look at wires and at transfers.
    pub wire_moments: Moments,
    pub transfer_moments: Moments,
    pub in_order: bool,
    pub clock: Clock,
    /// Links and transfers by how many steps they take at a time: a power of two each.
    pub link_log: Vec<u8>,
    pub transfer_log: Vec<u8>,
    /// By wire: that of its end.
    pub wire_log: Vec<u8>,
    /// Packets that arrive at a link: scratch.
    pub batch: Vec<Packet>,
}

impl Agenda {
    pub fn new(due_ns: Vec<u64>) -> Agenda {
        Agenda {
            is_awake: vec![false; due_ns.len()],
            due_ns,
            ..Agenda::default()
        }
    }

    /// There is one more transfer, with nothing to do.
    pub fn add_transfer(&mut self) {
        self.is_awake.push(false);
        self.due_ns.push(u64::MAX);
        self.transfer_log.push(0);
    }

    /// There are so many wires now.
    pub fn add_wires(&mut self, wires: usize) {
        self.wire_log.resize(wires, 0);
    }
}

/// Steps, counted from the last time at which all had come equally far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    pub begin_ns: u64,
    /// Steps since then.
    pub since: u64,
    pub step_ns: u64,
    /// 2^64 / `step_ns`, rounded down: to multiply with instead of dividing.
    pub per_step: u64,
}

impl Clock {
    /// The end of the chunk of 2^log steps that it is in now. One that began earlier ends where it
    /// was to end.
    #[inline]
    pub fn chunk_end_ns(self, log: u8, end_ns: u64) -> u64 {
        let after = (self.since >> log) + 1;
        (self.begin_ns + (after << log) * self.step_ns).min(end_ns)
    }

    /// The step at which the chunk begins in which something arrives at `time_ns`; at the very
    /// beginning of a chunk perhaps the one before, where it is found to be too early.
    #[inline]
    pub fn step_of(self, time_ns: u64, log: u8) -> u64 {
        let after_ns = time_ns.saturating_sub(self.begin_ns);
        let step = (u128::from(after_ns) * u128::from(self.per_step)) >> 64;
        (step as u64) >> log << log
    }
}
