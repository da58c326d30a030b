//! Queues and times of finite transfers on generated networks: `solve` compared with the packet
//! model.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use netflow::prelude::*;
use netflow::scenario::CompiledScenario;
use netflow::steady::{Solver, Steady, SteadyOptions, rows};
use netflow::units::quantile;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Minimum utilization of a compared link. Below it there is hardly a queue.
const BUSY: f64 = 0.1;

/// Returns a random scenario, and the seconds in which about `crossing_pkts` packets cross its
/// links.
///
/// It has 3 to 9 nodes, links of one or several bandwidths, and demands with several transfer
/// sizes. The busiest link is 30–88 % utilized. A fraction `poisson` of each demand consists of
/// Poisson packets.
fn scenario(seed: u64, crossing_pkts: f64, poisson: f64) -> (String, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
    let log = |random: &mut ChaCha8Rng, least: f64, most: f64| {
        (random.random_range(least.ln()..most.ln())).exp()
    };
    let nodes = random.random_range(3..10_usize);
    let mut pairs: Vec<(usize, usize)> =
        (1..nodes).map(|i| (random.random_range(0..i), i)).collect();
    for _ in 0..random.random_range(0..nodes) {
        let (a, b) = (random.random_range(0..nodes), random.random_range(0..nodes));
        let pair = (a.min(b), a.max(b));
        if a != b && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let bandwidth = log(&mut random, 10.0, 1000.0);
    let delay = log(&mut random, 0.5, 30.0);
    let mixed = random.random_bool(0.6);
    let buffer = [None, None, Some(20.0), Some(50.0), Some(200.0)];
    let buffer: Option<f64> = buffer[random.random_range(0..buffer.len())];
    let mut text = String::new();
    let mut links: HashMap<(usize, usize), f64> = HashMap::new();
    for (a, b) in &pairs {
        let times = if mixed {
            [1.0, 1.0, 2.0, 4.0, 10.0][random.random_range(0..5)]
        } else {
            1.0
        };
        let (mbps, ms) = (bandwidth * times, delay * random.random_range(0.1..1.0));
        links.insert((*a, *b), mbps);
        links.insert((*b, *a), mbps);
        let _ = write!(
            text,
            "\n[[link]]\nfrom = \"N{a}\"\nto = \"N{b}\"\nbandwidth = \"{mbps:.4} Mbit/s\"\ndelay = \"{ms:.4} ms\"\nmetric = 1\n",
        );
        if let Some(ms) = buffer {
            let _ = writeln!(text, "buffer = \"{ms} ms\"");
        }
    }
    // Shortest paths, to compute the load of each link.
    let way = |from: usize, to: usize| -> Vec<(usize, usize)> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::from([(from, from)]);
        let mut next = vec![from];
        while !before.contains_key(&to) {
            let mut further = Vec::new();
            for at in next {
                for other in (0..nodes).filter(|&it| links.contains_key(&(at, it))) {
                    before.entry(other).or_insert_with(|| {
                        further.push(other);
                        at
                    });
                }
            }
            next = further;
        }
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            way.push((before[&at], at));
            at = before[&at];
        }
        way
    };
    let size = log(&mut random, 30.0, 2000.0);
    let mut ends: Vec<(usize, usize)> = (0..nodes * nodes)
        .map(|i| (i / nodes, i % nodes))
        .filter(|(a, b)| a != b)
        .collect();
    ends.shuffle(&mut random);
    let some = random
        .random_range(nodes / 2 + 1..3 * nodes)
        .min(ends.len());
    let mut loads: HashMap<(usize, usize), f64> = HashMap::new();
    let (mut demands, mut hops_mbps) = (Vec::new(), 0.0);
    for &(from, to) in &ends[..some] {
        let rate: f64 = random.random_range(0.2..1.0);
        let kb = size * [1.0, 1.0, 0.3, 3.0][random.random_range(0..4)];
        for hop in way(from, to) {
            *loads.entry(hop).or_default() += rate / links[&hop];
            hops_mbps += rate;
        }
        demands.push((from, to, rate, kb));
    }
    let most = loads.values().copied().fold(0.0, f64::max);
    let scale = random.random_range(0.3..0.88) / most;
    for (from, to, rate, kb) in demands {
        let _ = write!(
            text,
            "\n[[demand]]\nfrom = \"N{from}\"\nto = \"N{to}\"\nrate = \"{:.6} Mbit/s\"\n\
             size = {{ exponential = {{ mean = \"{kb:.3} KB\", most = \"{:.3} KB\" }} }}\n",
            rate * scale * (1.0 - poisson),
            20.0 * kb
        );
        if poisson > 0.0 {
            let _ = write!(
                text,
                "\n[[demand]]\nfrom = \"N{from}\"\nto = \"N{to}\"\nrate = \"{:.6} Mbit/s\"\nkind = \"poisson\"\n",
                rate * scale * poisson,
            );
        }
    }
    let duration_s = (crossing_pkts * 0.012 / (hops_mbps * scale)).clamp(2.0, 400.0);
    (text, duration_s)
}

fn load(text: &str, model: &str, duration_s: f64) -> CompiledScenario {
    let head = format!(
        "[simulation]\nduration = \"{duration_s:.3} s\"\nwarmup = \"{:.3} s\"\nmodel = \"{model}\"\n",
        duration_s / 5.0
    );
    netflow::scenario::from_str("bursts.toml", &(head + text), "".as_ref(), &[])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn compared(seed: u64, crossing_pkts: f64) -> Vec<[f64; 2]> {
    let (text, duration_s) = scenario(seed, crossing_pkts, 0.0);
    let [fluid, packets] = ["fluid", "packets"].map(|model| load(&text, model, duration_s));
    queue_pairs(&fluid, &packets)
}

/// Returns for each busy link with the expected load: ln of the steady-state queue relative to
/// packets, and ln of the M/M/1 queue relative to packets.
fn queue_pairs(fluid: &CompiledScenario, packets: &CompiledScenario) -> Vec<[f64; 2]> {
    let mut solver = Solver::new(&fluid.network, f64::INFINITY).unwrap();
    let steady = solver.solve(&SteadyOptions::default()).unwrap();
    let packets = evaluate(packets, &Settings::default()).unwrap();
    let mut all = Vec::new();
    for (id, at) in fluid.network.links().zip(&steady.links) {
        let name = fluid.network.link_name(id);
        let found = packets
            .summary
            .links
            .iter()
            .find(|it| it.link == name)
            .unwrap();
        // The random demand may differ from its mean.
        let alike = (at.utilization / found.utilization - 1.0).abs() < 0.25;
        if found.utilization > BUSY && alike {
            let mm1 = found.utilization / (1.0 - found.utilization);
            all.push([at.queue_pkts, mm1].map(|it| (it / found.mean_queue_pkts).ln()));
        }
    }
    all
}

/// Returns the median and 90th percentile of the factors, and the mean factor.
fn spread(of: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut all: Vec<f64> = of.collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    all.iter_mut().for_each(|it| *it = it.abs());
    all.sort_by(f64::total_cmp);
    [quantile(&all, 0.5), quantile(&all, 0.9), mean].map(f64::exp)
}

fn print_spread(all: &[[f64; 2]]) {
    println!("{} links", all.len());
    for (i, name) in ["steady state", "M/M/1"].iter().enumerate() {
        let [half, most, mean] = spread(all.iter().map(|it| it[i]));
        println!("{name}: half within {half:.2}, nine in ten within {most:.2}, mean {mean:.2}");
    }
}

#[test]
fn fluid_transfer_queues_match_packet_model() {
    let all: Vec<[f64; 2]> = (0..8).flat_map(|seed| compared(seed, 3e5)).collect();
    assert!(all.len() > 30, "{}", all.len());
    let [half, most, mean] = spread(all.iter().map(|it| it[0]));
    let [mm1, ..] = spread(all.iter().map(|it| it[1]));
    assert!(half < 1.4 && most < 2.5, "{half} {most}");
    assert!((0.7..1.4).contains(&mean), "{mean}");
    // Bursts matter here: M/M/1 is inaccurate.
    assert!(mm1 > 4.0, "{mm1}");
}

#[test]
#[ignore = "a minute in release: packets of 100 networks"]
fn transfer_queues_of_random_networks_match() {
    let all: Vec<[f64; 2]> = (1000..1100).flat_map(|seed| compared(seed, 1e6)).collect();
    print_spread(&all);
    let [half, most, _] = spread(all.iter().map(|it| it[0]));
    assert!(half < 1.3 && most < 2.2, "{half} {most}");
}

/// Returns the steady state and its times of the transfers of each demand.
fn solved(fluid: &CompiledScenario) -> (Steady, Vec<rows::TransferRow<'_>>) {
    let mut solver = Solver::new(&fluid.network, f64::INFINITY).unwrap();
    let steady = solver.solve(&SteadyOptions::default()).unwrap();
    let demands: Vec<_> = (fluid.demands.iter())
        .map(|it| (it.name.as_str(), it.connection, &*it.transfers))
        .collect();
    let rows = rows::transfers(&demands, &solver, &steady);
    (steady, rows)
}

/// Checks ln of the steady-state transfer time relative to packets, for each demand with several
/// hundred transfers. On overloaded links the steady-state time is infinite.
fn assert_times_match(seeds: std::ops::Range<u64>, poisson: f64) {
    const MANY: u64 = 200;
    let (mut all, mut endless) = (Vec::new(), 0);
    for seed in seeds {
        let (text, duration_s) = scenario(seed, 2e6, poisson);
        let [fluid, packets] = ["fluid", "packets"].map(|model| load(&text, model, duration_s));
        let (steady, rows) = solved(&fluid);
        let found = evaluate(&packets, &Settings::default()).unwrap().summary;
        for row in rows {
            let users = found.workloads.iter().find(|it| it.workload == row.demand);
            let mut waits = users.iter().flat_map(|it| &it.waits);
            let file = waits.find(|it| it.wait == "file").map(|it| &it.times);
            match (row.mean_s, file) {
                (None, _) => {
                    endless += 1;
                    assert!(steady.links.iter().any(|it| it.utilization > 0.99));
                }
                (Some(mean_s), Some(times)) if times.count >= MANY => {
                    all.push((mean_s / times.mean_s).ln());
                }
                _ => {}
            }
        }
    }
    let [half, most, mean] = spread(all.iter().copied());
    let within = all.iter().filter(|it| it.abs() < 0.1_f64.ln_1p()).count();
    let worst = all
        .iter()
        .fold(0.0, |worst: f64, it| worst.max(it.abs()))
        .exp();
    println!(
        "{} demands, {endless} endless: half within {half:.2}, nine in ten within {most:.2}, all within {worst:.0}, mean {mean:.2}; \
         {within} within 10 %",
        all.len()
    );
    assert!(all.len() > 250 && half < 1.1 && most < 1.4);
}

#[test]
#[ignore = "two minutes in release: packets of 60 networks"]
fn transfer_times_of_random_networks_match() {
    assert_times_match(2000..2060, 0.0);
}

#[test]
#[ignore = "two minutes in release: packets of 60 networks"]
fn transfer_times_match_with_unresponsive_traffic() {
    assert_times_match(2060..2120, 0.5);
}

#[test]
#[ignore = "minutes: 65 million packet-hops of a backbone"]
fn transfer_queues_on_abilene_match() {
    let load = |model: &str| {
        let settings = [
            format!("simulation.model={model}"),
            "simulation.duration=4 s".to_owned(),
            "simulation.warmup=1 s".to_owned(),
        ];
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/abilene.toml");
        netflow::scenario::load(path.as_ref(), &settings)
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let all = queue_pairs(&load("fluid"), &load("packets"));
    print_spread(&all);
    let [half, most, _] = spread(all.iter().map(|it| it[0]));
    assert!(half < 1.7 && most < 2.6, "{half} {most}");
}

/// Delays of a single demand equal those of the total and of a run, also if early drops keep the
/// queue short. The law of such queues ignores bursts.
#[test]
fn single_demand_has_total_delays() {
    for queue in [
        "\"drop-tail\"",
        "{ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\", gentle = true }",
    ] {
        let text = format!(
            "\n[[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"20 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"50 pkt\"\nqueue = {queue}\n\
             \n[[demand]]\nname = \"d\"\nfrom = \"A\"\nto = \"B\"\nrate = \"5 Mbit/s\"\n"
        );
        let fluid = load(&text, "fluid", 100.0);
        let (steady, _) = solved(&fluid);
        let id = fluid.network.connection_by_name("d").unwrap();
        let (own_s, all_s) = (steady.connection(id).delay_s, steady.totals.delay_s);
        assert!(
            (own_s / all_s - 1.0).abs() < 0.01,
            "{queue}: {own_s} {all_s}"
        );
        let found = evaluate(&fluid, &Settings::default()).unwrap().summary;
        let run_s = found.connections[0].mean_delay_s.unwrap();
        assert!(
            (own_s / run_s - 1.0).abs() < 0.03,
            "{queue}: {own_s} {run_s}"
        );
    }
}

/// Returns the mean steady-state times of the scenario's transfers, by demand.
fn times_s(text: &str) -> Vec<f64> {
    let fluid = load(text, "fluid", 100.0);
    let (_, rows) = solved(&fluid);
    rows.iter().map(|it| it.mean_s.unwrap()).collect()
}

const LINK: &str = "bandwidth = \"100 Mbit/s\"\ndelay = \"2 ms\"\nbuffer = \"500 pkt\"\n";

/// Transfers share bandwidth with and without modelled acknowledgements.
#[test]
fn unmodelled_acknowledgements_do_not_change_sharing() {
    let demand = |mbps: u32| {
        format!(
            "\n[[demand]]\nname = \"of{mbps}\"\nfrom = \"A\"\nto = \"B\"\nrate = \"{mbps} Mbit/s\"\nsize = {{ constant = \"1 MB\" }}\n"
        )
    };
    let rest = format!(
        "\n[[link]]\nfrom = \"A\"\nto = \"B\"\n{LINK}{}{}",
        demand(20),
        demand(50)
    );
    let (with, without) = (times_s(&rest), times_s(&format!("acks = false\n{rest}")));
    for (with, without) in with.iter().zip(&without) {
        assert!((with / without - 1.0).abs() < 0.02, "{with} {without}");
    }
}

/// Poisson packets lost at one link do not delay transfers at the next.
#[test]
fn packets_lost_upstream_do_not_delay_transfers() {
    let times = |poisson: &str| {
        times_s(&format!(
            "\n[[link]]\nfrom = \"A\"\nto = \"B\"\n{LINK}\n[[link]]\nfrom = \"B\"\nto = \"C\"\n{}\
             \n[[demand]]\nfrom = \"A\"\nto = \"C\"\nkind = \"poisson\"\nrate = \"{poisson} Mbit/s\"\n\
             \n[[demand]]\nfrom = \"B\"\nto = \"C\"\nrate = \"30 Mbit/s\"\nsize = {{ constant = \"1 MB\" }}\n",
            LINK.replace("100 Mbit/s", "150 Mbit/s")
        ))
    };
    let (lost, all) = (times("200"), times("99"));
    assert!((lost[0] / all[0] - 1.0).abs() < 0.1, "{lost:?} {all:?}");
}
