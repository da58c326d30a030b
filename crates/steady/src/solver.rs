//! Steady states of one network, one after the other: with other bandwidths, delays, rooms and demands.

use std::collections::BTreeSet;
use std::ops::Range;

use netflow_network::{ConnectionId, LinkId, Network, Rerouted, Room};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::newton::{Newton, Reached, largest};
use crate::point::Point;
use crate::problem::{NO_PROFILE, Problem};
use crate::steady::Steady;
use crate::{SteadyError, SteadyOptions};

/// Loads that random starts lie between, as ln.
const RANDOM: std::ops::Range<f64> = -1.5..1.5;
/// Where the first start has a link that is offered more than it carries.
const FULL: f64 = -0.05;
/// Two states that differ by less at every link are one.
const SAME: f64 = 1e-5;
const MOST_ROUNDS: usize = 200;
/// If the first start leads nowhere, so many random ones are tried.
const OTHER_STARTS: u64 = 8;

/// A network whose steady states are looked for, with all the room that takes.
#[derive(Clone, Debug)]
pub struct Solver {
    pub(crate) network: Network,
    pub(crate) problem: Problem,
    pub(crate) point: Point,
    pub(crate) newton: Newton,
}

/// Which connections something is said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// All, or all of which it can be said.
    All,
    /// These.
    Only(&'a [ConnectionId]),
}

impl Solver {
    /// A network as it is just before `at_s`: with the routes and bandwidths that its events have left it by
    /// then, and those connections that have started and not stopped. Infinity is after all of that.
    ///
    /// # Errors
    /// [`SteadyError::NotCovered`] for what has no steady state, or none that is known;
    /// [`SteadyError::BadTime`].
    pub fn new(network: &Network, at_s: f64) -> Result<Solver, SteadyError> {
        Solver::rerouted(network, at_s, &Rerouted::by_events(network, at_s))
    }

    /// The same with other routes than its events have left, around links that fail besides.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn rerouted(
        network: &Network,
        at_s: f64,
        routes: &Rerouted,
    ) -> Result<Solver, SteadyError> {
        let problem = Problem::new(network, at_s, routes)?;
        Ok(Solver {
            network: network.clone(),
            point: Point::new(&problem),
            newton: Newton::new(&problem),
            problem,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Gives a link another bandwidth, in bit/s. A buffer given as a time follows it.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it is not positive.
    pub fn set_bandwidth(&mut self, link: LinkId, bandwidth_bps: f64) -> Result<(), SteadyError> {
        check("bandwidth", bandwidth_bps, bandwidth_bps > 0.0, "positive")?;
        self.problem.links[link.index()].set_bandwidth(bandwidth_bps);
        self.point.inputs_changed();
        Ok(())
    }

    /// The steady state with so much more bandwidth of a link, in bit/s, from the one without; the link has
    /// afterwards what it had.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with_more(
        &mut self,
        link: LinkId,
        more_bps: f64,
        before: &Steady,
        options: &SteadyOptions,
    ) -> Result<Steady, SteadyError> {
        let bandwidth_bps = self.problem.links[link.index()].bandwidth_bps;
        self.set_bandwidth(link, bandwidth_bps + more_bps)?;
        let found = self.solve_from(before, options);
        self.set_bandwidth(link, bandwidth_bps)?;
        found
    }

    /// Gives a link another propagation delay, in seconds.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it is negative.
    pub fn set_delay(&mut self, link: LinkId, delay_s: f64) -> Result<(), SteadyError> {
        check("delay", delay_s, delay_s >= 0.0, "at least 0")?;
        self.problem.links[link.index()].delay_s = delay_s;
        self.point.inputs_changed();
        Ok(())
    }

    /// Gives a queue another room.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it has none for one packet.
    pub fn set_buffer(&mut self, link: LinkId, room: Room) -> Result<(), SteadyError> {
        let pkts = room.nominal_pkts;
        check("buffer", pkts, pkts >= 1.0, "at least 1")?;
        let bits = room.bits.unwrap_or(1.0);
        check("buffer in bits", bits, bits > 0.0, "positive")?;
        self.problem.links[link.index()].room = room;
        self.point.inputs_changed();
        Ok(())
    }

    /// Lets connections that have a demand offer so many times what the network says, by the rates of their
    /// sources or applications; how many connections, or classes of them, that are.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if the factor is not positive.
    pub fn scale(&mut self, scale: Which<'_>, factor: f64) -> Result<usize, SteadyError> {
        check("scale", factor, factor > 0.0, "positive")?;
        let only: Option<BTreeSet<usize>> = match scale {
            Which::All => None,
            Which::Only(ids) => {
                // Each has its place when all are out.
                for &id in ids {
                    self.take_out(id);
                }
                let flows_of = |&id: &ConnectionId| self.problem.flows_of(&self.network, id);
                Some(ids.iter().flat_map(flows_of).collect())
            }
        };
        let mut scaled = 0;
        for (i, flow) in self.problem.flows.iter_mut().enumerate() {
            let application_pps = self
                .network
                .tables()
                .spec_of_class(flow.class)
                .application
                .mean_pps();
            if only.as_ref().is_some_and(|only| !only.contains(&i)) {
                continue;
            }
            if flow.profile == NO_PROFILE {
                flow.demand = factor;
            } else if application_pps.is_finite() {
                flow.application_pps = application_pps * factor;
            } else {
                continue;
            }
            scaled += 1;
        }
        self.point.inputs_changed();
        Ok(scaled)
    }

    /// Lets one connection, of any kind, offer so many times what the network says: as many times as many
    /// connections, which is as many times its rate if it has one of its own.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if the factor is not positive.
    pub fn set_demand(&mut self, id: ConnectionId, factor: f64) -> Result<(), SteadyError> {
        check("demand", factor, factor > 0.0, "positive")?;
        for flow in self.take_out(id) {
            self.problem.flows[flow].demand = factor;
            self.point.inputs_changed();
        }
        Ok(())
    }

    pub(crate) fn take_out(&mut self, id: ConnectionId) -> Range<usize> {
        let flows = self.problem.take_out(&self.network, id);
        self.point.inputs_changed();
        flows
    }

    /// A steady state from nothing.
    ///
    /// # Errors
    /// [`SteadyError::NotFound`] if no start leads to rest; [`SteadyError::BadOption`].
    pub fn solve(&mut self, options: &SteadyOptions) -> Result<Steady, SteadyError> {
        self.solve_unless(options, &|| false)
    }

    /// The same, but once `stop` says so no more random starts are tried: [`Steady::starts`] says how many were.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_unless(
        &mut self,
        options: &SteadyOptions,
        stop: &dyn Fn() -> bool,
    ) -> Result<Steady, SteadyError> {
        options.check()?;
        let first = self.first_start();
        let mut z = first.clone();
        let mut reached = self.find(&mut z, options);
        let mut tried = 1;
        while reached.residual > options.tolerance && tried <= OTHER_STARTS {
            let mut other = self.random_start(&first, options.seed, u64::MAX - tried);
            let found = self.find(&mut other, options);
            tried += 1;
            if found.residual < reached.residual {
                (z, reached) = (other, found);
            }
        }
        if reached.residual > options.tolerance {
            return Err(self.not_found(&z, tried as usize));
        }
        let mut others: Vec<Vec<f64>> = Vec::new();
        let (mut starts, mut led) = (0, 0);
        while starts < options.starts && !stop() {
            let start = starts;
            starts += 1;
            let mut other = self.random_start(&first, options.seed, u64::from(start));
            if self.find(&mut other, options).residual > options.tolerance {
                continue;
            }
            led += 1;
            let differs = |known: &[f64]| {
                let pairs = self.problem.used.iter().map(|&l| 2 * l as usize);
                pairs
                    .map(|i| (known[i] - other[i]).abs())
                    .fold(0.0, f64::max)
                    > SAME
            };
            if differs(&z) && others.iter().all(|known| differs(known)) {
                others.push(other);
            }
        }
        let mut steady = self.read(z, reached);
        steady.starts = starts;
        steady.starts_led = led;
        steady.equilibria = 1 + others.len();
        Ok(steady)
    }

    /// A steady state from one that was found before: near it, if the network changed little.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), which is tried if this does not lead to rest.
    pub fn solve_from(
        &mut self,
        before: &Steady,
        options: &SteadyOptions,
    ) -> Result<Steady, SteadyError> {
        options.check()?;
        if before.z.len() != self.problem.size() {
            return self.solve(options);
        }
        let mut z = before.z.clone();
        self.start_unused(&mut z);
        let reached = self.find(&mut z, options);
        match reached.residual <= options.tolerance {
            true => Ok(self.read(z, reached)),
            false => self.solve(options),
        }
    }

    fn find(&mut self, z: &mut [f64], options: &SteadyOptions) -> Reached {
        self.newton.find(
            &self.problem,
            &mut self.point,
            z,
            options.tolerance,
            MOST_ROUNDS,
        )
    }

    /// Every link at the load that sources offer who see nothing of each other, or nearly full.
    fn first_start(&mut self) -> Vec<f64> {
        let mut z = vec![0.0; self.problem.size()];
        self.start_unused(&mut z);
        z
    }

    /// Links that nothing crossed before at what sources offer who see nothing of each other there, or nearly
    /// full.
    fn start_unused(&mut self, z: &mut [f64]) {
        let used = self.problem.used.iter().map(|&l| 2 * l as usize);
        let new: Vec<usize> = used.filter(|&i| z[i..i + 2] == [0.0; 2]).collect();
        if new.is_empty() {
            return;
        }
        for &i in &new {
            (z[i], z[i + 1]) = (-30.0, libm::log(8000.0));
        }
        let mut off = vec![0.0; z.len()];
        self.point.evaluate(&self.problem, z, false, &mut off);
        for i in new {
            z[i] = (z[i] - off[i]).min(FULL);
            z[i + 1] -= off[i + 1];
        }
    }

    fn random_start(&self, first: &[f64], seed: u64, stream: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        let mut z = first.to_vec();
        for &l in &self.problem.used {
            // No source sends more than on an empty network.
            let load = rng.random_range(RANDOM);
            let z = &mut z[2 * l as usize];
            *z = if *z < FULL { z.min(load) } else { load };
        }
        z
    }

    /// What the network does at `z`; other starts may have been tried since that was found.
    fn read(&mut self, z: Vec<f64>, reached: Reached) -> Steady {
        self.look(&z);
        Steady::new(self, z, reached)
    }

    pub(crate) fn look(&mut self, z: &[f64]) {
        let off = &mut self.newton.off;
        self.point.evaluate(&self.problem, z, true, off);
    }

    fn not_found(&mut self, z: &[f64], starts: usize) -> SteadyError {
        let mut off = vec![0.0; z.len()];
        self.point.evaluate(&self.problem, z, false, &mut off);
        let residual = largest(&off);
        let at = off
            .iter()
            .position(|off| off.abs() == residual || !off.is_finite());
        let names = &self.network.tables().link_names;
        let link = at
            .and_then(|i| names.get(i / 2))
            .cloned()
            .unwrap_or_default();
        SteadyError::NotFound {
            starts,
            residual,
            link,
        }
    }
}

pub(crate) fn check(
    option: &'static str,
    value: f64,
    good: bool,
    allowed: &'static str,
) -> Result<(), SteadyError> {
    match good && value.is_finite() {
        true => Ok(()),
        false => Err(SteadyError::BadOption {
            option,
            value,
            allowed,
        }),
    }
}
