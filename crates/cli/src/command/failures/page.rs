//! Failures as a page.

use netflow::number::percent;
use netflow::report::{Effect, FailingNode, FailuresPage, MapLine, Rows, Strength};
use netflow::scenario::NodeNote;
use netflow::simulation::{LinkId, NodeId};
use netflow::steady::Failing;
use netflow::steady::rows::{FailureRow, LinkUnderFailureRow};

use super::Seen;
use super::print::{summary, table_of_cases, table_of_links, told};
use crate::output::table::Table;

/// Rows of a table at most: more make a page slow, and nobody reads them.
const MOST_ROWS: usize = 2000;

/// The page about these rows.
pub fn page(
    seen: &Seen<'_>,
    title: String,
    notes: &[NodeNote],
    cases: &[FailureRow<'_>],
    links: &[LinkUnderFailureRow<'_>],
) -> FailuresPage {
    let network = seen.network;
    let effects = Effects {
        seen,
        ranked: seen.found.ranked(),
        cases,
    };
    let note = |id: NodeId| notes.iter().find(|it| it.node == id);
    let nodes = network.nodes().map(|id| FailingNode {
        name: network.node_name(id).to_owned(),
        position: note(id).and_then(|it| it.position),
        effect: effects.of(network.node_name(id), |failing| {
            failing == Failing::Node(id)
        }),
    });
    let nodes: Vec<FailingNode> = nodes.collect();
    let failing = network.physical_links().map(|(id, other)| MapLine {
        ends: ends(seen, id),
        effect: effects.of(&network.physical_link_name(id), |failing| {
            effects.takes_down(failing, id)
                || other.is_some_and(|it| effects.takes_down(failing, it))
        }),
    });
    let failing: Vec<MapLine> = failing.collect();
    let busy = network.links().zip(links).map(|(id, row)| MapLine {
        ends: ends(seen, id),
        effect: Effect {
            strength: Strength::Part(row.max_utilization),
            text: busy(row),
            case: row.case.filter(|&case| case < MOST_ROWS),
        },
    });
    let strengths = nodes.iter().map(|it| it.effect.strength);
    let strengths = strengths.chain(failing.iter().map(|it| it.effect.strength));
    let most_lost = strengths.fold(0.0, |most: f64, strength| match strength {
        Strength::Part(part) => most.max(part),
        Strength::Untried | Strength::Restless => most,
    });
    FailuresPage {
        title,
        told: summary(seen, cases),
        busy: busy.collect(),
        nodes,
        failing,
        most_lost,
        most_lost_text: format!("{} lost", percent(most_lost)),
        cases: rows(&table_of_cases(cases)),
        links: rows(&table_of_links(links)),
    }
}

fn ends(seen: &Seen<'_>, id: LinkId) -> (usize, usize) {
    let spec = seen.network.link_spec(id);
    (spec.from.index(), spec.to.index())
}

fn busy(row: &LinkUnderFailureRow<'_>) -> String {
    let (now, worst) = (percent(row.utilization), percent(row.max_utilization));
    match &row.failure {
        Some(failure) => format!("{}: {now} busy, {worst} if {failure} fails", row.link),
        None => format!("{}: {now} busy, and no failure makes it busier", row.link),
    }
}

fn rows<T>(table: &Table<'_, T>) -> Rows {
    let (columns, rows) = table.cells(MOST_ROWS);
    Rows {
        left_out: table.len() - rows.len(),
        columns,
        rows,
    }
}

/// What failures do, by what fails.
struct Effects<'a> {
    seen: &'a Seen<'a>,
    ranked: Vec<usize>,
    /// In the order of their rank.
    cases: &'a [FailureRow<'a>],
}

impl Effects<'_> {
    /// Of the worst case in which something like this fails.
    fn of(&self, name: &str, fails: impl Fn(Failing) -> bool) -> Effect {
        let cases = self.ranked.iter().map(|&i| &self.seen.found.cases[i]);
        let mut cases = cases.zip(self.cases).enumerate();
        let found = cases.find(|(_, (case, _))| case.failing.iter().any(|&it| fails(it)));
        let Some((row, (_, case))) = found else {
            return Effect {
                strength: Strength::Untried,
                text: format!("{name} does not fail here"),
                case: None,
            };
        };
        Effect {
            strength: match case.lost_goodput {
                Some(part) => Strength::Part(part.max(0.0)),
                None => Strength::Restless,
            },
            text: told(case),
            case: Some(row).filter(|&row| row < MOST_ROWS),
        }
    }

    /// Whether it is a failure of this link, or of a group that it is in.
    fn takes_down(&self, failing: Failing, link: LinkId) -> bool {
        match failing {
            Failing::Link(id) => id == link,
            Failing::Node(_) => false,
            Failing::Group(place) => {
                let group = self.seen.network.risk_groups().nth(place);
                group.is_some_and(|(_, links)| links.contains(&link))
            }
        }
    }
}
