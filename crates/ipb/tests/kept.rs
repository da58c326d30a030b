//! Kernel memory for replies that are not read, and its duration, from `/proc/net/tcp`.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::serve_while;
use netflow_ipb::{DropReason, Limits, ServerOptions};
use socket2::{Domain, Socket, Type};

/// Maximum time for any step of a test.
const BOUND: Duration = Duration::from_secs(10);
/// Interval between two reads of the table.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Bytes in the kernel buffers at the server's end of a connection: replies not acknowledged, and
/// requests not read.
struct KernelQueues {
    replies: u64,
    requests: u64,
}

/// Returns the bytes of a connection; `None` if it does not exist.
fn kernel_queues(server: SocketAddr, peer: &TcpStream) -> Option<KernelQueues> {
    let (server, peer) = (server.port(), peer.local_addr().unwrap().port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap();
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = |field: &str| hexadecimal(field.split(':').nth(1).unwrap());
        let ports = (port(fields[1]), port(fields[2]));
        if ports != (server.into(), peer.into()) {
            return None;
        }
        let (replies, requests) = fields[4].split_once(':').unwrap();
        Some(KernelQueues {
            replies: hexadecimal(replies),
            requests: hexadecimal(requests),
        })
    })
}

/// Waits until both buffers stay below `most_bytes` for a while. Data in flight when a peer stops reading
/// is retransmitted until its kernel accepts it.
fn wait_until_drained(server: SocketAddr, peer: &TcpStream, most_bytes: u64) {
    let began = Instant::now();
    let mut little = Instant::now();
    while little.elapsed() < 30 * POLL_INTERVAL {
        thread::sleep(POLL_INTERVAL);
        let KernelQueues { replies, requests } = kernel_queues(server, peer).unwrap();
        if replies == 0 || replies.max(requests) > most_bytes {
            little = Instant::now();
        }
        let waited = began.elapsed();
        assert!(waited < BOUND, "{replies} and {requests} bytes are kept");
    }
}

/// The peer first reads its replies, so that windows and buffers may grow. Then it requests gigabytes,
/// repeatedly, and reads nothing.
#[test]
fn peer_that_does_not_read_uses_little_system_memory() {
    let ((), _) = serve_while(ServerOptions::default(), |server| {
        let mut peer = TcpStream::connect(server).unwrap();
        let bytes = 20_000_000;
        write!(peer, "GET /{bytes} HTTP/1.1\r\n\r\n").unwrap();
        peer.read_exact(&mut vec![0; bytes]).unwrap();
        let head = format!("POST /50 HTTP/1.1\r\nContent-Length: {bytes}\r\n\r\n");
        peer.write_all(head.as_bytes()).unwrap();
        peer.write_all(&vec![0; bytes]).unwrap();
        peer.read_exact(&mut [0; 50]).unwrap();
        peer.set_nonblocking(true).unwrap();
        let asked = b"GET /1073741824 HTTP/1.1\r\n\r\n".repeat(1000);
        for _ in 0..100 {
            // As much as the kernel accepts at once.
            let _ = peer.write(&asked);
        }
        // A segment has up to 64 KB, and the last may begin below the limit of 128 KB.
        wait_until_drained(server, &peer, 3 << 16);
    });
}

/// A peer that does not read is dropped, whether the server has more to write or the kernel has it all.
#[test]
fn peer_that_does_not_read_is_closed() {
    for reply_bytes in [60_000, 1 << 30] {
        let limits = Limits {
            reply_s: 0.3,
            ..Limits::default()
        };
        let options = ServerOptions {
            limits,
            ..ServerOptions::default()
        };
        let (_peer, served) = serve_while(options, |server| {
            let peer = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            peer.set_recv_buffer_size(4096).unwrap();
            peer.connect(&server.into()).unwrap();
            let mut peer = TcpStream::from(peer);
            write!(peer, "GET /{reply_bytes} HTTP/1.1\r\n\r\n").unwrap();
            let began = Instant::now();
            while kernel_queues(server, &peer).is_some() {
                assert!(began.elapsed() < BOUND, "the server keeps the connection");
                thread::sleep(POLL_INTERVAL);
            }
            peer
        });
        assert_eq!(served.dropped(DropReason::NotReading), 1, "{reply_bytes}");
    }
}
