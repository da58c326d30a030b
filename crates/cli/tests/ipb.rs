//! Tests of `netflow ipb serve` and `netflow ipb run` as processes: signals, attacks and memory.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Workplace, text};

/// A server that is killed at the end of its test.
struct RunningServer {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl RunningServer {
    fn new(place: &Workplace, arguments: &[&str]) -> RunningServer {
        let all = [&["ipb", "serve", "--port", "0"], arguments].concat();
        RunningServer::start(place.netflow(all))
    }

    fn start(mut command: Command) -> RunningServer {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listening at ")
            .unwrap()
            .trim()
            .to_owned();
        RunningServer {
            child,
            stdout,
            address,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        let patience = Some(Duration::from_secs(10));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Ends the server, and returns its output and exit code.
    fn end(mut self, signal: &str) -> (String, Option<i32>) {
        send(&self.child, signal);
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        (said, self.child.wait().unwrap().code())
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn run(place: &Workplace, server: &RunningServer, arguments: &str) -> Output {
    place.expect(&format!("ipb run {} {arguments}", server.address), 0)
}

#[test]
fn server_exits_cleanly_and_reports() {
    let place = Workplace::new();
    for signal in ["-INT", "-TERM"] {
        let server = RunningServer::new(&place, &[]);
        run(&place, &server, "--users 3 --http 100/s --think-scale 0");
        let mut garbage = server.connect();
        garbage.write_all(b"hello\r\n").unwrap();
        assert_eq!(garbage.read(&mut [0; 10]).unwrap_or(0), 0);
        let _still_there = server.connect();
        let began = Instant::now();
        let (said, code) = server.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(
            said.contains("dropped 1 connection: malformed request"),
            "{said}"
        );
        let http = said.lines().find(|line| line.starts_with(" http")).unwrap();
        assert_eq!(http.split_whitespace().nth(1), Some("3"), "{said}");
    }
}

#[test]
fn interrupted_run_reports_measurements() {
    let place = Workplace::new();
    let server = RunningServer::new(&place, &[]);
    let arguments = [
        "ipb",
        "run",
        &server.address,
        "--http",
        "50/s",
        "-o",
        "a.json",
    ];
    let arguments = [&arguments[..], &["--duration", "1000s"]].concat();
    let child = place
        .netflow(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(800));
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = text(&output.stdout);
    assert!(said.contains(" http   file "), "{said}");
    let errors = text(&output.stderr);
    assert!(errors.contains("interrupted: stopped after "), "{errors}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("a.json")).unwrap()).unwrap();
    assert_eq!(json["interrupted"], true);
    assert!(json["users"][0]["waits"]["page"]["count"].as_u64() > Some(0));
}

/// Both sides report the same counts in JSON.
#[test]
fn client_and_server_counts_agree() {
    let place = Workplace::new();
    let server = RunningServer::new(&place, &[]);
    let arguments = "--users 20 --http 100/s --telnet 50/s --think-scale 0 --format json";
    let output = run(&place, &server, arguments);
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (said, _) = server.end("-TERM");
    for users in run["users"].as_array().unwrap() {
        let kind = users["kind"].as_str().unwrap();
        let start = format!(" {kind} ");
        let line = said.lines().find(|line| line.starts_with(&start)).unwrap();
        let served: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .map(|number| number.parse().unwrap())
            .collect();
        let names = ["come", "requests", "request_bytes", "reply_bytes"];
        let asked: Vec<u64> = names
            .iter()
            .map(|name| users[name].as_u64().unwrap())
            .collect();
        assert_eq!(served, asked, "{kind}");
        assert!(asked[0] > 3);
    }
}

/// Returns the peak memory of a process in bytes.
fn peak_bytes(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    1024 * kilobytes.parse::<u64>().unwrap()
}

/// The number of silent connections is limited by the file descriptors of the process, below the
/// configured limit.
#[test]
fn descriptor_limit_closes_silent_connections() {
    let place = Workplace::new();
    let netflow = env!("CARGO_BIN_EXE_netflow");
    let mut command = Command::new("sh");
    let serve = r#"ulimit -n 40; exec "$0" ipb serve --port 0"#;
    command.args(["-c", serve, netflow]);
    let server = RunningServer::start(command);
    let _silent: Vec<TcpStream> = (0..60).map(|_| server.connect()).collect();
    run(&place, &server, "--users 5 --http 100/s --think-scale 0");
    let (said, code) = server.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("evicted for a new connection"), "{said}");
}

/// Hundreds of peers that send without end, or request gigabytes that they do not read.
#[test]
fn attacks_use_bounded_memory() {
    let place = Workplace::new();
    let server = RunningServer::new(&place, &["--connections", "400"]);
    let mut peers = Vec::new();
    let longest_script = {
        // 4096 runs, the last of which is incomplete.
        let mut script = b"T\x80\x20".to_vec();
        (0..4095).for_each(|_| script.extend(b"\xff\xff\x7f\x01\xff\xff\x7f"));
        script
    };
    for number in 0..400 {
        let mut peer = server.connect();
        // A connection with a request keeps its slot.
        let (asked, reply_bytes): (&[u8], usize) = match number % 5 {
            0..3 => (b"GET /50 HTTP/1.1\r\n\r\n", 50),
            _ => (b"T\x01\x01\x01\x01k", 1),
        };
        peer.write_all(asked).unwrap();
        peer.read_exact(&mut vec![0; reply_bytes]).unwrap();
        peer.set_nonblocking(true).unwrap();
        let head = b"GET /5 HTTP/1.1\r\nX: ".to_vec();
        let bytes = match number % 5 {
            0 => [head, vec![b'x'; 8000]].concat(),
            1 => b"GET /1073741824 HTTP/1.1\r\n\r\n".repeat(200),
            2 => [
                b"POST /5 HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n".to_vec(),
                vec![0; 100_000],
            ]
            .concat(),
            3 => longest_script.clone(),
            _ => [
                b"T\x01\x80\x20\x01\x80\x80\x80\x80\x04".to_vec(),
                vec![b'k'; 4096],
            ]
            .concat(),
        };
        // The system accepts only a part of it at once.
        let _ = peer.write(&bytes);
        peers.push(peer);
    }
    // A further connection is rejected by closing it.
    assert!(matches!(server.connect().read(&mut [0; 1]), Ok(0)));
    std::thread::sleep(Duration::from_millis(300));
    let peak = peak_bytes(&server.child);
    // Measured: 100 KB per connection, plus the memory of the process itself.
    assert!(peak < 400 * 130_000 + 20_000_000, "{peak} bytes");
    for peer in &peers {
        let _ = peer.shutdown(Shutdown::Both);
    }
    drop(peers);
    std::thread::sleep(Duration::from_millis(300));
    run(&place, &server, "--users 5 --http 100/s --think-scale 0");
    let (said, code) = server.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("too many connections"), "{said}");
}
