//! `--set KEY=VALUE`: settings that are different this time.

use std::cell::Cell;
use std::sync::Arc;

use super::Value;
use crate::place::{FileId, Place};
use crate::problem::{Findings, ProblemKind};
use crate::sources::Sources;
use crate::suggest;

/// The options given, and which of them have changed something.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    list: Vec<Override>,
}

#[derive(Debug)]
struct Override {
    file: FileId,
    text: Arc<String>,
    /// Bytes of key and value within the text.
    key: (usize, usize),
    value: (usize, usize),
    used: Cell<bool>,
}

/// What `--set` options call a table.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) overrides: &'a Overrides,
    pub(crate) name: String,
}

impl Override {
    fn key(&self) -> &str {
        self.text.get(self.key.0..self.key.1).unwrap_or("")
    }

    fn value(&self) -> &str {
        self.text.get(self.value.0..self.value.1).unwrap_or("")
    }
}

impl Overrides {
    pub(crate) fn parse(
        options: &[String],
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Overrides {
        let mut overrides = Overrides::default();
        for option in options {
            let (file, text) = sources.add_override(option);
            let Some((key, value)) = text.split_once('=') else {
                let place = Place::new(file, 0..text.len());
                let finding = findings.error(
                    ProblemKind::Override,
                    place,
                    "no `=` between a key and its value",
                );
                finding.help(EXAMPLE);
                continue;
            };
            let trimmed = |part: &str, start: usize| {
                let from = start + part.len() - part.trim_start().len();
                (from, from + part.trim().len())
            };
            let key_span = trimmed(key, 0);
            let mut value_span = trimmed(value, key.len() + 1);
            // Quotes that the shell left.
            let quoted = value.trim();
            if quoted.len() >= 2
                && ['"', '\'']
                    .iter()
                    .any(|&q| quoted.starts_with(q) && quoted.ends_with(q))
            {
                value_span = (value_span.0 + 1, value_span.1 - 1);
            }
            overrides.list.push(Override {
                file,
                key: key_span,
                value: value_span,
                used: Cell::new(false),
                text,
            });
        }
        overrides
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The value for a key; the last option wins.
    pub(crate) fn take(&self, key: &str) -> Option<Value<'_>> {
        let mut found = None;
        for option in self.list.iter().filter(|option| option.key() == key) {
            option.used.set(true);
            let place = Place::new(option.file, option.value.0..option.value.1);
            found = Some(Value::cell(option.value(), place));
        }
        found
    }

    /// The place of the first option for a key inside the table `key`.
    pub(crate) fn first_below(&self, key: &str) -> Option<Place> {
        let below = |option: &&Override| {
            let inner = option.key().strip_prefix(key);
            inner.is_some_and(|inner| inner.starts_with('.'))
        };
        let option = self.list.iter().find(below)?;
        Some(Place::new(option.file, option.key.0..option.key.1))
    }

    /// Refuses options that changed nothing.
    pub(crate) fn refuse_unused(&self, findings: &mut Findings, names: &Names<'_>) {
        for option in self.list.iter().filter(|option| !option.used.get()) {
            let (message, help) = unused(option.key(), names);
            let place = Place::new(option.file, option.key.0..option.key.1);
            findings
                .error(ProblemKind::Override, place, message)
                .help(help);
        }
    }
}

/// The names there are, which options begin with.
pub(crate) struct Names<'n> {
    pub(crate) links: Vec<&'n str>,
    pub(crate) connections: Vec<&'n str>,
    pub(crate) workloads: Vec<&'n str>,
}

const EXAMPLE: &str = "write for instance --set \"simulation.duration=10 s\", --set \"link.A->B.bandwidth=4 Mbit/s\" \
     or --set \"connection.c1.max-window=20 pkt\"";

/// Why nothing was found under a key, and what there is.
fn unused(key: &str, names: &Names<'_>) -> (String, String) {
    use crate::file::{Connection, Link, Simulation, Workload};
    use crate::read::Element;

    let (element, rest) = key.split_once('.').unwrap_or((key, ""));
    match element {
        Simulation::NAME => no_key(rest, "[simulation]", Simulation::KEYS),
        Link::NAME => named(rest, "link", &names.links, Link::KEYS),
        Connection::NAME => named(rest, "connection", &names.connections, Connection::KEYS),
        Workload::NAME => named(rest, "workload", &names.workloads, Workload::KEYS),
        _ => (format!("nothing is called `{key}`"), EXAMPLE.to_owned()),
    }
}

fn no_key(key: &str, what: &str, keys: &'static [&'static str]) -> (String, String) {
    let first = key.split('.').next().unwrap_or(key);
    let message = format!("{what} has no key `{key}` that can be set");
    (
        message,
        suggest::help(first, "its keys", keys.iter().copied()),
    )
}

fn named(
    rest: &str,
    what: &str,
    names: &[&str],
    keys: &'static [&'static str],
) -> (String, String) {
    // Names may contain points, so the name is looked for rather than cut off.
    let known = names.iter().find_map(|name| {
        let key = rest.strip_prefix(*name)?;
        Some((name, key.strip_prefix('.')?))
    });
    match known {
        Some((name, key)) => no_key(key, &format!("{what} `{name}`"), keys),
        None => {
            let name = rest.rsplit_once('.').map_or(rest, |(name, _)| name);
            let kind = format!("{what}s");
            (
                format!("there is no {what} `{name}`"),
                suggest::help(name, &kind, names.iter().copied()),
            )
        }
    }
}
