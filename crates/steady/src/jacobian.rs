//! Jacobian of the residual as a matrix-free operator: one pass over all hops computes its product
//! with a vector, or that of its transpose.

use crate::problem::{Flow, Problem};
use crate::residual::NetworkState;

/// Jacobian at a point that was evaluated with slopes.
#[derive(Clone, Copy)]
pub(crate) struct JacobianOperator<'a> {
    pub problem: &'a Problem,
    pub point: &'a NetworkState,
}

/// Tangents or adjoints of the links: ln of the probability of acceptance, and the waiting time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkTangents {
    pub ln_pass: Vec<f64>,
    pub waiting_s: Vec<f64>,
}

/// Adjoints of the flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowAdjoints {
    /// Derivatives by ln(rate), by ln of the fraction delivered, and by the round-trip time.
    pub ln_rate: Vec<f64>,
    pub ln_pass: Vec<f64>,
    pub rtt_s: Vec<f64>,
}

impl LinkTangents {
    pub fn new(problem: &Problem) -> LinkTangents {
        LinkTangents {
            ln_pass: vec![0.0; problem.links.len()],
            waiting_s: vec![0.0; problem.links.len()],
        }
    }
}

impl JacobianOperator<'_> {
    /// Computes the Jacobian–vector product with `change`, a change of z.
    pub fn apply(&self, change: &[f64], tangents: &mut LinkTangents, out: &mut [f64]) {
        let JacobianOperator { problem, point } = *self;
        out.fill(0.0);
        for &l in &problem.used_links {
            let l = l as usize;
            let (at, [du, dv]) = (&point.links[l], [change[2 * l], change[2 * l + 1]]);
            let (by_load, by_v) = (&at.fixed_point.by_load, at.by_v());
            tangents.ln_pass[l] = by_load.ln_pass * du + by_v[0] * dv;
            tangents.waiting_s[l] = at.wait_packet_s * by_load.queue_pkts * du + by_v[1] * dv;
        }
        for (flow, at) in problem.flows.iter().zip(&point.flows) {
            let sum = |which: &[f64], hops: std::ops::Range<usize>| -> f64 {
                problem.hop_link[hops]
                    .iter()
                    .map(|&l| which[l as usize])
                    .sum()
            };
            let rtt_s = sum(&tangents.waiting_s, flow.data_hops())
                + sum(&tangents.waiting_s, flow.ack_hops());
            let mut d_ln =
                at.by_pass * sum(&tangents.ln_pass, flow.data_hops()) + at.by_rtt * rtt_s;
            for (hops, pkts) in hop_ranges(flow) {
                for h in hops {
                    let l = problem.hop_link[h] as usize;
                    let bits = pkts * problem.hop_bits[h];
                    let change = point.hops[h] * d_ln;
                    out[2 * l] += bits * change;
                    out[2 * l + 1] += pkts * change;
                    d_ln += tangents.ln_pass[l];
                }
            }
        }
        for &l in &problem.used_links {
            let l = l as usize;
            let at = &point.links[l];
            let (bits, pkts) = (out[2 * l] / at.bits_ps, out[2 * l + 1] / at.pkts_ps);
            out[2 * l] = change[2 * l] - bits;
            out[2 * l + 1] = change[2 * l + 1] - (bits - pkts);
        }
        for l in unused_links(problem) {
            (out[2 * l], out[2 * l + 1]) = (change[2 * l], change[2 * l + 1]);
        }
    }

    /// Computes the product of the transposed Jacobian with `residual_adjoint`, the adjoint of the residual.
    /// If `adjoints` is given, it also returns the adjoints of every flow's rate, delivered fraction
    /// and round-trip time.
    pub fn transpose(
        &self,
        residual_adjoint: &[f64],
        tangents: &mut LinkTangents,
        adjoints: Option<&mut FlowAdjoints>,
        out: &mut [f64],
    ) {
        let JacobianOperator { problem, point } = *self;
        let prices = |l: usize| {
            let at = &point.links[l];
            let (u, v) = (residual_adjoint[2 * l], residual_adjoint[2 * l + 1]);
            (-(u + v) / at.bits_ps, v / at.pkts_ps)
        };
        // Adjoints of every link's bit/s and packets/s.
        tangents.ln_pass.fill(0.0);
        tangents.waiting_s.fill(0.0);
        let mut adjoints = adjoints;
        for (i, (flow, at)) in problem.flows.iter().zip(&point.flows).enumerate() {
            // From the last hop back: the sum over all hops that follow.
            let mut after = 0.0;
            for (hops, pkts) in hop_ranges(flow).into_iter().rev() {
                for h in hops.rev() {
                    let l = problem.hop_link[h] as usize;
                    let bits = pkts * problem.hop_bits[h];
                    let (per_bit, per_pkt) = prices(l);
                    tangents.ln_pass[l] += after;
                    after += point.hops[h] * (bits * per_bit + pkts * per_pkt);
                }
            }
            let (by_pass, by_rtt) = (at.by_pass * after, at.by_rtt * after);
            self.scatter_to_links(flow, by_pass, by_rtt, tangents);
            if let Some(adjoints) = adjoints.as_deref_mut() {
                (adjoints.ln_rate[i], adjoints.ln_pass[i], adjoints.rtt_s[i]) =
                    (after, by_pass, by_rtt);
            }
        }
        self.gather_from_links(tangents, out);
        for l in 0..problem.links.len() {
            out[2 * l] += residual_adjoint[2 * l];
            out[2 * l + 1] += residual_adjoint[2 * l + 1];
        }
    }

    /// Adds a flow's adjoints of ln(fraction delivered) and of the waiting time to every link of
    /// its path.
    pub fn scatter_to_links(
        &self,
        flow: &Flow,
        by_pass: f64,
        by_rtt: f64,
        tangents: &mut LinkTangents,
    ) {
        let links = &self.problem.hop_link;
        for h in flow.data_hops() {
            let l = links[h] as usize;
            tangents.ln_pass[l] += by_pass;
            tangents.waiting_s[l] += by_rtt;
        }
        for h in flow.ack_hops() {
            tangents.waiting_s[links[h] as usize] += by_rtt;
        }
    }

    /// Converts the link adjoints into adjoints of z.
    pub fn gather_from_links(&self, tangents: &LinkTangents, out: &mut [f64]) {
        let JacobianOperator { problem, point } = *self;
        out.fill(0.0);
        for &l in &problem.used_links {
            let l = l as usize;
            let at = &point.links[l];
            let by_load = &at.fixed_point.by_load;
            out[2 * l] = by_load.ln_pass * tangents.ln_pass[l]
                + by_load.queue_pkts * at.wait_packet_s * tangents.waiting_s[l];
            let by_v = at.by_v();
            out[2 * l + 1] = by_v[0] * tangents.ln_pass[l] + by_v[1] * tangents.waiting_s[l];
        }
    }

    /// Computes the main diagonal, except the effect of a path that crosses a link twice on itself.
    pub fn diagonal(&self, out: &mut [f64]) {
        let JacobianOperator { problem, point } = *self;
        out.fill(0.0);
        for (flow, at) in problem.flows.iter().zip(&point.flows) {
            for (hops, pkts) in hop_ranges(flow) {
                let forward = hops.start == flow.data.0 as usize;
                for h in hops {
                    let l = problem.hop_link[h] as usize;
                    let link = &point.links[l];
                    let by_pass = if forward { at.by_pass } else { 0.0 };
                    let by_load = &link.fixed_point.by_load;
                    let by_u = by_pass * by_load.ln_pass
                        + at.by_rtt * link.wait_packet_s * by_load.queue_pkts;
                    let of_link = link.by_v();
                    let by_v = by_pass * of_link[0] + at.by_rtt * of_link[1];
                    let bits = pkts * problem.hop_bits[h] / link.bits_ps;
                    let pkts = pkts / link.pkts_ps;
                    out[2 * l] -= point.hops[h] * bits * by_u;
                    out[2 * l + 1] -= point.hops[h] * (bits - pkts) * by_v;
                }
            }
        }
        for it in out.iter_mut() {
            *it += 1.0;
        }
    }
}

/// Returns the hop ranges on which a flow is traffic, with packets per data packet.
fn hop_ranges(flow: &Flow) -> [(std::ops::Range<usize>, f64); 2] {
    [(flow.data_hops(), 1.0), (flow.ack_hops(), flow.acks)]
}

fn unused_links(problem: &Problem) -> impl Iterator<Item = usize> + '_ {
    let mut used = problem.used_links.iter().copied().peekable();
    (0..problem.links.len()).filter(move |&l| used.next_if_eq(&(l as u32)).is_none())
}
