//! Panels of curves, one below the other.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::Error;

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Line,
    Dots,
    /// A reference beside the others, in grey.
    Grey,
}

#[derive(Clone, Debug)]
pub struct Curve {
    pub label: String,
    pub look: Look,
    /// What is no number is a gap.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug)]
pub struct Panel {
    pub x_title: &'static str,
    pub y_title: &'static str,
    pub log_x: bool,
    pub log_y: bool,
    pub curves: Vec<Curve>,
}

/// Paul Tol's and Okabe and Ito's colours that keep apart in print and for the colour-blind.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(138, 109, 0),
    RGBColor(86, 180, 233),
    RGBColor(40, 40, 40),
];
const GREY: RGBColor = RGBColor(130, 130, 130);

/// Points of the drawing in one of the figure: the backend only knows whole ones.
const FINE: u32 = 4;
const WIDTH: u32 = 640;
const HEIGHT: u32 = 250;

/// The figure.
pub fn draw(panels: &[Panel]) -> Result<String, Error> {
    let height = HEIGHT * panels.len().max(1) as u32 + if panels.len() == 1 { 130 } else { 0 };
    let mut svg = String::new();
    {
        let root =
            SVGBackend::with_string(&mut svg, (WIDTH * FINE, height * FINE)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let areas = root.split_evenly((panels.len().max(1), 1));
        for (place, (area, panel)) in areas.iter().zip(panels).enumerate() {
            // The first panel has the legend, and room for it above its curves.
            let legend = place == 0 && panel.curves.len() > 1;
            let x = range(panel, |p| p.0, panel.log_x, 1.03);
            let y = range(panel, |p| p.1, panel.log_y, if legend { 1.4 } else { 1.05 });
            match (panel.log_x, panel.log_y) {
                (false, false) => draw_panel(area, panel, legend, x, y),
                (false, true) => draw_panel(area, panel, legend, x, y.log_scale()),
                (true, false) => draw_panel(area, panel, legend, x.log_scale(), y),
                (true, true) => draw_panel(area, panel, legend, x.log_scale(), y.log_scale()),
            }?;
        }
        root.present().map_err(failed)?;
    }
    let fine = format!(
        "width=\"{}\" height=\"{}\" viewBox",
        WIDTH * FINE,
        height * FINE
    );
    Ok(svg.replacen(
        &fine,
        &format!("width=\"{WIDTH}\" height=\"{height}\" viewBox"),
        1,
    ))
}

fn failed(error: impl ToString) -> Error {
    Error::Drawing(error.to_string())
}

/// Neither infinite nor so large or so small that the axis' own reckoning would be.
fn drawable(value: f64) -> bool {
    value == 0.0 || (1e-100..1e100).contains(&value.abs())
}

/// From 0, or from the smallest value on a logarithmic axis, to a little more than the largest.
fn range(panel: &Panel, of: impl Fn(&(f64, f64)) -> f64, log: bool, room: f64) -> Range<f64> {
    let values = panel.curves.iter().flat_map(|curve| &curve.points).map(of);
    let values = values.filter(|v| drawable(*v) && (!log || *v > 0.0));
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), v| {
        (f64::min(low, v), f64::max(high, v))
    });
    match (log, high > 0.0) {
        (true, true) => low / 1.3..high * 1.3,
        (true, false) => 0.1..1.0,
        (false, true) => 0.0..high * room,
        (false, false) => 0.0..1.0,
    }
}

fn draw_panel<X, Y>(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
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
    let font = |size: u32| ("sans-serif", f64::from(size * FINE)).into_font();
    let mut chart = ChartBuilder::on(area)
        .margin(10 * FINE)
        .margin_right(20 * FINE)
        .x_label_area_size(38 * FINE)
        .y_label_area_size(64 * FINE)
        .build_cartesian_2d(x, y)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc(panel.x_title)
        .y_desc(panel.y_title)
        .axis_desc_style(font(13))
        .label_style(font(12))
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|v| tick(*v))
        .y_label_formatter(&|v| tick(*v))
        .axis_style(BLACK.stroke_width(FINE))
        .bold_line_style(BLACK.mix(0.12).stroke_width(FINE))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    let mut coloured = 0;
    for curve in &panel.curves {
        let colour = match curve.look {
            Look::Grey => GREY,
            _ => {
                coloured += 1;
                COLOURS[(coloured - 1) % COLOURS.len()]
            }
        };
        let usable = |p: &&(f64, f64)| {
            let positive = (!panel.log_x || p.0 > 0.0) && (!panel.log_y || p.1 > 0.0);
            drawable(p.0) && drawable(p.1) && positive
        };
        let points = curve.points.iter().filter(usable).copied();
        let drawn = match curve.look {
            Look::Dots => chart.draw_series(PointSeries::of_element(
                points,
                3 * FINE as i32,
                colour.filled(),
                &|at, size, style| Circle::new(at, size, style),
            )),
            _ => {
                let pieces = curve
                    .points
                    .split(|p| !usable(&p))
                    .filter(|piece| !piece.is_empty());
                let line = |piece: &[(f64, f64)]| {
                    PathElement::new(piece.to_vec(), colour.stroke_width(3 * FINE / 2))
                };
                chart.draw_series(pieces.map(line))
            }
        };
        let entry = drawn.map_err(failed)?;
        entry.label(curve.label.as_str()).legend(move |(x, y)| {
            let (width, thick) = (14 * FINE as i32, FINE as i32);
            Rectangle::new([(x, y - thick), (x + width, y + thick)], colour.filled())
        });
    }
    if !legend {
        return Ok(());
    }
    chart
        .configure_series_labels()
        .label_font(font(12))
        .legend_area_size(20 * FINE)
        .margin(4 * FINE)
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(failed)
}

/// At most four digits, without zeros that say nothing.
fn tick(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    match rounded != 0.0 && !(1e-4..1e7).contains(&rounded.abs()) {
        true => format!("{rounded:e}"),
        false => format!("{rounded}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_are_drawn_or_left_out() {
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
        for look in [Look::Line, Look::Dots, Look::Grey] {
            for (log_x, log_y) in [(false, false), (false, true), (true, false), (true, true)] {
                for count in 0..=odd.len() {
                    let points = odd.iter().take(count).flat_map(|&x| odd.map(|y| (x, y)));
                    let curve = Curve {
                        label: "<&>".to_owned(),
                        look,
                        points: points.collect(),
                    };
                    let panel = Panel {
                        x_title: "x",
                        y_title: "y",
                        log_x,
                        log_y,
                        curves: vec![curve; 2],
                    };
                    let svg = draw(&[panel]).unwrap();
                    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
                }
            }
        }
    }
}
