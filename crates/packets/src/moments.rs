//! When what is to be looked at, where moment follows moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_tcpmodel::tcp::NEVER;

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
            self.noted_ns.resize(who_ + 1, NEVER);
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
                *noted_ns = NEVER;
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
