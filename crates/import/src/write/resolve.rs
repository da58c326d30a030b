//! Resolution of links: missing bandwidths and delays are assumed.

use netflow_units::{BitsPerSecond, Seconds};

use super::scenario::Defaults;
use crate::assumption::Assumptions;
use crate::distance::{fibre_delay_s, great_circle_km, min_delay_s};
use crate::{Subject, Topology};

/// A link with bandwidth and delay, and remarks on their origin.
pub(super) struct ResolvedLink {
    pub(super) bandwidth_bps: f64,
    pub(super) bandwidth_remark: String,
    pub(super) delay_s: f64,
    pub(super) delay_remark: String,
    /// Values of the opposite direction, if they differ.
    pub(super) reverse_bandwidth_bps: Option<f64>,
    pub(super) reverse_delay_s: Option<f64>,
}

/// Minimum delay of a link: cabling within a building.
const MIN_DELAY_S: f64 = 10e-6;

/// Tolerance, as a fraction, within which a stated length equals the great-circle distance of the ends.
const LENGTH_TOLERANCE: f64 = 0.01;

/// Returns the delay of a fibre of this length, rounded to the microsecond.
fn rounded_fibre_delay_s(km: f64) -> f64 {
    ((fibre_delay_s(km) * 1e6).round() / 1e6).clamp(MIN_DELAY_S, 3600.0)
}

/// Completes the links of a network. Assumptions are listed.
pub(super) fn resolve_links(
    topology: &Topology,
    choices: &Defaults,
    assumptions: &mut Assumptions,
) -> Vec<ResolvedLink> {
    let mut far = 0;
    let links = topology.links.iter().enumerate().map(|(place, link)| {
        let about = || Subject::Link(place, 0);
        let (bandwidth_bps, bandwidth_remark) = match link.bandwidth_bps {
            Some(bps) => (bps, link.bandwidth_remark.clone().unwrap_or_default()),
            None => {
                let rate = BitsPerSecond(choices.bandwidth_bps);
                let text = format!("bandwidth {rate} (--bandwidth), because the file has none");
                assumptions.add(text, about());
                let why = link.bandwidth_remark.clone();
                (
                    choices.bandwidth_bps,
                    format!(
                        "assumed; {}",
                        why.unwrap_or_else(|| "the file has none".to_owned())
                    ),
                )
            }
        };
        let ends =
            [link.from, link.to].map(|end| topology.nodes.get(end).and_then(|it| it.position));
        let km = match ends {
            [Some(from), Some(to)] => great_circle_km(from, to),
            _ => None,
        };
        // A length equal to the distance of the ends was computed from their positions.
        let straight =
            |length: f64| km.is_some_and(|km| (length - km).abs() <= LENGTH_TOLERANCE * km);
        let stated = link.length_km.filter(|&km| !straight(km));
        let (delay_s, delay_remark) = if let Some(delay_s) = link.delay_s {
            if km.is_some_and(|km| delay_s < 0.99 * min_delay_s(km)) {
                let text =
                    "the delay in the file is less than the travel time of light between the ends";
                assumptions.add(text, about());
            }
            (delay_s, String::new())
        } else if let Some(length) = stated {
            if km.is_some_and(|km| length < km) {
                let text = "the length in the file is less than the distance of the ends";
                assumptions.add(text, about());
            }
            let text = "delay from the length in the file, at two thirds of the speed of light";
            assumptions.add(text, about());
            (rounded_fibre_delay_s(length), format!("{length} km"))
        } else if let Some(km) = km {
            far += 1;
            (
                rounded_fibre_delay_s(km * choices.detour),
                format!("{km:.1} km"),
            )
        } else {
            let delay = Seconds(choices.delay_s);
            let text = format!("delay {delay} (--delay), because an end has no coordinates");
            assumptions.add(text, about());
            (
                choices.delay_s,
                "assumed; an end has no coordinates".to_owned(),
            )
        };
        let reverse = link.reverse.as_ref();
        let reverse_delay_s =
            reverse.and_then(|it| it.delay_s.or(it.length_km.map(rounded_fibre_delay_s)));
        ResolvedLink {
            bandwidth_bps,
            bandwidth_remark,
            delay_s,
            delay_remark,
            reverse_bandwidth_bps: reverse
                .and_then(|it| it.bandwidth_bps)
                .filter(|bps| *bps != bandwidth_bps),
            reverse_delay_s: reverse_delay_s.filter(|it| *it != delay_s),
        }
    });
    let links: Vec<ResolvedLink> = links.collect();
    if far > 0 {
        assumptions.add_general(format!(
            "delays of {far} of {} links from great-circle distance × {} (--detour), at two thirds of the \
             speed of light, at least {}",
            links.len(),
            choices.detour,
            Seconds(MIN_DELAY_S)
        ));
    }
    links
}
