//! A link and the queue in front of it, packet by packet.

use std::collections::VecDeque;

use netflow_diffserv::{ActiveQueue, DropPrecedence, RedAverage};
use netflow_queues::{Buffer, DropTail, Losses};
use rand::RngExt;
use rand_pcg::Pcg32;

/// A link, and where packets come from to it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub queue: Queue,
    /// What the link loses on the way, if any.
    pub losses: Option<Box<Losses<Pcg32>>>,
    /// How much it has lost so.
    pub link_lost: u64,
    pub bandwidth_bps: f64,
    pub delay_ns: u64,
    /// Wires that end here and hold packets.
    pub pending: Vec<u32>,
}

/// A queue that serves packets in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    link: DropTail<u64>,
    /// Packets that there is room for.
    buffer_pkts: usize,
    red: Option<Box<Early>>,
    rio: Option<Box<Precedences>>,
    /// Whether the link has failed: nothing gets through.
    down: bool,
    pub counts: LinkCounts,
}

/// What happened at a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub lost: u64,
    pub accepted: u64,
    /// Nanoseconds of service of all that was accepted.
    pub service_ns: u64,
    /// Nanoseconds that all that was accepted spends here.
    pub sojourn_ns: u64,
    /// Most packets that were there at once.
    pub most: u32,
}

/// Random early detection in front of the queue.
#[derive(Clone, Debug)]
struct Early {
    average: RedAverage,
    random: Pcg32,
}

impl LinkCounts {
    pub fn offered(&self) -> u64 {
        self.accepted + self.lost
    }
}

impl Queue {
    pub fn new(buffer_pkts: usize) -> Queue {
        Queue {
            link: DropTail::default(),
            buffer_pkts,
            red: None,
            rio: None,
            down: false,
            counts: LinkCounts::default(),
        }
    }

    /// One with random early detection in front.
    pub fn with_red(buffer_pkts: usize, average: RedAverage, random: Pcg32) -> Queue {
        Queue {
            red: Some(Box::new(Early { average, random })),
            ..Queue::new(buffer_pkts)
        }
    }

    /// One that tells drop precedences apart.
    pub fn with_rio(buffer_pkts: usize, active: ActiveQueue) -> Queue {
        let precedences = Precedences {
            active,
            waiting: VecDeque::new(),
            offered: [0; 3],
            lost: [0; 3],
        };
        Queue {
            rio: Some(Box::new(precedences)),
            ..Queue::new(buffer_pkts)
        }
    }

    /// Packets that there is room for, the one in service included.
    pub fn buffer_pkts(&self) -> usize {
        self.buffer_pkts
    }

    /// Whether it tells drop precedences apart: then packets arrive by
    /// [`Queue::arrive_marked`].
    #[inline]
    pub fn has_rio(&self) -> bool {
        self.rio.is_some()
    }

    /// What happened to each precedence, and the averages that they look at.
    pub fn precedences(&self) -> Option<([u64; 3], [u64; 3], [f64; 3])> {
        let rio = self.rio.as_ref()?;
        Some((rio.offered, rio.lost, rio.active.average_pkts()))
    }

    /// As [`Queue::arrive`], of a packet with a drop precedence.
    pub fn arrive_marked(&mut self, now_ns: u64, service_ns: u64, precedence: u8) -> Option<u64> {
        let Some(mut rio) = self.rio.take() else {
            return self.arrive(now_ns, service_ns);
        };
        let p = usize::from(precedence).min(2);
        let marked = DropPrecedence::ALL[p];
        rio.offered[p] += 1;
        rio.leave(now_ns);
        let left_ns = if self.down || !rio.active.admit(now_ns, 1, marked) {
            self.counts.lost += 1;
            None
        } else {
            let begins_ns = self.link.free().max(now_ns);
            let left_ns = self.arrive(now_ns, service_ns);
            match left_ns {
                Some(_) => rio.waiting.push_back((begins_ns, marked)),
                None => rio.active.depart(now_ns, 1, marked),
            }
            left_ns
        };
        rio.lost[p] += u64::from(left_ns.is_none());
        self.rio = Some(rio);
        left_ns
    }

    /// A packet arrives that takes `service_ns` to transmit: when it has left, if it is not lost.
    #[inline]
    pub fn arrive(&mut self, now_ns: u64, service_ns: u64) -> Option<u64> {
        if self.down || self.drops_early(now_ns) {
            self.counts.lost += 1;
            return None;
        }
        let buffer = Buffer::Packets(self.buffer_pkts);
        let Some(left_ns) = self.link.arrive(now_ns, service_ns, 1, buffer) else {
            self.counts.lost += 1;
            if let Some(red) = &mut self.red {
                red.average.overflowed();
            }
            return None;
        };
        if self.link.len() > self.counts.most as usize {
            self.link.leave(now_ns);
            self.counts.most = self.counts.most.max(self.link.len() as u32);
        }
        self.counts.accepted += 1;
        self.counts.service_ns += service_ns;
        self.counts.sojourn_ns += left_ns - now_ns;
        Some(left_ns)
    }

    /// Packets there now.
    pub fn length(&self, now_ns: u64) -> usize {
        self.link.sent(now_ns).len()
    }

    /// Nanoseconds that those that are there now have still to spend here.
    pub fn still_ns(&self, now_ns: u64) -> u64 {
        self.link.sent(now_ns).map(|sent_ns| sent_ns - now_ns).sum()
    }

    /// Nanoseconds of work that is there now.
    pub fn work_ns(&self, now_ns: u64) -> u64 {
        self.link.free().saturating_sub(now_ns)
    }

    /// From `now_ns` on, transmissions take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        self.link.leave(now_ns);
        let still_ns = self.still_ns(now_ns);
        let work_ns = self.work_ns(now_ns);
        self.link.retime(|at_ns| stretched(at_ns, now_ns, ratio));
        self.counts.sojourn_ns = self.counts.sojourn_ns + self.still_ns(now_ns) - still_ns;
        self.counts.service_ns = self.counts.service_ns + self.work_ns(now_ns) - work_ns;
        if let Some(red) = &mut self.red {
            red.average.stretch(ratio);
        }
        if let Some(rio) = &mut self.rio {
            for (begins_ns, _) in &mut rio.waiting {
                *begins_ns = stretched(*begins_ns, now_ns, ratio);
            }
        }
    }

    /// The link fails: all that is there is lost.
    pub fn fail(&mut self, now_ns: u64) {
        let there = self.length(now_ns);
        self.counts.sojourn_ns -= self.still_ns(now_ns);
        self.counts.service_ns -= self.work_ns(now_ns);
        self.counts.accepted -= there as u64;
        self.counts.lost += there as u64;
        self.link.clear(now_ns);
        if let Some(rio) = &mut self.rio {
            for (_, marked) in std::mem::take(&mut rio.waiting) {
                rio.active.depart(now_ns, 1, marked);
            }
        }
        self.down = true;
    }

    /// The link works again.
    pub fn repair(&mut self) {
        self.down = false;
    }

    fn drops_early(&mut self, now_ns: u64) -> bool {
        let Some(red) = &mut self.red else {
            return false;
        };
        self.link.leave(now_ns);
        let length = self.link.len();
        let idle_ns = now_ns.saturating_sub(self.link.free());
        let idle_ns = (length == 0).then_some(idle_ns);
        // ns-2 counts those that wait.
        let waiting = length.saturating_sub(1);
        let random = &mut red.random;
        red.average.drops(waiting, idle_ns, || random.random())
    }
}

/// Drop precedences at a queue.
#[derive(Clone, Debug)]
struct Precedences {
    active: ActiveQueue,
    /// Those that wait: when their transmission begins, as ns-2 counts them until then.
    waiting: VecDeque<(u64, DropPrecedence)>,
    offered: [u64; 3],
    lost: [u64; 3],
}

impl Precedences {
    /// Lets go of those whose transmission has begun.
    fn leave(&mut self, now_ns: u64) {
        while let Some(&(begins_ns, marked)) = self.waiting.front()
            && begins_ns <= now_ns
        {
            self.active.depart(begins_ns, 1, marked);
            self.waiting.pop_front();
        }
    }
}

/// What was to happen at `time_ns`, if it takes `ratio` times as long from `now_ns` on.
pub(crate) fn stretched(time_ns: u64, now_ns: u64, ratio: f64) -> u64 {
    now_ns + (time_ns.saturating_sub(now_ns) as f64 * ratio).round() as u64
}

/// How long a packet takes to be transmitted: some time, in any case.
pub(crate) fn service_ns(bits: f64, bandwidth_bps: f64) -> u64 {
    (bits / bandwidth_bps * 1e9).round().clamp(1.0, 1e18) as u64
}
