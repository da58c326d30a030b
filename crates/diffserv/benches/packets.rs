//! Packets per second of markers and droppers, for an aggregate of 5 Mbit/s and a queue between its drop
//! thresholds.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, DiffServQueue, Discipline, DropPrecedence, Dropper,
    DropperSpec, GivenInputs, Kind, Marker, Minima, SrTcm, TrTcm,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PACKETS: usize = 16 * 1024;

/// Returns random packets (arrival time, size, window, colour) at 5 Mbit/s on average.
fn packets() -> Vec<(u64, u32, f64, DropPrecedence)> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut now_ns = 0;
    (0..PACKETS)
        .map(|_| {
            now_ns += rng.random_range(0..2_000_000);
            let bytes = rng.random_range(40..1210);
            let window = rng.random_range(1.0..20.0);
            let colour = DropPrecedence::ALL[rng.random_range(0..3)];
            (now_ns, bytes, window, colour)
        })
        .collect()
}

fn marking(c: &mut Criterion) {
    let packets = packets();
    let mut group = c.benchmark_group("marking");
    group.throughput(Throughput::Elements(PACKETS as u64));

    let known = GivenInputs {
        aggregate: Aggregate::new(0.1, 0.4),
        minima: Minima::over([&Aggregate::new(0.02, 0.2)]),
    };
    for kind in Kind::ALL {
        let spec = ConditionerSpec::new(kind, 2e6, Some(3e6));
        let conditioner = Conditioner::new(spec).expect("good settings");
        let mut marker = Marker::new(conditioner, &known, 0, 1).expect("all is known");
        let mut start_ns = 0;
        group.bench_function(kind.name(), |b| {
            b.iter(|| {
                let mut dp2 = 0_u32;
                for &(now_ns, bytes, window, _) in black_box(&packets) {
                    let colour = marker.mark(start_ns + now_ns, bytes, Some(window));
                    dp2 += u32::from(colour == DropPrecedence::Dp2);
                }
                start_ns += packets[PACKETS - 1].0;
                dp2
            })
        });
    }

    let mut srtcm = SrTcm::new(2_000_000, 20_000, 20_000).expect("good settings");
    let mut start_ns = 0;
    group.bench_function("srtcm", |b| {
        b.iter(|| {
            let mut dp2 = 0_u32;
            for &(now_ns, bytes, _, colour) in black_box(&packets) {
                let colour = srtcm.remark(start_ns + now_ns, bytes, colour);
                dp2 += u32::from(colour == DropPrecedence::Dp2);
            }
            start_ns += packets[PACKETS - 1].0;
            dp2
        })
    });
    let mut trtcm = TrTcm::new(2_000_000, 20_000, 3_000_000, 20_000).expect("good settings");
    let mut start_ns = 0;
    group.bench_function("trtcm", |b| {
        b.iter(|| {
            let mut dp2 = 0_u32;
            for &(now_ns, bytes, _, colour) in black_box(&packets) {
                let colour = trtcm.remark(start_ns + now_ns, bytes, colour);
                dp2 += u32::from(colour == DropPrecedence::Dp2);
            }
            start_ns += packets[PACKETS - 1].0;
            dp2
        })
    });
    group.finish();
}

/// Measures admission at a constant queue of 22 packets, where DP2 is between its thresholds: each admitted
/// packet replaces the oldest one.
fn admission(c: &mut Criterion) {
    let packets = packets();
    let mut group = c.benchmark_group("admission");
    group.throughput(Throughput::Elements(PACKETS as u64));
    for (name, discipline) in [
        ("red", Discipline::Red),
        ("rio-c", Discipline::RioC),
        ("rio-d", Discipline::RioD),
        ("wred", Discipline::Wred),
    ] {
        let dropper = Dropper::new(DropperSpec::habib_2002(discipline, 1000.0, 100));
        let mut queue = DiffServQueue::new(dropper.expect("good settings"), 0, 1);
        let mut waiting = [DropPrecedence::Dp0; 22];
        for _ in 0..waiting.len() {
            queue.admit(0, 1024, DropPrecedence::Dp0);
        }
        let (mut start_ns, mut oldest) = (0, 0);
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut admitted = 0_u32;
                for &(now_ns, bytes, _, colour) in black_box(&packets) {
                    if queue.admit(start_ns + now_ns, bytes, colour) {
                        admitted += 1;
                        let leaves = std::mem::replace(&mut waiting[oldest], colour);
                        queue.depart(start_ns + now_ns, bytes, leaves);
                        oldest = (oldest + 1) % waiting.len();
                    }
                }
                start_ns += packets[PACKETS - 1].0;
                admitted
            })
        });
    }
    group.finish();
}

criterion_group!(benches, marking, admission);
criterion_main!(benches);
