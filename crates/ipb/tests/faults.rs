//! Faults of a server or a network: failed users are counted by reason, and the others continue.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{http, load, serve_while, telnet};
use netflow_ipb::protocol::{Parser, reply_head};
use netflow_ipb::{Failure, Load, Measured, RunOptions, Server, ServerOptions, StopCondition};
use netflow_workload::{Application, Distribution, Http, Telnet};
use socket2::SockRef;

/// Returns a load of pages with one file of 5000 bytes, and `pages` pages per visit.
fn plain(pages: f64) -> Load {
    let constant = Distribution::Constant;
    let http = Http {
        request_bytes: constant(200.0),
        reply_bytes: constant(5000.0),
        files: constant(1.0),
        think_s: constant(0.0),
        pages: constant(pages),
    };
    load(Application::Http(http), 1, 1000.0)
}

/// Returns a load of ten keystrokes, each with an echo of three bytes.
fn keys() -> Load {
    let constant = Distribution::Constant;
    let telnet = Telnet {
        keystrokes: constant(10.0),
        gap_s: constant(0.001),
        keystroke_bytes: constant(1.0),
        echo_bytes: constant(3.0),
    };
    load(Application::Telnet(telnet), 1, 1000.0)
}

fn run(server: SocketAddr, load: Load, users: u64) -> Measured {
    let options = RunOptions {
        until: StopCondition::Users(users),
        timeout_s: 0.5,
        ..RunOptions::new(server, vec![load])
    };
    netflow_ipb::run(&options, &mut |_| true).unwrap()
}

/// Starts a server that passes each connection to `serve`, one after the other.
fn fake(users: u64, serve: impl Fn(u64, TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in (0..users).zip(listener.incoming()) {
            serve(number, stream.unwrap());
        }
    });
    address
}

fn first_request(stream: &mut TcpStream) {
    let length = stream.read(&mut [0; 4096]).unwrap();
    assert!(length > 0);
}

/// Returns the failure of a user who receives this reply.
fn failure(load: Load, reply: &'static [u8], stay: bool) -> Failure {
    let server = fake(1, move |_, mut stream| {
        first_request(&mut stream);
        // Until all keys are typed.
        thread::sleep(Duration::from_millis(60));
        stream.set_nonblocking(true).unwrap();
        let _ = stream.read(&mut [0; 100]);
        stream.set_nonblocking(false).unwrap();
        stream.write_all(reply).unwrap();
        if stay {
            // Until the user disconnects.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let measured = run(server, load, 1);
    let users = &measured.users[0];
    assert_eq!((users.come, users.finished, users.failed()), (1, 0, 1));
    users.failures().next().unwrap().0
}

#[test]
fn invalid_replies_have_distinct_failures() {
    let page = || plain(1.0);
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nxxxxxxxxxx";
    let long = b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nxxxxxxxxxx";
    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 4959\r\n\r\nxxxxxxxxxx";
    assert_eq!(failure(page(), short, true), Failure::WrongLength);
    assert_eq!(failure(page(), long, true), Failure::WrongLength);
    assert_eq!(failure(page(), begun, false), Failure::CutShort);
    assert_eq!(failure(page(), begun, true), Failure::Timeout);
    assert_eq!(failure(page(), b"", false), Failure::CutShort);
    assert_eq!(failure(page(), b"", true), Failure::Timeout);
    assert_eq!(failure(page(), b"220 hello\r\n", true), Failure::Malformed);
    let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(failure(page(), missing, true), Failure::Malformed);
    assert_eq!(failure(keys(), &[b'e'; 31], true), Failure::Surplus);
    assert_eq!(failure(keys(), &[b'e'; 29], true), Failure::Timeout);
    assert_eq!(failure(keys(), &[b'e'; 29], false), Failure::CutShort);
    assert_eq!(failure(keys(), b"eeexxx", true), Failure::Malformed);
}

#[test]
fn surplus_data_is_a_failure() {
    let server = fake(1, |_, mut stream| {
        first_request(&mut stream);
        let (mut reply, body) = reply_head(5000);
        reply.resize(reply.len() + body as usize + 1, b'x');
        stream.write_all(&reply).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let measured = run(server, plain(1.0), 1);
    let failures: Vec<_> = measured.users[0].failures().collect();
    assert_eq!(failures, [(Failure::Surplus, 1)]);
}

/// Every second connection is reset during a reply; the other users are not affected.
#[test]
fn reset_users_are_counted_and_others_continue() {
    let users = 20;
    let server = fake(users, |number, mut stream| {
        first_request(&mut stream);
        let (mut reply, body) = reply_head(5000);
        reply.resize(reply.len() + body as usize, b'x');
        if number % 2 == 1 {
            stream.write_all(&reply[..2000]).unwrap();
            let at_once = Some(Duration::ZERO);
            SockRef::from(&stream).set_linger(at_once).unwrap();
            return;
        }
        stream.write_all(&reply).unwrap();
    });
    let measured = run(server, plain(1.0), users);
    let met = &measured.users[0];
    assert_eq!((met.come, met.finished), (20, 10));
    let failures: Vec<_> = met.failures().collect();
    assert_eq!(failures, [(Failure::Reset, 10)]);
    assert_eq!(met.waits.page_s.len(), 10);
}

#[test]
fn run_survives_server_exit() {
    let server = Server::bind(ServerOptions {
        port: 0,
        ..ServerOptions::default()
    })
    .unwrap();
    let address = server.address();
    let dead = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        scope.spawn(|| server.run(&|| dead.load(Ordering::Relaxed)));
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(400));
            dead.store(true, Ordering::Relaxed);
        });
        let options = RunOptions {
            until: StopCondition::Seconds(1.2),
            think_scale: 0.01,
            timeout_s: 1.0,
            ..RunOptions::new(address, vec![http(1, 50.0), telnet(2, 20.0)])
        };
        netflow_ipb::run(&options, &mut |_| true).unwrap()
    });
    assert!(measured.wall_s < 5.0);
    for users in &measured.users {
        let failures: Vec<Failure> = users.failures().map(|(failure, _)| failure).collect();
        assert!(failures.contains(&Failure::Refused), "{failures:?}");
        let known = [Failure::Refused, Failure::Reset, Failure::CutShort];
        assert!(failures.iter().all(|f| known.contains(f)), "{failures:?}");
        assert_eq!(users.come, users.finished + users.left + users.failed());
        assert!(users.requests > 0);
    }
}

#[test]
fn missing_server_counts_as_refused() {
    // The port is free, because its listener is dropped.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let measured = run(address.unwrap(), plain(2.0), 5);
    let failures: Vec<_> = measured.users[0].failures().collect();
    assert_eq!(failures, [(Failure::Refused, 5)]);
}

/// A listener with a full queue accepts no connections.
#[cfg(target_os = "linux")]
#[test]
fn connect_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    SockRef::from(&listener).listen(0).unwrap();
    let measured = run(listener.local_addr().unwrap(), plain(1.0), 6);
    let failures: Vec<_> = measured.users[0].failures().collect();
    let [
        (Failure::ConnectTimeout, waiting),
        (Failure::Timeout, unanswered),
    ] = failures[..]
    else {
        panic!("{failures:?}");
    };
    assert_eq!(waiting + unanswered, 6);
}

/// The first file of a page is requested alone, and all others at once when it is complete.
#[test]
fn requests_after_the_first_are_pipelined() {
    let server = fake(1, |_, mut stream| {
        let mut parser = Parser::new(1 << 20);
        let mut buffer = [0; 65536];
        let mut receive = |stream: &mut TcpStream, wanted: usize| {
            let mut found = Vec::new();
            while found.len() < wanted {
                let length = stream.read(&mut buffer).unwrap();
                let mut input = &buffer[..length];
                while let Some(asked) = parser.next(&mut input).unwrap() {
                    found.push(asked.reply_bytes);
                }
            }
            found
        };
        let reply = |stream: &mut TcpStream, bytes: u32| {
            let (mut reply, body) = reply_head(bytes);
            reply.resize(reply.len() + body as usize, b'x');
            stream.write_all(&reply).unwrap();
        };
        for _ in 0..3 {
            let first = receive(&mut stream, 1);
            // No more requests arrive in the meantime.
            let a_while = Some(Duration::from_millis(50));
            stream.set_read_timeout(a_while).unwrap();
            assert!(stream.peek(&mut [0]).is_err());
            stream.set_read_timeout(None).unwrap();
            assert_eq!(first.len(), 1);
            reply(&mut stream, first[0]);
            let others = receive(&mut stream, 7);
            assert_eq!(others.len(), 7);
            others
                .into_iter()
                .for_each(|bytes| reply(&mut stream, bytes));
        }
    });
    let constant = Distribution::Constant;
    let pages = Http {
        files: constant(8.0),
        pages: constant(3.0),
        think_s: constant(0.0),
        ..Http::default()
    };
    let measured = run(server, load(Application::Http(pages), 1, 100.0), 1);
    let users = &measured.users[0];
    assert_eq!(users.finished, 1, "{:?}", users.failures().next());
    // The server was silent for 50 ms before every first file.
    assert!(users.waits.page_s.iter().all(|page_s| *page_s > 0.05));
    let slow = users.waits.file_s.iter().filter(|file_s| **file_s > 0.05);
    assert!(slow.count() >= 3);
}

/// Keystrokes do not wait for echoes.
#[test]
fn keystrokes_do_not_wait_for_echoes() {
    let server = fake(1, |_, mut stream| {
        let mut parser = Parser::new(1 << 20);
        let mut keystrokes = 0;
        let mut buffer = [0; 4096];
        while keystrokes < 10 {
            let length = stream.read(&mut buffer).unwrap();
            let mut input = &buffer[..length];
            while parser.next(&mut input).unwrap().is_some() {
                keystrokes += 1;
            }
        }
        thread::sleep(Duration::from_millis(50));
        stream.write_all(&[b'e'; 30]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let measured = run(server, keys(), 1);
    let users = &measured.users[0];
    assert_eq!(users.finished, 1);
    assert_eq!(users.waits.echo_s.len(), 10);
    assert!(users.waits.echo_s.iter().all(|echo_s| *echo_s >= 0.05));
    // The first waited for the nine others to be typed, at least a millisecond each.
    let longest = users.waits.echo_s.iter().copied().fold(0.0, f64::max);
    assert!(longest >= 0.059, "{longest}");
}

#[test]
fn long_messages_flow_in_both_directions() {
    let constant = Distribution::Constant;
    let pages = Http {
        request_bytes: constant(700_000.0),
        reply_bytes: constant(3_000_000.0),
        files: constant(6.0),
        pages: constant(1.0),
        ..Http::default()
    };
    let (measured, served) = serve_while(ServerOptions::default(), |server| {
        run(server, load(Application::Http(pages), 1, 100.0), 2)
    });
    assert_eq!(measured.users[0].finished, 2);
    assert_eq!(served.http.request_bytes, 12 * 700_000);
    assert_eq!(served.http.reply_bytes, 12 * 3_000_000);
}

/// A message shorter than its head is sent as a head, and counted.
#[test]
fn padded_messages_are_counted() {
    let constant = Distribution::Constant;
    let pages = Http {
        request_bytes: constant(1.0),
        reply_bytes: constant(1.0),
        files: constant(3.0),
        pages: constant(2.0),
        think_s: constant(0.0),
    };
    let (measured, served) = serve_while(ServerOptions::default(), |server| {
        run(server, load(Application::Http(pages), 1, 100.0), 1)
    });
    let users = &measured.users[0];
    assert_eq!((users.finished, users.padded_messages), (1, 6));
    assert_eq!(served.http.reply_bytes, users.reply_bytes);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".len() as u64;
    assert_eq!(users.reply_bytes, 6 * head);
}

#[test]
fn stopped_run_keeps_its_measurements() {
    let ((measured, took), _) = serve_while(ServerOptions::default(), |server| {
        let options = RunOptions {
            until: StopCondition::Seconds(1000.0),
            ..RunOptions::new(server, vec![http(1, 50.0)])
        };
        let began = Instant::now();
        let mut asked = 0;
        let measured = netflow_ipb::run(&options, &mut |progress| {
            asked += 1;
            assert!(progress.share < 1.0 && progress.gone <= progress.come);
            asked < 5
        });
        (measured.unwrap(), began.elapsed())
    });
    assert!(measured.interrupted && took < Duration::from_secs(5));
    let users = &measured.users[0];
    assert!(!users.waits.page_s.is_empty());
    assert!(users.left > 0 && users.come == users.finished + users.left);
}

/// Users arrive for the duration, and leave after their current page. Users who never got a connection
/// are counted separately.
#[test]
fn run_ends_at_its_duration() {
    let (measured, served) = serve_while(ServerOptions::default(), |server| {
        let options = RunOptions {
            until: StopCondition::Seconds(0.5),
            connections: 4,
            ..RunOptions::new(server, vec![http(1, 100.0)])
        };
        netflow_ipb::run(&options, &mut |_| true).unwrap()
    });
    let users = &measured.users[0];
    assert!((0.4..5.0).contains(&measured.wall_s), "{}", measured.wall_s);
    assert_eq!((users.failed(), measured.interrupted), (0, false));
    assert_eq!(users.come, users.finished + users.left);
    assert_eq!(served.http.connections, users.come);
    // With think times of seconds, four connections are soon all in use.
    assert!(users.left >= 1 && users.left <= 4);
    let held = &measured.queued_users;
    assert!(held.users >= held.turned_away && held.turned_away > 0);
    assert!(held.longest_s <= measured.wall_s);
    // All users who arrived in half a second, at a hundred users/s.
    let all = users.come + held.turned_away;
    assert!((20..=80).contains(&all), "{all}");
}

#[test]
fn invalid_options_report_allowed_values() {
    let server: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let message = |change: fn(&mut RunOptions)| {
        let mut options = RunOptions::new(server, vec![plain(1.0)]);
        change(&mut options);
        let result = netflow_ipb::run(&options, &mut |_| true);
        result.unwrap_err().to_string()
    };
    assert_eq!(
        message(|options| options.think_scale = f64::NAN),
        "scale of think times is NaN, allowed is 0 to 1000"
    );
    assert_eq!(
        message(|options| options.loads[0].users_per_s = 0.0),
        "users per second is 0, allowed is above 0 and at most 1e6"
    );
    assert_eq!(
        message(|options| options.until = StopCondition::Users(0)),
        "number of users is 0, allowed is 1 to 1e6"
    );
    assert_eq!(
        message(|options| options.loads.clear()),
        "number of workloads is 0, allowed is at least one"
    );
    let message = message(|options| options.congestion = Some("nonesuch".to_owned()));
    assert!(
        message.starts_with("cannot use the congestion control `nonesuch`: "),
        "{message}"
    );
}
