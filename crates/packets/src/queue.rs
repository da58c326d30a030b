//! A link and the queue in front of it, packet by packet.

use std::collections::VecDeque;

use netflow_diffserv::{ActiveQueue, DropPrecedence};
use netflow_network::Red;
use rand::RngExt;
use rand_pcg::Pcg32;

/// A queue that serves packets in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// When the last packet it has will have left.
    free_ns: u64,
    /// Packets that there is room for, the one in service included.
    room: usize,
    /// When each packet that is there leaves, in order; those before `head` have left.
    departures: Vec<u64>,
    head: usize,
    red: Option<Box<Average>>,
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

/// The average queue of random early detection, and what it drops (as ns-2 does it, with drops
/// spread uniformly and at least 1/p packets apart).
#[derive(Clone, Debug)]
struct Average {
    red: Red,
    value: f64,
    /// Packets since the last drop, or since the average crossed the lower threshold.
    count: f64,
    above: bool,
    /// Packets/ns that the link serves: what a pause is worth.
    packets_per_ns: f64,
    random: Pcg32,
}

impl LinkCounts {
    pub fn offered(&self) -> u64 {
        self.accepted + self.lost
    }
}

impl Queue {
    pub fn new(room: usize) -> Queue {
        Queue {
            free_ns: 0,
            room,
            departures: Vec::new(),
            head: 0,
            red: None,
            rio: None,
            down: false,
            counts: LinkCounts::default(),
        }
    }

    /// One with random early detection in front.
    pub fn with_red(room: usize, red: Red, packet_ns: f64, random: Pcg32) -> Queue {
        let average = Average {
            red,
            value: 0.0,
            count: 0.0,
            above: false,
            packets_per_ns: 1.0 / packet_ns,
            random,
        };
        Queue {
            red: Some(Box::new(average)),
            ..Queue::new(room)
        }
    }

    /// One that tells drop precedences apart.
    pub fn with_rio(room: usize, active: ActiveQueue) -> Queue {
        let precedences = Precedences {
            active,
            waiting: VecDeque::new(),
            offered: [0; 3],
            lost: [0; 3],
        };
        Queue {
            rio: Some(Box::new(precedences)),
            ..Queue::new(room)
        }
    }

    /// Packets that there is room for.
    pub fn room(&self) -> usize {
        self.room
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
            let begins_ns = self.free_ns.max(now_ns);
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
        if self.down || self.red.is_some() && self.drops_early(now_ns) {
            self.counts.lost += 1;
            return None;
        }
        if self.departures.len() - self.head >= self.room {
            self.leave(now_ns);
            if self.departures.len() - self.head >= self.room {
                self.counts.lost += 1;
                if let Some(average) = &mut self.red {
                    average.count = 0.0;
                }
                return None;
            }
        }
        self.free_ns = self.free_ns.max(now_ns) + service_ns;
        self.departures.push(self.free_ns);
        let length = (self.departures.len() - self.head) as u32;
        if length > self.counts.most {
            self.leave(now_ns);
            self.counts.most = self
                .counts
                .most
                .max((self.departures.len() - self.head) as u32);
        }
        self.counts.accepted += 1;
        self.counts.service_ns += service_ns;
        self.counts.sojourn_ns += self.free_ns - now_ns;
        Some(self.free_ns)
    }

    /// Forgets those that have left.
    #[inline]
    pub fn leave(&mut self, now_ns: u64) {
        while self.departures.get(self.head).is_some_and(|&t| t <= now_ns) {
            self.head += 1;
        }
        if self.head == self.departures.len() {
            self.departures.clear();
            self.head = 0;
        } else if self.head >= 32 && 2 * self.head >= self.departures.len() {
            self.departures.drain(..self.head);
            self.head = 0;
        }
    }

    /// Packets there now.
    pub fn length(&self, now_ns: u64) -> usize {
        let there = &self.departures[self.head..];
        there.len() - there.partition_point(|&t| t <= now_ns)
    }

    /// Nanoseconds that those that are there now have still to spend here.
    pub fn still_ns(&self, now_ns: u64) -> u64 {
        let there = self.departures[self.head..].iter();
        there.map(|&t| t.saturating_sub(now_ns)).sum()
    }

    /// Nanoseconds of work that is there now.
    pub fn work_ns(&self, now_ns: u64) -> u64 {
        self.free_ns.saturating_sub(now_ns)
    }

    /// From `now_ns` on, transmissions take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        self.leave(now_ns);
        let still_ns = self.still_ns(now_ns);
        let work_ns = self.work_ns(now_ns);
        for departure in &mut self.departures[self.head..] {
            *departure = stretched(*departure, now_ns, ratio);
        }
        self.free_ns = stretched(self.free_ns, now_ns, ratio);
        self.counts.sojourn_ns = self.counts.sojourn_ns + self.still_ns(now_ns) - still_ns;
        self.counts.service_ns = self.counts.service_ns + self.work_ns(now_ns) - work_ns;
        if let Some(average) = &mut self.red {
            average.packets_per_ns /= ratio;
        }
        if let Some(rio) = &mut self.rio {
            for (begins_ns, _) in &mut rio.waiting {
                *begins_ns = stretched(*begins_ns, now_ns, ratio);
            }
        }
    }

    /// The link fails: all that is there is lost.
    pub fn fail(&mut self, now_ns: u64) {
        self.leave(now_ns);
        let there = self.departures.len() - self.head;
        self.counts.sojourn_ns -= self.still_ns(now_ns);
        self.counts.service_ns -= self.work_ns(now_ns);
        self.counts.accepted -= there as u64;
        self.counts.lost += there as u64;
        self.departures.clear();
        self.head = 0;
        self.free_ns = self.free_ns.min(now_ns);
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
        self.leave(now_ns);
        let length = self.departures.len() - self.head;
        let idle_ns = now_ns.saturating_sub(self.free_ns);
        let Some(average) = &mut self.red else {
            return false;
        };
        // ns-2 counts those that wait.
        average.drops(length.saturating_sub(1), (length == 0).then_some(idle_ns))
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

impl Average {
    fn drops(&mut self, waiting: usize, idle_ns: Option<u64>) -> bool {
        let red = self.red;
        if let Some(idle_ns) = idle_ns {
            let missed = (idle_ns as f64 * self.packets_per_ns).floor();
            self.value *= (1.0 - red.weight).powf(missed);
        }
        self.value += red.weight * (waiting as f64 - self.value);
        self.count += 1.0;
        if self.value < red.min_pkts || waiting <= 1 {
            self.above = false;
            return false;
        }
        let p = red.marking_probability(self.value);
        if p >= 1.0 {
            self.count = 0.0;
            return true;
        }
        if !self.above {
            self.above = true;
            self.count = 1.0;
            return false;
        }
        let spread = self.count * p;
        let p = match spread {
            ..1.0 => 0.0,
            ..2.0 => p / (2.0 - spread),
            _ => 1.0,
        };
        let drops = self.random.random::<f64>() <= p && p > 0.0;
        if drops {
            self.count = 0.0;
        }
        drops
    }
}
