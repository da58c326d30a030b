//! Overrides of settings: `--set KEY=VALUE`.

use std::cell::Cell;

use netflow_units::{link_name, split_circuit};
use toml::de::{DeTable, DeValue};

use crate::key::distinct_keys;
use crate::section::NAME;
use crate::{
    Element, FileId, Findings, FormerNames, Key, ProblemKind, SourceSpan, Sources, Value, columns,
    kind_of, suggest,
};

/// The given options, and which of them were used.
#[derive(Debug, Default)]
pub struct Overrides {
    list: Vec<Override>,
    former: FormerNames,
}

#[derive(Debug)]
struct Override {
    key: String,
    key_place: SourceSpan,
    setting: OverrideValue,
    used: Cell<bool>,
}

/// Message and help for an option with a TOML array.
const ARRAY_MESSAGE: &str = "--set does not support arrays";
const ARRAY_HELP: &str =
    "write nodes of a path as \"A>B>C\" and several groups as \"a;b\", as in cells of tables";

/// The value of an option.
#[derive(Debug)]
enum OverrideValue {
    /// A text that can be read as any scalar type, and its place.
    Text(String, SourceSpan),
    /// A table that replaces the one in the document. Its keys are separate settings.
    Table,
}

/// The name of a table in `--set` options: the name of an element and the path of nested tables.
#[derive(Clone, Debug)]
pub(crate) struct OverrideScope<'a> {
    pub(crate) overrides: &'a Overrides,
    /// Name of the element, for example `link.A->B`.
    pub(crate) name: String,
    /// Path within the element, for example `queue`; empty for the element itself.
    pub(crate) path: String,
}

impl OverrideScope<'_> {
    /// Returns the scope of a key within it.
    pub(crate) fn inner(&self, key: &str) -> Self {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        OverrideScope {
            overrides: self.overrides,
            name: self.name.clone(),
            path,
        }
    }
}

impl Override {
    /// Returns whether the option sets this key. In the name of the element, `*` matches any characters
    /// and `<->` both directions. The path must be equal.
    fn sets_key(&self, scope: &OverrideScope<'_>) -> bool {
        self.sets_path(scope, &scope.path)
    }

    /// Returns whether the option sets this path of the element.
    fn sets_path(&self, scope: &OverrideScope<'_>, path: &str) -> bool {
        self.key
            .strip_suffix(path)
            .and_then(|start| start.strip_suffix('.'))
            .is_some_and(|name| matches_element(name, &scope.name))
    }

    /// Returns whether the option sets a key below this one.
    fn sets_inner_key(&self, scope: &OverrideScope<'_>) -> bool {
        let mut found = self.key.match_indices(scope.path.as_str());
        found.any(|(at, path)| {
            let start = self.key[..at].strip_suffix('.');
            let is_inside = self.key[at + path.len()..].starts_with('.');
            is_inside && start.is_some_and(|start| matches_element(start, &scope.name))
        })
    }
}

/// Returns whether an option with the key `later` overrides all settings of an option with the key
/// `earlier`. For example, `link.*.bandwidth` overrides `link.A<->B.bandwidth`, and `link.A->B.queue`
/// overrides `link.A->B.queue.min`. Returns false for ambiguous names.
pub fn replaces_all(later: &str, earlier: &str) -> bool {
    if later == earlier
        || earlier
            .strip_prefix(later)
            .is_some_and(|rest| rest.starts_with('.'))
    {
        return true;
    }
    // Names and matches of a star may contain points, but elements of a list have their own keys.
    let is_inner = |name: &str| name.contains(".class.");
    let matches_all_elements = |pattern: &str, names: &str| {
        let ends = names.split_once('.').and_then(|(table, name)| {
            let (from, to) = name.split_once("<->")?;
            Some((table, from, to))
        });
        match ends {
            _ if is_inner(pattern) != is_inner(names) => false,
            None => matches_element(pattern, names),
            Some((table, from, to)) => {
                let (to, circuit) = match split_circuit(to) {
                    Some((to, circuit)) => (to, Some(circuit)),
                    None => (to, None),
                };
                [(from, to), (to, from)].into_iter().all(|(from, to)| {
                    matches_element(
                        pattern,
                        &format!("{table}.{}", link_name(from, to, circuit)),
                    )
                })
            }
        }
    };
    earlier.match_indices('.').any(|(at, _)| {
        let pattern = later.strip_suffix(&earlier[at..]);
        pattern.is_some_and(|pattern| matches_all_elements(pattern, &earlier[..at]))
    })
}

/// Returns whether a pattern such as `link.A->B`, `link.*` or `link.A<->B` matches the name of an
/// element.
fn matches_element(pattern: &str, name: &str) -> bool {
    let within = |name: &str| {
        let (table, name) = name.split_once('.')?;
        let pattern = pattern.strip_prefix(table)?.strip_prefix('.')?;
        Some(matches_link_name(pattern, name))
    };
    matches(pattern, name) || within(name) == Some(true)
}

/// Returns whether a pattern matches a name. `A<->B` matches `A->B` and `B->A`; `A<->B#2` matches
/// `A->B#2` and `B->A#2`.
pub fn matches_link_name(pattern: &str, name: &str) -> bool {
    let is =
        |from: &str, to: &str, circuit: Option<&str>| matches(&link_name(from, to, circuit), name);
    let directions = |(a, b): (&str, &str)| {
        let of_circuit = |(b, circuit)| is(b, a, Some(circuit));
        is(a, b, None) || is(b, a, None) || split_circuit(b).is_some_and(of_circuit)
    };
    matches(pattern, name) || pattern.split_once("<->").is_some_and(directions)
}

/// Returns whether a name matches a pattern, in which `*` stands for any number of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest match leaves most characters for the other parts.
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

impl Overrides {
    /// Parses the options, each `KEY=VALUE`.
    ///
    /// Keys and words may have `former` names.
    pub fn parse(
        options: &[String],
        former: FormerNames,
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Overrides {
        let mut overrides = Overrides {
            former,
            ..Overrides::default()
        };
        for option in options {
            let (file, text) = sources.add_override(option);
            let Some((key, value)) = text.split_once('=') else {
                let place = SourceSpan::new(file, 0..text.len());
                let finding = findings.error(
                    ProblemKind::Override,
                    place,
                    "missing `=` between key and value",
                );
                finding.set_help(EXAMPLE);
                continue;
            };
            let start = key.len() - key.trim_start().len();
            let key_place = SourceSpan::new(file, start..start + key.trim().len());
            let mut from = key.len() + 1 + value.len() - value.trim_start().len();
            let (key, mut value) = (key.trim(), value.trim());
            if value.starts_with('{') {
                overrides.add_table(file, key, key_place, (from, value), findings);
                continue;
            }
            if value.starts_with('[') {
                let place = SourceSpan::new(file, from..from + value.len());
                let finding = findings.error(ProblemKind::Override, place, ARRAY_MESSAGE);
                finding.set_help(ARRAY_HELP);
                continue;
            }
            // Quotes that the shell did not remove.
            for quote in ['"', '\''] {
                let inner = value.strip_prefix(quote);
                if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(quote)) {
                    (value, from) = (inner, from + 1);
                    break;
                }
            }
            let place = SourceSpan::new(file, from..from + value.len());
            overrides.add(key, key_place, OverrideValue::Text(value.to_owned(), place));
        }
        overrides
    }

    fn add(&mut self, key: &str, key_place: SourceSpan, setting: OverrideValue) {
        let key = self.former.rename_path(key);
        let setting = match setting {
            OverrideValue::Text(text, place) => {
                let text = self.former.rename_word(&key, text);
                OverrideValue::Text(text, place)
            }
            OverrideValue::Table => OverrideValue::Table,
        };
        self.list.push(Override {
            key,
            key_place,
            setting,
            used: Cell::new(false),
        });
    }

    /// Adds an inline table, which begins at a byte offset of the option.
    fn add_table(
        &mut self,
        file: FileId,
        key: &str,
        key_place: SourceSpan,
        (from, text): (usize, &str),
        findings: &mut Findings,
    ) {
        const KEY: &str = "v=";
        let document = format!("{KEY}{text}");
        let here = |span: std::ops::Range<usize>| {
            let at = |byte: usize| (byte.max(KEY.len()) - KEY.len()).min(text.len()) + from;
            SourceSpan::new(file, at(span.start)..at(span.end))
        };
        let parsed = match DeTable::parse(&document) {
            Ok(parsed) => parsed.into_inner(),
            Err(error) => {
                let place = here(error.span().unwrap_or(0..0));
                let message = format!("not a table: {}", error.message().replace('\n', "; "));
                findings
                    .error(ProblemKind::Override, place, message)
                    .set_help("for example --set 'link.A->B.queue={ discipline = \"red\", min = \"5 pkt\" }'");
                return;
            }
        };
        self.add(key, key_place, OverrideValue::Table);
        if let Some(DeValue::Table(table)) = parsed.get("v").map(|value| value.get_ref()) {
            self.add_keys(key, table, &document, &here, findings);
        }
    }

    /// Adds every key of a table as a separate setting.
    fn add_keys(
        &mut self,
        name: &str,
        table: &DeTable<'_>,
        document: &str,
        here: &dyn Fn(std::ops::Range<usize>) -> SourceSpan,
        findings: &mut Findings,
    ) {
        for (key, value) in table {
            let name = format!("{name}.{}", key.get_ref());
            let (key_place, place) = (here(key.span()), here(value.span()));
            match value.get_ref() {
                DeValue::Table(inner) => {
                    self.add(&name, key_place, OverrideValue::Table);
                    self.add_keys(&name, inner, document, here, findings);
                }
                DeValue::String(text) => {
                    self.add(
                        &name,
                        key_place,
                        OverrideValue::Text(text.to_string(), place),
                    );
                }
                DeValue::Array(_) => {
                    (findings.error(ProblemKind::Override, place, ARRAY_MESSAGE))
                        .set_help(ARRAY_HELP);
                }
                _ => {
                    let text = document.get(value.span()).unwrap_or_default().to_owned();
                    self.add(&name, key_place, OverrideValue::Text(text, place));
                }
            }
        }
    }

    /// Returns whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the options that are effective for a key: those after the last option that replaces an
    /// enclosing table.
    fn effective_options(&self, scope: &OverrideScope<'_>) -> &[Override] {
        let tables = scope
            .path
            .match_indices('.')
            .map(|(at, _)| &scope.path[..at]);
        let last = |path| self.list.iter().rposition(|it| it.sets_path(scope, path));
        let last = tables.filter_map(last).max();
        &self.list[last.map_or(0, |last| last + 1)..]
    }

    /// Returns the effective option for a key: the last one.
    fn effective_option(&self, scope: &OverrideScope<'_>) -> Option<&Override> {
        self.effective_options(scope)
            .iter()
            .rfind(|it| it.sets_key(scope))
    }

    /// Returns the value for a key if the last option has one, and marks all options for the key as used.
    pub(crate) fn take(&self, scope: &OverrideScope<'_>) -> Option<Value<'_>> {
        let all = self.list.iter().filter(|it| it.sets_key(scope));
        all.for_each(|option| option.used.set(true));
        match &self.effective_option(scope)?.setting {
            OverrideValue::Text(text, place) => Some(Value::from_cell(text, *place)),
            OverrideValue::Table => None,
        }
    }

    /// Returns whether an option sets a key to a value or a table.
    pub(crate) fn is_set(&self, scope: &OverrideScope<'_>) -> bool {
        self.effective_option(scope).is_some()
    }

    /// Returns the place of the last option if it replaces the table.
    pub(crate) fn replacing_place(&self, scope: &OverrideScope<'_>) -> Option<SourceSpan> {
        let last = self.effective_option(scope)?;
        matches!(last.setting, OverrideValue::Table).then_some(last.key_place)
    }

    /// Returns the place of the first effective option for a key inside the table of this key. Options
    /// that are not effective are marked as used, too.
    pub(crate) fn first_inner_place(&self, scope: &OverrideScope<'_>) -> Option<SourceSpan> {
        let effective_options = self.effective_options(scope);
        let last = effective_options.iter().rposition(|it| it.sets_key(scope));
        let effective_options = &effective_options[last.map_or(0, |last| last + 1)..];
        let (replaced, _) = self
            .list
            .split_at(self.list.len() - effective_options.len());
        let below = |option: &&Override| option.sets_inner_key(scope);
        (replaced.iter().filter(below)).for_each(|option| option.used.set(true));
        Some(effective_options.iter().find(below)?.key_place)
    }

    /// Returns the place of the first option for a key of the element of this name.
    pub(crate) fn first_place_of(&self, name: &str) -> Option<SourceSpan> {
        let of = |option: &&Override| {
            let mut points = option.key.match_indices('.');
            points.any(|(at, _)| matches_element(&option.key[..at], name))
        };
        Some(self.list.iter().find(of)?.key_place)
    }

    /// Reports options that were not used.
    pub fn report_unused(&self, findings: &mut Findings, known: &[OverrideTarget<'_>]) {
        for option in self.list.iter().filter(|option| !option.used.get()) {
            let (message, help) = match self.former.removed_at(&option.key) {
                Some(key) => (key.message(), key.help.to_owned()),
                None => unused_option_message(&option.key, known),
            };
            findings
                .error(ProblemKind::Override, option.key_place, message)
                .set_help(help);
        }
    }
}

/// A first part of option keys: a single table, or elements by their names.
#[derive(Clone, Debug)]
pub struct OverrideTarget<'n> {
    table: &'static str,
    keys: &'static [Key],
    /// Names of the elements; `None` for a single table.
    names: Option<Vec<&'n str>>,
}

impl<'n> OverrideTarget<'n> {
    /// Returns a single table.
    pub fn single_table<T: Element>() -> OverrideTarget<'n> {
        OverrideTarget {
            table: T::NAME,
            keys: T::KEYS,
            names: None,
        }
    }

    /// Returns elements of these names.
    pub fn elements<T: Element>(names: impl Iterator<Item = &'n str>) -> OverrideTarget<'n> {
        OverrideTarget {
            names: Some(names.collect()),
            ..OverrideTarget::single_table::<T>()
        }
    }
}

const EXAMPLE: &str = "for example --set \"simulation.duration=10 s\", --set \"link.A->B.bandwidth=4 Mbit/s\" \
     or --set \"connection.*.max-window=20 pkt\"";

/// Returns the message and the help for an option that was not used.
fn unused_option_message(key: &str, known: &[OverrideTarget<'_>]) -> (String, String) {
    let (element, rest) = key.split_once('.').unwrap_or((key, ""));
    let table = known.iter().find(|known| known.table == element);
    match table {
        Some(table) => match &table.names {
            None => unknown_key_message(rest, &format!("[{}]", table.table), table.keys),
            Some(names) => {
                let (message, help) = unknown_element_message(rest, table, names);
                let help = suggest_global_key(key, known).unwrap_or(help);
                (message, help)
            }
        },
        None => {
            let near = suggest::nearest(element, known.iter().map(|known| known.table));
            let help = match near {
                Some(near) => format!("did you mean `{near}`? {EXAMPLE}"),
                None => EXAMPLE.to_owned(),
            };
            (format!("unknown setting `{key}`"), help)
        }
    }
}

/// Suggests the setting for all elements: `demand.scale` is `simulation.demand-scale`.
fn suggest_global_key(key: &str, known: &[OverrideTarget<'_>]) -> Option<String> {
    let joined = key.replace('.', "-");
    let mut tables = known.iter().filter(|known| known.names.is_none());
    let of = tables.find(|known| known.keys.iter().any(|key| key.name == joined))?;
    Some(format!("did you mean `{}.{joined}`?", of.table))
}

/// Returns the message for an unknown key of an existing element.
fn unknown_key_message(key: &str, what: &str, keys: &'static [Key]) -> (String, String) {
    if let Some(said) = other_variant_message(key, what, keys) {
        return said;
    }
    let message = format!("{what} has no key `{key}` that can be set");
    let many = |it: &&Key| it.many && key.split('.').next() == Some(it.name);
    if let Some(list) = keys.iter().find(many) {
        let inside = distinct_keys(list.tables).map(|key| key.name);
        let inside = inside.filter(|name| *name != NAME);
        let inside: Vec<&str> = inside.collect();
        let help = format!(
            "write `{}.NAME.KEY` with an existing name; keys: {}",
            list.name,
            inside.join(", ")
        );
        return (message, help);
    }
    let paths: Vec<String> = columns(keys)
        .iter()
        .map(|column| column.path.join("."))
        .collect();
    let inner: Vec<&str> = match key.split_once('.') {
        Some((table, _)) => {
            let start = format!("{table}.");
            let inside = |name: &&str| name.starts_with(&start);
            paths.iter().map(String::as_str).filter(inside).collect()
        }
        None => Vec::new(),
    };
    let help = match inner.as_slice() {
        [] => {
            let first = key.split('.').next().unwrap_or(key);
            suggest::help(first, "its keys", keys.iter().map(|key| key.name))
        }
        inner => suggest::help(key, "its keys", inner.iter().copied()),
    };
    (message, help)
}

/// Returns the message for a key of another variant of a tagged union.
fn other_variant_message(key: &str, what: &str, keys: &'static [Key]) -> Option<(String, String)> {
    let (table, inner) = key.split_once('.')?;
    let first = inner.split('.').next()?;
    let tables = keys.iter().find(|key| key.name == table)?.tables;
    let has = |keys: &&&'static [Key]| keys.iter().any(|key| key.name == first);
    let with = tables.iter().filter(has);
    let with: Vec<String> = with.filter_map(|keys| kind_of(tables, keys)).collect();
    if with.is_empty() || tables.len() < 2 {
        return None;
    }
    let message = format!(
        "`{key}` cannot be set here: {what} has no `{table}` with {}",
        with.join(" or ")
    );
    let kinds = tables.iter().map(|keys| {
        let names = keys.iter().map(|key| key.name);
        let names: Vec<&str> = names.collect();
        match kind_of(tables, keys) {
            Some(kind) => format!("with {kind}: {}", names.join(", ")),
            None => format!("one of: {}", names.join(", ")),
        }
    });
    let kinds: Vec<String> = kinds.collect();
    let whole = match with[0].split_once("` ") {
        Some((kind, words)) => {
            let word = words.split(',').next().unwrap_or(words);
            format!("{} = {word}", kind.trim_start_matches('`'))
        }
        None => format!("{} = …", with[0].trim_matches('`')),
    };
    let help = format!(
        "keys of `{table}`\n{}\nset the whole table: `{table}={{ {whole}, {first} = … }}`",
        kinds.join("\n")
    );
    Some((message, help))
}

/// Returns the message for an element name or pattern that is followed by an unknown key or none.
fn unknown_element_message(
    rest: &str,
    table: &OverrideTarget<'_>,
    names: &[&str],
) -> (String, String) {
    let what = table.table;
    if names.iter().any(|it| matches_link_name(rest, it)) {
        let message = format!("missing key of {what} `{rest}`: write `{what}.{rest}.KEY=VALUE`");
        let keys = table.keys.iter().map(|key| key.name);
        return (message, suggest::help("", "its keys", keys));
    }
    // Names may contain points, so every point is tried as the end of the name.
    let mut cuts = rest.match_indices('.').map(|(at, _)| rest.split_at(at));
    let known = cuts.find(|(name, _)| names.iter().any(|it| matches_link_name(name, it)));
    if let Some((name, key)) = known {
        return unknown_key_message(&key[1..], &format!("{what} `{name}`"), table.keys);
    }
    let first_key = |key: &str| {
        let first = key.split('.').next().unwrap_or(key);
        table.keys.iter().any(|key| key.name == first)
    };
    let mut cuts = rest.match_indices('.').map(|(at, _)| rest.split_at(at));
    let name = cuts
        .find(|(_, key)| first_key(&key[1..]))
        .or_else(|| rest.rfind('.').map(|at| rest.split_at(at)))
        .map_or(rest, |(name, _)| name);
    let message = if name.contains('*') {
        format!("no {what} matches `{name}`")
    } else {
        format!("unknown {what} `{name}`")
    };
    let kind = format!("{what}s");
    let near = suggest::nearest(name, names.iter().copied());
    (
        message,
        suggest::given_list_help(name, near, &kind, names.iter().copied()),
    )
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_element, matches_link_name, replaces_all};

    #[test]
    fn both_directions_have_one_name() {
        for (pattern, name) in [
            ("link.A<->B", "link.A->B"),
            ("link.B<->A", "link.A->B"),
            ("link.N.1<->N.2", "link.N.2->N.1"),
            ("link.R*<->*", "link.X->R7"),
            ("link.*", "link.A->B"),
            ("connection.a<->b", "connection.a<->b"),
            ("link.A<->B#2", "link.A->B#2"),
            ("link.A<->B#2", "link.B->A#2"),
            ("link.A<->B#*", "link.B->A#2"),
            ("link.A<->B#2", "link.B#2->A"),
        ] {
            assert!(matches_element(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("link.A<->B", "link.A->C"),
            ("link.A->B", "link.B->A"),
            ("link.A<->B", "connection.A->B"),
            ("link.A<->B", "link.A->B#2"),
            ("link.A<->B#2", "link.A->B"),
            ("link.A<->B#2", "link.B->A#3"),
        ] {
            assert!(!matches_element(pattern, name), "{pattern} {name}");
        }
        assert!(matches_link_name("A<->B", "B->A"));
    }

    #[test]
    fn later_override_replaces_whole_earlier_one() {
        for (later, earlier) in [
            ("link.*.bandwidth", "link.A->B.bandwidth"),
            ("link.*.bandwidth", "link.A<->B.bandwidth"),
            ("link.*.bandwidth", "link.R*->N.1.bandwidth"),
            ("link.*->B.queue.min", "link.A->B.queue.min"),
            ("link.A<->B.delay", "link.B->A.delay"),
            ("link.A<->B.delay", "link.B<->A.delay"),
            ("link.A<->B#2.delay", "link.B<->A#2.delay"),
            ("link.A->B.queue", "link.A->B.queue.min"),
            ("connection.c*.count", "connection.c1.count"),
            ("link.*.class.*.weight", "link.A->B.class.gold.weight"),
        ] {
            assert!(replaces_all(later, earlier), "{later} {earlier}");
        }
        for (later, earlier) in [
            ("link.A->B.bandwidth", "link.*.bandwidth"),
            ("link.A->B.bandwidth", "link.A<->B.bandwidth"),
            ("link.A*.bandwidth", "link.A<->B.bandwidth"),
            ("link.*.delay", "link.A->B.bandwidth"),
            ("link.*.buffer", "link.A->B.class.gold.buffer"),
            ("connection.*.delay", "link.A->B.delay"),
            ("link.A->B.queue.min", "link.A->B.queue"),
            ("link.A->B.buffer", "link.A->B.buffers.x"),
        ] {
            assert!(!replaces_all(later, earlier), "{later} {earlier}");
        }
    }

    #[test]
    fn star_matches_any_text() {
        for (pattern, name) in [
            ("link.*", "link.A->B"),
            ("link.R*->*", "link.R1->N.2"),
            ("link.*->B", "link.A->B"),
            ("connection.c*1*", "connection.c1"),
            ("a*b*b", "abb"),
            ("*", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("link.R*", "link.A->R"),
            ("link.A->B", "link.A->BC"),
            ("link.*->B", "link.A->C"),
            ("a*b*b", "ab"),
            ("ab*ba", "aba"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
