//! Failure analysis as a page.

use std::path::Path;

use netflow_network::{LinkId, NodeId};
use netflow_report::{Effect, FailingNode, FailuresPage, MapLine, Severity};
use netflow_scenario::NodeAnnotation;
use netflow_steady::Failing;
use netflow_steady::rows::LinkUnderFailureRow;

use super::FailureReport;
use super::narrative::case_line;
use crate::number::percent;

/// Maximum number of table rows, because longer pages are slow.
const MAX_ROWS: usize = 2000;

impl FailureReport<'_> {
    /// Returns a page with maps of the effects of failures and of link loads. `scenario` is the
    /// path of the scenario, `notes` the positions of its nodes.
    pub fn page(&self, scenario: &Path, notes: &[NodeAnnotation]) -> FailuresPage {
        let network = self.network;
        let effects = Effects {
            report: self,
            ranked: self.failures.ranked(),
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
            ends: ends(self, id),
            effect: effects.of(&network.physical_link_name(id), |failing| {
                effects.takes_down(failing, id)
                    || other.is_some_and(|it| effects.takes_down(failing, it))
            }),
        });
        let failing: Vec<MapLine> = failing.collect();
        let busy = network.links().zip(&self.links).map(|(id, row)| MapLine {
            ends: ends(self, id),
            effect: Effect {
                severity: Severity::Fraction(row.max_load),
                text: load_text(row),
                case: row.case.filter(|&case| case < MAX_ROWS),
            },
        });
        let severities = nodes.iter().map(|it| it.effect.severity);
        let severities = severities.chain(failing.iter().map(|it| it.effect.severity));
        let most_lost = severities.fold(0.0, |most: f64, severity| match severity {
            Severity::Fraction(part) => most.max(part),
            Severity::NotSimulated | Severity::NoSteadyState => most,
        });
        FailuresPage {
            title: match scenario.file_name() {
                Some(name) => format!("Failures of {}", name.display()),
                None => "Failures".to_owned(),
            },
            findings: self.summary(),
            busy: busy.collect(),
            nodes,
            failing,
            max_lost: most_lost,
            max_lost_text: format!("{} lost", percent(most_lost)),
            cases: self.case_table(MAX_ROWS),
            links: self.link_table(MAX_ROWS),
        }
    }
}

fn ends(seen: &FailureReport<'_>, id: LinkId) -> (usize, usize) {
    let spec = seen.network.link_spec(id);
    (spec.from.index(), spec.to.index())
}

fn load_text(row: &LinkUnderFailureRow<'_>) -> String {
    let (now, worst) = (percent(row.load), percent(row.max_load));
    match &row.failure {
        Some(failure) => format!("{}: load {now}, {worst} if {failure} fails", row.link),
        None => format!("{}: load {now}, and no failure raises it", row.link),
    }
}

/// Effects of failures, by failed component.
struct Effects<'a> {
    report: &'a FailureReport<'a>,
    ranked: Vec<usize>,
}

impl Effects<'_> {
    /// Returns the effect of the worst case in which a component matching `fails` fails.
    fn of(&self, name: &str, fails: impl Fn(Failing) -> bool) -> Effect {
        let cases = self.ranked.iter().map(|&i| &self.report.failures.cases[i]);
        let mut cases = cases.zip(&self.report.cases).enumerate();
        let found = cases.find(|(_, (case, _))| case.failing.iter().any(|&it| fails(it)));
        let Some((row, (_, case))) = found else {
            return Effect {
                severity: Severity::NotSimulated,
                text: format!("{name} does not fail here"),
                case: None,
            };
        };
        Effect {
            severity: match case.lost_goodput {
                Some(part) => Severity::Fraction(part.max(0.0)),
                None => Severity::NoSteadyState,
            },
            text: case_line(case),
            case: Some(row).filter(|&row| row < MAX_ROWS),
        }
    }

    /// Returns whether the failure affects this link, directly or through its risk group.
    fn takes_down(&self, failing: Failing, link: LinkId) -> bool {
        match failing {
            Failing::Link(id) => id == link,
            Failing::Node(_) => false,
            Failing::Group(place) => {
                let group = self.report.network.risk_groups().nth(place);
                group.is_some_and(|(_, links)| links.contains(&link))
            }
        }
    }
}
