//! Adjoint derivatives, compared with finite differences.

use netflow_network::{BufferLimit, ConnectionId, Network};
use netflow_steady::{ConnectionSelection, Measure, Solver, Steady, SteadyOptions};

use crate::networks::{
    random_bulk_network, with_buffers_in_bytes, with_buffers_in_seconds, with_calibration_factors,
    with_overhead, with_tcps, with_transfers, with_two_tcps,
};

const EXACT: SteadyOptions = SteadyOptions {
    tolerance: 1e-13,
    starts: 0,
    seed: 1,
};

/// Error of each derivative, with its description.
type Compared = Vec<(f64, String)>;

struct Comparison<'a> {
    solver: Solver,
    base: &'a Steady,
    measure: Measure,
    which: ConnectionSelection<'a>,
    compared: &'a mut Compared,
    seed: u64,
}

impl Comparison<'_> {
    /// Compares the derivative at `x` of the parameter that `set` sets, of size `scale`, with
    /// fourth-order differences of two steps. It is skipped if these differ by more than 1e-6,
    /// because of a kink or of rounding. Elasticities below 1e-5 and losses below 1e-15 count as
    /// zero.
    fn one(
        &mut self,
        name: &str,
        x: f64,
        scale: f64,
        is: f64,
        mut set: impl FnMut(&mut Solver, f64),
    ) {
        let mut at = |x: f64| {
            set(&mut self.solver, x);
            let found = self.solver.solve_from(self.base, &EXACT);
            found.map_or(f64::NAN, |found| {
                self.solver.value(&found, self.measure, self.which)
            })
        };
        let mut sides = |h: f64| {
            let [less, here, more] = [at(x - h), at(x), at(x + h)];
            [(here - less) / h, (more - here) / h]
        };
        let [below, above] = sides(1e-5 * scale);
        let mut slope = |h: f64| {
            (8.0 * (at(x + h) - at(x - h)) - (at(x + 2.0 * h) - at(x - 2.0 * h))) / (12.0 * h)
        };
        let (fine, coarse) = (slope(1e-5 * scale), slope(8e-5 * scale));
        set(&mut self.solver, x);
        let value = self.solver.value(self.base, self.measure, self.which).abs();
        let least = match self.measure {
            Measure::Loss => 1e-15,
            _ => 0.0,
        };
        let nothing = value.max(least) * 1e-5 / scale;
        let error = |a: f64| (a - fine).abs() / (fine.abs() + nothing);
        // A kink with opposite slopes on its sides has a central difference, too.
        let bends = (above - below).abs() > 0.05 * (above.abs() + below.abs() + nothing);
        if error(coarse) < 1e-6 && !bends {
            let what = format!(
                "seed {} {:?} of {:?} by {name}: {is} {fine}",
                self.seed, self.measure, self.which
            );
            self.compared.push((error(is), what));
        }
    }
}

fn compare(seed: u64, network: &Network, compared: &mut Compared) {
    let mut solver = Solver::new(network, f64::INFINITY).unwrap();
    let Ok(base) = solver.solve(&EXACT) else {
        return;
    };
    let first: Vec<ConnectionId> = network.connections().take(2).collect();
    let (all, one, two) = (
        ConnectionSelection::All,
        ConnectionSelection::Only(&first[..1]),
        ConnectionSelection::Only(&first),
    );
    for (measure, which) in [
        (Measure::Goodput, all),
        (Measure::Delay, all),
        (Measure::Loss, all),
        (Measure::DelayP95, all),
        (Measure::Rate, one),
        (Measure::Goodput, one),
        (Measure::DelayP95, one),
        (Measure::Loss, two),
        (Measure::Delay, two),
        (Measure::DelayP95, two),
    ] {
        let all = solver.sensitivities(&base, measure, which).unwrap();
        let solver = solver.clone();
        let mut it = Comparison {
            solver,
            base: &base,
            measure,
            which,
            compared,
            seed,
        };
        for id in network.links() {
            let (l, spec) = (id.index(), network.link_spec(id));
            let bps = spec.bandwidth_bps;
            it.one("bandwidth", bps, bps, all.by_bandwidth[l], |s, x| {
                s.set_bandwidth(id, x).unwrap()
            });
            let delay_s = spec.delay_s;
            it.one("delay", delay_s, delay_s, all.by_delay[l], |s, x| {
                s.set_delay(id, x).unwrap()
            });
            let (pkts, room) = (base.link(id).buffer_pkts, network.buffer_limit(id));
            it.one("buffer", pkts, pkts, all.by_buffer[l], |s, x| {
                let room = BufferLimit {
                    nominal_pkts: room.nominal_pkts * x / pkts,
                    bits: room.bits.map(|bits| bits * x / pkts),
                    time: room.time,
                };
                s.set_buffer(id, room).unwrap()
            });
        }
        for id in network.connections() {
            let is = all.by_demand[id.index()];
            it.one("demand", 1.0, 1.0, is, |s, x| s.set_demand(id, x).unwrap());
        }
    }
}

fn all(seeds: std::ops::Range<u64>, change: fn(&Network) -> Network) {
    let mut compared = Vec::new();
    for seed in seeds {
        compare(seed, &change(&random_bulk_network(seed).0), &mut compared);
    }
    compared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = compared.len();
    assert!(n > 100);
    for (name, part) in [("median", 0.5), ("99 %", 0.99), ("all", 1.0)] {
        let (error, what) = &compared[((part * n as f64) as usize).min(n - 1)];
        println!("{name} of {n}: within {error:.1e}, {what}");
    }
    // One in a hundred is next to a kink or affected by rounding.
    let (error, what) = &compared[n * 99 / 100];
    assert!(*error < 1e-5, "{error:.1e} {what}");
    let (error, what) = &compared[n - 1];
    assert!(*error < 1e-3, "{error:.1e} {what}");
}

#[test]
fn derivatives_match_finite_differences() {
    all(0..12, Network::clone);
}

#[test]
fn derivatives_match_with_packet_calibration() {
    all(0..12, with_calibration_factors);
    // In network 145 the 95th percentile is the delay of a path, and equals the smallest delay of
    // another path.
    all(144..146, with_calibration_factors);
}

#[test]
fn derivatives_match_with_two_tcps() {
    all(0..12, with_two_tcps);
}

/// CUBIC has no extra idle time.
#[test]
fn derivatives_match_with_cubic() {
    all(0..12, |network| with_tcps(network, &["linux-cubic"]));
}

/// The number of packets in a queue depends on their sizes, and these on all parameters.
#[test]
fn derivatives_match_with_buffers_in_bytes() {
    all(0..12, with_buffers_in_bytes);
    all(0..12, |network| {
        with_buffers_in_bytes(&with_transfers(network))
    });
}

/// Packet sizes differ from link to link of a path.
#[test]
fn derivatives_match_with_link_overhead() {
    all(0..12, |network| {
        with_overhead(&with_buffers_in_bytes(network))
    });
    all(0..12, |network| with_overhead(&with_transfers(network)));
}

#[test]
fn derivatives_match_with_buffers_in_seconds() {
    all(0..12, with_buffers_in_seconds);
}

#[test]
fn derivatives_match_with_transfers() {
    all(0..16, with_transfers);
    // The last network has a return path without traffic, whose delay changes bursts.
    all(273..276, with_transfers);
}

#[test]
#[ignore = "half a minute in release: derivatives_are_those_of_differences on 300 networks"]
fn derivatives_match_finite_differences_on_300_networks() {
    all(0..300, Network::clone);
}

#[test]
#[ignore = "half a minute in release: the same where packets calibrated, on 300 networks"]
fn derivatives_match_with_packet_calibration_on_300_networks() {
    all(0..300, with_calibration_factors);
}

#[test]
#[ignore = "half a minute in release: the same where queues hold bytes, on 300 networks"]
fn derivatives_match_with_byte_buffers_on_300_networks() {
    all(0..300, with_buffers_in_bytes);
}

#[test]
#[ignore = "half a minute in release: the same of transfers, on 300 networks"]
fn derivatives_match_with_transfers_on_300_networks() {
    all(0..300, with_transfers);
}

/// The measure of one connection equals its value in the state, and the measure of all the total.
#[test]
fn measures_match_the_solved_state() {
    let near = |is: f64, should: f64| (is - should).abs() <= 1e-12 * should.abs().max(1e-3);
    let mut met = 0;
    for seed in 0..24 {
        for network in [
            random_bulk_network(seed).0,
            with_transfers(&random_bulk_network(seed).0),
        ] {
            let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
            let Ok(base) = solver.solve(&EXACT) else {
                continue;
            };
            let totals = &base.totals;
            let mut value = |measure| solver.value(&base, measure, ConnectionSelection::All);
            assert!(near(value(Measure::Rate), totals.rate_pps));
            assert!(near(value(Measure::Goodput), totals.goodput_bps));
            assert!(near(value(Measure::Delay), totals.delay_s));
            assert!(near(value(Measure::Loss), totals.loss_probability));
            for id in network.connections() {
                let (spec, it, only) = (network.connection_spec(id), base.connection(id), [id]);
                let mut value =
                    |measure| solver.value(&base, measure, ConnectionSelection::Only(&only));
                assert!(near(value(Measure::Rate), it.rate_pps));
                let bps = 8.0 * spec.packet_size_bytes * it.goodput_pps;
                assert!(near(value(Measure::Goodput), bps));
                assert!(near(value(Measure::Loss), it.loss_probability));
                if spec.transfers.is_none() {
                    let delay_s = value(Measure::Delay);
                    assert!(near(delay_s, it.delay_s), "{seed} {delay_s} {it:?}");
                    met += 1;
                }
            }
        }
    }
    assert!(met > 100, "{met}");
}
