//! Tests that Ctrl-C leaves files that are complete up to that time.
#![cfg(unix)]

mod common;

use std::fs::{self, DirEntry};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{RESULTS, Workplace, names, text};
use netflow::results::Results;

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args([signal, &process.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that is killed at the end of its test.
struct Running(Option<Child>);

impl Running {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.as_mut().map(Child::kill);
    }
}

/// Returns the exit code of a process after these signals, and the time until it ends.
fn signal_and_wait(running: &mut Running, signals: &[&str]) -> (Option<i32>, Duration) {
    let child = running.child();
    let _open = child.stdin.take(); // waiting would close it
    let told = Instant::now();
    for signal in signals {
        send(signal, child.id());
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = child.wait().unwrap();
    (status.code(), told.elapsed())
}

/// Time limit, which allows for other load on the machine.
const MAX_STOP_TIME: Duration = Duration::from_millis(2500);

/// Regression: some commands took 10 s to end, or never ended. The scenarios take long to read, to route
/// or to run, with packets, users or seeds; one input never ends.
#[test]
fn all_commands_stop_after_a_signal() {
    let place = Workplace::new();
    place.expect(
        "new random --nodes 3000 --links 9000 --connections 20000 -o large.toml",
        0,
    );
    let long = "--set simulation.duration=700h";
    let commands = [
        format!("run dumbbell.toml -q {long}"),
        format!("run dumbbell.toml -q -o out {long} --interval 1min --set simulation.model=packet"),
        format!(
            "run dumbbell.toml -q -o seeds {long} --interval 1min --set simulation.model=packet --seeds 4"
        ),
        format!("run dumbbell.toml -q {long} --interval 600h"),
        format!("run dumbbell.toml -q {long} --interval 600h --set simulation.model=packet"),
        format!("explain dumbbell.toml first --at 690h {long}"),
        "trace summary -".to_owned(),
        "mark --committed-rate 1Mbit/s --peak-rate 2Mbit/s -".to_owned(),
        "check -".to_owned(),
        "run -".to_owned(),
        "ipb serve --port 0".to_owned(),
        "failures large.toml --pairs --sample 100000".to_owned(),
        "availability large.toml --set link.*.unavailability=1% --states 1000000".to_owned(),
        "run large.toml -q -o large".to_owned(),
        "run large.toml -q --set simulation.model=packet".to_owned(),
    ];
    let signals = [["-INT"].as_slice(), &["-TERM"], &["-TERM", "-TERM"]];
    for (command, signals) in commands.iter().zip(signals.iter().cycle()) {
        let mut netflow = place.netflow(command.split_whitespace());
        netflow.stdin(Stdio::piped());
        netflow.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(Some(netflow.spawn().unwrap()));
        std::thread::sleep(Duration::from_millis(300));
        if let Some(status) = running.child().try_wait().unwrap() {
            panic!("{command} ended by itself: {status}");
        }
        let (code, took) = signal_and_wait(&mut running, signals);
        assert!(
            took < MAX_STOP_TIME,
            "{command} took {took:?} after {signals:?}"
        );
        let serves = command.starts_with("ipb");
        assert!(code == Some(130) || serves, "{command}: {code:?}");
    }
    for name in ["out", "seeds", "large"] {
        if !place.path(name).exists() {
            continue;
        }
        let left = names(&place.path(name));
        assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
    }
}

#[test]
fn interrupted_run_has_complete_files() {
    let place = Workplace::new();
    let endless = [
        "run",
        "dumbbell.toml",
        "--set",
        "simulation.duration=700 h",
        "-o",
        "out",
        "--interval",
        "10s",
    ];
    for signal in ["-INT", "-TERM"] {
        let mut netflow = place.netflow(endless);
        netflow.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(Some(netflow.spawn().unwrap()));
        wait_until(|| {
            let entries = fs::read_dir(place.path("out")).into_iter().flatten();
            let hidden = |entry: &DirEntry| entry.file_name().as_encoded_bytes()[0] == b'.';
            let mut partial = entries.flatten().filter(hidden);
            partial.any(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 0))
        });
        send(signal, running.child().id());
        let output = running.output();

        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("interrupted: stopped at "),
            "{}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stdout).contains("R->S"),
            "what was computed is shown"
        );
        assert_eq!(names(&place.path("out")), RESULTS);
        let results = Results::open(place.path("out")).unwrap();
        assert!(!results.manifest.complete);
        let stop = results.manifest.stop.clone().unwrap();
        assert!(stop.reason.contains("stopped at"), "{stop:?}");
        assert!(stop.stopped_at_s > 0.0 && stop.stopped_at_s == results.summary.duration_s);
        let (links, connections) = (results.links().unwrap(), results.connections().unwrap());
        let last = links.last().unwrap().time_s;
        assert_eq!(connections.last().unwrap().time_s, last);
        assert!(
            (last - stop.stopped_at_s).abs() < 10.0,
            "{last} and {stop:?}"
        );
        assert_eq!(links.len() % 6, 0, "every interval has all six links");
    }
}
