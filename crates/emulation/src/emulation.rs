//! Emulation of a scenario in real time: its hosts, its links and its traffic over real sockets.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use netflow_network::{LinkId, Network, NodeId, Source};
use netflow_scenario::CompiledScenario;
use netflow_scenario::export::default_socket_buffer_bytes;
use netflow_testbed::network::{EmulatedNetwork, NetworkOptions, NetworkReport, Plan, TcpRoute};
use netflow_testbed::{Capture, StackOptions};
use netflow_units::SplitMix64;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::feasibility::{self, Infeasible};
use crate::open_loop::OpenLoopSources;
use crate::tcp_transfers::TcpTransfers;

/// Options of an emulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Random seed of losses, random queue decisions, start times and Poisson packets. Real TCP is not
    /// reproducible: its behaviour differs from run to run.
    pub seed: u64,
    /// Maximum random delay of connection starts, in seconds.
    pub start_jitter_s: f64,
    /// Interval between snapshots of the counters, in seconds.
    pub every_s: f64,
    /// Nodes that become hosts although no connection begins or ends there.
    pub hosts: Vec<NodeId>,
    /// Links whose arriving packets are captured, with their capture files.
    pub captures: Vec<(LinkId, Capture)>,
}

impl Default for Settings {
    /// Returns seed 1, no start jitter and intervals of 0.5 s.
    fn default() -> Settings {
        Settings {
            seed: 1,
            start_jitter_s: 0.0,
            every_s: 0.5,
            hosts: Vec::new(),
            captures: Vec::new(),
        }
    }
}

/// Reason for an emulation that did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario cannot be emulated.
    #[error(transparent)]
    Infeasible(#[from] Infeasible),
    /// Failure of the hosts or their network.
    #[error(transparent)]
    Testbed(#[from] netflow_testbed::Error),
    /// Failure of a socket or a thread.
    #[error("cannot {doing}: {source}")]
    Socket {
        /// Operation that failed.
        doing: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The caller stopped the emulation.
    #[error("interrupted before the end of the emulation")]
    Stopped,
}

impl Error {
    pub(crate) fn socket(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Socket { doing, source }
    }
}

/// Hosts, links and sockets of a scenario, ready to start. All are removed when this is dropped or when
/// the process ends, even abnormally.
#[derive(Debug)]
pub struct Emulation {
    network: EmulatedNetwork,
    tcp: TcpTransfers,
    open: OpenLoopSources,
    duration_s: f64,
    every_s: f64,
}

/// Interval at which a run checks whether to stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Emulation {
    /// Creates the hosts and their sockets; nothing is sent yet. A process without root rights must call
    /// [`netflow_testbed::become_root`] before, while it has one thread.
    ///
    /// # Errors
    /// If the scenario cannot be emulated, and the errors of [`EmulatedNetwork::new`].
    pub fn new(scenario: &CompiledScenario, settings: &Settings) -> Result<Emulation, Error> {
        feasibility::check_feasibility(scenario)?;
        let network = &scenario.network;
        let tcp_route = |id| feasibility::tcp_route(network, id);
        let routes: Vec<TcpRoute> = network
            .connections()
            .map(tcp_route)
            .collect::<Result<_, _>>()?;
        let plan = Plan::new(network, &settings.hosts, |id| routes[id.index()].clone());
        let plan = plan.map_err(netflow_testbed::Error::from)?;
        let mut stack = StackOptions::linux_6();
        raise_socket_buffers(network, &mut stack);
        let options = NetworkOptions {
            stack,
            seed: settings.seed,
            captures: settings.captures.clone(),
        };
        raise_open_file_limit();
        let emulated = EmulatedNetwork::new(network, plan, &options)?;
        let mut seeds = SplitMix64::new(settings.seed);
        let mut tcp = TcpTransfers::new()?;
        let mut open = OpenLoopSources::default();
        for (pair, id) in network.connections().enumerate() {
            let spec = network.connection_spec(id);
            for _ in 0..spec.count {
                let later_s = settings.start_jitter_s * seeds.uniform();
                let active_period = ActivePeriod {
                    start_s: spec.start_s + later_s,
                    stop_s: spec.stop_s,
                };
                match spec.source {
                    Source::Constant { rate_pps } => {
                        open.add(
                            &emulated,
                            pair,
                            spec,
                            active_period,
                            InterarrivalTimes::Constant(rate_pps),
                        )?;
                    }
                    Source::Poisson { rate_pps } => {
                        let random = SplitMix64::new(seeds.bits());
                        let interarrival_times = InterarrivalTimes::Poisson(rate_pps, random);
                        open.add(&emulated, pair, spec, active_period, interarrival_times)?;
                    }
                    _ => tcp.add(&emulated, pair, spec, active_period)?,
                }
            }
        }
        Ok(Emulation {
            network: emulated,
            tcp,
            open,
            duration_s: scenario.options.duration_s,
            every_s: settings.every_s,
        })
    }

    /// Returns the emulated network.
    pub fn network(&self) -> &EmulatedNetwork {
        &self.network
    }

    /// Starts the emulation. Returns the instant that is time 0 of the scenario.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(&mut self) -> Result<Instant, Error> {
        self.tcp.listen(self.network.read_bytes())?;
        let began = self.network.start(self.every_s)?;
        self.tcp.start(began)?;
        self.open.start(began)?;
        Ok(began)
    }

    /// Runs the scenario in real time until its end. Calls `stop` every 20 ms; the run stops if it
    /// returns `true`.
    ///
    /// # Errors
    /// If the run was stopped, the network thread died, or a thread cannot be started.
    pub fn run(mut self, stop: &dyn Fn() -> bool) -> Result<NetworkReport, Error> {
        let began = self.start()?;
        let end = began + Duration::from_secs_f64(self.duration_s);
        loop {
            if stop() {
                return Err(Error::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.network.is_alive() {
                return self.finish();
            }
            thread::sleep(left.min(STOP_POLL_INTERVAL));
        }
    }

    /// Stops the network and returns its report.
    ///
    /// # Errors
    /// If the network thread died.
    pub fn finish(self) -> Result<NetworkReport, Error> {
        let Emulation {
            network, tcp, open, ..
        } = self;
        let report = network.stop()?;
        drop((tcp, open));
        Ok(report)
    }
}

/// Raises the limit on open files to the hard limit. If that is not enough, opening a socket fails with
/// its own error.
fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, most);
}

/// Start and stop time of one connection, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivePeriod {
    pub start_s: f64,
    pub stop_s: Option<f64>,
}

/// Interarrival times of an open-loop source, by its rate in packets/s.
#[derive(Clone, Debug)]
pub(crate) enum InterarrivalTimes {
    Constant(f64),
    Poisson(f64, SplitMix64),
}

/// Raises the maximum socket buffers to the largest bandwidth-delay product of a connection, if Linux's
/// defaults are smaller. If a connection has a Linux stack, the send buffer is the largest of the stacks,
/// because one setting applies to all hosts.
fn raise_socket_buffers(network: &Network, stack: &mut StackOptions) {
    const MAX_BUFFER_BYTES: u32 = 1 << 30;
    let least = stack.send_buffer_bytes[2];
    let (mut send_bytes, mut receive_bytes) = (0, stack.receive_buffer_bytes[2]);
    for id in network.connections() {
        let bdp_bytes =
            default_socket_buffer_bytes(network, id).min(f64::from(MAX_BUFFER_BYTES)) as u32;
        receive_bytes = receive_bytes.max(bdp_bytes);
        send_bytes = send_bytes.max(match &network.connection_spec(id).source {
            Source::Tcp(stack) => stack.send_buffer_bytes.unwrap_or(MAX_BUFFER_BYTES),
            _ => bdp_bytes.max(least),
        });
    }
    stack.receive_buffer_bytes[2] = receive_bytes;
    if send_bytes > 0 {
        stack.send_buffer_bytes[2] = send_bytes;
    }
}
