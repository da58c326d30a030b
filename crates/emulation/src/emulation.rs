//! A scenario's hosts and traffic.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use netflow_network::{LinkId, Network, NodeId, Source};
use netflow_scenario::Prepared;
use netflow_scenario::export::way_holds_bytes;
use netflow_testbed::network::{EmulatedNetwork, NetworkOptions, NetworkReport, Plan, TcpRoute};
use netflow_testbed::{Capture, StackOptions};
use netflow_units::SplitMix64;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fit::{self, Unfit};
use crate::open::Open;
use crate::tcp::Tcp;

/// How a scenario is emulated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is random depends on it: losses, queues that draw, starts, Poisson packets. What real TCP does
    /// is never the same twice.
    pub seed: u64,
    /// Connections start up to this many seconds later, at random.
    pub start_jitter_s: f64,
    /// What happened is kept every so many seconds.
    pub every_s: f64,
    /// Nodes that are hosts even if no connection begins or ends there.
    pub hosts: Vec<NodeId>,
    /// Where packets that arrive at a link are written down.
    pub captures: Vec<(LinkId, Capture)>,
}

impl Default for Settings {
    /// Seed 1, starts when the scenario says, intervals of 0.5 s.
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

/// Why a scenario was not emulated to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The hosts or their network.
    #[error(transparent)]
    Testbed(#[from] netflow_testbed::Error),
    /// A socket.
    #[error("cannot {doing}: {source}")]
    Socket {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// It was asked to stop.
    #[error("stopped before the emulation had come to its end")]
    Stopped,
}

impl Error {
    pub(crate) fn socket(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Socket { doing, source }
    }
}

/// A scenario's hosts, with everything ready to begin. It all goes when this is dropped, or the process
/// ends, however it does.
#[derive(Debug)]
pub struct Emulation {
    network: EmulatedNetwork,
    tcp: Tcp,
    open: Open,
    duration_s: f64,
    every_s: f64,
}

/// What is looked for between two looks at whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

impl Emulation {
    /// Makes the hosts and their sockets; nothing is sent yet. Of a process without the rights of root,
    /// [`netflow_testbed::become_root`] has to be called before, while it has one thread.
    ///
    /// # Errors
    /// What cannot be emulated, and what [`EmulatedNetwork::new`] says.
    pub fn new(scenario: &Prepared, settings: &Settings) -> Result<Emulation, Error> {
        fit::fit(scenario)?;
        let network = &scenario.network;
        let tcp_of = |id| fit::tcp_of(network, id);
        let routes: Vec<TcpRoute> = network
            .connections()
            .map(tcp_of)
            .collect::<Result<_, _>>()?;
        let plan = Plan::of(network, &settings.hosts, |id| routes[id.index()].clone());
        let plan = plan.map_err(netflow_testbed::Error::from)?;
        let mut stack = StackOptions::linux_6();
        widest(network, &mut stack);
        let options = NetworkOptions {
            stack,
            seed: settings.seed,
            captures: settings.captures.clone(),
        };
        allow_many_files();
        let emulated = EmulatedNetwork::new(network, plan, &options)?;
        let mut seeds = SplitMix64::new(settings.seed);
        let mut tcp = Tcp::new()?;
        let mut open = Open::default();
        for (pair, id) in network.connections().enumerate() {
            let spec = network.connection_spec(id);
            for _ in 0..spec.count {
                let later_s = settings.start_jitter_s * seeds.uniform();
                let times = Times {
                    start_s: spec.start_s + later_s,
                    stop_s: spec.stop_s,
                };
                match spec.source {
                    Source::Constant { rate_pps } => {
                        open.add(&emulated, pair, spec, times, Gaps::Constant(rate_pps))?;
                    }
                    Source::Poisson { rate_pps } => {
                        let random = SplitMix64::new(seeds.bits());
                        let gaps = Gaps::Poisson(rate_pps, random);
                        open.add(&emulated, pair, spec, times, gaps)?;
                    }
                    _ => tcp.add(&emulated, pair, spec, times)?,
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

    /// The hosts.
    pub fn network(&self) -> &EmulatedNetwork {
        &self.network
    }

    /// Begins; the scenario's time 0 is the moment that this returns.
    ///
    /// # Errors
    /// No threads are to be had.
    pub fn start(&mut self) -> Result<Instant, Error> {
        self.tcp.listen(self.network.read_bytes())?;
        let began = self.network.start(self.every_s)?;
        self.tcp.start(began)?;
        self.open.start(began)?;
        Ok(began)
    }

    /// Lets the scenario run from its beginning to its end, which takes as long as it says. `stop` is asked
    /// again and again.
    ///
    /// # Errors
    /// It was stopped; the network's thread died; no threads are to be had.
    pub fn run(mut self, stop: &dyn Fn() -> bool) -> Result<NetworkReport, Error> {
        let began = self.start()?;
        let end = began + Duration::from_secs_f64(self.duration_s);
        loop {
            if stop() {
                return Err(Error::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.network.alive() {
                return self.finish();
            }
            thread::sleep(left.min(PATIENCE));
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// The network's thread died.
    pub fn finish(self) -> Result<NetworkReport, Error> {
        let Emulation {
            network, tcp, open, ..
        } = self;
        let report = network.stop()?;
        drop((tcp, open));
        Ok(report)
    }
}

/// As many sockets as the system lets this process have. Where it does not, a socket says so.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, most);
}

/// When one of a connection sends, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub start_s: f64,
    pub stop_s: Option<f64>,
}

/// The times between packets of a source that listens to nobody.
#[derive(Clone, Debug)]
pub(crate) enum Gaps {
    Constant(f64),
    Poisson(f64, SplitMix64),
}

/// Sockets have room for what the widest way holds, where Linux's defaults have less. Send buffers are those of the
/// stacks, if connections have one: the largest, since there is one setting for all.
fn widest(network: &Network, stack: &mut StackOptions) {
    const MOST_BYTES: u32 = 1 << 30;
    let least = stack.send_buffer_bytes[2];
    let (mut send_bytes, mut receive_bytes) = (0, stack.receive_buffer_bytes[2]);
    for id in network.connections() {
        let held_bytes = way_holds_bytes(network, id).min(f64::from(MOST_BYTES)) as u32;
        receive_bytes = receive_bytes.max(held_bytes);
        send_bytes = send_bytes.max(match &network.connection_spec(id).source {
            Source::Stack(stack) => stack.send_buffer_bytes.unwrap_or(MOST_BYTES),
            _ => held_bytes.max(least),
        });
    }
    stack.receive_buffer_bytes[2] = receive_bytes;
    if send_bytes > 0 {
        stack.send_buffer_bytes[2] = send_bytes;
    }
}
