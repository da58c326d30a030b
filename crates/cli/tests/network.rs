//! Tests of `netflow testbed SCENARIO` and `netflow compare --with linux`: real hosts over the network of
//! a scenario. They are skipped if namespaces or TUN devices are not available.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netflow_needs::{Need, skip};

const HOME: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/home-gateway.toml"
);

fn netflow() -> Command {
    Command::new(env!("CARGO_BIN_EXE_netflow"))
}

/// Returns the output, or `None` if no testbed is available.
fn run(command: &mut Command) -> Option<Output> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not available here") {
        skip(Need::Namespaces, &said);
        return None;
    }
    Some(output)
}

/// Hosts resolve each other by name, and a server at one answers a command at another. A capture contains
/// the packets of a link, and the exit code is that of the command.
#[test]
fn commands_run_at_nodes_of_the_network() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("access.pcap");
    let mut command = netflow();
    command.args([
        "testbed", HOME, "--quiet", "--at", "home", "--format", "json",
    ]);
    command
        .arg("--capture")
        .arg(format!("ISP->gateway={}", file.display()));
    command.args(["--serve", "server=echo $NETFLOW_HOST >&2", "--", "sh", "-c"]);
    command.arg("grep -c 10.77 /etc/hosts; echo $NETFLOW_HOST $NETFLOW_ADDRESS; sleep 0.7; exit 7");
    let Some(output) = run(&mut command) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told, "2\nhome 10.77.0.1\n");
    let (served, report) = said.split_once('\n').unwrap();
    assert_eq!(served, "server");
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let access = &report["links"][3];
    assert_eq!(access["link"], "ISP->gateway");
    let arrived = access["arrived_pkts"].as_u64().unwrap();
    assert!(arrived > 100, "{report}");
    // A file header has 24 bytes, a packet header 16. Packets are complete.
    let bytes = fs::metadata(&file).unwrap().len();
    assert!(
        bytes > 24 + arrived * (16 + 40),
        "{bytes} bytes of {arrived} packets"
    );
    let call = &report["connections"][2];
    assert!(call["delay"]["p50_s"].as_f64().unwrap() > 0.0163, "{call}");
}

#[test]
fn scenario_completes_and_reports() {
    let mut command = netflow();
    command.args(["testbed", HOME, "--set", "simulation.duration=2 s"]);
    command.args(["--set", "connection.upload.start=1 s", "--top", "2"]);
    let Some(output) = run(&mut command) else {
        return;
    };
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("ISP->gateway") && told.contains("… and 4 more links"),
        "{told}"
    );
    assert!(
        told.contains("delay p50 ms") && told.contains("2 s, "),
        "{told}"
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("2 hosts, about 3012 packets/s at hosts and 9036 at links"),
        "{said}"
    );
}

#[test]
fn linux_results_are_compared_with_netflow() {
    let place = tempfile::tempdir().unwrap();
    let mut command = netflow();
    command.args([
        "compare", HOME, "--with", "linux", "--quiet", "--seeds", "2",
    ]);
    command.args([
        "--set",
        "simulation.duration=4 s",
        "--set",
        "connection.upload.start=1 s",
    ]);
    command.args(["--format", "json", "-o"]).arg(place.path());
    let Some(output) = run(&mut command) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["referee"], &answer["runs"]),
        (&"linux".into(), &2.into())
    );
    let link = &answer["links"][3];
    assert_eq!(link["link"], "ISP->gateway");
    let (theirs, ours) = (
        &link["queue_pkts"]["referee"]["mean"],
        &link["queue_pkts"]["netflow"],
    );
    let ratio = ours.as_f64().unwrap() / theirs.as_f64().unwrap();
    let doubts = answer["doubts"].as_array().unwrap();
    if doubts.is_empty() {
        assert!((0.7..1.4).contains(&ratio), "queue {ours} beside {theirs}");
    } else {
        skip(Need::Quiet, &format!("inconclusive: {doubts:?}"));
    }
    assert!(answer["connections"][2]["delay_p95_s"]["referee"]["mean"].as_f64() > Some(0.016));
    let file = fs::read_to_string(place.path().join("linux-links.csv")).unwrap();
    assert_eq!(file.lines().count(), 1 + 8 * 6, "8 intervals of 6 links");
    assert!(place.path().join("linux-connections.csv").is_file());
}

/// Starts a long command, with a mark in the environment of all its processes.
fn start(arguments: &[&str], mark: &str) -> Child {
    let mut command = netflow();
    command.args(arguments).env("NETFLOW_MARK", mark);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the number of processes with this mark. Hosts, devices and routes exist only as long as these
/// processes.
fn marked(mark: &str) -> usize {
    let wanted = format!("NETFLOW_MARK={mark}");
    let is_marked = |place: std::path::PathBuf| {
        let environment = fs::read(place.join("environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|it| it == wanted.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| is_marked(process.path()))
        .count()
}

fn killed_at_random(times: u64) {
    let hosts = run(netflow().args(["testbed", HOME, "-q", "--at", "home", "--", "true"]));
    if hosts.is_none() {
        return;
    }
    let mut random = 20_240_607_u64 ^ u64::from(std::process::id());
    for i in 0..times {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mark = format!("{}-{i}", std::process::id());
        let arguments: &[&str] = match i % 2 {
            0 => &[
                "testbed",
                HOME,
                "-q",
                "--at",
                "home",
                "--serve",
                "server=sleep 900",
                "--",
                "sleep",
                "900",
            ],
            _ => &["compare", HOME, "--with", "linux", "-q"],
        };
        let mut child = start(arguments, &mark);
        thread::sleep(Duration::from_millis((random >> 33) % 500));
        child.kill().unwrap();
        child.wait().unwrap();
        let begin = Instant::now();
        while marked(&mark) > 0 {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "something is left of {arguments:?}"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn killed_testbed_leaves_no_processes() {
    killed_at_random(10);
}

#[test]
#[ignore = "a minute"]
fn hundred_kills_leave_no_processes() {
    killed_at_random(100);
}

#[test]
fn interrupt_ends_testbed_within_a_second() {
    for arguments in [
        &["testbed", HOME, "-q"][..],
        &["testbed", HOME, "-q", "--at", "home", "--", "sleep", "900"],
        &["compare", HOME, "--with", "linux", "-q"],
    ] {
        if run(netflow().args(["testbed", "--", "true"])).is_none() {
            return;
        }
        let mark = format!("{}-interrupt", std::process::id());
        let mut child = start(arguments, &mark);
        thread::sleep(Duration::from_millis(700));
        let number = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &number])
                .status()
                .unwrap()
                .success()
        );
        let begin = Instant::now();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{arguments:?}");
        assert!(
            begin.elapsed() < Duration::from_secs(2),
            "{arguments:?}: {:?}",
            begin.elapsed()
        );
    }
}
