//! The packets in one queue and behind it, by their numbers.

use std::collections::VecDeque;

/// Packets that are remembered on their way over a link; of a trace that does not show arrivals,
/// the oldest are forgotten.
const MOST_ON_LINK: usize = 1 << 20;

/// Where a dropped packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    InQueue,
    OnLink,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    waiting: VecDeque<u64>,
    /// With the time at which its transmission began.
    on_link: VecDeque<(u64, i64)>,
}

impl Packets {
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub fn enqueue(&mut self, id: u64) {
        self.waiting.push_back(id);
    }

    /// Its transmission begins; it may have been there before the trace began.
    #[inline]
    pub fn dequeue(&mut self, id: u64, now_ns: i64) {
        if self.waiting.front() == Some(&id) {
            self.waiting.pop_front();
        } else if let Some(at) = self.waiting.iter().position(|&waiting| waiting == id) {
            // Another discipline than first come, first served.
            self.waiting.remove(at);
        }
        if self.on_link.len() == MOST_ON_LINK {
            self.on_link.pop_front();
        }
        self.on_link.push_back((id, now_ns));
    }

    /// It arrives at the link's end: when its transmission began.
    #[inline]
    pub fn receive(&mut self, id: u64) -> Option<i64> {
        if self.on_link.front().is_some_and(|first| first.0 == id) {
            return self.on_link.pop_front().map(|(_, began_ns)| began_ns);
        }
        let at = self.on_link.iter().position(|packet| packet.0 == id)?;
        self.on_link.remove(at).map(|(_, began_ns)| began_ns)
    }

    /// It is dropped. What was never seen before was refused by the queue, or had been in it.
    pub fn drop(&mut self, id: u64) -> Dropped {
        if let Some(at) = self.waiting.iter().rposition(|&waiting| waiting == id) {
            self.waiting.remove(at);
        } else if let Some(at) = self.on_link.iter().rposition(|packet| packet.0 == id) {
            self.on_link.remove(at);
            return Dropped::OnLink;
        }
        Dropped::InQueue
    }
}
