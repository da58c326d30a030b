//! Benchmark of the trace readers, compared with `wc -l` and `awk` on the same file in the same run:
//! `cargo bench -p netflow-trace --bench reading`. Under `cargo test` the file is small.
//!
//! The file is the sample trace of the tests, repeated. It is read once before the measurements, so that
//! it is in the page cache. Every figure is the best of three runs on one thread.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use netflow_trace::{EventKind, Link, open};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference");

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let size = if full { 500 << 20 } else { 5 << 20 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = decompressed("ns2/traces/ex1_w10000_first7s_seed1.tr.gz");
    let trace = folder.path().join("trace.tr");
    repeat(&trace, &[], &text, size);
    println!("ns-2 trace of {} MB", megabytes(&trace));
    let wc = measure("wc -l", &trace, || {
        shell(&["wc", "-l"], &trace);
    });
    let awk = measure("awk, drops per link", &trace, || {
        shell(&["awk", DROPS], &trace);
    });
    let all = measure("netflow, every event with all its fields", &trace, || {
        count_drops(&trace, false);
    });
    let drops = measure("netflow, drops per link", &trace, || {
        count_drops(&trace, true);
    });
    println!(
        "  drops per link: {:.1} times as fast as awk, {:.2} times as fast as wc -l",
        awk / drops,
        wc / drops
    );
    println!(
        "  every event:    {:.1} times as fast as awk, {:.2} times as fast as wc -l",
        awk / all,
        wc / all
    );
    assert_eq!(
        shell(&["awk", DROPS], &trace),
        listed(&count_drops(&trace, true))
    );
    assert_eq!(count_drops(&trace, false), count_drops(&trace, true));

    let capture = decompressed("linux/reno_0.1_60_0.pcap.gz");
    let (header, records) = capture.split_at(24);
    let path = folder.path().join("capture.pcap");
    repeat(&path, header, records, size);
    println!("pcap of {} MB", megabytes(&path));
    measure("netflow, every packet", &path, || {
        count_drops(&path, false);
    });

    let packed = Path::new(SAMPLES).join("ns2/traces/ex1_w10000_first7s_seed1.tr.gz");
    let before = Instant::now();
    count_drops(&packed, false);
    let seconds = before.elapsed().as_secs_f64();
    println!(
        "gzip: {:.0} MB/s of the {} MB inside",
        text.len() as f64 / 1e6 / seconds,
        text.len() / 1_000_000
    );
}

/// awk program that prints every link with its drops.
const DROPS: &str = r#"$1 == "d" { n[$3 "->" $4]++ } END { for (l in n) print l, n[l] }"#;

fn count_drops(trace: &Path, only_drops: bool) -> BTreeMap<Link, u64> {
    let mut reader = open(trace).expect("it was just written");
    if only_drops {
        reader.retain_kinds(&[EventKind::Dropped]);
    }
    let mut drops = BTreeMap::new();
    while let Some(event) = reader.next().expect("it can be read") {
        if let (EventKind::Dropped, Some(link)) = (event.kind, event.link) {
            *drops.entry(link).or_insert(0) += 1;
        }
    }
    // Time starts again with each repetition of the capture.
    let set_back = |fault: &netflow_trace::Fault| fault.message.ends_with("the clock was set back");
    assert!(reader.faults().first.iter().all(set_back));
    drops
}

fn listed(drops: &BTreeMap<Link, u64>) -> String {
    let lines = drops
        .iter()
        .map(|(link, n)| format!("{}->{} {n}\n", link.from, link.to));
    lines.collect()
}

fn shell(command: &[&str], file: &Path) -> String {
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(file)
        .output();
    let mut lines: Vec<String> = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|l| format!("{l}\n"))
            .collect(),
        Err(error) => panic!("{}: {error}", command[0]),
    };
    lines.sort();
    lines.concat()
}

/// Returns the best of three run times, in seconds.
fn measure(what: &str, file: &Path, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let before = Instant::now();
        run();
        best = best.min(before.elapsed().as_secs_f64());
    }
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    println!(
        "  {what}: {best:.3} s, {:.0} MB/s",
        size as f64 / 1e6 / best
    );
    best
}

fn decompressed(name: &str) -> Vec<u8> {
    let path = Path::new(SAMPLES).join(name);
    let mut bytes = Vec::new();
    let file = File::open(&path).expect("a sample");
    MultiGzDecoder::new(file)
        .read_to_end(&mut bytes)
        .expect("a sample");
    bytes
}

fn repeat(path: &PathBuf, header: &[u8], part: &[u8], size: usize) {
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    out.write_all(header).expect("room");
    for _ in 0..size.div_ceil(part.len()) {
        out.write_all(part).expect("room");
    }
    out.flush().expect("room");
    fs::read(path).expect("what was written");
}

fn megabytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len()) / 1_000_000
}
