//! Solver for successive steady states of one network while bandwidths, delays, buffers or demands
//! change.

use std::collections::BTreeSet;
use std::ops::Range;

use netflow_network::{BufferLimit, ConnectionId, LinkId, Network, Rerouted};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::newton::{Newton, NewtonOutcome, max_norm};
use crate::problem::{NO_PROFILE, Problem};
use crate::residual::NetworkState;
use crate::steady::Steady;
use crate::{SteadyError, SteadyOptions};

/// Range of ln(load) of random starting points.
const RANDOM_LN_LOAD: std::ops::Range<f64> = -1.5..1.5;
/// ln(load) of an overloaded link at the first starting point.
pub(crate) const MAX_START_LN_LOAD: f64 = -0.05;
/// Two states are the same if they differ by less than this at every link.
const SAME_STATE_TOLERANCE: f64 = 1e-5;
pub(crate) const MAX_NEWTON_STEPS: usize = 200;
/// Number of random starting points tried if the first does not converge.
const MAX_EXTRA_STARTS: u64 = 8;

/// Network with the work space to solve for its steady states.
#[derive(Clone, Debug)]
pub struct Solver {
    pub(crate) network: Network,
    pub(crate) problem: Problem,
    pub(crate) point: NetworkState,
    pub(crate) newton: Newton,
}

/// Selection of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSelection<'a> {
    /// All connections, or all to which the operation applies.
    All,
    /// The given connections.
    Only(&'a [ConnectionId]),
}

impl Solver {
    /// Takes a network as it is just before `at_s`: with the routes and bandwidths that its events
    /// have set by then, and with the connections active at that time. Infinity means after all
    /// events.
    ///
    /// # Errors
    /// [`SteadyError::Unsupported`] if an element of the network has no steady state, or none that
    /// is implemented; [`SteadyError::BadTime`].
    pub fn new(network: &Network, at_s: f64) -> Result<Solver, SteadyError> {
        Solver::rerouted(network, at_s, &Rerouted::by_events(network, at_s))
    }

    /// Takes the network with the given routes, around failed links in addition to those of its
    /// events.
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
            point: NetworkState::new(&problem),
            newton: Newton::new(&problem),
            problem,
        })
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the links that the data of a connection crosses, each once, in order.
    pub(crate) fn links_of_connection(&self, id: ConnectionId) -> Vec<LinkId> {
        let flows = self.problem.flows_of(&self.network, id);
        let hops = flows.flat_map(|flow| self.problem.flows[flow].data_hops());
        let links: BTreeSet<u32> = hops.map(|hop| self.problem.hop_link[hop]).collect();
        let owner = self.network.tables().owner;
        links
            .into_iter()
            .map(|link| LinkId::new(link, owner))
            .collect()
    }

    /// Sets the bandwidth of a link in bit/s. A buffer given as a time scales with it.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it is not positive.
    pub fn set_bandwidth(&mut self, link: LinkId, bandwidth_bps: f64) -> Result<(), SteadyError> {
        check("bandwidth", bandwidth_bps, bandwidth_bps > 0.0, "positive")?;
        self.problem.links[link.index()].set_bandwidth(bandwidth_bps);
        self.point.inputs_changed();
        Ok(())
    }

    /// Re-solves from `before` with `more_bps` bit/s added to one link, then restores the link's
    /// bandwidth.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with_upgrade(
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

    /// Sets the propagation delay of a link in seconds.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it is negative.
    pub fn set_delay(&mut self, link: LinkId, delay_s: f64) -> Result<(), SteadyError> {
        check("delay", delay_s, delay_s >= 0.0, "at least 0")?;
        self.problem.links[link.index()].delay_s = delay_s;
        self.point.inputs_changed();
        Ok(())
    }

    /// Sets the buffer size of a queue.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if it is smaller than one packet.
    pub fn set_buffer(&mut self, link: LinkId, room: BufferLimit) -> Result<(), SteadyError> {
        let pkts = room.nominal_pkts;
        check("buffer", pkts, pkts >= 1.0, "at least 1")?;
        let bits = room.bits.unwrap_or(1.0);
        check("buffer in bits", bits, bits > 0.0, "positive")?;
        self.problem.links[link.index()].buffer = room;
        self.point.inputs_changed();
        Ok(())
    }

    /// Multiplies the demand of connections that have one by `factor`, relative to the network's
    /// value. This scales the rates of their sources or applications. Returns the number of
    /// connections, or classes of connections, that were scaled.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if the factor is not positive.
    pub fn scale(
        &mut self,
        scale: ConnectionSelection<'_>,
        factor: f64,
    ) -> Result<usize, SteadyError> {
        check("scale", factor, factor > 0.0, "positive")?;
        let only: Option<BTreeSet<usize>> = match scale {
            ConnectionSelection::All => None,
            ConnectionSelection::Only(ids) => {
                // Indices are final only after all connections have their own flows.
                for &id in ids {
                    self.isolate_connection(id);
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

    /// Multiplies the demand of one connection of any kind, relative to the network's value. This
    /// scales the number of connections; for a fixed-rate source that equals scaling its rate.
    ///
    /// # Errors
    /// [`SteadyError::BadOption`] if the factor is not positive.
    pub fn set_demand(&mut self, id: ConnectionId, factor: f64) -> Result<(), SteadyError> {
        check("demand", factor, factor > 0.0, "positive")?;
        for flow in self.isolate_connection(id) {
            self.problem.flows[flow].demand = factor;
            self.point.inputs_changed();
        }
        Ok(())
    }

    pub(crate) fn isolate_connection(&mut self, id: ConnectionId) -> Range<usize> {
        let flows = self.problem.isolate_connection(&self.network, id);
        self.point.inputs_changed();
        flows
    }

    /// Computes a steady state from the default starting point.
    ///
    /// # Errors
    /// [`SteadyError::NotFound`] if no starting point converges; [`SteadyError::BadOption`].
    pub fn solve(&mut self, options: &SteadyOptions) -> Result<Steady, SteadyError> {
        self.solve_until_stopped(options, &|| false)
    }

    /// Computes the same, but tries no more random starting points once `stop` returns true.
    /// [`Steady::starts`] counts those tried.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_until_stopped(
        &mut self,
        options: &SteadyOptions,
        stop: &dyn Fn() -> bool,
    ) -> Result<Steady, SteadyError> {
        options.check()?;
        let first = self.initial_point();
        let mut z = first.clone();
        let mut reached = self.run_newton(&mut z, options);
        let mut tried = 1;
        while reached.residual > options.tolerance && tried <= MAX_EXTRA_STARTS {
            let mut other = self.random_start(&first, options.seed, u64::MAX - tried);
            let found = self.run_newton(&mut other, options);
            tried += 1;
            if found.residual < reached.residual {
                (z, reached) = (other, found);
            }
        }
        if reached.residual > options.tolerance {
            return Err(self.not_found_error(&z, tried as usize));
        }
        let mut others: Vec<Vec<f64>> = Vec::new();
        let (mut starts, mut led) = (0, 0);
        while starts < options.starts && !stop() {
            let start = starts;
            starts += 1;
            let mut other = self.random_start(&first, options.seed, u64::from(start));
            if self.run_newton(&mut other, options).residual > options.tolerance {
                continue;
            }
            led += 1;
            let differs = |known: &[f64]| {
                let pairs = self.problem.used_links.iter().map(|&l| 2 * l as usize);
                pairs
                    .map(|i| (known[i] - other[i]).abs())
                    .fold(0.0, f64::max)
                    > SAME_STATE_TOLERANCE
            };
            if differs(&z) && others.iter().all(|known| differs(known)) {
                others.push(other);
            }
        }
        let mut steady = self.steady_at(z, reached);
        steady.starts = starts;
        steady.converged_starts = led;
        steady.equilibria = 1 + others.len();
        Ok(steady)
    }

    /// Computes a steady state from an earlier one, which is close if the network changed little.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), which is the fallback if this start does not converge.
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
        self.initialize_unused(&mut z);
        let reached = self.run_newton(&mut z, options);
        if reached.residual <= options.tolerance {
            Ok(self.steady_at(z, reached))
        } else {
            self.solve(options)
        }
    }

    fn run_newton(&mut self, z: &mut [f64], options: &SteadyOptions) -> NewtonOutcome {
        self.newton.solve(
            &self.problem,
            &mut self.point,
            z,
            options.tolerance,
            MAX_NEWTON_STEPS,
        )
    }

    /// Returns the first starting point: every link at the load of sources without queueing and
    /// loss, at most nearly full.
    fn initial_point(&mut self) -> Vec<f64> {
        let mut z = vec![0.0; self.problem.size()];
        self.initialize_unused(&mut z);
        z
    }

    /// Sets the starting point of links without traffic before: the load of sources without
    /// queueing and loss there, at most nearly full.
    fn initialize_unused(&mut self, z: &mut [f64]) {
        let used = self.problem.used_links.iter().map(|&l| 2 * l as usize);
        let new: Vec<usize> = used.filter(|&i| z[i..i + 2] == [0.0; 2]).collect();
        if new.is_empty() {
            return;
        }
        for &i in &new {
            z[i..i + 2].copy_from_slice(&empty_link());
        }
        let mut residuals = vec![0.0; z.len()];
        self.point.evaluate(&self.problem, z, false, &mut residuals);
        for i in new {
            z[i] = (z[i] - residuals[i]).min(MAX_START_LN_LOAD);
            z[i + 1] -= residuals[i + 1];
        }
    }

    fn random_start(&self, first: &[f64], seed: u64, stream: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        let mut z = first.to_vec();
        for &l in &self.problem.used_links {
            // No source sends more than on an empty network.
            let load = rng.random_range(RANDOM_LN_LOAD);
            let z = &mut z[2 * l as usize];
            *z = if *z < MAX_START_LN_LOAD {
                z.min(load)
            } else {
                load
            };
        }
        z
    }

    /// Evaluates the network at `z`, because other starting points may have been evaluated since,
    /// and returns the results.
    fn steady_at(&mut self, z: Vec<f64>, reached: NewtonOutcome) -> Steady {
        self.evaluate_at(&z);
        Steady::new(self, z, reached)
    }

    pub(crate) fn evaluate_at(&mut self, z: &[f64]) {
        let residuals = &mut self.newton.residuals;
        self.point.evaluate(&self.problem, z, true, residuals);
    }

    fn not_found_error(&mut self, z: &[f64], starts: usize) -> SteadyError {
        let mut residuals = vec![0.0; z.len()];
        self.point.evaluate(&self.problem, z, false, &mut residuals);
        let residual = max_norm(&residuals);
        let at = residuals
            .iter()
            .position(|residuals| residuals.abs() == residual || !residuals.is_finite());
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

/// Returns ln(load) and ln(mean bits of a packet) of a link without effect on its traffic.
pub(crate) fn empty_link() -> [f64; 2] {
    [-30.0, libm::log(8000.0)]
}

pub(crate) fn check(
    option: &'static str,
    value: f64,
    good: bool,
    allowed: &'static str,
) -> Result<(), SteadyError> {
    if good && value.is_finite() {
        Ok(())
    } else {
        Err(SteadyError::BadOption {
            option,
            value,
            allowed,
        })
    }
}
