//! Growth of the time with the size of a network.

use netflow::scenario::{self, CompiledScenario};
use netflow::simulation::{Interval, Model, Options, Recorder, Simulation};
use netflow::steady::{self, FailureOptions, SteadyOptions};

use crate::large_networks::{LargeScenario, Traffic};
use crate::processes::own_s;

/// Work whose time grows with a size.
struct Growth {
    work: &'static str,
    unit: &'static str,
    /// Sizes of the short and of the long measurement. The second one is larger.
    short: [usize; 2],
    long: [usize; 2],
    /// Largest exponent that passes. Short measurements have errors of about 0.3.
    max_exponent: f64,
    /// Returns the work for a size, with its preparations done.
    prepare: fn(usize) -> Box<dyn FnOnce()>,
}

/// Time at which steady states are computed, in seconds.
const AT_S: f64 = 5.0;

/// Time in seconds below which an exponent says little.
const LEAST_S: f64 = 0.05;

const GROWTHS: &[Growth] = &[
    Growth {
        work: "routes of a mesh, two connections for each node",
        unit: "nodes",
        short: [900, 3600],
        long: [2500, 10_000],
        max_exponent: 1.8,
        prepare: |nodes| {
            let mesh = LargeScenario::mesh(nodes.isqrt(), false);
            routes(mesh.with_traffic(Traffic::Constant, 2 * nodes))
        },
    },
    Growth {
        work: "routes of a star, two connections for each host",
        unit: "hosts",
        short: [2500, 10_000],
        long: [5000, 20_000],
        max_exponent: 1.6,
        prepare: |hosts| {
            let star = LargeScenario::star(hosts);
            routes(star.with_traffic(Traffic::Constant, 2 * hosts))
        },
    },
    Growth {
        work: "routes after failures of a link, 1000 connections",
        unit: "failures",
        short: [500, 2000],
        long: [2500, 10_000],
        max_exponent: 1.6,
        prepare: |failures| {
            let mut events = String::new();
            for k in 0..failures {
                let at_ms = 9000.0 * k as f64 / failures as f64;
                let (i, state) = (k / 2 % 9, ["down", "up"][k % 2]);
                events.push_str(&format!(
                    "[[event]]\nat = \"{at_ms} ms\"\nlink = \"n{i}->n{}\"\n{state} = true\n",
                    i + 1
                ));
            }
            let mesh = LargeScenario::mesh(10, false).with_traffic(Traffic::Constant, 1000);
            routes(mesh.with(&events))
        },
    },
    Growth {
        work: "steady state of demands, four for each node of a mesh",
        unit: "nodes",
        short: [400, 1600],
        long: [900, 3600],
        max_exponent: 1.8,
        prepare: |nodes| {
            let loaded = mesh_with_demands(nodes);
            Box::new(move || {
                let options = SteadyOptions {
                    starts: 0,
                    ..SteadyOptions::default()
                };
                steady::solve(&loaded.network, AT_S, &options).expect("a steady state");
            })
        },
    },
    Growth {
        work: "failures of all links, four demands for each node of a mesh",
        unit: "nodes",
        short: [64, 256],
        long: [256, 1024],
        max_exponent: 2.9,
        prepare: |nodes| {
            let loaded = mesh_with_demands(nodes);
            Box::new(move || {
                let options = FailureOptions {
                    nodes: false,
                    groups: false,
                    ..FailureOptions::default()
                };
                let found = steady::failures(&loaded.network, AT_S, &options, &|| false);
                found.expect("failures");
            })
        },
    },
    Growth {
        work: "packets of web users in one link, 20 s",
        unit: "users",
        short: [1000, 4000],
        long: [5000, 20_000],
        max_exponent: 1.6,
        prepare: |users| {
            let interarrival_ms = 20_000.0 / users as f64;
            let scenario = LargeScenario::star(2).with(&format!(
                "[[workload]]\nname = \"web\"\napplication = \"http\"\nclients = \"n0\"\nservers = \"n1\"\n\
                 interarrival = \"{interarrival_ms} ms\"\n\
                 source = {{ ns2-tcp = \"newreno\", initial-window = \"4 pkt\" }}\n",
            ));
            packets(&scenario, 20.0)
        },
    },
    Growth {
        work: "packets of demands in a mesh of 100 nodes, 0.5 s",
        unit: "demands",
        short: [500, 2000],
        long: [2500, 10_000],
        max_exponent: 1.6,
        prepare: |demands| {
            let mesh = LargeScenario::mesh(10, false);
            packets(&mesh.with_traffic(Traffic::Demands, demands), 0.5)
        },
    },
];

fn load(large: &LargeScenario) -> CompiledScenario {
    let read = scenario::from_str("large.toml", large.text(), large.directory(), &[]);
    read.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns a mesh with four demands for each node.
fn mesh_with_demands(nodes: usize) -> CompiledScenario {
    let mesh = LargeScenario::mesh(nodes.isqrt(), false);
    load(&mesh.with_traffic(Traffic::Demands, 4 * nodes))
}

fn routes(large: LargeScenario) -> Box<dyn FnOnce()> {
    Box::new(move || {
        load(&large);
    })
}

fn packets(large: &LargeScenario, duration_s: f64) -> Box<dyn FnOnce()> {
    let network = load(large).network;
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        ..Options::default()
    };
    Box::new(move || {
        let mut simulation = Simulation::new(network, options).expect("a simulation");
        let run = simulation.run_until(duration_s, &mut NoRecorder, || false);
        run.expect("a run");
    })
}

struct NoRecorder;

impl Recorder for NoRecorder {
    type Error = std::convert::Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Prints the table.
///
/// # Panics
/// If an exponent is above its limit.
pub fn table(quick: bool) {
    println!("\ngrowth of the time (user CPU) with the size:");
    let mut above = Vec::new();
    for growth in GROWTHS {
        let sizes = if quick { growth.short } else { growth.long };
        let times_s = sizes.map(|size| {
            let work = (growth.prepare)(size);
            let before_s = own_s()?;
            work();
            Some(own_s()? - before_s)
        });
        let [Some(a_s), Some(b_s)] = times_s else {
            println!("  skipped: there is no /proc/self/stat");
            return;
        };
        let exponent =
            (b_s.max(LEAST_S) / a_s.max(LEAST_S)).ln() / (sizes[1] as f64 / sizes[0] as f64).ln();
        println!(
            "  {:<60} {:>6} and {:>6} {:<8} {a_s:>7.2} s {b_s:>7.2} s   n^{exponent:.2} (at most {})",
            growth.work, sizes[0], sizes[1], growth.unit, growth.max_exponent
        );
        if exponent > growth.max_exponent {
            above.push(growth.work);
        }
    }
    assert!(above.is_empty(), "grows faster than its limit: {above:?}");
}
