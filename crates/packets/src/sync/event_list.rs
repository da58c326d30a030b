//! Event list (pending event set) of event-by-event execution.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_tcpmodel::tcp::NEVER;

/// Binary heap with the next event of each item. An item can be rescheduled to an earlier time; outdated
/// entries are skipped when they are due.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventList {
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Time of the next event in ns, by item; [`NEVER`] without one.
    scheduled_ns: Vec<u64>,
}

impl EventList {
    pub fn clear(&mut self) {
        self.queue.clear();
        self.scheduled_ns.clear();
    }

    /// Schedules an event of item `item` at `at_ns`, unless one is scheduled by then.
    #[inline]
    pub fn schedule(&mut self, item: u32, at_ns: u64) {
        let index = item as usize;
        if self.scheduled_ns.len() <= index {
            self.scheduled_ns.resize(index + 1, NEVER);
        }
        if at_ns < self.scheduled_ns[index] {
            self.scheduled_ns[index] = at_ns;
            self.queue.push(Reverse((at_ns, item)));
        }
    }

    /// Removes the next event before `end_ns`, and returns its item.
    #[inline]
    pub fn pop_before(&mut self, end_ns: u64) -> Option<u32> {
        while let Some(&Reverse((at_ns, item))) = self.queue.peek()
            && at_ns < end_ns
        {
            self.queue.pop();
            let scheduled_ns = &mut self.scheduled_ns[item as usize];
            if *scheduled_ns == at_ns {
                *scheduled_ns = NEVER;
                return Some(item);
            }
        }
        None
    }

    /// Returns the time of the first entry in ns, which may be outdated; [`NEVER`] if there is none.
    pub fn next_ns(&self) -> u64 {
        self.queue
            .peek()
            .map_or(NEVER, |&Reverse((at_ns, _))| at_ns)
    }
}
