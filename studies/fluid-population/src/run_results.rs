//! Results of a network in either model: means over the measured part of the run.

use std::convert::Infallible;
use std::time::Instant;

use netflow_simulation::{
    FluidOptions, Interval, Model, Network, Options, Recorder, Simulation, Step, calibrated,
};

use crate::family::{Draw, ModelKind};

/// Link.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkResults {
    /// Mean number of packets in the queue.
    pub queue_pkts: f64,
    /// Number of arrived packets.
    pub arrived_pkts: f64,
    /// Number of lost packets.
    pub lost_pkts: f64,
    /// Fraction of the time that the link was busy.
    pub utilization: f64,
    /// Range of the mean queue per second in the last seconds, as a fraction of the buffer.
    pub oscillation: f64,
}

/// Length of the final period in which queue oscillations are measured, in seconds.
const FINAL_PERIOD_S: f64 = 30.0;

/// Length of the intervals of [`RunResults::delivered_in_pieces_pkts`], in seconds.
pub const PIECE_S: f64 = 5.0;

/// Connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionResults {
    /// Number of packets that reached the receiver.
    pub delivered_pkts: f64,
    /// Mean round-trip time in seconds; 0 if none was measured.
    pub rtt_s: f64,
}

/// Results of a network.
#[derive(Clone, Debug, Default)]
pub struct RunResults {
    /// Links in the order of the scenario.
    pub links: Vec<LinkResults>,
    /// Connections in the order of the scenario.
    pub connections: Vec<ConnectionResults>,
    /// Packets that reached the receiver of each connection in consecutive intervals of [`PIECE_S`] from time 0,
    /// including the time before the measurement.
    pub delivered_in_pieces_pkts: Vec<Vec<f64>>,
    /// Duration of the evaluation on one thread, in seconds.
    pub wall_time_s: f64,
}

struct Sums {
    from_s: f64,
    length_s: f64,
    results: RunResults,
    rtt_s: Vec<f64>,
    /// Start of the final period, and the minimum and maximum of each queue in it.
    final_period_start_s: f64,
    queue_range_pkts: Vec<(f64, f64)>,
}

impl Recorder for Sums {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let middle_s = interval.time_s - 0.5 * interval.length_s;
        let piece = (middle_s / PIECE_S) as usize;
        let pieces = &mut self.results.delivered_in_pieces_pkts;
        for (id, pieces) in interval.network.connections().zip(pieces) {
            pieces.resize(pieces.len().max(piece + 1), 0.0);
            pieces[piece] += interval.connection(id).goodput_pps * interval.length_s;
        }
        if interval.time_s <= self.from_s + 1e-9 {
            return Ok(());
        }
        if interval.time_s > self.final_period_start_s + 1e-9 {
            for (id, (least, most)) in interval.network.links().zip(&mut self.queue_range_pkts) {
                let queue_pkts = interval.link(id).queue_pkts;
                (*least, *most) = (least.min(queue_pkts), most.max(queue_pkts));
            }
        }
        let length_s = interval.length_s;
        self.length_s += length_s;
        for (id, sum) in interval.network.links().zip(&mut self.results.links) {
            let link = interval.link(id);
            let arrived = link.arrival_pps * length_s;
            sum.queue_pkts += link.queue_pkts * length_s;
            sum.arrived_pkts += arrived;
            sum.lost_pkts += arrived * link.loss_probability;
            sum.utilization += link.utilization * length_s;
        }
        let connections = self.results.connections.iter_mut().zip(&mut self.rtt_s);
        for (id, (sum, seen_s)) in interval.network.connections().zip(connections) {
            let connection = interval.connection(id);
            sum.delivered_pkts += connection.goodput_pps * length_s;
            if let Some(rtt_s) = connection.rtt_s {
                sum.rtt_s += rtt_s * length_s;
                *seen_s += length_s;
            }
        }
        Ok(())
    }
}

/// Simulates the network with this seed.
///
/// # Panics
/// If it cannot be run, which would be an error of its family.
pub fn run(draw: &Draw, side: ModelKind, seed: u64) -> RunResults {
    let prepared = draw.prepared(side);
    let options = Options {
        seed,
        ..prepared.options
    };
    run_network(draw, prepared.network, options)
}

/// Simulates the network in the fluid model with steps of at most the given length in seconds.
///
/// # Panics
/// As [`run`].
pub fn run_with_steps(draw: &Draw, side: ModelKind, longest_s: f64) -> RunResults {
    let prepared = draw.prepared(side);
    let step = Step::auto(longest_s);
    let options = Options {
        model: Model::Fluid(FluidOptions::Standard { step }),
        ..prepared.options
    };
    run_network(draw, prepared.network, options)
}

fn run_network(draw: &Draw, network: Network, options: Options) -> RunResults {
    let mut sums = Sums {
        from_s: draw.warmup_s,
        length_s: 0.0,
        rtt_s: vec![0.0; network.connections().count()],
        final_period_start_s: options.duration_s - FINAL_PERIOD_S,
        queue_range_pkts: vec![(f64::INFINITY, 0.0); network.link_count()],
        results: RunResults {
            links: vec![LinkResults::default(); network.links().count()],
            connections: vec![ConnectionResults::default(); network.connections().count()],
            delivered_in_pieces_pkts: vec![Vec::new(); network.connections().count()],
            wall_time_s: 0.0,
        },
    };
    let begun = Instant::now();
    let network = calibrated(&network, &options, || false)
        .unwrap_or_else(|error| panic!("{}: {error}", draw.name))
        .unwrap_or_else(|| unreachable!("nobody stops it"));
    let rooms_pkts: Vec<f64> = network.links().map(|id| network.buffer_pkts(id)).collect();
    let mut simulation =
        Simulation::new(network, options).unwrap_or_else(|error| panic!("{}: {error}", draw.name));
    simulation.set_threads(1);
    simulation
        .run(1.0, &mut sums, || false)
        .unwrap_or_else(|error| panic!("{}: {error}", draw.name));
    let mut seen = sums.results;
    seen.wall_time_s = begun.elapsed().as_secs_f64();
    let between = sums.queue_range_pkts.iter().zip(rooms_pkts);
    for (link, ((least, most), room_pkts)) in seen.links.iter_mut().zip(between) {
        link.queue_pkts /= sums.length_s;
        link.utilization /= sums.length_s;
        link.oscillation = (most - least) / room_pkts;
    }
    for (connection, seen_s) in seen.connections.iter_mut().zip(&sums.rtt_s) {
        if *seen_s > 0.0 {
            connection.rtt_s /= seen_s;
        }
    }
    seen
}

impl RunResults {
    /// Returns the largest oscillation of a queue.
    pub fn max_oscillation(&self) -> f64 {
        self.links
            .iter()
            .fold(0.0, |most, link| most.max(link.oscillation))
    }

    /// Returns the mean of several results.
    pub fn mean(all: &[RunResults]) -> RunResults {
        let mut mean = all[0].clone();
        let n = all.len() as f64;
        for (i, link) in mean.links.iter_mut().enumerate() {
            let of = |field: fn(&LinkResults) -> f64| {
                all.iter().map(|s| field(&s.links[i])).sum::<f64>() / n
            };
            *link = LinkResults {
                queue_pkts: of(|l| l.queue_pkts),
                arrived_pkts: of(|l| l.arrived_pkts),
                lost_pkts: of(|l| l.lost_pkts),
                utilization: of(|l| l.utilization),
                oscillation: of(|l| l.oscillation),
            };
        }
        for (i, connection) in mean.connections.iter_mut().enumerate() {
            let of = |field: fn(&ConnectionResults) -> f64| {
                all.iter().map(|s| field(&s.connections[i])).sum::<f64>() / n
            };
            *connection = ConnectionResults {
                delivered_pkts: of(|c| c.delivered_pkts),
                rtt_s: of(|c| c.rtt_s),
            };
        }
        for (i, pieces) in mean.delivered_in_pieces_pkts.iter_mut().enumerate() {
            for (j, piece) in pieces.iter_mut().enumerate() {
                let delivered = all.iter().map(|s| s.delivered_in_pieces_pkts[i][j]);
                *piece = delivered.sum::<f64>() / n;
            }
        }
        mean.wall_time_s = all.iter().map(|s| s.wall_time_s).sum::<f64>() / n;
        mean
    }
}
