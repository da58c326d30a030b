//! FQ-CoDel: flow queueing by deficit round robin, with CoDel for each queue (RFC 8290).

use std::collections::VecDeque;

use super::codel::{CoDel, Control};
use netflow_units::scramble;

use super::{Line, Waiting};
use crate::Buffer;

/// Queues served by deficit round robin, new ones first, each with CoDel (RFC 8290). A hash assigns flows to
/// queues, so that flows can share a queue.
///
/// As in Linux, CoDel does not drop while at most one maximum packet is left **in all queues**. A full buffer
/// drops from the head of the queue with the most bytes until half of these are gone. It drops at most 64
/// packets at once (RFC 8290, section 4.1). These drops count for CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDel {
    /// CoDel settings of each queue.
    pub codel: CoDel,
    /// Number of queues, at least 1 (RFC 8290, section 5.2).
    pub flows: u32,
    /// Quantum in bytes that a queue may send per round, at least 1 (RFC 8290, section 5.2).
    pub quantum_bytes: u32,
}

impl Default for FqCoDel {
    /// 1024 queues, a quantum of 1514 B, and CoDel with marking (RFC 8290, section 5.2).
    fn default() -> FqCoDel {
        FqCoDel {
            codel: CoDel {
                ecn: true,
                ..CoDel::default()
            },
            flows: 1024,
            quantum_bytes: 1514,
        }
    }
}

/// Maximum number of packets that a full buffer drops at once.
const BATCH: usize = 64;

/// Index of a hash bucket without packets so far.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Queue<P> {
    line: Line<P>,
    control: Control,
    deficit: i64,
    /// True if the queue is in the list of new or old queues.
    listed: bool,
}

/// State of FQ-CoDel: all queues and the two lists.
#[derive(Clone, Debug)]
pub(super) struct Flows<P> {
    rules: FqCoDel,
    perturbation: u64,
    /// Queue index of each hash bucket; allocated with the first packet.
    places: Vec<u32>,
    queues: Vec<Queue<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    largest: u32,
    pub len: usize,
    pub bytes: u64,
}

impl<P> Flows<P> {
    pub fn new(rules: FqCoDel, perturbation: u64) -> Flows<P> {
        Flows {
            rules,
            perturbation,
            places: Vec::new(),
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            largest: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// Returns the queue index of a flow.
    pub fn place(&mut self, flow: u64) -> u32 {
        if self.places.is_empty() {
            self.places = vec![NONE; self.rules.flows.max(1) as usize];
        }
        let hash = u128::from(scramble(flow ^ self.perturbation));
        let place = &mut self.places[((hash * u128::from(self.rules.flows.max(1))) >> 64) as usize];
        if *place == NONE {
            *place = self.queues.len() as u32;
            self.queues.push(Queue {
                line: Line::default(),
                control: Control::default(),
                deficit: 0,
                listed: false,
            });
        }
        *place
    }

    pub fn enqueue(&mut self, packet: Waiting<P>, flow: u64, room: Buffer, dropped: &mut Vec<P>) {
        let place = self.place(flow);
        let queue = &mut self.queues[place as usize];
        self.len += 1;
        self.bytes += u64::from(packet.bytes);
        queue.line.push(packet);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = i64::from(self.rules.quantum_bytes.max(1));
            self.new.push_back(place);
        }
        // A buffer in packets needs at most one iteration.
        while !room.holds(self.len, self.bytes) {
            self.drop_batch(dropped);
        }
    }

    /// Drops half of the bytes of the queue with the most bytes.
    #[cold]
    fn drop_batch(&mut self, dropped: &mut Vec<P>) {
        let held = |place: u32| {
            let line = &self.queues[place as usize].line;
            (line.bytes, line.len())
        };
        let listed = self.new.iter().chain(&self.old).copied();
        let Some(fattest) = listed.reduce(|a, b| if held(b) > held(a) { b } else { a }) else {
            return;
        };
        let queue = &mut self.queues[fattest as usize];
        let (before, half) = (queue.line.bytes, queue.line.bytes / 2);
        let mut n = 0;
        while let Some(packet) = queue.line.pop() {
            dropped.push(packet.packet);
            n += 1;
            if n == BATCH || before - queue.line.bytes >= half {
                break;
            }
        }
        queue.control.count = queue.control.count.wrapping_add(n as u32);
        self.bytes -= before - queue.line.bytes;
        self.len -= n;
    }

    /// Returns the next packet to send (RFC 8290, section 4.2).
    pub fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<P>) -> Option<Waiting<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place as usize];
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.rules.quantum_bytes.max(1));
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let (line, len, bytes) = (&mut queue.line, &mut self.len, &mut self.bytes);
            let pop = || {
                let packet = line.pop()?;
                *len -= 1;
                *bytes -= u64::from(packet.bytes);
                Some((packet, *bytes))
            };
            let rules = &self.rules.codel;
            let largest = &mut self.largest;
            if let Some(packet) = queue.control.next(rules, now_ns, largest, pop, dropped) {
                queue.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            // An emptied new queue moves to the old list first, so that it cannot return to the new list
            // before the old queues are served.
            queue.listed = is_new;
            if is_new {
                self.old.push_back(place);
            }
        }
    }

    pub fn clear(&mut self, dropped: &mut Vec<P>) {
        for queue in &mut self.queues {
            queue.line.clear(dropped);
        }
        *self = Flows::new(self.rules, self.perturbation);
    }

    /// Returns the drop count of CoDel for each queue.
    #[cfg(test)]
    pub fn counts(&self) -> Vec<u32> {
        self.queues.iter().map(|it| it.control.count).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.queues.iter().flat_map(|queue| queue.line.iter())
    }
}
