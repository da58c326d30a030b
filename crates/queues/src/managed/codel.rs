//! CoDel: packets that have waited too long for too long are dropped as they leave (RFC 8289).

use super::Waiting;

/// Controlled delay: when no packet has waited for less than a target during an interval, packets are
/// dropped at the head of the queue, the later the more often, until one has.
///
/// By the pseudo-code of RFC 8289, section 5, which is that of Linux but for the root of the number of drops:
/// Linux approximates it by one step of Newton's for each drop, so that the second drop comes after half an
/// interval instead of 0.71, and among a few transfers up to a fifth more are dropped. No packet is dropped that leaves no
/// more bytes behind it than the largest packet so far has: that one stands for the MTU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDel {
    /// A wait that is acceptable at any time, in ns (RFC 8289, section 4).
    pub target_ns: u64,
    /// For so long waits may stay above the target, in ns: about the largest round-trip time (RFC 8289,
    /// section 4).
    pub interval_ns: u64,
    /// Whether packets that can be marked are, instead of being dropped; as in Linux, one at a time.
    pub ecn: bool,
    /// Every packet that can be marked is if it has waited for longer than so many ns, whatever
    /// [`CoDel::ecn`] says (RFC 8290, section 5.2, `CE_THRESHOLD`).
    pub ce_threshold_ns: Option<u64>,
}

impl Default for CoDel {
    /// 5 ms and 100 ms (RFC 8289, section 4); nothing is marked.
    fn default() -> CoDel {
        CoDel {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

impl CoDel {
    /// When the next packet is dropped if one was at a time, and so many have been. The square root is
    /// that of an `f64`, which is the same everywhere.
    fn next_drop(&self, since_ns: u64, count: u32) -> u64 {
        let wait = self.interval_ns as f64 / f64::from(count.max(1)).sqrt();
        since_ns.saturating_add(wait as u64)
    }
}

/// Intervals after a drop in which its rate is where dropping begins again.
const REMEMBERED: u64 = 16;

/// What CoDel remembers of one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// When waits will have been above the target for an interval, if they are.
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    /// Drops since dropping began.
    pub count: u32,
    /// What it was when dropping began.
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// The next packet to send. `pop` takes the first out of the queue and says what is left of it;
    /// `largest` is the largest packet that it has taken.
    pub fn next<P>(
        &mut self,
        rules: &CoDel,
        now_ns: u64,
        largest: &mut u32,
        mut pop: impl FnMut() -> Option<(Waiting<P>, u64)>,
        dropped: &mut Vec<P>,
    ) -> Option<Waiting<P>> {
        let mut take = |first_above_ns: &mut Option<u64>| {
            let Some((packet, left_bytes)) = pop() else {
                *first_above_ns = None;
                return (None, false);
            };
            *largest = packet.bytes.max(*largest);
            let waited_ns = now_ns.saturating_sub(packet.arrived_ns);
            let low = waited_ns < rules.target_ns || left_bytes <= u64::from(*largest);
            let late = !low && first_above_ns.is_some_and(|at| now_ns >= at);
            match low {
                true => *first_above_ns = None,
                false => {
                    first_above_ns.get_or_insert(now_ns.saturating_add(rules.interval_ns));
                }
            }
            (Some(packet), late)
        };
        let (mut first, mut late) = take(&mut self.first_above_ns);
        if self.dropping {
            self.dropping = late;
            while self.dropping && now_ns >= self.drop_next_ns {
                self.count = self.count.wrapping_add(1);
                if mark(&mut first, rules) {
                    self.drop_next_ns = rules.next_drop(self.drop_next_ns, self.count);
                    break;
                }
                dropped.extend(first.map(|it| it.packet));
                (first, late) = take(&mut self.first_above_ns);
                match late {
                    true => self.drop_next_ns = rules.next_drop(self.drop_next_ns, self.count),
                    false => self.dropping = false,
                }
            }
        } else if late {
            if !mark(&mut first, rules) {
                dropped.extend(first.map(|it| it.packet));
                (first, _) = take(&mut self.first_above_ns);
            }
            self.dropping = true;
            let last = self.count.wrapping_sub(self.last_count);
            let until_ns = REMEMBERED
                .saturating_mul(rules.interval_ns)
                .saturating_add(self.drop_next_ns);
            self.count = if last > 1 && now_ns < until_ns {
                last
            } else {
                1
            };
            self.last_count = self.count;
            self.drop_next_ns = rules.next_drop(now_ns, self.count);
        }
        if let (Some(packet), Some(most_ns)) = (&mut first, rules.ce_threshold_ns)
            && now_ns.saturating_sub(packet.arrived_ns) > most_ns
        {
            packet.marked |= packet.ecn;
        }
        first
    }
}

/// Marks a packet instead of dropping it, if it can be.
fn mark<P>(packet: &mut Option<Waiting<P>>, rules: &CoDel) -> bool {
    match packet {
        Some(packet) if rules.ecn && packet.ecn => {
            packet.marked = true;
            true
        }
        _ => false,
    }
}
