//! Transfers over many links at once.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use netflow::number::plain;
use netflow::units::{Packets, PacketsPerSecond, Rate, Seconds, Size};
use netflow_testbed::{
    Capture, DirectionOptions, End, Error, LinkOptions, LinkReport, StackOptions, Testbed, transfer,
};

use crate::output::progress::Progress;

const BUFFER_PKTS: f64 = 100.0;

/// Packets per second of all links together that two processors carry without being late.
pub const BUDGET_PPS: f64 = 50_000.0;

/// A transfer that the machine made inconclusive is made again.
const ATTEMPTS: usize = 3;

/// Headers are all that is needed of a packet.
const SNAP_BYTES: u32 = 96;

/// One transfer's setting.
pub struct Cell {
    pub congestion_control: String,
    pub rtt_s: f64,
    pub loss: f64,
    /// The rate of its link.
    pub link_pps: f64,
    pub repetition: usize,
    pub seed: u64,
}

impl Cell {
    /// `reno_0.05_60_0`: congestion control, loss, round-trip time in ms, repetition.
    pub fn name(&self) -> String {
        format!(
            "{}_{}_{}_{}",
            self.congestion_control,
            plain(self.loss),
            plain(1e3 * self.rtt_s),
            self.repetition
        )
    }

    /// What Reno's window makes of losses, in packets/s: √(3/2)/(rtt·√loss) (Mathis et al. 1997).
    pub fn mathis_pps(&self) -> f64 {
        1.5_f64.sqrt() / (self.rtt_s * self.loss.sqrt())
    }

    /// Packets per second that its link may have to carry, acknowledgements included.
    fn most_pps(&self) -> f64 {
        let data_pps = match self.congestion_control.as_str() {
            "reno" | "cubic" => 2.0 * self.mathis_pps(),
            _ => self.link_pps,
        };
        2.0 * data_pps.min(self.link_pps)
    }

    fn link(&self, capture: PathBuf) -> LinkOptions {
        // The time that a packet takes to be sent is part of the round-trip time.
        let out_s = 0.5 * self.rtt_s - 1.0 / self.link_pps;
        LinkOptions {
            out: DirectionOptions {
                delay: Seconds(out_s),
                rate: Some(Rate::PacketsPerSecond(PacketsPerSecond(self.link_pps))),
                buffer: Size::Packets(Packets(BUFFER_PKTS)),
                loss: self.loss.into(),
            },
            back: DirectionOptions {
                delay: Seconds(0.5 * self.rtt_s),
                ..DirectionOptions::default()
            },
            seed: self.seed,
            capture: Some(Capture {
                path: capture,
                end: End::A,
                snap_bytes: SNAP_BYTES,
            }),
            ..LinkOptions::default()
        }
    }
}

/// A transfer that took place.
pub struct Measured {
    pub cell: Cell,
    pub report: LinkReport,
    pub capture: PathBuf,
}

impl Measured {
    /// Packets per second of the whole transfer.
    pub fn rate_pps(&self) -> f64 {
        self.report.out.offered.pkts as f64 / self.report.seconds
    }

    /// Packets that the link lost at random, as it was told to.
    pub fn losses(&self) -> u64 {
        self.report.out.drops.loss
    }

    /// Whether it was the link that held the transfer back.
    pub fn fills_the_link(&self) -> bool {
        self.rate_pps() >= FULL * self.cell.link_pps
    }
}

/// Part of the link's rate from which on it counts as filled.
const FULL: f64 = 0.6;

/// How transfers are made.
pub struct Plan {
    pub transfer: Duration,
    pub parallel: usize,
    pub captures: PathBuf,
}

impl Plan {
    /// All transfers, and beside them, for each of these round-trip times, the time of a handshake
    /// without loss.
    pub fn run(
        &self,
        cells: Vec<Cell>,
        rtts_s: &[f64],
    ) -> Result<(Vec<Measured>, Vec<f64>), Error> {
        let room = Room::new(self.parallel);
        let total_s = self.least_s(&cells);
        thread::scope(|scope| {
            let room = &room;
            let transfers: Vec<_> = cells
                .into_iter()
                .map(|cell| scope.spawn(move || self.measure(cell, room)))
                .collect();
            let controls: Vec<_> = rtts_s
                .iter()
                .map(|&rtt_s| scope.spawn(move || handshake_s(rtt_s, self.transfer)))
                .collect();
            let (began, mut progress) = (Instant::now(), Progress::of("the transfers", true));
            while !transfers.iter().all(|transfer| transfer.is_finished()) {
                progress.at((began.elapsed().as_secs_f64() / total_s).min(1.0));
                thread::sleep(Duration::from_millis(20));
            }
            progress.finish();
            let measured = transfers.into_iter().map(join).collect::<Result<_, _>>()?;
            let controls = controls.into_iter().map(join).collect::<Result<_, _>>()?;
            Ok((measured, controls))
        })
    }

    /// Time that the transfers take at least.
    fn least_s(&self, cells: &[Cell]) -> f64 {
        let pps = cells.iter().map(Cell::most_pps).sum::<f64>();
        let rounds = (pps / BUDGET_PPS).max(cells.len() as f64 / self.parallel as f64);
        rounds.ceil() * self.transfer.as_secs_f64()
    }

    fn measure(&self, cell: Cell, room: &Room) -> Result<Measured, Error> {
        let pps = cell.most_pps();
        room.enter(pps);
        let mut report = self.transfer(&cell);
        for _ in 1..ATTEMPTS {
            if report.as_ref().is_ok_and(|report| report.doubt().is_some()) {
                report = self.transfer(&cell);
            }
        }
        room.leave(pps);
        Ok(Measured {
            report: report?,
            capture: self.capture(&cell),
            cell,
        })
    }

    fn capture(&self, cell: &Cell) -> PathBuf {
        self.captures.join(format!("{}.pcap", cell.name()))
    }

    fn transfer(&self, cell: &Cell) -> Result<LinkReport, Error> {
        let stack = StackOptions {
            congestion_control: cell.congestion_control.clone(),
            ..StackOptions::linux_6()
        };
        let testbed = Testbed::new(&cell.link(self.capture(cell)), &stack)?;
        transfer(&testbed, self.transfer).map_err(|source| Error::System {
            doing: format!("transfer over the link of {}", cell.name()),
            source,
        })?;
        let report = testbed.stop()?;
        report.capture.check()?;
        Ok(report)
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The median of handshakes over a loss-free link while the transfers are made.
fn handshake_s(rtt_s: f64, time: Duration) -> Result<f64, Error> {
    let failed = |source: std::io::Error| Error::System {
        doing: "make loss-free handshakes".to_owned(),
        source,
    };
    let link = LinkOptions::with_delay(Seconds(0.5 * rtt_s));
    let testbed = Testbed::new(&link, &StackOptions::linux_6())?;
    let place = (testbed.address(End::B), 9);
    let listener = testbed
        .run_in(End::B, || std::net::TcpListener::bind(place))?
        .map_err(failed)?;
    let mut times_s = Vec::new();
    for _ in 0..HANDSHAKES {
        thread::sleep(time / (2 * HANDSHAKES));
        let begin = Instant::now();
        let stream = testbed.run_in(End::A, || std::net::TcpStream::connect(place))?;
        times_s.push(begin.elapsed().as_secs_f64());
        drop((stream.map_err(failed)?, listener.accept().map_err(failed)?));
    }
    times_s.sort_by(f64::total_cmp);
    Ok(times_s.get(times_s.len() / 2).copied().unwrap_or(f64::NAN))
}

const HANDSHAKES: u32 = 9;

/// Room for links, by their number and by what they carry.
struct Room {
    left: Mutex<(usize, f64)>,
    changed: Condvar,
}

impl Room {
    fn new(links: usize) -> Room {
        Room {
            left: Mutex::new((links, BUDGET_PPS)),
            changed: Condvar::new(),
        }
    }

    fn enter(&self, pps: f64) {
        // Nothing panics while it holds the lock.
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while left.0 == 0 || left.1 < pps {
            left = self
                .changed
                .wait(left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        left.0 -= 1;
        left.1 -= pps;
    }

    fn leave(&self, pps: f64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.0 += 1;
        left.1 += pps;
        self.changed.notify_all();
    }
}
