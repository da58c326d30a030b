//! HTML page of a failure analysis: two maps and two tables, without a script.

use std::collections::HashMap;
use std::fmt::Write;

use crate::colours;
use crate::html::{digest, escaped, fill_template};
use crate::layout::layout;

const TEMPLATE: &str = include_str!("page/failures.html");
const STYLE: &str = include_str!("page/failures.css");

/// Width and maximum height of a map; flat networks are lower.
const WIDTH: f64 = 720.0;
const MAX_HEIGHT: f64 = 520.0;
/// Horizontal and vertical margin around the nodes for their labels.
const MARGIN: (f64, f64) = (44.0, 32.0);
/// Maximum height of the map of a small network: of no nodes, and for each node.
const SMALL_HEIGHT: (f64, f64) = (140.0, 30.0);
/// Number of nodes above which only the node under the pointer shows its name.
const MAX_NAMES: usize = 60;
/// Number of nodes above which a map is wider than a phone and can be scrolled.
const MAX_PHONE_NODES: usize = 8;
/// Number of colours of the scale.
const LEVELS: usize = 9;

/// Content of the page.
#[derive(Clone, Debug, Default)]
pub struct FailuresPage {
    /// Heading.
    pub title: String,
    /// Findings, one sentence each.
    pub findings: Vec<String>,
    /// Nodes; lines refer to them by index.
    pub nodes: Vec<FailingNode>,
    /// Links that fail, with both directions of a duplex link as one.
    pub failing: Vec<MapLine>,
    /// Directions of links with their utilization after the worst failure, 0–1.
    pub busy: Vec<MapLine>,
    /// Fraction of the goodput that corresponds to 100 % on the colour scale of the first map; 0 % is no
    /// loss.
    pub max_lost: f64,
    /// `max_lost` in words.
    pub max_lost_text: String,
    /// Table of cases.
    pub cases: PageTable,
    /// Table of links.
    pub links: PageTable,
}

/// A node of the maps.
#[derive(Clone, Debug)]
pub struct FailingNode {
    /// Name of the node.
    pub name: String,
    /// Position in the scenario, to the right and upwards.
    pub position: Option<(f64, f64)>,
    /// Effect of its failure.
    pub effect: Effect,
}

/// A line of a map.
#[derive(Clone, Debug)]
pub struct MapLine {
    /// Indices of its end nodes.
    pub ends: (usize, usize),
    /// Effect shown by the line.
    pub effect: Effect,
}

/// Effect shown at a node or line of a map.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Size of the effect.
    pub severity: Severity,
    /// Description with the name.
    pub text: String,
    /// Row in the table of cases, from 0.
    pub case: Option<usize>,
}

/// Size of an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Severity {
    /// Not simulated.
    NotSimulated,
    /// No steady state was found.
    NoSteadyState,
    /// Fraction, 0–1.
    Fraction(f64),
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct PageTable {
    /// Titles of the columns, and true for numeric columns.
    pub columns: Vec<(String, bool)>,
    /// Cells of the rows.
    pub rows: Vec<Vec<String>>,
    /// Number of omitted rows.
    pub omitted_rows: usize,
}

impl FailuresPage {
    /// Returns the page as HTML without external resources.
    pub fn html(&self) -> String {
        let style = [colours::STYLE, STYLE].concat();
        let policy = format!(
            "default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'",
            digest(&style)
        );
        let findings = self
            .findings
            .iter()
            .map(|it| format!("<li>{}</li>", escaped(it)));
        let positions = self.positions();
        let parts = [
            ("title", escaped(&self.title)),
            ("policy", policy),
            ("style", style),
            (
                "findings",
                format!("<ul>{}</ul>", findings.collect::<String>()),
            ),
            ("lost", self.failure_cost_map(&positions)),
            ("busy", self.worst_load_map(&positions)),
            ("cases", self.cases.html(Some("case"))),
            ("links", self.links.html(None)),
        ];
        fill_template(TEMPLATE, &parts)
    }

    /// Computes the positions of the nodes on the maps, and the height of the maps.
    fn positions(&self) -> Positions {
        let fixed: Vec<_> = self
            .nodes
            .iter()
            .map(|it| it.position.map(|(x, y)| (x, -y)))
            .collect();
        let lines: Vec<_> = self.busy.iter().map(|it| it.ends).collect();
        let positions = layout(self.nodes.len(), &lines, &fixed);
        let span = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let low = positions.iter().map(of).fold(f64::INFINITY, f64::min);
            let high = positions.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
            (low, (high - low).max(0.0))
        };
        let ((left, wide), (top, high)) = (span(&|it| it.0), span(&|it| it.1));
        let tallest = SMALL_HEIGHT.0 + SMALL_HEIGHT.1 * self.nodes.len() as f64;
        let tallest = tallest.min(MAX_HEIGHT);
        let room = (WIDTH - 2.0 * MARGIN.0, tallest - 2.0 * MARGIN.1);
        let fits = |room: f64, size: f64| {
            if size > 0.0 {
                room / size
            } else {
                f64::INFINITY
            }
        };
        let scale = fits(room.0, wide).min(fits(room.1, high));
        let scale = if scale.is_finite() { scale } else { 1.0 };
        let place = |&(x, y): &(f64, f64)| {
            let x = WIDTH / 2.0 + (x - left - wide / 2.0) * scale;
            (x, MARGIN.1 + (y - top) * scale)
        };
        let nodes: Vec<(f64, f64)> = positions.iter().map(place).collect();
        Positions {
            labels: labels(&self.nodes, &nodes),
            nodes,
            height: high * scale + 2.0 * MARGIN.1,
        }
    }

    fn failure_cost_map(&self, positions: &Positions) -> String {
        let fraction = |severity| match severity {
            Severity::Fraction(fraction) if self.max_lost > 0.0 => {
                Severity::Fraction(fraction / self.max_lost)
            }
            other => other,
        };
        let mut map = self.begin(
            "Map of links and nodes by the goodput that their failure costs",
            positions,
        );
        let ends = |line: &MapLine| (line.ends.0.min(line.ends.1), line.ends.0.max(line.ends.1));
        for (line, parallel_index) in self
            .failing
            .iter()
            .zip(parallel_index(self.failing.iter().map(ends)))
        {
            let offset = PARALLEL_SPACING * parallel_index as f64;
            map += &drawn_line(
                line,
                &positions.nodes,
                fraction(line.effect.severity),
                offset,
            );
        }
        for ((node, &place), label) in self
            .nodes
            .iter()
            .zip(&positions.nodes)
            .zip(&positions.labels)
        {
            map += &drawn_node(node, place, label, Some(fraction(node.effect.severity)));
        }
        map += "</svg></div>";
        let scale = format!("no goodput lost{}{}", scale(), escaped(&self.max_lost_text));
        map + &self.legend(
            &scale,
            self.failing
                .iter()
                .map(|it| &it.effect)
                .chain(self.nodes.iter().map(|it| &it.effect)),
        )
    }

    fn worst_load_map(&self, positions: &Positions) -> String {
        let mut map = self.begin(
            "Map of links by their highest load under failures",
            positions,
        );
        for (line, parallel_index) in self
            .busy
            .iter()
            .zip(parallel_index(self.busy.iter().map(|it| it.ends)))
        {
            let offset = PARALLEL_SPACING * (0.5 + parallel_index as f64);
            map += &drawn_line(line, &positions.nodes, line.effect.severity, offset);
        }
        for ((node, &place), label) in self
            .nodes
            .iter()
            .zip(&positions.nodes)
            .zip(&positions.labels)
        {
            map += &drawn_node(node, place, label, None);
        }
        map += "</svg></div>";
        let scale = format!("load 0 %{}100 % and more", scale());
        map + &self.legend(&scale, self.busy.iter().map(|it| &it.effect))
    }

    fn begin(&self, label: &str, positions: &Positions) -> String {
        let height = positions.height;
        let many = match self.nodes.len() {
            nodes if nodes > MAX_NAMES => " many",
            nodes if nodes > MAX_PHONE_NODES => " several",
            _ => "",
        };
        format!(
            "<div class=\"map{many}\"><svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{label}; the tables below contain the same values\">"
        )
    }

    fn legend<'a>(&self, scale: &str, effects: impl Iterator<Item = &'a Effect>) -> String {
        let mut legend = format!("<div class=\"legend\"><span>{scale}</span>");
        let mut met = [false; 2];
        for effect in effects {
            match effect.severity {
                Severity::NotSimulated => met[0] = true,
                Severity::NoSteadyState => met[1] = true,
                Severity::Fraction(_) => {}
            }
        }
        let kinds = [
            ("untried", "failure not simulated"),
            ("restless", "no steady state"),
        ];
        for ((class, text), _) in kinds.into_iter().zip(met).filter(|(_, met)| *met) {
            let line = format!(
                "<line class=\"{class}\" x1=\"2\" y1=\"5\" x2=\"32\" y2=\"5\" stroke-width=\"4\"/>"
            );
            let svg = format!(
                "<svg class=\"one\" viewBox=\"0 0 34 10\" aria-hidden=\"true\">{line}</svg>"
            );
            legend += &format!("<span>{svg}{text}</span>");
        }
        legend + "</div>"
    }
}

/// Positions of the nodes and of their names on a map, and its height.
struct Positions {
    nodes: Vec<(f64, f64)>,
    labels: Vec<Label>,
    height: f64,
}

/// Name of a node on a map, relative to the node.
struct Label {
    text: String,
    offset: (f64, f64),
    anchor: &'static str,
    /// True if it overlaps another node or name.
    is_crowded: bool,
}

/// Radius of a node with its outline.
const NODE_RADIUS: f64 = 8.0;
/// Approximate width of a character, and height of a line.
const CHARACTER: (f64, f64) = (6.6, 13.0);
/// Positions of a name relative to its node, best first: above, on the right, on the left, below.
const LABEL_PLACES: [(f64, f64, &str); 6] = [
    (0.0, -12.0, "middle"),
    (-7.0, -12.0, "start"),
    (7.0, -12.0, "end"),
    (12.0, 4.0, "start"),
    (-12.0, 4.0, "end"),
    (0.0, 21.0, "middle"),
];

/// Places the names of nodes where they overlap no other node or name.
fn labels(nodes: &[FailingNode], places: &[(f64, f64)]) -> Vec<Label> {
    // Areas are left, top, right and bottom.
    let overlap =
        |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let disc = |&(x, y): &(f64, f64)| {
        [
            x - NODE_RADIUS,
            y - NODE_RADIUS,
            x + NODE_RADIUS,
            y + NODE_RADIUS,
        ]
    };
    let mut taken: Vec<[f64; 4]> = places.iter().map(disc).collect();
    let mut labels = Vec::with_capacity(nodes.len());
    for (node, (x, y)) in nodes.iter().zip(places) {
        let mut text: String = node.name.chars().take(26).collect();
        if text.len() < node.name.len() {
            text.push('…');
        }
        let width = CHARACTER.0 * text.chars().count() as f64;
        let area = |(dx, dy, anchor): (f64, f64, &str)| {
            let left = match anchor {
                "start" => x + dx,
                "end" => x + dx - width,
                _ => x + dx - width / 2.0,
            };
            let bottom = y + dy + 3.0;
            [left, bottom - CHARACTER.1, left + width, bottom]
        };
        let is_inside = |it: &[f64; 4]| it[0] >= 0.0 && it[2] <= WIDTH;
        let free = LABEL_PLACES.into_iter().find(|&it| {
            let area = area(it);
            is_inside(&area) && !taken.iter().any(|other| overlap(&area, other))
        });
        let inside = LABEL_PLACES.into_iter().find(|&it| is_inside(&area(it)));
        let (dx, dy, anchor) = free.or(inside).unwrap_or(LABEL_PLACES[0]);
        if free.is_some() {
            taken.push(area((dx, dy, anchor)));
        }
        labels.push(Label {
            text,
            offset: (dx, dy),
            anchor,
            is_crowded: free.is_none(),
        });
    }
    labels
}

/// Draws the colours in a row.
fn scale() -> String {
    let mut svg = "<svg viewBox=\"0 0 126 10\" aria-hidden=\"true\">".to_owned();
    for level in 0..LEVELS {
        let x = 14 * level;
        let _ = write!(
            svg,
            "<rect class=\"l{level}\" x=\"{x}\" y=\"0\" width=\"14\" height=\"10\"/>"
        );
    }
    svg + "</svg>"
}

fn class(severity: Severity) -> String {
    match severity {
        Severity::NotSimulated => "untried".to_owned(),
        Severity::NoSteadyState => "restless".to_owned(),
        Severity::Fraction(fraction) => {
            // NaN gets the first colour.
            let fraction = if fraction.is_nan() { 0.0 } else { fraction };
            let level = (fraction.clamp(0.0, 1.0) * (LEVELS - 1) as f64).round();
            format!("l{level}")
        }
    }
}

/// Adds the title to a map element, and a link to its row in the table.
fn with_link(effect: &Effect, inside: &str) -> String {
    let title = format!("<title>{}</title>", escaped(&effect.text));
    match effect.case {
        Some(case) => format!("<a href=\"#case-{case}\">{title}{inside}</a>"),
        None => format!("<g>{title}{inside}</g>"),
    }
}

/// Distance between parallel lines.
const PARALLEL_SPACING: f64 = 6.0;

/// Returns for each line the number of earlier lines between the same nodes.
fn parallel_index(ends: impl Iterator<Item = (usize, usize)>) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
    ends.map(move |ends| {
        let count = seen.entry(ends).or_default();
        *count += 1;
        *count - 1
    })
}

/// Draws a line, shifted to its right by `offset`.
fn drawn_line(line: &MapLine, positions: &[(f64, f64)], severity: Severity, offset: f64) -> String {
    let at = |place: usize| positions.get(place).copied();
    let (Some(a), Some(b)) = (at(line.ends.0), at(line.ends.1)) else {
        return String::new();
    };
    let (x, y) = (b.0 - a.0, b.1 - a.1);
    let far = (x * x + y * y).sqrt().max(1e-9);
    let (x, y) = (-y / far * offset, x / far * offset);
    let class = class(severity);
    let inside = format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"5\"/>",
        a.0 + x,
        a.1 + y,
        b.0 + x,
        b.1 + y
    );
    with_link(&line.effect, &inside)
}

/// Draws a node, coloured by the effect of its failure if the map shows failures.
fn drawn_node(
    node: &FailingNode,
    (x, y): (f64, f64),
    label: &Label,
    severity: Option<Severity>,
) -> String {
    let class = severity.map_or_else(String::new, |it| format!(" class=\"{}\"", class(it)));
    let crowded = if label.is_crowded {
        " class=\"crowded\""
    } else {
        ""
    };
    let inside = format!(
        "<circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/><text{crowded} x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}</text>",
        x + label.offset.0,
        y + label.offset.1,
        label.anchor,
        escaped(&label.text)
    );
    match severity {
        Some(_) => with_link(&node.effect, &inside),
        None => format!("<g><title>{}</title>{inside}</g>", escaped(&node.name)),
    }
}

impl PageTable {
    /// Returns the table as HTML. The rows get ids of this word and their index.
    fn html(&self, word: Option<&str>) -> String {
        let class = |number: bool| if number { " class=\"n\"" } else { "" };
        let mut table = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>".to_owned();
        for (title, number) in &self.columns {
            let _ = write!(
                table,
                "<th scope=\"col\"{}>{}</th>",
                class(*number),
                escaped(title)
            );
        }
        table += "</tr></thead><tbody>";
        for (i, row) in self.rows.iter().enumerate() {
            let id = word.map_or_else(String::new, |word| format!(" id=\"{word}-{i}\""));
            let _ = write!(table, "<tr{id}>");
            for (cell, (_, number)) in row.iter().zip(&self.columns) {
                let _ = write!(table, "<td{}>{}</td>", class(*number), escaped(cell));
            }
            table += "</tr>";
        }
        table += "</tbody></table></div>";
        if self.omitted_rows > 0 {
            let _ = write!(table, "<p>… and {} more.</p>", self.omitted_rows);
        }
        table
    }
}
