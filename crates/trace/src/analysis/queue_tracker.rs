//! Packets in one queue and in flight on its link, by id.

use std::collections::VecDeque;

/// Maximum number of packets remembered in flight on a link. In a trace without arrivals, the oldest are
/// forgotten.
const MAX_IN_FLIGHT: usize = 1 << 20;

/// Location of a dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropLocation {
    InQueue,
    OnLink,
}

#[derive(Clone, Debug, Default)]
pub(super) struct QueueTracker {
    waiting: VecDeque<u64>,
    /// Packets in flight, with the start of their transmission in ns.
    in_flight: VecDeque<(u64, i64)>,
}

impl QueueTracker {
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub fn enqueue(&mut self, id: u64) {
        self.waiting.push_back(id);
    }

    /// Moves a packet from the queue to the link. It may have been queued before the trace started.
    #[inline]
    pub fn dequeue(&mut self, id: u64, now_ns: i64) {
        if self.waiting.front() == Some(&id) {
            self.waiting.pop_front();
        } else if let Some(at) = self.waiting.iter().position(|&waiting| waiting == id) {
            // The discipline is not first come, first served.
            self.waiting.remove(at);
        }
        if self.in_flight.len() == MAX_IN_FLIGHT {
            self.in_flight.pop_front();
        }
        self.in_flight.push_back((id, now_ns));
    }

    /// Removes a packet that reached the link's end. Returns the start of its transmission.
    #[inline]
    pub fn receive(&mut self, id: u64) -> Option<i64> {
        if self.in_flight.front().is_some_and(|first| first.0 == id) {
            return self.in_flight.pop_front().map(|(_, began_ns)| began_ns);
        }
        let at = self.in_flight.iter().position(|packet| packet.0 == id)?;
        self.in_flight.remove(at).map(|(_, began_ns)| began_ns)
    }

    /// Removes a dropped packet. An unknown packet was dropped by the queue.
    pub fn drop(&mut self, id: u64) -> DropLocation {
        if let Some(at) = self.waiting.iter().rposition(|&waiting| waiting == id) {
            self.waiting.remove(at);
        } else if let Some(at) = self.in_flight.iter().rposition(|packet| packet.0 == id) {
            self.in_flight.remove(at);
            return DropLocation::OnLink;
        }
        DropLocation::InQueue
    }
}
