//! A fluid corrected by packets that are followed for a while.
//!
//! What packets show of each busy link that windows fill (mean queue, utilization, loss) goes into the law of its
//! queue ([`Calibration`]), and what they show of each class of TCP connections (rate at its loss and its round-trip
//! time) into its profile ([`Scaled`]). What comes out is a network: runs, steady states and whatever rests on them have it.

use std::convert::Infallible;
use std::sync::Arc;

use netflow_fluid::Fluid;
use netflow_fluid::measured::{AS_SURE_PKTS, Watched};
use netflow_fluid::rest::learnt_loss;
use netflow_network::readout::Engine as _;
use netflow_network::{
    Application, BuildError, Calibration, CalibrationPlan, ConnectionId, ConnectionInterval,
    ConnectionSpec, Interval, LinkId, Model, Network, NetworkBuilder, Options, PacketOptions,
    Recorder, RunError, Source, windows_are_alike,
};
use netflow_profile::Scaled;

use crate::simulation::{Outcome, Simulation};

/// How often it is looked who sends.
const LOOKS: u32 = 4;
/// Who sent fewer packets meanwhile is left as it is.
const FEW_PKTS: f64 = 20.0;
/// Nobody sends by more than this factor differently.
const MOST: f64 = 10.0;
/// A window that was full for this part.
const FULL: f64 = 0.97;

#[derive(Default)]
struct Seen {
    length_s: f64,
    links: Vec<Watched>,
    connections: Vec<ConnectionInterval>,
}

impl Recorder for Seen {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let network = interval.network;
        self.length_s = interval.length_s;
        let watched = |id: LinkId| {
            let link = interval.link(id);
            let arrived_pkts = link.arrival_pps * interval.length_s;
            Watched {
                queue_pkts: link.queue_pkts,
                utilization: link.utilization,
                arrived_pkts,
                lost_pkts: arrived_pkts * link.loss_probability,
            }
        };
        self.links = network.links().map(watched).collect();
        let connections = network.connections();
        self.connections = connections.map(|id| interval.connection(id)).collect();
        Ok(())
    }
}

/// The network as packets of its plan calibrate it; itself if it has none. `None` if it was stopped, which is asked
/// again and again.
///
/// # Errors
/// Those of [`Simulation::new`] and [`Simulation::run`], for packets and for the fluid.
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
    let (from_s, to_s) = (plan.watched_s, plan.followed_s());
    let Some(seen) = watch(network, plan, options.seed, &stop)? else {
        return Ok(None);
    };
    let fluid = Fluid::new(uncalibrated(network)?, to_s, options.seed, fluid)?;
    let middle = fluid.crossings_at(0.5 * (from_s + to_s));
    let before = mean_windows(&fluid, 0.5 * from_s, from_s);
    let windows = mean_windows(&fluid, from_s, to_s);
    let mut of_links = network.links().map(|id| {
        let l = id.index();
        // Who comes or goes meanwhile is not what is to be learnt.
        match windows_are_alike(before[l], windows[l]) {
            true => Calibration {
                windows: windows[l],
                ..(middle[l].1).calibrated(&seen.links[l], network.buffer_pkts(id))
            },
            false => Calibration::default(),
        }
    });
    let mut sources = sources(network, &seen, from_s, to_s).into_iter();
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

/// The network as it is if no packets calibrate it.
///
/// # Errors
/// [`RunError::BadOption`] if it cannot be built again.
pub fn uncalibrated(network: &Network) -> Result<Network, RunError> {
    match network.calibration_due() {
        None => Ok(network.clone()),
        Some(_) => rebuilt(network, |_| {}),
    }
}

/// How many windows cross each link on average between these times.
fn mean_windows(fluid: &Fluid, from_s: f64, to_s: f64) -> Vec<f64> {
    let mut mean = vec![0.0; fluid.network().link_count()];
    for i in 0..LOOKS {
        let part = (f64::from(i) + 0.5) / f64::from(LOOKS);
        let crossings = fluid.crossings_at(from_s + part * (to_s - from_s));
        for (mean, (crossing, _)) in mean.iter_mut().zip(crossings) {
            *mean += crossing.windows / f64::from(LOOKS);
        }
    }
    mean
}

/// What packets do in the second half of the time that they are followed.
fn watch(
    network: &Network,
    plan: &CalibrationPlan,
    seed: u64,
    stop: impl Fn() -> bool,
) -> Result<Option<Seen>, RunError> {
    let mut tcp = plan.tcp.iter();
    let as_packets = rebuilt(network, |builder| {
        builder.each_connection(|spec| {
            let Some(Some(source)) = tcp.next() else {
                return;
            };
            if let Source::Profile(profile) = &spec.source
                && let Some(most_pkts) = profile.window_limit_pkts()
            {
                let asked_pkts = spec.max_window_pkts.unwrap_or(f64::INFINITY);
                spec.max_window_pkts = Some(most_pkts.min(asked_pkts));
            }
            spec.source = source.clone();
        });
    })?;
    let options = Options {
        duration_s: plan.followed_s(),
        seed,
        model: Model::Packets(PacketOptions::default()),
    };
    let mut seen = Seen::default();
    let mut simulation = Simulation::new(as_packets, options)?;
    for until_s in [plan.watched_s, plan.followed_s()] {
        let outcome = simulation
            .run_until(until_s, &mut seen, &stop)
            .map_err(never)?;
        if outcome == Outcome::Stopped {
            return Ok(None);
        }
    }
    Ok(Some(seen))
}

/// Nothing is recorded that could fail.
fn never(error: RunError<Infallible>) -> RunError {
    error
}

fn bad(reason: String) -> RunError {
    RunError::BadOption {
        option: "calibrate",
        reason,
    }
}

/// The network without the plan, and changed.
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

/// Whether it sends all the time between these.
fn is_whole(spec: &ConnectionSpec, from_s: f64, to_s: f64) -> bool {
    spec.start_s <= 0.5 * from_s
        && spec.stop_s.is_none_or(|stop_s| stop_s >= to_s)
        && spec.size_pkts.is_none()
        && spec.application == Application::Bulk
}

/// The profiles of connections as they are seen to send, one for all of a class.
fn sources(network: &Network, seen: &Seen, from_s: f64, to_s: f64) -> Vec<Option<Source>> {
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
        if !is_whole(spec, from_s, to_s) {
            continue;
        }
        let count: f64 = members
            .iter()
            .map(|&id| f64::from(network.connection_spec(id).count))
            .sum();
        let seen_of = |id: &ConnectionId| &seen.connections[id.index()];
        let sent_pps: f64 = members.iter().map(|id| seen_of(id).send_pps).sum();
        let rtts: Vec<f64> = members.iter().filter_map(|id| seen_of(id).rtt_s).collect();
        if sent_pps * seen.length_s < FEW_PKTS || rtts.is_empty() {
            continue;
        }
        let rate_pps = sent_pps / count;
        let rtt_s = rtts.iter().sum::<f64>() / rtts.len() as f64;
        let pass: f64 = network
            .path_at(members[0], from_s)
            .iter()
            .map(|&id| {
                let watched = &seen.links[id.index()];
                let lost = network
                    .link_spec(id)
                    .loss
                    .probability(spec.packet_size_bytes);
                (1.0 - watched.lost_pkts / watched.arrived_pkts.max(1.0)) * (1.0 - lost)
            })
            .product();
        let window_pkts = rate_pps * rtt_s;
        let loss = learnt_loss((1.0 - pass) * window_pkts, window_pkts);
        let profile_pps = profile.throughput(loss, rtt_s);
        let most_pps = spec.max_window_pkts.map_or(f64::INFINITY, |w| w / rtt_s);
        let factor = match rate_pps >= FULL * most_pps {
            true if profile_pps >= most_pps => 1.0,
            true => most_pps / profile_pps,
            false => rate_pps / profile_pps,
        };
        let lost_pkts = sent_pps * seen.length_s * (1.0 - pass);
        let factor = factor.powf(lost_pkts / (lost_pkts + AS_SURE_PKTS));
        let scaled = Scaled::new(profile.clone(), factor.clamp(1.0 / MOST, MOST));
        of_class[class] = Some(Source::Profile(Arc::new(scaled)));
    }
    let of = |id: ConnectionId| of_class[inner.class_of[id.index()] as usize].clone();
    network.connections().map(of).collect()
}
