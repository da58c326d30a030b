//! Open-loop sources: UDP packets at constant or exponential intervals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netflow_network::ConnectionSpec;
use netflow_testbed::network::EmulatedNetwork;
use netflow_testbed::{ThreadRole, set_realtime_priority};
use netflow_units::ns;

use crate::emulation::{ActivePeriod, Error, InterarrivalTimes};

/// Discard port (RFC 863).
const PORT: u16 = 9;

/// Bytes of the IPv4 and UDP headers.
const HEADERS_BYTES: f64 = 28.0;

/// All open-loop sources of an emulation.
#[derive(Debug, Default)]
pub(crate) struct OpenLoopSources {
    sources: Vec<Source>,
    /// Receiving sockets, by connection. They are only held open, because a closed port would answer with
    /// ICMP.
    receivers: Vec<(usize, UdpSocket)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Source {
    socket: UdpSocket,
    to: SocketAddrV4,
    payload_bytes: usize,
    interarrival_times: InterarrivalTimes,
    next_ns: u64,
    stop_ns: u64,
}

/// Longest sleep before the thread checks whether the emulation is over.
const MAX_SLEEP: Duration = Duration::from_millis(50);

impl OpenLoopSources {
    pub fn add(
        &mut self,
        network: &EmulatedNetwork,
        pair: usize,
        spec: &ConnectionSpec,
        active_period: ActivePeriod,
        mut interarrival_times: InterarrivalTimes,
    ) -> Result<(), Error> {
        let doing = || format!("open a socket for connection {}", spec.name);
        let ends = &network.plan().pairs[pair];
        let [from, to] = ends.addresses;
        let [sender, receiver] = ends.hosts;
        if self.receivers.last().is_none_or(|&(last, _)| last != pair) {
            let socket = network.run_in(receiver, || UdpSocket::bind((to, PORT)))?;
            self.receivers
                .push((pair, socket.map_err(Error::socket(doing()))?));
        }
        let socket = network.run_in(sender, || UdpSocket::bind((from, 0)))?;
        let socket = socket.map_err(Error::socket(doing()))?;
        socket
            .set_nonblocking(true)
            .map_err(Error::socket(doing()))?;
        let start_ns = ns(active_period.start_s);
        // A constant source starts with a packet, a Poisson source with an interval.
        let next_ns = match &interarrival_times {
            InterarrivalTimes::Constant(_) => start_ns,
            InterarrivalTimes::Poisson(..) => start_ns + interarrival_times.next_ns(),
        };
        self.sources.push(Source {
            socket,
            to: SocketAddrV4::new(to, PORT),
            payload_bytes: (spec.packet_size_bytes - HEADERS_BYTES)
                .round()
                .clamp(0.0, 65_507.0) as usize,
            interarrival_times,
            next_ns,
            stop_ns: active_period.stop_s.map_or(u64::MAX, ns),
        });
        Ok(())
    }

    pub fn start(&mut self, began: Instant) -> Result<(), Error> {
        let sources = std::mem::take(&mut self.sources);
        if sources.is_empty() {
            return Ok(());
        }
        let stop = self.stop.clone();
        let thread = thread::Builder::new()
            .name("open sources".to_owned())
            .spawn(move || {
                set_realtime_priority(ThreadRole::Measuring);
                run_sources(sources, began, &stop);
            });
        self.thread = Some(thread.map_err(Error::socket("start a thread for sources"))?);
        Ok(())
    }
}

impl Drop for OpenLoopSources {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has no result.
            let _ = thread.join();
        }
    }
}

impl InterarrivalTimes {
    fn next_ns(&mut self) -> u64 {
        match self {
            InterarrivalTimes::Constant(rate_pps) => ns(1.0 / *rate_pps).max(1),
            InterarrivalTimes::Poisson(rate_pps, random) => {
                ns(-(1.0 - random.uniform()).ln() / *rate_pps)
            }
        }
    }
}

fn run_sources(mut sources: Vec<Source>, began: Instant, stop: &AtomicBool) {
    let payload = vec![0; sources.iter().map(|it| it.payload_bytes).max().unwrap_or(0)];
    let mut due: BinaryHeap<_> = (sources.iter().enumerate())
        .map(|(index, source)| Reverse((source.next_ns, index)))
        .collect();
    while let Some(&Reverse((at_ns, index))) = due.peek() {
        let wait = Duration::from_nanos(at_ns).saturating_sub(began.elapsed());
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if !wait.is_zero() {
            thread::sleep(wait.min(MAX_SLEEP));
            continue;
        }
        due.pop();
        let source = &mut sources[index];
        if at_ns >= source.stop_ns {
            continue;
        }
        // A packet that the host cannot send at once is lost, as on a real host.
        let _ = source
            .socket
            .send_to(&payload[..source.payload_bytes], source.to);
        source.next_ns += source.interarrival_times.next_ns();
        due.push(Reverse((source.next_ns, index)));
    }
}
