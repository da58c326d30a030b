//! One experiment over an emulated link, with bulk senders of Linux.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netflow_testbed::{
    DirectionOptions, End, ExtraPathDelay, LinkOptions, Outcome, StackOptions, Testbed,
};
use netflow_units::{BitsPerSecond, Packets, Rate, Seconds, Size};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion};

use crate::cell::{Cell, OVERSHOOT_S};
use crate::row::{Measurement, Row};

/// Port of the first sender; the others use the following ones.
const PORT: u16 = 9000;

/// Bytes per read and write.
const CHUNK_BYTES: usize = 64 << 10;

/// Timeout of socket operations, after which the end of the run is checked.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

fn link(cell: &Cell) -> LinkOptions {
    let delay = Seconds(0.5e-3 * f64::from(cell.rtt_ms));
    let last = PORT + cell.senders().len() as u16 - 1;
    LinkOptions {
        out: DirectionOptions {
            delay,
            rate: Some(Rate::BitsPerSecond(BitsPerSecond(
                1e6 * f64::from(cell.link_mbps),
            ))),
            buffer: Size::Packets(Packets(f64::from(cell.buffer_pkts))),
            ..DirectionOptions::default()
        },
        back: DirectionOptions {
            delay,
            ..DirectionOptions::default()
        },
        extra_path_delay: (cell.detour_ms > 0).then_some(ExtraPathDelay {
            port: last,
            delay: Seconds(1e-3 * f64::from(cell.detour_ms)),
        }),
        ..LinkOptions::default()
    }
}

fn system(error: io::Error) -> Outcome {
    Outcome::Failed(error.to_string())
}

/// Measures an experiment.
pub(crate) fn run(cell: &Cell, repetition: u32) -> Result<Row, Outcome> {
    let of_error = |error| Outcome::of_error(&error);
    let testbed = Testbed::new(&link(cell), &StackOptions::linux_6()).map_err(of_error)?;
    let senders = cell.congestion.split('+').enumerate();
    let listen = |(i, name)| Transfer::listen(&testbed, i, name);
    let transfers: Vec<Transfer> = senders.map(listen).collect::<Result<_, _>>()?;
    let over = AtomicBool::new(false);
    let begin = Instant::now();
    let until = |seconds: f64| {
        let at = begin + Duration::from_secs_f64(seconds);
        thread::sleep(at.saturating_duration_since(Instant::now()));
    };
    let (early_drops_pkts, received, counters) = thread::scope(|scope| {
        let running: Vec<_> = transfers
            .iter()
            .map(|transfer| {
                let (testbed, over, until) = (&testbed, &over, &until);
                scope.spawn(move || {
                    until(transfer.start_s);
                    transfer.send(testbed, over)
                })
            })
            .collect();
        until(OVERSHOOT_S);
        let early_drops_pkts = testbed.refused_pkts(End::A);
        until(f64::from(cell.seconds));
        let received: Vec<f64> = transfers.iter().map(Transfer::received_bytes).collect();
        let counters = testbed.run_in(End::A, counters);
        over.store(true, Ordering::Relaxed);
        for thread in running {
            let died = |_| Err(io::Error::other("a sender died"));
            thread.join().unwrap_or_else(died).map_err(system)?;
        }
        Ok::<_, Outcome>((early_drops_pkts, received, counters))
    })?;
    let (retransmitted_pkts, timeouts) = counters.map_err(of_error)?.map_err(system)?;
    let report = testbed.stop().map_err(of_error)?;
    if let Some(doubt) = report.unreliable_reason() {
        return Err(Outcome::Inconclusive(doubt));
    }
    let rate_bps = 1e6 * f64::from(cell.link_mbps);
    let found = Measurement {
        repetition,
        utilization: 8.0 * report.out.delivered.bytes as f64 / report.seconds / rate_bps,
        queue_pkts: report.out.mean_queue_pkts,
        offered_pkts: report.out.offered.pkts,
        dropped_pkts: report.out.drops.buffer,
        early_drops_pkts,
        retransmitted_pkts: Some(retransmitted_pkts),
        timeouts,
        goodput_mbps: String::new(),
    };
    Ok(Row::of(cell, found, &received))
}

/// Sender with its receiver.
struct Transfer {
    congestion: String,
    start_s: f64,
    place: SocketAddr,
    listener: TcpListener,
    received_bytes: AtomicU64,
}

impl Transfer {
    fn listen(testbed: &Testbed, i: usize, congestion: &str) -> Result<Transfer, Outcome> {
        let place = SocketAddr::from((testbed.address(End::B), PORT + i as u16));
        let listener = testbed.run_in(End::B, || TcpListener::bind(place));
        let listener = listener.map_err(|error| Outcome::of_error(&error))?;
        Ok(Transfer {
            congestion: congestion.to_owned(),
            start_s: Cell::start_s(i),
            place,
            listener: listener.map_err(system)?,
            received_bytes: AtomicU64::new(0),
        })
    }

    fn received_bytes(&self) -> f64 {
        self.received_bytes.load(Ordering::Relaxed) as f64
    }

    /// Sends and receives until the run is over.
    fn send(&self, testbed: &Testbed, over: &AtomicBool) -> io::Result<()> {
        let connected = testbed.run_in(End::A, || TcpStream::connect(self.place));
        let mut sender = connected.map_err(io::Error::other)??;
        // The route's congestion control is set at connect, so that another one can be set only
        // now.
        set_tcp_congestion(&sender, &self.congestion)?;
        set_socket_linger(&sender, Some(Duration::ZERO))?;
        sender.set_nonblocking(true)?;
        let (mut receiver, _) = self.listener.accept()?;
        receiver.set_read_timeout(Some(POLL_TIMEOUT))?;
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let piece = vec![0; CHUNK_BYTES];
                while !over.load(Ordering::Relaxed) {
                    if ignore_would_block(sender.write(&piece))? == 0 {
                        wait_until_writable(&sender)?;
                    }
                }
                Ok(())
            });
            let mut piece = vec![0; CHUNK_BYTES];
            while !over.load(Ordering::Relaxed) {
                let bytes = ignore_would_block(receiver.read(&mut piece))?;
                self.received_bytes
                    .fetch_add(bytes as u64, Ordering::Relaxed);
            }
            let died = |_| Err(io::Error::other("a sender died"));
            sending.join().unwrap_or_else(died)
        })
    }
}

/// Waits as servers with many connections do: the kernel reports a socket as writable when a third
/// of its send buffer is free.
fn wait_until_writable(sender: &TcpStream) -> io::Result<()> {
    let patience = Timespec::try_from(POLL_TIMEOUT).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(sender, PollFlags::OUT)], Some(&patience)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns 0 bytes if the operation timed out, would block or was interrupted.
fn ignore_would_block(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(0)
        }
        other => other,
    }
}

/// Returns retransmitted segments and timeouts in the calling thread's namespace.
fn counters() -> io::Result<(u64, u64)> {
    let count = |file: &str, group: &str, name: &str| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}"))?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
        let (names, values) = (lines.next(), lines.next());
        let mut pairs = names
            .into_iter()
            .flat_map(str::split_whitespace)
            .zip(values.into_iter().flat_map(str::split_whitespace));
        let value = pairs.find_map(|(known, value)| (known == name).then(|| value.parse().ok()));
        let missing = || io::Error::other(format!("{file} does not count {name}"));
        value.flatten().ok_or_else(missing)
    };
    Ok((
        count("snmp", "Tcp:", "RetransSegs")?,
        count("netstat", "TcpExt:", "TCPTimeouts")?,
    ))
}
