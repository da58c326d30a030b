//! Whether there is a profile: throughput that falls with loss.

use netflow::number::{percent, short};
use netflow::profile::fit::Cell;

use super::cells::Measured;

/// Least loss above which not slowing down means having no profile: below it, other things than loss
/// may hold TCP back.
const LEAST_LOSS: f64 = 0.005;

/// Times the rate of Reno from which on a transfer does not answer losses: CUBIC has up to twice
/// that.
const UNANSWERED: f64 = 4.0;

/// Why there is no profile in these transfers; `None` if there is one. There is none where most of
/// the transfers with losses fill the link all the same, or are far faster than what answers losses
/// can be: what is measured then is the link.
pub fn no_profile(runs: &[&Measured]) -> Option<String> {
    let lossy: Vec<&&Measured> = runs
        .iter()
        .filter(|run| run.cell.loss >= LEAST_LOSS)
        .collect();
    let full = lossy.iter().filter(|run| run.fills_the_link()).count();
    let ignores = |run: &&&&Measured| {
        run.fills_the_link() || run.rate_pps() > UNANSWERED * run.cell.mathis_pps()
    };
    if lossy.is_empty() || 2 * lossy.iter().filter(ignores).count() <= lossy.len() {
        return None;
    }
    let mut losses: Vec<f64> = lossy.iter().map(|run| run.cell.loss).collect();
    losses.sort_by(f64::total_cmp);
    losses.dedup();
    let rates: Vec<String> = losses
        .iter()
        .map(|&loss| {
            let there = lossy.iter().filter(|run| run.cell.loss == loss);
            let rate_pps = whole_rate(there.copied()).unwrap_or(f64::NAN);
            format!("{} pkt/s at {}", short(rate_pps), percent(loss))
        })
        .collect();
    Some(format!(
        "it does not slow down for losses that others slow down for. {full} of {} transfers filled \
         the link of {} pkt/s ({}), so the rate is no function of loss and \
         round-trip time",
        lossy.len(),
        lossy.first().map_or(0.0, |run| run.cell.link_pps),
        rates.join(", ")
    ))
}

/// Why a surface is none of loss: at most of its round-trip times throughput does not fall from the
/// least loss to the largest. `None` if it does.
pub fn no_loss_dependence(cells: &[Cell]) -> Option<String> {
    let (first, last) = (cells.first()?.loss, cells.last()?.loss);
    if first == last {
        return None;
    }
    let row = |loss: f64| cells.iter().filter(move |cell| cell.loss == loss);
    let pairs = row(first).zip(row(last));
    let rising = pairs.filter(|(least, most)| most.throughput_pps >= least.throughput_pps);
    let (rising, all) = (rising.count(), row(first).count());
    (2 * rising > all).then(|| {
        format!(
            "throughput does not fall from a loss of {} to one of {} at {rising} of {all} round-trip \
             times",
            percent(first),
            percent(last)
        )
    })
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

#[cfg(test)]
mod tests {
    use netflow::profile::fit::Origin;

    use super::*;

    fn cell(loss: f64, rtt_s: f64, throughput_pps: f64) -> Cell {
        Cell {
            loss,
            rtt_s,
            throughput_pps,
            relative_error: None,
            samples: 1,
            origin: Origin::Measured,
        }
    }

    /// Of the reference table: BBR rises and falls by a tenth, Reno falls by three quarters.
    #[test]
    fn throughput_has_to_fall_with_loss() {
        let flat = [cell(0.01, 0.1, 1923.0), cell(0.02, 0.1, 1923.0)];
        let said = no_loss_dependence(&flat).unwrap();
        assert!(
            said.contains("from a loss of 1.000 % to one of 2.000 %"),
            "{said}"
        );
        let falling = [
            cell(0.01, 0.06, 206.0),
            cell(0.01, 0.1, 139.0),
            cell(0.1, 0.06, 51.0),
            cell(0.1, 0.1, 33.0),
        ];
        assert_eq!(no_loss_dependence(&falling), None);
        // One row tells nothing.
        assert_eq!(no_loss_dependence(&flat[..1]), None);
        assert_eq!(no_loss_dependence(&[]), None);
    }
}
