//! Tests of `netflow testbed` and `netflow link`: all processes end with them, for any cause. They are
//! skipped if namespaces or TUN devices are not available.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netflow_needs::{Need, skip};

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

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn exit_code_is_that_of_the_command() {
    let mut command = netflow();
    command.args(["testbed", "--delay", "5ms", "--seed", "3", "--", "sh", "-c"]);
    command.arg("echo $NETFLOW_END $NETFLOW_ADDRESS $NETFLOW_PEER; exit 7");
    let Some(output) = run(&mut command) else {
        return;
    };
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(stdout(&output), "a 10.77.0.1 10.77.0.2\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("a->b") && said.contains("late p99 us") || said.contains("p99 us"),
        "{said}"
    );

    let mut command = netflow();
    command.args([
        "testbed",
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        "kill -TERM $$",
    ]);
    let output = run(&mut command).unwrap();
    assert_eq!(output.status.code(), Some(128 + 15));
    let report: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(report["out"]["write_failures"], 0);
    assert!(report["doubt"].is_null(), "{report}");
}

/// Without root privileges, in a user namespace.
#[test]
fn user_namespaces_need_no_root() {
    let nobody = Command::new("true").uid(65534).gid(65534).status();
    if nobody.is_err() {
        skip(Need::System, "only root can be somebody else");
        return;
    }
    // The binary of the test may be in a directory that only root can read.
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let program = place.path().join("netflow");
    // Another process copies it. If this process wrote the file, a child that another test starts could
    // inherit the descriptor, and the program would be busy.
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_netflow").as_ref(), program.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path(), open).unwrap();
    let mut command = Command::new(&program);
    command.uid(65534).gid(65534).current_dir("/");
    command.args([
        "testbed",
        "--stack",
        "legacy",
        "--",
        "cat",
        "/proc/sys/net/ipv4/tcp_sack",
    ]);
    if let Some(output) = run(&mut command) {
        assert_eq!(stdout(&output), "0\n");
    }
}

/// Starts a testbed that lives until it is killed, with a grandchild at each end. Returns the process,
/// and the namespaces as in /proc.
fn start_testbed() -> Option<(Child, Vec<String>)> {
    let mut command = netflow();
    command
        .args([
            "testbed",
            "--server",
            "readlink /proc/self/ns/net; (sleep 987 & sleep 987) & sleep 987",
        ])
        .args([
            "--",
            "sh",
            "-c",
            "readlink /proc/self/ns/net; (sleep 987 & sleep 987) & sleep 987",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let namespaces: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
    if namespaces.len() < 2 {
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        child.wait().unwrap();
        assert!(said.contains("not available here"), "{said}");
        skip(Need::Namespaces, &said);
        return None;
    }
    Some((child, namespaces))
}

/// Returns the processes that are in these namespaces or keep one open.
fn processes_in_namespaces(namespaces: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let place = process.path();
        let links = [place.join("ns/net")].into_iter().chain(
            fs::read_dir(place.join("fd"))
                .into_iter()
                .flatten()
                .flatten()
                .map(|file| file.path()),
        );
        for link in links.filter_map(|link| fs::read_link(link).ok()) {
            if namespaces
                .iter()
                .any(|namespace| link.to_string_lossy() == *namespace)
            {
                found.push(format!("{}", place.display()));
            }
        }
    }
    found
}

/// Returns the number of `sleep` processes in these namespaces. Each end starts three, which stay, unlike
/// starting shells and descriptors that are being closed.
fn sleeping_processes(namespaces: &[String]) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_one = |place: std::path::PathBuf| {
        let name = fs::read_to_string(place.join("comm")).unwrap_or_default();
        let namespace = fs::read_link(place.join("ns/net")).unwrap_or_default();
        name == "sleep\n"
            && namespaces
                .iter()
                .any(|it| namespace.to_string_lossy() == *it)
    };
    processes.filter(|process| is_one(process.path())).count()
}

/// Waits until the condition is true, with a long time limit for busy machines.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn assert_namespaces_removed(namespaces: &[String]) {
    wait_until("something is left", || {
        processes_in_namespaces(namespaces).is_empty()
    });
}

/// Returns the PID of the process that the testbed process started: the first of its PID namespace.
fn inner_pid(child: &Child) -> u32 {
    let path = format!("/proc/{0}/task/{0}/children", child.id());
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

fn kill(signal: &str, process: u32) {
    let killed = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

#[test]
fn killed_netflow_leaves_no_namespaces() {
    let Some((mut child, namespaces)) = start_testbed() else {
        return;
    };
    assert_ne!(namespaces[0], namespaces[1]);
    wait_until("three sleep at each end", || {
        sleeping_processes(&namespaces) == 6
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_namespaces_removed(&namespaces);
}

#[test]
fn killed_link_leaves_no_namespaces() {
    let Some((mut child, namespaces)) = start_testbed() else {
        return;
    };
    kill("-KILL", inner_pid(&child));
    let status = child.wait().unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("signal 9 killed the testbed"), "{said}");
    assert_namespaces_removed(&namespaces);
}

#[test]
fn interrupted_testbed_prints_report() {
    let Some((mut child, namespaces)) = start_testbed() else {
        return;
    };
    kill("-INT", child.id());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(said.contains("a->b"), "{said}");
    assert_namespaces_removed(&namespaces);
}

/// Without TUN devices: an empty read-only directory replaces them.
#[test]
fn missing_tun_device_is_reported() {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c"]);
    command.arg("mount -t tmpfs -o ro none /dev/net || exit 9; exec \"$0\" testbed -- true");
    command.arg(env!("CARGO_BIN_EXE_netflow"));
    let Ok(output) = command.output() else {
        skip(Need::System, "there is no unshare");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(9) || said.contains("unshare") {
        skip(Need::Namespaces, &said);
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    let reason =
        "TUN devices (/dev/net/tun) are not available here: No such file or directory (os error 2)";
    let other = "not available here: Operation not permitted (os error 1)";
    assert!(said.contains(reason) || said.contains(other), "{said}");
}

/// Runs `netflow` where network namespaces are not permitted; `None` if this cannot be arranged.
fn without_namespaces(arguments: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c"]);
    command.arg(format!(
        "echo 0 > /proc/sys/user/max_net_namespaces || exit 9; exec \"$0\" {arguments}"
    ));
    command.arg(env!("CARGO_BIN_EXE_netflow"));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(Need::System, &format!("unshare: {error}"));
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(9) || said.contains("unshare:") {
        skip(Need::Namespaces, &said);
        return None;
    }
    Some(output)
}

/// Without root privileges and user namespaces, with the error number of the system: 28 for a limit, 1
/// elsewhere.
#[test]
fn missing_namespaces_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let measure = format!("profile measure -o {}", place.path().display());
    for arguments in ["testbed -- true", "link", &measure] {
        let Some(output) = without_namespaces(arguments) else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("namespaces are not available here"), "{said}");
        assert!(
            said.contains("(os error 28)") || said.contains("(os error 1)"),
            "{said}"
        );
    }
}

/// A skipped test is not passed, and with `--fail-on-skip` it is failed.
#[test]
fn unavailable_self_test_is_skipped() {
    let Some(output) = without_namespaces("link --self-test") else {
        return;
    };
    assert!(output.status.success());
    let said = stdout(&output);
    let skipped = said
        .lines()
        .filter(|line| line.contains(": skipped: "))
        .count();
    assert_eq!((skipped, said.lines().count()), (11, 11), "{said}");
    let output = without_namespaces("link --self-test --fail-on-skip --format json").unwrap();
    assert_eq!(output.status.code(), Some(1));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(
        rows.iter().all(|row| row["outcome"] == "failed"),
        "{rows:?}"
    );
}

/// A link between existing namespaces transports packets of one to the other.
#[test]
fn link_joins_existing_namespaces() {
    const QUIET: &str =
        "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; echo up; exec sleep 987";
    let sleeper = |name: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sh", "-c", QUIET])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        if line.is_empty() {
            skip(Need::Namespaces, &format!("no namespace {name}"));
        }
        (!line.is_empty()).then_some(child)
    };
    let (Some(mut a), Some(mut b)) = (sleeper("a"), sleeper("b")) else {
        return;
    };
    let mut link = netflow();
    link.args(["link", "--delay", "20ms", "--a", &a.id().to_string()]);
    link.args([
        "--b",
        &format!("/proc/{}/ns/net", b.id()),
        "--format",
        "json",
    ]);
    let link = link
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut link = link;
    let net = |end: u32, file: &str| fs::read_to_string(format!("/proc/{end}/net/{file}")).unwrap();
    // A route exists once the device is up and has its address.
    let up = |end: u32| net(end, "route").contains("netflow0");
    let begin = Instant::now();
    while !(up(a.id()) && up(b.id())) && link.try_wait().unwrap().is_none() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no link comes up"
        );
        thread::sleep(Duration::from_millis(10));
    }
    let ping = "import socket,sys\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nfor i in range(5): s.sendto(b'x',('10.77.0.2',9))";
    let sent = Command::new("nsenter")
        .args(["-t", &a.id().to_string(), "--net", "python3", "-c", ping])
        .status();
    let came = || {
        let devices = net(b.id(), "dev");
        let line = devices
            .lines()
            .find_map(|line| line.trim().strip_prefix("netflow0:"));
        let received = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        received.is_some_and(|pkts: u64| pkts >= 5)
    };
    if sent.as_ref().is_ok_and(|status| status.success()) {
        wait_until("the packets do not come", came);
    }
    if link.try_wait().unwrap().is_none() {
        kill("-TERM", link.id());
    }
    let output = link.wait_with_output().unwrap();
    for child in [&mut a, &mut b] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not available here") || !sent.is_ok_and(|status| status.success()) {
        skip(Need::Namespaces, &said);
        return;
    }
    assert!(output.status.success(), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["out"]["delivered"]["pkts"], 5, "{report}");
}

/// Regression: the exit code was 1, as if the link had failed.
#[test]
fn unwritable_capture_exits_with_3() {
    let mut command = netflow();
    command.args(["testbed", "--pcap", "/nowhere/x.pcap", "--", "true"]);
    let Some(output) = run(&mut command) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write /nowhere/x.pcap: "), "{said}");
}

/// Regression: the exit code was 0, with a count of missing packets.
#[test]
fn full_disk_during_capture_exits_with_3() {
    let mut command = netflow();
    command.args(["testbed", "--pcap", "/dev/full", "--", "true"]);
    let Some(output) = run(&mut command) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("cannot write /dev/full: No space left"),
        "{said}"
    );
}
