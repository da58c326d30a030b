//! Slowdown of TCP transfers that share a link:
//!
//! ```sh
//! cargo run --release -p study-sharing            # solve beside packets on 300 random links, into README.md
//! cargo run --release -p study-sharing -- --table # before: measures crates/steady/data/sharing.csv by packets
//! ```

mod link;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::Parser;
use link::{Link, Sizes};
use netflow::units::quantile;
use netflow_problems::{fill_page, population_seed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Round-trip times without queueing, in ms.
const RTTS_MS: [f64; 3] = [1.0, 6.0, 40.0];
/// Bandwidth-delay products in packets.
const BDPS_PKTS: [f64; 6] = [1.5, 6.0, 25.0, 100.0, 500.0, 2500.0];
/// Mean transfer sizes in bandwidth-delay products.
const SIZES_BDP: [f64; 8] = [0.05, 0.3, 0.75, 1.5, 3.0, 8.0, 30.0, 200.0];
/// Buffer sizes in bandwidth-delay products.
const BUFFERS_BDP: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 5.0, 20.0];
const LOADS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Load at which transfers rarely overlap.
const UNSHARED_LOAD: f64 = 0.01;
/// Relative error below which the model's time of unshared transfers counts as exact, unless they
/// cause losses themselves.
const EXACT_TOLERANCE: f64 = 0.03;
/// Range of the mean transfer size that is measured, in packets; others use the nearest one.
const SIZES_PKTS: [f64; 2] = [3.0, 16_000.0];
/// Minimum buffer size in packets.
const MIN_BUFFER_PKTS: f64 = 4.0;
/// Packets of all transfers of a table entry.
const ENTRY_PKTS: f64 = 1.5e6;
/// Packets of all transfers of a random link.
const LINK_PKTS: f64 = 4e6;
/// Maximum duration of a run in seconds.
const MAX_DURATION_S: f64 = 1e6;

#[derive(Parser)]
struct Arguments {
    /// Measure the table that `solve` has, by packets
    #[arg(long)]
    table: bool,
    /// Random links
    #[arg(long, default_value = "300")]
    links: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    if arguments.table {
        let place = directory.join("../../crates/steady/data/sharing.csv");
        return Ok(fs::write(place, table()?)?);
    }
    let told = compare_with_packets(arguments.links)?;
    print!("{told}");
    let page = directory.join("README.md");
    let filled = fill_page(&fs::read_to_string(&page)?, "sharing", &told)?;
    Ok(fs::write(page, filled)?)
}

/// Returns the slowdown relative to its dependence on the load: proportional to the load if it is
/// low, and to 1/(1 - load) if it is high.
fn normalized_slowdown(slowed: f64, load: f64) -> f64 {
    (slowed - 1.0) * (1.0 - load) / load
}

/// Factor of the number of transfers at each load. High loads need more, because the number of
/// active transfers fluctuates more slowly.
const TRANSFER_FACTORS: [f64; 5] = [1.0, 1.0, 1.0, 1.0, 2.0];

/// Measures one row of the table: the slowdown of unshared transfers relative to the model, and
/// [`normalized_slowdown`] at each load.
fn row([rtt_ms, way_pkts, size_pkts, room_pkts]: [f64; 4]) -> Result<Vec<f64>, Box<dyn Error>> {
    let link = Link {
        bdp_pkts: way_pkts,
        rtt_s: 1e-3 * rtt_ms,
        size_pkts,
        sizes: Sizes::Exponential,
        buffer_pkts: room_pkts,
        load: UNSHARED_LOAD,
    };
    let per_s = UNSHARED_LOAD * link.bandwidth_bps() / (size_pkts * link::PACKET_BITS);
    let transfers = (ENTRY_PKTS / size_pkts)
        .clamp(500.0, 20_000.0)
        .min(MAX_DURATION_S * per_s);
    // The same seed gives the same transfers at each load. With more transfers each row has
    // different ones, so that errors of neighbouring rows are independent.
    let alone_s = link.packet_model_time_s(transfers, 1)?;
    let alone = alone_s / link.steady_state_times()?.lossless_s;
    let mut row = vec![alone];
    if (alone - 1.0).abs() < EXACT_TOLERANCE {
        row[0] = 1.0;
    }
    let other = (rtt_ms * 1e9 + way_pkts * 1e6 + size_pkts * 1e3 + room_pkts) as u64;
    for (load, times) in LOADS.into_iter().zip(TRANSFER_FACTORS) {
        let seed = if times > 1.0 { other } else { 1 };
        let mean_s = Link { load, ..link }.packet_model_time_s(times * transfers, seed)?;
        row.push(normalized_slowdown(mean_s / alone_s, load).max(0.0));
    }
    Ok(row)
}

fn table() -> Result<String, Box<dyn Error>> {
    let mut cells = Vec::new();
    for rtt_ms in RTTS_MS {
        for way_pkts in BDPS_PKTS {
            for size in SIZES_BDP {
                cells.extend(BUFFERS_BDP.map(|room| [rtt_ms, way_pkts, size, room]));
            }
        }
    }
    // The minimum buffer size makes several entries equal.
    let measured = |&[rtt_ms, way_pkts, size, room]: &[f64; 4]| {
        let room_pkts = (room * way_pkts).max(MIN_BUFFER_PKTS);
        [rtt_ms, way_pkts, size * way_pkts, room_pkts]
    };
    let mut all: Vec<[f64; 4]> = cells.iter().map(measured).collect();
    all.retain(|[.., size_pkts, _]| (SIZES_PKTS[0]..=SIZES_PKTS[1]).contains(size_pkts));
    all.dedup();
    let rows: Vec<([f64; 4], Vec<f64>)> = all
        .into_par_iter()
        .map(|what| -> Result<_, String> {
            let row = row(what).map_err(|error| error.to_string())?;
            eprintln!("{what:?}: {row:.3?}");
            Ok((what, row))
        })
        .collect::<Result<_, _>>()?;
    let mut text = String::from(
        "# How much longer TCP transfers take that share a link. alone: T by packets over what slow start tells, where nobody else sends;\n\
         # at loads of .1 to .9: (T/T alone - 1) (1 - load) / load. Measured by packets (linux-6, exponential sizes):\n\
         # cargo run --release -p study-sharing -- --table\n\
         rtt_ms,way_pkts,size_of_way,room_of_way,alone",
    );
    for load in LOADS {
        write!(text, ",at_{load}")?;
    }
    text.push('\n');
    for cell in &cells {
        let [rtt_ms, way_pkts, size, room] = *cell;
        let [.., size_pkts, room_pkts] = measured(cell);
        // The nearest measured size.
        let of_link = rows.iter().filter(|([rtt, way, _, room], _)| {
            [*rtt, *way, *room] == [rtt_ms, way_pkts, room_pkts]
        });
        let off = |size: f64| (size / size_pkts).ln().abs();
        let nearest =
            of_link.min_by(|([_, _, a, _], _), ([_, _, b, _], _)| off(*a).total_cmp(&off(*b)));
        let (_, row) = nearest.ok_or("a way without transfers")?;
        write!(text, "{rtt_ms},{way_pkts},{size},{room}")?;
        for told in row {
            write!(text, ",{told:.3}")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns a random link, independent of the table.
fn random_link(seed: u64, sizes: Sizes) -> Link {
    let mut random = ChaCha8Rng::seed_from_u64(population_seed(seed));
    let mut log = |least: f64, most: f64| random.random_range(least.ln()..most.ln()).exp();
    loop {
        let (way_pkts, rtt_s) = (log(2.0, 4000.0), log(0.0005, 0.25));
        let (size, room) = (log(0.05, 20.0), log(0.3, 20.0));
        let load = 0.1 + 0.8 * (log(1.0, std::f64::consts::E)).ln();
        let link = Link {
            bdp_pkts: way_pkts,
            rtt_s,
            size_pkts: size * way_pkts,
            sizes,
            buffer_pkts: (room * way_pkts).max(10.0),
            load,
        };
        let is_usual = (2e6..4e9).contains(&link.bandwidth_bps());
        if is_usual && (5.0..8000.0).contains(&link.size_pkts) {
            return link;
        }
    }
}

/// Row of the page: name and condition of its links.
type Kind = (&'static str, fn(&Link) -> bool);

/// Returns the mean transfer size in bandwidth-delay products.
fn size_in_bdps(link: &Link) -> f64 {
    link.size_pkts / link.bdp_pkts
}

fn compare_with_packets(links: u64) -> Result<String, Box<dyn Error>> {
    // A third as many with each of the other sizes.
    let drawn = Sizes::ALL.into_par_iter().flat_map(|sizes| {
        let count = match sizes {
            Sizes::Exponential => links,
            Sizes::Constant | Sizes::Pareto | Sizes::LogNormal => links / 3,
        };
        let drawn = (0..count).into_par_iter();
        drawn.map(move |seed| random_link(seed, sizes))
    });
    let all: Vec<(Link, f64)> = drawn
        .map(|link| -> Result<_, String> {
            let transfers = (LINK_PKTS / link.size_pkts).clamp(1500.0, 20_000.0);
            let by_packets = link.packet_model_time_s(transfers, 1);
            let by_packets_s = by_packets.map_err(|error| format!("{link:?}: {error}"))?;
            let at_rest = link
                .steady_state_times()
                .map_err(|error| error.to_string())?;
            Ok((link, at_rest.mean_s / by_packets_s))
        })
        .collect::<Result<_, _>>()?;
    let mut text = String::from(
        "| transfers | links | median: factor | 90th percentile: factor | mean ratio | within 10 % |\n|---|---|---|---|---|---|\n",
    );
    let mut tell = |name: &str, is_one: &dyn Fn(&Link) -> bool| {
        let ratios = all.iter().filter(|(link, _)| is_one(link));
        let mut ln: Vec<f64> = ratios.map(|(_, ratio)| ratio.ln()).collect();
        let n = ln.len() as f64;
        let mean = (ln.iter().sum::<f64>() / n).exp();
        let within = ln.iter().filter(|it| (it.exp() - 1.0).abs() <= 0.1).count();
        ln.iter_mut().for_each(|it| *it = it.abs());
        ln.sort_by(f64::total_cmp);
        let factor = |part| quantile(&ln, part).exp();
        writeln!(
            text,
            "| {name} | {n} | {:.2} | {:.2} | {mean:.2} | {:.0} % |",
            factor(0.5),
            factor(0.9),
            100.0 * within as f64 / n
        )
    };
    let kinds: [Kind; 10] = [
        ("all", |_| true),
        ("sizes below 0.5 BDP", |it| size_in_bdps(it) < 0.5),
        ("sizes of 0.5–4 BDP", |it| {
            (0.5..4.0).contains(&size_in_bdps(it))
        }),
        ("sizes of 4 BDP or more", |it| size_in_bdps(it) >= 4.0),
        ("buffers below 1 BDP", |it| it.buffer_pkts < it.bdp_pkts),
        ("buffers of 1 BDP or more", |it| {
            it.buffer_pkts >= it.bdp_pkts
        }),
        ("loads up to 0.5", |it| it.load <= 0.5),
        ("loads above 0.5", |it| it.load > 0.5),
        ("RTTs below 6 ms", |it| it.rtt_s < 0.006),
        ("RTTs of 6 ms or more", |it| it.rtt_s >= 0.006),
    ];
    for (name, is_one) in kinds {
        tell(name, &|it| it.sizes == Sizes::Exponential && is_one(it))?;
    }
    for sizes in &Sizes::ALL[1..] {
        let name = format!("all, sizes {}", sizes.name());
        tell(&name, &|it| it.sizes == *sizes)?;
    }
    Ok(text)
}
