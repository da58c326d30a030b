//! Buffers given in bytes or as a time: their capacity in packets depends on the packet sizes in
//! the queue.

use netflow_profile::builtin;
use netflow_simulation::{
    Buffer, ConnectionSpec, LinkId, LinkSpec, Model, Network, NetworkBuilder, NodeId, Options, Run,
    Simulation, Source,
};
use netflow_tcpmodel::Stack;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

fn simulation(network: Network, model: Model, duration_s: f64) -> Simulation {
    let options = Options {
        duration_s,
        model,
        ..Options::default()
    };
    Simulation::new(network, options).unwrap()
}

fn run_until(simulation: &mut Simulation, time_s: f64) {
    while simulation.time_s() < time_s && !simulation.is_done() {
        simulation.step().unwrap();
    }
}

/// Returns a link and its return link with buffers of `holds_s` seconds.
fn pair(bandwidth_bps: f64, delay_s: f64, holds_s: f64) -> (NetworkBuilder, [NodeId; 2], LinkId) {
    let mut builder = NetworkBuilder::new();
    let [a, b] = ["a", "b"].map(|name| builder.node(name));
    let [there, _] = [(a, b), (b, a)].map(|(from, to)| {
        builder.link(LinkSpec {
            buffer: Buffer::Bytes(bandwidth_bps * holds_s / 8.0),
            ..netflow_problems::link(from, to, bandwidth_bps, delay_s, 1.0)
        })
    });
    (builder, [a, b], there)
}

/// Packets of one size fill the queue in the first half, those of another in the second; a third
/// size is expected, but never sent. Regression: the capacity was a constant number of packets, so
/// that 50 ms became 400 ms.
#[test]
fn buffer_time_is_independent_of_packet_size() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(11));
    for case in 0..24 {
        let bandwidth_bps = rng.random_range(1e7..1e8);
        let holds_s = rng.random_range(0.02..0.1);
        let (mut builder, [a, b], link) = pair(bandwidth_bps, 1e-3, holds_s);
        let mut phases = Vec::new();
        for (i, start_s) in [0.0, 10.0, 1e3].into_iter().enumerate() {
            let bytes: f64 = rng.random_range(60.0..1500.0);
            let load: f64 = rng.random_range(1.2..2.0);
            let packet_s = 8.0 * bytes / bandwidth_bps;
            let rate_pps = load / packet_s;
            builder.connection(ConnectionSpec {
                packet_size_bytes: bytes,
                start_s,
                stop_s: Some(start_s + 10.0),
                ..netflow_problems::one_way(&format!("c{i}"), a, b, Source::Poisson { rate_pps })
            });
            // M/M/1/K in overload: K − 1/(ρ − 1) packets.
            phases.push((start_s + 9.9, packet_s, holds_s - packet_s / (load - 1.0)));
        }
        let mut fluid = simulation(builder.build().unwrap(), Model::FLUID, 20.0);
        for &(time_s, packet_s, should_s) in &phases[..2] {
            run_until(&mut fluid, time_s);
            let waits_s = fluid.queue_pkts(link) * packet_s;
            let told = format!("{case}: {waits_s} instead of {should_s}");
            assert!((waits_s / should_s - 1.0).abs() < 0.01, "{told}");
        }
        let link = fluid.link_totals(link);
        assert!(link.utilization > 0.999, "{case}: {}", link.utilization);
    }
}

/// TCP in one or both directions, with calls. Regression: the queue was a third of that of packets
/// if half of the packets were small.
#[test]
fn tcp_queues_with_small_packets_match_packet_model() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(12));
    let mut ratios = Vec::new();
    for case in 0..16 {
        let bandwidth_bps = 1e6 * rng.random_range(1.0..3.5_f64).exp();
        let holds_s = [0.02, 0.05, 0.1][rng.random_range(0..3)];
        let delay_s = rng.random_range(0.005..0.03);
        let there: u32 = rng.random_range(2..12);
        let back = [0, there][rng.random_range(0..2)];
        let network = |tcp: Source| {
            let (mut builder, [a, b], link) = pair(bandwidth_bps, delay_s, holds_s);
            for (from, to, count) in [(a, b, there), (b, a, back)] {
                if count > 0 {
                    let name = format!("{count} from {from:?}");
                    builder.connection(ConnectionSpec {
                        count,
                        packet_size_bytes: 1500.0,
                        ..netflow_problems::connection(&name, from, to, tcp.clone())
                    });
                }
            }
            let rate_pps = 0.2 * bandwidth_bps / 1600.0;
            builder.connection(ConnectionSpec {
                packet_size_bytes: 200.0,
                ..netflow_problems::one_way("calls", a, b, Source::Poisson { rate_pps })
            });
            (builder.build().unwrap(), link)
        };
        let fluid = Source::Profile(builtin("linux-cubic").unwrap());
        let packets = Source::Tcp(Stack::builtin("linux-6").unwrap().into());
        let [fluid_s, packets_s] =
            [(fluid, Model::FLUID), (packets, Model::PACKETS)].map(|(tcp, model)| {
                let (network, link) = network(tcp);
                let mut simulation = simulation(network, model, 30.0);
                run_until(&mut simulation, 10.0);
                simulation.begin_period();
                run_until(&mut simulation, 30.0);
                simulation.link_totals(link).sojourn_time_s.unwrap()
            });
        let ratio = fluid_s / packets_s;
        assert!((0.6..1.9).contains(&ratio), "{case}: {fluid_s} {packets_s}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    assert!((0.85..1.25).contains(&median), "{ratios:?}");
}

/// The fluid model gives all packets the same loss. If the buffer is in bytes, small packets lose
/// less, and the result is marked as an estimate.
#[test]
fn size_dependent_losses_are_marked_as_estimates() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(13));
    for case in 0..12 {
        let bandwidth_bps = 1e7;
        let (mut builder, [a, b], link) = pair(bandwidth_bps, 1e-3, rng.random_range(0.01..0.03));
        let small = rng.random_range(300.0..700.0);
        let part: f64 = rng.random_range(0.2..0.5);
        let load = rng.random_range(1.1..1.4);
        let [small, large] =
            [("small", small, part), ("large", 1500.0, 1.0 - part)].map(|(name, bytes, part)| {
                let rate_pps = load * part * bandwidth_bps / (8.0 * bytes);
                builder.connection(ConnectionSpec {
                    packet_size_bytes: bytes,
                    ..netflow_problems::one_way(name, a, b, Source::Poisson { rate_pps })
                })
            });
        let network = builder.build().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS].map(|model| {
            let mut simulation = simulation(network.clone(), model, 30.0);
            run_until(&mut simulation, 30.0);
            simulation
        });
        let loss = |it: &Simulation, id| it.connection_totals(id).loss_probability.unwrap();
        assert!(loss(&fluid, small) > 1.3 * loss(&packets, small), "{case}");
        assert!(loss(&fluid, large) < loss(&packets, large), "{case}");
        let told = [&fluid, &packets].map(|it| it.link_totals(link).loss_is_size_dependent);
        assert_eq!(told, [true, false], "{case}");
    }
}

/// Large packets arrive at a queue full of small ones: it continues to send at the link's rate, and
/// its content remains limited by the buffer. Packets leave in the mix of the queue, so small ones leave later than in
/// the packet model; for the length of a buffer the wait is up to twice as long.
#[test]
fn large_packets_replace_a_queue_of_small_ones() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(14));
    for case in 0..12 {
        let bandwidth_bps: f64 = rng.random_range(5e6..5e7);
        let holds_s = rng.random_range(0.03..0.1);
        let small = rng.random_range(60.0..300.0);
        let (mut builder, [a, b], link) = pair(bandwidth_bps, 1e-3, holds_s);
        let phases = [("small", small, 0.0), ("large", 1500.0, 10.0)];
        let ids = phases.map(|(name, bytes, start_s)| {
            let rate_pps = 1.5 * bandwidth_bps / (8.0 * bytes);
            builder.connection(ConnectionSpec {
                packet_size_bytes: bytes,
                start_s,
                stop_s: Some(start_s + 10.0),
                ..netflow_problems::one_way(name, a, b, Source::Poisson { rate_pps })
            })
        });
        let network = builder.build().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS].map(|model| {
            let mut simulation = simulation(network.clone(), model, 20.0);
            run_until(&mut simulation, 10.0);
            simulation.begin_period();
            run_until(&mut simulation, 10.5);
            let totals = simulation.link_totals(link);
            let lost = simulation.connection_totals(ids[1]).loss_probability;
            (totals.sojourn_time_s.unwrap(), lost.unwrap())
        });
        let told = format!("{case}: {fluid:?} beside {packets:?}, room for {holds_s} s");
        assert!((1.0..2.5).contains(&(fluid.0 / packets.0)), "{told}");
        assert!((0.0..0.12).contains(&(fluid.1 - packets.1)), "{told}");
    }
}
