//! Packet model compared with a published ns-2 study: many clients with Poisson traffic over one
//! gateway.
//!
//! The network is that of the published study: M clients with links of 10 Mbit/s and 25 ms; a
//! bottleneck of 50 Mbit/s, 25 ms and 50 packets; 1500 B packets, Poisson with a mean of 10 ms
//! between them at each client; windows of at most 20 packets; 200 s, arrivals at the gateway counted
//! in intervals of 0.1 s.

#![allow(missing_docs)]

pub mod page;
pub mod reference;

use netflow_simulation::Run;
use std::fmt;

use netflow_simulation::{
    Acks, Application, Buffer, ConnectionSpec, DropPolicy, LinkSpec, Model, NetworkBuilder,
    Options, Red, Simulation, Source, TcpVariant, WindowSource,
};
use rayon::prelude::*;

pub const DURATION_S: f64 = 200.0;
pub const CLIENTS: [u32; 6] = [5, 20, 30, 38, 39, 50];
/// Packets/s of a client.
const RATE_PPS: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Udp,
    Reno,
    RenoDelayed,
    Vegas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    Fifo,
    Red,
}

/// Experiment: protocol, gateway queue and number of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub protocol: Protocol,
    pub gateway: Gateway,
    pub clients: u32,
}

impl Protocol {
    pub const ALL: [Protocol; 4] = [
        Protocol::Udp,
        Protocol::Reno,
        Protocol::RenoDelayed,
        Protocol::Vegas,
    ];
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Protocol::Udp => "UDP",
            Protocol::Reno => "Reno",
            Protocol::RenoDelayed => "Reno, delayed ACKs",
            Protocol::Vegas => "Vegas",
        })
    }
}

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Gateway::Fifo => "FIFO",
            Gateway::Red => "RED",
        })
    }
}

/// Returns all experiments, by protocol.
pub fn cells() -> impl Iterator<Item = Cell> {
    Protocol::ALL.into_iter().flat_map(|protocol| {
        [Gateway::Fifo, Gateway::Red]
            .into_iter()
            .flat_map(move |gateway| {
                CLIENTS.into_iter().map(move |clients| Cell {
                    protocol,
                    gateway,
                    clients,
                })
            })
    })
}

/// Result of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub cov: f64,
    pub delivered_pkts: f64,
    /// Lost packets divided by sent packets.
    pub loss: f64,
    pub timeouts: f64,
    pub fast_retransmits: f64,
}

/// Mean over seeds, and standard deviation of the c.o.v.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    pub mean: Outcome,
    pub cov_std: f64,
}

/// Simulates an experiment with one seed.
pub fn run(cell: Cell, seed: u64) -> Outcome {
    let mut b = NetworkBuilder::new();
    let (gateway, server) = (b.node("G"), b.node("S"));
    let red = Red {
        min_pkts: 10.0,
        max_pkts: 40.0,
        max_p: 0.1,
        weight: 0.002,
        gentle: false,
        ecn: false,
        hard_drop: true,
    };
    let link = |from, to, bandwidth_bps, room| LinkSpec {
        delay_s: 0.025,
        buffer: Buffer::Packets(room),
        ..LinkSpec::new(from, to, bandwidth_bps)
    };
    let bottleneck = b.link(LinkSpec {
        queue: match cell.gateway {
            Gateway::Fifo => DropPolicy::DropTail,
            Gateway::Red => DropPolicy::Red(red),
        },
        ..link(gateway, server, 50e6, 50.0)
    });
    b.link(link(server, gateway, 50e6, 1000.0));
    let window = |variant| {
        Source::Ns2Tcp(WindowSource {
            variant,
            ..WindowSource::default()
        })
    };
    for i in 0..cell.clients {
        let client = b.node(&format!("C{i}"));
        b.link(link(client, gateway, 10e6, 1000.0));
        b.link(link(gateway, client, 10e6, 1000.0));
        b.connection(ConnectionSpec {
            name: format!("c{i}"),
            from: client,
            to: server,
            source: match cell.protocol {
                Protocol::Udp => Source::Poisson { rate_pps: RATE_PPS },
                Protocol::Reno | Protocol::RenoDelayed => window(TcpVariant::Reno),
                Protocol::Vegas => window(TcpVariant::Vegas),
            },
            application: match cell.protocol {
                Protocol::Udp => Application::Bulk,
                _ => Application::Poisson { rate_pps: RATE_PPS },
            },
            start_s: 0.0,
            stop_s: None,
            size_pkts: None,
            count: 1,
            max_window_pkts: Some(20.0),
            packet_size_bytes: 1500.0,
            path: None,
            return_path: None,
            flow: None,
            ecmp_share: None,
            transfers: None,
            acks: match cell.protocol {
                Protocol::Udp => Acks::None,
                Protocol::RenoDelayed => Acks::EverySecond,
                _ => Acks::EveryPacket,
            },
        });
    }
    let options = Options {
        duration_s: DURATION_S,
        model: Model::PACKETS,
        seed,
    };
    let network = b.build().unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut simulation =
        Simulation::new(network, options).unwrap_or_else(|error| panic!("{error}"));
    while !simulation.is_done() {
        simulation.step().unwrap_or_else(|error| panic!("{error}"));
    }
    let link = simulation.link_totals(bottleneck);
    let mut outcome = Outcome {
        cov: link.arrival_cov.unwrap_or(0.0),
        loss: link.loss_probability,
        ..Outcome::default()
    };
    for id in simulation.network().connections() {
        let totals = simulation.connection_totals(id);
        outcome.delivered_pkts += totals.mean_goodput_pps * DURATION_S;
        outcome.timeouts += totals.timeouts.unwrap_or(0.0);
        outcome.fast_retransmits += totals.fast_retransmits.unwrap_or(0.0);
    }
    outcome
}

/// Returns the mean over `seeds` seeds.
pub fn mean(cell: Cell, seeds: u64) -> Mean {
    let outcomes: Vec<Outcome> = (1..=seeds)
        .into_par_iter()
        .map(|seed| run(cell, seed))
        .collect();
    let n = seeds as f64;
    let of = |value: fn(&Outcome) -> f64| outcomes.iter().map(value).sum::<f64>() / n;
    let cov = of(|o| o.cov);
    let squares: f64 = outcomes.iter().map(|o| (o.cov - cov).powi(2)).sum();
    Mean {
        mean: Outcome {
            cov,
            delivered_pkts: of(|o| o.delivered_pkts),
            loss: of(|o| o.loss),
            timeouts: of(|o| o.timeouts),
            fast_retransmits: of(|o| o.fast_retransmits),
        },
        cov_std: (squares / (n - 1.0)).sqrt(),
    }
}
