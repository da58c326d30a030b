//! Worst moment of a run.

use netflow_results::SATURATION_UTILIZATION;

use crate::data::WorstMoment;
use crate::rounding::{Rounded, Time};
use crate::run::{ARRIVAL, LINK_LOSS, UTILIZATION};
use crate::series_table::SeriesTable;

/// Returns the interval and link with the most lost packets between two times (s), or with the highest
/// utilization if none are lost. Ties go to the first.
pub fn worst_moment(
    links: &SeriesTable,
    names: &[String],
    (from_s, to_s): (f64, f64),
) -> Option<WorstMoment> {
    let times_s = &links.times_s;
    let begin = |at: usize| at.checked_sub(1).and_then(|i| times_s.get(i)).copied();
    let begin_s = |at: usize| begin(at).unwrap_or(0.0);
    let mut most: Option<((f64, f64), usize, usize)> = None;
    for place in 0..names.len() {
        let value = |quantity, at: usize| {
            let value = links.series(place, quantity).get(at).copied();
            value.filter(|it| !it.is_nan()).unwrap_or(0.0)
        };
        for (at, &time_s) in times_s.iter().enumerate() {
            if time_s <= from_s || time_s > to_s {
                continue;
            }
            let lost = value(ARRIVAL, at) * value(LINK_LOSS, at) * (time_s - begin_s(at));
            // Less than one lost packet is ignored.
            let lost = if lost >= 1.0 { lost } else { 0.0 };
            let bad = (lost, value(UTILIZATION, at));
            if bad > (0.0, 0.0) && most.is_none_or(|(known, ..)| bad > known) {
                most = Some((bad, place, at));
            }
        }
    }
    let ((_, utilization), place, at) = most?;
    let all = links.series(place, UTILIZATION);
    let full = |at: &usize| all.get(*at).is_some_and(|it| *it >= SATURATION_UTILIZATION);
    let (mut first, mut last) = (at, at);
    if full(&at) {
        first = (0..at).rev().take_while(full).last().unwrap_or(at);
        last = (at..times_s.len()).take_while(full).last().unwrap_or(at);
    }
    Some(WorstMoment {
        link: names.get(place)?.clone(),
        at_s: Time(*times_s.get(at)?),
        utilization: Rounded(utilization),
        loss: Rounded(links.series(place, LINK_LOSS).get(at).copied()?),
        from_s: Time(begin_s(first)),
        to_s: Time(*times_s.get(last)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netflow_results::LINKS;

    /// Returns two links over three intervals of a second with this utilization, and this loss of 100
    /// packets/s.
    fn links(utilization: [[f64; 3]; 2], loss: [[f64; 3]; 2]) -> SeriesTable {
        let row = |i: usize| {
            let (place, at) = (i % 2, i / 2);
            let mut values = vec![0.0; LINKS.values.len()];
            values[UTILIZATION] = utilization[place][at];
            values[LINK_LOSS] = loss[place][at];
            values[ARRIVAL] = 100.0;
            ((at + 1) as f64, place, values)
        };
        SeriesTable::of((0..6).map(row), 2, LINKS.values.len())
    }

    fn description(links: &SeriesTable) -> Option<String> {
        let names = ["a".to_owned(), "b".to_owned()];
        let worst_moment = worst_moment(links, &names, (0.0, 3.0))?;
        Some(format!(
            "{} {} at {}, from {} to {}",
            worst_moment.link,
            worst_moment.utilization.0,
            worst_moment.at_s.0,
            worst_moment.from_s.0,
            worst_moment.to_s.0
        ))
    }

    #[test]
    fn losses_are_worse_than_a_busy_link() {
        let busy = [[0.5, 1.0, 1.0], [0.9, 0.95, 0.2]];
        let lossless = links(busy, [[0.0; 3]; 2]);
        assert_eq!(description(&lossless).unwrap(), "a 1 at 2, from 1 to 3");
        let lossy = links(busy, [[0.0; 3], [0.0, 0.02, 0.0]]);
        assert_eq!(description(&lossy).unwrap(), "b 0.95 at 2, from 1 to 2");
    }

    #[test]
    fn idle_run_has_no_worst_moment() {
        assert!(description(&links([[0.0; 3]; 2], [[0.0; 3]; 2])).is_none());
        assert!(worst_moment(&SeriesTable::default(), &[], (0.0, 1.0)).is_none());
    }
}
