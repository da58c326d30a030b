//! 95th percentile of the steady-state delays, from the delay distribution that runs use, and its
//! derivatives.

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
        let jumps: Vec<(usize, AtomDerivatives)> = it.flows_at_jumps().collect();
        if !jumps.is_empty() {
            // At a jump, the percentile is the delay of the flows at the jump.
            let part = 1.0 / jumps.len() as f64;
            for (i, by) in jumps {
                let own = AtomDerivatives {
                    moments: by.moments.map(|it| part * it),
                    by_max: part * by.by_max,
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
                    by_max: 0.0,
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
}

impl Percentile {
    /// Returns the flows of which many packets have exactly this delay.
    fn flows_at_jumps(&self) -> impl Iterator<Item = (usize, AtomDerivatives)> + '_ {
        let both = self.flows.iter().zip(&self.times);
        both.filter_map(|(&i, (_, times))| Some((i, times.atom_at(self.time_s, JUMP_TOLERANCE)?)))
    }

    /// Returns whether packets of several flows have exactly this delay, so that each changes it in
    /// one direction only.
    pub fn is_at_kink(&self) -> bool {
        self.flows_at_jumps().count() > 1
    }
}
