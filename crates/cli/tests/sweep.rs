//! Tests of sweeps by the command: killed and resumed, in shards, compared with `solve` and `run`,
//! rejected.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Workplace, files, text};

/// A sweep of 288 cases, 2 per chunk.
const SWEEP: [&str; 9] = [
    "sweep",
    "random.toml",
    "--vary",
    "link.*.buffer=10..80 pkt/6",
    "--vary",
    "link.*.bandwidth=5 Mbit/s,10 Mbit/s,20 Mbit/s,40 Mbit/s",
    "--fail",
    "each-link",
    "--quiet",
];

fn place() -> Workplace {
    let place = Workplace::new();
    place.expect("new random --nodes 10 --seed 3 -o random.toml", 0);
    place
}

fn sweep(place: &Workplace, more: &[&str]) -> Command {
    place.netflow(SWEEP.iter().chain(more))
}

/// Returns the number of complete files while others are being written.
fn finished_chunks(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).fold(0, |all, path| {
        if path.is_dir() {
            all + finished_chunks(&path)
        } else {
            all + usize::from(path.extension().is_none_or(|it| it != "partial"))
        }
    })
}

fn run_to_success(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Returns the rows of a table as texts by column, in the order of cases.
fn table(directory: &Path) -> Vec<BTreeMap<String, String>> {
    let mut rows = Vec::new();
    for (_, bytes) in files(directory) {
        rows.extend(parse(&text(&bytes)));
    }
    rows
}

fn parse(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(cells)
            .collect()
    };
    lines.map(row).collect()
}

#[test]
fn killed_sweep_resumes_to_equal_tables() {
    let place = place();
    let began = Instant::now();
    run_to_success(sweep(&place, &["-o", "whole", "--threads", "1"]));
    let took = began.elapsed();
    let whole = files(&place.path("whole"));
    let parts = place.path("parts");
    let mut random = 0x9e37_79b9_u32;
    let mut killed = 0;
    for kill in 0..20 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let part = f64::from(random >> 8) / f64::from(1 << 24);
        // The kill occurs in the next sixteenth of the files, in the middle of a file. Some files remain
        // for the next iteration at any speed of the machine.
        let enough = finished_chunks(&parts) + (part * whole.len() as f64 / 16.0) as usize;
        let mut child = sweep(&place, &["-o", "parts", "--threads", "2"]);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        while finished_chunks(&parts) < enough && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(took.mul_f64(part / whole.len() as f64));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap(); // -9
            killed += 1;
        }
        child.wait().unwrap();
        // Files with final names are complete.
        for (name, bytes) in parts.exists().then(|| files(&parts)).into_iter().flatten() {
            let is_partial = name.to_string_lossy().ends_with(".partial");
            assert!(
                is_partial || whole.contains(&(name.clone(), bytes)),
                "{kill}: {}",
                name.display()
            );
        }
    }
    assert!(killed > 5, "{killed}");
    run_to_success(sweep(&place, &["-o", "parts"]));
    assert!(files(&place.path("parts")) == whole);
}

#[test]
fn parallel_shards_give_complete_tables() {
    let place = place();
    run_to_success(sweep(&place, &["-o", "whole"]));
    let shard = |shard: &'static str| {
        sweep(&place, &["-o", "parts", "--shard", shard])
            .spawn()
            .unwrap()
    };
    for mut child in ["1/3", "2/3", "3/3"].map(shard) {
        assert!(child.wait().unwrap().success());
    }
    assert!(files(&place.path("parts")) == files(&place.path("whole")));
}

#[test]
fn signal_stops_sweep_and_keeps_finished_chunks() {
    let place = Workplace::new();
    place.expect("new random --nodes 100 -o random.toml", 0);
    for signal in ["-INT", "-TERM"] {
        let mut command = place.netflow([
            "sweep",
            "random.toml",
            "--vary",
            "link.*.buffer=10..80 pkt/30",
            "--fail",
            "each-link",
            "-o",
            signal.trim_start_matches('-'),
        ]);
        let out = place.path(signal.trim_start_matches('-'));
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let receipts = out.join("chunks");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !receipts.is_dir() || fs::read_dir(&receipts).unwrap().count() < 2 {
            assert!(Instant::now() < deadline, "there are no chunks");
            std::thread::sleep(Duration::from_millis(10));
        }
        let told = Instant::now();
        let process = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &process])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        assert!(
            told.elapsed() < Duration::from_millis(2500),
            "{:?}",
            told.elapsed()
        );
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        let left = files(&out);
        assert!(
            left.iter()
                .all(|(name, _)| !name.to_string_lossy().contains(".partial"))
        );
    }
}

#[test]
fn cases_match_solve() {
    let place = Workplace::new();
    place.expect(
        "sweep dumbbell.toml --vary link.R->S.bandwidth=1Mbit/s,2Mbit/s --vary link.*.buffer=20..60pkt/3 -o out --format csv",
        0,
    );
    let said = |buffer: &str, bandwidth: &str| {
        let command = format!(
            "solve dumbbell.toml --set link.R->S.bandwidth={bandwidth} --set link.*.buffer={buffer} --format csv"
        );
        text(&place.expect(&command, 0).stdout)
    };
    let mut compared = 0;
    for (case, (bandwidth, buffer)) in [
        ("1Mbit/s", "20pkt"),
        ("1Mbit/s", "40pkt"),
        ("1Mbit/s", "60pkt"),
        ("2Mbit/s", "20pkt"),
        ("2Mbit/s", "40pkt"),
        ("2Mbit/s", "60pkt"),
    ]
    .into_iter()
    .enumerate()
    {
        let solved = said(buffer, bandwidth);
        let solved = solved.strip_prefix("# links\n").unwrap();
        let (links, connections) = solved.split_once("# connections\n").unwrap();
        compared += compare(&place, case, [links, connections]);
    }
    assert!(compared > 300, "{compared}");
}

/// Compares the rows of a case with the tables of links and connections that a command printed. Returns
/// the number of compared values.
fn compare(place: &Workplace, case: usize, printed: [&str; 2]) -> usize {
    let mut compared = 0;
    for (name, printed) in ["links", "connections"].into_iter().zip(printed) {
        let rows = table(&place.path("out").join(name)).into_iter();
        let rows: Vec<_> = rows.filter(|row| row["case"] == case.to_string()).collect();
        let expected = parse(printed);
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            for (column, value) in expected {
                assert_eq!(&row[column], value, "case {case}, {column}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn cases_match_run() {
    let place = Workplace::new();
    place.expect(
        "sweep dumbbell.toml --vary link.R->S.bandwidth=1Mbit/s,2Mbit/s --model packet --seeds 2 \
         --set connection.*.source={ns2-tcp=\"reno\"} -o out --format csv",
        0,
    );
    let mut compared = 0;
    for (case, (bandwidth, seed)) in [
        ("1Mbit/s", 1),
        ("1Mbit/s", 2),
        ("2Mbit/s", 1),
        ("2Mbit/s", 2),
    ]
    .into_iter()
    .enumerate()
    {
        let command = format!(
            "run dumbbell.toml --set link.R->S.bandwidth={bandwidth} --set simulation.model=packet \
             --set connection.*.source={{ns2-tcp=\"reno\"}} --set simulation.seed={seed} --format csv"
        );
        let said = text(&place.expect(&command, 0).stdout);
        let said = said.strip_prefix("# links\n").unwrap();
        let (links, connections) = said.split_once("\n# connections\n").unwrap();
        compared += compare(&place, case, [links, connections]);
    }
    assert!(compared > 300, "{compared}");
}

/// A figure shows the means of the tables and Student's confidence interval around them, equal in any
/// format.
#[test]
fn figure_matches_tables() {
    /// The 97.5 % quantile of Student's t with two degrees of freedom.
    const T: f64 = 4.302_652_729_911_275;
    let place = place();
    let formats: &[&str] = if cfg!(feature = "parquet") {
        &["csv", "parquet"]
    } else {
        &["csv"]
    };
    let only = "connection.*.source={ ns2-tcp = 'reno' }";
    let mut figures = Vec::new();
    for format in formats {
        let sweep = [
            "sweep",
            "random.toml",
            "--set",
            "simulation.duration=5s",
            "--set",
            only,
        ];
        let vary = [
            "--vary",
            "link.*.buffer=5,20 pkt",
            "--vary",
            "link.*.bandwidth=5,10,20 Mbit/s",
        ];
        let run = [
            "--model", "packet", "--seeds", "3", "--quiet", "--format", format, "-o", format,
        ];
        run_to_success(place.netflow(sweep.iter().chain(&vary).chain(&run)));
        let refused = place.expect(&format!("report {format} --figure sweep --only R*->R*"), 2);
        let refused = text(&refused.stderr);
        assert!(refused.contains("more than the maximum of 24"), "{refused}");
        let link = table(&place.path("csv/links"))[0]["link"].clone();
        let report = [
            "report", format, "--figure", "sweep", "--only", &link, "--data",
        ];
        let panels = ["--panels", "utilization,mean_queue_pkts"];
        let svg = format!("{format}.svg");
        run_to_success(place.netflow(report.iter().chain(&panels).chain(&["-o", &svg])));
        figures.push(fs::read_to_string(place.path(&format!("{format}.csv"))).unwrap());
    }
    assert!(figures.windows(2).all(|pair| pair[0] == pair[1]));
    let figure = parse(&figures[0]);
    // Two panels, a curve for each buffer, three bandwidths.
    assert_eq!(figure.len(), 12);
    let rows = table(&place.path("csv/links"));
    for point in &figure {
        let (column, factor) = match point["panel"].split(' ').next() {
            Some("utilization") => ("utilization", 100.0),
            _ => ("mean_queue_pkts", 1.0),
        };
        let number = |text: &str| text.parse::<f64>().unwrap();
        let buffer = number(point["curve"].split(' ').nth(1).unwrap());
        let seeds = rows.iter().filter(|row| {
            row["link"] == rows[0]["link"]
                && number(&row["link.*.buffer"]) == buffer
                && number(&row["link.*.bandwidth"]) == number(&point["x"])
        });
        let seeds: Vec<f64> = seeds.map(|row| factor * number(&row[column])).collect();
        assert_eq!(seeds.len(), 3);
        let mean = seeds.iter().sum::<f64>() / 3.0;
        let squares: f64 = seeds.iter().map(|seed| (seed - mean).powi(2)).sum();
        let half = T * (squares / 2.0).sqrt() / 3.0_f64.sqrt();
        let near = |told: &str, is: f64| {
            let told = number(&point[told]);
            assert!(
                (told - is).abs() <= 1e-5 * is.abs().max(1e-3),
                "{told} and {is}: {point:?}"
            );
        };
        near("y", mean);
        near("low", (mean - half).max(0.0));
        let most = if factor == 100.0 {
            100.0
        } else {
            f64::INFINITY
        };
        near("high", (mean + half).min(most));
    }
    // A sweep with a missing chunk is rejected.
    let receipts = place.path("csv/chunks");
    let receipt = fs::read_dir(receipts).unwrap().next().unwrap().unwrap();
    fs::remove_file(receipt.path()).unwrap();
    let refused = text(&place.expect("report csv --figure sweep", 3).stderr);
    assert!(refused.contains("is incomplete: 1 of its"), "{refused}");
}

#[test]
fn invalid_command_lines_are_rejected() {
    let place = Workplace::new();
    fs::write(place.path("file"), "").unwrap();
    let vary = "--vary link.R->S.buffer=10pkt,20pkt";
    for (arguments, code, message) in [
        (format!("{vary} --shard 1/2"), 2, "`-o DIR`"),
        (format!("{vary} --format csv"), 2, "`-o DIR`"),
        (format!("{vary} --force"), 2, "`-o DIR`"),
        (format!("{vary} -o out --top 3"), 2, "cannot be used with"),
        (
            format!("{vary} -o out --shard 4/3"),
            2,
            "shard 4 of 3 does not exist; write 1/3 to 3/3",
        ),
        (
            format!("{vary} -o out --shard 0/3"),
            2,
            "shard 0 of 3 does not exist",
        ),
        (
            format!("{vary} -o out --shard three"),
            2,
            "write I/N, such as 2/3",
        ),
        (format!("{vary} -o out --fail every-node"), 2, "each-link"),
        (
            format!("{vary} -o out --model ns2"),
            2,
            "solve, fluid, packet",
        ),
        (
            format!("{vary} -o out --seeds 0"),
            2,
            "0 is not in 1..=1000000",
        ),
        (
            format!("{vary} -o out --seeds 3"),
            2,
            "steady states are not random",
        ),
        (
            format!("{vary} -o out --format jsonl"),
            2,
            "possible values: parquet, csv",
        ),
        (
            format!("{vary} -o out --force --shard 1/2"),
            2,
            "cannot be used with",
        ),
        (
            format!("{vary} -o file"),
            3,
            "cannot write file: not a directory",
        ),
        (format!("{vary} -o /proc/out"), 3, "cannot write /proc/out"),
        (
            "--vary link.R->S.buffer=10pkt..5pkt/3 -o out".to_owned(),
            2,
            "does not increase",
        ),
        (
            "--vary link.R->X.buffer=10pkt,5pkt -o out".to_owned(),
            2,
            "unknown link `R->X`",
        ),
        (
            "--vary link.R->S.buffer=10pkt,5elephants -o out".to_owned(),
            2,
            "elephants",
        ),
        (
            "--vary link.R->S.delay=1..2ms/100000 --vary link.A->R.delay=1..2ms/100000 -o out"
                .to_owned(),
            2,
            "the sweep has 10000000000 cases",
        ),
    ] {
        let output = place.expect(&format!("sweep dumbbell.toml {arguments}"), code);
        let said = text(&output.stderr);
        assert!(said.contains(message), "{arguments}: {said}");
        assert!(!place.path("out").exists(), "{arguments}");
    }
    let missing = place.expect("sweep none.toml -o out", 3);
    assert!(text(&missing.stderr).contains("none.toml"));
}
