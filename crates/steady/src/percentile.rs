//! 95th percentile of the steady-state delays, from the delay distribution that runs use, and its
//! derivatives.

use std::collections::BTreeMap;

use netflow_fluid::delays::{
    AtomDerivatives, DelayDistribution, DelayLaw, QueueOnArrival, RELATIVE_STEP, Tolerances,
    finite_differences, quantile_of,
};

use crate::sensitivity::{IncludedFlows, PartialDerivatives};
use crate::solver::Solver;

/// Probability of the percentile.
const QUANTILE: f64 = 0.95;
const FINE_TOLERANCE: Tolerances = Tolerances {
    time: 1e-14,
    part: 1e-15,
};
/// Accuracy of the starting point of Newton's method, and its maximum number of steps.
const COARSE_TOLERANCE: Tolerances = Tolerances {
    time: 1e-3,
    part: 1e-6,
};
const MAX_QUANTILE_STEPS: usize = 8;
/// Relative distance within which the percentile is at a jump of the distribution.
const JUMP_TOLERANCE: f64 = 1e-10;
/// Mean queue in packets below which packets do not wait.
const MIN_QUEUE_PKTS: f64 = 1e-9;
/// Free buffer space in packets below which a queue is full.
const FULL_MARGIN_PKTS: f64 = 1e-3;

/// Percentile with the delay distributions of its flows.
pub(crate) struct Percentile {
    pub time_s: f64,
    /// Flows included, each with its share of all delivered packets and its delay distribution.
    flows: Vec<usize>,
    times: Vec<(f64, DelayDistribution)>,
    /// Distribution parameters of the packets found at each link.
    arrival_queues: Vec<QueueOnArrival>,
}

/// Returns the percentile of all these, where no delay is below `shortest_s`.
fn quantile_s(times: &[(f64, DelayDistribution)], shortest_s: f64) -> f64 {
    let near_s = quantile_of(times, QUANTILE, shortest_s, COARSE_TOLERANCE);
    let mut time_s = near_s;
    for _ in 0..MAX_QUANTILE_STEPS {
        let (mut over, mut density) = (-QUANTILE, 0.0);
        for (weight, it) in times {
            over += weight * it.cdf(time_s, FINE_TOLERANCE.part);
            density += weight * it.density(time_s);
        }
        let next_s = time_s - over / density;
        let is_near = ((next_s - near_s) / near_s).abs() < 3.0 * COARSE_TOLERANCE.time;
        if !is_near {
            break;
        }
        if ((next_s - time_s) / time_s).abs() < FINE_TOLERANCE.time {
            return next_s;
        }
        time_s = next_s;
    }
    // Newton's method fails at a jump, for example.
    quantile_of(times, QUANTILE, shortest_s, FINE_TOLERANCE)
}

fn moments(found: &QueueOnArrival) -> [f64; 3] {
    [found.mean_pkts, found.variance, found.third]
}

impl Solver {
    /// Computes the percentile of the delays of these flows' delivered data; `None` if nothing
    /// arrives.
    pub(crate) fn percentile(&self, counted: &IncludedFlows) -> Option<Percentile> {
        let (problem, point) = (&self.problem, &self.point);
        let mut found = vec![QueueOnArrival::default(); problem.links.len()];
        for &l in &problem.used_links {
            let l = l as usize;
            let queue_pkts = point.links[l].fixed_point.queue_pkts;
            if queue_pkts > MIN_QUEUE_PKTS && !point.laws[l].is_paced() {
                found[l] = QueueOnArrival::of(queue_pkts, point.links[l].buffer_pkts);
            }
        }
        let mut flows = Vec::new();
        let mut times = Vec::new();
        for (i, (flow, at)) in problem.flows.iter().zip(&point.flows).enumerate() {
            let goodput_pps = flow.sent_pps(at.rate_pps) * libm::exp(at.ln_pass);
            if goodput_pps <= 0.0 || !counted.has(i) {
                continue;
            }
            let mut law = DelayLaw {
                fixed_s: problem.base_delays_s(flow)[0],
                ..DelayLaw::default()
            };
            for &l in &problem.hop_link[flow.data_hops()] {
                let (found, packet_s) = (&found[l as usize], point.links[l as usize].packet_s);
                law.mean_s += found.mean_pkts * packet_s;
                law.variance += found.variance * packet_s.powi(2);
                law.third += found.third * packet_s.powi(3);
                law.max_s += found.max_pkts * packet_s;
            }
            flows.push(i);
            times.push((goodput_pps, DelayDistribution::new(law)));
        }
        let all: f64 = times.iter().map(|(pps, _)| pps).sum();
        times.iter_mut().for_each(|(pps, _)| *pps /= all);
        let shortest_s = times.iter().map(|(_, it)| it.law().fixed_s);
        let shortest_s = shortest_s.fold(f64::INFINITY, f64::min);
        (all > 0.0).then(|| Percentile {
            time_s: quantile_s(&times, shortest_s),
            flows,
            times,
            arrival_queues: found,
        })
    }

    /// Adds the partial derivatives of this percentile.
    pub(crate) fn add_percentile_partials(&self, it: &Percentile, direct: &mut PartialDerivatives) {
        direct.value = it.time_s;
        let (problem, point) = (&self.problem, &self.point);
        let mut worth = vec![AtomDerivatives::default(); problem.links.len()];
        let mut add =
            |direct: &mut PartialDerivatives, i: usize, own: AtomDerivatives, fixed: f64| {
                direct.base_delay[i] += fixed;
                for &l in &problem.hop_link[problem.flows[i].data_hops()] {
                    let all = &mut worth[l as usize];
                    all.moments
                        .iter_mut()
                        .zip(own.moments)
                        .for_each(|(all, own)| *all += own);
                    all.by_max += own.by_max;
                }
            };
        let (jumps, is_kink) = self.flows_at_jump(it);
        direct.at_kink = is_kink;
        if !jumps.is_empty() {
            for (i, part, by) in jumps {
                let own = AtomDerivatives {
                    moments: by.moments.map(|it| part * it),
                    by_max: part * by.by_max,
                    ..by
                };
                add(direct, i, own, part);
            }
        } else {
            // Σ w (W(T) − PART) stays 0, with w the share of all packets and W the fraction not
            // slower than T.
            let density =
                |(weight, times): &(f64, DelayDistribution)| weight * times.density(it.time_s);
            let all: f64 = it.times.iter().map(density).sum();
            for (&i, (weight, times)) in it.flows.iter().zip(&it.times) {
                let within = times.cdf(it.time_s, FINE_TOLERANCE.part);
                let aside = -weight * (within - QUANTILE) / all;
                direct.ln_sent[i] += aside;
                direct.ln_pass[i] += aside;
                let moments = times.slopes(it.time_s).map(|by| -weight / all * by);
                let own = AtomDerivatives {
                    moments,
                    ..AtomDerivatives::default()
                };
                add(direct, i, own, weight * times.density(it.time_s) / all);
            }
        }
        for &l in &problem.used_links {
            let l = l as usize;
            let (link, queue_pkts) = (&point.links[l], point.links[l].fixed_point.queue_pkts);
            if queue_pkts <= MIN_QUEUE_PKTS || self.point.laws[l].is_paced() {
                continue;
            }
            let buffer_pkts = link.buffer_pkts;
            let (worth, found) = (worth[l], it.arrival_queues[l]);
            let sees = &mut direct.links[l];
            // The derivative of a full queue is that of a nearly full one.
            let queue_pkts = queue_pkts.min(buffer_pkts - FULL_MARGIN_PKTS);
            let room = RELATIVE_STEP * queue_pkts.min(buffer_pkts - queue_pkts);
            let of =
                |queue_pkts, buffer_pkts| moments(&QueueOnArrival::of(queue_pkts, buffer_pkts));
            let by_queue = finite_differences(room, |h| of(queue_pkts + h, buffer_pkts));
            let by_buffer = finite_differences(room, |h| of(queue_pkts, buffer_pkts + h));
            for (r, moment) in moments(&found).into_iter().enumerate() {
                let scale = worth.moments[r] * link.packet_s.powi(r as i32 + 1);
                sees.ln_packet_s += (r as f64 + 1.0) * scale * moment;
                sees.queue_pkts += scale * by_queue[r];
                sees.buffer_pkts += scale * by_buffer[r];
            }
            sees.ln_packet_s += worth.by_max * found.max_pkts * link.packet_s;
            sees.buffer_pkts += worth.by_max * link.packet_s;
        }
    }

    /// Returns the flows of which many packets have exactly this delay, each with the derivative of
    /// the percentile by the delay of these packets. Also returns whether the percentile has a kink.
    fn flows_at_jump(&self, it: &Percentile) -> (Vec<(usize, f64, AtomDerivatives)>, bool) {
        // Delays of equal packets on the same path change together.
        let mut paths: BTreeMap<(&[u32], u64), f64> = BTreeMap::new();
        let mut atoms = Vec::new();
        let mut below = 0.0;
        for (&i, (weight, times)) in it.flows.iter().zip(&it.times) {
            let before_s = it.time_s * (1.0 - 2.0 * JUMP_TOLERANCE);
            below += weight * times.cdf(before_s, FINE_TOLERANCE.part);
            if let Some(atom) = times.atom_at(it.time_s, JUMP_TOLERANCE) {
                let flow = &self.problem.flows[i];
                let path = &self.problem.hop_link[flow.data_hops()];
                let key = (path, flow.data_bits.to_bits());
                *paths.entry(key).or_default() += weight * atom.fraction;
                atoms.push((i, key, weight * atom.fraction, atom));
            }
        }
        let fractions: Vec<f64> = paths.values().copied().collect();
        let (parts, is_kink) = jump_derivatives(QUANTILE - below, &fractions);
        let parts: BTreeMap<_, f64> = paths.keys().copied().zip(parts).collect();
        let atoms = atoms.into_iter();
        let atoms = atoms.map(|(i, key, own, atom)| (i, parts[&key] * own / paths[&key], atom));
        (atoms.collect(), is_kink)
    }
}

/// Derivatives of a percentile by delays that are equal now, and whether it has a kink there. Each
/// delay has a fraction of all packets; `missing` is the fraction between the packets with smaller
/// delays and the percentile.
///
/// If one delay increases alone, the percentile increases with it if the other packets do not
/// suffice. If one delay decreases alone, the percentile decreases with it if its packets suffice.
/// At a kink the derivatives are proportional to the mean of both sides. They add up to 1, because
/// the percentile follows a change of all delays.
fn jump_derivatives(missing: f64, fractions: &[f64]) -> (Vec<f64>, bool) {
    if let [_] = fractions {
        return (vec![1.0], false);
    }
    let all: f64 = fractions.iter().sum();
    let sides = |&own: &f64| [all - own < missing, own >= missing].map(f64::from);
    if let Some(one) = fractions.iter().position(|own| sides(own) == [1.0, 1.0]) {
        let mut parts = vec![0.0; fractions.len()];
        parts[one] = 1.0;
        return (parts, false);
    }
    let means: Vec<f64> = fractions
        .iter()
        .map(|own| sides(own).iter().sum())
        .collect();
    let sum: f64 = means.iter().sum();
    let parts = if sum > 0.0 {
        means.iter().map(|it| it / sum).collect()
    } else {
        // No delay changes the percentile alone.
        fractions.iter().map(|own| own / all).collect()
    };
    (parts, true)
}

#[cfg(test)]
mod tests {
    use super::jump_derivatives;

    /// Half of the packets are missing. A path that has most of them decides alone.
    #[test]
    fn percentile_follows_the_path_that_decides_alone() {
        assert_eq!(jump_derivatives(0.5, &[0.9]), (vec![1.0], false));
        // Few packets of another path do not matter.
        let decides = (vec![0.0, 1.0], false);
        assert_eq!(jump_derivatives(0.5, &[1e-4, 0.9]), decides);
        assert_eq!(jump_derivatives(0.5, &[0.4, 0.6]), decides);
    }

    /// Without such a path, each one-sided derivative is 0 or 1.
    #[test]
    fn percentile_has_a_kink_if_no_path_decides_alone() {
        // The percentile decreases with either path, and increases with both.
        let halves = (vec![0.5, 0.5], true);
        assert_eq!(jump_derivatives(0.1, &[0.2, 0.6]), halves);
        // It increases with either path, and decreases with both.
        assert_eq!(jump_derivatives(0.7, &[0.2, 0.6]), halves);
        // The third path does not matter.
        let without = (vec![0.5, 0.5, 0.0], true);
        assert_eq!(jump_derivatives(0.7, &[0.2, 0.6, 1e-4]), without);
        // No path alone changes it.
        let (parts, is_kink) = jump_derivatives(0.5, &[0.3, 0.3, 0.3]);
        assert!(is_kink && parts.iter().all(|part| (part - 1.0 / 3.0).abs() < 1e-15));
    }
}
