//! Links shared by queues of traffic classes, with priority or weights.

use netflow_simulation::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::comparison::{NullRecorder, totals_of};
use crate::metamorphic::{SHORT, network, results};

const BPS: f64 = 8e6;

/// Constant or Poisson sources over one link of 8 Mbit/s: the first in class `c0`, the second in
/// `c1` and so on, the last in the link's default queue.
struct ClassNetwork {
    scheduler: Scheduler,
    buffer: Buffer,
    weights: Vec<f64>,
    /// Packet size in bytes of each source.
    sources: Vec<(Source, f64)>,
}

impl ClassNetwork {
    /// Returns the simulation at its end, and the connections of the sources.
    fn run(&self, model: Model, duration_s: f64) -> (Simulation, Vec<ConnectionId>) {
        let mut builder = NetworkBuilder::new();
        let (from, to) = (builder.node("A"), builder.node("B"));
        let link = builder.link(LinkSpec {
            buffer: self.buffer,
            ..netflow_problems::link(from, to, BPS, 0.01, 50.0)
        });
        builder.link(netflow_problems::link(to, from, BPS, 0.01, 50.0));
        let class = |(i, &weight): (usize, &f64)| QueueClass {
            policer: None,
            name: format!("c{i}"),
            weight,
            buffer: self.buffer,
            queue: DropPolicy::DropTail,
        };
        builder.schedule(MultiQueueLink {
            link,
            scheduler: self.scheduler.clone(),
            classes: self.weights.iter().enumerate().map(class).collect(),
        });
        let mut ids = Vec::new();
        for (i, (source, bytes)) in self.sources.iter().enumerate() {
            let id = builder.connection(ConnectionSpec {
                acks: Acks::None,
                packet_size_bytes: *bytes,
                ..netflow_problems::connection(&format!("s{i}"), from, to, source.clone())
            });
            if i < self.weights.len() {
                builder.classify(id, &format!("c{i}"));
            }
            ids.push(id);
        }
        let options = Options {
            model,
            duration_s,
            ..Options::default()
        };
        let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        (simulation, ids)
    }
}

/// Returns max-min fair shares of a capacity of 1: a source that needs less than its share leaves
/// the rest to others.
fn fair(demands: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut given = vec![None; demands.len()];
    loop {
        let left: f64 = 1.0 - given.iter().flatten().sum::<f64>();
        let open = || (0..demands.len()).filter(|&i| given[i].is_none());
        let sum: f64 = open().map(|i| weights[i]).sum();
        let content: Vec<usize> = open()
            .filter(|&i| demands[i] <= left * weights[i] / sum)
            .collect();
        if content.is_empty() {
            let share = |i: usize| given[i].unwrap_or(left * weights[i] / sum);
            return (0..demands.len()).map(share).collect();
        }
        content.iter().for_each(|&i| given[i] = Some(demands[i]));
    }
}

/// Returns the shares with strict priority.
fn first_come(demands: &[f64]) -> Vec<f64> {
    let mut left = 1.0;
    let each = demands.iter().map(|&demand| {
        let got = f64::min(demand, left);
        left -= got;
        got
    });
    each.collect()
}

/// 40 links with two to four constant sources of random rates and packet sizes, overloaded or not.
/// Shares are max-min fair or by priority: within 0.1 % of the link in the packet model, and 2.5 %
/// in the fluid model, which schedules on average only.
#[test]
fn class_shares_match_the_scheduler() {
    let random = &mut ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(1));
    let mut worst = [0.0; 2];
    for case in 0..40 {
        let n = random.random_range(2..5);
        let mut weights: Vec<f64> = (1..n).map(|_| random.random_range(0.5..5.0)).collect();
        let demands: Vec<f64> = (0..n).map(|_| random.random_range(0.02..1.0)).collect();
        let source = |&demand: &f64| {
            let bytes = random.random_range(100..1501) as f64;
            let rate_pps = demand * BPS / (8.0 * bytes);
            (Source::Constant { rate_pps }, bytes)
        };
        let lab = ClassNetwork {
            scheduler: [Scheduler::Priority, Scheduler::Wfq][case % 2].clone(),
            buffer: Buffer::Packets(50.0),
            weights: weights.clone(),
            sources: demands.iter().map(source).collect(),
        };
        weights.push(1.0);
        let wanted = match lab.scheduler {
            Scheduler::Priority => first_come(&demands),
            Scheduler::Wfq | Scheduler::Htb(_) => fair(&demands, &weights),
        };
        for (model, worst) in [Model::PACKETS, Model::FLUID].into_iter().zip(&mut worst) {
            let (simulation, ids) = lab.run(model, 40.0);
            assert!(simulation.totals().imbalance() < 1e-9);
            for ((id, wanted), (_, bytes)) in ids.iter().zip(&wanted).zip(&lab.sources) {
                let pps = simulation.connection_totals(*id).mean_goodput_pps;
                let off = (pps * 8.0 * bytes / BPS - wanted).abs();
                *worst = f64::max(*worst, off);
            }
            // Results of the class queues, each a part of the link, and of the link.
            let link = simulation.network().classed_links().next().unwrap();
            let queues = simulation.network().queues_of(link);
            let used = |id: LinkId| simulation.link_totals(id).utilization;
            for (&queue, wanted) in queues.iter().skip(1).zip(&wanted) {
                *worst = f64::max(*worst, (used(queue) - wanted).abs());
            }
            let off = (used(link) - wanted.iter().sum::<f64>()).abs();
            *worst = f64::max(*worst, off);
        }
    }
    assert!(worst[0] < 0.001 && worst[1] < 0.025, "{worst:?}");
}

/// Returns the mean waiting times of Poisson packets by class, from their rates and transmission
/// times, highest priority first: a non-preemptive priority queue (Cobham 1954; Kleinrock, Queueing
/// Systems, volume 2, section 3.6).
fn cobham_waits_s(classes: &[(f64, f64)]) -> Vec<f64> {
    let residual_s: f64 = classes
        .iter()
        .map(|(rate, service_s)| rate * service_s.powi(2) / 2.0)
        .sum();
    let mut before = 0.0;
    let waits = classes.iter().map(|(rate, service_s)| {
        let with_own = before + rate * service_s;
        let wait_s = residual_s / ((1.0 - before) * (1.0 - with_own));
        before = with_own;
        wait_s
    });
    waits.collect()
}

/// Returns Poisson sources in priority classes without loss, with the rate and transmission time of
/// each.
fn prioritized(
    random: &mut ChaCha8Rng,
    load: f64,
    bytes: &[f64],
) -> (ClassNetwork, Vec<(f64, f64)>) {
    let parts: Vec<f64> = bytes
        .iter()
        .map(|_| random.random_range(0.2..1.0))
        .collect();
    let all: f64 = parts.iter().sum();
    let classes: Vec<(f64, f64)> = (parts.iter().zip(bytes))
        .map(|(part, bytes)| (load * part / all * BPS / (8.0 * bytes), 8.0 * bytes / BPS))
        .collect();
    let source =
        |(&(rate_pps, _), &bytes): (&(f64, f64), &f64)| (Source::Poisson { rate_pps }, bytes);
    let lab = ClassNetwork {
        scheduler: Scheduler::Priority,
        buffer: Buffer::Packets(1e6),
        weights: vec![1.0; bytes.len() - 1],
        sources: classes.iter().zip(bytes).map(source).collect(),
    };
    (lab, classes)
}

/// Poisson arrivals of packets of three sizes: mean waiting times match Cobham's formula within 2
/// %, averaged over five loads.
#[test]
fn priority_waits_match_cobham() {
    let random = &mut ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(2));
    let (mut found, mut wanted) = ([0.0; 3], [0.0; 3]);
    for _ in 0..5 {
        let load = random.random_range(0.3..0.85);
        let bytes: [f64; 3] = std::array::from_fn(|_| random.random_range(100..1501) as f64);
        let (lab, classes) = prioritized(random, load, &bytes);
        let (simulation, ids) = lab.run(Model::PACKETS, 600.0);
        for (i, wait_s) in cobham_waits_s(&classes).into_iter().enumerate() {
            wanted[i] += wait_s;
            let delay_s = simulation.connection_totals(ids[i]).mean_delay_s.unwrap();
            found[i] += delay_s - 0.01 - classes[i].1;
        }
    }
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(
            (found / wanted - 1.0).abs() < 0.02,
            "{found} instead of {wanted}"
        );
    }
}

/// The fluid model does not model the lengths of class queues, and marks them as estimates at any
/// load.
#[test]
fn fluid_class_queues_are_estimates() {
    let mut ratios = Vec::new();
    for seed in 0..60 {
        let random = &mut ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
        let load = random.random_range(0.5..0.9);
        let classes = random.random_range(2..5_usize);
        let bytes: Vec<f64> = (0..classes)
            .map(|_| [200.0, 600.0, 1500.0][random.random_range(0..3_usize)])
            .collect();
        let (lab, classes) = prioritized(random, load, &bytes);
        let (simulation, _) = lab.run(Model::FLUID, 20.0);
        let network = simulation.network();
        // Class queues precede the others, in their order.
        let queues: Vec<LinkId> = network
            .queues_sharing_with(network.links().next().unwrap())
            .unwrap()
            .collect();
        assert_eq!(queues.len(), classes.len());
        for ((queue, wait_s), (_, service_s)) in queues
            .into_iter()
            .zip(cobham_waits_s(&classes))
            .zip(classes)
        {
            let totals = simulation.link_totals(queue);
            assert_eq!(totals.estimate, Some(Estimate::Classes), "{seed}");
            ratios.push(totals.sojourn_time_s.unwrap() / (wait_s + service_s));
        }
    }
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios[(part * (ratios.len() - 1) as f64).round() as usize];
    println!(
        "{} queues: {:.2} to {:.2} times Cobham's, half of them {:.2} to {:.2}",
        ratios.len(),
        at(0.0),
        at(1.0),
        at(0.25),
        at(0.75)
    );
    // If all queues were accurate, the mark would not be necessary.
    assert!(at(0.0) < 0.7);
}

/// An empty class at every link changes no bits if links have no random loss.
#[test]
fn empty_class_does_not_change_results() {
    for seed in SHORT {
        let mut wide = network(seed, Model::PACKETS);
        for (_, _, link) in &mut wide.links {
            // Scheduled links draw the loss for each transmitted packet, others for each arriving
            // packet.
            link.loss = LinkLoss::default();
        }
        let plain = wide.build();
        let mut builder = plain.to_builder();
        for link in plain.links() {
            builder.schedule(MultiQueueLink {
                link,
                scheduler: [Scheduler::Priority, Scheduler::Wfq][seed as usize % 2].clone(),
                classes: vec![QueueClass {
                    policer: None,
                    name: "nobody".to_owned(),
                    weight: 3.0,
                    buffer: Buffer::Packets(5.0),
                    queue: DropPolicy::DropTail,
                }],
            });
        }
        let run = |network| {
            let options = Options {
                model: Model::PACKETS,
                duration_s: wide.duration_s,
                ..Options::default()
            };
            let mut simulation = Simulation::new(network, options).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            results(&simulation)
        };
        assert!(run(builder.build().unwrap()) == run(plain), "seed {seed}");
    }
}

/// A call with priority waits for one packet at most, whatever TCP does; without classes it waits
/// for the whole queue.
#[test]
fn priority_call_waits_for_one_packet() {
    let delay_s = |weights: Vec<f64>| {
        let lab = ClassNetwork {
            scheduler: Scheduler::Priority,
            buffer: Buffer::Packets(200.0),
            weights,
            sources: vec![
                (Source::Constant { rate_pps: 50.0 }, 200.0),
                (Source::Ns2Tcp(WindowSource::default()), 1500.0),
            ],
        };
        let (simulation, ids) = lab.run(Model::PACKETS, 60.0);
        let link = simulation.network().links().next().unwrap();
        assert!(simulation.link_totals(link).utilization > 0.9);
        simulation.connection_totals(ids[0])
    };
    let (first, last) = (delay_s(vec![1.0]), delay_s(Vec::new()));
    assert_eq!(first.lost_pkts, 0.0);
    let most_s = 0.01 + (1500.0 + 200.0) * 8.0 / BPS;
    assert!(first.delay.unwrap().p999_s <= 1.01 * most_s, "{first:?}");
    assert!(last.mean_delay_s.unwrap() > 0.1, "{last:?}");
}

/// A bandwidth set at run time applies to all queues of the link, as with an event.
#[test]
fn bandwidth_set_in_run_applies_to_all_queues() {
    for (model, scheduler) in [Model::PACKETS, Model::FLUID]
        .into_iter()
        .flat_map(|model| [Scheduler::Priority, Scheduler::Wfq].map(|it| (model, it)))
    {
        let lab = |by_event: bool| {
            let mut builder = NetworkBuilder::new();
            let (from, to) = (builder.node("A"), builder.node("B"));
            let link = builder.link(netflow_problems::link(from, to, BPS, 0.01, 50.0));
            builder.schedule(MultiQueueLink {
                link,
                scheduler: scheduler.clone(),
                classes: vec![QueueClass {
                    policer: None,
                    name: "first".to_owned(),
                    weight: 2.0,
                    buffer: Buffer::Packets(50.0),
                    queue: DropPolicy::DropTail,
                }],
            });
            for (name, rate_pps) in [("a", 400.0), ("b", 500.0)] {
                let source = Source::Constant { rate_pps };
                let id = builder.connection(ConnectionSpec {
                    acks: Acks::None,
                    ..netflow_problems::connection(name, from, to, source)
                });
                if name == "a" {
                    builder.classify(id, "first");
                }
            }
            builder.event(EventSpec {
                at_s: if by_event { 2.0 } else { EventSpec::NEVER_S },
                link,
                change: Change::Bandwidth(2e6),
            });
            let options = Options {
                model,
                duration_s: 6.0,
                ..Options::default()
            };
            let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
            simulation
                .run_until(2.0, &mut NullRecorder, || false)
                .unwrap();
            if !by_event {
                simulation.set_bandwidth(link, 2e6).unwrap();
            }
            simulation
                .run_until(6.0, &mut NullRecorder, || false)
                .unwrap();
            results(&simulation)
        };
        assert_eq!(lab(true), lab(false), "{model:?} {scheduler:?}");
    }
}

/// The random loss of a link applies to all its queues: set by an event at the start, in the
/// specification or at run time, and with the given probability.
#[test]
fn link_loss_applies_to_all_class_queues() {
    const LOSS: f64 = 0.05;
    enum SettingMethod {
        Built,
        ByEvent(f64),
        ByHand(f64),
    }
    let run = |model, scheduler: &Scheduler, how: SettingMethod| {
        let mut builder = NetworkBuilder::new();
        let (from, to) = (builder.node("A"), builder.node("B"));
        let mut spec = netflow_problems::link(from, to, BPS, 0.01, 50.0);
        if let SettingMethod::Built = how {
            spec.loss = LinkLoss::from(LOSS);
        }
        let link = builder.link(spec);
        let class = QueueClass {
            policer: None,
            name: "first".to_owned(),
            weight: 2.0,
            buffer: Buffer::Packets(50.0),
            queue: DropPolicy::DropTail,
        };
        builder.schedule(MultiQueueLink {
            link,
            scheduler: scheduler.clone(),
            classes: vec![class],
        });
        for (name, rate_pps) in [("a", 350.0), ("b", 450.0)] {
            let source = Source::Constant { rate_pps };
            let id = builder.connection(ConnectionSpec {
                acks: Acks::None,
                packet_size_bytes: 1000.0,
                ..netflow_problems::connection(name, from, to, source)
            });
            if name == "a" {
                builder.classify(id, "first");
            }
        }
        if let SettingMethod::ByEvent(at_s) = how {
            let change = Change::Loss(LinkLoss::from(LOSS));
            builder.event(EventSpec { at_s, link, change });
        }
        let options = Options {
            model,
            duration_s: 40.0,
            ..Options::default()
        };
        let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
        simulation
            .run_until(10.0, &mut NullRecorder, || false)
            .unwrap();
        if let SettingMethod::ByHand(at_s) = how {
            assert_eq!(at_s, 10.0);
            simulation.set_loss(link, &LinkLoss::from(LOSS)).unwrap();
        }
        simulation
            .run_until(40.0, &mut NullRecorder, || false)
            .unwrap();
        simulation
    };
    for scheduler in [Scheduler::Priority, Scheduler::Wfq] {
        let packets = |how| run(Model::PACKETS, &scheduler, how);
        let built = packets(SettingMethod::Built);
        assert!(results(&built) == results(&packets(SettingMethod::ByEvent(0.0))));
        let later = packets(SettingMethod::ByEvent(10.0));
        assert!(results(&later) == results(&packets(SettingMethod::ByHand(10.0))));
        for (model, built) in [
            (Model::PACKETS, built),
            (
                Model::FLUID,
                run(Model::FLUID, &scheduler, SettingMethod::Built),
            ),
        ] {
            for id in built.network().connections() {
                let totals = built.connection_totals(id);
                let share = totals.lost_pkts / totals.offered_pkts;
                // Five standard deviations of 14 000 packets.
                assert!((share - LOSS).abs() < 0.01, "{model:?} {totals:?}");
            }
            assert!(built.totals().imbalance() < 1e-9);
        }
    }
}

/// A path set at run time uses the class queues as a specified path does, with the same packet
/// times.
#[test]
fn path_set_at_run_time_uses_class_queues() {
    for scheduler in [Scheduler::Priority, Scheduler::Wfq] {
        let run = |set: bool| {
            let mut builder = NetworkBuilder::new();
            let nodes = ["A", "B", "C"].map(|name| builder.node(name));
            let [a, b, c] = nodes;
            for (from, to, delay_s) in [(a, c, 0.01), (a, b, 0.01), (b, c, 0.01)] {
                let link = builder.link(netflow_problems::link(from, to, BPS, delay_s, 50.0));
                if from == a && to == b {
                    let class = QueueClass {
                        policer: None,
                        name: "first".to_owned(),
                        weight: 3.0,
                        buffer: Buffer::Packets(20.0),
                        queue: DropPolicy::DropTail,
                    };
                    builder.schedule(MultiQueueLink {
                        link,
                        scheduler: scheduler.clone(),
                        classes: vec![class],
                    });
                }
            }
            let constant = |name, to, rate_pps| ConnectionSpec {
                acks: Acks::None,
                packet_size_bytes: 1000.0,
                ..netflow_problems::connection(name, a, to, Source::Constant { rate_pps })
            };
            let detour = [a, b, c];
            let moved = builder.connection(ConnectionSpec {
                path: (!set).then(|| detour.to_vec()),
                ..constant("moved", c, 400.0)
            });
            builder.classify(moved, "first");
            builder.connection(constant("beside", b, 900.0));
            let network = builder.build().unwrap();
            let network = if set {
                let id = network.connection_by_name("moved").unwrap();
                with_paths(&network, &[(id, network.nodes().collect())]).unwrap()
            } else {
                network
            };
            let options = Options {
                model: Model::PACKETS,
                duration_s: 20.0,
                ..Options::default()
            };
            let mut simulation = Simulation::new(network, options).unwrap();
            if set {
                let network = simulation.network();
                let id = network.connection_by_name("moved").unwrap();
                let nodes: Vec<NodeId> = network.nodes().collect();
                simulation.set_route(id, Some(&nodes)).unwrap();
            }
            simulation
                .run_until(20.0, &mut NullRecorder, || false)
                .unwrap();
            simulation
        };
        let (built, set) = (run(false), run(true));
        // Percentiles are in units of the shortest path that a connection may take.
        assert_eq!(totals_of(&built), totals_of(&set), "{scheduler:?}");
        let delays_s = |simulation: &Simulation| -> Vec<Option<f64>> {
            let connections = simulation.network().connections();
            let delay_s = |id| simulation.connection_totals(id).mean_delay_s;
            connections.map(delay_s).collect()
        };
        assert_eq!(delays_s(&built), delays_s(&set), "{scheduler:?}");
        // The class receives its demand of 1000 packets/s.
        let id = set.network().connection_by_name("moved").unwrap();
        assert_eq!(set.connection_totals(id).lost_pkts, 0.0);
        let queue = set.network().link_by_name("A->B/first").unwrap();
        assert!((set.link_totals(queue).utilization - 0.4).abs() < 1e-3);
    }
}
