//! HTML page of a failure analysis: two maps and two tables, without a script.

use std::collections::HashMap;
use std::fmt::Write;

use crate::colours;
use crate::html::{digest, escaped, filled};
use crate::layout::layout;

const TEMPLATE: &str = include_str!("page/failures.html");
const STYLE: &str = include_str!("page/failures.css");

/// Width and maximum height of a map; flat networks are lower.
const WIDTH: f64 = 720.0;
const MOST_HEIGHT: f64 = 520.0;
/// Horizontal and vertical margin around the nodes for their labels.
const MARGIN: (f64, f64) = (44.0, 32.0);
/// Number of nodes above which only the node under the pointer shows its name.
const MOST_NAMES: usize = 60;
/// Number of colours of the scale.
const LEVELS: usize = 9;

/// Content of the page.
#[derive(Clone, Debug, Default)]
pub struct FailuresPage {
    /// Heading.
    pub title: String,
    /// Findings, one sentence each.
    pub told: Vec<String>,
    /// Nodes; lines refer to them by index.
    pub nodes: Vec<FailingNode>,
    /// Links that fail, with both directions of a duplex link as one.
    pub failing: Vec<MapLine>,
    /// Directions of links with their utilization after the worst failure, 0–1.
    pub busy: Vec<MapLine>,
    /// Fraction of the goodput that corresponds to 100 % on the colour scale of the first map; 0 % is no
    /// loss.
    pub most_lost: f64,
    /// `most_lost` in words.
    pub most_lost_text: String,
    /// Table of cases.
    pub cases: Rows,
    /// Table of links.
    pub links: Rows,
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
    pub strength: Strength,
    /// Description with the name.
    pub text: String,
    /// Row in the table of cases, from 0.
    pub case: Option<usize>,
}

/// Size of an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// Not simulated.
    Untried,
    /// No steady state was found.
    Restless,
    /// Fraction, 0–1.
    Part(f64),
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Titles of the columns, and true for numeric columns.
    pub columns: Vec<(String, bool)>,
    /// Cells of the rows.
    pub rows: Vec<Vec<String>>,
    /// Number of omitted rows.
    pub left_out: usize,
}

impl FailuresPage {
    /// Returns the page as HTML without external resources.
    pub fn html(&self) -> String {
        let style = [colours::STYLE, STYLE].concat();
        let policy = format!(
            "default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'",
            digest(&style)
        );
        let told = self
            .told
            .iter()
            .map(|it| format!("<li>{}</li>", escaped(it)));
        let places = self.places();
        let parts = [
            ("title", escaped(&self.title)),
            ("policy", policy),
            ("style", style),
            ("told", format!("<ul>{}</ul>", told.collect::<String>())),
            ("lost", self.lost(&places)),
            ("busy", self.busy(&places)),
            ("cases", self.cases.html(Some("case"))),
            ("links", self.links.html(None)),
        ];
        filled(TEMPLATE, &parts)
    }

    /// Computes the positions of the nodes on the maps, and the height of the maps.
    fn places(&self) -> Places {
        let fixed: Vec<_> = self
            .nodes
            .iter()
            .map(|it| it.position.map(|(x, y)| (x, -y)))
            .collect();
        let lines: Vec<_> = self.busy.iter().map(|it| it.ends).collect();
        let places = layout(self.nodes.len(), &lines, &fixed);
        let span = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let low = places.iter().map(of).fold(f64::INFINITY, f64::min);
            let high = places.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
            (low, (high - low).max(0.0))
        };
        let ((left, wide), (top, high)) = (span(&|it| it.0), span(&|it| it.1));
        let room = (WIDTH - 2.0 * MARGIN.0, MOST_HEIGHT - 2.0 * MARGIN.1);
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
        Places {
            nodes: places.iter().map(place).collect(),
            height: high * scale + 2.0 * MARGIN.1,
        }
    }

    fn lost(&self, places: &Places) -> String {
        let part = |strength| match strength {
            Strength::Part(part) if self.most_lost > 0.0 => Strength::Part(part / self.most_lost),
            other => other,
        };
        let mut map = self.begin("Map of links and nodes by what their failure costs", places);
        let ends = |line: &MapLine| (line.ends.0.min(line.ends.1), line.ends.0.max(line.ends.1));
        for (line, beside) in self
            .failing
            .iter()
            .zip(beside(self.failing.iter().map(ends)))
        {
            let aside = BESIDE * beside as f64;
            map += &drawn_line(line, &places.nodes, part(line.effect.strength), aside);
        }
        for (node, &place) in self.nodes.iter().zip(&places.nodes) {
            map += &drawn_node(node, place, Some(part(node.effect.strength)));
        }
        map += "</svg>";
        let scale = format!(
            "no goodput lost{}{}",
            scale(),
            escaped(&self.most_lost_text)
        );
        map + &self.legend(
            &scale,
            self.failing
                .iter()
                .map(|it| &it.effect)
                .chain(self.nodes.iter().map(|it| &it.effect)),
        )
    }

    fn busy(&self, places: &Places) -> String {
        let mut map = self.begin("Map of links by their highest load under failures", places);
        for (line, beside) in self
            .busy
            .iter()
            .zip(beside(self.busy.iter().map(|it| it.ends)))
        {
            let aside = BESIDE * (0.5 + beside as f64);
            map += &drawn_line(line, &places.nodes, line.effect.strength, aside);
        }
        for (node, &place) in self.nodes.iter().zip(&places.nodes) {
            map += &drawn_node(node, place, None);
        }
        map += "</svg>";
        let scale = format!("load 0{}100 % and more", scale());
        map + &self.legend(&scale, self.busy.iter().map(|it| &it.effect))
    }

    fn begin(&self, label: &str, places: &Places) -> String {
        let height = places.height;
        let many = if self.nodes.len() > MOST_NAMES {
            " class=\"many\""
        } else {
            ""
        };
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{label}; the tables below have the same in words\"{many}>"
        )
    }

    fn legend<'a>(&self, scale: &str, effects: impl Iterator<Item = &'a Effect>) -> String {
        let mut legend = format!("<div class=\"legend\"><span>{scale}</span>");
        let mut met = [false; 2];
        for effect in effects {
            match effect.strength {
                Strength::Untried => met[0] = true,
                Strength::Restless => met[1] = true,
                Strength::Part(_) => {}
            }
        }
        let kinds = [
            ("untried", "does not fail here"),
            ("restless", "no rest after it"),
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

/// Positions of the nodes on a map, and its height.
struct Places {
    nodes: Vec<(f64, f64)>,
    height: f64,
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

fn class(strength: Strength) -> String {
    match strength {
        Strength::Untried => "untried".to_owned(),
        Strength::Restless => "restless".to_owned(),
        Strength::Part(part) => {
            // NaN gets the first colour.
            let part = if part.is_nan() { 0.0 } else { part };
            let level = (part.clamp(0.0, 1.0) * (LEVELS - 1) as f64).round();
            format!("l{level}")
        }
    }
}

/// Adds the title to a map element, and a link to its row in the table.
fn leading(effect: &Effect, inside: &str) -> String {
    let title = format!("<title>{}</title>", escaped(&effect.text));
    match effect.case {
        Some(case) => format!("<a href=\"#case-{case}\">{title}{inside}</a>"),
        None => format!("<g>{title}{inside}</g>"),
    }
}

/// Distance between parallel lines.
const BESIDE: f64 = 6.0;

/// Returns for each line the number of earlier lines between the same nodes.
fn beside(ends: impl Iterator<Item = (usize, usize)>) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
    ends.map(move |ends| {
        let count = seen.entry(ends).or_default();
        *count += 1;
        *count - 1
    })
}

/// Draws a line, shifted to its right by `aside`.
fn drawn_line(line: &MapLine, places: &[(f64, f64)], strength: Strength, aside: f64) -> String {
    let at = |place: usize| places.get(place).copied();
    let (Some(a), Some(b)) = (at(line.ends.0), at(line.ends.1)) else {
        return String::new();
    };
    let (x, y) = (b.0 - a.0, b.1 - a.1);
    let far = (x * x + y * y).sqrt().max(1e-9);
    let (x, y) = (-y / far * aside, x / far * aside);
    let class = class(strength);
    let inside = format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"5\"/>",
        a.0 + x,
        a.1 + y,
        b.0 + x,
        b.1 + y
    );
    leading(&line.effect, &inside)
}

/// Draws a node, coloured by the effect of its failure if the map shows failures.
fn drawn_node(node: &FailingNode, (x, y): (f64, f64), strength: Option<Strength>) -> String {
    let class = strength.map_or_else(String::new, |it| format!(" class=\"{}\"", class(it)));
    let anchor = match x {
        x if x < 2.0 * MARGIN.0 => "start",
        x if x > WIDTH - 2.0 * MARGIN.0 => "end",
        _ => "middle",
    };
    let mut name: String = node.name.chars().take(26).collect();
    if name.len() < node.name.len() {
        name.push('…');
    }
    let inside = format!(
        "<circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        y - 12.0,
        escaped(&name)
    );
    match strength {
        Some(_) => leading(&node.effect, &inside),
        None => format!("<g><title>{}</title>{inside}</g>", escaped(&node.name)),
    }
}

impl Rows {
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
        if self.left_out > 0 {
            let _ = write!(table, "<p>… and {} more.</p>", self.left_out);
        }
        table
    }
}
