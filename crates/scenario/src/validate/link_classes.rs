//! Validation of traffic classes on links.

use netflow_document::{ProblemKind, SourceSpan, Spanned};
use netflow_network::{
    Aqm, Buffer, DropPolicy, HtbClass, HtbTree, LinkElement, Overhead, QueueClass, Scheduler,
};

use super::Validator;
use crate::file::{Link, LinkClass, Plain, QueueSetting};

/// Scheduler of a link's classes.
#[derive(Clone, Copy, PartialEq)]
enum Discipline {
    Priority,
    Wfq,
    Htb,
}

impl Validator<'_> {
    /// Returns the classes of a link and their scheduler, if it has any.
    pub(super) fn classes(&mut self, link: &Link) -> Option<(Scheduler, Vec<QueueClass>)> {
        let setting = link.queue.as_ref();
        let (discipline, first) = match (discipline(link), link.classes.first()) {
            (None, None) => return None,
            (Some(discipline), Some(first)) => (discipline, first),
            (Some(_), None) => {
                let place = setting.map_or(link.from.place(), Spanned::place);
                let message = "this `queue` needs classes, but the link has none";
                let help = "add [[link.class]] with `name = \"AF1\"` below the link";
                self.error(ProblemKind::Missing, place, message.to_owned(), help);
                return None;
            }
            (None, Some(first)) => {
                let message = "a link with classes needs a `queue` that serves them";
                let help = "write `queue = \"priority\"`, `queue = \"wfq\"` or `queue = \"htb\"` in the [[link]]";
                let place = first.name.place();
                self.error(ProblemKind::Missing, place, message.to_owned(), help);
                return None;
            }
        };
        let mut known: Vec<&LinkClass> = Vec::with_capacity(link.classes.len());
        for class in link.classes.iter().filter(|class| class.name.is_valid()) {
            if known.iter().any(|other| *other.name == *class.name) {
                let message = format!("class `{}` exists twice on this link", *class.name);
                let help = self.first_definition_help(first.name.place());
                let place = class.name.place();
                self.error(ProblemKind::Duplicate, place, message, &help);
                continue;
            }
            known.push(class);
        }
        if discipline != Discipline::Htb {
            for class in &known {
                self.reject_htb_keys(class);
            }
            let scheduler = match discipline {
                Discipline::Priority => Scheduler::Priority,
                Discipline::Wfq | Discipline::Htb => Scheduler::Wfq,
            };
            let queues = known
                .iter()
                .map(|class| self.class_queue(link, class, None));
            return Some((scheduler, queues.collect()));
        }
        if let Some(setting) = setting {
            let what = "the queue discipline \"htb\"".to_owned();
            (self.requires_packet_model).get_or_insert((
                setting.place(),
                what,
                Some(LinkElement::Htb),
            ));
        }
        let tree = self.htb_tree(link, &known)?;
        let queues = tree.class_of_queue.iter().filter_map(|&c| {
            let class = known
                .iter()
                .find(|class| *class.name == tree.classes[c].name)?;
            Some(self.class_queue(link, class, Some(tree.classes[c].ceil_bps as f64)))
        });
        let queues = queues.collect();
        Some((Scheduler::Htb(tree), queues))
    }

    /// Returns the queue of a class, which has this ceiling with HTB.
    fn class_queue(&mut self, link: &Link, class: &LinkClass, ceil_bps: Option<f64>) -> QueueClass {
        if let Some(queue) = &class.queue
            && let QueueSetting::Plain(Plain::Priority | Plain::Wfq | Plain::Htb) = **queue
        {
            let message = "a class cannot have classes of its own".to_owned();
            let help = "write \"drop-tail\", or a table with \"red\", \"rio\", \"rio-d\" or \"wred\"; \
                        with \"htb\", other classes name it as `parent`";
            self.error(ProblemKind::Conflict, queue.place(), message, help);
        }
        let overhead = self.overhead(link);
        let (bandwidth_bps, _) = self.bandwidth(&link.bandwidth, overhead);
        let mut buffer = self.buffer(class.buffer.as_ref(), overhead);
        if let (Buffer::Time(time), Some(ceil_bps)) = (buffer, ceil_bps) {
            let bytes = time.s * ceil_bps.min(bandwidth_bps) / 8.0;
            buffer = Buffer::Bytes(bytes.max(time.least_bytes));
        }
        let mut queue = self.queue(class.queue.as_ref(), buffer, bandwidth_bps, overhead);
        if let (DropPolicy::Managed(Aqm::Cake(cake)), Some(setting)) = (&mut queue, &class.queue)
            && cake.bandwidth_bps.take().is_some()
        {
            let message = "a class cannot have a shaper, because other classes share the link";
            let help = "remove `bandwidth`, or use CAKE with `tins` instead of classes";
            self.error(
                ProblemKind::Conflict,
                setting.place(),
                message.to_owned(),
                help,
            );
        }
        let policer = class.policer.as_ref();
        let policer = policer.and_then(|it| self.token_bucket(LinkElement::Policer, it, overhead));
        self.class_names.insert(class.name.to_string());
        QueueClass {
            name: class.name.to_string(),
            weight: class.weight.as_deref().copied().unwrap_or(1.0),
            buffer,
            queue,
            policer,
        }
    }

    /// Reports keys of HTB in a class of another scheduler.
    fn reject_htb_keys(&mut self, class: &LinkClass) {
        for (key, place) in htb_keys(class) {
            if let Some(place) = place {
                let message = format!("`{key}` of a class needs `queue = \"htb\"` in the link");
                let help =
                    "write `queue = \"htb\"` in each direction of the link, or remove this key";
                self.error(ProblemKind::Conflict, place, message, help);
            }
        }
    }

    /// Returns the tree of the classes with HTB, parents first.
    fn htb_tree(&mut self, link: &Link, known: &[&LinkClass]) -> Option<HtbTree> {
        let overhead = self.overhead(link);
        let position = |name: &str| known.iter().position(|class| *class.name == name);
        let mut parents: Vec<Option<usize>> = Vec::new();
        let mut is_sound = true;
        for class in known {
            if class.rate.is_none() {
                let message = format!("class `{}` needs a `rate`", *class.name);
                let help = "add the guaranteed rate, for example `rate = \"1 Mbit/s\"`";
                self.error(ProblemKind::Missing, class.name.place(), message, help);
                is_sound = false;
            }
            let parent = class.parent.as_ref().filter(|parent| parent.is_valid());
            parents.push(parent.and_then(|parent| position(parent)));
            if let (Some(parent), Some(None)) = (parent, parents.last()) {
                let message = format!("unknown class `{}`", **parent);
                let names = known.iter().map(|class| class.name.as_str());
                let names = names.filter(|name| *name != class.name.as_str());
                let what = "classes of this link";
                let help = self.findings.given_names_help(parent, what, names);
                self.error(ProblemKind::UnknownName, parent.place(), message, &help);
                is_sound = false;
            }
        }
        let ancestors = |c: usize| std::iter::successors(parents[c], |&parent| parents[parent]);
        let depth = |c: usize| ancestors(c).take(known.len()).count();
        let cycle = (0..known.len()).find(|&c| depth(c) == known.len());
        if let Some(parent) = cycle.and_then(|c| known[c].parent.as_ref()) {
            let message = format!("class `{}` is its own ancestor", **parent);
            let help = "remove `parent` of one of these classes";
            self.error(ProblemKind::Conflict, parent.place(), message, help);
            is_sound = false;
        }
        if !is_sound {
            return None;
        }
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by_key(|&c| depth(c));
        let place_of = |c: usize| order.iter().position(|&it| it == c);
        let mut tree = HtbTree::default();
        for &c in &order {
            let parent = parents[c].and_then(place_of);
            tree.classes
                .push(self.htb_class(known[c], parent, overhead));
        }
        // The queues have the order of the file.
        let is_parent = |c: usize| parents.contains(&Some(c));
        let leaves = (0..known.len()).filter(|&c| !is_parent(c));
        tree.class_of_queue = leaves.filter_map(place_of).collect();
        for (c, class) in known.iter().enumerate() {
            let child = parents.iter().position(|&parent| parent == Some(c));
            match child {
                None => self.warn_of_unused_weight(class),
                Some(child) => {
                    let (name, child) = (class.name.to_string(), known[child].name.to_string());
                    self.warn_of_unused_keys(class);
                    self.parent_classes.insert(name, child);
                }
            }
        }
        self.warn_of_excessive_rates(link, known, &parents, overhead);
        Some(tree)
    }

    /// Returns the settings of a class with HTB.
    fn htb_class(
        &mut self,
        class: &LinkClass,
        parent: Option<usize>,
        overhead: Overhead,
    ) -> HtbClass {
        let rate_bps = class
            .rate
            .as_ref()
            .map_or(1.0, |it| self.link_bps(it.0, overhead));
        let ceil_bps = class
            .ceil
            .as_ref()
            .map_or(rate_bps, |it| self.link_bps(it.0, overhead));
        if let Some(ceil) = class.ceil.as_ref().filter(|_| ceil_bps < rate_bps) {
            let message = format!("`ceil` of class `{}` is below its `rate`", *class.name);
            let help = "raise `ceil`, or leave it out if the class must not borrow";
            self.error(ProblemKind::OutOfRange, ceil.place(), message, help);
        }
        let whole = |bps: f64| bps.round().max(1.0) as u64;
        let bytes = |size: &Option<crate::file::ByteSize>| size.as_ref().map(|it| it.get() as u64);
        HtbClass {
            name: class.name.to_string(),
            parent,
            rate_bps: whole(rate_bps),
            ceil_bps: whole(ceil_bps),
            burst_bytes: bytes(&class.burst).unwrap_or(HtbClass::BURST_BYTES),
            cburst_bytes: bytes(&class.cburst).unwrap_or(HtbClass::BURST_BYTES),
            prio: class.prio.as_deref().map_or(0, |prio| (*prio).min(7) as u8),
            quantum_bytes: bytes(&class.quantum)
                .unwrap_or_else(|| HtbClass::default_quantum_bytes(whole(rate_bps))),
        }
    }

    /// Warns if the guaranteed rates of classes exceed that of their parent, or the bandwidth.
    fn warn_of_excessive_rates(
        &mut self,
        link: &Link,
        known: &[&LinkClass],
        parents: &[Option<usize>],
        overhead: Overhead,
    ) {
        let (bandwidth_bps, _) = self.bandwidth(&link.bandwidth, overhead);
        let mut rate_bps = |class: &LinkClass| {
            let rate = class.rate.as_ref();
            rate.map_or(0.0, |it| self.link_bps(it.0, overhead))
        };
        let rates_bps: Vec<f64> = known.iter().map(|class| rate_bps(class)).collect();
        for parent in (0..known.len()).map(Some).chain([None]) {
            let children = (0..known.len()).filter(|&c| parents[c] == parent);
            let sum_bps: f64 = children.clone().map(|c| rates_bps[c]).sum();
            let (of, limit_bps) = match parent {
                Some(c) => (
                    format!("the `rate` of class `{}`", *known[c].name),
                    rates_bps[c],
                ),
                None => ("the bandwidth of the link".to_owned(), bandwidth_bps),
            };
            let first = children.clone().next();
            let Some(rate) = first.and_then(|c| known[c].rate.as_ref()) else {
                continue;
            };
            if sum_bps > limit_bps * (1.0 + 1e-9) {
                let (sum, limit) = (sum_bps / 1e6, limit_bps / 1e6);
                let message =
                    format!("guaranteed rates of {sum} Mbit/s exceed {of}, {limit} Mbit/s");
                let help = match parent {
                    Some(_) => {
                        "lower the rates of its classes; they can exceed its `ceil`, as in Linux"
                    }
                    None => "lower the rates; not all of them can be met",
                };
                self.warning(ProblemKind::Conflict, rate.place(), &message, help);
            }
        }
    }

    /// Warns of keys without effect in a class with child classes.
    fn warn_of_unused_keys(&mut self, class: &LinkClass) {
        self.warn_of_unused_weight(class);
        let unused = [
            ("prio", class.prio.as_ref().map(Spanned::place)),
            ("quantum", class.quantum.as_ref().map(|it| it.place())),
            ("buffer", class.buffer.as_ref().map(|it| it.place())),
            ("queue", class.queue.as_ref().map(Spanned::place)),
            ("policer", class.policer.as_ref().map(Spanned::place)),
        ];
        for (key, place) in unused {
            if let Some(place) = place {
                let message = format!(
                    "`{key}` has no effect: packets wait in the queues of the classes below `{}`",
                    *class.name
                );
                self.warning(ProblemKind::WithoutEffect, place, &message, "");
            }
        }
    }

    fn warn_of_unused_weight(&mut self, class: &LinkClass) {
        if let Some(weight) = &class.weight {
            let message = "`weight` has no effect with \"htb\": borrowers share by `quantum`";
            self.warning(ProblemKind::WithoutEffect, weight.place(), message, "");
        }
    }

    /// Warns of class weights if neither direction of the link uses them.
    pub(super) fn warn_of_weights(&mut self, link: &Link) {
        let by_priority = |it: &Link| discipline(it) == Some(Discipline::Priority);
        if !by_priority(link) || !link.back.as_deref().is_none_or(by_priority) {
            return;
        }
        let weights = link
            .classes
            .iter()
            .filter_map(|class| class.weight.as_ref());
        for weight in weights {
            let message = "`weight` has no effect: classes have strict priority";
            self.warning(ProblemKind::WithoutEffect, weight.place(), message, "");
        }
    }

    /// Returns the given class, if some link has it.
    pub(super) fn known_class<'c>(
        &mut self,
        class: Option<&'c Spanned<String>>,
    ) -> Option<&'c str> {
        let class = class.filter(|class| class.is_valid())?;
        if let Some(child) = self.parent_classes.get(class.as_str()) {
            let message = format!("class `{}` has classes of its own and no queue", **class);
            let help = format!("write one of its classes, for example `class = \"{child}\"`");
            self.error(ProblemKind::Conflict, class.place(), message, &help);
            return None;
        }
        if self.class_names.contains(class.as_str()) {
            return Some(class);
        }
        let message = format!("unknown class `{}`", **class);
        let mut names: Vec<String> = self.class_names.iter().cloned().collect();
        names.sort();
        let help = if names.is_empty() {
            "no link has a [[link.class]]".to_owned()
        } else {
            self.findings
                .given_names_help(class, "classes", names.iter().map(String::as_str))
        };
        self.error(ProblemKind::UnknownName, class.place(), message, &help);
        None
    }
}

/// Returns the keys of HTB, with their places if they are set.
fn htb_keys(class: &LinkClass) -> [(&'static str, Option<SourceSpan>); 7] {
    [
        ("parent", class.parent.as_ref().map(Spanned::place)),
        ("rate", class.rate.as_ref().map(|it| it.place())),
        ("ceil", class.ceil.as_ref().map(|it| it.place())),
        ("burst", class.burst.as_ref().map(|it| it.place())),
        ("cburst", class.cburst.as_ref().map(|it| it.place())),
        ("prio", class.prio.as_ref().map(Spanned::place)),
        ("quantum", class.quantum.as_ref().map(|it| it.place())),
    ]
}

/// Returns the scheduler of a link's classes, if any.
fn discipline(link: &Link) -> Option<Discipline> {
    match link.queue.as_deref()? {
        QueueSetting::Plain(Plain::Priority) => Some(Discipline::Priority),
        QueueSetting::Plain(Plain::Wfq) => Some(Discipline::Wfq),
        QueueSetting::Plain(Plain::Htb) => Some(Discipline::Htb),
        _ => None,
    }
}
