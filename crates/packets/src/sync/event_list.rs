//! When what is to be looked at, where moment follows moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_tcpmodel::tcp::NEVER;

/// Things with numbers, and when each is to be looked at, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventList {
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest of each in the queue.
    scheduled_ns: Vec<u64>,
}

impl EventList {
    pub fn clear(&mut self) {
        self.queue.clear();
        self.scheduled_ns.clear();
    }

    /// Looks at `who` at this time, if not before.
    #[inline]
    pub fn schedule(&mut self, who: u32, at_ns: u64) {
        let who_ = who as usize;
        if self.scheduled_ns.len() <= who_ {
            self.scheduled_ns.resize(who_ + 1, NEVER);
        }
        if at_ns < self.scheduled_ns[who_] {
            self.scheduled_ns[who_] = at_ns;
            self.queue.push(Reverse((at_ns, who)));
        }
    }

    /// The next time before `end_ns`, taken out, and who is to be looked at then.
    #[inline]
    pub fn pop_before(&mut self, end_ns: u64) -> Option<u32> {
        while let Some(&Reverse((at_ns, who))) = self.queue.peek()
            && at_ns < end_ns
        {
            self.queue.pop();
            let scheduled_ns = &mut self.scheduled_ns[who as usize];
            if *scheduled_ns == at_ns {
                *scheduled_ns = NEVER;
                return Some(who);
            }
        }
        None
    }

    /// When somebody is to be looked at next.
    pub fn next_ns(&self) -> u64 {
        self.queue
            .peek()
            .map_or(NEVER, |&Reverse((at_ns, _))| at_ns)
    }
}
