//! Waiting times of demands in classes, in the packet model.

use netflow_scenario::from_str;
use netflow_simulation::{Run, Simulation};

/// One link of 8 Mbit/s and 10 ms with a priority class.
const LINK: &str = r#"
link = [
    { from = "A", to = "B", bandwidth = "8 Mbit/s", delay = "10 ms", buffer = "100000 pkt", queue = "priority", class = [
        { name = "first", buffer = "100000 pkt" }, { name = "second", buffer = "100000 pkt" },
    ] },
]
"#;
const BPS: f64 = 8e6;

fn run(model: &str, duration_s: u32, traffic: &str) -> Simulation {
    let text = format!(
        "simulation = {{ duration = '{duration_s} s', model = '{model}', packet-size = '1500 B' }}\n{LINK}{traffic}"
    );
    simulated(&text)
}

fn simulated(text: &str) -> Simulation {
    let prepared = from_str("test.toml", text, "".as_ref(), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let mut simulation =
        Simulation::new(prepared.network, prepared.options).expect("what a model knows");
    while !simulation.is_done() {
        simulation.step().expect("a step");
    }
    simulation
}

fn delay_s(simulation: &Simulation, name: &str) -> f64 {
    let id = simulation.network().connection_by_name(name);
    let totals = simulation.connection_totals(id.unwrap_or_else(|| panic!("no {name}")));
    totals.mean_delay_s.expect("packets that arrived")
}

/// Small and large Poisson packets in one queue wait equally long (Pollaczek–Khinchine). In two
/// priority queues they wait as in Cobham (1954) for non-preemptive priorities.
#[test]
fn priority_delay_matches_formula() {
    let (bytes, loads) = ([200.0, 1500.0], [0.2, 0.4]);
    let service_s = bytes.map(|bytes| 8.0 * bytes / BPS);
    let residual_s: f64 = (0..2).map(|i| loads[i] * service_s[i] / 2.0).sum();
    let all = loads[0] + loads[1];
    let waits_s = |class: &str| {
        let traffic = format!(
            "demand = [
                {{ name = 'small', from = 'A', to = 'B', kind = 'poisson', rate = '1.6 Mbit/s', packet-size = '200 B'{class} }},
                {{ name = 'large', from = 'A', to = 'B', kind = 'poisson', rate = '3.2 Mbit/s' }},
            ]"
        );
        let simulation = run("packets", 600, &traffic);
        let wait_s = |(name, service_s)| delay_s(&simulation, name) - 0.01 - service_s;
        [("small", service_s[0]), ("large", service_s[1])].map(wait_s)
    };
    let one_queue = residual_s / (1.0 - all);
    let first = residual_s / (1.0 - loads[0]);
    let last = first / (1.0 - all);
    let near = |found: [f64; 2], wanted: [f64; 2]| {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(
                (found / wanted - 1.0).abs() < 0.03,
                "{found} instead of {wanted}"
            );
        }
    };
    near(waits_s(""), [one_queue; 2]);
    near(waits_s(", class = 'first'"), [first, last]);
}

/// Returns calls and long connections, as demands and as connections.
fn both(classes: [&str; 2]) -> [String; 2] {
    let [first, second] = classes.map(|class| match class {
        "" => String::new(),
        class => format!(", class = '{class}'"),
    });
    let demands = format!(
        "demand = [
            {{ name = 'calls', from = 'A', to = 'B', kind = 'voice', users = 20{first} }},
            {{ name = 'bulk', from = 'A', to = 'B', rate = '5.6 Mbit/s', flows = 4{second} }},
        ]"
    );
    let connections = |source: &str| {
        format!(
            "connection = [
            {{ name = 'calls', from = 'A', to = 'B', source = {{ constant = '80 kbit/s' }}, packet-size = '200 B', count = 20{first} }},
            {{ name = 'bulk', from = 'A', to = 'B', source = {source}, application = {{ poisson = '1.4 Mbit/s' }}, count = 4{second} }},
        ]"
        )
    };
    [demands, connections("SOURCE")]
}

#[test]
fn demand_classes_equal_connection_classes() {
    for (model, source) in [
        ("packets", "{ tcp = 'linux-6' }"),
        ("fluid", "{ profile = 'linux-cubic' }, delayed-ack = true"),
    ] {
        let told = |simulation: &Simulation| -> Vec<String> {
            let network = simulation.network();
            let links = network.links();
            let links = links.map(|id| format!("{:?}", simulation.link_totals(id)));
            let connections = network.connections();
            let connections =
                connections.map(|id| format!("{:?}", simulation.connection_totals(id)));
            links.chain(connections).collect()
        };
        let mut calls_s = Vec::new();
        for classes in [["", ""], ["first", "second"], ["second", "first"]] {
            let [demands, connections] = both(classes);
            let connections = connections.replace("SOURCE", source);
            let [a, b] = [demands, connections].map(|traffic| run(model, 20, &traffic));
            assert_eq!(told(&a), told(&b), "{model} {classes:?}");
            calls_s.push(delay_s(&a, "calls"));
        }
        // Calls with priority wait less than without.
        assert!(calls_s[1] < calls_s[0], "{model} {calls_s:?}");
    }
}

/// Packets, acknowledgements and requests of transfers are all in the class. Calls with priority
/// wait for at most one packet in service, and for each other.
#[test]
fn priority_reduces_voice_delay() {
    let calls_s = |class: &str| {
        let traffic = format!(
            "demand = [
                {{ name = 'calls', from = 'A', to = 'B', kind = 'voice', users = 10{class} }},
                {{ name = 'bulk', from = 'A', to = 'B', rate = '4.8 Mbit/s', size = {{ constant = '100 KB' }}, class = 'second' }},
            ]"
        );
        let simulation = run("packets", 60, &traffic);
        let network = simulation.network();
        for queue in ["A->B/second", "B->A/second"] {
            let id = network.link_by_name(queue).expect("a queue");
            assert!(simulation.link_totals(id).utilization > 0.005, "{queue}");
        }
        let id = network.link_by_name("B->A").expect("a link");
        let own = network.queues_of(id)[0];
        assert_eq!(own, id);
        let answers: f64 = (network.queues_of(id).iter().skip(1))
            .map(|&queue| simulation.link_totals(queue).utilization)
            .sum();
        // No traffic returns through the link's own queue.
        assert!((simulation.link_totals(id).utilization / answers - 1.0).abs() < 1e-9);
        delay_s(&simulation, "calls") - 0.01 - 1600.0 / BPS
    };
    let (before, among) = (calls_s(", class = 'first'"), calls_s(", class = 'second'"));
    let all_others_s = 12000.0 / BPS + 9.0 * 1600.0 / BPS;
    assert!(before < all_others_s, "{before}");
    assert!(before < 0.2 * among, "{before} {among}");
}

/// Calls that meet bursts of transfers wait less than the bursts' own packets, also in the fluid
/// model. Mean waits are compared with the packet model.
#[test]
fn bursts_delay_only_their_own_class() {
    let mut parts: [Vec<f64>; 2] = Default::default();
    for (i, size) in ["30 KB", "100 KB", "300 KB", "1 MB"]
        .iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let load = 0.15 + 0.05 * i as f64;
        let megabits = [50.0, 100.0, 200.0][i % 3];
        let mean_waits_s = |model: &str| {
            let scenario = format!(
                "simulation = {{ duration = '100 s', warmup = '10 s', model = '{model}' }}
                link = [{{ from = 'a', to = 'b', bandwidth = '{megabits} Mbit/s', delay = '5 ms', buffer = '100 ms' }},
                        {{ from = 'x', to = 'a', bandwidth = '{} Mbit/s', delay = '1 ms' }}]
                demand = [{{ name = 'calls', from = 'a', to = 'b', kind = 'voice', users = 10 }},
                          {{ name = 'files', from = 'x', to = 'b', rate = '{} Mbit/s',
                             size = {{ exponential = {{ mean = '{size}', most = '100 MB' }} }} }}]",
                4.0 * megabits, load * megabits
            );
            let simulation = simulated(&scenario);
            let files = match model {
                "packets" => "files/replies",
                _ => "files",
            };
            [
                delay_s(&simulation, "calls") - 0.005,
                delay_s(&simulation, files) - 0.006,
            ]
        };
        let [fluid, packets] = ["fluid", "packets"].map(mean_waits_s);
        println!("{size} {load:.2} of {megabits}: {fluid:.4?} {packets:.4?}");
        for (parts, (fluid, packets)) in parts.iter_mut().zip(fluid.iter().zip(packets)) {
            parts.push(fluid / packets);
        }
    }
    for parts in &mut parts {
        parts.sort_by(f64::total_cmp);
        println!("{parts:.2?}");
    }
    let [calls, files] = parts;
    assert!(calls[6] > 0.7 && calls[6] < 1.4);
    assert!(files[0] > 0.5 && files[6] > 0.85 && files[6] < 1.15 && files[11] < 2.0);
}

/// Acknowledgements per data packet, as a function of transfer size and bandwidth-delay product,
/// compared with Linux receivers.
#[test]
fn transfer_acks_match_linux() {
    for (megabits, delay_ms) in [(100.0, 10.0), (1000.0, 5.0), (100.0, 50.0)] {
        for size in ["20 KB", "100 KB", "1 MB", "10 MB"] {
            let acks_per_data = |model: &str| {
                let simulation = simulated(&format!(
                    "simulation = {{ duration = '60 s', warmup = '5 s', model = '{model}' }}
                    link = [{{ from = 'a', to = 'b', bandwidth = '{megabits} Mbit/s', delay = '{delay_ms} ms' }}]
                    demand = [{{ from = 'a', to = 'b', rate = '30 Mbit/s', size = {{ constant = '{size}' }} }}]"
                ));
                let offered = |name: &str| {
                    let id = simulation.network().link_by_name(name).unwrap();
                    simulation.link_totals(id).offered_pkts
                };
                offered("b->a") / offered("a->b")
            };
            let [fluid, packets] = ["fluid", "packets"].map(acks_per_data);
            println!("{megabits} {delay_ms} {size}: {fluid:.3} {packets:.3}");
            assert!(
                packets / fluid > 0.85 && packets / fluid < 1.15,
                "{fluid} {packets}"
            );
        }
    }
}

/// A few transfers do not take the waits caused by windows; no wait exceeds that of the full
/// buffer.
#[test]
fn transfer_delay_matches_competing_windows() {
    for delay in ["5 ms", "30 ms", "50 ms"] {
        let simulation = simulated(&format!(
            "simulation = {{ duration = '60 s', model = 'fluid' }}
            link = [{{ from = 'a', to = 'b', bandwidth = '20 Mbit/s', delay = '{delay}', buffer = '100 pkt' }}]
            connection = [{{ name = 'bulk', from = 'a', to = 'b', count = 4, source = {{ profile = 'linux-reno' }} }}]
            demand = [{{ name = 'few', from = 'a', to = 'b', rate = '20 kbit/s', size = {{ constant = '30 KB' }} }}]"
        ));
        let [few, bulk] = ["few", "bulk"].map(|name| {
            let id = simulation.network().connection_by_name(name).unwrap();
            simulation.connection_totals(id)
        });
        let few_s = few.mean_delay_s.unwrap();
        assert!(few_s <= few.delay.unwrap().p999_s, "{delay}: {few:?}");
        assert!(
            (few_s / bulk.mean_delay_s.unwrap() - 1.0).abs() < 0.1,
            "{delay}: {few:?}"
        );
    }
}
