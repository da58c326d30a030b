//! Generator of the built-in grid profile files from the CSV files of the measurements.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use netflow_profile::fit::{extend_cubic, fill_missing_cells};
use netflow_profile::{Grid, GridRow, GridSpec, to_toml};

const COMMENT: &str =
    "# Made from data/measurements by `cargo run -p netflow-profile --example make-grids`.\n";

/// ns-2's name, window in packets, name of the profile, and name of the TCP.
const NS: &[(&str, &str, &str, &str)] = &[
    ("reno", "10000", "ns-reno", "Reno"),
    ("newreno", "10000", "ns-newreno", "NewReno"),
    ("sack1", "10000", "ns-sack", "SACK"),
    ("vegas", "10000", "ns-vegas", "Vegas"),
    ("tahoe", "10000", "ns-tahoe", "Tahoe"),
    ("reno", "64", "ns-reno-w64", "Reno, window 64"),
    ("newreno", "64", "ns-newreno-w64", "NewReno, window 64"),
    ("sack1", "64", "ns-sack-w64", "SACK, window 64"),
    ("vegas", "64", "ns-vegas-w64", "Vegas, window 64"),
];

/// Amplitude of the window sawtooth of Linux Reno and CUBIC, relative to ns-2's Reno. The queues of
/// the development networks are then closest to the packet model
/// (`cargo run --release -p study-fluid-population -- --set development --tcp linux-cubic`).
const LINUX_RENO_SWINGS: f64 = 0.75;
const LINUX_CUBIC_SWINGS: f64 = 0.33;

/// Throughputs in packets/ms by (loss, rtt in ms), with the keys as written in the file.
type Cells = BTreeMap<(Decimal, Decimal), Decimal>;

/// Decimal number, ordered by value, whose decimal point moves without rounding.
#[derive(Debug, Clone, PartialEq)]
struct Decimal(String);

impl Decimal {
    fn value(&self) -> f64 {
        self.shifted(0)
    }

    /// Returns the `f64` nearest to `self · 10^places`.
    fn shifted(&self, places: i32) -> f64 {
        format!("{}e{places}", self.0).parse().unwrap_or(f64::NAN)
    }
}

impl Eq for Decimal {}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value().total_cmp(&other.value())
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns path and text of every built-in grid.
pub fn grids() -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let ns = read(
        &data.join("measurements/ns2.csv"),
        &["tcp", "maxwin"],
        "thr_pkt_per_ms",
    )?;
    let linux = read(
        &data.join("measurements/linux.csv"),
        &["cc"],
        "throughput_pkt_per_s",
    )?;
    let mut texts = Vec::new();
    for &(tcp, window, name, title) in NS {
        let cells = ns.get(&[tcp, window].join(" ")).ok_or(name)?;
        let spec = GridSpec {
            name: name.to_owned(),
            description: format!(
                "ns-2.35 {title}: one flow, random loss of 1000 B data packets, no delayed ACKs"
            ),
            window_pkts: Some(window.parse()?),
            ..surface(cells, 3, |_, _| {})?
        };
        let comment = "# Loss 0 is window / rtt: runs without loss that got beyond their start-up are within 0.5 % of it.\n";
        texts.push((data.join(format!("{name}.toml")), text(spec, comment)?));
    }
    let senders: [(_, _, _, _, Below); 2] = [
        ("reno", "linux-reno", "Reno", LINUX_RENO_SWINGS, |_, _| {}),
        (
            "cubic",
            "linux-cubic",
            "CUBIC",
            LINUX_CUBIC_SWINGS,
            extend_cubic,
        ),
    ];
    for (cc, name, title, swing, below) in senders {
        let cells = linux.get(cc).ok_or(name)?;
        let spec = GridSpec {
            name: name.to_owned(),
            description: format!(
                "Linux 6.18 {title}: transfers of 1500 B packets through emulated links"
            ),
            sawtooth_amplitude: swing,
            ..surface(cells, 0, below)?
        };
        let mut comment =
            "# Extended where the link was full, or fewer than 30 packets were lost.\n".to_owned();
        if cc == "cubic" {
            comment += "# Below, at each round-trip time, from the windows of RFC 9438 for losses at random.\n";
        }
        texts.push((data.join(format!("{name}.toml")), text(spec, &comment)?));
    }
    Ok(texts)
}

fn text(spec: GridSpec, comment: &str) -> Result<String, Box<dyn Error>> {
    let grid = Grid::new(spec)?;
    Ok(format!(
        "{COMMENT}{comment}{}",
        to_toml(&grid).ok_or("a grid has a definition")?
    ))
}

/// Function that fills rows below the measured losses, at the given round-trip times in seconds.
type Below = fn(&mut Vec<GridRow>, &[f64]);

/// Builds the rows with loss; throughputs times 10^`places` are in packets/s.
fn surface(cells: &Cells, places: i32, below: Below) -> Result<GridSpec, Box<dyn Error>> {
    let mut rtts: Vec<&Decimal> = cells.keys().map(|(_, rtt)| rtt).collect();
    rtts.sort();
    rtts.dedup();
    let mut losses: Vec<&Decimal> = cells
        .keys()
        .map(|(loss, _)| loss)
        .filter(|loss| loss.value() > 0.0)
        .collect();
    losses.dedup();
    let mut rows = Vec::new();
    for &loss in &losses {
        let rate = |&rtt: &&Decimal| {
            let cell = cells.get(&(loss.clone(), rtt.clone()));
            cell.map_or(f64::NAN, |rate| rate.shifted(places))
        };
        let throughput_pps = rtts.iter().map(rate).collect();
        rows.push(GridRow {
            loss: loss.value(),
            throughput_pps,
            extrapolated: Vec::new(),
        });
    }
    let rtts_s: Vec<f64> = rtts.iter().map(|rtt| rtt.shifted(-3)).collect();
    below(&mut rows, &rtts_s);
    fill_missing_cells(&mut rows, rtts.len());
    Ok(GridSpec {
        name: String::new(),
        description: String::new(),
        window_pkts: None,
        sawtooth_amplitude: 1.0,
        rtts_s,
        rows,
    })
}

/// Reads the measurements of each sender, identified by the columns `keys`.
fn read(path: &Path, keys: &[&str], rate: &str) -> Result<BTreeMap<String, Cells>, Box<dyn Error>> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(path)?;
    let headers = reader.headers()?.clone();
    let column = |name: &str| {
        headers
            .iter()
            .position(|header| header == name)
            .ok_or(name.to_owned())
    };
    let keys = keys
        .iter()
        .map(|key| column(key))
        .collect::<Result<Vec<usize>, _>>()?;
    let (loss, rtt, rate) = (column("loss")?, column("rtt_ms")?, column(rate)?);
    let mut senders: BTreeMap<String, Cells> = BTreeMap::new();
    for record in reader.records() {
        let record = record?;
        let sender: Vec<&str> = keys.iter().map(|&key| &record[key]).collect();
        let decimal = |column: usize| Decimal(record[column].to_owned());
        senders
            .entry(sender.join(" "))
            .or_default()
            .insert((decimal(loss), decimal(rtt)), decimal(rate));
    }
    Ok(senders)
}
