//! Hosts of an emulated network and the emulator between them.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use netflow_network::{LinkId, Network};
use tun_rs::SyncDevice;

use super::emulator::{Emulator, Recording};
use super::network_simulation::LinkSimulation;
use super::packet::details;
use super::plan::{Plan, TcpRoute};
use super::report::NetworkReport;
use crate::capture::CaptureWriter;
use crate::device;
use crate::namespace::Namespace;
use crate::netlink::Metrics;
use crate::stack::StackOptions;
use crate::{Error, netlink};

/// Options of an emulated network.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// TCP settings of the hosts, except those of a [`TcpRoute`].
    pub stack: StackOptions,
    /// Random seed of losses and queues.
    pub seed: u64,
    /// Links whose arriving packets are captured, with their files: pcap with nanoseconds, raw IP.
    pub captures: Vec<(LinkId, crate::Capture)>,
}

/// Hosts of a network, each in its own namespace. No packet moves before [`EmulatedNetwork::start`]. All
/// are removed when this is dropped or the process ends.
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
    Running(Emulator),
}

/// Resources that the emulator starts with.
pub(crate) struct Built {
    pub devices: Vec<SyncDevice>,
    pub simulation: LinkSimulation<Vec<u8>>,
    pub captures: Vec<(u32, CaptureWriter)>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Built")
    }
}

impl EmulatedNetwork {
    /// Creates the hosts with their addresses and routes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights for namespaces or TUN devices. Also an unknown
    /// congestion control, a queue that only the fluid model supports, or a capture file that cannot be
    /// written.
    pub fn new(
        network: &Network,
        plan: Plan,
        options: &NetworkOptions,
    ) -> Result<EmulatedNetwork, Error> {
        let paths = plan
            .pairs
            .iter()
            .flat_map(|pair| pair.paths.clone())
            .collect();
        let simulation = LinkSimulation::new(network, paths, options.seed, |packet: &Vec<u8>| {
            details(packet)
        })?;
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
                simulation,
                captures,
            })),
        })
    }

    /// Returns the plan of hosts and paths.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the counters of bytes read by the application of each pair's second host. Applications add
    /// to them.
    pub fn read_bytes(&self) -> &Arc<[AtomicU64]> {
        &self.read_bytes
    }

    /// Runs a task on a thread in the namespace of the host with this index, like
    /// [`Testbed::run_in`](crate::Testbed::run_in).
    ///
    /// # Errors
    /// If the namespace cannot be entered. A panic of the task is propagated.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn run_in<R: Send>(
        &self,
        host: usize,
        task: impl FnOnce() -> R + Send,
    ) -> Result<R, Error> {
        self.namespaces[host].run(task)
    }

    /// Starts a command in the namespace of the host with this index. Its environment contains the host's
    /// name and address (`NETFLOW_HOST`, `NETFLOW_ADDRESS`).
    ///
    /// # Errors
    /// If the command cannot be started.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn spawn(&self, host: usize, command: &mut Command) -> Result<Child, Error> {
        let there = &self.plan.hosts[host];
        command
            .env("NETFLOW_HOST", &there.name)
            .env("NETFLOW_ADDRESS", there.address.to_string());
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned: io::Result<Child> = self.run_in(host, || command.spawn())?;
        spawned.map_err(|error| Error::system(format!("start {name}"), error))
    }

    /// Starts the emulation and takes a snapshot every `every_s` seconds. Returns the instant of the
    /// scenario's time 0. A network that already runs continues.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(&mut self, every_s: f64) -> Result<Instant, Error> {
        if let State::Running(emulator) = &self.state {
            return Ok(emulator.began());
        }
        let recording = Recording {
            every_s,
            read_bytes: self.read_bytes.clone(),
        };
        let State::Built(built) =
            std::mem::replace(&mut self.state, State::Running(Emulator::none()))
        else {
            return Ok(Instant::now());
        };
        let emulator = Emulator::start(*built, &self.plan, recording)?;
        let began = emulator.began();
        self.state = State::Running(emulator);
        Ok(began)
    }

    /// Returns whether it still carries packets.
    pub fn is_alive(&self) -> bool {
        matches!(&self.state, State::Running(emulator) if emulator.is_alive())
    }

    /// Stops the network; packets in flight are lost.
    ///
    /// # Errors
    /// If its thread died.
    pub fn stop(self) -> Result<NetworkReport, Error> {
        let mut unread_drops = 0;
        for namespace in &self.namespaces {
            unread_drops += namespace.run(device::unread_drops)?;
        }
        let report = match self.state {
            State::Running(emulator) => emulator.stop()?,
            State::Built(_) => NetworkReport::default(),
        };
        Ok(NetworkReport {
            unread_drops,
            ..report
        })
    }
}

/// Returns the route metrics of a pair's sender, or of its receiver if `receives`.
fn metrics(tcp: &TcpRoute, receives: bool) -> Metrics<'_> {
    // A limit of cwnd (RTAX_CWND, locked) affects only hosts that save metrics of their peers.
    Metrics {
        mtu: Some(tcp.mtu),
        window_bytes: tcp.receive_window_bytes.filter(|_| receives),
        congestion: tcp.congestion.as_deref(),
        initial_window: tcp.initial_window,
        ecn: tcp.ecn,
    }
}
