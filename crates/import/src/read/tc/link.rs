//! Link that the qdiscs of an interface describe.

use std::collections::BTreeMap;

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bytes, Seconds};

use super::netem::Netem;
use super::objects::{Id, Object, Parent, Table, Word};
use super::options::{Frame, Keys, inline_table, quoted, refused, size_table};
use super::queues::Queue;
use super::rates::{Bucket, Htb, HtbClass};
use crate::errors::{ImportError, ReadResult};
use crate::topology::LinkSettings;

/// Bytes of the Ethernet header, which Linux counts as part of a packet.
const ETHERNET_BYTES: i64 = 14;

/// Bytes below which the burst of a token bucket is at most one full Ethernet frame.
const TWO_FRAMES_BYTES: f64 = 2.0 * 1514.0;

/// Limit of netem from which it is no limit.
const UNLIMITED_PKTS: u64 = 1_000_000_000;

/// Largest rate of a default class of HTB that only receives what others leave, in bit/s.
const LEFTOVER_BPS: f64 = 1000.0;

/// A link from the host to its peer, and the settings of the opposite direction.
#[derive(Default)]
pub(super) struct DescribedLink {
    pub(super) device: Option<String>,
    /// Bandwidth, if a rate limits the interface.
    pub(super) bandwidth_bps: Option<f64>,
    pub(super) delay_s: f64,
    pub(super) settings: LinkSettings,
    pub(super) back: LinkSettings,
    pub(super) assumptions: Vec<String>,
}

/// Qdiscs from the root to the queue.
#[derive(Default)]
struct Stack<'o> {
    netem: Option<(Netem, &'o Object)>,
    /// True if netem is above the token bucket or queue, so that packets are delayed first.
    netem_is_above: bool,
    bucket: Option<(Bucket, &'o Object)>,
    htb: Option<(Htb, &'o Object)>,
    queue: Option<(Queue, &'o Object)>,
}

impl DescribedLink {
    pub(super) fn of(objects: &[Object]) -> ReadResult<DescribedLink> {
        let mut link = DescribedLink {
            device: device(objects)?,
            ..DescribedLink::default()
        };
        let tree = Tree { objects };
        let root = tree.root(&mut link.assumptions)?;
        let mut stack = Stack::default();
        tree.descend(root, &mut stack)?;
        link.add_overhead(root, &stack)?;
        link.add_rates(&stack)?;
        if let Some((htb, object)) = &stack.htb {
            link.add_classes(&tree, htb, object, &mut stack.netem)?;
        } else if let Some((queue, _)) = &stack.queue {
            link.add_queue(queue);
        } else if let Some((bucket, _)) = &stack.bucket
            && (stack.netem.is_none() || stack.netem_is_above)
        {
            let text = "the queue of tbf is computed from its rounded latency";
            link.assume_if(bucket.has_rounded_limit, text);
            link.set("buffer", quoted(Bytes(bucket.limit_bytes)));
        }
        if let Some((netem, object)) = &stack.netem {
            link.add_netem(netem, object, &stack)?;
        }
        link.add_filters(&tree)?;
        Ok(link)
    }

    fn set(&mut self, key: &'static str, value: String) {
        self.settings.keys.push((key, value));
    }

    fn assume_if(&mut self, holds: bool, text: &str) {
        if holds {
            self.assumptions.push(text.to_owned());
        }
    }

    /// Sets the overhead: the Ethernet header, a size table, the framing of CAKE or netem.
    fn add_overhead(&mut self, root: &Object, stack: &Stack<'_>) -> ReadResult<()> {
        let mut frame = size_table(root)?;
        frame.bytes += ETHERNET_BYTES;
        if let Some(of_cake) = stack.queue.as_ref().and_then(|(queue, _)| queue.overhead) {
            frame = of_cake;
        } else if root.size_table.is_empty() {
            let text = "Linux counts 14 B of Ethernet header in each packet (`overhead`)";
            self.assumptions.push(text.to_owned());
        }
        if let Some((netem, object)) = &stack.netem {
            frame.bytes += netem.packet_overhead;
            match (netem.cell_bytes, netem.cell_overhead) {
                (0, _) => {}
                (48, 5) => frame.cells = Some("atm"),
                (size, overhead) => {
                    let message = format!("cells of {size} B with an overhead of {overhead} B");
                    let help = "links have ATM cells: cellsize 48 with celloverhead 5";
                    return Err(refused(&name(object), message, help));
                }
            }
        }
        if frame.bytes < 0 {
            let message = format!("the overhead of {} B is negative", frame.bytes);
            let help = "links have an overhead from 0 B on";
            return Err(refused(&name(root), message, help));
        }
        match frame {
            Frame {
                bytes: 0,
                minimum: 0,
                cells: None,
            } => {}
            Frame {
                bytes,
                minimum: 0,
                cells: None,
            } => {
                self.set("overhead", quoted(format_args!("{bytes} B")));
            }
            Frame {
                bytes,
                minimum,
                cells,
            } => {
                let mut keys: Keys = vec![("bytes", quoted(format_args!("{bytes} B")))];
                if minimum > 0 {
                    keys.push(("minimum", quoted(format_args!("{minimum} B"))));
                }
                keys.extend(cells.map(|cells| ("cells", quoted(cells))));
                self.set("overhead", inline_table(&keys));
            }
        }
        Ok(())
    }

    /// Sets bandwidth and shaper.
    fn add_rates(&mut self, stack: &Stack<'_>) -> ReadResult<()> {
        let netem_bps = stack
            .netem
            .as_ref()
            .and_then(|(netem, _)| netem.limiting_bps());
        let Some((bucket, object)) = &stack.bucket else {
            self.bandwidth_bps = netem_bps;
            return Ok(());
        };
        if netem_bps.is_some_and(|bps| bps <= bucket.rate_bps) {
            let message =
                "the rate of netem is not above the rate of tbf, so that there are two queues";
            return Err(refused(&name(object), message, "keep one of the rates"));
        }
        let (rate, burst) = (BitsPerSecond(bucket.rate_bps), Bytes(bucket.burst_bytes));
        match bucket.peak_bps {
            // `tc` rounds a burst to whole microseconds of its rate.
            None if bucket.burst_bytes < TWO_FRAMES_BYTES + bucket.rate_bps / 8e6 => {
                self.bandwidth_bps = Some(bucket.rate_bps);
                self.assumptions.push(format!(
                    "tbf with a burst of {burst}, less than two frames: bandwidth {rate}"
                ));
            }
            peak_bps => {
                self.bandwidth_bps = peak_bps.or(netem_bps);
                self.set("shaper", bucket.keys());
            }
        }
        Ok(())
    }

    fn add_queue(&mut self, queue: &Queue) {
        if let Some(discipline) = &queue.discipline {
            self.set("queue", discipline.clone());
        }
        if let Some(buffer) = &queue.buffer {
            self.set("buffer", buffer.clone());
        }
        self.assumptions.extend(queue.assumptions.iter().cloned());
    }

    /// Sets the delay line and the loss.
    fn add_netem(&mut self, netem: &Netem, object: &Object, stack: &Stack<'_>) -> ReadResult<()> {
        self.delay_s = netem.delay_s;
        let has_queue = stack.bucket.is_some() || stack.htb.is_some() || stack.queue.is_some();
        if has_queue && stack.netem_is_above {
            let differs = netem.jitter_s > 0.0 || netem.loss > 0.0 || netem.gilbert.is_some();
            let text = "netem delays and loses packets before the queue; the link does so after it";
            self.assume_if(differs, text);
        }
        let is_queue = netem.limiting_bps().is_some() && !has_queue
            || stack.bucket.is_some() && !stack.netem_is_above;
        if netem.limiting_bps().is_some() && stack.bucket.is_none() && has_queue {
            let message = "the rate of netem precedes this queue, which therefore stays empty";
            let queue = stack.queue.as_ref().map_or(object, |(_, queue)| queue);
            return Err(refused(
                &name(queue),
                message,
                "limit the rate by tbf instead",
            ));
        }
        if is_queue && netem.limit < UNLIMITED_PKTS {
            let bps = stack.bucket.as_ref().map(|(bucket, _)| bucket.rate_bps);
            let bps = bps.or(netem.limiting_bps()).unwrap_or_default();
            let in_flight = (bps * netem.delay_s / (8.0 * 1514.0)).floor();
            let limit = netem.limit.max(1);
            let waiting = limit as f64 - in_flight;
            if waiting < 1.0 {
                self.assumptions.push(format!(
                    "the limit of netem ({limit} packets) is below the {in_flight} packets of 1514 B that the link \
                     delays at the full rate: `in-flight-limit`, and a buffer of its own for waiting packets"
                ));
                self.set("in-flight-limit", quoted(format_args!("{limit} pkt")));
                self.set("buffer", quoted(format_args!("{limit} pkt")));
            } else {
                let text = format!(
                    "the limit of netem ({limit} packets) includes {in_flight} delayed packets of 1514 B at the full \
                     rate: buffer of {waiting} packets"
                );
                self.assume_if(in_flight > 0.0, &text);
                self.set("buffer", quoted(format_args!("{waiting} pkt")));
            }
        } else if !is_queue && netem.limit < UNLIMITED_PKTS {
            self.set(
                "in-flight-limit",
                quoted(format_args!("{} pkt", netem.limit.max(1))),
            );
        }
        if netem.jitter_s > 0.0 {
            self.add_jitter(netem, object);
        }
        self.add_loss(netem);
        if netem.duplicate > 0.0 {
            self.set("duplication", netem.duplicate.to_string());
        }
        if netem.reorder > 0.0 {
            self.set(
                "reordering",
                inline_table(&vec![
                    ("probability", netem.reorder.to_string()),
                    ("gap", netem.gap.to_string()),
                ]),
            );
        }
        for what in &netem.ignored_correlations {
            self.assumptions.push(format!(
                "the correlation of `{what}` of netem is not represented: packets are chosen independently"
            ));
        }
        if let Some(slots) = &netem.slots {
            self.set("slots", inline_table(slots));
        }
        Ok(())
    }

    fn add_jitter(&mut self, netem: &Netem, object: &Object) {
        let mut keys: Keys = vec![("deviation", quoted(Seconds(netem.jitter_s)))];
        if let Some(distribution) = &netem.distribution {
            keys.push(("distribution", quoted(distribution)));
        } else if !object.is_command {
            let text = "tc does not print the distribution of the jitter: uniform (`distribution`)";
            self.assumptions.push(text.to_owned());
        }
        if netem.jitter_correlation > 0.0 {
            keys.push(("correlation", netem.jitter_correlation.to_string()));
            let text = "with a correlation, the delays of netem vary less than its jitter; those of the link do not";
            self.assumptions.push(text.to_owned());
        }
        // With a rate, netem keeps the order.
        keys.push(("reorders", netem.rate_bps.is_none().to_string()));
        self.set("jitter", inline_table(&keys));
    }

    fn add_loss(&mut self, netem: &Netem) {
        let mut random = netem.loss;
        if netem.corrupt > 0.0 {
            random = 1.0 - (1.0 - random) * (1.0 - netem.corrupt);
            let text = "receivers discard packets that netem corrupts: they are lost";
            self.assumptions.push(text.to_owned());
        }
        match netem.gilbert {
            None if random > 0.0 => self.set("loss", random.to_string()),
            None => {}
            Some(gilbert) => {
                let chain = inline_table(&vec![
                    ("p", gilbert.p.to_string()),
                    ("r", gilbert.r.to_string()),
                    ("good", gilbert.good.to_string()),
                    ("bad", gilbert.bad.to_string()),
                ]);
                let mut keys: Keys = vec![("gilbert", chain)];
                if random > 0.0 {
                    keys.insert(0, ("random", random.to_string()));
                }
                self.set("loss", inline_table(&keys));
            }
        }
    }

    /// Sets the classes of HTB.
    fn add_classes<'o>(
        &mut self,
        tree: &Tree<'o>,
        htb: &Htb,
        root: &Object,
        netem: &mut Option<(Netem, &'o Object)>,
    ) -> ReadResult<()> {
        let mut classes = BTreeMap::new();
        let is_own = |object: &&Object| object.id.major == root.id.major;
        for object in tree.all(Table::Class).filter(is_own) {
            classes.insert(object.id, (HtbClass::read(object)?, object));
        }
        if classes.is_empty() {
            let message = "the classes of htb are missing";
            return Err(
                ImportError::new(ProblemKind::Missing, root.span.clone(), message)
                    .help("add the output of `tc -d class show dev eth0`"),
            );
        }
        let parent_of = |object: &Object| match object.parent {
            Parent::Of(id) if id.minor > 0 => Some(id),
            _ => None,
        };
        for (_, object) in classes.values() {
            if let Some(parent) = parent_of(object)
                && !classes.contains_key(&parent)
            {
                let message = format!("class {} has no parent {parent}", object.id);
                return Err(ImportError::new(
                    ProblemKind::UnknownName,
                    object.span.clone(),
                    message,
                ));
            }
        }
        let has_children = |id: Id| classes.values().any(|(_, it)| parent_of(it) == Some(id));
        let mut tops = classes.values().filter(|(_, it)| parent_of(it).is_none());
        // A single class that contains all others has the rate of the link.
        let link_class = match (tops.next(), tops.next()) {
            (Some((class, object)), None) if has_children(object.id) => Some((*class, object.id)),
            _ => None,
        };
        if let Some((class, id)) = link_class {
            // Without a parent, a class does not exceed its rate.
            self.bandwidth_bps = Some(class.rate_bps);
            self.assumptions.push(format!(
                "class {id} contains all others: bandwidth {}",
                BitsPerSecond(class.rate_bps)
            ));
        }
        self.set("queue", quoted("htb"));
        let default = Id {
            major: root.id.major,
            minor: htb.default,
        };
        let mut of_leaves: Vec<Option<(Netem, &Object)>> = Vec::new();
        let mut has_own_queue = false;
        // Parents before their children.
        let mut order: Vec<Id> = Vec::new();
        let mut next: Vec<Id> = classes
            .values()
            .filter(|(_, it)| parent_of(it).is_none())
            .map(|(_, it)| it.id)
            .collect();
        while let Some(id) = next.pop() {
            order.push(id);
            let children = classes.values().filter(|(_, it)| parent_of(it) == Some(id));
            next.extend(children.map(|(_, it)| it.id));
        }
        if order.len() < classes.len() {
            let message = "classes of htb are their own ancestors";
            return Err(ImportError::new(
                ProblemKind::Conflict,
                root.span.clone(),
                message,
            ));
        }
        order.sort();
        order.sort_by_key(|id| depth(*id, &|id| classes.get(&id).and_then(|it| parent_of(it.1))));
        for id in order {
            let Some((class, object)) = classes.get(&id).copied() else {
                continue;
            };
            if link_class.is_some_and(|(_, link)| link == id) {
                continue;
            }
            let mut keys: Keys = vec![("name", quoted(id))];
            let parent =
                parent_of(object).filter(|it| link_class.is_none_or(|(_, top)| top != *it));
            if let Some(parent) = parent {
                keys.push(("parent", quoted(parent)));
            }
            keys.push(("rate", quoted(BitsPerSecond(class.rate_bps))));
            keys.push(("ceil", quoted(BitsPerSecond(class.ceil_bps))));
            keys.push(("burst", quoted(Bytes(class.burst_bytes))));
            keys.push(("cburst", quoted(Bytes(class.cburst_bytes))));
            if has_children(id) {
                self.settings.classes.push(keys);
                continue;
            }
            let mut stack = Stack::default();
            if let Some(leaf) = tree.leaf(object) {
                tree.descend(leaf, &mut stack)?;
                if stack.bucket.is_some() || stack.htb.is_some() {
                    let message = format!("{} below a class of htb cannot be imported", leaf.kind);
                    return Err(refused(
                        &name(leaf),
                        message,
                        "use the rate and ceil of the class",
                    ));
                }
            }
            let queue = match &stack.queue {
                Some((queue, _)) => Some(queue.clone()),
                None if stack.netem.is_some() => None,
                None => Some(Queue {
                    buffer: Some(quoted("1000 pkt")),
                    assumptions: vec![
                        "classes without a qdisc have drop-tail queues of 1000 packets, the default of `txqueuelen`"
                            .to_owned(),
                    ],
                    ..Queue::default()
                }),
            };
            let is_leftover = id == default
                && class.rate_bps <= LEFTOVER_BPS
                && queue.as_ref().is_some_and(|it| it.discipline.is_none());
            of_leaves.push(stack.netem);
            if is_leftover {
                has_own_queue = true;
                if let Some(queue) = &queue {
                    self.add_queue(queue);
                }
                continue;
            }
            keys.push(("prio", class.prio.to_string()));
            let quantum = class
                .quantum
                .unwrap_or_else(|| ((class.rate_bps / 8.0) as u64 / htb.r2q).clamp(1000, 200_000));
            keys.push(("quantum", quoted(Bytes(quantum as f64))));
            if let Some(queue) = queue {
                keys.extend(queue.discipline.map(|it| ("queue", it)));
                keys.extend(queue.buffer.map(|it| ("buffer", it)));
                self.assumptions.extend(queue.assumptions);
            }
            self.settings.leaves.push(id.to_string());
            self.settings.classes.push(keys);
        }
        self.add_netem_of_leaves(of_leaves, netem)?;
        if !has_own_queue {
            let is_class = classes.contains_key(&default);
            self.assumptions.push(if is_class {
 format!(
                    "packets without a class belong to class {default} in tc: give their connections `class = \"{default}\"`"
                ) } else { "tc sends packets without a class before all others; the link sends them last".to_owned() });
        }
        Ok(())
    }

    /// Uses the netem of the leaves as that of the link, if all leaves have the same.
    fn add_netem_of_leaves<'o>(
        &mut self,
        leaves: Vec<Option<(Netem, &'o Object)>>,
        netem: &mut Option<(Netem, &'o Object)>,
    ) -> ReadResult<()> {
        let Some((first, object)) = leaves.iter().flatten().next() else {
            return Ok(());
        };
        let settings = |it: &Option<(Netem, &Object)>| it.as_ref().map(|(netem, _)| netem.clone());
        let are_equal = leaves.iter().all(|it| settings(it).as_ref() == Some(first));
        if !are_equal || netem.is_some() || first.limiting_bps().is_some() {
            let message =
                "classes with different netem cannot be imported: a delay is that of a whole link";
            let help = "import a file for each class, or describe a link for each";
            return Err(refused(&name(object), message, help));
        }
        let text = "the same netem in all classes is the delay of the link; its limit is the buffer of each class";
        self.assumptions.push(text.to_owned());
        let limit = quoted(format_args!("{} pkt", first.limit.clamp(2, UNLIMITED_PKTS)));
        for class in &mut self.settings.classes {
            let is_leaf = class.iter().any(|(key, _)| *key == "prio");
            if is_leaf && class.iter().all(|(key, _)| *key != "buffer") {
                class.push(("buffer", limit.clone()));
            }
        }
        let unlimited = Netem {
            limit: UNLIMITED_PKTS,
            ..first.clone()
        };
        *netem = Some((unlimited, object));
        Ok(())
    }

    /// Sets the policers of filters.
    fn add_filters(&mut self, tree: &Tree<'_>) -> ReadResult<()> {
        let mut others = 0;
        for filter in tree.all(Table::Filter) {
            let at = filter.options.iter().position(|it| it.text == "police");
            let Some(at) = at else {
                let acts = |it: &Word| matches!(it.text.as_str(), "flowid" | "classid" | "action");
                others += usize::from(filter.options.iter().any(acts));
                continue;
            };
            let police = &filter.options[at];
            let bucket = Bucket::police(filter, at)?;
            if !matches_all(&filter.options[..at]) {
                let message = "this policer applies only to some packets";
                let help = "add `policer` to a [[link.class]] of the scenario instead";
                return Err(refused(police, message, help));
            }
            let direction = match filter.parent {
                Parent::Unknown => tree.only_direction(),
                stated => Some(stated),
            };
            let settings = match direction {
                Some(Parent::Ingress) => &mut self.back,
                Some(Parent::Egress | Parent::Root | Parent::Of(Id { minor: 0, .. })) => {
                    &mut self.settings
                }
                _ => {
                    let message = "the direction of this policer is not stated";
                    let help = "write `ingress` or `egress` after the word `filter`, as in `tc filter show dev eth0 ingress`";
                    return Err(refused(police, message, help));
                }
            };
            if settings.keys.iter().any(|(key, _)| *key == "policer") {
                let message = "this is a second policer of the same direction";
                return Err(refused(
                    police,
                    message,
                    "keep one policer for each direction",
                ));
            }
            settings.keys.push(("policer", bucket.keys()));
            if direction == Some(Parent::Ingress) {
                let overhead = ("overhead", quoted(format_args!("{ETHERNET_BYTES} B")));
                settings.keys.push(overhead);
            }
        }
        let text = "filters are not imported: `class` of a connection selects its class";
        self.assume_if(others > 0, text);
        Ok(())
    }
}

/// Returns the number of ancestors of a class.
fn depth(id: Id, parent: &dyn Fn(Id) -> Option<Id>) -> usize {
    std::iter::successors(Some(id), |id| parent(*id)).count()
}

/// Returns the kind of an object as a word.
fn name(object: &Object) -> Word {
    Word {
        text: object.kind.clone(),
        span: object.span.clone(),
    }
}

/// Returns whether a filter with these options applies to all packets.
fn matches_all(options: &[Word]) -> bool {
    let has = |text: &str| options.iter().any(|it| it.text == text);
    let matches = options.windows(2).filter(|it| it[0].text == "match");
    let all = |value: &str| matches!(value, "00000000/00000000");
    let commands: Vec<&[Word]> = options
        .windows(4)
        .filter(|it| it[0].text == "match")
        .collect();
    has("matchall")
        || has("u32")
            && (matches.clone().next().is_some() && matches.clone().all(|it| all(&it[1].text))
                || !commands.is_empty()
                    && commands.iter().all(|it| {
                        let [_, kind, field, value] = it else {
                            return false;
                        };
                        match kind.text.as_str() {
                            "u32" => field.text == "0" && value.text == "0",
                            _ => value.text.ends_with("/0"),
                        }
                    }))
}

/// Returns the name of the interface.
fn device(objects: &[Object]) -> ReadResult<Option<String>> {
    let mut named = objects.iter().filter(|it| it.device.is_some());
    let Some(first) = named.next() else {
        return Ok(None);
    };
    if let Some(other) = named.find(|it| it.device != first.device) {
        let [first, second] = [first, other].map(|it| it.device.clone().unwrap_or_default());
        let message = format!("the file describes several interfaces: {first} and {second}");
        let help = format!("keep one: `tc -d qdisc show dev {first}`");
        return Err(
            ImportError::new(ProblemKind::Conflict, other.span.clone(), message).help(help),
        );
    }
    let is_variable = |name: &String| name.starts_with('$');
    Ok(first.device.clone().filter(|name| !is_variable(name)))
}

/// Objects of an interface, linked by their numbers.
struct Tree<'o> {
    objects: &'o [Object],
}

impl<'o> Tree<'o> {
    fn all(&self, table: Table) -> impl Iterator<Item = &'o Object> {
        self.objects.iter().filter(move |it| it.table == table)
    }

    /// Returns the root qdisc.
    fn root(&self, assumptions: &mut Vec<String>) -> ReadResult<&'o Object> {
        let is_root = |it: &&Object| it.parent == Parent::Root;
        let mut roots = self.all(Table::Qdisc).filter(is_root);
        let Some(root) = roots.next() else {
            let message = "there is no root qdisc";
            return Err(ImportError::new(ProblemKind::Missing, 0..0, message)
                .help("add the output of `tc -d qdisc show dev eth0`"));
        };
        if let Some(second) = roots.next() {
            let message = "this is a second root qdisc";
            return Err(
                ImportError::new(ProblemKind::Conflict, second.span.clone(), message)
                    .help("keep the qdiscs of one interface"),
            );
        }
        if root.kind != "mq" {
            return Ok(root);
        }
        let is_child =
            |it: &&Object| matches!(it.parent, Parent::Of(id) if id.major == root.id.major);
        let mut children = self.all(Table::Qdisc).filter(is_child);
        let Some(first) = children.next() else {
            return Err(refused(
                &name(root),
                "mq has no queues",
                "add all lines of `tc qdisc show`",
            ));
        };
        let differs = |it: &Object| {
            let texts = |it: &Object| {
                it.options
                    .iter()
                    .map(|w| w.text.clone())
                    .collect::<Vec<_>>()
            };
            it.kind != first.kind || texts(it) != texts(first)
        };
        if let Some(other) = children.find(|it| differs(it)) {
            let message = "the queues of mq differ";
            return Err(refused(&name(other), message, "keep one of them, as root"));
        }
        assumptions.push("the equal queues of mq are one queue".to_owned());
        Ok(first)
    }

    /// Returns the qdisc below another one.
    fn child(&self, parent: &Object) -> Option<&'o Object> {
        let is_child = |it: &&Object| {
            parent.id.major > 0
                && matches!(it.parent, Parent::Of(id) if id.major == parent.id.major)
        };
        self.all(Table::Qdisc).find(is_child)
    }

    /// Returns the qdisc of a class.
    fn leaf(&self, class: &Object) -> Option<&'o Object> {
        let is_leaf = |it: &&Object| {
            it.parent == Parent::Of(class.id)
                || class
                    .leaf
                    .is_some_and(|leaf| leaf.major > 0 && it.id == leaf)
        };
        self.all(Table::Qdisc).find(is_leaf)
    }

    /// Returns the direction of filters, if qdiscs have filters in one direction only.
    fn only_direction(&self) -> Option<Parent> {
        let has = |kind: &str| self.all(Table::Qdisc).any(|it| it.kind == kind);
        (has("ingress") && !has("clsact")).then_some(Parent::Ingress)
    }

    /// Collects the qdiscs from this one downwards.
    fn descend(&self, first: &'o Object, stack: &mut Stack<'o>) -> ReadResult<()> {
        let mut next = Some(first);
        while let Some(object) = next {
            let is_second = |present: bool| {
                if !present {
                    return Ok(());
                }

                let message = format!("this is a second {} below the first", object.kind);
                Err(refused(&name(object), message, "merge both into one"))
            };
            match object.kind.as_str() {
                "netem" => {
                    is_second(stack.netem.is_some())?;
                    stack.netem = Some((Netem::read(object)?, object));
                    stack.netem_is_above = stack.bucket.is_none();
                }
                "tbf" => {
                    is_second(stack.bucket.is_some())?;
                    stack.bucket = Some((Bucket::tbf(object)?, object));
                }
                "htb" => {
                    if stack.bucket.is_some()
                        || stack
                            .netem
                            .as_ref()
                            .is_some_and(|it| it.0.limiting_bps().is_some())
                    {
                        let message = "htb below another rate limit cannot be imported";
                        return Err(refused(
                            &name(object),
                            message,
                            "limit the rate by a class of htb",
                        ));
                    }
                    stack.htb = Some((Htb::read(object)?, object));
                    return Ok(());
                }
                kind => {
                    let Some(queue) = Queue::read(object)? else {
                        let message = format!("links of a scenario have no queue like {kind}");
                        let help = match kind {
                            "fq" | "sfq" | "fq_pie" => {
                                "use fq_codel: it also shares the link among flows"
                            }
                            "prio" => "use `queue = \"priority\"` with [[link.class]]",
                            _ => {
                                "keep netem, tbf, htb, pfifo, bfifo, red, codel, fq_codel, pie and cake"
                            }
                        };
                        return Err(refused(&name(object), message, help));
                    };
                    stack.queue = Some((queue, object));
                    return Ok(());
                }
            }
            next = self.child(object);
        }
        Ok(())
    }
}
