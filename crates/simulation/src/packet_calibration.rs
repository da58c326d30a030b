//! Calibration of the fluid model by a short run of the packet model.
//!
//! The packet run measures each busy link that is filled by congestion windows (mean queue,
//! utilization, loss); these correct the queue law of the link ([`Calibration`]). It also measures
//! each class of TCP connections (rate at its loss and round-trip time), which scales its profile
//! ([`ScaledProfile`]). The result is a network, so that runs, steady states and everything based on them
//! use the calibration.

use std::convert::Infallible;
use std::sync::Arc;

use netflow_fluid::Fluid;
use netflow_fluid::link_traffic::LinkTraffic;
use netflow_fluid::packet_calibration::{LinkMeasurement, SHRINKAGE_PKTS};
use netflow_fluid::tcp_drop_tail::DropTailTcpLaw;
use netflow_network::{
    Application, BuildError, Calibration, CalibrationPlan, ConnectionId, ConnectionInterval,
    ConnectionSpec, Interval, LinkInterval, Model, Network, NetworkBuilder, Options, PacketOptions,
    Recorder, RunError, Source, are_windows_similar,
};
use netflow_profile::ScaledProfile;

use crate::simulation::{Outcome, Simulation};

/// Number of times the active sources are sampled during warm-up and during measurement; odd, so
/// that one sample is in the middle.
const SAMPLES: usize = 5;
/// Minimum number of packets of a connection for its profile to be scaled.
const MIN_SENT_PKTS: f64 = 20.0;
/// Maximum factor by which a rate is changed.
const MAX_SCALE: f64 = 10.0;
/// Fraction of the maximum window from which a window counts as limited by it.
const WINDOW_LIMITED_FRACTION: f64 = 0.97;

#[derive(Default)]
struct Measurement {
    length_s: f64,
    links: Vec<LinkInterval>,
    connections: Vec<ConnectionInterval>,
}

impl Recorder for Measurement {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let network = interval.network;
        self.length_s = interval.length_s;
        self.links = network.links().map(|id| interval.link(id)).collect();
        let connections = network.connections();
        self.connections = connections.map(|id| interval.connection(id)).collect();
        Ok(())
    }
}

/// Returns the network calibrated according to its plan, or a copy if it has none. Returns `None`
/// if `stop` became true, which is checked regularly.
///
/// # Errors
/// Those of [`Simulation::new`] and [`Simulation::run`], in both models.
pub fn calibrated(
    network: &Network,
    options: &Options,
    stop: impl Fn() -> bool,
) -> Result<Option<Network>, RunError> {
    let Some(plan) = network.calibration_due() else {
        return Ok(Some(network.clone()));
    };
    let Model::Fluid(fluid) = options.model else {
        return Err(bad("there is nothing to calibrate but a fluid".to_owned()));
    };
    let (from_s, to_s) = (plan.watched_s, plan.simulated_s());
    let Some(seen) = measure_packets(network, plan, options.seed, &stop)? else {
        return Ok(None);
    };
    let fluid = Fluid::new(uncalibrated(network)?, to_s, options.seed, fluid)?;
    let looks = fluid.link_traffic_at(
        &[
            sample_times(0.5 * from_s, from_s),
            sample_times(from_s, to_s),
        ]
        .concat(),
    );
    let (before, during) = looks.split_at(SAMPLES);
    let mut of_links = network.links().map(|id| {
        let l = id.index();
        let windows = |looks: &[LawSample]| {
            let all = looks.iter().map(|look| look[l].0.windows);
            all.sum::<f64>() / SAMPLES as f64
        };
        let link = &seen.links[l];
        let arrived_pkts = link.arrival_pps * seen.length_s;
        let watched = LinkMeasurement {
            queue_pkts: link.queue_pkts,
            utilization: link.utilization,
            arrived_pkts,
            lost_pkts: arrived_pkts * link.loss_probability,
            windows: windows(during),
        };
        // If the set of active sources changed, the difference is not an error of the model.
        if are_windows_similar(windows(before), watched.windows) {
            let (crossing, filling) = &during[SAMPLES / 2][l];
            let mean_bits = link.utilization * crossing.bandwidth_bps / link.departure_pps;
            filling.calibrated(&watched, network.buffer_limit(id).pkts(mean_bits))
        } else {
            Calibration::default()
        }
    });
    let mut sources = scaled_sources(network, &seen, from_s, to_s).into_iter();
    let calibrated = rebuilt(network, |builder| {
        builder.each_link(|link| link.calibration = of_links.next().unwrap_or_default());
        builder.each_connection(|spec| {
            if let Some(Some(source)) = sources.next() {
                spec.source = source;
            }
        });
    })?;
    Ok(Some(calibrated))
}

/// Returns the network without its calibration plan.
///
/// # Errors
/// [`RunError::BadOption`] if it cannot be built again.
pub fn uncalibrated(network: &Network) -> Result<Network, RunError> {
    match network.calibration_due() {
        None => Ok(network.clone()),
        Some(_) => rebuilt(network, |_| {}),
    }
}

/// Traffic of each link at one time, and the law of its queue.
type LawSample = Vec<(LinkTraffic, DropTailTcpLaw)>;

/// Returns evenly spaced times between `from_s` and `to_s`.
fn sample_times(from_s: f64, to_s: f64) -> [f64; SAMPLES] {
    let part = |i: usize| (i as f64 + 0.5) / SAMPLES as f64;
    std::array::from_fn(|i| from_s + part(i) * (to_s - from_s))
}

/// Runs the packet model and measures its second half.
fn measure_packets(
    network: &Network,
    plan: &CalibrationPlan,
    seed: u64,
    stop: impl Fn() -> bool,
) -> Result<Option<Measurement>, RunError> {
    let mut tcp = plan.tcp.iter();
    let as_packets = rebuilt(network, |builder| {
        builder.each_connection(|spec| {
            let Some(Some(source)) = tcp.next() else {
                return;
            };
            spec.max_window_pkts = spec.window_limit_pkts();
            spec.source = source.clone();
        });
    })?;
    let options = Options {
        duration_s: plan.simulated_s(),
        seed,
        model: Model::Packets(PacketOptions::default()),
    };
    let mut seen = Measurement::default();
    let mut simulation = Simulation::new(as_packets, options)?;
    for until_s in [plan.watched_s, plan.simulated_s()] {
        let outcome = simulation
            .run_until(until_s, &mut seen, &stop)
            .map_err(RunError::retype)?;
        if outcome == Outcome::Stopped {
            return Ok(None);
        }
    }
    Ok(Some(seen))
}

fn bad(reason: String) -> RunError {
    RunError::BadOption {
        option: "calibrate",
        reason,
    }
}

/// Rebuilds the network without the plan and with a change.
fn rebuilt(
    network: &Network,
    change: impl FnOnce(&mut NetworkBuilder),
) -> Result<Network, RunError> {
    let mut builder = network.to_builder();
    builder.calibrate(None);
    change(&mut builder);
    let first = |errors: Vec<BuildError>| errors.first().map(ToString::to_string);
    builder
        .build()
        .map_err(|errors| bad(first(errors).unwrap_or_default()))
}

/// Returns whether the connection sends during the whole measurement and for some time before.
fn sends_throughout(spec: &ConnectionSpec, from_s: f64, to_s: f64) -> bool {
    spec.start_s <= 0.5 * from_s
        && spec.stop_s.is_none_or(|stop_s| stop_s >= to_s)
        && spec.size_pkts.is_none()
        && spec.application == Application::Bulk
}

/// Returns the scaled profiles of the connections, one for each class.
fn scaled_sources(
    network: &Network,
    seen: &Measurement,
    from_s: f64,
    to_s: f64,
) -> Vec<Option<Source>> {
    let inner = network.tables();
    let mut of_class: Vec<Option<Source>> = vec![None; inner.classes.len()];
    let mut members: Vec<Vec<ConnectionId>> = vec![Vec::new(); inner.classes.len()];
    for id in network.connections() {
        members[inner.class_of[id.index()] as usize].push(id);
    }
    for (class, members) in members.iter().enumerate() {
        let spec = inner.spec_of_class(class as u32);
        let Source::Profile(profile) = &spec.source else {
            continue;
        };
        if !sends_throughout(spec, from_s, to_s) {
            continue;
        }
        let count: f64 = members
            .iter()
            .map(|&id| f64::from(network.connection_spec(id).count))
            .sum();
        let seen_of = |id: &ConnectionId| &seen.connections[id.index()];
        let sent_pps: f64 = members.iter().map(|id| seen_of(id).send_pps).sum();
        let rtts: Vec<f64> = members.iter().filter_map(|id| seen_of(id).rtt_s).collect();
        if sent_pps * seen.length_s < MIN_SENT_PKTS || rtts.is_empty() {
            continue;
        }
        let rate_pps = sent_pps / count;
        let rtt_s = rtts.iter().sum::<f64>() / rtts.len() as f64;
        let losses = network.losses_at(from_s);
        let pass: f64 = network
            .path_at(members[0], from_s)
            .iter()
            .map(|&id| {
                let on_way = losses[id.index()];
                let overhead = network.link_spec(id).overhead;
                let lost = on_way.probability(overhead.wire_bytes(spec.packet_size_bytes));
                (1.0 - seen.links[id.index()].loss_probability) * (1.0 - lost)
            })
            .product();
        let profile_pps = profile.throughput(1.0 - pass, rtt_s);
        let most_pps = spec
            .window_limit_pkts()
            .map_or(f64::INFINITY, |pkts| pkts / rtt_s);
        let factor = match rate_pps >= WINDOW_LIMITED_FRACTION * most_pps {
            true if profile_pps >= most_pps => 1.0,
            true => most_pps / profile_pps,
            false => rate_pps / profile_pps,
        };
        let lost_pkts = sent_pps * seen.length_s * (1.0 - pass);
        let factor = libm::pow(factor, lost_pkts / (lost_pkts + SHRINKAGE_PKTS));
        if factor == 1.0 {
            continue; // as measured
        }
        let scaled = ScaledProfile::new(profile.clone(), factor.clamp(1.0 / MAX_SCALE, MAX_SCALE));
        of_class[class] = Some(Source::Profile(Arc::new(scaled)));
    }
    let of = |id: ConnectionId| of_class[inner.class_of[id.index()] as usize].clone();
    network.connections().map(of).collect()
}
