//! Drawing of vertically stacked panels of curves.

use std::borrow::Cow;
use std::ops::Range;

use netflow_results::quote;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::style::{Drawing, Style};
use crate::Error;

/// Appearance of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveStyle {
    Line,
    /// A line with a dot at each of its few points.
    Marked,
    Dots,
    /// A grey reference curve.
    Grey,
}

#[derive(Clone, Debug)]
pub struct Curve {
    pub label: String,
    pub curve_style: CurveStyle,
    /// Points; NaN is a gap.
    pub points: Vec<(f64, f64)>,
    /// Index of the colour, and true for a dashed line; `None` uses the next colour.
    pub colour: Option<(usize, bool)>,
    /// Lower and upper edge of the confidence band at each point, for means over seeds.
    pub band: Option<Vec<(f64, f64)>>,
}

#[derive(Clone, Debug)]
pub struct Panel {
    /// Name by which the panel is selected.
    pub name: Cow<'static, str>,
    pub x_title: Cow<'static, str>,
    pub y_title: Cow<'static, str>,
    pub log_x: bool,
    pub log_y: bool,
    pub curves: Vec<Curve>,
}

impl Panel {
    /// Returns true if any curve has points.
    pub fn has_points(&self) -> bool {
        self.curves.iter().any(|curve| !curve.points.is_empty())
    }
}

const GREY: RGBColor = RGBColor(130, 130, 130);

/// Drawing units per unit of the figure, because the backend has integer coordinates.
const UNITS_PER_PIXEL: u32 = 4;
/// Height of a panel among several, and of a single one.
const PANEL_HEIGHT: u32 = 250;
const SINGLE_HEIGHT: u32 = 380;
/// Font size for which the margins are designed.
const FONT: u32 = 12;

/// Draws the figure, and returns it with its points as a table.
pub fn draw(panels: &[Panel], style: &Style) -> Result<Drawing, Error> {
    let chosen = select_panels(panels, &style.panels)?;
    let svg = draw_panels(&chosen, style)?;
    Ok(Drawing::new(&svg, table(&chosen)))
}

/// Returns the panels with these names, in this order; all panels without names.
fn select_panels<'a>(panels: &'a [Panel], names: &[String]) -> Result<Vec<&'a Panel>, Error> {
    if names.is_empty() {
        return Ok(panels.iter().collect());
    }
    let find = |name: &String| {
        let found = panels.iter().find(|panel| panel.name == *name);
        let of_column = || {
            let quantity = column_quantity(name);
            panels.iter().find(|panel| panel.name == quantity)
        };
        found.or_else(of_column).ok_or_else(|| {
            let all: Vec<&str> = panels.iter().map(|panel| &*panel.name).collect();
            let all = all.join(", ");
            Error::NothingToShow(format!("the figure has no panel `{name}`; allowed: {all}"))
        })
    };
    names.iter().map(find).collect()
}

/// Returns the quantity of a column of the results, as panels are named: `goodput` for `mean_goodput_pps`.
pub fn column_quantity(column: &str) -> &str {
    const SUFFIXES: [&str; 5] = ["_pps", "_bps", "_pkts", "_probability", "_s"];
    let stem = column.strip_prefix("mean_").unwrap_or(column);
    let suffix = SUFFIXES.into_iter().find(|it| stem.ends_with(it));
    match stem.strip_suffix(suffix.unwrap_or("")).unwrap_or(stem) {
        "send" => "sent",
        stem => stem,
    }
}

/// Returns a table with a row per point: panel, curve and coordinates.
fn table(panels: &[&Panel]) -> String {
    let mut table = "panel,curve,x,y,low,high\n".to_owned();
    let number = |value: f64| {
        if value.is_finite() {
            format!("{value:.6e}")
                .parse::<f64>()
                .unwrap_or(value)
                .to_string()
        } else {
            String::new()
        }
    };
    for panel in panels {
        let of = quote(&format!("{} over {}", panel.y_title, panel.x_title));
        for curve in &panel.curves {
            let curve_name = quote(&curve.label);
            for (i, point) in curve.points.iter().enumerate() {
                let band = curve.band.as_ref().and_then(|band| band.get(i));
                let (low, high) = band.copied().unwrap_or((f64::NAN, f64::NAN));
                let numbers = [point.0, point.1, low, high].map(number).join(",");
                table += &format!("{of},{curve_name},{numbers}\n");
            }
        }
    }
    table
}

fn draw_panels(panels: &[&Panel], style: &Style) -> Result<String, Error> {
    let usual = match panels.len() {
        0 | 1 => SINGLE_HEIGHT,
        many => PANEL_HEIGHT * many as u32,
    };
    let (width, height) = (style.width, style.height.unwrap_or(usual));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(
            &mut svg,
            (width * UNITS_PER_PIXEL, height * UNITS_PER_PIXEL),
        )
        .into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let areas = root.split_evenly((panels.len().max(1), 1));
        for (place, (area, panel)) in areas.iter().zip(panels).enumerate() {
            // The first panel has the legend, with space for it above its curves.
            let is_named = panel.curves.iter().any(|curve| !curve.label.is_empty());
            let legend = style.legend && place == 0 && is_named;
            let x = range(panel, |p| p.0, panel.log_x, X_HEADROOM);
            let headroom = if legend {
                legend_headroom(panel.curves.len())
            } else {
                1.05
            };
            let y = range(panel, |p| p.1, panel.log_y, headroom);
            // A logarithmic axis of less than two decades may have a single label.
            let (log_x, log_y) = (
                panel.log_x && spans_decades(&x),
                panel.log_y && spans_decades(&y),
            );
            match (log_x, log_y) {
                (false, false) => draw_panel(area, panel, style, legend, x, y),
                (false, true) => draw_panel(area, panel, style, legend, x, y.log_scale()),
                (true, false) => draw_panel(area, panel, style, legend, x.log_scale(), y),
                (true, true) => {
                    draw_panel(area, panel, style, legend, x.log_scale(), y.log_scale())
                }
            }?;
        }
        root.present().map_err(failed)?;
    }
    let fine = format!(
        "width=\"{}\" height=\"{}\" viewBox",
        width * UNITS_PER_PIXEL,
        height * UNITS_PER_PIXEL
    );
    Ok(svg.replacen(
        &fine,
        &format!("width=\"{width}\" height=\"{height}\" viewBox"),
        1,
    ))
}

/// Ratio of the x range of a panel to that of its curves.
const X_HEADROOM: f64 = 1.03;

/// Returns the ratio of the y range of a panel to that of its curves. It leaves space for a legend with this
/// many entries, up to half of the panel.
fn legend_headroom(curves: usize) -> f64 {
    let part = (0.03 + 0.085 * curves as f64).min(0.5);
    (1.0 / (1.0 - part)).max(1.4)
}

/// Returns true if the range spans more than two decades.
fn spans_decades(range: &Range<f64>) -> bool {
    range.end > 100.0 * range.start
}

fn failed(error: impl ToString) -> Error {
    Error::Drawing(error.to_string())
}

/// Returns true if the value is finite and the arithmetic of the axis cannot overflow or underflow.
fn is_drawable(value: f64) -> bool {
    value == 0.0 || (1e-100..1e100).contains(&value.abs())
}

/// Returns the range of an axis: from 0, or from the smallest value on a logarithmic axis, to slightly more
/// than the largest value.
fn range(panel: &Panel, of: impl Fn(&(f64, f64)) -> f64, log: bool, headroom: f64) -> Range<f64> {
    let points = panel.curves.iter().flat_map(|curve| {
        let edges = curve.band.iter().flatten().zip(&curve.points);
        let edges = edges.flat_map(|(&(low, high), &(x, _))| [(x, low), (x, high)]);
        curve.points.iter().copied().chain(edges)
    });
    let values = points.map(|point| of(&point));
    let values = values.filter(|v| is_drawable(*v) && (!log || *v > 0.0));
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), v| {
        (f64::min(low, v), f64::max(high, v))
    });
    // No legend along the x axis.
    let log_headroom = if headroom > X_HEADROOM { 1.3 } else { 1.1 };
    match (log, high > 0.0) {
        (true, true) => low / log_headroom..high * log_headroom,
        (true, false) => 0.1..1.0,
        (false, true) => 0.0..high * headroom,
        (false, false) => 0.0..1.0,
    }
}

fn draw_panel<X, Y>(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    style: &Style,
    legend: bool,
    x: X,
    y: Y,
) -> Result<(), Error>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let font = |size: u32| ("sans-serif", f64::from(size * UNITS_PER_PIXEL)).into_font();
    let size = style.font;
    let scaled = |units: u32| units * size.max(1) * UNITS_PER_PIXEL / FONT;
    let mut chart = ChartBuilder::on(area)
        .margin(10 * UNITS_PER_PIXEL)
        .margin_right(20 * UNITS_PER_PIXEL)
        .x_label_area_size(scaled(38))
        .y_label_area_size(scaled(64))
        .build_cartesian_2d(x, y)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc(&*panel.x_title)
        .y_desc(&*panel.y_title)
        .axis_desc_style(font(size + 1))
        .label_style(font(size))
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|v| tick(*v))
        .y_label_formatter(&|v| tick(*v))
        .axis_style(BLACK.stroke_width(UNITS_PER_PIXEL))
        .bold_line_style(BLACK.mix(0.12).stroke_width(UNITS_PER_PIXEL))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    let mut coloured = 0;
    for curve in &panel.curves {
        let (place, dashed) = match (curve.curve_style, curve.colour) {
            (CurveStyle::Grey, _) => (0, false),
            (_, Some(said)) => said,
            (_, None) => {
                coloured += 1;
                // Repeated colours are dashed.
                (coloured - 1, coloured > style.colours.len())
            }
        };
        let colour = match curve.curve_style {
            CurveStyle::Grey => GREY,
            _ => {
                let place = place % style.colours.len().max(1);
                let (r, g, b) = style.colours.get(place).copied().unwrap_or_default();
                RGBColor(r, g, b)
            }
        };
        let usable = |p: &&(f64, f64)| {
            let positive = (!panel.log_x || p.0 > 0.0) && (!panel.log_y || p.1 > 0.0);
            is_drawable(p.0) && is_drawable(p.1) && positive
        };
        match curve.curve_style {
            CurveStyle::Dots => {
                let bars = bars(curve, usable).into_iter();
                let bars =
                    bars.map(|bar| PathElement::new(bar, colour.stroke_width(UNITS_PER_PIXEL)));
                chart.draw_series(bars).map_err(failed)?;
            }
            CurveStyle::Line | CurveStyle::Marked | CurveStyle::Grey => {
                for piece in bands(curve, usable) {
                    let band = Polygon::new(piece, colour.mix(0.2).filled());
                    chart.draw_series([band]).map_err(failed)?;
                }
            }
        }
        let points = curve.points.iter().filter(usable).copied();
        if curve.curve_style == CurveStyle::Marked {
            let marks = points.clone();
            let marks =
                marks.map(|point| Circle::new(point, 2 * UNITS_PER_PIXEL as i32, colour.filled()));
            chart.draw_series(marks).map_err(failed)?;
        }
        let drawn = match curve.curve_style {
            CurveStyle::Dots => chart.draw_series(PointSeries::of_element(
                points,
                3 * UNITS_PER_PIXEL as i32,
                colour.filled(),
                &|at, size, style| Circle::new(at, size, style),
            )),
            _ => {
                let pieces = curve
                    .points
                    .split(|p| !usable(&p))
                    .filter(|piece| !piece.is_empty());
                let stroke = colour.stroke_width(3 * UNITS_PER_PIXEL / 2);
                if !dashed {
                    chart.draw_series(pieces.map(|piece| PathElement::new(piece.to_vec(), stroke)))
                } else {
                    let mut entry = Ok(());
                    for piece in pieces {
                        let dashes = DashedLineSeries::new(
                            piece.to_vec(),
                            6 * UNITS_PER_PIXEL,
                            4 * UNITS_PER_PIXEL,
                            stroke,
                        );
                        entry = entry.and(chart.draw_series(dashes).map(|_| ()));
                    }
                    entry.map_err(failed)?;
                    chart.draw_series(std::iter::empty::<PathElement<(f64, f64)>>())
                }
            }
        };
        let entry = drawn.map_err(failed)?;
        entry.label(curve.label.as_str()).legend(move |(x, y)| {
            let (width, thick) = (14 * UNITS_PER_PIXEL as i32, UNITS_PER_PIXEL as i32);
            // Half width for a dashed curve.
            let width = if dashed { width / 2 } else { width };
            Rectangle::new([(x, y - thick), (x + width, y + thick)], colour.filled())
        });
    }
    if !legend {
        return Ok(());
    }
    chart
        .configure_series_labels()
        .label_font(font(size))
        .legend_area_size(20 * UNITS_PER_PIXEL)
        .margin(4 * UNITS_PER_PIXEL)
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(failed)
}

/// Returns the error bars of a curve.
fn bars(curve: &Curve, usable: impl Fn(&&(f64, f64)) -> bool) -> Vec<[(f64, f64); 2]> {
    let edges = curve.points.iter().zip(curve.band.iter().flatten());
    let bars = edges.map(|(&(x, _), &(low, high))| [(x, low), (x, high)]);
    bars.filter(|[low, high]| usable(&low) && usable(&high))
        .collect()
}

/// Returns the outlines of the band of a curve, one per part without a gap.
fn bands(curve: &Curve, usable: impl Fn(&&(f64, f64)) -> bool) -> Vec<Vec<(f64, f64)>> {
    let Some(band) = &curve.band else {
        return Vec::new();
    };
    let edges = curve.points.iter().zip(band);
    let edges: Vec<[(f64, f64); 2]> = edges
        .map(|(&(x, _), &(low, high))| [(x, low), (x, high)])
        .collect();
    let pieces = edges.split(|[low, high]| !usable(&low) || !usable(&high));
    let pieces = pieces.filter(|piece| piece.len() > 1);
    let outline = |piece: &[[(f64, f64); 2]]| {
        let there = piece.iter().map(|edge| edge[0]);
        there
            .chain(piece.iter().rev().map(|edge| edge[1]))
            .collect()
    };
    pieces.map(outline).collect()
}

/// Formats a tick label with at most four digits and without trailing zeros.
fn tick(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if rounded != 0.0 && !(1e-4..1e7).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        format!("{rounded}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arbitrary_values_cause_no_panic() {
        let odd = [
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            -1.0,
            0.0,
            1e-90,
            1e90,
        ];
        for curve_style in [
            CurveStyle::Line,
            CurveStyle::Marked,
            CurveStyle::Dots,
            CurveStyle::Grey,
        ] {
            for (log_x, log_y) in [(false, false), (false, true), (true, false), (true, true)] {
                for count in 0..=odd.len() {
                    let points = odd.iter().take(count).flat_map(|&x| odd.map(|y| (x, y)));
                    let curve = Curve {
                        label: "<&>".to_owned(),
                        curve_style,
                        colour: None,
                        band: Some(odd.map(|y| (y, 2.0 * y)).to_vec()),
                        points: points.collect(),
                    };
                    let panel = Panel {
                        name: "panel".into(),
                        x_title: "x".into(),
                        y_title: "y".into(),
                        log_x,
                        log_y,
                        curves: vec![curve; 2],
                    };
                    let svg = draw(&[panel], &Style::default()).unwrap().svg;
                    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
                }
            }
        }
    }
}
