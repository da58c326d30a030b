//! Comparison of two profiles.

use crate::Profile;

/// Relative difference below which two rates are equal.
const TIE_TOLERANCE: f64 = 0.01;

/// Factor up to which a profile counts as not faster in [`Comparison::exceedance`], because profiles
/// are measured to a few percent.
pub const FRIENDLY_FACTOR: f64 = 1.1;

/// Factor that RFC 5348 §1 calls reasonably fair.
pub const REASONABLY_FAIR_FACTOR: f64 = 2.0;

/// Identity of the faster of two profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Faster {
    /// The first one.
    A,
    /// The second one.
    B,
}

/// Largest ratio of two profiles, with its location.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaxRatio {
    /// Ratio of the throughputs; at least 1.
    pub factor: f64,
    /// Loss probability of the location.
    pub loss: f64,
    /// Round-trip time of the location, in seconds.
    pub rtt_s: f64,
}

/// Points at which one profile exceeds the other by a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceedance {
    /// Fraction of the points within both domains at which it does.
    pub share: f64,
    /// Largest ratio.
    pub max_ratio: MaxRatio,
}

/// Connected part of the grid in which the same profile is faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The faster profile.
    pub faster: Faster,
    /// Number of grid points.
    pub points: usize,
    /// Smallest and largest loss probability in it.
    pub loss: (f64, f64),
    /// Smallest and largest round-trip time in it, in seconds.
    pub rtt_s: (f64, f64),
    /// Largest ratio in the region.
    pub max_ratio: MaxRatio,
    /// Geometric mean of the ratio.
    pub mean_factor: f64,
}

/// Ratio of two profiles' throughputs over a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Loss probabilities of the grid.
    pub losses: Vec<f64>,
    /// Round-trip times of the grid, in seconds.
    pub rtts_s: Vec<f64>,
    /// Throughput of a / throughput of b, by loss and then round-trip time.
    pub ratios: Vec<f64>,
    /// True if a point is outside the domain of a or b, in the same order.
    pub outside: Vec<bool>,
    /// Regions in which one is faster, largest first. Points whose ratio is within 1 % of 1 are
    /// ties and in no region.
    pub regions: Vec<Region>,
}

impl Comparison {
    /// Returns a / b at one point of the grid.
    pub fn ratio(&self, loss: usize, rtt: usize) -> Option<f64> {
        if rtt < self.rtts_s.len() {
            self.ratios.get(loss * self.rtts_s.len() + rtt).copied()
        } else {
            None
        }
    }

    /// Returns the largest ratio in favour of this profile; `None` if it is nowhere faster.
    pub fn max_ratio(&self, faster: Faster) -> Option<MaxRatio> {
        let extremes = self
            .regions
            .iter()
            .filter(|region| region.faster == faster)
            .map(|region| region.max_ratio);
        extremes.max_by(|x, y| x.factor.total_cmp(&y.factor))
    }

    /// Returns where a's throughput exceeds `factor` times b's at the same loss and round-trip
    /// time. `None` means nowhere within both domains: a is TCP-friendly towards b with this
    /// tolerance.
    ///
    /// Floyd & Fall 1999 (*Promoting the Use of End-to-End Congestion Control in the Internet*,
    /// §3.2) call a flow TCP-friendly if its rate does not exceed that of a conformant TCP under
    /// the same conditions. This is a factor of 1, or [`FRIENDLY_FACTOR`] with measurement errors. RFC
    /// 5348 §1 calls rates within a factor of [`REASONABLY_FAIR_FACTOR`] reasonably fair.
    pub fn exceedance(&self, factor: f64) -> Option<Exceedance> {
        let inside = || {
            let points = self.ratios.iter().zip(&self.outside).enumerate();
            points.filter(|(_, (_, outside))| !**outside)
        };
        let above = || inside().filter(|(_, (ratio, _))| **ratio > factor);
        let (at, (&most, _)) = above().max_by(|x, y| x.1.0.total_cmp(y.1.0))?;
        Some(Exceedance {
            share: above().count() as f64 / inside().count() as f64,
            max_ratio: MaxRatio {
                factor: most,
                loss: self.losses[at / self.rtts_s.len()],
                rtt_s: self.rtts_s[at % self.rtts_s.len()],
            },
        })
    }

    /// Returns the fraction of the grid points within both domains.
    pub fn share_inside_domains(&self) -> f64 {
        let known = self.outside.iter().filter(|outside| !**outside).count();
        known as f64 / self.outside.len().max(1) as f64
    }

    /// Returns the fraction of the grid points at which this profile is faster.
    pub fn share(&self, faster: Faster) -> f64 {
        let ahead = self
            .regions
            .iter()
            .filter(|region| region.faster == faster)
            .map(|region| region.points);
        if self.ratios.is_empty() {
            0.0
        } else {
            ahead.sum::<usize>() as f64 / self.ratios.len() as f64
        }
    }
}

/// Compares two profiles at every pair of a loss probability and a round-trip time in seconds.
///
/// Regions connect neighbouring values, so both lists should be sorted. Outside the domains the
/// extrapolated values are compared; `outside` marks those points.
pub fn compare(a: &dyn Profile, b: &dyn Profile, losses: &[f64], rtts_s: &[f64]) -> Comparison {
    let points = || {
        losses
            .iter()
            .flat_map(|&loss| rtts_s.iter().map(move |&rtt_s| (loss, rtt_s)))
    };
    let ratio = |(loss, rtt_s)| a.throughput(loss, rtt_s) / b.throughput(loss, rtt_s);
    let ratios: Vec<f64> = points().map(ratio).collect();
    let outside = points()
        .map(|(loss, rtt_s)| a.is_outside_domain(loss, rtt_s) || b.is_outside_domain(loss, rtt_s))
        .collect();
    let regions = regions(&ratios, losses, rtts_s);
    Comparison {
        losses: losses.to_vec(),
        rtts_s: rtts_s.to_vec(),
        ratios,
        outside,
        regions,
    }
}

/// Returns losses (evenly spaced) and round-trip times in seconds (evenly spaced by their
/// logarithm) that cover the intersection of both domains, for [`compare`]; `None` if it is empty.
pub fn common_axes(
    a: &dyn Profile,
    b: &dyn Profile,
    losses: usize,
    rtts: usize,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let (a, b) = (a.domain(), b.domain());
    let (loss_min, loss_max) = (a.loss_min.max(b.loss_min), a.loss_max.min(b.loss_max));
    let (rtt_min, rtt_max) = (a.rtt_min_s.max(b.rtt_min_s), a.rtt_max_s.min(b.rtt_max_s));
    if loss_min > loss_max || rtt_min > rtt_max {
        return None;
    }
    let parts = |n: usize| {
        (0..n).map(move |i| {
            if n > 1 {
                i as f64 / (n - 1) as f64
            } else {
                0.0
            }
        })
    };
    let losses = parts(losses)
        .map(|t| (loss_min + t * (loss_max - loss_min)).min(loss_max))
        .collect();
    let rtts = parts(rtts)
        .map(|t| (rtt_min * libm::pow(rtt_max / rtt_min, t)).clamp(rtt_min, rtt_max))
        .collect();
    Some((losses, rtts))
}

fn faster(ratio: f64) -> Option<Faster> {
    match ratio {
        r if r > 1.0 + TIE_TOLERANCE => Some(Faster::A),
        r if r < 1.0 / (1.0 + TIE_TOLERANCE) => Some(Faster::B),
        _ => None,
    }
}

fn regions(ratios: &[f64], losses: &[f64], rtts_s: &[f64]) -> Vec<Region> {
    let columns = rtts_s.len();
    let mut seen = vec![false; ratios.len()];
    let mut regions = Vec::new();
    for start in 0..ratios.len() {
        let Some(side) = faster(ratios[start]).filter(|_| !seen[start]) else {
            continue;
        };
        let mut members = vec![start];
        let mut next = 0;
        seen[start] = true;
        while let Some(&at) = members.get(next) {
            next += 1;
            let neighbours = [
                (at % columns > 0).then(|| at - 1),
                (at % columns + 1 < columns).then(|| at + 1),
                at.checked_sub(columns),
                Some(at + columns).filter(|&below| below < ratios.len()),
            ];
            for neighbour in neighbours.into_iter().flatten() {
                if !seen[neighbour] && faster(ratios[neighbour]) == Some(side) {
                    seen[neighbour] = true;
                    members.push(neighbour);
                }
            }
        }
        regions.push(region(side, &members, ratios, losses, rtts_s));
    }
    regions.sort_by_key(|region| std::cmp::Reverse(region.points));
    regions
}

fn region(
    side: Faster,
    members: &[usize],
    ratios: &[f64],
    losses: &[f64],
    rtts_s: &[f64],
) -> Region {
    let factor = |at: usize| match side {
        Faster::A => ratios[at],
        Faster::B => 1.0 / ratios[at],
    };
    let range = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut loss, mut rtt_s) = (nothing, nothing);
    let mut most = MaxRatio {
        factor: 0.0,
        loss: f64::NAN,
        rtt_s: f64::NAN,
    };
    let mut log_sum = 0.0;
    for &at in members {
        let (p, rtt) = (losses[at / rtts_s.len()], rtts_s[at % rtts_s.len()]);
        loss = range(loss, p);
        rtt_s = range(rtt_s, rtt);
        log_sum += libm::log(factor(at));
        if factor(at) > most.factor {
            most = MaxRatio {
                factor: factor(at),
                loss: p,
                rtt_s: rtt,
            };
        }
    }
    let mean_factor = libm::exp(log_sum / members.len() as f64);
    Region {
        faster: side,
        points: members.len(),
        loss,
        rtt_s,
        max_ratio: most,
        mean_factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Formula, builtin};

    fn profile(name: &str) -> std::sync::Arc<dyn Profile> {
        builtin(name).expect(name)
    }

    /// \[Prof\] §2: NetBSD is up to three times faster than NT at low loss; NT is faster at high
    /// loss and long round-trip times.
    #[test]
    fn netbsd_wins_at_low_loss_and_nt_at_high_loss_and_long_rtt() {
        let losses: Vec<f64> = (0..=30).map(|i| f64::from(i) / 100.0).collect();
        let rtts = [0.06, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        let comparison = compare(&*profile("bsd"), &*profile("nt"), &losses, &rtts);

        let bsd = comparison
            .max_ratio(Faster::A)
            .expect("NetBSD is ahead somewhere");
        assert_eq!((bsd.loss, bsd.rtt_s), (0.0, 0.06));
        assert!((bsd.factor - 2.77).abs() < 0.005, "{}", bsd.factor);
        let nt = comparison
            .max_ratio(Faster::B)
            .expect("NT is ahead somewhere");
        assert!(
            nt.factor > 1.3 && nt.loss >= 0.1 && nt.rtt_s == 5.0,
            "{nt:?}"
        );
        assert!(comparison.ratio(20, 6).unwrap() < 0.7);
        assert_eq!(comparison.regions[0].faster, Faster::B);
        assert!(comparison.outside.iter().all(|outside| !outside));
    }

    /// \[Prof\] §2: at 60 ms without loss the ratio of NetBSD to NT is 2.77; above 5 % loss it is
    /// below 1.5 everywhere.
    #[test]
    fn tcp_friendliness_depends_on_loss() {
        let rtts = [0.06, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        let on = |losses: &[f64]| compare(&*profile("bsd"), &*profile("nt"), losses, &rtts);
        let low = on(&[0.0, 0.01, 0.02]);
        let excess = low.exceedance(FRIENDLY_FACTOR).unwrap();
        assert_eq!((excess.max_ratio.loss, excess.max_ratio.rtt_s), (0.0, 0.06));
        assert!((excess.max_ratio.factor - 2.77).abs() < 0.005);
        assert!(low.exceedance(2.8).is_none());
        assert!(on(&[0.08, 0.1, 0.12]).exceedance(FRIENDLY_FACTOR).is_none());
        assert!(
            on(&[0.4]).exceedance(0.0).is_none(),
            "nobody knows about 40 %"
        );
    }

    #[test]
    fn a_profile_ties_with_itself() {
        let reno = profile("ns-reno");
        let (losses, rtts) = common_axes(&*reno, &*reno, 20, 20).unwrap();
        let comparison = compare(&*reno, &*reno, &losses, &rtts);
        assert!(comparison.ratios.iter().all(|&ratio| ratio == 1.0));
        assert!(comparison.regions.is_empty());
        assert_eq!(comparison.max_ratio(Faster::A), None);
        assert_eq!(comparison.share(Faster::B), 0.0);
    }

    #[test]
    fn regions_are_connected_and_exclude_ties() {
        // a/b: 2 2 | 1 | 0.5 on two rows, and an island of a below.
        let ratios = [
            2.0, 3.0, 1.0, 0.5, 2.0, 1.0, 1.0, 0.25, 1.005, 1.0, 4.0, 1.0,
        ];
        let (losses, rtts) = ([0.0, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4]);
        let found = regions(&ratios, &losses, &rtts);
        let sizes: Vec<(Faster, usize)> = found
            .iter()
            .map(|region| (region.faster, region.points))
            .collect();
        assert_eq!(sizes, [(Faster::A, 3), (Faster::B, 2), (Faster::A, 1)]);
        assert_eq!(
            found[0].max_ratio,
            MaxRatio {
                factor: 3.0,
                loss: 0.0,
                rtt_s: 0.2
            }
        );
        assert_eq!((found[1].loss, found[1].rtt_s), ((0.0, 0.1), (0.4, 0.4)));
        assert!((found[1].mean_factor - 8_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn empty_axes_do_not_panic() {
        let reno = profile(Formula::PftkFull.name());
        let empty = compare(&*reno, &*reno, &[], &[0.1]);
        assert_eq!(
            (
                empty.max_ratio(Faster::A),
                empty.share(Faster::A),
                empty.ratio(0, 0)
            ),
            (None, 0.0, None)
        );
        assert_eq!(compare(&*reno, &*reno, &[0.1], &[]).ratio(0, 0), None);
    }
}
