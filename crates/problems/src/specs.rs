//! Links and connections with the defaults of most tests.

use netflow_network::{
    Acks, Application, BitErrors, Buffer, ConnectionSpec, GilbertElliott, LinkLoss, LinkSpec,
    NetworkBuilder, NodeId, Source, WindowSource, WorkloadSpec,
};
use netflow_tcpmodel::Stack;
use netflow_workload::{Distribution, Http};
use rand::{Rng, RngExt};

/// Returns the random loss of a link: mostly none, otherwise random packets, bursts or bit errors.
pub(crate) fn link_loss(rng: &mut impl Rng) -> LinkLoss {
    random_loss_of_kinds(rng, 20)
}

/// Returns the random loss of a link, which is more often present than not.
pub fn some_loss(rng: &mut impl Rng) -> LinkLoss {
    random_loss_of_kinds(rng, 5)
}

fn random_loss_of_kinds(rng: &mut impl Rng, kinds: u32) -> LinkLoss {
    let rare = rng.random_range(1e-4_f64.ln()..0.03_f64.ln()).exp();
    match rng.random_range(0..kinds) {
        0 | 1 => LinkLoss::from(rare),
        2 => LinkLoss {
            gilbert: GilbertElliott::new(rare, 0.3, 0.0, 0.5).ok(),
            ..LinkLoss::NONE
        },
        3 => LinkLoss {
            bit_errors: BitErrors::independent(1e-4 * rare).ok(),
            ..LinkLoss::NONE
        },
        _ => LinkLoss::NONE,
    }
}

/// Returns a drop-tail link with a buffer of `room` packets.
pub fn link(from: NodeId, to: NodeId, bandwidth_bps: f64, delay_s: f64, room: f64) -> LinkSpec {
    LinkSpec {
        delay_s,
        buffer: Buffer::Packets(room),
        ..LinkSpec::new(from, to, bandwidth_bps)
    }
}

/// Returns one bulk connection with packets of 1000 B, from the start to the end of the run, over
/// the shortest path; every packet is acknowledged.
pub fn connection(name: &str, from: NodeId, to: NodeId, source: Source) -> ConnectionSpec {
    ConnectionSpec {
        name: name.to_owned(),
        from,
        to,
        source,
        application: Application::Bulk,
        start_s: 0.0,
        stop_s: None,
        size_pkts: None,
        count: 1,
        max_window_pkts: None,
        packet_size_bytes: 1000.0,
        path: None,
        return_path: None,
        flow: None,
        ecmp_share: None,
        transfers: None,
        acks: Acks::EveryPacket,
    }
}

/// Returns the same connection without acknowledgements.
pub fn one_way(name: &str, from: NodeId, to: NodeId, source: Source) -> ConnectionSpec {
    ConnectionSpec {
        acks: Acks::None,
        ..connection(name, from, to, source)
    }
}

/// Returns a workload: `users_per_s` users per second at one node use the application of a server
/// at another node during the whole run. They use the stack of current Linux and packets of 1500 B.
///
/// # Panics
/// Never: the stack is built in.
pub fn workload(
    name: &str,
    application: netflow_workload::Application,
    users_per_s: f64,
    [client, server]: [NodeId; 2],
) -> WorkloadSpec {
    WorkloadSpec {
        name: name.to_owned(),
        application,
        users_per_s,
        clients: vec![client],
        servers: vec![server],
        start_s: 0.0,
        stop_s: None,
        source: None,
        delayed_ack: false,
        packet_size_bytes: 1500.0,
        stack: Stack::builtin("linux-6").expect("it is built in"),
        flow: None,
        path: None,
        return_path: None,
        class: None,
    }
}

/// Returns a workload of identical web users, between two new client nodes and three new server
/// nodes. Each user reads three pages of two files of 2000 B, 10 s apart; four users arrive per
/// second, from 5 s to 65 s.
///
/// # Panics
/// Never: the stack is built in.
pub fn constant_users(builder: &mut NetworkBuilder) -> WorkloadSpec {
    let nodes = ["a", "b", "c", "d", "e"].map(|name| builder.node(name));
    let application = netflow_workload::Application::Http(Http {
        request_bytes: Distribution::Constant(300.0),
        reply_bytes: Distribution::Constant(2000.0),
        files: Distribution::Constant(2.0),
        think_s: Distribution::Constant(10.0),
        pages: Distribution::Constant(3.0),
    });
    WorkloadSpec {
        clients: nodes[..2].to_vec(),
        servers: nodes[2..].to_vec(),
        start_s: 5.0,
        stop_s: Some(65.0),
        source: Some(WindowSource::default()),
        packet_size_bytes: 1000.0,
        ..workload("web", application, 4.0, [nodes[0], nodes[2]])
    }
}
