//! Scaling of time and memory, printed as tables: `cargo bench --bench scale [-- --quick]`.
//!
//! 1. time per step, in nanoseconds per active (class × hop), in and far out of the cache, with the
//!    share of the sources, compared with the machine's streaming bandwidth measured in the same run;
//! 2. 1 k to 1 M distinct connections on a random network of 1000 nodes, 60 s at 50 ms;
//! 3. the whole process on `scenarios/hundred-nodes`, with written results, compared with `ns` on the
//!    same network without traces, if `ns` is installed;
//! 4. the same for packets, one thread, with recorded delays: `scenarios/hundred-nodes` and 50 Reno
//!    clients of `scenarios/burst`, compared with `ns` on the output of `netflow export`;
//! 5. packets of 4000 windows on 1000 nodes, as `netflow new random` writes them and with longer
//!    delays, with one and two threads, and of 10^5 windows on 10^4 nodes;
//! 6. growth of the time with the size of a network, for routing, steady states, failures, events and
//!    packets. It fails if an exponent is above its limit.
//!
//! `--quick` skips everything that takes longer than a few seconds; `--only-large` skips all tables
//! except the fifth, `--only-growth` all except the last. Each row of the second and last table runs in a separate process, because its
//! peak memory is measured.

#[path = "common/growth.rs"]
mod growth;
#[path = "common/large_networks.rs"]
mod large_networks;
#[path = "common/processes.rs"]
mod processes;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use netflow::scenario::generate::{SizeRequest, TopologyKind};
use netflow::simulation::{
    Acks, FluidOptions, Model, Network, NetworkBuilder, Options, Simulation, Source, Step,
    WindowSource,
};
use netflow_problems::{RandomNetwork, random_network};
use processes::{program, user_s};

const STEP_S: f64 = 0.05;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(i) = args.iter().position(|a| a == "--loaded") {
        let numbers = args[i + 1..].iter().map(|a| a.parse().expect("a number"));
        return loaded(&numbers.collect::<Vec<_>>());
    }
    if args.iter().any(|a| a == "--only-large") {
        return large(false);
    }
    if let Some(i) = args.iter().position(|a| a == "--one-size") {
        let connections = args[i + 1].parse().expect("a number of connections");
        return one_size(connections, args[i + 2].parse().expect("a number of steps"));
    }
    // `cargo bench` passes --bench; without it, this is the smoke test of `cargo test --benches`.
    let quick = args.iter().any(|a| a == "--quick") || !args.iter().any(|a| a == "--bench");
    if args.iter().any(|a| a == "--only-growth") {
        return growth::table(quick);
    }
    println!(
        "machine: {} threads\n",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    steps(quick);
    sizes(quick);
    whole_process(quick);
    packets(quick);
    large(quick);
    growth::table(quick);
}

/// Prints the table of packets on large networks, with a separate process for each row.
fn large(quick: bool) {
    println!("\npackets on random networks, by the clock:");
    println!(
        "{:>8} {:>8} {:>9} {:>10} {:>8} {:>9} {:>9} {:>10} {:>8} {:>10}",
        "nodes",
        "links",
        "windows",
        "delays",
        "time",
        "threads",
        "build",
        "run",
        "per hop",
        "memory"
    );
    // Nodes, windows, added delay in ms, duration in seconds, threads.
    let rows: &[[usize; 5]] = if quick {
        &[[1000, 4000, 5, 1, 1], [1000, 4000, 5, 1, 2]]
    } else {
        &[
            [1000, 4000, 0, 10, 1],
            [1000, 4000, 0, 10, 2],
            [1000, 4000, 5, 10, 1],
            [1000, 4000, 5, 10, 2],
            [10_000, 100_000, 0, 10, 1],
        ]
    };
    for row in rows {
        let me = std::env::current_exe().expect("the path of this program");
        let numbers = row.iter().map(usize::to_string);
        let status = Command::new(me).arg("--loaded").args(numbers).status();
        assert!(status.is_ok_and(|status| status.success()), "{row:?}");
    }
}

fn network(nodes: usize, links: usize, connections: usize) -> Network {
    random_network(RandomNetwork {
        nodes,
        links,
        connections,
        events: 0,
        duration_s: 60.0,
        seed: 1,
        plain: true,
        windows: false,
    })
}

fn simulation(network: &Network) -> Simulation {
    let options = Options {
        duration_s: 60.0,
        model: FluidOptions::Standard {
            step: Step::Fixed { step_s: STEP_S },
        }
        .into(),
        ..Options::default()
    };
    Simulation::new(network.clone(), options).expect("good options")
}

fn hops(network: &Network) -> usize {
    let all = network.connections();
    all.map(|c| network.path(c).len() + network.return_path(c).len())
        .sum()
}

/// Returns the seconds of one step on a pool of `threads` threads: the fastest of several batches.
fn step_s(sim: &mut Simulation, threads: usize, steps: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    pool.install(|| {
        sim.step().expect("a step");
        let batches = (0..5).map(|_| {
            let clock = Instant::now();
            for _ in 0..steps {
                sim.step().expect("a step");
            }
            clock.elapsed().as_secs_f64() / steps as f64
        });
        batches.fold(f64::INFINITY, f64::min)
    })
}

/// Returns the streaming bandwidth of one thread in bytes/s: a[i] = b[i] + s·c[i] over arrays far
/// larger than the caches (STREAM triad).
fn streaming_bandwidth() -> f64 {
    let n = 16 << 20;
    let (b, c) = (vec![1.0_f64; n], vec![2.0_f64; n]);
    let mut a = vec![0.0_f64; n];
    let mut best = f64::INFINITY;
    for i in 0..5 {
        let clock = Instant::now();
        for ((a, b), c) in a.iter_mut().zip(&b).zip(&c) {
            *a = b + f64::from(i) * c;
        }
        best = best.min(clock.elapsed().as_secs_f64());
        black_box(&mut a);
    }
    24.0 * n as f64 / best
}

/// Minimum memory traffic of a step per hop: the index of its input (4 bytes), the
/// input, arrivals written and read, the queue read and written, and the output.
const BYTES_PER_HOP: f64 = 4.0 + 6.0 * 8.0;

fn steps(quick: bool) {
    println!(
        "the step, one thread (ACKs are hops like any other), and the part of sources with profiles and of the queues that"
    );
    println!(
        "they fill, by the same network with constant rates instead (`rates`: hops, and sources that look at their paths):"
    );
    println!(
        "{:>12} {:>12} {:>10} {:>12} {:>10} {:>22}",
        "hops", "per step", "ns/hop", "rates ns/hop", "ns/source", "of streaming bandwidth"
    );
    let bandwidth = streaming_bandwidth();
    // 50 nodes: 1 MB, in the second-level cache; 650 k connections: 10 million hops.
    let cases: &[(usize, usize, usize, usize)] = if quick {
        &[(50, 100, 1500, 20)]
    } else {
        &[(50, 100, 1500, 200), (1000, 1500, 650_000, 3)]
    };
    for &(nodes, links, connections, steps) in cases {
        let network = network(nodes, links, connections);
        let alone = with_constant_rates(&network);
        let hops = hops(&network) as f64;
        let of = |network: &Network| step_s(&mut simulation(network), 1, steps);
        let (s, alone_s) = (of(&network), of(&alone));
        println!(
            "{hops:>12} {:>9.3} ms {:>10.2} {:>12.2} {:>10.0} {:>20.0} %",
            1e3 * s,
            1e9 * s / hops,
            1e9 * alone_s / hops,
            1e9 * (s - alone_s) / connections as f64,
            100.0 * BYTES_PER_HOP * hops / s / bandwidth
        );
    }
    println!(
        "streaming bandwidth of one thread: {:.1} GB/s\n",
        bandwidth / 1e9
    );
}

/// Returns the same network with constant-rate sources, which observe their paths, but use no
/// profiles and fill no queues.
fn with_constant_rates(network: &Network) -> Network {
    changed(network, |builder| {
        builder.each_connection(|connection| {
            connection.source = Source::Constant { rate_pps: 20.0 };
        });
    })
}

/// Returns the network with a change that keeps it valid.
fn changed(network: &Network, change: impl FnOnce(&mut NetworkBuilder)) -> Network {
    let mut builder = network.to_builder();
    change(&mut builder);
    builder.build().expect("a network like the one before")
}

fn sizes(quick: bool) {
    println!("distinct connections on a random network of 1000 nodes and 3000 directed links,");
    println!("60 s at 50 ms, ACKs as traffic; all threads:");
    println!(
        "{:>12} {:>12} {:>10} {:>10} {:>12} {:>14} {:>12}",
        "connections", "hops", "build", "run", "ns/hop/step", "two threads", "peak memory"
    );
    let sizes: &[(usize, usize)] = if quick {
        &[(1000, 100), (10_000, 20)]
    } else {
        &[
            (1000, 1200),
            (10_000, 1200),
            (100_000, 1200),
            (1_000_000, 1200),
        ]
    };
    for (connections, steps) in sizes {
        let me = std::env::current_exe().expect("the path of this program");
        let one = Command::new(me)
            .args(["--one-size", &connections.to_string(), &steps.to_string()])
            .status()
            .expect("this program runs");
        assert!(
            one.success(),
            "the run with {connections} connections failed"
        );
    }
    println!();
}

fn one_size(connections: usize, steps: usize) {
    let clock = Instant::now();
    let network = network(1000, 1500, connections);
    let mut sim = simulation(&network);
    let build_s = clock.elapsed().as_secs_f64();
    let hops = hops(&network);
    let clock = Instant::now();
    for _ in 0..steps {
        sim.step().expect("a step");
    }
    let run_s = clock.elapsed().as_secs_f64();
    let ns = 1e9 * run_s / steps as f64 / hops as f64;
    let speedup = match connections {
        1_000_000.. => {
            let mut sim = simulation(&network);
            let one = step_s(&mut sim, 1, 4);
            let two = step_s(&mut sim, 2, 4);
            format!("{:.2} times", one / two)
        }
        _ => String::new(),
    };
    let memory = peak_memory_bytes().map_or("unknown".to_owned(), |b| {
        format!("{:.2} GiB", b / 1073741824.0)
    });
    println!(
        "{connections:>12} {hops:>12} {build_s:>8.2} s {run_s:>8.2} s {ns:>12.2} {speedup:>14} {memory:>12}"
    );
}

fn peak_memory_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024.0 * kib)
}

fn whole_process(quick: bool) {
    println!("whole process, scenarios/hundred-nodes, 100 s, user CPU:");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(netflow) = program(root) else { return };
    let results = std::env::temp_dir().join(format!("netflow-scale-{}", std::process::id()));
    let run = || {
        let mut c = Command::new(&netflow);
        c.arg("run")
            .arg(root.join("scenarios/hundred-nodes/topology.toml"));
        c.arg("--quiet").arg("-o").arg(&results);
        c
    };
    let times = if quick { 2 } else { 50 };
    let ours = user_s(times, run);
    let _ = std::fs::remove_dir_all(&results);
    let Some(ours) = ours else {
        println!("  failed to run or to read /proc/self/stat");
        return;
    };
    println!(
        "  netflow, results every 0.5 s          {:>9.1} ms (steps from round-trip times, 50 ms at most)",
        1e3 * ours
    );
    if quick {
        println!("  ns: left out (--quick)");
        return;
    }
    let script = root.join("benches/hundred-nodes.tcl");
    let ns = user_s(1, || {
        let mut c = Command::new("ns");
        c.arg(&script);
        c
    });
    match ns {
        Some(ns) => println!(
            "  ns 2, no traces, one seed             {:>9.1} ms: {:.0} times netflow's",
            1e3 * ns,
            ns / ours
        ),
        None => println!("  ns: SKIPPED, `ns` is not installed (apt-get install ns2)"),
    }
}

/// Prints the table of packets, compared with ns-2 on the exported scenario.
fn packets(quick: bool) {
    println!("\nwhole process, packets, one thread, delays recorded, user CPU (least of several):");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(netflow) = program(root) else { return };
    let place = std::env::temp_dir().join(format!("netflow-packets-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a place for results");
    for scenario in ["hundred-nodes", "burst"] {
        let path = root.join(format!("scenarios/{scenario}/topology.toml"));
        let windows = ["--set", "include.connections=windows.csv"];
        let run = || {
            let mut c = Command::new(&netflow);
            c.arg("run")
                .arg(&path)
                .args(windows)
                .args(["--set", "simulation.model=packet"]);
            c.args(["--quiet", "--threads", "1", "-o"])
                .arg(place.join("results"));
            c
        };
        let each = (0..if quick { 1 } else { 5 }).filter_map(|_| user_s(1, run));
        let Some(ours) = each.min_by(f64::total_cmp) else {
            println!("  {scenario}: failed to run or to read /proc/self/stat");
            continue;
        };
        print!("  {scenario:<14} {:>9.1} ms", 1e3 * ours);
        let script = place.join("script.tcl");
        let mut export = Command::new(&netflow);
        export
            .arg("export")
            .arg(&path)
            .args(windows)
            .args(["--to", "ns2", "-o"])
            .arg(&script);
        let ns = || {
            let mut c = Command::new("ns");
            c.arg(&script).arg("1").arg(&place);
            c
        };
        match (quick, export.output().ok().and_then(|_| user_s(1, ns))) {
            (true, _) => println!("   ns: left out (--quick)"),
            (_, Some(ns)) => println!(
                "   ns 2 {:>9.1} ms: {:.0} times netflow's",
                1e3 * ns,
                ns / ours
            ),
            (_, None) => println!("   ns: SKIPPED, `ns` is not installed (apt-get install ns2)"),
        }
    }
    let _ = std::fs::remove_dir_all(&place);
}

/// Measures a row of the last table.
fn loaded(row: &[usize]) {
    let &[nodes, windows, more_ms, duration_s, threads] = row else {
        panic!("{row:?}");
    };
    let clock = Instant::now();
    let duration_s = duration_s as f64;
    let network = if windows <= 10_000 {
        written(nodes, windows)
    } else {
        network(nodes, 3 * nodes / 2, windows)
    };
    let network = changed(&network, |builder| {
        builder.each_link(|link| link.delay_s += 1e-3 * more_ms as f64);
        builder.each_connection(|connection| {
            connection.source = Source::Ns2Tcp(WindowSource::default());
            connection.acks = Acks::EveryPacket;
            connection.max_window_pkts = Some(64.0);
            connection.start_s = connection.start_s.min(0.5 * duration_s);
        });
    });
    let links = network.links().count();
    let shortest_s = network.links().map(|id| network.link_spec(id).delay_s);
    let shortest_s = shortest_s.fold(f64::INFINITY, f64::min);
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        ..Options::default()
    };
    let mut sim = Simulation::new(network, options).expect("good options");
    sim.set_threads(threads);
    let build_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    while !sim.is_done() {
        sim.step().expect("a step");
    }
    let run_s = clock.elapsed().as_secs_f64();
    let memory = peak_memory_bytes().map_or("unknown".to_owned(), |b| {
        format!("{:.2} GiB", b / 1073741824.0)
    });
    println!(
        "{nodes:>8} {links:>8} {windows:>9} {:>7.1} ms {duration_s:>6} s {threads:>9} {build_s:>7.1} s {run_s:>8.1} s {:>5.0} ns {memory:>10}",
        1e3 * shortest_s,
        1e9 * run_s / sim.steps() as f64
    );
}

/// Returns the network that `netflow new random` writes.
fn written(nodes: usize, connections: usize) -> Network {
    let wishes = SizeRequest {
        nodes: Some(nodes),
        connections: Some(connections),
        ..SizeRequest::default()
    };
    let text = TopologyKind::Random.write(&wishes).expect("such a network");
    let scenario =
        netflow::scenario::from_str("random", &text, Path::new("."), &[]).expect("a scenario");
    scenario.network
}
