//! Sensitivities of one measure to all parameters, from one adjoint solution.
//!
//! In steady state F(z, θ) = 0. Hence dM/dθ = ∂M/∂θ + ψᵀ ∂F/∂θ with Jᵀψ = −∂M/∂z and J = ∂F/∂z.
//! This is one linear system per measure M, whatever the number of parameters θ.

use netflow_fluid::link_traffic::LinkTraffic;
use netflow_fluid::queue_fixed_point::QueueSlopes;
use netflow_fluid::slow_start_bursts::Bursts;
use netflow_fluid::tcp_drop_tail::LawGradient;
use netflow_network::ConnectionId;

use crate::jacobian::{FlowAdjoints, JacobianOperator, LinkTangents};
use crate::problem::{Flow, NO_PROFILE};
use crate::residual::BindingConstraint;
use crate::solver::{ConnectionSelection, Solver};
use crate::{Steady, SteadyError, SteadyOptions};

/// Tolerance of the adjoint solution.
const ADJOINT_TOLERANCE: f64 = 1e-12;
const MAX_PRODUCTS: usize = 2000;
/// Largest residual of the adjoint solution that is accepted.
const MAX_ADJOINT_RESIDUAL: f64 = 1e-7;
/// Relative distance within which a state counts as at a kink of a profile or limit.
const KINK_TOLERANCE: f64 = 1e-7;

/// Scalar performance measure of a set of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Packets/s of data sent.
    Rate,
    /// Bit/s of data delivered.
    Goodput,
    /// Mean one-way delay of a packet in seconds. Packets of bursts count with the mean wait of all
    /// packets at each link, which is exact for the total over all packets.
    Delay,
    /// 95th percentile of the one-way delay of all delivered packets in seconds, from the delay
    /// distribution that runs use.
    DelayP95,
    /// Fraction of the data sent that is lost.
    Loss,
}

/// Derivatives of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivities {
    /// Value of the measure.
    pub value: f64,
    /// Derivatives by the bandwidth of each link, per bit/s.
    pub by_bandwidth: Vec<f64>,
    /// Derivatives by its propagation delay, per second.
    pub by_delay: Vec<f64>,
    /// Derivatives by its buffer, per packet of
    /// [`LinkSteady::buffer_pkts`](crate::LinkSteady::buffer_pkts).
    pub by_buffer: Vec<f64>,
    /// Derivatives by ln of each connection's demand: its rate if the source has a fixed rate, else
    /// the number of such connections.
    pub by_demand: Vec<f64>,
    /// Connections with one-sided derivatives: at a kink of their profile or limit, or with
    /// transfers over links of equal bandwidth. It lists all connections if a percentile is a delay
    /// that many packets of several paths have exactly, and no path decides it alone.
    pub at_kinks: Vec<ConnectionId>,
    /// Relative residual of the adjoint equations.
    pub residual: f64,
}

/// Flows included in the measure.
pub(crate) enum IncludedFlows {
    All,
    Some(Vec<bool>),
}

impl IncludedFlows {
    pub fn has(&self, flow: usize) -> bool {
        match self {
            IncludedFlows::All => true,
            IncludedFlows::Some(counted) => counted[flow],
        }
    }
}

/// Traffic of one flow.
struct FlowContribution<'a> {
    i: usize,
    flow: &'a Flow,
    loss: f64,
    sent_pps: f64,
    goodput_pps: f64,
}

/// Packets found at a link by an arrival: the mean queue, or the mean over all arrivals.
struct MeanWait {
    found_pkts: f64,
    by_queue: f64,
}

/// Value of a measure, and its partial derivatives by rates, delivered fractions and link states as
/// independent variables.
pub(crate) struct PartialDerivatives {
    pub value: f64,
    /// Per flow: by ln of its sending rate, by ln of its delivered fraction, by its delay without
    /// queues.
    pub ln_sent: Vec<f64>,
    pub ln_pass: Vec<f64>,
    pub base_delay: Vec<f64>,
    pub links: Vec<LinkPartials>,
    pub at_kink: bool,
}

/// Partial derivatives of a measure by the state of one link: mean queue, packets found, buffer,
/// and ln of the mean service time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkPartials {
    pub queue_pkts: f64,
    pub found_pkts: f64,
    pub buffer_pkts: f64,
    pub ln_packet_s: f64,
}

impl LinkPartials {
    fn dot(&self, slopes: &QueueSlopes) -> f64 {
        self.queue_pkts * slopes.queue_pkts + self.found_pkts * slopes.found_pkts
    }
}

impl Solver {
    /// Returns the value whose derivatives [`sensitivities`](Self::sensitivities) returns, at a
    /// steady state of the network in its present state.
    pub fn value(&mut self, at: &Steady, measure: Measure, which: ConnectionSelection<'_>) -> f64 {
        let counted = self.included_flows(which);
        self.evaluate_at(&at.z);
        self.partial_derivatives(measure, &counted).value
    }

    /// Computes the derivatives of `measure` at a steady state of the network in its present state.
    ///
    /// # Errors
    /// As [`Solver::solve`], if `at` is not a steady state of the network.
    pub fn sensitivities(
        &mut self,
        at: &Steady,
        measure: Measure,
        which: ConnectionSelection<'_>,
    ) -> Result<Sensitivities, SteadyError> {
        // The demand of a selected connection affects the measure differently from that of the rest
        // of its class.
        let counted = self.included_flows(which);
        let exact = SteadyOptions {
            tolerance: 1e-12,
            ..SteadyOptions::default()
        };
        let near = SteadyOptions::default();
        if self.solve_from(at, &exact).is_err() {
            self.solve_from(at, &near)?;
        }
        let direct = self.partial_derivatives(measure, &counted);
        let (problem, point) = (&self.problem, &self.point);
        let linear = JacobianOperator { problem, point };
        let n = problem.size();
        // ∂M/∂z
        let mut tangents = LinkTangents::new(problem);
        for (i, flow) in problem.flows.iter().enumerate() {
            let it = &point.flows[i];
            let by_pass = direct.ln_pass[i] + it.by_pass * direct.ln_sent[i];
            linear.scatter_to_links(flow, by_pass, it.by_rtt * direct.ln_sent[i], &mut tangents);
        }
        let mut right = vec![0.0; n];
        linear.gather_from_links(&tangents, &mut right);
        for &l in &problem.used_links {
            let l = l as usize;
            right[2 * l] += direct.links[l].dot(&point.links[l].fixed_point.by_load);
            let (sees, link) = (&direct.links[l], &point.links[l]);
            let by_buffer = sees.dot(&link.fixed_point.by_buffer) + sees.buffer_pkts;
            right[2 * l + 1] += sees.ln_packet_s + by_buffer * link.buffer_by_v;
        }
        right.iter_mut().for_each(|it| *it = -*it);
        let mut diagonal = vec![0.0; n];
        linear.diagonal(&mut diagonal);
        diagonal.iter_mut().for_each(|d| *d = d.abs().max(0.1));
        let mut worth = vec![0.0; n];
        let mut scratch = LinkTangents::new(problem);
        let solved = self.newton.gmres.solve(
            |x, out| linear.transpose(x, &mut scratch, None, out),
            &diagonal,
            &right,
            ADJOINT_TOLERANCE,
            MAX_PRODUCTS,
            &mut worth,
        );
        if solved.relative_residual.is_nan() || solved.relative_residual > MAX_ADJOINT_RESIDUAL {
            return Err(SteadyError::Singular {
                left: solved.relative_residual,
            });
        }
        let flows = problem.flows.len();
        let mut adjoints = FlowAdjoints {
            ln_rate: vec![0.0; flows],
            ln_pass: vec![0.0; flows],
            rtt_s: vec![0.0; flows],
        };
        linear.transpose(&worth, &mut scratch, Some(&mut adjoints), &mut vec![0.0; n]);
        for (all, own) in [
            (&mut scratch.ln_pass, &tangents.ln_pass),
            (&mut scratch.waiting_s, &tangents.waiting_s),
        ] {
            all.iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
        Ok(self.total_derivatives(
            &direct,
            &worth,
            &scratch,
            &adjoints,
            solved.relative_residual,
        ))
    }

    fn total_derivatives(
        &self,
        direct: &PartialDerivatives,
        worth: &[f64],
        tangents: &LinkTangents,
        adjoints: &FlowAdjoints,
        residual: f64,
    ) -> Sensitivities {
        let (problem, point) = (&self.problem, &self.point);
        let inner = self.network.tables();
        let links = problem.links.len();
        let mut all = Sensitivities {
            value: direct.value,
            by_bandwidth: vec![0.0; links],
            by_delay: vec![0.0; links],
            by_buffer: vec![0.0; links],
            by_demand: vec![0.0; inner.connections.len()],
            at_kinks: Vec::new(),
            residual,
        };
        let by_filling: Vec<LawGradient> = (0..links)
            .map(|l| {
                let (link, by) = (&point.links[l], &point.links[l].fixed_point.by_queue_model);
                let worth_of = |slopes: &QueueSlopes| {
                    tangents.ln_pass[l] * slopes.ln_pass
                        + tangents.waiting_s[l] * link.wait_packet_s * slopes.queue_pkts
                        + direct.links[l].dot(slopes)
                };
                LawGradient {
                    windows: worth_of(&by.windows),
                    sawtooth_amplitude: worth_of(&by.sawtooth_amplitude),
                    acks: worth_of(&by.acks),
                    poisson: worth_of(&by.poisson),
                    idle: worth_of(&by.idle),
                    waiting: worth_of(&by.waiting),
                    bursts: Bursts {
                        own_pkts: worth_of(&by.own_bursts),
                        others_pkts: worth_of(&by.others_bursts),
                    },
                }
            })
            .collect();
        let filling = problem.link_traffic_vjp(&by_filling);
        for &l in &problem.used_links {
            let l = l as usize;
            let link = &point.links[l];
            // By ln of the bandwidth: the load, and everything sent at the link's rate.
            all.by_bandwidth[l] =
                worth[2 * l] - tangents.waiting_s[l] * link.waiting_s - direct.links[l].ln_packet_s;
            let by_buffer = &link.fixed_point.by_buffer;
            all.by_buffer[l] = tangents.ln_pass[l] * by_buffer.ln_pass
                + tangents.waiting_s[l] * link.wait_packet_s * by_buffer.queue_pkts
                + direct.links[l].dot(by_buffer)
                + direct.links[l].buffer_pkts
                + filling.buffer_pkts[l] * problem.links[l].buffer.nominal_pkts / link.buffer_pkts;
        }
        // A return path without traffic also adds delay.
        all.by_delay.clone_from(&filling.delay_s);
        let mut by_flow = vec![0.0; problem.flows.len()];
        for (i, flow) in problem.flows.iter().enumerate() {
            let by_rtt = adjoints.rtt_s[i] + point.flows[i].by_rtt * direct.ln_sent[i];
            let ways = [
                (flow.data_hops(), true, by_rtt + direct.base_delay[i]),
                (flow.back_hops(), flow.sends_acks, by_rtt),
            ];
            for (hops, is_sent, per_second) in ways {
                for h in hops {
                    let bits = problem.sent_bits(h, is_sent);
                    let l = problem.hop_link[h] as usize;
                    all.by_delay[l] += per_second;
                    all.by_bandwidth[l] -= per_second * bits / problem.links[l].bandwidth_bps;
                }
            }
            by_flow[i] = adjoints.ln_rate[i] + direct.ln_sent[i] + filling.ln_demand[i];
        }
        for (l, link) in problem.links.iter().enumerate() {
            all.by_bandwidth[l] =
                all.by_bandwidth[l] / link.bandwidth_bps + filling.bandwidth_bps[l];
            if link.buffer.follows_bandwidth(link.bandwidth_bps) {
                all.by_bandwidth[l] +=
                    all.by_buffer[l] * self.point.links[l].buffer_pkts / link.bandwidth_bps;
            }
        }
        let crossings = problem.link_traffic();
        let bends: Vec<bool> = (0..problem.flows.len())
            .map(|i| self.is_at_kink(i, &crossings))
            .collect();
        for id in self.network.connections() {
            let flows = problem.flows_of(&self.network, id);
            if flows.is_empty() {
                continue;
            }
            let part = problem.share_of(&self.network, id, flows.clone());
            all.by_demand[id.index()] = part * by_flow[flows.clone()].iter().sum::<f64>();
            if bends[flows].contains(&true) || direct.at_kink {
                all.at_kinks.push(id);
            }
        }
        all
    }

    /// Returns which flows are included; selected connections get flows of their own.
    fn included_flows(&mut self, which: ConnectionSelection<'_>) -> IncludedFlows {
        let ConnectionSelection::Only(ids) = which else {
            return IncludedFlows::All;
        };
        // Indices are final only after all connections have their own flows.
        for &id in ids {
            self.isolate_connection(id);
        }
        let mut counted = vec![false; self.problem.flows.len()];
        for &id in ids {
            counted[self.problem.flows_of(&self.network, id)].fill(true);
        }
        IncludedFlows::Some(counted)
    }

    /// Iterates over the traffic of the included flows.
    fn flow_contributions<'a>(
        &'a self,
        counted: &'a IncludedFlows,
    ) -> impl Iterator<Item = FlowContribution<'a>> {
        let each = self.problem.flows.iter().zip(&self.point.flows).enumerate();
        let each = each.filter(|&(i, _)| counted.has(i));
        each.map(|(i, (flow, it))| {
            let sent_pps = flow.sent_pps(it.rate_pps);
            FlowContribution {
                i,
                flow,
                loss: it.loss(),
                sent_pps,
                goodput_pps: sent_pps * libm::exp(it.ln_pass),
            }
        })
    }

    fn partial_derivatives(&self, measure: Measure, counted: &IncludedFlows) -> PartialDerivatives {
        let flows = self.problem.flows.len();
        let mut direct = PartialDerivatives {
            value: 0.0,
            ln_sent: vec![0.0; flows],
            ln_pass: vec![0.0; flows],
            base_delay: vec![0.0; flows],
            links: vec![LinkPartials::default(); self.problem.links.len()],
            at_kink: false,
        };
        let each: Vec<FlowContribution<'_>> = self.flow_contributions(counted).collect();
        let sent_pps: f64 = each.iter().map(|it| it.sent_pps).sum();
        let goodput_pps: f64 = each.iter().map(|it| it.goodput_pps).sum();
        match measure {
            Measure::Rate => {
                direct.value = sent_pps;
                for it in each {
                    direct.ln_sent[it.i] = it.sent_pps;
                }
            }
            Measure::Goodput => {
                for it in each {
                    let bps = it.goodput_pps * it.flow.data_bits;
                    direct.value += bps;
                    (direct.ln_sent[it.i], direct.ln_pass[it.i]) = (bps, bps);
                }
            }
            Measure::Loss if sent_pps > 0.0 => {
                let lost = each.iter().map(|it| it.loss * it.sent_pps);
                direct.value = lost.sum::<f64>() / sent_pps;
                for it in each {
                    direct.ln_sent[it.i] = it.sent_pps / sent_pps * (it.loss - direct.value);
                    direct.ln_pass[it.i] = -it.goodput_pps / sent_pps;
                }
            }
            Measure::Delay if goodput_pps > 0.0 => {
                let all = matches!(counted, IncludedFlows::All);
                let as_all = |it: &FlowContribution<'_>| all || self.is_bursty(it.flow);
                let delay_s = |it: &FlowContribution<'_>| {
                    self.delay_for_queues_s(it.i, |l| self.arrival_queue(l, as_all(it)).found_pkts)
                };
                let part = |it: &FlowContribution<'_>| it.goodput_pps / goodput_pps;
                direct.value = each.iter().map(|it| part(it) * delay_s(it)).sum();
                for it in &each {
                    let aside = part(it) * (delay_s(it) - direct.value);
                    (direct.ln_sent[it.i], direct.ln_pass[it.i]) = (aside, aside);
                    direct.base_delay[it.i] = part(it);
                    for &l in &self.problem.hop_link[it.flow.data_hops()] {
                        let l = l as usize;
                        let (sees, found) =
                            (&mut direct.links[l], self.arrival_queue(l, as_all(it)));
                        let by_wait = part(it) * self.point.links[l].packet_s;
                        sees.queue_pkts += by_wait * found.by_queue;
                        sees.found_pkts += by_wait * (1.0 - found.by_queue);
                        sees.ln_packet_s += by_wait * found.found_pkts;
                    }
                }
            }
            Measure::DelayP95 => {
                if let Some(it) = self.percentile(counted) {
                    self.add_percentile_partials(&it, &mut direct);
                }
            }
            Measure::Loss | Measure::Delay => {}
        }
        direct
    }

    /// Returns whether any of these connections sends bursts, and so waits longer than other
    /// packets.
    pub(crate) fn any_bursty(&self, which: ConnectionSelection<'_>) -> bool {
        match which {
            ConnectionSelection::All => false,
            ConnectionSelection::Only(ids) => ids.iter().any(|&id| {
                let mut flows = self.problem.flows_of(&self.network, id);
                flows.any(|i| self.is_bursty(&self.problem.flows[i]))
            }),
        }
    }

    fn is_bursty(&self, flow: &Flow) -> bool {
        self.problem.transfers[flow.class as usize].is_some()
    }

    /// Returns the packets found at a link: by the average arrival, or by arrivals that meet bursts
    /// of other flows.
    fn arrival_queue(&self, l: usize, as_all: bool) -> MeanWait {
        let rest = &self.point.links[l].fixed_point;
        let meets = !as_all && self.point.laws[l].has_bursts();
        if meets && rest.queue_pkts < rest.found_pkts {
            MeanWait {
                found_pkts: rest.queue_pkts,
                by_queue: 1.0,
            }
        } else {
            MeanWait {
                found_pkts: rest.found_pkts,
                by_queue: 0.0,
            }
        }
    }

    /// Returns whether a flow's rate has a kink at this point.
    fn is_at_kink(&self, i: usize, crossings: &[LinkTraffic]) -> bool {
        let (flow, at) = (&self.problem.flows[i], &self.point.flows[i]);
        if flow.profile == NO_PROFILE {
            return self.problem.bursts_are_nonsmooth(flow, crossings);
        }
        let profile = &*self.problem.profiles[flow.profile as usize];
        let profile_pps = profile.throughput(at.loss(), at.rtt_s);
        let limits = [
            profile_pps,
            flow.window_pkts / at.rtt_s,
            flow.application_pps / libm::exp(at.ln_pass),
        ];
        let near = |pps: &&f64| (*pps / at.rate_pps - 1.0).abs() < KINK_TOLERANCE;
        if limits.iter().filter(near).count() > 1 {
            return true;
        }
        if at.limit != BindingConstraint::Profile {
            return false;
        }
        // Elasticities on both sides.
        let here = |loss: f64, rtt_s: f64| {
            let slopes = profile.log_derivatives(loss, rtt_s);
            [slopes.by_loss * loss, slopes.by_rtt * rtt_s]
        };
        let (less, more) = (1.0 - KINK_TOLERANCE, 1.0 + KINK_TOLERANCE);
        let sides = [
            (
                here(at.loss() * less, at.rtt_s),
                here(at.loss() * more, at.rtt_s),
            ),
            (
                here(at.loss(), at.rtt_s * less),
                here(at.loss(), at.rtt_s * more),
            ),
        ];
        sides.iter().any(|(a, b)| {
            let pairs = a.iter().zip(b);
            pairs
                .into_iter()
                .any(|(a, b)| (a - b).abs() > 1e-4 * (1.0 + a.abs()))
        })
    }
}
