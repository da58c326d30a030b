//! Hostile peers: the server drops them, counts the reason, and serves the others.

mod common;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::serve_while;
use netflow_ipb::{DropReason, Limits, Served, Server, ServerOptions};
use proptest::prelude::*;

fn limited(limits: Limits) -> ServerOptions {
    ServerOptions {
        limits,
        ..ServerOptions::default()
    }
}

/// Maximum time for any step of a test.
const BOUND: Duration = Duration::from_secs(5);

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}

/// Reads until the server closes or resets the connection. Returns the number of bytes.
fn read_to_end(stream: &mut TcpStream) -> u64 {
    let mut buffer = [0; 65536];
    let mut read = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return read,
            Ok(length) => read += length as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                panic!("the server keeps the connection")
            }
            Err(_) => return read,
        }
    }
}

/// Sends a valid request and checks the reply.
fn request_and_check_reply(server: SocketAddr) {
    let mut stream = connect(server);
    stream
        .write_all(b"GET /1234 HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut reply = [0; 1234];
    stream.read_exact(&mut reply).unwrap();
    assert!(reply.starts_with(b"HTTP/1.1 200 OK\r\nContent-Length: 1193\r\n\r\nxxx"));
}

/// Runs one peer, followed by a valid request. Returns the reason why the peer was dropped, and checks
/// that no other was.
fn dropped_for(limits: Limits, peer: impl FnOnce(SocketAddr)) -> Option<DropReason> {
    let ((), served) = serve_while(limited(limits), |server| {
        peer(server);
        request_and_check_reply(server);
    });
    assert!(served.http.requests >= 1);
    assert_eq!(served.accepted, 2);
    let mut drops = served.drops();
    let reason = drops.next().map(|(reason, count)| {
        assert_eq!(count, 1, "{served:?}");
        reason
    });
    assert_eq!(drops.next(), None, "{served:?}");
    reason
}

#[test]
fn malformed_requests_are_dropped_with_reason() {
    let cases: [(&[u8], Option<DropReason>); 9] = [
        (b"", None),
        (b"GET /100 HTTP/1.1\r\n\r\n", None),
        (b"SSH-2.0-OpenSSH_9\r\n", Some(DropReason::Malformed)),
        (b"\0\0\0\0", Some(DropReason::Malformed)),
        (b"PUT /5 HTTP/1.1\r\n\r\n", Some(DropReason::Malformed)),
        (
            b"GET /9999999999 HTTP/1.1\r\n\r\n",
            Some(DropReason::MessageTooLong),
        ),
        (b"GET /100 HTT", Some(DropReason::ClosedEarly)),
        (b"T\x02\x05\x01\x01", Some(DropReason::ClosedEarly)),
        (b"T\xff\xff\x03", Some(DropReason::HeadTooLong)),
    ];
    for (bytes, expected) in cases {
        let found = dropped_for(Limits::default(), |server| {
            let mut stream = connect(server);
            stream.write_all(bytes).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            read_to_end(&mut stream);
        });
        assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(bytes));
    }
    let endless = dropped_for(Limits::default(), |server| {
        let mut stream = connect(server);
        let start = b"GET /100 HTTP/1.1\r\nX: ";
        let _ = stream.write_all(&[start.as_slice(), &[b'x'; 100_000]].concat());
        read_to_end(&mut stream);
    });
    assert_eq!(endless, Some(DropReason::HeadTooLong));
}

/// A peer that sends one byte at a time without end.
#[test]
fn slow_requests_are_dropped() {
    let limits = Limits {
        request_s: 0.3,
        min_bytes_per_s: 1e12,
        ..Limits::default()
    };
    for start in [
        b"GET /100 HTTP/1.1\r\nX: ".as_slice(),
        b"POST /100 HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n",
        b"T\xff\x01",
        b"T\x01\x01\xff\x7f\x01",
    ] {
        let began = Instant::now();
        let found = dropped_for(limits, |server| {
            let mut stream = connect(server);
            stream.write_all(start).unwrap();
            while stream.write_all(b"\x01").is_ok() {
                thread::sleep(Duration::from_millis(5));
                assert!(began.elapsed() < BOUND, "the server keeps the connection");
            }
        });
        assert_eq!(found, Some(DropReason::SlowRequest));
    }
}

/// A body that arrives fast enough is not a slow request.
#[test]
fn long_fast_request_is_not_dropped() {
    let limits = Limits {
        request_s: 0.2,
        min_bytes_per_s: 500.0,
        ..Limits::default()
    };
    let found = dropped_for(limits, |server| {
        let mut stream = connect(server);
        let head = b"POST /100 HTTP/1.1\r\nContent-Length: 1000\r\n\r\n";
        stream.write_all(head).unwrap();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(50));
            stream.write_all(&[b'x'; 100]).unwrap();
        }
        stream.read_exact(&mut [0; 100]).unwrap();
    });
    assert_eq!(found, None);
}

#[test]
fn peer_that_does_not_read_is_dropped() {
    let limits = Limits {
        reply_s: 0.3,
        min_bytes_per_s: 1e12,
        ..Limits::default()
    };
    for asked in [
        b"GET /1073741824 HTTP/1.1\r\n\r\n".as_slice(),
        // A keystroke with an echo of 2^28 bytes.
        b"T\x01\x01\x01\x80\x80\x80\x80\x01k",
    ] {
        let found = dropped_for(limits, |server| {
            let mut stream = connect(server);
            stream.write_all(asked).unwrap();
            thread::sleep(Duration::from_millis(700));
            assert!(read_to_end(&mut stream) < 1 << 28);
        });
        assert_eq!(found, Some(DropReason::NotReading));
    }
}

/// A peer that reads a little now and then is served, however long the whole reply takes.
#[test]
fn slow_reader_is_not_dropped() {
    let limits = Limits {
        reply_s: 0.7,
        min_bytes_per_s: 1e12,
        ..Limits::default()
    };
    let found = dropped_for(limits, |server| {
        let mut stream = connect(server);
        let bytes = 20_000_000;
        write!(stream, "GET /{bytes} HTTP/1.1\r\n\r\n").unwrap();
        let began = Instant::now();
        let mut left_bytes = bytes;
        let mut portion = vec![0; 64 << 10];
        while began.elapsed() < Duration::from_millis(1500) {
            thread::sleep(Duration::from_millis(20));
            left_bytes -= stream.read(&mut portion).unwrap();
        }
        stream.read_exact(&mut vec![0; left_bytes]).unwrap();
    });
    assert_eq!(found, None);
}

#[test]
fn connection_without_data_is_closed_soon() {
    let limits = Limits {
        first_byte_s: 0.2,
        ..Limits::default()
    };
    let found = dropped_for(limits, |server| {
        assert_eq!(read_to_end(&mut connect(server)), 0);
    });
    assert_eq!(found, Some(DropReason::Silent));
}

/// As many silent connections as there are slots: a new connection is still served.
#[test]
fn silent_connections_do_not_shut_others_out() {
    let limits = Limits {
        connections: 8,
        ..Limits::default()
    };
    let ((), served) = serve_while(limited(limits), |server| {
        let mut silent: Vec<TcpStream> = (0..8).map(|_| connect(server)).collect();
        request_and_check_reply(server);
        // The first of them was evicted.
        assert_eq!(read_to_end(&mut silent[0]), 0);
        for stream in &mut silent[1..] {
            stream.write_all(b"GET /50 HTTP/1.1\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 50]).unwrap();
        }
    });
    assert_eq!(served.http.requests, 8);
    assert_eq!(served.dropped(DropReason::Evicted), 1);
    assert_eq!(served.dropped(DropReason::TooMany), 0);
}

/// Peers may be silent after a request until others need their slots.
#[test]
fn silent_connection_with_earlier_data_is_evicted() {
    let limits = Limits {
        connections: 4,
        first_byte_s: 0.6,
        ..Limits::default()
    };
    let ((), served) = serve_while(limited(limits), |server| {
        let mut kept: Vec<TcpStream> = (0..4).map(|_| connect(server)).collect();
        for stream in &mut kept {
            stream.write_all(b"GET /50 HTTP/1.1\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 50]).unwrap();
        }
        thread::sleep(Duration::from_millis(700));
        request_and_check_reply(server);
        assert_eq!(read_to_end(&mut kept[0]), 0);
    });
    assert_eq!(served.http.requests, 5);
    assert_eq!(served.dropped(DropReason::Evicted), 1);
}

#[test]
fn idle_connections_are_closed() {
    let limits = Limits {
        idle_s: 0.2,
        ..Limits::default()
    };
    for asked in [
        b"GET /100 HTTP/1.1\r\n\r\n".as_slice(),
        b"T\x01\x02\x01\x01k",
    ] {
        let found = dropped_for(limits, |server| {
            let mut stream = connect(server);
            stream.write_all(asked).unwrap();
            read_to_end(&mut stream);
        });
        assert_eq!(found, Some(DropReason::Idle));
    }
}

#[test]
fn connection_lifetime_is_limited() {
    let limits = Limits {
        lifetime_s: 0.4,
        ..Limits::default()
    };
    let found = dropped_for(limits, |server| {
        let mut stream = connect(server);
        let began = Instant::now();
        let asked = b"GET /50 HTTP/1.1\r\n\r\n";
        while stream.write_all(asked).is_ok() && stream.read_exact(&mut [0; 50]).is_ok() {
            thread::sleep(Duration::from_millis(10));
            assert!(began.elapsed() < BOUND, "the server keeps the connection");
        }
    });
    assert_eq!(found, Some(DropReason::Lifetime));
}

#[test]
fn resets_are_counted() {
    let found = dropped_for(Limits::default(), |server| {
        let mut stream = connect(server);
        stream
            .write_all(b"GET /100000000 HTTP/1.1\r\n\r\n")
            .unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
        // A connection that is closed with unread replies is reset.
    });
    assert_eq!(found, Some(DropReason::Reset));
}

#[test]
fn connection_count_is_limited() {
    let limits = Limits {
        connections: 3,
        ..Limits::default()
    };
    let ((), served) = serve_while(limited(limits), |server| {
        let mut kept: Vec<TcpStream> = (0..3).map(|_| connect(server)).collect();
        let mut ask_all = || {
            for stream in &mut kept {
                stream.write_all(b"GET /50 HTTP/1.1\r\n\r\n").unwrap();
                stream.read_exact(&mut [0; 50]).unwrap();
            }
        };
        ask_all();
        for _ in 0..5 {
            assert_eq!(read_to_end(&mut connect(server)), 0);
        }
        ask_all();
        drop(kept);
        // The slots are freed, though not at once.
        let began = Instant::now();
        loop {
            let mut stream = connect(server);
            let _ = stream.write_all(b"GET /50 HTTP/1.1\r\n\r\n");
            if stream.read_exact(&mut [0; 50]).is_ok() {
                break;
            }
            assert!(began.elapsed() < BOUND, "no place becomes free");
        }
    });
    assert_eq!(served.http.requests, 7);
    assert!(served.dropped(DropReason::TooMany) >= 5);
    assert_eq!(served.accepted, 4 + served.dropped(DropReason::TooMany));
}

#[test]
fn open_connections_are_counted_when_the_server_stops() {
    let (_kept, served) = serve_while(ServerOptions::default(), |server| {
        request_and_check_reply(server);
        connect(server)
    });
    // The kernel may have accepted the connection before the server does.
    assert!(served.accepted == 1 || served.dropped(DropReason::Stopped) == 1);
}

#[test]
fn port_in_use_is_reported() {
    let first = Server::bind(ServerOptions {
        port: 0,
        ..ServerOptions::default()
    })
    .unwrap();
    let address = first.address();
    let second = Server::bind(ServerOptions {
        port: address.port(),
        ..ServerOptions::default()
    });
    let error = second.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen at {address}: ")),
        "{error}"
    );
}

/// Generates pieces of valid, nearly valid and invalid requests.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"GET /".to_vec()),
        Just(b"POST /77".to_vec()),
        Just(b" HTTP/1.1\r\n".to_vec()),
        Just(b"Content-Length: 20\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(b"GET /300 HTTP/1.1\r\n\r\n".to_vec()),
        Just(b"T\x02\x03\x01\x05\x01\x01\xff\x01".to_vec()),
        Just(b"kkkk".to_vec()),
        (0..2_000_000_u32).prop_map(|n| n.to_string().into_bytes()),
        Just(vec![b'p'; 5000]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Hundreds of peers that send arbitrary bytes, one after the other, to the same server.
#[test]
fn server_survives_arbitrary_bytes() {
    let limits = Limits {
        message_bytes: 1 << 20,
        ..Limits::default()
    };
    let cases = 300;
    let ((), served): ((), Served) = serve_while(limited(limits), |server| {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let input = (pieces(), 1..6000_usize);
        let peers = runner.run(&input, |(bytes, cut)| {
            let mut stream = connect(server);
            for portion in bytes.chunks(cut) {
                if stream.write_all(portion).is_err() {
                    break;
                }
            }
            let _ = stream.shutdown(Shutdown::Write);
            read_to_end(&mut stream);
            request_and_check_reply(server);
            Ok(())
        });
        peers.unwrap();
    });
    let cases = u64::from(cases);
    assert_eq!(served.accepted, 2 * cases);
    assert!(served.http.requests >= cases);
    let allowed = [
        DropReason::Malformed,
        DropReason::HeadTooLong,
        DropReason::MessageTooLong,
        DropReason::ClosedEarly,
        DropReason::Reset,
    ];
    let dropped: u64 = served.drops().map(|(_, count)| count).sum();
    let understood: u64 = allowed.iter().map(|reason| served.dropped(*reason)).sum();
    assert_eq!(dropped, understood, "{served:?}");
    assert!(
        served.dropped(DropReason::Malformed) > cases / 4,
        "{served:?}"
    );
    assert!(dropped < cases, "some were in order: {served:?}");
}
