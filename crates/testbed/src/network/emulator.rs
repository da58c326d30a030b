//! Emulation thread of a network: carries packets between the hosts' devices in real time.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hdrhistogram::Histogram;
use netflow_queues::PacketInfo;
use netflow_units::ns;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tun_rs::SyncDevice;

use super::emulated_network::Built;
use super::network_simulation::{EnteringPacket, LeavingPacket, LinkSimulation};
use super::packet::{Header, mark_ce};
use super::plan::Plan;
use super::report::{NetworkReport, OneWayDelay, PairCounts, Snapshot};
use crate::Error;
use crate::capture::{CaptureReport, CaptureWriter};
use crate::cpu_keepalive::CpuKeepalive;
use crate::precise_timer::{Clock, PreciseTimer};
use crate::priority::{ThreadRole, set_realtime_priority};
use crate::report::Lateness;

/// Interval of snapshots, and the counters of bytes read.
pub(crate) struct Recording {
    pub every_s: f64,
    pub read_bytes: Arc<[AtomicU64]>,
}

/// Thread of an emulated network.
#[derive(Debug)]
pub(crate) struct Emulator {
    began: Instant,
    running: Option<(OwnedFd, JoinHandle<NetworkReport>)>,
    _keepalive: Option<Arc<CpuKeepalive>>,
}

impl Emulator {
    /// Returns a placeholder without a thread.
    pub fn none() -> Emulator {
        Emulator {
            began: Instant::now(),
            running: None,
            _keepalive: None,
        }
    }

    pub fn start(built: Built, plan: &Plan, recording: Recording) -> Result<Emulator, Error> {
        let system =
            |doing: &'static str| move |errno| Error::system(doing, io::Error::from(errno));
        let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(system("make an event descriptor"))?;
        let stopped = stop
            .try_clone()
            .map_err(|error| Error::system("copy an event descriptor", error))?;
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("watch devices"))?;
        for (place, device) in built.devices.iter().enumerate() {
            let data = EventData::new_u64(place as u64);
            epoll::add(&ready, device.as_fd(), data, EventFlags::IN)
                .map_err(system("watch a device"))?;
        }
        let mut pairs = HashMap::new();
        let mut to_host = Vec::new();
        for pair in &plan.pairs {
            for (from, to) in [(0, 1), (1, 0)] {
                let ends = (pair.addresses[from], pair.addresses[to]);
                pairs.insert(ends, to_host.len() as u32);
                to_host.push(pair.hosts[to]);
            }
        }
        let links = built.simulation.link_count();
        let histogram = || Histogram::new(HISTOGRAM_DIGITS).expect("digits from 0 to 5");
        let mut captures: Vec<Option<CaptureWriter>> = (0..links).map(|_| None).collect();
        for (link, capture) in built.captures {
            captures[link as usize] = Some(capture);
        }
        let keepalive = CpuKeepalive::acquire();
        let began = Instant::now();
        let mut worker = EmulatorThread {
            devices: built.devices,
            simulation: built.simulation,
            paths: pairs,
            counts: vec![PairCounts::default(); to_host.len() / 2],
            delays_us: vec![None; to_host.len() / 2],
            to_host,
            captures,
            lateness_ns: vec![None; links],
            all_lateness_ns: histogram(),
            report: NetworkReport::default(),
            free_buffers: Vec::new(),
            clock: Clock(began),
            recording,
            next_snapshot: 1,
        };
        let thread = thread::Builder::new()
            .name("network".to_owned())
            .spawn(move || {
                worker.report.realtime = set_realtime_priority(ThreadRole::Link);
                worker.run(&ready, &stopped);
                worker.finish()
            })
            .map_err(|error| Error::system("start the network's thread", error))?;
        Ok(Emulator {
            began,
            running: Some((stop, thread)),
            _keepalive: Some(keepalive),
        })
    }

    /// Returns the instant of time 0.
    pub fn began(&self) -> Instant {
        self.began
    }

    pub fn is_alive(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|(_, thread)| !thread.is_finished())
    }

    pub fn stop(mut self) -> Result<NetworkReport, Error> {
        match self.stop_thread() {
            Some(Ok(report)) => Ok(report),
            _ => Err(Error::system(
                "stop the network",
                io::Error::other("the network's thread panicked"),
            )),
        }
    }

    fn stop_thread(&mut self) -> Option<thread::Result<NetworkReport>> {
        let (stop, thread) = self.running.take()?;
        // The write cannot fail, because the counter is far from full.
        let _ = rustix::io::write(&stop, &1u64.to_ne_bytes());
        Some(thread.join())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop_thread();
    }
}

/// Significant digits of the lateness and delay histograms.
const HISTOGRAM_DIGITS: u8 = 3;

/// Maximum packets read from one host before the others are served.
const BATCH_PKTS: usize = 32;

/// Maximum number of ready hosts per call of `epoll_wait`.
const MAX_READY_HOSTS: usize = 64;

/// Maximum bytes in the network.
const MAX_IN_NETWORK_BYTES: u64 = 256 << 20;

/// Maximum length of the free list of packet buffers.
const MAX_FREE_BUFFERS: usize = 4096;

/// Size of the largest IP packet, in bytes.
const MAX_PACKET_BYTES: usize = 65_535;

struct EmulatorThread {
    devices: Vec<SyncDevice>,
    simulation: LinkSimulation<Vec<u8>>,
    /// Path index by addresses; the two paths of a pair are consecutive.
    paths: HashMap<(Ipv4Addr, Ipv4Addr), u32>,
    to_host: Vec<usize>,
    counts: Vec<PairCounts>,
    delays_us: Vec<Option<Histogram<u32>>>,
    captures: Vec<Option<CaptureWriter>>,
    lateness_ns: Vec<Option<Histogram<u32>>>,
    all_lateness_ns: Histogram<u64>,
    report: NetworkReport,
    free_buffers: Vec<Vec<u8>>,
    clock: Clock,
    recording: Recording,
    next_snapshot: u64,
}

impl EmulatorThread {
    fn run(&mut self, ready: &OwnedFd, stop: &OwnedFd) {
        let mut timer = PreciseTimer::new();
        let mut scratch = vec![0; MAX_PACKET_BYTES];
        let mut events = Vec::with_capacity(MAX_READY_HOSTS);
        loop {
            let now_ns = self.clock.now_ns();
            self.advance(now_ns);
            let due_ns = self.simulation.next_event_ns();
            let mark_ns = self.next_snapshot_ns();
            let due_ns = Some(due_ns.map_or(mark_ns, |due_ns| due_ns.min(mark_ns)));
            let (wake_ns, timeout) = timer.timeout(due_ns, &self.clock);
            let mut descriptors = [
                PollFd::new(ready, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            let asked_ns = self.clock.now_ns();
            // On an interruption or a temporary lack of memory, the devices are tried.
            let count = poll(&mut descriptors, timeout.as_ref()).unwrap_or(1);
            if !descriptors[1].revents().is_empty() {
                return;
            }
            if let (0, Some(wake_ns), Some(due_ns)) = (count, wake_ns, due_ns) {
                timer.record_wakeup(wake_ns.max(asked_ns), due_ns, &self.clock);
                continue;
            }
            events.clear();
            let at_once = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let spare = rustix::buffer::spare_capacity(&mut events);
            if epoll::wait(ready, spare, Some(&at_once)).is_err() {
                continue;
            }
            for event in &events {
                self.read(event.data.u64() as usize, &mut scratch);
            }
        }
    }

    fn next_snapshot_ns(&self) -> u64 {
        ns(self.next_snapshot as f64 * self.recording.every_s)
    }

    /// Reads packets that a host has sent, up to [`BATCH_PKTS`].
    fn read(&mut self, host: usize, scratch: &mut [u8]) {
        for _ in 0..BATCH_PKTS {
            // No more packets, or the device is gone.
            let Ok(bytes) = self.devices[host].recv(scratch) else {
                return;
            };
            let now_ns = self.clock.now_ns();
            let Some(packet) = scratch.get(..bytes).filter(|packet| !packet.is_empty()) else {
                return;
            };
            let Some(header) = Header::parse(packet) else {
                self.report.stray_pkts += 1;
                continue;
            };
            let Some(&path) = self.paths.get(&(header.from, header.to)) else {
                self.report.stray_pkts += 1;
                continue;
            };
            if self.simulation.in_network_bytes() > MAX_IN_NETWORK_BYTES {
                self.report.overflow_pkts += 1;
                continue;
            }
            if path % 2 == 0 && header.has_data {
                self.counts[path as usize / 2].sent_pkts += 1;
            }
            let mut payload = self.free_buffers.pop().unwrap_or_default();
            payload.clear();
            payload.extend_from_slice(packet);
            self.report.entered_pkts += 1;
            // Earlier events are processed first.
            self.advance(now_ns);
            self.simulation.enter(
                now_ns,
                EnteringPacket {
                    path,
                    info: PacketInfo {
                        bytes: bytes as u32,
                        flow: header.flow,
                        ecn: header.ecn,
                        ..PacketInfo::default()
                    },
                    payload,
                },
            );
        }
    }

    fn pairs(&self) -> Vec<PairCounts> {
        let each = self.counts.iter().zip(&*self.recording.read_bytes);
        each.map(|(&counts, read)| PairCounts {
            read_bytes: read.load(Ordering::Relaxed),
            ..counts
        })
        .collect()
    }

    /// Processes all events that are due by now, with snapshots at their times.
    fn advance(&mut self, now_ns: u64) {
        while self.next_snapshot_ns() <= now_ns {
            let mark_ns = self.next_snapshot_ns();
            self.forward_until(mark_ns);
            let pairs = self.pairs();
            self.report.snapshots.push(Snapshot {
                time_s: mark_ns as f64 * 1e-9,
                links: self.simulation.counts(),
                pairs,
            });
            self.next_snapshot += 1;
        }
        self.forward_until(now_ns);
    }

    fn forward_until(&mut self, until_ns: u64) {
        let EmulatorThread {
            devices,
            simulation,
            to_host,
            counts,
            delays_us,
            captures,
            lateness_ns,
            all_lateness_ns,
            report,
            free_buffers: spare,
            clock,
            ..
        } = self;
        let hops_pkts = &mut report.hops_pkts;
        let write_failures = &mut report.write_failures;
        let mut on_link = |link: u32, at_ns: u64, payload: &Vec<u8>| {
            *hops_pkts += 1;
            if let Some(capture) = &mut captures[link as usize] {
                capture.take(at_ns, payload);
            }
        };
        let mut out = |leaving: LeavingPacket<Vec<u8>>| {
            let mut packet = leaving.payload;
            if leaving.marked {
                mark_ce(&mut packet);
            }
            let path = leaving.path as usize;
            match devices[to_host[path]].send(&packet) {
                Ok(_) => {
                    let late_ns = clock.now_ns().saturating_sub(leaving.due_ns);
                    // The histograms resize themselves; values beyond their maximum do not occur.
                    let _ = all_lateness_ns.record(late_ns);
                    if let Some(link) = leaving.last_link {
                        let _ = histogram(&mut lateness_ns[link as usize]).record(late_ns);
                    }
                    if path.is_multiple_of(2)
                        && Header::parse(&packet).is_some_and(|it| it.has_data)
                    {
                        counts[path / 2].delivered_pkts += 1;
                        let took_us = (leaving.due_ns - leaving.entered_ns) / 1000;
                        let _ = histogram(&mut delays_us[path / 2]).record(took_us);
                    }
                }
                Err(_) => *write_failures += 1,
            }
            if spare.len() < MAX_FREE_BUFFERS {
                spare.push(packet);
            }
        };
        simulation.advance(until_ns, &mut on_link, &mut out);
    }

    fn finish(mut self) -> NetworkReport {
        let end_ns = self.clock.now_ns();
        self.advance(end_ns);
        let (links, pairs) = (self.simulation.counts(), self.pairs());
        let captures = self.captures.into_iter().flatten();
        let lateness = self.lateness_ns.iter();
        let delay = |us: &Histogram<u32>| OneWayDelay {
            p50_s: 1e-6 * us.value_at_quantile(0.5) as f64,
            p95_s: 1e-6 * us.value_at_quantile(0.95) as f64,
            p99_s: 1e-6 * us.value_at_quantile(0.99) as f64,
        };
        NetworkReport {
            links,
            pairs,
            delays: self
                .delays_us
                .iter()
                .map(|it| it.as_ref().map(delay))
                .collect(),
            lateness: lateness.map(|it| it.as_ref().map(Lateness::of)).collect(),
            all_lateness: Lateness::of(&self.all_lateness_ns),
            seconds: end_ns as f64 * 1e-9,
            unrouted_pkts: self.simulation.unrouted_pkts(),
            captures: captures
                .map(CaptureWriter::finish)
                .fold(CaptureReport::default(), CaptureReport::merge),
            ..self.report
        }
    }
}

fn histogram(of: &mut Option<Histogram<u32>>) -> &mut Histogram<u32> {
    of.get_or_insert_with(|| Histogram::new(HISTOGRAM_DIGITS).expect("digits from 0 to 5"))
}
