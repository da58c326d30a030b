//! Tests with hostile input: no hanging, no unbounded memory, no overwriting, no incomplete files.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{RESULTS, Workplace, names, text};
use netflow::results::Results;
use netflow_problems::random_scenario;

/// Runs netflow in a shell with a resource limit.
fn limited(place: &Workplace, limit: &str, arguments: &str) -> std::process::Output {
    let shell = format!(
        "{limit}; exec {} {arguments}",
        env!("CARGO_BIN_EXE_netflow")
    );
    Command::new("bash")
        .args(["-c", &shell])
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Regression: the signal for a too large file ended the process and left partial files.
#[test]
fn full_disk_keeps_old_files() {
    let place = Workplace::new();
    let fresh = |kilobytes: usize| {
        let output = limited(
            &place,
            &format!("ulimit -f {kilobytes}"),
            "run dumbbell.toml -q -o out --interval 20ms",
        );
        (output.status.code(), text(&output.stderr))
    };
    let random = (0..rounds(0)).map(|round| moment(round).subsec_micros() as usize % 150);
    for kilobytes in [0, 1, 4, 64, 128].into_iter().chain(random) {
        let (code, said) = fresh(kilobytes);
        assert_eq!(code, Some(3), "{kilobytes} KB: {said}");
        assert!(said.contains("too large"), "{said}");
        assert_eq!(names(&place.path("out")), Vec::<String>::new(), "{said}");
    }

    place.expect("run dumbbell.toml -q -o out", 0);
    let before = fs::read(place.path("out/links.csv")).unwrap();
    assert_eq!(fresh(64).0, Some(3));
    assert_eq!(names(&place.path("out")), RESULTS);
    assert_eq!(fs::read(place.path("out/links.csv")).unwrap(), before);
    assert!(Results::open(place.path("out")).unwrap().manifest.complete);
}

/// Regression: a symbolic link `.links.csv.partial` to another file was followed.
#[test]
fn symlinks_in_results_are_not_followed() {
    let place = Workplace::new();
    fs::write(place.path("victim"), "precious").unwrap();
    place.expect("run dumbbell.toml -q -o out", 0);
    place.expect("report out -o page.html", 0);
    let page = fs::read_to_string(place.path("page.html")).unwrap() + "precious";
    fs::write(place.path("page.html"), &page).unwrap();
    for (name, to) in [
        (".links.csv.partial", "victim"),
        ("links.csv", "victim"),
        ("summary.json", "victim"),
        ("report.html", "page.html"),
    ] {
        let link = place.path("out").join(name);
        let _ = fs::remove_file(&link);
        symlink(place.path(to), link).unwrap();
    }
    place.expect("run dumbbell.toml -q -o out", 0);
    place.expect("report out -o out/report.html", 0);
    place.expect("new dumbbell -o out/.links.csv.partial", 0);
    assert_eq!(fs::read(place.path("victim")).unwrap(), b"precious");
    assert_eq!(fs::read_to_string(place.path("page.html")).unwrap(), page);
    assert!(
        fs::symlink_metadata(place.path("out/report.html"))
            .unwrap()
            .is_file()
    );
    symlink(place.path("victim"), place.path("out/whole.csv")).unwrap();
    fs::remove_file(place.path("out/manifest.json")).unwrap();
    place.expect("run dumbbell.toml -q -o out", 3);
    assert_eq!(fs::read(place.path("victim")).unwrap(), b"precious");
}

/// Regression: two runs into one directory reported success although the files were a mixture of both.
#[test]
fn concurrent_runs_into_one_directory_are_rejected() {
    let place = Workplace::new();
    for _ in 0..rounds(3) {
        let start = |every: &str| {
            let arguments = [
                "run",
                "dumbbell.toml",
                "-q",
                "-o",
                "out",
                "--interval",
                every,
            ];
            let mut command = place.netflow(arguments);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let runs = ["10ms", "11ms", "12ms", "13ms"].map(start);
        let ended = runs.map(|run| run.wait_with_output().unwrap());
        let wins = ended.iter().filter(|it| it.status.success()).count();
        assert!(wins >= 1);
        for output in ended.iter().filter(|it| !it.status.success()) {
            assert_eq!(output.status.code(), Some(3));
            let said = text(&output.stderr);
            assert!(said.contains("another run is writing to out"), "{said}");
        }
        assert_eq!(names(&place.path("out")), RESULTS);
        let results = Results::open(place.path("out")).unwrap();
        let (links, connections) = (results.links().unwrap(), results.connections().unwrap());
        assert_eq!(links.len(), 3 * connections.len());
        assert!(links.is_sorted_by_key(|row| row.time_s));
        assert_eq!(links.last().unwrap().time_s, 20.0);
    }
}

/// Regression: reading special files, or reporting errors about them, took all memory or never ended.
#[test]
fn special_files_are_rejected_immediately() {
    let place = Workplace::new();
    let made = Command::new("mkfifo").arg(place.path("pipe.toml")).status();
    assert!(made.unwrap().success());
    for name in ["endless.toml", "endless.csv"] {
        symlink("/dev/zero", place.path(name)).unwrap();
    }
    fs::create_dir(place.path("results")).unwrap();
    symlink("/dev/zero", place.path("results/summary.json")).unwrap();
    symlink("/dev/zero", place.path("results/manifest.json")).unwrap();
    let commands = [
        ("run /dev/zero", "it is a device"),
        ("check pipe.toml", "it is a pipe"),
        ("check endless.toml", "it is a device"),
        ("run dumbbell.toml --set include.links=pipe.toml", ""),
        ("profile show endless.toml", "it is a device"),
        ("profile show pipe.toml", "it is a pipe"),
        (
            "latency --stack endless.toml --size 10KB --delay 10ms",
            "it is a device",
        ),
        ("report results -o x.html", "it is a device"),
        (
            "mark --committed-rate 1Mbit/s --peak-rate 2Mbit/s endless.csv",
            "a line is longer than 1 MB",
        ),
        ("profile fit endless.csv", ""),
        ("trace summary /dev/zero", ""),
    ];
    for (command, says) in commands {
        let started = Instant::now();
        let output = limited(&place, "ulimit -v 4000000", command);
        let said = text(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(1..=3)), "{command}: {code:?} {said}");
        assert!(said.contains(says), "{command}: {said}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(10), "{command}: {took:?}");
    }
}

/// Regression: the first line of `/etc/shadow` was shown as the invalid header of a table.
#[test]
fn scenario_cannot_read_outside_its_directory() {
    let place = Workplace::new();
    fs::create_dir(place.path("inner")).unwrap();
    fs::write(place.path("secret.csv"), "classified\n").unwrap();
    fs::write(place.path("secret.toml"), "classified = 1\n").unwrap();
    symlink(place.path("secret.csv"), place.path("inner/linked.csv")).unwrap();
    let outside = place.path("secret.csv").display().to_string();
    let start = "[simulation]\nduration = \"1 s\"\n";
    for name in ["../secret.csv", &outside, "linked.csv", "../missing.csv"] {
        let scenario = format!("{start}[include]\nlinks = {name:?}\n");
        fs::write(place.path("inner/topology.toml"), scenario).unwrap();
        let said = text(&place.expect("check inner/topology.toml", 3).stderr);
        assert!(
            said.contains("is not below the scenario's directory"),
            "{said}"
        );
        assert!(said.contains("--allow-outside"), "{said}");
        assert!(!said.contains("classified"), "{said}");
    }
    let source =
        "[[connection]]\nfrom=\"A\"\nto=\"B\"\nsource = { profile = \"../secret.toml\" }\n";
    fs::write(
        place.path("inner/topology.toml"),
        format!("{start}{source}"),
    )
    .unwrap();
    let said = text(&place.run("check inner/topology.toml").stderr);
    assert!(
        said.contains("is not below the scenario's directory"),
        "{said}"
    );
    let said = text(
        &place
            .run("check inner/topology.toml --allow-outside")
            .stderr,
    );
    assert!(said.contains("classified"), "with leave it is read: {said}");
}

/// A scenario can be read from a pipe as the standard input.
#[test]
fn scenario_is_read_from_stdin() {
    let place = Workplace::new();
    let file = fs::File::open(place.path("dumbbell.toml")).unwrap();
    let output = place.netflow(["check", "-"]).stdin(file).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("ok: "));
}

/// Regression: control characters of keys, headers, names and quoted lines reached the terminal.
#[test]
fn output_has_no_terminal_controls() {
    let place = Workplace::new();
    let escape = "\u{1b}]0;mine\u{7}\u{202e}";
    let dumbbell = common::DUMBBELL;
    let named = dumbbell.replace(
        "name = \"first\"",
        &format!("name = {:?}", "fi\u{1b}[2Jrst"),
    );
    let named = named.replace("\\u{1b}", "\\u001b");
    let scenarios = [
        ("key", format!("{dumbbell}\n\"k{escape}\" = 1\n")),
        (
            "line",
            dumbbell.replace("\"20 s\"", &format!("\"20 {escape}s\"")),
        ),
        ("name", named),
    ];
    for (name, text) in &scenarios {
        fs::write(place.path(&format!("{name}.toml")), text).unwrap();
    }
    fs::write(place.path(&format!("f{escape}.toml")), "x = 1").unwrap();
    let commands = [
        vec!["check".to_owned(), "key.toml".to_owned()],
        vec!["check".to_owned(), "line.toml".to_owned()],
        vec!["run".to_owned(), "name.toml".to_owned()],
        vec!["run".to_owned(), format!("f{escape}.toml")],
        vec![
            "profile".to_owned(),
            "show".to_owned(),
            format!("g{escape}.toml"),
        ],
        vec![
            "trace".to_owned(),
            "summary".to_owned(),
            format!("h{escape}"),
        ],
    ];
    for command in commands {
        let output = place.netflow(&command).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        let obeyed = ['\u{1b}', '\u{7}', '\u{202e}'];
        assert!(!said.contains(obeyed), "{command:?}: {said:?}");
        assert!(
            said.contains("\\u001b") || said.contains("??"),
            "{command:?}: {said:?}"
        );
    }
}

/// Regression: the exit code was 0 if the help could not be written.
#[test]
fn unwritable_help_exits_with_3() {
    let place = Workplace::new();
    for arguments in [["--help"].as_slice(), &["run", "--help"], &["--version"]] {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let status = place.netflow(arguments).stdout(full).status().unwrap();
        assert_eq!(status.code(), Some(3), "{arguments:?}");
    }
}

/// Returns the number of repetitions with random times. `NETFLOW_ROUNDS=300` selects a long test.
fn rounds(short: u64) -> u64 {
    let asked = std::env::var("NETFLOW_ROUNDS");
    asked.map_or(short, |asked| asked.parse().expect("a number of rounds"))
}

/// Returns a pseudo-random time below 1 s, which is the same in every run of the test.
fn moment(round: u64) -> Duration {
    Duration::from_micros(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000)
}

/// A killed run leaves complete files, no files, or partial files with partial names. The next run
/// succeeds.
#[test]
fn killed_run_leaves_no_incomplete_results() {
    let place = Workplace::new();
    let arguments = [
        "run",
        "dumbbell.toml",
        "-q",
        "-o",
        "out",
        "--interval",
        "3ms",
    ];
    let mut killed = 0;
    for round in 0..rounds(5) {
        let mut netflow = place.netflow(arguments);
        netflow.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = netflow.spawn().unwrap();
        std::thread::sleep(moment(round).div_f64(4.0));
        run.kill().unwrap();
        killed += u64::from(!run.wait().unwrap().success());
        let directory = place.path("out");
        if directory.join("manifest.json").exists() {
            let results = Results::open(&directory).unwrap();
            assert!(results.manifest.complete);
            assert_eq!(results.links().unwrap().last().unwrap().time_s, 20.0);
            assert_eq!(results.connections().unwrap().last().unwrap().time_s, 20.0);
        }
        if round % 5 == 4 {
            place.expect("run dumbbell.toml -q -o out", 0);
            assert_eq!(names(&directory), RESULTS);
        }
    }
    assert!(killed > 0, "every run was faster");
}

/// After a signal at any time, every run ends soon. It leaves files that are complete up to then, or none
/// if it had not started.
#[test]
fn interrupted_run_leaves_complete_files() {
    let place = Workplace::new();
    let rounds = rounds(8);
    let (next, stopped) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        break;
                    }
                    let left_files = interrupt_run(&place, round);
                    stopped.fetch_add(u64::from(left_files), Ordering::Relaxed);
                }
            });
        }
    });
    let stopped = stopped.into_inner();
    println!("{stopped} of {rounds} were stopped and left files");
    assert!(stopped > 0, "every run was faster");
}

/// Runs the random scenario of this number with 100 times its duration, and signals it to end. Returns
/// whether it stopped with files.
fn interrupt_run(place: &Workplace, round: u64) -> bool {
    let (name, out) = (format!("random{round}.toml"), format!("out{round}"));
    let scenario = random_scenario(round);
    // Packets of the published equations do not balance, which ends a complete run with 1.
    let is_literal = scenario.text.contains("fluid-literal");
    fs::write(place.path(&name), scenario.text).unwrap();
    let duration_s = 100.0 * scenario.duration_s;
    let long = format!("simulation.duration={duration_s} s");
    let mut netflow = place.netflow(["run", &name, "-q", "-o", &out, "--set", &long]);
    netflow.stdout(Stdio::null()).stderr(Stdio::piped());
    let run = netflow.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(20) + moment(round).div_f64(4.0));
    let told = Instant::now();
    let signal = Command::new("kill").arg(run.id().to_string()).status();
    assert!(signal.unwrap().success());
    let output = run.wait_with_output().unwrap();
    let took = told.elapsed();
    assert!(took < Duration::from_millis(2500), "{round}: {took:?}");
    let directory = place.path(&out);
    let code = match output.status.code() {
        Some(1) if is_literal => Some(0),
        code => code,
    };
    let stopped = match code {
        Some(code @ (0 | 130)) if directory.exists() => {
            let results = Results::open(&directory).unwrap();
            let stop = results.manifest.stop.as_ref();
            assert_eq!(stop.is_none(), code == 0, "{round}");
            let stop = stop.map_or(duration_s, |stop| stop.stopped_at_s);
            let mut expected = results.manifest.files.clone();
            expected.extend(
                ["manifest.json", "network.json", "scenario", "summary.json"].map(String::from),
            );
            expected.sort();
            assert_eq!(names(&directory), expected, "{round}");
            if let Some(last) = results.links().unwrap().last() {
                assert!((last.time_s - stop).abs() < 1e-6, "{round}");
            }
            fs::remove_dir_all(directory).unwrap();
            code == 130
        }
        // It had not started, or not installed its handler.
        Some(130) | None => {
            assert!(!directory.exists(), "{round}");
            false
        }
        other => panic!("{round}: {other:?}: {}", text(&output.stderr)),
    };
    fs::remove_file(place.path(&name)).unwrap();
    stopped
}

/// Regression: allocating more memory than the process may have aborted it.
#[test]
fn scenario_exceeding_memory_is_rejected() {
    let place = Workplace::new();
    let rows: String = (0..300_000)
        .map(|i| format!("N{i},N{},1 Mbit/s,1 ms\n", i + 1))
        .collect();
    fs::write(
        place.path("links.csv"),
        "from,to,bandwidth,delay\n".to_owned() + &rows,
    )
    .unwrap();
    let scenario = "[simulation]\nduration = \"1 s\"\n[include]\nlinks = \"links.csv\"\n";
    fs::write(place.path("large.toml"), scenario).unwrap();
    let refused = |limit_kb: u32, arguments: &str, expected: &str| {
        let output = limited(&place, &format!("ulimit -v {limit_kb}"), arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    let rows = "links need about 330 MB of memory";
    refused(200_000, "check large.toml", rows);
    place.expect(
        "new random --nodes 200 --links 600 --connections 20000 -o long.toml",
        0,
    );
    refused(100_000, "check long.toml", " MB of TOML need about ");
    refused(400_000, "run long.toml", "the run needs about ");
}

/// Regression: the number of intervals was derived from the duration in the summary, not from the series.
/// It took 1 GB per million seconds.
#[test]
fn summary_with_wrong_duration_is_rejected() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o out", 0);
    let path = place.path("out/summary.json");
    let summary = fs::read_to_string(&path).unwrap();
    let edited = summary.replace("\"duration_s\": 20.0", "\"duration_s\": 1e9");
    assert_ne!(summary, edited);
    fs::write(&path, edited).unwrap();
    fs::write(
        place.path("out.tr"),
        "+ 0.1 0 1 tcp 1000 ------- 1 0.0 1.0 0 0\n",
    )
    .unwrap();
    let output = limited(&place, "ulimit -v 4000000", "compare out out.tr");
    let said = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1..=3)), "{said}");
    assert!(said.contains("covers 1000000000 s"), "{said}");
}

/// The help states the number in the code.
#[test]
fn help_states_max_flows_of_a_trace() {
    let place = Workplace::new();
    let help = text(&place.expect("trace --help", 0).stdout);
    let most = netflow::trace::sender::MAX_FLOWS.to_string();
    assert!(help.contains(&most), "{help}");
}
