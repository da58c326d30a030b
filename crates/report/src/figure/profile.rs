//! Figure of a throughput profile with samples.

use netflow_profile::Profile;

use super::draw::{Curve, CurveStyle, Panel, draw};
use super::style::{Drawing, Style};
use crate::Error;

/// A measured throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileSample {
    /// Loss probability.
    pub loss: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Throughput in packets/s.
    pub throughput_pps: f64,
}

/// Round-trip times of the curves, as far as they are in the domain of the profile.
const RTTS_S: [f64; 6] = [0.06, 0.1, 0.2, 0.5, 1.0, 5.0];
/// Start of the logarithmic loss axis.
const MIN_LOSS: f64 = 1e-3;
/// Factor below which a loss range is a single point. Its curve then extends by the factor `AROUND` to both
/// sides.
const POINT: f64 = 1.5;
const AROUND: f64 = 4.0;
/// Number of points of a curve.
const POINTS: u32 = 120;

/// Draws throughput over loss at several round-trip times, with the samples as dots. Both axes are
/// logarithmic, so samples without loss are omitted.
///
/// # Errors
/// The figure cannot be drawn.
pub fn profile_figure(
    profile: &dyn Profile,
    samples: &[ProfileSample],
    style: &Style,
) -> Result<Drawing, Error> {
    let domain = profile.domain();
    let mut rtts_s: Vec<f64> = RTTS_S
        .into_iter()
        .filter(|rtt_s| (domain.rtt_min_s..=domain.rtt_max_s).contains(rtt_s))
        .collect();
    if rtts_s.is_empty() {
        rtts_s.push(domain.rtt_min_s);
    }
    let mut low = domain.loss_min.max(MIN_LOSS);
    let mut high = domain.loss_max.max(low);
    let point = (high < POINT * low).then_some(low);
    if point.is_some() {
        (low, high) = (low / AROUND, (high * AROUND).min(1.0));
    }
    let mut curves = Vec::new();
    for &rtt_s in &rtts_s {
        let point = |i: u32| {
            let part = f64::from(i) / f64::from(POINTS);
            let loss = low * (high / low).powf(part);
            (100.0 * loss, profile.throughput(loss, rtt_s))
        };
        curves.push(Curve {
            label: format!("{} ms", 1e3 * rtt_s),
            curve_style: CurveStyle::Line,
            points: (0..=POINTS).map(point).collect(),
            colour: None,
            band: None,
        });
    }
    if let Some(loss) = point {
        let measured = |&rtt_s: &f64| (100.0 * loss, profile.throughput(loss, rtt_s));
        curves.push(Curve {
            label: "measured".to_owned(),
            curve_style: CurveStyle::Dots,
            points: rtts_s.iter().map(measured).collect(),
            colour: None,
            band: None,
        });
    }
    if !samples.is_empty() {
        let point = |it: &ProfileSample| (100.0 * it.loss, it.throughput_pps);
        curves.push(Curve {
            label: "samples".to_owned(),
            curve_style: CurveStyle::Dots,
            points: samples.iter().map(point).collect(),
            colour: None,
            band: None,
        });
    }
    let panel = Panel {
        name: "profile".into(),
        x_title: "loss in %".into(),
        y_title: "throughput in pkt/s".into(),
        log_x: true,
        log_y: true,
        curves,
    };
    draw(&[panel], style)
}
