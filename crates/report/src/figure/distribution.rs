//! Figure of the distribution of times.

use super::draw::{Curve, CurveStyle, Panel, draw};
use super::style::Style;
use crate::Error;

/// Draws cumulative distributions of times, with a logarithmic time axis.
///
/// Each curve has a name and points `(seconds, cumulative share)`.
///
/// # Errors
/// There are no times, or the figure cannot be drawn.
pub fn distribution_figure(curves: &[(String, Vec<(f64, f64)>)]) -> Result<String, Error> {
    if curves.iter().all(|(_, points)| points.is_empty()) {
        return Err(Error::NothingToShow(
            "the results contain no response times".to_owned(),
        ));
    }
    let curve = |(name, points): &(String, Vec<(f64, f64)>)| Curve {
        label: name.clone(),
        curve_style: CurveStyle::Line,
        points: staircase(points),
        colour: None,
        band: None,
    };
    let panel = Panel {
        name: "distribution".into(),
        x_title: "time in ms".into(),
        y_title: "cumulative share".into(),
        log_x: true,
        log_y: false,
        curves: curves.iter().map(curve).collect(),
    };
    Ok(draw(&[panel], &Style::default())?.svg)
}

/// Returns a step function, with times in milliseconds.
fn staircase(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    let mut stairs = Vec::with_capacity(2 * points.len());
    for &(time_s, share) in points {
        stairs.push((1e3 * time_s, below));
        stairs.push((1e3 * time_s, share));
        below = share;
    }
    stairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cdf_steps_are_at_the_times() {
        let stairs = staircase(&[(0.01, 0.5), (0.02, 1.0)]);
        assert_eq!(stairs, [(10.0, 0.0), (10.0, 0.5), (20.0, 0.5), (20.0, 1.0)]);
    }

    #[test]
    fn curves_have_their_names() {
        let curves = [
            ("pages & files".to_owned(), vec![(0.01, 0.5), (0.4, 1.0)]),
            ("echoes".to_owned(), Vec::new()),
        ];
        let svg = distribution_figure(&curves).unwrap();
        assert!(svg.contains("pages &amp; files") && svg.contains("echoes"));
        assert!(distribution_figure(&curves[1..]).is_err());
    }
}
