//! Figure of the network map.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::PathBuf;

use netflow_results::{Results, quote};

use super::style::{Drawing, Style};
use crate::colours::{Rgb, scale};
use crate::html::escaped;
use crate::report::{name, topology};
use crate::rounding::Rounded;
use crate::{Error, data, map_data, run};

/// Number of nodes above which only the busiest are named.
const MAX_ALL_NAMES: usize = 45;
/// Number of the busiest nodes that are named in that case, and of links labelled with their utilization.
const MAX_LABELS: usize = 5;
/// Margin for names and for the colour scale, in font sizes.
const EDGE: f64 = 3.5;
/// Distance from a node within which a label would be mistaken for its name.
const LABEL_CLEARANCE: f64 = 8.0;
/// Utilizations of the colours of the scale, as on the page.
const COLOUR_STOPS: [f64; 5] = [0.0, 0.25, 0.5, 0.8, 1.0];
const INK: &str = "#1c232b";

/// Draws the network of one results directory. The colour of a link is its mean utilization, and its width
/// grows with its bandwidth. Each direction is drawn on its right-hand side.
///
/// # Errors
/// There is not exactly one directory, it cannot be read, or it has no links.
pub fn map_figure(directories: &[PathBuf], style: &Style) -> Result<Drawing, Error> {
    let [directory] = directories else {
        let what = "a map shows one results directory: name only one".to_owned();
        return Err(match directories {
            [] => Error::NoResults,
            _ => Error::NothingToShow(what),
        });
    };
    if let Some(panel) = style.panels.first() {
        let what = format!("a map has no panels: leave out `{panel}`");
        return Err(Error::NothingToShow(what));
    }
    let results = Results::open(directory)?;
    let topology = topology(&results)?;
    let run = run::read(&results, &topology, &name(directory, directories), 1)?;
    let map = map_data::map(&run, &topology);
    if map.links.is_empty() {
        return Err(Error::NothingToShow(
            "the results contain no links".to_owned(),
        ));
    }
    let drawing = MapDrawing::new(&run, &map, style);
    Ok(Drawing::new(&drawing.svg(), drawing.data()))
}

/// Bounding box of a label.
#[derive(Clone, Copy, Debug)]
struct LabelBox {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

impl LabelBox {
    fn expanded(&self, by: f64) -> LabelBox {
        LabelBox {
            x: self.x - by,
            y: self.y - by,
            w: self.w + 2.0 * by,
            h: self.h + 2.0 * by,
        }
    }

    fn overlaps(&self, other: &LabelBox) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }
}

struct DrawnLink<'a> {
    link: &'a data::Link,
    ends: [(f64, f64); 2],
    thick: f64,
}

struct MapDrawing<'a> {
    map: &'a data::Map,
    style: &'a Style,
    size: (f64, f64),
    places: Vec<(f64, f64)>,
    radius: f64,
    drawn_links: Vec<DrawnLink<'a>>,
}

impl<'a> MapDrawing<'a> {
    fn new(run: &'a data::Run, map: &'a data::Map, style: &'a Style) -> MapDrawing<'a> {
        let edge = EDGE * f64::from(style.font);
        let width = f64::from(style.width);
        let at: Vec<(f64, f64)> = map.nodes.iter().map(|it| (it.x.0, it.y.0)).collect();
        let span = |of: &dyn Fn(&(f64, f64)) -> f64, at: &[(f64, f64)]| {
            let low = at.iter().map(of).fold(f64::INFINITY, f64::min);
            let high = at.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
            (low, high - low)
        };
        let ((x0, dx), (y0, dy)) = (span(&|it| it.0, &at), span(&|it| it.1, &at));
        let room = (width - 2.0 * edge).max(1.0);
        let height = style.height.map(f64::from).unwrap_or_else(|| {
            let needed = if dx > 0.0 { room * dy / dx } else { room };
            (needed + 2.5 * edge).clamp(0.3 * width, width)
        });
        let tall = (height - 2.5 * edge).max(1.0);
        let scale = |room: f64, span: f64| {
            if span > 0.0 {
                room / span
            } else {
                f64::INFINITY
            }
        };
        let unit = f64::min(scale(room, dx), scale(tall, dy));
        let unit = if unit.is_finite() { unit } else { 0.0 };
        let place = |(x, y): &(f64, f64)| {
            let x = width / 2.0 + (x - x0 - dx / 2.0) * unit;
            (x, edge + tall / 2.0 + (y - y0 - dy / 2.0) * unit)
        };
        let places: Vec<(f64, f64)> = at.iter().map(place).collect();
        let radius = match map.nodes.len() {
            0..=60 => 5.0,
            61..=400 => 3.0,
            _ => 2.0,
        };
        let links: HashMap<&str, &data::Link> =
            run.links.iter().map(|it| (it.name.as_str(), it)).collect();
        let bandwidths = map
            .links
            .iter()
            .filter_map(|it| it.bps.map(|bps| bps.0.log10()));
        let widest = bandwidths.clone().fold(f64::NEG_INFINITY, f64::max);
        let narrowest = bandwidths.fold(f64::INFINITY, f64::min);
        let most = if map.links.len() > 120 { 4.0 } else { 6.0 };
        // Total width of the links drawn so far in each direction between two nodes.
        let mut drawn: HashMap<(usize, usize), f64> = HashMap::new();
        let drawn_link = |it: &data::MapLink| {
            let (a, b) = (*places.get(it.from)?, *places.get(it.to)?);
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let far = dx.hypot(dy);
            if far == 0.0 {
                return None;
            }
            let narrower = |bps: Rounded| {
                (most - 1.5) * (widest - bps.0.log10()) / (widest - narrowest).max(1.0)
            };
            let thick = it.bps.map_or(0.6 * most, |bps| most - narrower(bps));
            let before = drawn.entry((it.from, it.to)).or_default();
            let aside = *before + thick / 2.0 + 0.6;
            *before = aside + thick / 2.0;
            let (ox, oy) = (-dy / far * aside, dx / far * aside);
            Some(DrawnLink {
                link: links.get(it.name.as_str())?,
                ends: [(a.0 + ox, a.1 + oy), (b.0 + ox, b.1 + oy)],
                thick,
            })
        };
        let drawn_links = map.links.iter().filter_map(drawn_link).collect();
        MapDrawing {
            map,
            style,
            size: (width, height),
            places,
            radius,
            drawn_links,
        }
    }

    fn svg(&self) -> String {
        let (width, height) = self.size;
        let font = self.style.font;
        let mut svg = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"{font}\" fill=\"{INK}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        // Writing to a string cannot fail.
        for DrawnLink { link, ends, thick } in &self.drawn_links {
            let [(x1, y1), (x2, y2)] = ends;
            let colour = colour(link.utilization.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{thick:.1}\"/>"
            );
        }
        for (x, y) in &self.places {
            let r = self.radius;
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"#ffffff\" stroke=\"{INK}\" stroke-width=\"1.5\"/>"
            );
        }
        for (text, area) in self.labels() {
            let (x, y) = (area.x + area.w / 2.0, area.y + 0.8 * area.h);
            let text = escaped(&text);
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" stroke=\"#ffffff\" stroke-width=\"3\">{text}</text>\n\
                 <text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>"
            );
        }
        if self.style.legend {
            self.legend(&mut svg);
        }
        svg + "</svg>\n"
    }

    /// Draws the colour scale at the lower left.
    fn legend(&self, svg: &mut String) {
        let font = f64::from(self.style.font);
        let (left, y) = (font, self.size.1 - 0.8 * font);
        let words = "utilization 0";
        let begin = left + self.text_width(words) + 0.4 * font;
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{y:.1}\">{words}</text>");
        for i in 0..20 {
            let (x, w, h) = (begin + 0.4 * font * f64::from(i), 0.42 * font, 0.8 * font);
            let colour = colour(f64::from(i) / 19.0);
            let top = y - h;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{colour}\"/>"
            );
        }
        let x = begin + 8.5 * font;
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">100 %</text>");
    }

    /// Returns the approximate width of a text, because fonts differ.
    fn text_width(&self, text: &str) -> f64 {
        0.58 * f64::from(self.style.font) * text.chars().count() as f64
    }

    /// Places the names of nodes and the utilizations of the busiest links without overlaps.
    fn labels(&self) -> Vec<(String, LabelBox)> {
        let (radius, tall) = (self.radius, f64::from(self.style.font));
        let mut carried = vec![0.0; self.map.nodes.len()];
        for link in &self.map.links {
            let drawn_link = self.drawn_links.iter().find(|it| it.link.name == link.name);
            let busy = drawn_link.map_or(0.0, |it| it.link.utilization.0);
            let bits = busy * link.bps.map_or(1.0, |bps| bps.0);
            for end in [link.from, link.to] {
                if let Some(carried) = carried.get_mut(end) {
                    *carried += bits;
                }
            }
        }
        let mut nodes: Vec<usize> = (0..self.map.nodes.len()).collect();
        if nodes.len() > MAX_ALL_NAMES {
            let bits = |i: &usize| carried.get(*i).copied().unwrap_or(0.0);
            nodes.sort_by(|a, b| bits(b).total_cmp(&bits(a)));
            nodes.truncate(MAX_LABELS);
        }
        let named = nodes.into_iter().filter_map(|i| {
            let node = self.map.nodes.get(i)?;
            let text = node.label.clone().unwrap_or_else(|| node.name.clone());
            let areas = boxes_around_point(
                *self.places.get(i)?,
                self.text_width(&text),
                tall,
                radius + 3.0,
            );
            Some((Some(i), text, areas))
        });
        let mut busiest: Vec<&DrawnLink<'_>> = self.drawn_links.iter().collect();
        busiest.sort_by(|a, b| b.link.utilization.0.total_cmp(&a.link.utilization.0));
        // Only one direction per link, because there is no space for both.
        let mut labelled: HashSet<[&str; 2]> = HashSet::new();
        busiest.retain(|it| {
            let mut ends = [it.link.from.as_str(), it.link.to.as_str()];
            ends.sort_unstable();
            labelled.insert(ends)
        });
        let loads = busiest.into_iter().take(MAX_LABELS).map(|drawn_link| {
            let text = format!("{:.0} %", 100.0 * drawn_link.link.utilization.0);
            let areas = boxes_along_link(drawn_link, self.text_width(&text), tall);
            (None, text, areas)
        });
        let disc = |(x, y): &(f64, f64)| LabelBox {
            x: x - radius,
            y: y - radius,
            w: 2.0 * radius,
            h: 2.0 * radius,
        };
        let discs: Vec<LabelBox> = self.places.iter().map(disc).collect();
        let mut taken = discs.clone();
        let mut labels = Vec::new();
        for (own, text, areas) in named.chain(loads) {
            let inside = |it: &LabelBox| {
                let (width, height) = self.size;
                it.x >= 0.0 && it.y >= 0.0 && it.x + it.w <= width && it.y + it.h <= height
            };
            let free = |it: &LabelBox| inside(it) && !taken.iter().any(|other| it.overlaps(other));
            let crossed = |it: &LabelBox| {
                self.drawn_links
                    .iter()
                    .filter(|drawn_link| line_intersects_box(it, drawn_link.ends))
                    .count()
            };
            // Near another node, the label would be mistaken for its name.
            let close = |it: &LabelBox| {
                let near = it.expanded(LABEL_CLEARANCE);
                let others = discs.iter().enumerate().filter(|(i, _)| Some(*i) != own);
                others.filter(|(_, disc)| near.overlaps(disc)).count()
            };
            let cost =
                |(place, it): &(usize, &LabelBox)| 8 * crossed(it) + 24 * close(it) + place / 2;
            let free = areas.iter().enumerate().filter(|(_, it)| free(it));
            let best = free.min_by_key(cost).map(|(_, area)| *area);
            if let Some(area) = best {
                taken.push(area);
                labels.push((text, area));
            }
        }
        labels
    }

    fn data(&self) -> String {
        let mut table = "link,from,to,utilization,mean_queue_pkts,loss_probability\n".to_owned();
        let number = |value: f64| {
            if value.is_finite() {
                value.to_string()
            } else {
                String::new()
            }
        };
        for DrawnLink { link, .. } in &self.drawn_links {
            let names = [&link.name, &link.from, &link.to].map(|it| quote(it));
            let values = [link.utilization, link.mean_queue, link.loss];
            let values = values.map(|it| number(it.0));
            let _ = writeln!(table, "{},{}", names.join(","), values.join(","));
        }
        table
    }
}

/// Returns candidate boxes around a point, best first.
fn boxes_around_point((x, y): (f64, f64), w: f64, h: f64, gap: f64) -> Vec<LabelBox> {
    let directions = [
        (0.0, -1.0),
        (1.0, -0.7),
        (-1.0, -0.7),
        (1.0, 0.0),
        (-1.0, 0.0),
        (0.0, 1.0),
        (1.0, 0.7),
        (-1.0, 0.7),
    ];
    let offset = |direction: f64, room: f64| match direction {
        direction if direction > 0.0 => 0.0,
        direction if direction < 0.0 => -room,
        _ => -room / 2.0,
    };
    let far = [gap, gap + 8.0, gap + 18.0].into_iter();
    let area = |far: f64, (dx, dy): (f64, f64)| LabelBox {
        x: x + dx * far + offset(dx, w),
        y: y + dy * far + offset(dy, h),
        w,
        h,
    };
    far.flat_map(|far| directions.map(|direction| area(far, direction)))
        .collect()
}

/// Returns candidate boxes along a wire, those on its own side first.
fn boxes_along_link(drawn_link: &DrawnLink<'_>, w: f64, h: f64) -> Vec<LabelBox> {
    let [(ax, ay), (bx, by)] = drawn_link.ends;
    let (dx, dy) = (bx - ax, by - ay);
    let far = dx.hypot(dy);
    let mut areas = Vec::new();
    for side in [1.0, -1.0] {
        let (nx, ny) = (-dy / far * side, dx / far * side);
        let off = drawn_link.thick / 2.0 + 3.0 + nx.abs() * w / 2.0 + ny.abs() * h / 2.0;
        for part in [0.5, 0.38, 0.62, 0.26, 0.74] {
            areas.push(LabelBox {
                x: ax + part * dx + nx * off - w / 2.0,
                y: ay + part * dy + ny * off - h / 2.0,
                w,
                h,
            });
        }
    }
    areas
}

/// Returns true if a line intersects a box (Liang and Barsky).
fn line_intersects_box(area: &LabelBox, [(ax, ay), (bx, by)]: [(f64, f64); 2]) -> bool {
    let (mut from, mut to) = (0.0, 1.0);
    let directions = [
        (bx - ax, area.x - ax, area.x + area.w - ax),
        (by - ay, area.y - ay, area.y + area.h - ay),
    ];
    for (step, low, high) in directions {
        if step == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
            continue;
        }
        from = f64::max(from, f64::min(low / step, high / step));
        to = f64::min(to, f64::max(low / step, high / step));
    }
    from <= to
}

/// Returns the colour of a utilization, as on the page.
fn colour(utilization: f64) -> String {
    let at = if utilization.is_nan() {
        0.0
    } else {
        utilization.clamp(0.0, 1.0)
    };
    let colours = scale();
    let i = COLOUR_STOPS
        .iter()
        .skip(1)
        .position(|stop| at <= *stop)
        .unwrap_or(3);
    let (low, high) = (COLOUR_STOPS[i], COLOUR_STOPS[i + 1]);
    let part = (at - low) / (high - low);
    let mix = |of: fn(Rgb) -> u8| {
        let (a, b) = (f64::from(of(colours[i])), f64::from(of(colours[i + 1])));
        (a + part * (b - a)).round() as u8
    };
    let (r, g, b) = (mix(|it| it.0), mix(|it| it.1), mix(|it| it.2));
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_match_the_page() {
        assert_eq!(colour(0.0), "#cdd6df");
        assert_eq!(colour(0.25), "#8fbbe0");
        assert_eq!(colour(1.0), "#8c1d04");
        assert_eq!(colour(7.0), colour(1.0));
        assert_eq!(colour(f64::NAN), colour(0.0));
    }

    #[test]
    fn line_box_intersections_are_detected() {
        let area = LabelBox {
            x: 1.0,
            y: 1.0,
            w: 2.0,
            h: 2.0,
        };
        assert!(line_intersects_box(&area, [(0.0, 0.0), (4.0, 4.0)]));
        assert!(line_intersects_box(&area, [(2.0, 0.0), (2.0, 9.0)]));
        assert!(!line_intersects_box(&area, [(0.0, 0.0), (0.5, 0.5)]));
        assert!(!line_intersects_box(&area, [(0.0, 3.5), (9.0, 3.5)]));
    }
}
