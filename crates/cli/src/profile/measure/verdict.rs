//! Whether there is a profile: throughput that falls with loss.

use super::cells::{LINK_PPS, Measured};
use crate::number::{percent, short};

/// Least loss above which not slowing down means having no profile: below it, other things than loss
/// may hold TCP back.
const LEAST_LOSS: f64 = 0.005;

/// Why there is no profile in these transfers; `None` if there is one. There is none where most of
/// the transfers with losses fill the link all the same: what is measured then is the link.
pub fn no_profile(runs: &[&Measured]) -> Option<String> {
    let lossy: Vec<&&Measured> = runs
        .iter()
        .filter(|run| run.cell.loss >= LEAST_LOSS)
        .collect();
    let full = lossy.iter().filter(|run| run.fills_the_link()).count();
    if lossy.is_empty() || 2 * full <= lossy.len() {
        return None;
    }
    let losses = || lossy.iter().map(|run| run.cell.loss);
    let (least, most) = (losses().fold(1.0, f64::min), losses().fold(0.0, f64::max));
    let at = |loss: f64| {
        let there = lossy.iter().filter(|run| run.cell.loss == loss);
        short(whole_rate(there.copied()).unwrap_or(f64::NAN))
    };
    Some(format!(
        "it does not slow down for losses as far as these go, so the rate is the link's \
         ({LINK_PPS} pkt/s) and no function of loss and round-trip time: {} pkt/s at a loss of {}, \
         {} pkt/s at {}; {full} of {} transfers filled the link",
        at(least),
        percent(least),
        at(most),
        percent(most),
        lossy.len()
    ))
}

/// The mean rate of whole transfers in packets/s; `None` of none.
pub fn whole_rate<'a>(runs: impl Iterator<Item = &'a &'a Measured>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for run in runs {
        sum += run.rate_pps();
        count += 1.0;
    }
    (count > 0.0).then_some(sum / count)
}
