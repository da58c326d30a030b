//! TCP whose application exceeds the capacity of the path, or nearly reaches it, compared with
//! packets.

use netflow_network::Buffer;
use netflow_profile::builtin;
use netflow_simulation::{
    Application, ConnectionSpec, LinkSpec, Model, NetworkBuilder, Options, Run, Simulation, Source,
};
use netflow_tcpmodel::Stack;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::comparison::NullRecorder;

/// Link shared by several transfers.
#[derive(Debug)]
struct SharedBottleneck {
    bandwidth_bps: f64,
    delay_s: f64,
    buffer_pkts: f64,
    count: u32,
    /// Total rate of all applications as a fraction of the bandwidth.
    made: f64,
}

fn random_bottleneck(rng: &mut ChaCha8Rng) -> SharedBottleneck {
    let bandwidth_bps = 1e6 * rng.random_range(5.0..30.0_f64);
    let delay_s = rng.random_range(0.005..0.04_f64);
    let product_pkts = bandwidth_bps * 2.0 * delay_s / 12000.0;
    SharedBottleneck {
        bandwidth_bps,
        delay_s,
        buffer_pkts: (product_pkts * rng.random_range(0.5..2.0))
            .round()
            .max(20.0),
        count: rng.random_range(2..13),
        made: rng.random_range(1.05..3.0),
    }
}

/// Returns the mean queue, with these applications or with bulk transfers.
fn queue_pkts(shared: &SharedBottleneck, source: &Source, model: Model, is_bulk: bool) -> f64 {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let link = |from, to| LinkSpec {
        delay_s: shared.delay_s,
        buffer: Buffer::Packets(shared.buffer_pkts),
        ..LinkSpec::new(from, to, shared.bandwidth_bps)
    };
    let there = b.link(link(from, to));
    b.link(link(to, from));
    let all_pps = shared.made * shared.bandwidth_bps / 12000.0;
    b.connection(ConnectionSpec {
        application: if is_bulk {
            Application::Bulk
        } else {
            Application::Poisson {
                rate_pps: all_pps / f64::from(shared.count),
            }
        },
        count: shared.count,
        packet_size_bytes: 1500.0,
        ..netflow_problems::connection("c", from, to, source.clone())
    });
    let options = Options {
        model,
        duration_s: 40.0,
        ..Options::default()
    };
    let mut simulation = Simulation::new(b.build().unwrap(), options).unwrap();
    for time_s in [10.0, 40.0] {
        simulation
            .run_until(time_s, &mut NullRecorder, || false)
            .unwrap();
        if time_s < 40.0 {
            simulation.begin_period();
        }
    }
    simulation.link_totals(there).mean_queue_pkts
}

/// Queues are as long as those of bulk TCP, in both models. (Regression: fluid queues were half as
/// long while they followed from the load, and 20 % shorter while CUBIC's windows oscillated as
/// Reno's.)
#[test]
fn applications_above_capacity_fill_queues_like_bulk_tcp() {
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(1));
    let profile = Source::Profile(builtin("linux-cubic").unwrap());
    let stack = Source::Tcp(Stack::builtin("linux-6").unwrap().into());
    let (mut of_packets, mut between) = (Vec::new(), Vec::new());
    for _ in 0..16 {
        let shared = random_bottleneck(&mut rng);
        let [fluid, fluid_bulk] =
            [false, true].map(|bulk| queue_pkts(&shared, &profile, Model::FLUID, bulk));
        let [packets, packets_bulk] =
            [false, true].map(|bulk| queue_pkts(&shared, &stack, Model::PACKETS, bulk));
        println!("{fluid:.1} {fluid_bulk:.1} {packets:.1} {packets_bulk:.1} {shared:?}");
        assert!((fluid / fluid_bulk - 1.0).abs() < 0.01, "{shared:?}");
        of_packets.push(packets / packets_bulk);
        between.push(fluid / packets);
    }
    for all in [&mut of_packets, &mut between] {
        all.sort_by(f64::total_cmp);
        println!("{:.3} {:.3} {:.3}", all[0], all[8], all[15]);
    }
    assert!(of_packets[8] > 0.9 && of_packets[8] < 1.1);
    assert!(between[8] > 0.85 && between[8] < 1.15);
}
