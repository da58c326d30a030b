//! Transfers over many emulated links in parallel.

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

/// Total packets per second that two processors can forward over all links without delays.
pub const BUDGET_PPS: f64 = 50_000.0;

/// Maximum number of attempts for a transfer that the load of the machine made inconclusive.
const MAX_ATTEMPTS: usize = 3;

/// Captured bytes per packet. Only headers are needed.
const SNAP_BYTES: u32 = 96;

/// The setting of one transfer.
pub struct TransferSetting {
    pub congestion_control: String,
    pub rtt_s: f64,
    pub loss: f64,
    /// Rate of its link in packets/s.
    pub link_pps: f64,
    pub repetition: usize,
    pub seed: u64,
}

impl TransferSetting {
    /// Returns the name, such as `reno_0.05_60_0`: congestion control, loss, round-trip time in ms,
    /// repetition.
    pub fn name(&self) -> String {
        format!(
            "{}_{}_{}_{}",
            self.congestion_control,
            plain(self.loss),
            plain(1e3 * self.rtt_s),
            self.repetition
        )
    }

    /// Returns the throughput of Reno in packets/s by the square-root formula √(3/2)/(rtt·√loss) (Mathis
    /// et al. 1997).
    pub fn mathis_pps(&self) -> f64 {
        1.5_f64.sqrt() / (self.rtt_s * self.loss.sqrt())
    }

    /// Returns an upper bound of the load of its link in packets/s, acknowledgements included.
    fn max_pps(&self) -> f64 {
        let data_pps = match self.congestion_control.as_str() {
            "reno" | "cubic" => 2.0 * self.mathis_pps(),
            _ => self.link_pps,
        };
        2.0 * data_pps.min(self.link_pps)
    }

    fn link(&self, capture: PathBuf) -> LinkOptions {
        // The transmission time of a packet is part of the round-trip time.
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

/// A completed transfer.
pub struct MeasuredTransfer {
    pub cell: TransferSetting,
    pub report: LinkReport,
    pub capture: PathBuf,
}

impl MeasuredTransfer {
    /// Returns the rate of the whole transfer in packets/s.
    pub fn rate_pps(&self) -> f64 {
        self.report.out.offered.pkts as f64 / self.report.seconds
    }

    /// Returns the number of packets that the link dropped at random.
    pub fn losses(&self) -> u64 {
        self.report.out.drops.loss
    }

    /// Returns whether the link limited the transfer.
    pub fn is_link_limited(&self) -> bool {
        self.rate_pps() >= LINK_LIMITED_FRACTION * self.cell.link_pps
    }
}

/// Fraction of the rate of a link from which it counts as filled.
const LINK_LIMITED_FRACTION: f64 = 0.6;

/// A plan of transfers.
pub struct MeasurementPlan {
    pub transfer: Duration,
    pub parallel: usize,
    pub captures: PathBuf,
}

impl MeasurementPlan {
    /// Runs all transfers. In parallel, it measures the handshake time without loss for each of the given
    /// round-trip times.
    pub fn run(
        &self,
        cells: Vec<TransferSetting>,
        rtts_s: &[f64],
    ) -> Result<(Vec<MeasuredTransfer>, Vec<f64>), Error> {
        let room = LinkSemaphore::new(self.parallel);
        let total_s = self.min_duration_s(&cells);
        thread::scope(|scope| {
            let room = &room;
            let transfers: Vec<_> = cells
                .into_iter()
                .map(|cell| scope.spawn(move || self.measure(cell, room)))
                .collect();
            let controls: Vec<_> = rtts_s
                .iter()
                .map(|&rtt_s| scope.spawn(move || median_handshake_s(rtt_s, self.transfer)))
                .collect();
            let (began, mut progress) = (Instant::now(), Progress::new("the transfers", true));
            while !transfers.iter().all(|transfer| transfer.is_finished()) {
                progress.set((began.elapsed().as_secs_f64() / total_s).min(1.0));
                thread::sleep(Duration::from_millis(20));
            }
            progress.finish();
            let measured = transfers.into_iter().map(join).collect::<Result<_, _>>()?;
            let controls = controls.into_iter().map(join).collect::<Result<_, _>>()?;
            Ok((measured, controls))
        })
    }

    /// Returns the minimum duration of the transfers.
    fn min_duration_s(&self, cells: &[TransferSetting]) -> f64 {
        let pps = cells.iter().map(TransferSetting::max_pps).sum::<f64>();
        let rounds = (pps / BUDGET_PPS).max(cells.len() as f64 / self.parallel as f64);
        rounds.ceil() * self.transfer.as_secs_f64()
    }

    fn measure(
        &self,
        cell: TransferSetting,
        link_semaphore: &LinkSemaphore,
    ) -> Result<MeasuredTransfer, Error> {
        let pps = cell.max_pps();
        link_semaphore.acquire(pps);
        let mut report = self.transfer(&cell);
        for _ in 1..MAX_ATTEMPTS {
            if report
                .as_ref()
                .is_ok_and(|report| report.unreliable_reason().is_some())
            {
                report = self.transfer(&cell);
            }
        }
        link_semaphore.release(pps);
        Ok(MeasuredTransfer {
            report: report?,
            capture: self.capture(&cell),
            cell,
        })
    }

    fn capture(&self, cell: &TransferSetting) -> PathBuf {
        self.captures.join(format!("{}.pcap", cell.name()))
    }

    fn transfer(&self, cell: &TransferSetting) -> Result<LinkReport, Error> {
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

/// Returns the median handshake time over a loss-free link during the transfers.
fn median_handshake_s(rtt_s: f64, time: Duration) -> Result<f64, Error> {
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

/// A semaphore for links, which limits their number and their total packet rate.
struct LinkSemaphore {
    available: Mutex<(usize, f64)>,
    changed: Condvar,
}

impl LinkSemaphore {
    fn new(links: usize) -> LinkSemaphore {
        LinkSemaphore {
            available: Mutex::new((links, BUDGET_PPS)),
            changed: Condvar::new(),
        }
    }

    fn acquire(&self, pps: f64) {
        // No code panics while it holds the lock.
        let mut left = self
            .available
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while left.0 == 0 || left.1 < pps {
            left = self
                .changed
                .wait(left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        left.0 -= 1;
        left.1 -= pps;
    }

    fn release(&self, pps: f64) {
        let mut left = self
            .available
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        left.0 += 1;
        left.1 += pps;
        self.changed.notify_all();
    }
}
