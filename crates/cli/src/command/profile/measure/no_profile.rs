//! Tests whether measurements define a profile, which requires that throughput decreases with loss.

use netflow::number::{percent, short};
use netflow::profile::fit::FitCell;

use super::parallel_transfers::MeasuredTransfer;

/// Minimum loss at which a TCP without reduction of its rate has no profile. Below it, other factors may
/// limit TCP.
const MIN_LOSS: f64 = 0.005;

/// Factor over the rate of Reno above which a transfer does not respond to losses. CUBIC reaches a factor
/// of 2.
const UNRESPONSIVE_FACTOR: f64 = 4.0;

/// Returns the reason why these transfers define no profile; `None` if they do.
///
/// They define none if most transfers with losses fill the link, or exceed the rate of a loss-responsive
/// TCP by far. The measured rate is then that of the link.
pub fn no_profile(runs: &[&MeasuredTransfer]) -> Option<String> {
    let lossy: Vec<&&MeasuredTransfer> = runs
        .iter()
        .filter(|run| run.cell.loss >= MIN_LOSS)
        .collect();
    let full = lossy.iter().filter(|run| run.is_link_limited()).count();
    let ignores = |run: &&&&MeasuredTransfer| {
        run.is_link_limited() || run.rate_pps() > UNRESPONSIVE_FACTOR * run.cell.mathis_pps()
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
            let rate_pps = mean_rate_pps(there.copied()).unwrap_or(f64::NAN);
            format!("{} pkt/s at {}", short(rate_pps), percent(loss))
        })
        .collect();
    Some(format!(
        "it does not reduce its rate after losses. {full} of {} transfers filled \
         the link of {} pkt/s ({}), so the rate is not a function of loss and \
         round-trip time",
        lossy.len(),
        lossy.first().map_or(0.0, |run| run.cell.link_pps),
        rates.join(", ")
    ))
}

/// Returns the reason why a surface does not depend on loss; `None` if it does. It does not if, at most
/// round-trip times, throughput does not fall from the smallest loss to the largest.
pub fn no_loss_dependence(cells: &[FitCell]) -> Option<String> {
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
            "throughput does not decrease from a loss of {} to one of {} at {rising} of {all} round-trip \
             times",
            percent(first),
            percent(last)
        )
    })
}

/// Returns the mean rate of whole transfers in packets/s; `None` without transfers.
pub fn mean_rate_pps<'a>(runs: impl Iterator<Item = &'a &'a MeasuredTransfer>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for run in runs {
        sum += run.rate_pps();
        count += 1.0;
    }
    (count > 0.0).then_some(sum / count)
}

#[cfg(test)]
mod tests {
    use netflow::profile::fit::CellOrigin;

    use super::*;

    fn cell(loss: f64, rtt_s: f64, throughput_pps: f64) -> FitCell {
        FitCell {
            loss,
            rtt_s,
            throughput_pps,
            relative_error: None,
            samples: 1,
            origin: CellOrigin::Measured,
        }
    }

    /// In the reference table, BBR varies by 10 %, and Reno falls by 75 %.
    #[test]
    fn constant_throughput_gives_no_profile() {
        let flat = [cell(0.01, 0.1, 1923.0), cell(0.02, 0.1, 1923.0)];
        let said = no_loss_dependence(&flat).unwrap();
        assert!(
            said.contains("from a loss of 1.00 % to one of 2.00 %"),
            "{said}"
        );
        let falling = [
            cell(0.01, 0.06, 206.0),
            cell(0.01, 0.1, 139.0),
            cell(0.1, 0.06, 51.0),
            cell(0.1, 0.1, 33.0),
        ];
        assert_eq!(no_loss_dependence(&falling), None);
        // One row is not sufficient for a result.
        assert_eq!(no_loss_dependence(&flat[..1]), None);
        assert_eq!(no_loss_dependence(&[]), None);
    }
}
