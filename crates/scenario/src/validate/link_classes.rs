//! Validation of traffic classes on links.

use netflow_document::{ProblemKind, Spanned};
use netflow_network::{Aqm, DropPolicy, QueueClass, Scheduler};

use super::Validator;
use crate::file::{Link, Plain, QueueSetting};

impl Validator<'_> {
    /// Returns the classes of a link and their scheduler, if it has any.
    pub(super) fn classes(&mut self, link: &Link) -> Option<(Scheduler, Vec<QueueClass>)> {
        let setting = link.queue.as_ref();
        let scheduler = scheduler(link);
        let (scheduler, first) = match (scheduler, link.classes.first()) {
            (None, None) => return None,
            (Some(scheduler), Some(first)) => (scheduler, first),
            (Some(_), None) => {
                let place = setting.map_or(link.from.place(), Spanned::place);
                let message = "this `queue` needs classes, but the link has none";
                let help = "add [[link.class]] with `name = \"AF1\"` below the link";
                self.error(ProblemKind::Missing, place, message.to_owned(), help);
                return None;
            }
            (None, Some(first)) => {
                let message = "a link with classes needs a `queue` that serves them";
                let help = "write `queue = \"priority\"` or `queue = \"wfq\"` in the [[link]]";
                let place = first.name.place();
                self.error(ProblemKind::Missing, place, message.to_owned(), help);
                return None;
            }
        };
        let mut classes: Vec<QueueClass> = Vec::with_capacity(link.classes.len());
        for class in &link.classes {
            if !class.name.is_valid() {
                continue;
            }
            let place = class.name.place();
            if classes.iter().any(|other| other.name == *class.name) {
                let message = format!("class `{}` exists twice on this link", *class.name);
                let help = self.first_definition_help(first.name.place());
                self.error(ProblemKind::Duplicate, place, message, &help);
                continue;
            }
            if let Some(queue) = &class.queue
                && let QueueSetting::Plain(Plain::Priority | Plain::Wfq) = **queue
            {
                let message = "a class cannot have classes of its own".to_owned();
                let help =
                    "write \"drop-tail\", or a table with \"red\", \"rio\", \"rio-d\" or \"wred\"";
                self.error(ProblemKind::Conflict, queue.place(), message, help);
            }
            let overhead = self.overhead(link);
            let (bandwidth_bps, _) = self.bandwidth(&link.bandwidth, overhead);
            let buffer = self.buffer(class.buffer.as_ref(), overhead);
            let mut queue = self.queue(class.queue.as_ref(), buffer, bandwidth_bps, overhead);
            if let (DropPolicy::Managed(Aqm::Cake(cake)), Some(setting)) =
                (&mut queue, &class.queue)
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
            self.class_names.insert(class.name.to_string());
            classes.push(QueueClass {
                name: class.name.to_string(),
                weight: class.weight.as_deref().copied().unwrap_or(1.0),
                buffer,
                queue,
            });
        }
        Some((scheduler, classes))
    }

    /// Warns of class weights if neither direction of the link uses them.
    pub(super) fn warn_of_weights(&mut self, link: &Link) {
        let by_weight = |it: &Link| scheduler(it) == Some(Scheduler::Wfq);
        if by_weight(link) || link.back.as_deref().is_some_and(by_weight) {
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

/// Returns the scheduler of a link's classes, if any.
fn scheduler(link: &Link) -> Option<Scheduler> {
    match link.queue.as_deref()? {
        QueueSetting::Plain(Plain::Priority) => Some(Scheduler::Priority),
        QueueSetting::Plain(Plain::Wfq) => Some(Scheduler::Wfq),
        _ => None,
    }
}
