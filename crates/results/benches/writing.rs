//! Benchmark of the writing of series, printed as a table:
//! `cargo bench -p netflow-results --features parquet [-- --quick] [-- csv|jsonl|parquet]`.
//!
//! It uses one thread and reports the fastest of several repetitions. It writes to a file in memory
//! (`/dev/shm`, if it exists) and to a file in the directory of temporary files. A rate counts the bytes
//! that a reader gets: bytes of text, or 8 bytes per time, name and value of a column. The last column is
//! the rate of a plain copy of the same number of bytes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use netflow_results::{CLASSES, CONNECTIONS, Format, LINKS, Names, Table, export};

/// Number of directed links of a typical network of 100 nodes.
const LINK_COUNT: usize = 240;
const CONNECTION_COUNT: usize = 180;
/// Number of links on the path of a connection.
const HOPS: usize = 4;

fn main() {
    // `cargo bench` passes --bench. Without it, this is the smoke test of `cargo test --benches`.
    let has = |name: &str| std::env::args().any(|arg| arg == name);
    let (intervals, times) = if has("--quick") || !has("--bench") {
        (20, 1)
    } else {
        (2000, 7)
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    let places = [memory.as_ref().map(|it| it.path()), Some(directory.path())];

    println!("{intervals} intervals, MB/s of text or of columns of 8 bytes a value");
    print!("{:>12} {:>8} {:>10}", "series", "format", "rows");
    println!(
        " {:>8} {:>10} {:>10} {:>10} {:>10}",
        "MB", "to memory", "ns/value", "to a file", "copied"
    );
    for sheet in [links(intervals), connections(intervals), classes(intervals)] {
        let named = Format::ALL.iter().any(|format| has(format.name()));
        for format in Format::ALL
            .into_iter()
            .filter(|it| !named || has(it.name()))
        {
            print!("{:>12} {format:>8}", sheet.table.name);
            if format.is_available() {
                measure(&sheet, format, places, times);
            } else {
                println!("  skipped: add `--features {format}`");
            }
        }
    }
}

/// The rows of a series.
struct BenchTable {
    table: Table,
    names: Vec<Names>,
    /// Name indices of each row, the same in every interval.
    keys: Vec<Vec<usize>>,
    /// Values, row by row.
    values: Vec<f64>,
}

/// Prints a line of the table: the rates at both places.
fn measure(sheet: &BenchTable, format: Format, places: [Option<&Path>; 2], times: usize) {
    let columns = sheet.table.values.len();
    let rows = sheet.values.len() / columns;
    print!(" {rows:>10}");
    let mut size = None;
    let [memory, file] = places.map(|place| {
        let place = place?;
        let all = (0..times).map(|_| {
            let clock = Instant::now();
            let path = sheet.write(place, format);
            let elapsed_s = clock.elapsed().as_secs_f64();
            size = Some(path.metadata().expect("a file").len());
            elapsed_s
        });
        Some(all.fold(f64::INFINITY, f64::min))
    });
    let bytes = size.unwrap_or(0) as f64;
    let counted = match format {
        Format::Parquet => (8 * rows * sheet.table.columns().count()) as f64,
        _ => bytes,
    };
    let rate = |time_s: Option<f64>| time_s.map(|time_s| counted / time_s / 1e6);
    let text = |number: Option<f64>, digits| {
        number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
    };
    let per_value = memory.map(|time_s| time_s / (rows * columns) as f64 * 1e9);
    let copied = copy_s(places[1], bytes as usize, times);
    println!(
        " {:>8.1} {:>10} {:>10} {:>10} {:>10}",
        bytes / 1e6,
        text(rate(memory), 0),
        text(per_value, 1),
        text(rate(file), 0),
        text(copied.map(|time_s| bytes / time_s / 1e6), 0)
    );
}

/// Returns the time in seconds to write `bytes` bytes to a file.
fn copy_s(place: Option<&Path>, bytes: usize, times: usize) -> Option<f64> {
    let path = place?.join("copied");
    let chunk = vec![b'0'; 256 * 1024];
    let all = (0..times).map(|_| {
        let clock = Instant::now();
        let mut file = File::create(&path).expect("room for a file");
        for _ in 0..bytes / chunk.len() {
            file.write_all(&chunk).expect("room for the bytes");
        }
        file.write_all(&chunk[..bytes % chunk.len()])
            .expect("room for the bytes");
        let elapsed_s = clock.elapsed().as_secs_f64();
        drop(file);
        std::fs::remove_file(&path).expect("a file");
        elapsed_s
    });
    Some(all.fold(f64::INFINITY, f64::min))
}

impl BenchTable {
    fn new(table: Table, names: Vec<Names>, keys: Vec<Vec<usize>>) -> BenchTable {
        BenchTable {
            table,
            names,
            keys,
            values: Vec::new(),
        }
    }

    /// Writes the series and returns the path of the file.
    fn write(&self, directory: &Path, format: Format) -> PathBuf {
        let names: Vec<&Names> = self.names.iter().collect();
        let mut exporter = export(directory, self.table, format, &names).expect("a directory");
        let mut rows = self.values.chunks_exact(self.table.values.len());
        let mut interval = 0.0;
        while rows.len() > 0 {
            interval += 1.0;
            exporter.interval(interval * 0.5);
            for (keys, row) in self.keys.iter().zip(&mut rows) {
                exporter.row(keys, row).expect("room for a row");
            }
        }
        let file = exporter.finish().expect("room for the file");
        let path = file.path().to_owned();
        netflow_files::publish(&[], [file]).expect("a name");
        path
    }
}

/// Generator of numbers between 0 and 1 with full mantissas.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a log-uniform number between `low` and `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }

    /// Returns a loss probability, which is 0 or almost 0 in some cases.
    fn loss(&mut self) -> f64 {
        match self.next() {
            none if none < 0.25 => 0.0,
            little if little < 0.27 => self.between(1e-12, 1e-5),
            _ => self.between(1e-5, 0.1),
        }
    }
}

fn link_names() -> Names {
    let name = |i| format!("R{}->R{}", i % 100, i * 7 % 100);
    (0..LINK_COUNT).map(name).collect()
}

fn connection_names() -> Names {
    (0..CONNECTION_COUNT).map(|i| format!("c{i}")).collect()
}

/// Returns rows of links, 10 % of which are idle.
fn links(intervals: usize) -> BenchTable {
    let keys = (0..LINK_COUNT).map(|link| vec![link]).collect();
    let mut sheet = BenchTable::new(LINKS, vec![link_names()], keys);
    let mut random = Random(1);
    for _ in 0..intervals * LINK_COUNT {
        let row = if random.next() < 0.1 {
            [0.0, 0.0, 0.0, 0.0, 0.0, f64::NAN]
        } else {
            let utilization = random.next();
            let departure_pps = 4000.0 * utilization;
            let loss = random.loss();
            let queue_pkts = random.between(0.01, 50.0);
            [
                departure_pps / (1.0 - loss),
                departure_pps,
                queue_pkts,
                loss,
                utilization,
                queue_pkts / departure_pps,
            ]
        };
        sheet.values.extend(row);
    }
    sheet
}

/// Returns rows of connections, 20 % of which are silent.
fn connections(intervals: usize) -> BenchTable {
    let keys = (0..CONNECTION_COUNT).map(|it| vec![it]).collect();
    let mut sheet = BenchTable::new(CONNECTIONS, vec![connection_names()], keys);
    let mut random = Random(2);
    for _ in 0..intervals * CONNECTION_COUNT {
        let row = if random.next() < 0.2 {
            [0.0, 0.0, f64::NAN, f64::NAN, f64::NAN]
        } else {
            let (send_pps, loss) = (random.between(1.0, 4000.0), random.loss());
            let rtt_s = random.between(0.005, 0.5);
            [send_pps, send_pps * (1.0 - loss), rtt_s, loss, 0.45 * rtt_s]
        };
        sheet.values.extend(row);
    }
    sheet
}

fn classes(intervals: usize) -> BenchTable {
    let hops = |connection| (0..HOPS).map(move |hop| (connection * 7 + hop * 31) % LINK_COUNT);
    let keys = (0..CONNECTION_COUNT).flat_map(|it| hops(it).map(move |link| vec![link, it]));
    let names = vec![link_names(), connection_names()];
    let mut sheet = BenchTable::new(CLASSES, names, keys.collect());
    let mut random = Random(3);
    for _ in 0..intervals * sheet.keys.len() {
        let row = [random.between(0.01, 50.0), random.between(1.0, 4000.0)];
        sheet.values.extend(row);
    }
    sheet
}
