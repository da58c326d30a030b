//! Emulation thread of one link. It reads packets from the device at either end and passes them through
//! the [`Channel`] of their direction. It writes them to the other device when they are due.
//!
//! One thread serves both directions by the monotonic clock. It waits with nanosecond timeouts, without
//! timer slack, and with real-time priority if permitted.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hdrhistogram::Histogram;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use tun_rs::SyncDevice;

use crate::Error;
use crate::capture::CaptureWriter;
use crate::cpu_keepalive::CpuKeepalive;
use crate::link_direction::{Channel, DropReason, PacketOutcome};
use crate::link_options::{End, ExtraPathDelay, LinkOptions};
use crate::precise_timer::{Clock, PreciseTimer};
use crate::priority::{ThreadRole, set_realtime_priority};
use crate::report::{DirectionReport, Lateness, LinkReport};

/// Emulated link that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Emulator {
    stop: OwnedFd,
    /// Packets that found the buffer full, from A and from B.
    refused_pkts: [Arc<AtomicU64>; 2],
    thread: Option<JoinHandle<LinkReport>>,
    _keepalive: Arc<CpuKeepalive>,
}

impl Emulator {
    /// Starts the thread with the devices of the ends A and B.
    pub(crate) fn start(
        devices: [SyncDevice; 2],
        options: &LinkOptions,
    ) -> Result<Emulator, Error> {
        let capture = match &options.capture {
            Some(capture) => Some((CaptureWriter::new(capture)?, capture.end)),
            None => None,
        };
        let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|errno| Error::system("make an event descriptor", errno))?;
        let stopped = stop
            .try_clone()
            .map_err(|error| Error::system("copy an event descriptor", error))?;
        let [a, b] = devices;
        let out = Direction::new(End::A, Channel::new(&options.out, options.seed, 0));
        let mut back = Direction::new(End::B, Channel::new(&options.back, options.seed, 1));
        back.extra_path_delay = options.extra_path_delay;
        let refused_pkts = [out.refused_pkts.clone(), back.refused_pkts.clone()];
        let thread = thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                let realtime = set_realtime_priority(ThreadRole::Link);
                LinkThread::new([a, b], [out, back], capture, realtime).run(&stopped)
            })
            .map_err(|error| Error::system("start the link's thread", error))?;
        Ok(Emulator {
            stop,
            refused_pkts,
            thread: Some(thread),
            _keepalive: CpuKeepalive::acquire(),
        })
    }

    /// Returns the packets from this end that found the buffer full.
    pub(crate) fn refused_pkts(&self, from: End) -> u64 {
        self.refused_pkts[from as usize].load(Ordering::Relaxed)
    }

    /// Stops the link; packets in flight are lost.
    pub(crate) fn stop(mut self) -> Result<LinkReport, Error> {
        match self.stop_thread() {
            Some(Ok(report)) => Ok(report),
            _ => Err(Error::system(
                "stop the link",
                io::Error::other("the link's thread panicked"),
            )),
        }
    }

    /// Returns whether its thread still runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    fn stop_thread(&mut self) -> Option<thread::Result<LinkReport>> {
        let thread = self.thread.take()?;
        // The write cannot fail, because the counter is far from full.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        Some(thread.join())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop_thread();
    }
}

/// Maximum bytes in flight in one direction: more than 1 Gbit/s over 2 s.
const MAX_IN_FLIGHT_BYTES: usize = 256 << 20;

/// Maximum packets read or written at one end before the other end is served.
const BATCH_PKTS: usize = 32;

/// Size of the largest IP packet, in bytes.
const MAX_PACKET_BYTES: usize = 65_535;

struct LinkThread {
    a: SyncDevice,
    b: SyncDevice,
    out: Direction,
    back: Direction,
    clock: Clock,
    timer: PreciseTimer,
    capture: Option<(CaptureWriter, End)>,
    realtime: bool,
    scratch: Vec<u8>,
}

impl LinkThread {
    fn new(
        [a, b]: [SyncDevice; 2],
        [out, back]: [Direction; 2],
        capture: Option<(CaptureWriter, End)>,
        realtime: bool,
    ) -> LinkThread {
        LinkThread {
            a,
            b,
            out,
            back,
            clock: Clock(Instant::now()),
            timer: PreciseTimer::new(),
            capture,
            realtime,
            scratch: vec![0; MAX_PACKET_BYTES],
        }
    }

    fn run(mut self, stop: &OwnedFd) -> LinkReport {
        loop {
            let capture = &mut self.capture;
            self.out.deliver(&self.b, &self.clock, capture);
            self.back.deliver(&self.a, &self.clock, capture);
            // On an interruption or a temporary lack of memory, both devices are tried.
            let (a, b, stopped) = self.wait(stop).unwrap_or((true, true, false));
            if stopped {
                return self.finish();
            }
            let capture = &mut self.capture;
            if a {
                self.out
                    .read(&self.a, &self.clock, capture, &mut self.scratch);
            }
            if b {
                self.back
                    .read(&self.b, &self.clock, capture, &mut self.scratch);
            }
        }
    }

    /// Waits until a device is readable, a packet is due or the link is stopped. Returns whether A and B
    /// are readable, and whether to stop.
    fn wait(&mut self, stop: &OwnedFd) -> rustix::io::Result<(bool, bool, bool)> {
        let due_ns = self.next_due_ns();
        let (wake_ns, timeout) = self.timer.timeout(due_ns, &self.clock);
        let mut descriptors = [
            PollFd::new(&self.a, PollFlags::IN),
            PollFd::new(&self.b, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        let asked_ns = self.clock.now_ns();
        let ready = poll(&mut descriptors, timeout.as_ref())?;
        let [a, b, stop] = descriptors.map(|descriptor| !descriptor.revents().is_empty());
        if let (0, Some(wake_ns), Some(due_ns)) = (ready, wake_ns, due_ns) {
            self.timer
                .record_wakeup(wake_ns.max(asked_ns), due_ns, &self.clock);
        }
        Ok((a, b, stop))
    }

    fn next_due_ns(&self) -> Option<u64> {
        let first = |direction: &Direction| Some(direction.earliest_due()?.0);
        earlier(first(&self.out), first(&self.back))
    }

    fn finish(self) -> LinkReport {
        let seconds = self.clock.now_ns() as f64 * 1e-9;
        LinkReport {
            out: self.out.finish(seconds),
            back: self.back.finish(seconds),
            seconds,
            realtime: self.realtime,
            capture: (self.capture)
                .map(|(writer, _)| writer.finish())
                .unwrap_or_default(),
        }
    }
}

/// Returns the earlier of two optional times.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// One direction with its packets in flight.
struct Direction {
    from: End,
    channel: Channel,
    /// Connections with an additional delay.
    extra_path_delay: Option<ExtraPathDelay>,
    /// Packets in flight on the direct path and on the detour, with their due times in nanoseconds.
    in_flight: [VecDeque<(u64, Vec<u8>)>; 2],
    in_flight_bytes: usize,
    refused_pkts: Arc<AtomicU64>,
    /// Free list of packet buffers.
    free_buffers: Vec<Vec<u8>>,
    lateness_ns: Histogram<u64>,
    report: DirectionReport,
}

/// Significant digits of the lateness histogram.
const LATENESS_DIGITS: u8 = 2;

/// Maximum length of the free list.
const MAX_FREE_BUFFERS: usize = 4096;

impl Direction {
    fn new(from: End, channel: Channel) -> Direction {
        Direction {
            from,
            channel,
            extra_path_delay: None,
            in_flight: Default::default(),
            in_flight_bytes: 0,
            refused_pkts: Arc::default(),
            free_buffers: Vec::new(),
            lateness_ns: Histogram::new(LATENESS_DIGITS).expect("digits from 0 to 5"),
            report: DirectionReport::default(),
        }
    }

    /// Reads packets from the sending end's device, up to [`BATCH_PKTS`].
    fn read(
        &mut self,
        device: &SyncDevice,
        clock: &Clock,
        capture: &mut Option<(CaptureWriter, End)>,
        scratch: &mut [u8],
    ) {
        for _ in 0..BATCH_PKTS {
            // No more packets, or the device is gone: packets in flight are still delivered.
            let Ok(bytes) = device.recv(scratch) else {
                return;
            };
            let now_ns = clock.now_ns();
            let Some(packet) = scratch.get(..bytes).filter(|packet| !packet.is_empty()) else {
                return;
            };
            if let Some((writer, end)) = capture
                && *end == self.from
            {
                writer.take(now_ns, packet);
            }
            self.accept(now_ns, packet);
        }
    }

    fn accept(&mut self, now_ns: u64, packet: &[u8]) {
        self.report.offered.add(packet.len());
        let due_ns = match self.channel.offer(now_ns, packet.len()) {
            PacketOutcome::Dropped(why) => {
                self.report.drops.add(why);
                let refused_pkts = self.report.drops.buffer;
                return self.refused_pkts.store(refused_pkts, Ordering::Relaxed);
            }
            PacketOutcome::Delivered(due_ns) => due_ns,
        };
        let detour = self
            .extra_path_delay
            .filter(|detour| tcp_source(packet) == Some(detour.port));
        let (way, more_s) = match detour {
            Some(detour) => (1, detour.delay.get()),
            None => (0, 0.0),
        };
        let due_ns = due_ns.saturating_add((more_s * 1e9).round() as u64);
        if self.in_flight_bytes + packet.len() > MAX_IN_FLIGHT_BYTES {
            return self.report.drops.add(DropReason::Overflow);
        }
        self.in_flight_bytes += packet.len();
        let mut kept = self.free_buffers.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(packet);
        self.in_flight[way].push_back((due_ns, kept));
    }

    /// Returns the due time of the next packet, and the index of its path.
    fn earliest_due(&self) -> Option<(u64, usize)> {
        let of = |way: usize| Some((self.in_flight[way].front()?.0, way));
        match (of(0), of(1)) {
            (Some(straight), Some(round)) => Some(straight.min(round)),
            (straight, round) => straight.or(round),
        }
    }

    /// Writes due packets to the receiving end's device, up to [`BATCH_PKTS`].
    fn deliver(
        &mut self,
        device: &SyncDevice,
        clock: &Clock,
        capture: &mut Option<(CaptureWriter, End)>,
    ) {
        for _ in 0..BATCH_PKTS {
            let now_ns = clock.now_ns();
            let due = self.earliest_due().filter(|&(due_ns, _)| due_ns <= now_ns);
            let next = due.and_then(|(_, way)| self.in_flight[way].pop_front());
            let Some((due_ns, packet)) = next else {
                return;
            };
            self.in_flight_bytes -= packet.len();
            match device.send(&packet) {
                Ok(_) => {
                    let written_ns = clock.now_ns();
                    self.report.delivered.add(packet.len());
                    // The histogram resizes itself; values beyond its maximum do not occur.
                    let _ = self.lateness_ns.record(written_ns - due_ns);
                    if let Some((writer, end)) = capture
                        && *end != self.from
                    {
                        writer.take(written_ns, &packet);
                    }
                }
                Err(_) => self.report.write_failures += 1,
            }
            if self.free_buffers.len() < MAX_FREE_BUFFERS {
                self.free_buffers.push(packet);
            }
        }
    }

    fn finish(self, seconds: f64) -> DirectionReport {
        DirectionReport {
            mean_queue_pkts: self.channel.queued_ns() as f64 * 1e-9 / seconds,
            in_flight_pkts: self.in_flight.iter().map(VecDeque::len).sum::<usize>() as u64,
            lateness: Lateness::of(&self.lateness_ns),
            ..self.report
        }
    }
}

/// Returns the source port of a TCP segment in a whole IPv4 packet.
fn tcp_source(packet: &[u8]) -> Option<u16> {
    const TCP: u8 = 6;
    let header_bytes = 4 * usize::from(packet.first()? & 0x0f);
    let port = packet.get(header_bytes..header_bytes + 2)?;
    (packet[0] >> 4 == 4 && *packet.get(9)? == TCP).then(|| u16::from_be_bytes([port[0], port[1]]))
}
