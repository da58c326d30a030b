//! Which wires have packets that arrive in which step, and who has something to do when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many steps ahead it looks: a power of two.
const DAYS: u64 = 4096;

/// A ring over the next steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    days: Vec<Vec<u32>>,
    /// An emptied list, to be filled again.
    empty: Vec<u32>,
}

impl Calendar {
    pub fn clear(&mut self) {
        self.days.resize_with(DAYS as usize, Vec::new);
        self.days.iter_mut().for_each(Vec::clear);
    }

    /// Notes a wire at this step, or at `earliest` if that is later. What is too far off is looked
    /// at earlier, and noted again.
    #[inline]
    pub fn add(&mut self, wire: u32, step: u64, earliest: u64) {
        let day = step.clamp(earliest, earliest + DAYS - 2);
        if let Some(day) = self.days.get_mut((day % DAYS) as usize) {
            day.push(wire);
        }
    }

    /// The wires of a step.
    pub fn take(&mut self, step: u64) -> Vec<u32> {
        let empty = std::mem::take(&mut self.empty);
        match self.days.get_mut((step % DAYS) as usize) {
            Some(day) => std::mem::replace(day, empty),
            None => empty,
        }
    }

    /// Takes the emptied list back.
    pub fn give_back(&mut self, day: Vec<u32>) {
        self.empty = day;
    }
}

/// Things with numbers, and when each is to be looked at, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest of each in the queue.
    noted_ns: Vec<u64>,
}

impl Moments {
    pub fn clear(&mut self) {
        self.queue.clear();
        self.noted_ns.clear();
    }

    /// Looks at `who` at this time, if not before.
    #[inline]
    pub fn note(&mut self, who: u32, at_ns: u64) {
        let who_ = who as usize;
        if self.noted_ns.len() <= who_ {
            self.noted_ns.resize(who_ + 1, u64::MAX);
        }
        if at_ns < self.noted_ns[who_] {
            self.noted_ns[who_] = at_ns;
            self.queue.push(Reverse((at_ns, who)));
        }
    }

    /// The next time before `end_ns`, taken out, and who is to be looked at then.
    #[inline]
    pub fn take_before(&mut self, end_ns: u64) -> Option<u32> {
        while let Some(&Reverse((at_ns, who))) = self.queue.peek()
            && at_ns < end_ns
        {
            self.queue.pop();
            let noted_ns = &mut self.noted_ns[who as usize];
            if *noted_ns == at_ns {
                *noted_ns = u64::MAX;
                return Some(who);
            }
        }
        None
    }

    /// When somebody is to be looked at next.
    pub fn next_ns(&self) -> u64 {
        self.queue
            .peek()
            .map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns)
    }
}
