//! Hierarchical token bucket (HTB): classes with a guaranteed rate and a ceiling, which borrow from their parents.
//!
//! The rules are those of `sch_htb` of Linux without hysteresis (tc-htb(8)).

use std::cmp::Reverse;

/// Number of priorities: those of Linux, and a lower one for packets without a class.
const PRIORITIES: usize = 9;

/// Priority of packets without a class.
const LOWEST_PRIORITY: usize = PRIORITIES - 1;

/// Tokens per byte. A rate of 1 bit/s adds one token per nanosecond, so nothing is rounded.
const PER_BYTE: i128 = 8 * 1_000_000_000;

/// Time after which a class may send again in any case, in ns.
const MAX_WAIT_NS: i128 = 60_000_000_000;

/// Node of the link, which lends whenever it is free.
const ROOT: usize = 0;

/// Class of HTB. The token buckets start full and count bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// Name of the class.
    pub name: String,
    /// Class that it borrows from; `None` for the link.
    pub parent: Option<usize>,
    /// Guaranteed rate in bit/s, positive.
    pub rate_bps: u64,
    /// Largest rate in bit/s, positive.
    pub ceil_bps: u64,
    /// Size of the token bucket of `rate_bps` in bytes.
    pub burst_bytes: u64,
    /// Size of the token bucket of `ceil_bps` in bytes.
    pub cburst_bytes: u64,
    /// Priority from 0 (first) to 7, for a class with a queue.
    pub prio: u8,
    /// Bytes that it sends in its turn, for a class with a queue.
    pub quantum_bytes: u64,
}

impl HtbClass {
    /// Default size of the token buckets in bytes, as of `tc`.
    pub const BURST_BYTES: u64 = 1600;

    /// Returns the default quantum in bytes of a class with this rate, as of Linux: the bytes of 0.1 s, from 1000 to
    /// 200 000.
    pub fn default_quantum_bytes(rate_bps: u64) -> u64 {
        (rate_bps / 80).clamp(1000, 200_000)
    }
}

/// Classes of a link. A class has a queue or child classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtbTree {
    /// Classes, parents before their children.
    pub classes: Vec<HtbClass>,
    /// Class of each queue. The queue of packets without a class has none; it is the last one.
    pub class_of_queue: Vec<usize>,
}

impl HtbTree {
    /// Returns the class of a queue and its ancestors, from the class upwards; none for packets without a class.
    pub fn path(&self, queue: usize) -> impl Iterator<Item = usize> + '_ {
        let class = self.class_of_queue.get(queue).copied();
        std::iter::successors(class, |&class| self.classes[class].parent)
    }

    /// Returns the first class that has no rate, a parent that does not precede it, or a wrong number of queues.
    pub fn first_invalid(&self) -> Option<usize> {
        let is_invalid = |c: &usize| {
            let class = &self.classes[*c];
            let is_parent = self.classes.iter().any(|other| other.parent == Some(*c));
            let queues = self.class_of_queue.iter().filter(|of| *of == c).count();
            class.parent.is_some_and(|parent| parent >= *c)
                || queues != usize::from(!is_parent)
                || class.rate_bps.min(class.ceil_bps) == 0
                || usize::from(class.prio) >= LOWEST_PRIORITY
        };
        let classes = 0..self.classes.len();
        let unknown = self.class_of_queue.iter().find(|c| !classes.contains(c));
        unknown.copied().or(classes.clone().find(is_invalid))
    }
}

/// Scheduler of the queues of a link.
///
/// A class below its `rate` sends on its own tokens. Above it, the class borrows from the nearest ancestor with
/// tokens, if it and the classes in between are below their ceilings. Classes with own tokens precede borrowers, and
/// the deepest lenders precede others. The lowest priority number is next, then deficit round robin by quantum.
#[derive(Clone, Debug)]
pub struct Htb {
    /// The link, its classes, and the class of packets without one.
    nodes: Vec<Node>,
    /// Node of each queue.
    leaves: Vec<usize>,
    /// Nodes with waiting packets, in order.
    backlogged: Vec<usize>,
    /// Node whose turn it is among classes with own tokens, by priority.
    next_own: [usize; PRIORITIES],
    /// Node whose turn it is among lenders, by depth and priority.
    next_lender: Vec<[usize; PRIORITIES]>,
    /// Chosen class and its lender.
    chosen: Option<(usize, usize)>,
    /// Scratch memory: classes that may be chosen, with their lenders.
    candidates: Vec<(usize, usize)>,
    ready_ns: u64,
}

#[derive(Clone, Debug)]
struct Node {
    parent: usize,
    /// Number of ancestors.
    depth: usize,
    /// Position among the children of its parent.
    position: usize,
    children: Vec<usize>,
    /// Queue of the class, if it has no children.
    queue: Option<usize>,
    rate: Tokens,
    ceil: Tokens,
    priority: usize,
    quantum_bytes: i64,
    /// Bytes left in its turn, by depth of the lender, which is the class itself for own tokens.
    deficits: Vec<i64>,
    /// Position of the child whose turn it is, by depth of the lender and by priority.
    next_child: Vec<[usize; PRIORITIES]>,
    /// True if a class below it, or it itself, may be chosen.
    is_candidate: bool,
}

/// Token bucket that may go below zero.
#[derive(Clone, Debug)]
struct Tokens {
    rate_bps: u64,
    limit: i128,
    tokens: i128,
    at_ns: u64,
    /// Time in ns from which the tokens are at least zero.
    ready_ns: u64,
}

impl Tokens {
    fn new(rate_bps: u64, burst_bytes: u64) -> Tokens {
        let limit = i128::from(burst_bytes) * PER_BYTE;
        Tokens {
            rate_bps,
            limit,
            tokens: limit,
            at_ns: 0,
            ready_ns: if rate_bps == 0 { u64::MAX } else { 0 },
        }
    }

    fn take(&mut self, now_ns: u64, bytes: u32) {
        let rate = i128::from(self.rate_bps);
        let filled = self.tokens + rate * i128::from(now_ns.saturating_sub(self.at_ns));
        let left = filled.min(self.limit) - i128::from(bytes) * PER_BYTE;
        (self.tokens, self.at_ns) = (left.max(-rate * MAX_WAIT_NS), now_ns);
        self.ready_ns = match u128::try_from(-self.tokens) {
            Err(_) | Ok(0) => now_ns,
            Ok(missing) => {
                let wait_ns = missing.div_ceil(u128::from(self.rate_bps.max(1)));
                now_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX))
            }
        };
    }
}

impl Node {
    fn new(parent: usize, class: &HtbClass) -> Node {
        Node {
            parent,
            depth: 0,
            position: 0,
            children: Vec::new(),
            queue: None,
            rate: Tokens::new(class.rate_bps, class.burst_bytes),
            ceil: Tokens::new(class.ceil_bps, class.cburst_bytes),
            priority: usize::from(class.prio),
            quantum_bytes: i64::try_from(class.quantum_bytes).unwrap_or(i64::MAX),
            deficits: Vec::new(),
            next_child: Vec::new(),
            is_candidate: false,
        }
    }
}

impl Htb {
    /// Returns a scheduler with full token buckets for these classes and the queue of packets without a class.
    ///
    /// # Panics
    /// If a class [is invalid](HtbTree::first_invalid).
    pub fn new(tree: &HtbTree) -> Htb {
        assert_eq!(tree.first_invalid(), None, "invalid class");
        // Packets without a class only borrow from the link, without a ceiling.
        let unclassified = HtbClass {
            name: String::new(),
            parent: None,
            rate_bps: 0,
            ceil_bps: u64::MAX / 16,
            burst_bytes: 0,
            cburst_bytes: u64::from(u32::MAX),
            prio: LOWEST_PRIORITY as u8,
            quantum_bytes: HtbClass::BURST_BYTES,
        };
        let link = Node {
            next_child: vec![[0; PRIORITIES]],
            ..Node::new(ROOT, &unclassified)
        };
        let mut nodes = vec![link];
        for class in tree.classes.iter().chain([&unclassified]) {
            let parent = class.parent.map_or(ROOT, |parent| parent + 1);
            let depth = nodes[parent].depth + 1;
            let position = nodes[parent].children.len();
            let number = nodes.len();
            nodes[parent].children.push(number);
            nodes.push(Node {
                depth,
                position,
                deficits: vec![0; depth + 1],
                next_child: vec![[0; PRIORITIES]; depth + 1],
                ..Node::new(parent, class)
            });
        }
        let leaves = tree.class_of_queue.iter().map(|class| class + 1);
        let leaves: Vec<usize> = leaves.chain([nodes.len() - 1]).collect();
        for (queue, &leaf) in leaves.iter().enumerate() {
            nodes[leaf].queue = Some(queue);
        }
        let depths = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        Htb {
            leaves,
            next_lender: vec![[0; PRIORITIES]; depths + 1],
            nodes,
            backlogged: Vec::new(),
            next_own: [0; PRIORITIES],
            chosen: None,
            candidates: Vec::new(),
            ready_ns: u64::MAX,
        }
    }

    /// Returns the earliest time in ns at which a backlogged queue may send, if no more packets arrive.
    pub fn ready_ns(&self) -> u64 {
        self.ready_ns
    }

    /// Records whether packets wait in a queue.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn set_backlogged(&mut self, now_ns: u64, queue: usize, is_backlogged: bool) {
        let leaf = self.leaves[queue];
        match self.backlogged.binary_search(&leaf) {
            Err(at) if is_backlogged => {
                self.backlogged.insert(at, leaf);
                self.ready_ns = self.ready_ns.min(self.eligible_ns(leaf).max(now_ns));
            }
            Ok(at) if !is_backlogged => {
                self.backlogged.remove(at);
                self.update_ready();
            }
            _ => {}
        }
    }

    /// Returns the queue that sends next, or `None` if none may send now.
    pub fn choose(&mut self, now_ns: u64) -> Option<usize> {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut best = None;
        for &leaf in &self.backlogged {
            let Some(lender) = self.lender(leaf, now_ns) else {
                continue;
            };
            let (is_own, priority) = (lender == leaf, self.nodes[leaf].priority);
            let depth = if is_own { 0 } else { self.nodes[lender].depth };
            let rank = Some((is_own, depth, Reverse(priority)));
            if rank > best {
                candidates.clear();
                best = rank;
            }
            if rank == best {
                candidates.push((leaf, lender));
            }
        }
        self.chosen = best.map(|(is_own, depth, Reverse(priority))| {
            if is_own {
                let leaves = candidates.iter().map(|&(leaf, _)| leaf);
                let leaf = next_in_turn(leaves, &mut self.next_own[priority]);
                (leaf, leaf)
            } else {
                self.choose_borrower(&candidates, depth, priority)
            }
        });
        self.candidates = candidates;
        let (leaf, _) = self.chosen?;
        self.nodes[leaf].queue
    }

    /// Returns the borrower whose turn it is, and its lender, which has this depth.
    fn choose_borrower(
        &mut self,
        candidates: &[(usize, usize)],
        depth: usize,
        priority: usize,
    ) -> (usize, usize) {
        self.mark_candidates(candidates, true);
        let chosen = 'lenders: loop {
            let from = self.next_lender[depth][priority];
            let lenders = candidates.iter().map(|&(_, lender)| lender);
            let after = lenders.clone().filter(|&lender| lender >= from).min();
            let Some(lender) = after.or(lenders.min()) else {
                break (ROOT, ROOT);
            };
            self.next_lender[depth][priority] = lender;
            let mut node = lender;
            while self.nodes[node].queue.is_none() {
                let from = self.nodes[node].next_child[depth][priority];
                let mut rest = self.nodes[node].children.iter().skip(from);
                let Some(more) = rest.position(|&child| self.nodes[child].is_candidate) else {
                    // All of its children have had their turns.
                    self.nodes[node].next_child[depth][priority] = 0;
                    self.end_turn(node, lender, priority);
                    continue 'lenders;
                };
                self.nodes[node].next_child[depth][priority] = from + more;
                node = self.nodes[node].children[from + more];
            }
            break (node, lender);
        };
        self.mark_candidates(candidates, false);
        chosen
    }

    fn mark_candidates(&mut self, candidates: &[(usize, usize)], is_candidate: bool) {
        for &(leaf, lender) in candidates {
            let mut node = leaf;
            while node != lender {
                self.nodes[node].is_candidate = is_candidate;
                node = self.nodes[node].parent;
            }
        }
    }

    /// Gives the turn to the node after this one, which borrows from `lender` or is it.
    fn end_turn(&mut self, node: usize, lender: usize, priority: usize) {
        let it = &self.nodes[node];
        if node != lender {
            let (parent, next) = (it.parent, it.position + 1);
            let depth = self.nodes[lender].depth;
            self.nodes[parent].next_child[depth][priority] = next;
        } else if it.queue.is_some() {
            self.next_own[priority] = node + 1;
        } else {
            self.next_lender[it.depth][priority] = node + 1;
        }
    }

    /// Records the packet that the chosen queue sends; `None` if the queue has dropped all of its packets.
    pub fn record_sent(&mut self, now_ns: u64, bytes: Option<u32>) {
        if let (Some((leaf, lender)), Some(bytes)) = (self.chosen.take(), bytes) {
            let depth = self.nodes[lender].depth;
            let Node {
                deficits,
                quantum_bytes,
                priority,
                ..
            } = &mut self.nodes[leaf];
            let (deficit, priority) = (&mut deficits[depth], *priority);
            *deficit -= i64::from(bytes);
            if *deficit < 0 {
                *deficit += *quantum_bytes;
                self.end_turn(leaf, lender, priority);
            }
            self.charge(now_ns, leaf, lender, bytes);
        }
        self.update_ready();
    }

    /// Takes tokens for a packet: those of the ceilings from the class upwards, those of the rates from its lender.
    fn charge(&mut self, now_ns: u64, leaf: usize, lender: usize, bytes: u32) {
        let (mut node, mut is_charged) = (leaf, false);
        while node != ROOT {
            is_charged |= node == lender;
            let it = &mut self.nodes[node];
            if is_charged {
                it.rate.take(now_ns, bytes);
            }
            it.ceil.take(now_ns, bytes);
            node = it.parent;
        }
    }

    /// Returns the node whose tokens let a class send now: the class, an ancestor, or the link.
    fn lender(&self, leaf: usize, now_ns: u64) -> Option<usize> {
        let mut node = leaf;
        while node != ROOT {
            let it = &self.nodes[node];
            if it.ceil.ready_ns > now_ns {
                return None;
            }
            if it.rate.ready_ns <= now_ns {
                return Some(node);
            }
            node = it.parent;
        }
        Some(ROOT)
    }

    /// Returns the time in ns at which a class may send, if no other class does.
    fn eligible_ns(&self, leaf: usize) -> u64 {
        let (mut node, mut below_ceil_ns, mut eligible_ns) = (leaf, 0, u64::MAX);
        while node != ROOT {
            let it = &self.nodes[node];
            below_ceil_ns = it.ceil.ready_ns.max(below_ceil_ns);
            eligible_ns = it.rate.ready_ns.max(below_ceil_ns).min(eligible_ns);
            node = it.parent;
        }
        eligible_ns.min(below_ceil_ns)
    }

    fn update_ready(&mut self) {
        let each = self.backlogged.iter().map(|&leaf| self.eligible_ns(leaf));
        self.ready_ns = each.min().unwrap_or(u64::MAX);
    }
}

/// Returns the first node from `turn` on, or else the first of all, which then has the turn. Nodes are sorted.
fn next_in_turn(nodes: impl Iterator<Item = usize> + Clone, turn: &mut usize) -> usize {
    let after = nodes.clone().find(|node| *node >= *turn);
    *turn = after.or_else(|| nodes.min()).unwrap_or(ROOT);
    *turn
}

#[cfg(test)]
mod tests {
    use netflow_units::SplitMix64;

    use super::*;

    const PACKET_BYTES: u32 = 1000;

    fn class(parent: Option<usize>, rate_bps: u64, ceil_bps: u64) -> HtbClass {
        HtbClass {
            name: String::new(),
            parent,
            rate_bps,
            ceil_bps,
            burst_bytes: 20_000,
            cburst_bytes: 20_000,
            prio: 0,
            quantum_bytes: 3000,
        }
    }

    /// Returns a tree in which each class without children has a queue.
    fn tree(classes: Vec<HtbClass>) -> HtbTree {
        let is_parent = |c: &usize| classes.iter().any(|class| class.parent == Some(*c));
        let class_of_queue = (0..classes.len()).filter(|c| !is_parent(c)).collect();
        HtbTree {
            classes,
            class_of_queue,
        }
    }

    /// Packet that a link sends: start in ns and queue.
    type Sent = (u64, usize);

    /// Sends packets of 1000 B over a link until `end_ns`. Each queue has a rate of arrivals in bit/s; an infinite one
    /// is always backlogged.
    fn send(tree: &HtbTree, link_bps: f64, arrivals_bps: &[f64], end_ns: u64) -> Vec<Sent> {
        let mut htb = Htb::new(tree);
        let bits = f64::from(8 * PACKET_BYTES);
        let gaps_ns: Vec<f64> = arrivals_bps.iter().map(|bps| bits / bps * 1e9).collect();
        let arrives_ns = |queue: usize, n: usize| (gaps_ns[queue] * n as f64) as u64;
        let (mut arrived, mut waiting) = (vec![0; gaps_ns.len()], vec![0; gaps_ns.len()]);
        let (mut sent, mut free_ns) = (Vec::new(), 0);
        loop {
            let next = (0..gaps_ns.len())
                .filter(|&q| arrivals_bps[q].is_finite() && gaps_ns[q].is_finite());
            let next = next.min_by_key(|&q| arrives_ns(q, arrived[q]));
            let next_ns = next.map_or(u64::MAX, |q| arrives_ns(q, arrived[q]));
            let due_ns = htb.ready_ns().max(free_ns);
            if sent.is_empty() && arrived.iter().all(|&n| n == 0) {
                for q in (0..gaps_ns.len()).filter(|&q| arrivals_bps[q] == f64::INFINITY) {
                    waiting[q] = usize::MAX;
                    htb.set_backlogged(0, q, true);
                    arrived[q] = 1;
                }
                if arrived.contains(&1) {
                    continue;
                }
            }
            if due_ns.min(next_ns) >= end_ns {
                return sent;
            }
            if let Some(q) = next.filter(|_| next_ns <= due_ns) {
                arrived[q] += 1;
                waiting[q] += 1;
                htb.set_backlogged(next_ns, q, true);
                continue;
            }
            let q = htb.choose(due_ns).expect("a queue is ready");
            waiting[q] -= 1;
            htb.record_sent(due_ns, Some(PACKET_BYTES));
            htb.set_backlogged(due_ns, q, waiting[q] > 0);
            sent.push((due_ns, q));
            free_ns = due_ns + (bits / link_bps * 1e9) as u64;
        }
    }

    /// Returns the rate of each queue in Mbit/s.
    fn rates_mbps(tree: &HtbTree, link_mbps: f64, arrivals_mbps: &[f64], end_s: f64) -> Vec<f64> {
        let arrivals_bps: Vec<f64> = arrivals_mbps.iter().map(|mbps| mbps * 1e6).collect();
        let mut bits = vec![0.0; arrivals_bps.len()];
        for (_, queue) in send(tree, link_mbps * 1e6, &arrivals_bps, (end_s * 1e9) as u64) {
            bits[queue] += f64::from(8 * PACKET_BYTES);
        }
        bits.iter().map(|bits| bits / end_s / 1e6).collect()
    }

    const ALWAYS: f64 = f64::INFINITY;

    #[track_caller]
    fn near(found: &[f64], expected: &[f64]) {
        let each = found.iter().zip(expected);
        let is_near = each.clone().all(|(a, b)| (a - b).abs() <= 0.01 * b + 0.01);
        assert!(is_near, "{found:?} {expected:?}");
    }

    fn mbps(parent: Option<usize>, rate: f64, ceil: f64) -> HtbClass {
        class(parent, (rate * 1e6) as u64, (ceil * 1e6) as u64)
    }

    #[test]
    fn guaranteed_rates_hold_under_overload() {
        let mut first = mbps(None, 6.0, 10.0);
        first.prio = 5;
        let all = tree(vec![first, mbps(None, 3.0, 10.0), mbps(None, 1.0, 10.0)]);
        near(
            &rates_mbps(&all, 10.0, &[ALWAYS, ALWAYS, ALWAYS, ALWAYS], 20.0),
            &[6.0, 3.0, 1.0, 0.0],
        );
    }

    /// A class at its ceiling sends its first bucket at once, and then one packet each 8 ms, to the nanosecond.
    #[test]
    fn ceiling_is_exact() {
        let all = tree(vec![mbps(None, 0.5, 1.0)]);
        let sent = send(&all, 1e9, &[2e6, 0.0], 10_000_000_000);
        let starts_ns: Vec<u64> = sent.iter().map(|it| it.0).collect();
        // The class sends at its arrivals until the bucket is below zero: 20 kB + (n - 1) 500 B < n 1000 B.
        assert_eq!(starts_ns[40], 40 * 4_000_000);
        let gaps_ns = starts_ns[42..].windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(
            gaps_ns
                .collect::<std::collections::BTreeSet<u64>>()
                .into_iter()
                .collect::<Vec<_>>(),
            [8_000_000]
        );
        let bytes = sent.len() as f64 * f64::from(PACKET_BYTES);
        assert!((bytes - 20e3 - 1e6 / 8.0 * 10.0).abs() <= 1000.0, "{bytes}");
    }

    #[test]
    fn borrowers_send_by_priority_then_by_quantum() {
        let mut classes = vec![
            mbps(None, 1.0, 20.0),
            mbps(None, 1.0, 20.0),
            mbps(None, 1.0, 20.0),
        ];
        (classes[0].quantum_bytes, classes[1].quantum_bytes) = (6000, 3000);
        classes[2].prio = 1;
        let all = tree(classes);
        // 3 Mbit/s are guaranteed, and 9 Mbit/s are borrowed 2 : 1.
        near(
            &rates_mbps(&all, 12.0, &[ALWAYS, ALWAYS, ALWAYS, ALWAYS], 20.0),
            &[7.0, 4.0, 1.0, 0.0],
        );
        // Two classes do not need their guarantees; the others get the rest in the order of priority.
        near(
            &rates_mbps(&all, 12.0, &[0.4, 3.0, ALWAYS, 4.0], 20.0),
            &[0.4, 3.0, 8.6, 0.0],
        );
        near(
            &rates_mbps(&all, 12.0, &[0.4, 3.0, 2.0, 9.0], 20.0),
            &[0.4, 3.0, 2.0, 6.6],
        );
    }

    /// A customer lends to its own classes first, and keeps its ceiling.
    #[test]
    fn customers_are_isolated() {
        let all = tree(vec![
            mbps(None, 4.0, 5.0),
            mbps(None, 4.0, 20.0),
            mbps(Some(0), 1.0, 5.0),
            mbps(Some(0), 1.0, 5.0),
            mbps(Some(1), 1.0, 20.0),
            mbps(Some(1), 1.0, 2.0),
        ]);
        near(
            &rates_mbps(&all, 10.0, &[ALWAYS, ALWAYS, ALWAYS, ALWAYS, 0.0], 20.0),
            &[2.5, 2.5, 3.0, 2.0, 0.0],
        );
        near(
            &rates_mbps(&all, 10.0, &[0.5, ALWAYS, ALWAYS, 0.0, 0.0], 20.0),
            &[0.5, 4.5, 5.0, 0.0, 0.0],
        );
    }

    /// Returns a tree in which the rates of the children of a class do not exceed its rate.
    ///
    /// Its long-run rates do not depend on which lender of a limited class is first. The classes of the link have any
    /// ceilings. If `has_fixed_customers`, these are equal to the rates and there is one more level, with any ceilings.
    fn random_tree(random: &mut SplitMix64, link_bps: u64, has_fixed_customers: bool) -> HtbTree {
        let mut classes: Vec<HtbClass> = Vec::new();
        let mut left_bps = vec![link_bps * 9 / 10];
        let customers = 2 + random.bits() % 3;
        for n in 0..customers + random.bits() % 8 {
            let parent = match (n < customers, has_fixed_customers) {
                (true, _) => 0,
                (false, true) => 1 + random.bits() % customers,
                (false, false) => random.bits() % (n + 1),
            } as usize;
            let rate_bps = left_bps[parent] / (2 + random.bits() % 3);
            left_bps[parent] -= rate_bps;
            left_bps.push(rate_bps);
            let ceil_bps = match (parent, has_fixed_customers) {
                (0, true) => rate_bps,
                (0, false) | (_, true) => rate_bps + link_bps * (random.bits() % 5) / 8,
                (_, false) => link_bps,
            };
            classes.push(HtbClass {
                name: String::new(),
                parent: parent.checked_sub(1),
                rate_bps,
                ceil_bps,
                burst_bytes: 20_000,
                cburst_bytes: 20_000,
                prio: (random.bits() % 3) as u8,
                quantum_bytes: 1500 * (1 + random.bits() % 4),
            });
        }
        tree(classes)
    }

    /// Computes long-run rates by water filling: each class gets its own rate; then each lender, from the deepest to
    /// the link, divides what its children leave, by priority and in proportion to quanta, up to the ceilings.
    fn water_filling(tree: &HtbTree, link_bps: f64, demands_bps: &[f64]) -> Vec<f64> {
        let classes = &tree.classes;
        let path = |mut c: usize| {
            let mut all = vec![c];
            while let Some(parent) = classes[c].parent {
                all.push(parent);
                c = parent;
            }
            all
        };
        let paths: Vec<Vec<usize>> = tree.class_of_queue.iter().map(|&c| path(c)).collect();
        let mut ceil: Vec<f64> = classes.iter().map(|class| class.ceil_bps as f64).collect();
        let mut rate: Vec<f64> = classes.iter().map(|class| class.rate_bps as f64).collect();
        let mut given = vec![0.0; demands_bps.len()];
        for (queue, path) in paths.iter().enumerate() {
            given[queue] = rate[path[0]].min(demands_bps[queue]);
            for &c in path {
                rate[c] -= given[queue];
                ceil[c] -= given[queue];
            }
        }
        let mut lenders: Vec<usize> = (0..classes.len())
            .filter(|c| !tree.class_of_queue.contains(c))
            .collect();
        lenders.sort_by_key(|&c| Reverse(path(c).len()));
        let lenders = lenders.into_iter().map(Some).chain([None]);
        for lender in lenders {
            let mut left = match lender {
                Some(c) => rate[c],
                None => link_bps - given.iter().sum::<f64>(),
            };
            for prio in 0..8 {
                let of = |q: &usize| {
                    let class = &classes[tree.class_of_queue[*q]];
                    class.prio == prio && lender.is_none_or(|lender| paths[*q].contains(&lender))
                };
                let mut growing: Vec<usize> = (0..paths.len()).filter(of).collect();
                loop {
                    // Classes up to the lender have ceilings.
                    let bounding = |q: usize| {
                        let up_to = lender.and_then(|it| paths[q].iter().position(|&c| c == it));
                        &paths[q][..up_to.map_or(paths[q].len(), |at| at + 1)]
                    };
                    let is_full = |q: usize| {
                        demands_bps[q] - given[q] < 1.0
                            || bounding(q).iter().any(|&c| ceil[c] < 1.0)
                    };
                    growing.retain(|&q| !is_full(q));
                    let weight = |q: usize| classes[tree.class_of_queue[q]].quantum_bytes as f64;
                    let all: f64 = growing.iter().map(|&q| weight(q)).sum();
                    if growing.is_empty() || left < 1.0 {
                        break;
                    }
                    let mut level = left / all;
                    for &q in &growing {
                        level = level.min((demands_bps[q] - given[q]) / weight(q));
                        for &c in bounding(q) {
                            let below = growing.iter().filter(|&&q| bounding(q).contains(&c));
                            level = level.min(ceil[c] / below.map(|&q| weight(q)).sum::<f64>());
                        }
                    }
                    for &q in &growing {
                        let more = level * weight(q);
                        given[q] += more;
                        left -= more;
                        let mut is_charged = false;
                        for &c in &paths[q] {
                            is_charged |= lender == Some(c);
                            ceil[c] -= more;
                            if is_charged {
                                rate[c] -= more;
                            }
                        }
                    }
                }
            }
        }
        given
    }

    /// Long-run rates of 60 random trees are those of hierarchical water filling, within 1 %.
    #[test]
    fn long_run_rates_match_water_filling() {
        let random = &mut SplitMix64::new(3);
        let (link_bps, end_s) = (20_000_000, 50.0);
        let mut borrowing = 0;
        for case in 0..60 {
            let has_fixed_customers = case % 2 == 0;
            let all = random_tree(random, link_bps, has_fixed_customers);
            let demands = all.class_of_queue.iter().map(|_| match random.bits() % 4 {
                0 => 0.0,
                1 if has_fixed_customers => 1e6 * (1 + random.bits() % 40) as f64 / 4.0,
                _ => f64::INFINITY,
            });
            let demands: Vec<f64> = demands.collect();
            let expected = water_filling(&all, link_bps as f64, &demands);
            let arrivals: Vec<f64> = demands.iter().copied().chain([0.0]).collect();
            let mut bits = vec![0.0; arrivals.len()];
            let warm_up_ns = 20_000_000_000;
            for (start_ns, queue) in send(&all, link_bps as f64, &arrivals, (end_s * 1e9) as u64) {
                if start_ns >= warm_up_ns {
                    bits[queue] += f64::from(8 * PACKET_BYTES);
                }
            }
            for (queue, expected) in expected.iter().enumerate() {
                let found = bits[queue] / (end_s - 20.0);
                let own = all.classes[all.class_of_queue[queue]].rate_bps as f64;
                borrowing += usize::from(found > 1.1 * own);
                assert!(
                    (found - expected).abs() <= 0.01 * expected + 2e3,
                    "case {case}, queue {queue}: {found:e} {expected:e}\n{all:?} {demands:?}"
                );
            }
        }
        assert!(borrowing > 60, "{borrowing}");
    }

    /// Each packet of 100 random trees obeys the rules, with tokens that are recomputed from all packets before: its
    /// class may send, no other class precedes it, and none could have sent before.
    #[test]
    fn each_packet_obeys_the_rules() {
        let random = &mut SplitMix64::new(5);
        let link_bps = 20_000_000;
        for case in 0..100 {
            let mut all = random_tree(random, link_bps, case % 2 == 0);
            for class in &mut all.classes {
                class.ceil_bps = class.rate_bps + link_bps * (random.bits() % 4) / 16;
                (class.burst_bytes, class.cburst_bytes) =
                    (random.bits() % 5000, random.bits() % 5000);
            }
            let queues = all.class_of_queue.len();
            let arrivals: Vec<f64> = (0..queues)
                .map(|_| {
                    if random.bits().is_multiple_of(4) {
                        0.0
                    } else {
                        ALWAYS
                    }
                })
                .collect();
            let sent = send(&all, link_bps as f64, &arrivals, 500_000_000);
            let takes_ns = u64::from(8 * PACKET_BYTES) * 1_000_000_000 / link_bps;
            // Tokens of the rate and of the ceiling of each class.
            let full = |bytes: u64| i128::from(bytes) * PER_BYTE;
            let mut tokens: Vec<[i128; 2]> = all
                .classes
                .iter()
                .map(|it| [full(it.burst_bytes), full(it.cburst_bytes)])
                .collect();
            let mut last_ns = 0;
            for (n, &(start_ns, queue)) in sent.iter().enumerate() {
                let at = |tokens: &[[i128; 2]], c: usize, now_ns: u64| {
                    let class = &all.classes[c];
                    let elapsed_ns = i128::from(now_ns - last_ns);
                    let [rate, ceil] = tokens[c];
                    [
                        (rate + i128::from(class.rate_bps) * elapsed_ns)
                            .min(full(class.burst_bytes)),
                        (ceil + i128::from(class.ceil_bps) * elapsed_ns)
                            .min(full(class.cburst_bytes)),
                    ]
                };
                // Number of levels that a class borrows over, and its lender.
                let lender = |tokens: &[[i128; 2]], queue: usize, now_ns: u64| {
                    let mut next = Some(all.class_of_queue[queue]);
                    while let Some(c) = next {
                        let [rate, ceil] = at(tokens, c, now_ns);
                        if ceil < 0 {
                            return None;
                        }
                        if rate >= 0 {
                            return Some(Some(c));
                        }
                        next = all.classes[c].parent;
                    }
                    Some(None)
                };
                let depth = |class: Option<usize>| {
                    std::iter::successors(class, |&c| all.classes[c].parent).count()
                };
                let rank = |queue: usize, lender: Option<usize>| {
                    let class = all.class_of_queue[queue];
                    let is_own = lender == Some(class);
                    (
                        !is_own,
                        if is_own {
                            0
                        } else {
                            queues + 99 - depth(lender)
                        },
                        all.classes[class].prio,
                    )
                };
                let backlogged = (0..queues).filter(|&q| arrivals[q] > 0.0);
                let ranks: Vec<_> = backlogged
                    .clone()
                    .filter_map(|q| Some(rank(q, lender(&tokens, q, start_ns)?)))
                    .collect();
                let chosen = lender(&tokens, queue, start_ns).expect("the class may send");
                assert_eq!(
                    ranks.iter().min(),
                    Some(&rank(queue, chosen)),
                    "case {case}, packet {n}"
                );
                if n > 0 && start_ns > last_ns + takes_ns {
                    let before = backlogged
                        .clone()
                        .find(|&q| lender(&tokens, q, start_ns - 1).is_some());
                    assert_eq!(before, None, "case {case}, packet {n}");
                }
                let mut taken: Vec<[i128; 2]> = (0..all.classes.len())
                    .map(|c| at(&tokens, c, start_ns))
                    .collect();
                let (mut next, mut is_charged) = (Some(all.class_of_queue[queue]), false);
                while let Some(c) = next {
                    is_charged |= chosen == Some(c);
                    taken[c][0] -= if is_charged {
                        full(PACKET_BYTES.into())
                    } else {
                        0
                    };
                    taken[c][1] -= full(PACKET_BYTES.into());
                    next = all.classes[c].parent;
                }
                (tokens, last_ns) = (taken, start_ns);
            }
            assert!(
                arrivals.iter().all(|&it| it == 0.0) || sent.len() > 10,
                "case {case}"
            );
        }
    }
}
