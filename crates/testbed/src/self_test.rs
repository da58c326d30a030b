//! Self-test of the emulator on the machine where it is used.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use netflow_queues::{BitErrors, GilbertElliott, LinkLoss};
use netflow_units::{BitsPerSecond, Bytes, Rate, Seconds, Size};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::cpu_usage::CpuTimes;
use crate::priority::{ThreadRole, set_realtime_priority};
use crate::{
    DirectionOptions, End, Error, LinkOptions, LinkReport, OptionError, Outcome, StackOptions,
    Testbed,
};

/// Result of one test.
#[derive(Debug, Clone, Serialize)]
pub struct SelfTestResult {
    /// Condition that must hold.
    pub what: String,
    /// Measured values; empty if there are none.
    pub measured: String,
    /// Outcome of the test.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Maximum error of the round-trip time at p99, in seconds.
const RTT_TOLERANCE_S: f64 = 0.3e-3;

/// Number of times in a round trip at which a thread must run on time: the sending of A and one delivery
/// at either end. A round trip is late if any of them is.
const TIMELY_WAKEUPS_PER_RTT: f64 = 3.0;

/// Maximum fraction of the processors that other processes may use for a failure to count.
const QUIET: f64 = 0.1;

/// Number of packets of a loss test.
const LOSS_PKTS: usize = 20_000;

/// Half width of the central 99 % interval of a normal distribution, in standard deviations.
const Z_99: f64 = 2.5758;

/// Runs every test and passes its row to `row` at once. A test that is inconclusive because of the
/// machine is repeated up to twice.
pub fn self_test(mut row: impl FnMut(&SelfTestResult)) {
    let mut test = |what: String, test: &dyn Fn() -> Result<(String, Outcome), Error>| {
        let mut tried = try_once(test);
        for _ in 0..2 {
            if !matches!(tried.1, Outcome::Inconclusive(_)) {
                break;
            }
            tried = try_once(test);
        }
        let (measured, outcome) = tried;
        row(&SelfTestResult {
            what,
            measured,
            outcome,
        });
    };
    for (rtt_ms, exchanges) in [(10, 400), (50, 200), (100, 120), (200, 100)] {
        test(
            format!("RTT of {rtt_ms} ms within 0.3 ms at p99"),
            &move || round_trips(f64::from(rtt_ms) * 1e-3, exchanges),
        );
    }
    let clean = DirectionOptions::default;
    let bursts = GilbertElliott::new(0.01, 0.25, 0.0, 1.0);
    let independent = BitErrors::independent(1e-6);
    let clustered = BitErrors::in_bursts(1e-5, 16.0);
    test("loss of 5 % within its 99 % interval".to_owned(), &|| {
        let options = DirectionOptions {
            loss: 0.05.into(),
            ..clean()
        };
        losses(&options, |_| 0.05, 1.0)
    });
    test(
        "loss in bursts within its 99 % interval".to_owned(),
        &|| {
            let chain = bursts.map_err(OptionError::from)?;
            // The variance of a two-state chain's mean is that of independent draws times (1 + λ)/(1 -
            // λ), with λ = 1 - p - r.
            let memory: f64 = 1.0 - 0.01 - 0.25;
            let options = DirectionOptions {
                loss: LinkLoss {
                    gilbert: Some(chain),
                    ..LinkLoss::NONE
                },
                ..clean()
            };
            let inflation = (1.0 + memory) / (1.0 - memory);
            losses(&options, |_| chain.loss_probability(), inflation)
        },
    );
    for (name, errors) in [
        ("BER of 1e-6", independent),
        ("BER of 1e-5 in bursts of 16 bits", clustered),
    ] {
        test(format!("{name} within its 99 % interval"), &|| {
            let errors = errors.map_err(OptionError::from)?;
            let options = DirectionOptions {
                loss: LinkLoss {
                    bit_errors: Some(errors),
                    ..LinkLoss::NONE
                },
                ..clean()
            };
            losses(&options, |bytes| errors.loss_probability(bytes as f64), 1.0)
        });
    }
    test("order preserved, no loss".to_owned(), &order);
    test("at least 1 Gbit/s".to_owned(), &throughput);
    test("same seed, same drops".to_owned(), &same_drops);
}

fn try_once(test: &dyn Fn() -> Result<(String, Outcome), Error>) -> (String, Outcome) {
    test().unwrap_or_else(|error| (String::new(), Outcome::of_error(&error)))
}

fn linux(link: &LinkOptions) -> Result<Testbed, Error> {
    Testbed::new(link, &StackOptions::linux_6())
}

/// Measures round trips as the time until a closed port rejects a datagram: the kernel at the other end
/// replies by itself.
fn round_trips(rtt_s: f64, exchanges: usize) -> Result<(String, Outcome), Error> {
    let testbed = linux(&LinkOptions::with_delay(Seconds(0.5 * rtt_s)))?;
    let failed = |error: io::Error| Error::system("measure a round trip", error);
    // The default limit is one ICMP error per second.
    testbed
        .run_in(End::B, || {
            fs::write("/proc/sys/net/ipv4/icmp_ratelimit", "0")
        })?
        .map_err(failed)?;
    let socket = testbed
        .run_in(End::A, || UdpSocket::bind((testbed.address(End::A), 0)))?
        .map_err(failed)?;
    socket
        .connect((testbed.address(End::B), 9))
        .map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let before = CpuTimes::now();
    let done = AtomicBool::new(false);
    let (times_s, stall_fraction) = thread::scope(|scope| {
        let probe = scope.spawn(|| stall_fraction(&done));
        let times_s = testbed.run_in(End::A, || {
            set_realtime_priority(ThreadRole::Measuring);
            (0..exchanges)
                .map(|_| port_unreachable_rtt_s(&socket, rtt_s))
                .collect::<io::Result<Vec<f64>>>()
        });
        done.store(true, Ordering::Relaxed);
        (times_s, probe.join().unwrap_or(0.0))
    });
    let mut times_s = times_s?.map_err(failed)?;
    let report = testbed.stop()?;
    times_s.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * times_s.len() as f64).ceil() as usize;
        times_s
            .get(place.saturating_sub(1))
            .copied()
            .unwrap_or(f64::NAN)
    };
    let off_s = (at(0.99) - rtt_s).abs().max((at(0.01) - rtt_s).abs());
    let off = format!("{:.3} ms error", 1e3 * off_s);
    let outcome = if off_s <= RTT_TOLERANCE_S {
        Outcome::Passed
    } else if TIMELY_WAKEUPS_PER_RTT * stall_fraction > 0.01 {
        Outcome::Inconclusive(format!(
            "{off}, on a machine with stalled processors for {:.2} % of the time",
            100.0 * stall_fraction
        ))
    } else {
        failure_unless_busy(off, before)
    };
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| 1e3 * at(share));
    let measured = format!(
        "p50 {p50:.3}, p99 {p99:.3}, max {max:.3} ms of {exchanges}; late {:.0} us at p99; \
         processors stalled for {:.2} % of the time",
        report.out.lateness.p99_us.max(report.back.lateness.p99_us),
        100.0 * stall_fraction
    );
    Ok((measured, outcome.guarded(&report)))
}

/// Returns a failure of timing; inconclusive if other processes kept the machine busy.
fn failure_unless_busy(what: String, before: Option<CpuTimes>) -> Outcome {
    let others = before.and_then(CpuTimes::others_since).unwrap_or(0.0);
    if others > QUIET {
        Outcome::Inconclusive(format!(
            "{what}, while other processes used {:.0} % of the processors",
            100.0 * others
        ))
    } else {
        Outcome::Failed(what)
    }
}

/// Returns the fraction of time in which a processor did not run a thread with higher priority than the
/// link's, for the worst processor. The machine, or the host of a virtual machine, delays every thread by
/// that much, including the link's.
fn stall_fraction(done: &AtomicBool) -> f64 {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let probes: Vec<_> = (0..processors)
            .map(|processor| scope.spawn(move || stall_fraction_of(processor, done)))
            .collect();
        let shares = probes.into_iter().map(|probe| probe.join().unwrap_or(0.0));
        shares.fold(0.0, f64::max)
    })
}

fn stall_fraction_of(processor: usize, done: &AtomicBool) -> f64 {
    const SLEEP: Duration = Duration::from_millis(1);
    let mut here = CpuSet::new();
    // Without pinning, the probe measures the machine as a whole.
    if here.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &here);
    }
    set_realtime_priority(ThreadRole::Watching);
    let (began, mut away) = (Instant::now(), Duration::ZERO);
    while !done.load(Ordering::Relaxed) {
        let begin = Instant::now();
        thread::sleep(SLEEP);
        away += begin.elapsed().saturating_sub(SLEEP + USUAL_WAKEUP_TIME);
    }
    away.as_secs_f64() / began.elapsed().as_secs_f64()
}

/// Usual time to wake a thread on a suitable machine.
const USUAL_WAKEUP_TIME: Duration = Duration::from_micros(150);

/// Time of busy waiting before an answer is due, because waking a thread also takes time.
const BUSY_WAIT_TIME: Duration = Duration::from_millis(1);

/// Maximum delay of an answer after its round-trip time.
const MAX_REPLY_DELAY: Duration = Duration::from_secs(1);

fn port_unreachable_rtt_s(socket: &UdpSocket, rtt_s: f64) -> io::Result<f64> {
    let rtt = Duration::from_secs_f64(rtt_s);
    let begin = Instant::now();
    socket.send(&[0])?;
    thread::sleep(rtt.saturating_sub(BUSY_WAIT_TIME));
    loop {
        match socket.recv(&mut [0]) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                return Ok(begin.elapsed().as_secs_f64());
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ if begin.elapsed() > rtt + MAX_REPLY_DELAY => return Err(ErrorKind::TimedOut.into()),
            _ => std::hint::spin_loop(),
        }
    }
}

/// Sizes of datagrams in bytes, without 28 bytes of headers.
const SIZES: [usize; 3] = [72, 600, 1472];

/// Sends datagrams of these sizes in turn over a link. Returns the report and the numbers of the
/// datagrams that arrived, in order of arrival.
fn datagrams(options: &DirectionOptions, pkts: usize) -> Result<(LinkReport, Vec<u32>), Error> {
    let link = LinkOptions {
        out: options.clone(),
        seed: 7,
        ..LinkOptions::default()
    };
    let testbed = linux(&link)?;
    let place = SocketAddr::from((testbed.address(End::B), 5000));
    let failed = |error: io::Error| Error::system("send datagrams", error);
    let receiver = testbed
        .run_in(End::B, || UdpSocket::bind(place))?
        .map_err(failed)?;
    receiver
        .set_read_timeout(Some(Duration::from_millis(300)))
        .map_err(failed)?;
    let sender = testbed
        .run_in(End::A, || UdpSocket::bind((testbed.address(End::A), 0)))?
        .map_err(failed)?;
    let arrived = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            set_realtime_priority(ThreadRole::Measuring);
            numbers(&receiver)
        });
        let sent = (0..pkts).try_for_each(|number| {
            let mut packet = vec![0; SIZES.get(number % SIZES.len()).copied().unwrap_or(72)];
            if let Some(start) = packet.first_chunk_mut() {
                *start = (number as u32).to_be_bytes();
            }
            sender.send_to(&packet, place)?;
            // At most the capacity of a socket's buffer at once.
            if number % 50 == 49 {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        let arrived = reader.join().unwrap_or_default();
        sent.map(|()| arrived)
    });
    Ok((testbed.stop()?, arrived.map_err(failed)?))
}

/// Makes an outcome inconclusive if the receiving socket overflowed, because that is not a loss of the
/// link.
fn received(outcome: Outcome, report: &LinkReport, arrived: &[u32]) -> Outcome {
    match report.out.delivered.pkts - (arrived.len() as u64).min(report.out.delivered.pkts) {
        0 => outcome.guarded(report),
        pkts => Outcome::Inconclusive(format!(
            "the buffer of the receiving socket overflowed by {pkts} packets"
        )),
    }
}

/// Returns the received numbers, until no packet arrives before the timeout.
fn numbers(receiver: &UdpSocket) -> Vec<u32> {
    let mut arrived = Vec::new();
    let mut packet = [0; 2048];
    while receiver.recv(&mut packet).is_ok() {
        if let Some(start) = packet.first_chunk() {
            arrived.push(u32::from_be_bytes(*start));
        }
    }
    arrived
}

/// Compares the number of lost packets with its expectation for the sent sizes. `inflation` is the ratio
/// of the variance to that of independent losses.
fn losses(
    options: &DirectionOptions,
    probability: impl Fn(usize) -> f64,
    inflation: f64,
) -> Result<(String, Outcome), Error> {
    let (report, arrived) = datagrams(options, LOSS_PKTS)?;
    let each = |number: usize| {
        let size = SIZES.get(number % SIZES.len()).copied().unwrap_or(72);
        probability(size + 28)
    };
    let (mut mean, mut variance) = (0.0, 0.0);
    for number in 0..LOSS_PKTS {
        mean += each(number);
        variance += each(number) * (1.0 - each(number)) * inflation;
    }
    let lost = (LOSS_PKTS - arrived.len().min(LOSS_PKTS)) as f64;
    let half = Z_99 * variance.sqrt();
    let outcome = if (lost - mean).abs() <= half {
        Outcome::Passed
    } else {
        Outcome::Failed("outside the interval".to_owned())
    };
    let measured = format!("{lost} of {LOSS_PKTS} lost; {mean:.0} ± {half:.0} expected");
    Ok((measured, received(outcome, &report, &arrived)))
}

fn order() -> Result<(String, Outcome), Error> {
    let (report, arrived) = datagrams(
        &DirectionOptions {
            delay: Seconds(0.020),
            ..DirectionOptions::default()
        },
        LOSS_PKTS,
    )?;
    let reordered = arrived
        .iter()
        .zip(arrived.iter().skip(1))
        .filter(|(a, b)| a >= b)
        .count();
    let missing = LOSS_PKTS - arrived.len().min(LOSS_PKTS);
    let outcome = match (reordered, missing) {
        (0, 0) => Outcome::Passed,
        _ => Outcome::Failed("packets reordered or lost".to_owned()),
    };
    let measured = format!("{reordered} out of order, {missing} missing of {LOSS_PKTS}");
    Ok((measured, received(outcome, &report, &arrived)))
}

/// Runs one TCP connection for two seconds over a link with a round-trip time of 1 ms and 1.25 Gbit/s. At
/// that rate, the link must still be punctual.
fn throughput() -> Result<(String, Outcome), Error> {
    let clean = LinkOptions::with_delay(Seconds(0.0005));
    let testbed = linux(&LinkOptions {
        out: DirectionOptions {
            rate: Some(Rate::BitsPerSecond(BitsPerSecond(1.25e9))),
            buffer: Size::Bytes(Bytes(1e6)),
            ..clean.out.clone()
        },
        ..clean
    })?;
    let (before, time) = (CpuTimes::now(), Duration::from_secs(2));
    let bytes =
        crate::bulk::transfer(&testbed, time).map_err(|error| Error::system("transfer", error))?;
    let report = testbed.stop()?;
    let rate = 8.0 * bytes as f64 / time.as_secs_f64() * 1e-9;
    let outcome = if rate >= 1.0 {
        Outcome::Passed
    } else {
        failure_unless_busy("below 1 Gbit/s".to_owned(), before)
    };
    Ok((format!("{rate:.2} Gbit/s"), outcome.guarded(&report)))
}

fn same_drops() -> Result<(String, Outcome), Error> {
    let options = DirectionOptions {
        loss: LinkLoss {
            random: 0.1,
            bit_errors: Some(BitErrors::in_bursts(1e-5, 8.0).map_err(OptionError::from)?),
            ..LinkLoss::NONE
        },
        ..DirectionOptions::default()
    };
    let (first_report, first) = datagrams(&options, 3000)?;
    let (second_report, second) = datagrams(&options, 3000)?;
    let lost = 3000 - first.len().min(3000);
    let outcome = if first == second && lost > 0 {
        Outcome::Passed
    } else {
        Outcome::Failed("the drops differ".to_owned())
    };
    let measured = format!("{lost} of 3000 lost in each run");
    Ok((
        measured,
        outcome.guarded(&first_report).guarded(&second_report),
    ))
}
