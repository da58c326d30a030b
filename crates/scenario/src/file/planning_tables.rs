//! CSV tables of `netflow plan`: modules that links can get, and candidates for new links.

use std::path::Path;

use netflow_document::{
    Allowed, Element, FileId, Findings, ProblemKind, Problems, Quantity, Section, SourceSpan,
    Spanned, Table, load, matches_link_name, read_header, table,
};
use netflow_files::FileKind;
use netflow_units::{BitsPerSecond, Rate, Seconds, link_name};

use super::{RateSetting, Time, allowed};
use crate::former_names::FORMER_NAMES;

const CAPACITY: Allowed<Quantity<Rate>> = Allowed {
    test: |it| matches!(it.0, Rate::BitsPerSecond(bps) if bps.get() >= 1.0),
    text: "at least 1 bit/s",
};
const MODULE_COST: Allowed<f64> = Allowed {
    test: |cost| *cost > 0.0 && *cost <= 1e15,
    text: "above 0, at most 1e15",
};
const LINK_COST: Allowed<f64> = Allowed {
    test: |cost| (0.0..=1e15).contains(cost),
    text: "0 to 1e15",
};

/// Capacity that can be added to a link, any number of times.
#[table(name = "module")]
pub struct ModuleRow {
    /// Names of the links that can have the module, as in `--set`: `A<->B`, or a pattern with `*`. Default: all links.
    #[key(example = "A<->B")]
    pub link: Option<Spanned<String>>,
    /// Bandwidth that a module adds, in each direction.
    #[key(allowed = CAPACITY, example = "10 Gbit/s")]
    pub capacity: RateSetting,
    /// Cost of a module, in any unit.
    #[key(allowed = MODULE_COST, example = 20)]
    pub cost: Spanned<f64>,
}

impl ModuleRow {
    /// Returns the bandwidth in bit/s that a module adds.
    pub fn capacity_bps(&self) -> f64 {
        self.capacity.get()
    }

    /// Returns whether a physical link can have this module.
    pub fn applies_to(&self, link: &str) -> bool {
        let Some(pattern) = &self.link else {
            return true;
        };
        // Either direction stands for the link.
        let either = link.split_once("<->").map(|(a, rest)| {
            let (b, circuit) = match rest.split_once('#') {
                Some((b, circuit)) => (b, Some(circuit)),
                None => (rest, None),
            };
            let of = |from, to| matches_link_name(pattern, &link_name(from, to, circuit));
            of(a, b) || of(b, a)
        });
        pattern.as_str() == link || either.unwrap_or_else(|| matches_link_name(pattern, link))
    }
}

/// Link that can be built, in both directions. Its bandwidth is that of its modules.
#[table(name = "candidate")]
pub struct CandidateRow {
    /// Node at the start of the link.
    #[key(allowed = allowed::END, example = "A")]
    pub from: Spanned<String>,
    /// Node at the end of the link.
    #[key(allowed = allowed::END, example = "B")]
    pub to: Spanned<String>,
    /// Name that distinguishes it from other links between the same nodes.
    #[key(allowed = allowed::CIRCUIT, example = "2")]
    pub circuit: Option<Spanned<String>>,
    /// Propagation delay in each direction. Default: 0 s.
    #[key(allowed = allowed::DELAY, example = "2 ms")]
    pub delay: Option<Time>,
    /// Routing metric in both directions, if the links of the scenario have one.
    #[key(allowed = allowed::METRIC, example = 10)]
    pub metric: Option<Spanned<f64>>,
    /// Cost of the link without its modules. Default: 0.
    #[key(allowed = LINK_COST, example = 50)]
    pub cost: Option<Spanned<f64>>,
}

impl CandidateRow {
    /// Returns its name as a physical link.
    pub fn name(&self) -> String {
        let circuit = self
            .circuit
            .as_ref()
            .map_or(String::new(), |it| format!("#{}", it.as_str()));
        format!("{}<->{}{circuit}", self.from.as_str(), self.to.as_str())
    }

    /// Returns the keys of its link with this bandwidth, each as `key = value` in TOML.
    pub fn keys(&self, bandwidth: BitsPerSecond) -> Vec<String> {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let circuit = self.circuit.as_ref();
        let delay = self.delay.as_ref();
        let metric = self.metric.as_ref();
        [
            Some(format!("from = {}", quoted(&self.from))),
            Some(format!("to = {}", quoted(&self.to))),
            circuit.map(|it| format!("circuit = {}", quoted(it))),
            Some(format!("bandwidth = \"{bandwidth}\"")),
            delay.map(|it| format!("delay = \"{}\"", Seconds(it.get()))),
            metric.map(|it| format!("metric = {}", toml::Value::from(**it))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Reads a table of modules.
///
/// # Errors
/// Everything that is wrong with it; an empty table.
pub fn read_modules(path: &Path) -> Result<Vec<ModuleRow>, Problems> {
    let help = "write a row for each module, for example `10 Gbit/s,20` below `capacity,cost`";
    load(path, FileKind::Table, |text, file, findings| {
        read_rows::<ModuleRow>(text, file, findings, help)
    })
}

/// Reads a table of candidates for new links.
///
/// # Errors
/// Everything that is wrong with it; an empty table.
pub fn read_candidates(path: &Path) -> Result<Vec<CandidateRow>, Problems> {
    let help = "write a row for each link, for example `A,B,2 ms,50` below `from,to,delay,cost`";
    load(path, FileKind::Table, |text, file, findings| {
        read_rows::<CandidateRow>(text, file, findings, help)
    })
}

fn read_rows<T: Element + Table>(
    text: &str,
    file: FileId,
    findings: &mut Findings,
    help: &str,
) -> Option<Vec<T>> {
    let (mut csv, mut row) = read_header::<T>(file, text, FORMER_NAMES, findings)?;
    let mut rows = Vec::new();
    while csv.next(&mut row, findings) {
        let place = row.place().unwrap_or(SourceSpan::new(file, 0..0));
        let keys = const { &[T::KEYS] };
        rows.push(T::read_section(Section::new(
            findings,
            "this row",
            row.fields(),
            place,
            keys,
        )));
    }
    if rows.is_empty() && !findings.has_errors() {
        let message = format!("the table has no {}s", T::NAME);
        let finding = findings.error(ProblemKind::Missing, SourceSpan::new(file, 0..0), message);
        finding.set_help(help.to_owned());
    }
    (!findings.has_errors()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(pattern: Option<&str>) -> ModuleRow {
        let link = pattern.map_or(String::new(), |it| it.to_owned());
        let text = format!("link,capacity,cost\n{link},10 Gbit/s,20\n");
        let rows = netflow_document::Sources::read_text(&text, |text, file, findings| {
            read_rows::<ModuleRow>(text, file, findings, "")
        });
        rows.unwrap().remove(0)
    }

    #[test]
    fn patterns_select_physical_links() {
        assert!(module(None).applies_to("A<->B"));
        for pattern in ["A<->B", "B<->A", "A->B", "B->A", "A*", "*"] {
            assert!(module(Some(pattern)).applies_to("A<->B"), "{pattern}");
        }
        assert!(!module(Some("A<->C")).applies_to("A<->B"));
        assert!(!module(Some("A<->B")).applies_to("A<->B#2"));
        assert!(module(Some("B<->A#2")).applies_to("A<->B#2"));
        assert!(module(Some("A->B")).applies_to("A->B"));
        assert!(!module(Some("B->A")).applies_to("A->B"));
    }

    #[test]
    fn candidates_become_links() {
        let text = "from,to,delay,metric,cost\nA \"x\",B,2 ms,10,50\n";
        let rows = netflow_document::Sources::read_text(text, |text, file, findings| {
            read_rows::<CandidateRow>(text, file, findings, "")
        });
        let row = rows.unwrap().remove(0);
        let text = row.keys(BitsPerSecond(2e10)).join("\n");
        let link: toml::Value = toml::from_str(&text).unwrap();
        assert_eq!(link["from"].as_str(), Some("A \"x\""));
        assert_eq!(link["bandwidth"].as_str(), Some("20 Gbit/s"));
        assert_eq!(link["delay"].as_str(), Some("2 ms"));
        assert_eq!(link["metric"].as_float(), Some(10.0));
    }
}
