//! Evaluation of the network at one iterate: state, residual and local derivatives.
//!
//! The unknowns of every link are u = ln(offered bit/s / bandwidth) and v = ln(mean bits of a
//! packet). They determine its ln(1−D), \[Prof\] §3.3, and its waiting time N·e^v/bandwidth. These
//! give every source its loss p = 1 − Π(1−D) and its round-trip time, hence its rate. The rates,
//! reduced link by link along their paths, give the offered traffic. The residuals are
//!
//! > u − ln(Σ bits/s / bandwidth)   and   v − ln(Σ bits/s / Σ packets/s).

use netflow_fluid::queue_fixed_point::{QueueFixedPoint, window_limited_pps};
use netflow_fluid::tcp_drop_tail::DropTailTcpLaw;
use netflow_profile::Profile;

use crate::problem::{Flow, LinkParams, NO_PROFILE, Problem};

/// Number of sources evaluated at a time.
const BATCH: usize = 64;

/// Smallest window of a TCP source in packets: one packet per 50 round trips, as in the fluid model.
const MIN_WINDOW_PKTS: f64 = 0.02;

/// Smallest traffic, which keeps its logarithm finite.
pub(crate) const MIN_RATE: f64 = 1e-280;

/// State of one link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkState {
    pub fixed_point: QueueFixedPoint,
    /// Fraction of the arriving packets that is accepted.
    pub pass: f64,
    pub waiting_s: f64,
    /// Mean service time of a packet in seconds.
    pub packet_s: f64,
    /// Increase of the waiting time per packet in the queue, in seconds; 0 if the preceding link
    /// is not faster.
    pub wait_packet_s: f64,
    /// Buffer in mean packets, and its derivative by ln of their size in bits.
    pub buffer_pkts: f64,
    pub buffer_by_v: f64,
    /// Arrival rates in bit/s and packets/s.
    pub bits_ps: f64,
    pub pkts_ps: f64,
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowState {
    /// Packets/s of one connection.
    pub rate_pps: f64,
    pub ln_pass: f64,
    pub rtt_s: f64,
    /// Derivatives of ln(rate) by ln of the delivered fraction, and by the round-trip time in 1/s.
    pub by_pass: f64,
    pub by_rtt: f64,
    pub limit: BindingConstraint,
}

/// Constraint that limits a source's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindingConstraint {
    /// Its fixed rate.
    #[default]
    OwnRate,
    /// Its profile.
    Profile,
    /// Its maximum window.
    Window,
    /// The rate of its application.
    Application,
}

/// Returns the loss for ln of the delivered fraction; never −0.
pub(crate) fn loss_from_ln_pass(ln_pass: f64) -> f64 {
    0.0 - libm::expm1(ln_pass)
}

/// State of all links and flows, updated at every iterate.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkState {
    pub links: Vec<LinkState>,
    pub flows: Vec<FlowState>,
    /// Packets/s at the entrance of each hop, counted in data packets.
    pub hops: Vec<f64>,
    pub base_rtt_s: Vec<f64>,
    /// Queue-filling traffic of each link.
    pub laws: Vec<DropTailTcpLaw>,
    /// True if quantities derived from the inputs must be recomputed.
    stale: bool,
}

impl NetworkState {
    pub fn new(problem: &Problem) -> NetworkState {
        NetworkState {
            links: vec![LinkState::default(); problem.links.len()],
            stale: true,
            ..NetworkState::default()
        }
    }

    /// Creates the state of a [part](Problem::of_part) with these queue models, and round-trip times without
    /// the waits at the part's links.
    pub fn of_part(
        part: &Problem,
        laws: Vec<DropTailTcpLaw>,
        base_rtt_s: Vec<f64>,
    ) -> NetworkState {
        NetworkState {
            links: vec![LinkState::default(); part.links.len()],
            flows: vec![FlowState::default(); part.flows.len()],
            hops: vec![0.0; part.hop_link.len()],
            base_rtt_s,
            laws,
            stale: false,
        }
    }

    /// Marks bandwidths, delays, buffers or flows as changed.
    pub fn inputs_changed(&mut self) {
        self.stale = true;
    }

    fn rebuild(&mut self, problem: &Problem) {
        self.stale = false;
        self.flows.resize(problem.flows.len(), FlowState::default());
        self.hops.resize(problem.hop_link.len(), 0.0);
        let crossings = problem.link_traffic();
        self.laws.clear();
        let links = crossings.iter().zip(&problem.links);
        self.laws
            .extend(links.map(|(crossing, link)| link.queue_model(crossing)));
        self.base_rtt_s.clear();
        let base_rtt_s = |flow| problem.base_rtt_s(flow);
        self.base_rtt_s.extend(problem.flows.iter().map(base_rtt_s));
    }

    /// Evaluates the network at `z` and writes the residual to `residuals`; with derivatives if `slopes`
    /// is set.
    pub fn evaluate(&mut self, problem: &Problem, z: &[f64], slopes: bool, residuals: &mut [f64]) {
        if self.stale {
            self.rebuild(problem);
        }
        self.update_links(problem, z);
        self.update_flows(problem, slopes);
        self.update_link_rates(problem);
        residuals.fill(0.0);
        for &l in &problem.used_links {
            let l = l as usize;
            let at = &mut self.links[l];
            at.bits_ps = at.bits_ps.max(MIN_RATE);
            at.pkts_ps = at.pkts_ps.max(MIN_RATE);
            let both = at.residuals(&problem.links[l], z[2 * l], z[2 * l + 1]);
            (residuals[2 * l], residuals[2 * l + 1]) = both.into();
        }
    }

    fn update_links(&mut self, problem: &Problem, z: &[f64]) {
        for &l in &problem.used_links {
            let l = l as usize;
            self.links[l] = LinkState::at(&problem.links[l], &self.laws[l], z[2 * l], z[2 * l + 1]);
        }
    }

    fn update_flows(&mut self, problem: &Problem, slopes: bool) {
        for (profile, range) in &problem.groups {
            let flows = &problem.flows[range.clone()];
            let fixed_s = &self.base_rtt_s[range.clone()];
            let at = &mut self.flows[range.clone()];
            for ((at, flow), &fixed_s) in at.iter_mut().zip(flows).zip(fixed_s) {
                at.experience(problem, flow, fixed_s, &self.links);
            }
            if *profile == NO_PROFILE {
                for (at, flow) in at.iter_mut().zip(flows) {
                    at.rate_pps = flow.rate_pps;
                    (at.by_pass, at.by_rtt, at.limit) = (0.0, 0.0, BindingConstraint::OwnRate);
                }
                continue;
            }
            let profile = &*problem.profiles[*profile as usize];
            let (mut loss, mut rtt) = ([0.0; BATCH], [0.0; BATCH]);
            let mut from_profile = [0.0; BATCH];
            for (at, flows) in at.chunks_mut(BATCH).zip(flows.chunks(BATCH)) {
                let n = at.len();
                for (i, at) in at.iter().enumerate() {
                    (loss[i], rtt[i]) = (-libm::expm1(at.ln_pass), at.rtt_s);
                }
                profile.throughputs(&loss[..n], &rtt[..n], &mut from_profile[..n]);
                for (i, (at, flow)) in at.iter_mut().zip(flows).enumerate() {
                    at.respond(profile, flow, from_profile[i], slopes);
                }
            }
        }
    }

    fn update_link_rates(&mut self, problem: &Problem) {
        for (flow, at) in problem.flows.iter().zip(&self.flows) {
            let mut pps = flow.sent_pps(at.rate_pps) * flow.entry_pass;
            let mut over = |hops: std::ops::Range<usize>, pkts: f64| {
                for h in hops {
                    let link = &mut self.links[problem.hop_link[h] as usize];
                    self.hops[h] = pps;
                    link.pkts_ps += pps * pkts;
                    link.bits_ps += pps * (pkts * problem.hop_bits[h]);
                    pps *= link.pass * problem.hop_pass[h];
                }
            };
            over(flow.data_hops(), 1.0);
            over(flow.ack_hops(), flow.acks);
        }
    }
}

impl LinkState {
    /// Returns the state of a link at ln(load) = `u` and ln(mean bits of a packet) = `v`, without rates.
    pub fn at(link: &LinkParams, law: &DropTailTcpLaw, u: f64, v: f64) -> LinkState {
        let mean_bits = libm::exp(v);
        let queue = link.queue(mean_bits);
        let buffer_pkts = queue.buffer_pkts;
        let rest = queue.fixed_point(u, law);
        let packet_s = mean_bits / link.bandwidth_bps;
        let wait_packet_s = if law.is_paced() { 0.0 } else { packet_s };
        LinkState {
            fixed_point: rest,
            pass: libm::exp(rest.ln_pass),
            waiting_s: rest.queue_pkts * wait_packet_s,
            packet_s,
            wait_packet_s,
            buffer_pkts,
            buffer_by_v: -link.buffer.by_ln_bits(mean_bits),
            bits_ps: 0.0,
            pkts_ps: 0.0,
        }
    }

    /// Returns the residuals of a link with this state and these unknowns.
    pub fn residuals(&self, link: &LinkParams, u: f64, v: f64) -> [f64; 2] {
        [
            u - libm::log(self.bits_ps / link.bandwidth_bps),
            v - libm::log(self.bits_ps / self.pkts_ps),
        ]
    }

    /// Returns the derivatives of ln(fraction accepted) and of the waiting time by ln of the mean
    /// packet's bits.
    pub fn by_v(&self) -> [f64; 2] {
        let by_buffer = &self.fixed_point.by_buffer;
        let more_s = self.wait_packet_s * by_buffer.queue_pkts * self.buffer_by_v;
        [
            by_buffer.ln_pass * self.buffer_by_v,
            self.waiting_s + more_s,
        ]
    }
}

impl FlowState {
    /// Sets loss and round-trip time of a flow's path; `base_rtt_s` is without waiting.
    pub fn experience(
        &mut self,
        problem: &Problem,
        flow: &Flow,
        base_rtt_s: f64,
        links: &[LinkState],
    ) {
        let links = |hops: std::ops::Range<usize>| {
            let hops = problem.hop_link[hops].iter();
            hops.map(|&l| &links[l as usize])
        };
        self.ln_pass = flow.ln_pass;
        self.rtt_s = base_rtt_s;
        for link in links(flow.data_hops()) {
            self.ln_pass += link.fixed_point.ln_pass;
            self.rtt_s += link.waiting_s;
        }
        let acks_wait_s = links(flow.ack_hops()).map(|link| link.waiting_s);
        self.rtt_s += acks_wait_s.sum::<f64>();
    }

    pub fn loss(&self) -> f64 {
        loss_from_ln_pass(self.ln_pass)
    }

    /// Computes the steady rate of a TCP source whose profile gives `profile_pps` for the loss of
    /// its path.
    pub fn respond(&mut self, profile: &dyn Profile, flow: &Flow, profile_pps: f64, slopes: bool) {
        let (loss, rtt_s) = (self.loss(), self.rtt_s);
        let through = libm::exp(self.ln_pass);
        // Lost packets are retransmitted.
        let application_pps = flow.application_pps / through;
        let min_pps = MIN_WINDOW_PKTS / rtt_s;
        self.rate_pps = window_limited_pps(profile_pps, flow.window_pkts, rtt_s)
            .max(min_pps)
            .min(application_pps);
        let rate_pps = self.rate_pps * (1.0 + 1e-12);
        self.limit = if profile_pps <= rate_pps {
            BindingConstraint::Profile
        } else if flow.window_pkts / rtt_s <= rate_pps {
            BindingConstraint::Window
        } else {
            BindingConstraint::Application
        };
        if !slopes {
            return;
        }
        (self.by_pass, self.by_rtt) = match self.limit {
            BindingConstraint::OwnRate => (0.0, 0.0),
            BindingConstraint::Profile if profile_pps >= min_pps => {
                let slopes = profile.log_derivatives(loss, rtt_s);
                (-through * slopes.by_loss, slopes.by_rtt)
            }
            BindingConstraint::Profile | BindingConstraint::Window => (0.0, -1.0 / rtt_s),
            BindingConstraint::Application => (-1.0, 0.0),
        };
    }
}
