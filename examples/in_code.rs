//! Builds a network in code, steps it, and reads the state between steps.
//!
//! Two senders share a bottleneck of 8 Mbit/s; the second one starts after ten seconds.
//!
//! ```text
//! cargo run --release -p netflow --example in_code
//! ```

use netflow::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = NetworkBuilder::new();
    let (alice, bob) = (builder.node("alice"), builder.node("bob"));
    let (router, server) = (builder.node("router"), builder.node("server"));
    duplex(&mut builder, alice, router, 100e6, 0.005);
    duplex(&mut builder, bob, router, 100e6, 0.010);
    duplex(&mut builder, router, server, 8e6, 0.020);
    let first = builder.connection(transfer("first", alice, server, 0.0));
    let second = builder.connection(transfer("second", bob, server, 10.0));
    let network = builder.build().map_err(|errors| errors[0].clone())?;
    let bottleneck = network
        .link_by_name("router->server")
        .ok_or("no such link")?;

    let options = Options {
        duration_s: 30.0,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options)?;
    println!("time s  queue pkt  blocking  first pkt/s  second pkt/s");
    let mut next_line_s = 0.0;
    while !simulation.is_done() {
        simulation.step()?;
        if simulation.time_s() + 1e-9 >= next_line_s {
            println!(
                "{:6.2}  {:9.2}  {:8.5}  {:11.1}  {:12.1}",
                simulation.time_s(),
                simulation.queue_pkts(bottleneck),
                simulation.blocking(bottleneck),
                simulation.send_pps(first),
                simulation.send_pps(second),
            );
            next_line_s += 2.5;
        }
    }

    let totals = simulation.totals();
    println!(
        "{:.0} packets sent, {:.0} delivered, {:.0} lost",
        totals.offered_pkts, totals.delivered_pkts, totals.lost_pkts
    );
    Ok(())
}

/// Both directions of a link with room for 100 packets each.
fn duplex(builder: &mut NetworkBuilder, a: NodeId, b: NodeId, bandwidth_bps: f64, delay_s: f64) {
    for (from, to) in [(a, b), (b, a)] {
        builder.link(LinkSpec {
            delay_s,
            ..LinkSpec::new(from, to, bandwidth_bps)
        });
    }
}

/// A transfer without end that behaves like the Reno of ns-2.
fn transfer(name: &str, from: NodeId, to: NodeId, start_s: f64) -> ConnectionSpec {
    let profile = netflow::profile::builtin("ns-reno").expect("it comes with netflow");
    ConnectionSpec {
        name: name.to_owned(),
        from,
        to,
        source: Source::Profile(profile),
        application: Application::Bulk,
        start_s,
        stop_s: None,
        size_pkts: None,
        count: 1,
        max_window_pkts: Some(64.0),
        packet_size_bytes: 1000.0,
        path: None,
        return_path: None,
        flow: None,
        ecmp_share: None,
        transfers: None,
        acks: Acks::EveryPacket,
    }
}
