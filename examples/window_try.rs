//! Tries the window stepper: `window_try SCENARIO SEEDS JITTER_MS START_JITTER [VARIANT] [KEY=VALUE…]`
use std::time::Instant;

use netflow::fluid::window::Engine;
use netflow::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let sets: Vec<String> = args[6..].to_vec();
    let scenario = netflow::scenario::load(args[1].as_ref(), &sets)?;
    let seeds: u64 = args[2].parse()?;
    let jitter: f64 = args[3].parse()?;
    let start_jitter: f64 = args[4].parse()?;
    let variant = match args[5].as_str() {
        "vegas" => netflow::fluid::TcpVariant::Vegas,
        "newreno" => netflow::fluid::TcpVariant::NewReno,
        "tahoe" => netflow::fluid::TcpVariant::Tahoe,
        "cubic" => netflow::fluid::TcpVariant::Cubic,
        _ => netflow::fluid::TcpVariant::Reno,
    };
    let net = &scenario.network;
    for seed in 1..=seeds {
        let mut b = NetworkBuilder::new();
        for n in net.nodes() {
            b.node(net.node_name(n));
        }
        for l in net.links() {
            b.link(net.link_spec(l).clone());
        }
        let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for c in net.connections() {
            let mut spec = net.connection_spec(c).clone();
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            spec.start_s += start_jitter * (x >> 11) as f64 / (1u64 << 53) as f64;
            if matches!(spec.source, Source::Profile(_)) {
                spec.source = Source::Window(netflow::fluid::WindowSource {
                    send_jitter_s: jitter * 1e-3,
                    variant,
                    ..Default::default()
                });
            }
            b.connection(spec);
        }
        let network = b.build().map_err(|e| e[0].clone())?;
        let begun = Instant::now();
        let mut e = Engine::new(network.clone(), &scenario.options, seed)?;
        let end = (scenario.options.duration_s * 1e9) as u64;
        if let Ok(link) = std::env::var("COV") {
            let l = network.link_by_name(&link).ok_or("no such link")?.index();
            let (mut last, mut sum, mut sq, mut n) = (0, 0.0, 0.0, 0.0);
            for k in 1..=(end / 100_000_000) {
                e.run_until(k * 100_000_000);
                let now = e.link_row(l).0;
                let x = (now - last) as f64;
                last = now;
                sum += x;
                sq += x * x;
                n += 1.0;
            }
            let mean: f64 = sum / n;
            println!("V,{seed},{}", (sq / n - mean * mean).sqrt() / mean);
        }
        e.run_until(end);
        let took = begun.elapsed().as_secs_f64();
        let hops: u64 = network.links().map(|l| e.link_row(l.index()).0).sum();
        eprintln!("seed {seed}: {took:.3} s, {} steps, {hops} packet-hops, {:.1} ns each", e.steps, took * 1e9 / hops as f64);
        for l in network.links() {
            let (offered, lost, service) = e.link_row(l.index());
            let q = e.queue_time_ns(l.index()) / end as f64 - service as f64 / end as f64;
            println!("L,{seed},{},{q:.3},{offered},{lost}", network.link_name(l));
        }
        for (c, sent, acked, rep, to, fr) in e.rows() {
            println!("C,{seed},{c},{sent},{acked},{rep},{to},{fr}");
        }
    }
    Ok(())
}
