//! TCP at one bottleneck from its start: the fluid model compared with the packet model.
//!
//! ```sh
//! cargo run --release -p study-bottlenecks                        # 60 links, into README.md
//! cargo run --release -p study-bottlenecks -- --set development   # other links, without README.md
//! ```

mod bottleneck;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use bottleneck::{Bottleneck, Model, Run, Tcp};
use clap::{Parser, ValueEnum};
use netflow::units::quantile;
use netflow_problems::fill_page;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Packets lost below which a link is left out: its windows are limited by their largest value.
const MIN_LOST_PKTS: f64 = 5.0;

/// Buffers below this size are evaluated separately, too: there the queue law has its largest errors.
const SMALL_BUFFER_PKTS: f64 = 25.0;

/// Packets added to both counts of a ratio of losses, so that small counts do not dominate.
const LOSS_OFFSET_PKTS: f64 = 10.0;

#[derive(Clone, Copy, ValueEnum)]
enum Set {
    /// Looked at while the model was made
    Development,
    /// Only evaluated
    Test,
}

#[derive(Parser)]
struct Arguments {
    /// Which links
    #[arg(long, default_value = "test")]
    set: Set,
    /// Number of links
    #[arg(long, default_value = "60")]
    links: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let seed = match arguments.set {
        Set::Development => 7,
        Set::Test => 404,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let links: Vec<Bottleneck> = (0..arguments.links)
        .map(|i| Bottleneck::draw(&mut rng, Tcp::ALL[i % 2]))
        .collect();
    let found: Result<Vec<Case>, String> = links.into_par_iter().map(Case::new).collect();
    let mut found = found?;
    let all = found.len();
    found.retain(|it| it.packets.lost_pkts >= MIN_LOST_PKTS);
    let table = table(&found, all - found.len());
    print!("{table}");
    if let Set::Test = arguments.set {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        let filled = fill_page(&fs::read_to_string(&page)?, "bottlenecks", &table)?;
        fs::write(page, filled)?;
    }
    Ok(())
}

/// Results of one link.
struct Case {
    link: Bottleneck,
    /// Mean of two packet runs.
    packets: Run,
    second_seed: Run,
    fluid: Run,
}

impl Case {
    fn new(link: Bottleneck) -> Result<Case, String> {
        let first = link.run(Model::Packets { seed: 1 })?;
        let second_seed = link.run(Model::Packets { seed: 2 })?;
        Ok(Case {
            packets: first.mean_with(&second_seed),
            second_seed,
            fluid: link.run(Model::Fluid)?,
            link,
        })
    }
}

/// Selects the results of one model.
type RunOf = fn(&Case) -> &Run;

/// Selects the links of one group.
type LinkFilter = fn(&Bottleneck) -> bool;

/// Errors of one model on one link.
struct LinkErrors {
    utilization: f64,
    queue: f64,
    ln_loss: f64,
    goodput: f64,
    first_interval: f64,
    intervals: f64,
}

impl LinkErrors {
    fn of(run: &Run, packets: &Run, buffer_pkts: f64) -> LinkErrors {
        let lost = |run: &Run| run.lost_pkts + LOSS_OFFSET_PKTS;
        let all_pkts: f64 = packets.delivered_pkts.iter().sum();
        let both = || run.delivered_pkts.iter().zip(&packets.delivered_pkts);
        LinkErrors {
            utilization: run.utilization - packets.utilization,
            queue: (run.queue_pkts - packets.queue_pkts) / buffer_pkts,
            ln_loss: (lost(run) / lost(packets)).ln().abs(),
            goodput: (run.delivered_pkts.iter().sum::<f64>() / all_pkts - 1.0).abs(),
            first_interval: both()
                .next()
                .map_or(0.0, |(a, b)| (a - b).abs() / b.max(1.0)),
            intervals: both().map(|(a, b)| (a - b).abs()).sum::<f64>() / all_pkts,
        }
    }
}

fn table(found: &[Case], left_out: usize) -> String {
    let mut text = String::from(
        "| TCP | model | utilization, r.m.s. [points] | queue / buffer, mean and mean absolute error | lost packets, median factor | \
         goodput, 50 and 90 % | first 5 s, 50 and 90 % | 5 s intervals, mean |\n|---|---|---|---|---|---|---|---|\n",
    );
    let groups: [(&str, LinkFilter); 4] = [
        ("both", |_| true),
        ("ns-reno", |it| it.tcp == Tcp::NsReno),
        ("ns-reno, buffer < 25 pkt", |it| {
            it.tcp == Tcp::NsReno && it.buffer_pkts < SMALL_BUFFER_PKTS
        }),
        ("linux-cubic", |it| it.tcp == Tcp::LinuxCubic),
    ];
    for (name, is_in) in groups {
        let chosen: Vec<&Case> = found.iter().filter(|it| is_in(&it.link)).collect();
        let models: [(&str, RunOf); 2] = [
            ("packets, second seed", |it| &it.second_seed),
            ("fluid", |it| &it.fluid),
        ];
        for (model, run) in models {
            let errors: Vec<LinkErrors> = (chosen.iter())
                .map(|it| LinkErrors::of(run(it), &it.packets, it.link.buffer_pkts))
                .collect();
            let sorted = |of: fn(&LinkErrors) -> f64| {
                let mut all: Vec<f64> = errors.iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let mean = |of: fn(&LinkErrors) -> f64| {
                errors.iter().map(of).sum::<f64>() / errors.len().max(1) as f64
            };
            let two = |of: fn(&LinkErrors) -> f64| {
                let all = sorted(of);
                let at = |part| 100.0 * quantile(&all, part);
                format!("{:.1}, {:.1} %", at(0.5), at(0.9))
            };
            let rms = mean(|it| it.utilization * it.utilization).sqrt();
            let loss = quantile(&sorted(|it| it.ln_loss), 0.5);
            let _ = writeln!(
                text,
                "| {name}, {} links | {model} | {:.1} | {:+.1}, {:.1} % | {:.2} | {} | {} | {:.1} % |",
                errors.len(),
                100.0 * rms,
                100.0 * mean(|it| it.queue),
                100.0 * mean(|it| it.queue.abs()),
                loss.exp(),
                two(|it| it.goodput),
                two(|it| it.first_interval),
                100.0 * mean(|it| it.intervals),
            );
        }
    }
    let cost_s = |run: RunOf| found.iter().map(|it| run(it).wall_time_s).sum::<f64>();
    let _ = writeln!(
        text,
        "\n{left_out} links are left out, where the largest window limits the packets. All runs together took {:.0} times \
         as long in the packet model as in the fluid model.",
        cost_s(|it| &it.packets) / cost_s(|it| &it.fluid),
    );
    text
}
