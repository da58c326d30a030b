//! The hosts of an emulated network, and what is between them.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use netflow_network::{LinkId, Network};
use tun_rs::SyncDevice;

use super::emulator::{Emulator, Recording};
use super::fabric::Fabric;
use super::plan::{Plan, TcpRoute};
use super::report::NetworkReport;
use crate::capture::CaptureWriter;
use crate::device;
use crate::namespace::Namespace;
use crate::netlink::Metrics;
use crate::stack::StackOptions;
use crate::{Error, netlink};

/// How a network is emulated.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// The hosts' TCP, but for what a [`TcpRoute`] says.
    pub stack: StackOptions,
    /// What losses and queues draw depends on it.
    pub seed: u64,
    /// Where packets that arrive at a link are written down: files, pcap with nanoseconds, raw IP.
    pub captures: Vec<(LinkId, crate::Capture)>,
}

/// The hosts of a network, each in a namespace of its own. Nothing moves between them before
/// [`EmulatedNetwork::start`]; it all goes when this is dropped, or the process ends.
#[derive(Debug)]
pub struct EmulatedNetwork {
    plan: Plan,
    namespaces: Vec<Namespace>,
    read_bytes: Arc<[AtomicU64]>,
    state: State,
}

#[derive(Debug)]
enum State {
    Built(Box<Built>),
    Runs(Emulator),
}

/// Everything that the emulator starts with.
pub(crate) struct Built {
    pub devices: Vec<SyncDevice>,
    pub fabric: Fabric<Vec<u8>>,
    pub captures: Vec<(u32, CaptureWriter)>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Built")
    }
}

impl EmulatedNetwork {
    /// Makes the hosts with their addresses and routes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights for namespaces or TUN devices; an unknown congestion
    /// control; a queue that only fluids know; a file for a capture that cannot be written.
    pub fn new(
        network: &Network,
        plan: Plan,
        options: &NetworkOptions,
    ) -> Result<EmulatedNetwork, Error> {
        let ways = plan
            .pairs
            .iter()
            .flat_map(|pair| pair.ways.clone())
            .collect();
        let fabric = Fabric::new(network, ways, options.seed)?;
        for pair in &plan.pairs {
            if let Some(name) = &pair.tcp.congestion {
                device::check_congestion_control(name)?;
            }
        }
        let captures = options
            .captures
            .iter()
            .map(|(link, capture)| Ok((link.index() as u32, CaptureWriter::new(capture)?)));
        let captures = captures.collect::<Result<_, Error>>()?;
        let mtu = plan
            .pairs
            .iter()
            .map(|pair| pair.tcp.mtu)
            .max()
            .unwrap_or(1500);
        let mut namespaces = Vec::new();
        let mut devices = Vec::new();
        for (place, host) in plan.hosts.iter().enumerate() {
            let namespace = Namespace::new()?;
            let device = namespace.run(|| -> Result<SyncDevice, Error> {
                let who = format!("host {}", host.name);
                let (device, index) = device::create(mtu, Some(&options.stack), &who)?;
                let failed = |doing: &str| {
                    let doing = format!("{doing} of {who}");
                    move |error: io::Error| Error::system(doing.clone(), error)
                };
                netlink::add_address(index, host.address).map_err(failed("set the address"))?;
                for pair in &plan.pairs {
                    for (own, other) in [(0, 1), (1, 0)] {
                        if pair.hosts[own] != place {
                            continue;
                        }
                        let metrics = metrics(&pair.tcp, own == 1);
                        let [own, peer] = [own, other].map(|end| pair.addresses[end]);
                        if own != host.address {
                            netlink::add_address(index, own).map_err(failed("set an address"))?;
                        }
                        netlink::add_route(index, own, peer, &metrics)
                            .map_err(failed("set a route"))?;
                    }
                }
                Ok(device)
            })??;
            namespaces.push(namespace);
            devices.push(device);
        }
        Ok(EmulatedNetwork {
            read_bytes: plan.pairs.iter().map(|_| AtomicU64::new(0)).collect(),
            namespaces,
            plan,
            state: State::Built(Box::new(Built {
                devices,
                fabric,
                captures,
            })),
        })
    }

    /// Who is there.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// By pair, the bytes that the application of its second host has read: applications add to them.
    pub fn read_bytes(&self) -> &Arc<[AtomicU64]> {
        &self.read_bytes
    }

    /// Runs this on a thread in the namespace of the host with this place, as
    /// [`Testbed::run_in`](crate::Testbed::run_in) does.
    ///
    /// # Errors
    /// The namespace cannot be entered. A panic of the task goes on.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn run_in<R: Send>(
        &self,
        host: usize,
        task: impl FnOnce() -> R + Send,
    ) -> Result<R, Error> {
        self.namespaces[host].run(task)
    }

    /// Starts a command in the namespace of the host with this place. Its environment tells it where it is
    /// (`NETFLOW_HOST`, `NETFLOW_ADDRESS`).
    ///
    /// # Errors
    /// The command cannot be started.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn spawn(&self, host: usize, command: &mut Command) -> Result<Child, Error> {
        let there = &self.plan.hosts[host];
        command
            .env("NETFLOW_HOST", &there.name)
            .env("NETFLOW_ADDRESS", there.address.to_string());
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned: io::Result<Child> = self.run_in(host, || command.spawn())?;
        spawned.map_err(|error| Error::system(format!("start {name}"), error))
    }

    /// From now on packets move, and time runs: the moment of the scenario's 0. What happened is kept
    /// every so many seconds. A network that runs already goes on.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(&mut self, every_s: f64) -> Result<Instant, Error> {
        if let State::Runs(emulator) = &self.state {
            return Ok(emulator.began());
        }
        let recording = Recording {
            every_s,
            read_bytes: self.read_bytes.clone(),
        };
        let State::Built(built) = std::mem::replace(&mut self.state, State::Runs(Emulator::none()))
        else {
            return Ok(Instant::now());
        };
        let emulator = Emulator::start(*built, &self.plan, recording)?;
        let began = emulator.began();
        self.state = State::Runs(emulator);
        Ok(began)
    }

    /// Whether it still carries packets.
    pub fn alive(&self) -> bool {
        matches!(&self.state, State::Runs(emulator) if emulator.alive())
    }

    /// Ends it; what is on its way is lost.
    ///
    /// # Errors
    /// Its thread died, or it never ran.
    pub fn stop(self) -> Result<NetworkReport, Error> {
        let mut unread_drops = 0;
        for namespace in &self.namespaces {
            unread_drops += namespace.run(device::unread_drops)?;
        }
        let report = match self.state {
            State::Runs(emulator) => emulator.stop()?,
            State::Built(_) => NetworkReport::default(),
        };
        Ok(NetworkReport {
            unread_drops,
            ..report
        })
    }
}

/// What the route of a pair's sender has, or that of its receiver.
fn metrics(tcp: &TcpRoute, receives: bool) -> Metrics<'_> {
    // A limit of cwnd (RTAX_CWND, locked) would be heeded only by hosts that remember their peers.
    Metrics {
        mtu: Some(tcp.mtu),
        window_bytes: tcp.receive_window_bytes.filter(|_| receives),
        congestion: tcp.congestion.as_deref(),
        initial_window: tcp.initial_window,
        ecn: tcp.ecn,
    }
}
