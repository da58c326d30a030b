//! Tests of the delay line: distributions, order, limit and slots.

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::*;

const MS: u64 = 1_000_000;

fn line(settings: DelayLine) -> DelayLineQueue<Pcg32> {
    DelayLineQueue::new(settings, Pcg32::seed_from_u64(7))
}

fn jitter(deviation_ms: u64, distribution: JitterDistribution) -> Jitter {
    Jitter {
        deviation_ns: deviation_ms * MS,
        distribution,
        correlation: 0.0,
        reorders: true,
    }
}

fn with_jitter(jitter: Jitter) -> DelayLine {
    DelayLine {
        jitter: Some(jitter),
        ..DelayLine::default()
    }
}

/// Returns the delays in ms of packets that are 1 s apart.
fn delays_ms(settings: DelayLine, delay_ms: u64, n: u64) -> Vec<f64> {
    let mut line = line(settings);
    let each = (1..=n).map(|i| {
        let now_ns = i * 1000 * MS;
        match line.propagate(now_ns, 1500, delay_ms * MS) {
            Propagation::Arrives {
                at_ns,
                copy_ns: None,
            } => (at_ns - now_ns) as f64 / 1e6,
            other => panic!("{other:?}"),
        }
    });
    each.collect()
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

fn correlation(all: &[f64]) -> f64 {
    let mean = mean(all);
    let product = |a: f64, b: f64| (a - mean) * (b - mean);
    let pairs: f64 = all.windows(2).map(|w| product(w[0], w[1])).sum();
    pairs / all.iter().map(|&a| product(a, a)).sum::<f64>()
}

/// Mean, standard deviation and range in units of the deviation. A Pareto variable with exponent 3 from 1 on has
/// the mean 3/2 and the standard deviation 3/4^(1/2); netem scales it by 4/3. At most four deviations are used, which
/// removes a part of its tail.
#[test]
fn distributions_of_jitter() {
    let uniform = 1.0 / 3.0_f64.sqrt();
    for (distribution, deviation, least, most) in [
        (JitterDistribution::Uniform, uniform, -1.0, 1.0),
        (JitterDistribution::Normal, 1.0, -3.7, 3.7),
        (JitterDistribution::Pareto, 0.8, -0.667, 4.0),
        (JitterDistribution::ParetoNormal, 0.84, -1.45, 3.95),
    ] {
        let all = delays_ms(with_jitter(jitter(10, distribution.clone())), 100, 200_000);
        let all: Vec<f64> = all.iter().map(|it| (it - 100.0) / 10.0).collect();
        let average = mean(&all);
        let squares: Vec<f64> = all.iter().map(|it| (it - average).powi(2)).collect();
        let found = mean(&squares).sqrt();
        let range = |f: fn(f64, f64) -> f64, from| all.iter().copied().fold(from, f);
        let (low, high) = (range(f64::min, 9.0), range(f64::max, -9.0));
        assert!(average.abs() < 0.05, "{distribution:?}: mean {average}");
        assert!(
            (found / deviation - 1.0).abs() < 0.1,
            "{distribution:?}: deviation {found}"
        );
        assert!((low - least).abs() < 0.1, "{distribution:?}: from {low}");
        assert!((high - most).abs() < 0.1, "{distribution:?}: to {high}");
        let settings = with_jitter(jitter(10, distribution));
        let least_ns = settings.min_delay_ns(100 * MS) as f64;
        let shortest = all.iter().fold(9.0, |a: f64, &b| a.min(b));
        assert!(least_ns <= (100.0 + 10.0 * shortest) * 1e6 + 1.0);
    }
}

/// The values of netem's `normal.dist` and `pareto.dist` (iproute2) at some places.
#[test]
fn tables_equal_those_of_netem() {
    assert!((i32::from(NORMAL[2048]) - 1).abs() <= 4);
    // The 97.5 % quantile is 1.96.
    assert!((f64::from(NORMAL[3993]) / 8192.0 - 1.9600).abs() < 0.003);
    assert_eq!(PARETO[0], -5461);
    // (2^(1/3) - 1.5) 4/3 at the median.
    assert!((f64::from(PARETO[2048]) / 8192.0 + 0.3201).abs() < 0.001);
    assert_eq!(PARETO[4095], i16::MAX);
}

/// Consecutive delays have the given correlation, and the distribution stays.
#[test]
fn correlated_delays() {
    for wanted in [0.0, 0.25, 0.9] {
        let settings = with_jitter(Jitter {
            correlation: wanted,
            ..jitter(10, JitterDistribution::Uniform)
        });
        let all = delays_ms(settings, 100, 200_000);
        let found = correlation(&all);
        assert!((found - wanted).abs() < 0.02, "{wanted}: {found}");
        assert!((mean(&all) - 100.0).abs() < 0.3);
    }
}

/// Own tables are used as they are. The delay is at least 0.
#[test]
fn own_table() {
    let table = JitterTable::new(vec![-8192, 8192]).unwrap();
    let settings = with_jitter(jitter(10, JitterDistribution::Table(table)));
    let all = delays_ms(settings.clone(), 100, 1000);
    assert!(all.iter().all(|&it| it == 90.0 || it == 110.0));
    let all = delays_ms(settings, 5, 1000);
    assert!(all.iter().all(|&it| it == 0.0 || it == 15.0));
    assert_eq!(JitterTable::new(Vec::new()), None);
}

/// Packets 0.1 ms apart with 10 ms of jitter: half of the pairs overtake each other, or none does if the order is
/// kept. Then every packet waits for the latest before it.
#[test]
fn order() {
    for reorders in [true, false] {
        let settings = with_jitter(Jitter {
            reorders,
            ..jitter(10, JitterDistribution::Uniform)
        });
        let mut line = line(settings);
        let arrivals = (0..10_000).map(|i| match line.propagate(i * MS / 10, 1500, 50 * MS) {
            Propagation::Arrives { at_ns, .. } => at_ns,
            Propagation::Lost => panic!("lost"),
        });
        let arrivals: Vec<u64> = arrivals.collect();
        let late = arrivals.windows(2).filter(|w| w[1] < w[0]).count();
        if reorders {
            assert!((4700..5300).contains(&late), "{late}");
        } else {
            assert_eq!(late, 0);
            let delays = arrivals
                .iter()
                .zip(0..)
                .map(|(&at, i)| (at - i * MS / 10) as f64 / 1e6);
            let average = mean(&delays.collect::<Vec<f64>>());
            assert!((58.0..60.0).contains(&average), "{average}");
        }
    }
}

/// Every fifth packet skips the delay, or a quarter of the packets at random.
#[test]
fn reordering() {
    let skips = |probability, gap| {
        let mut line = line(DelayLine {
            reordering: Some(Reordering { probability, gap }),
            ..DelayLine::default()
        });
        let each = (0..10_000).map(move |i| {
            let now_ns = i * MS;
            match line.propagate(now_ns, 1500, 10 * MS) {
                Propagation::Arrives { at_ns, .. } if at_ns == now_ns => true,
                Propagation::Arrives { at_ns, .. } if at_ns == now_ns + 10 * MS => false,
                other => panic!("{other:?}"),
            }
        });
        each.collect::<Vec<bool>>()
    };
    let every_fifth = skips(1.0, 5);
    assert!(
        every_fifth
            .iter()
            .zip(1..)
            .all(|(&skips, i)| skips == (i % 5 == 0))
    );
    let quarter = skips(0.25, 1).iter().filter(|&&it| it).count();
    assert!((2350..2650).contains(&quarter), "{quarter}");
}

/// Copies have delays of their own; a tenth of the packets is copied.
#[test]
fn duplication() {
    let mut line = line(DelayLine {
        duplication: 0.1,
        ..with_jitter(jitter(10, JitterDistribution::Uniform))
    });
    let (mut copies, mut equal) = (0, 0);
    for i in 0..10_000 {
        if let Propagation::Arrives {
            at_ns,
            copy_ns: Some(copy_ns),
        } = line.propagate(i * MS, 1500, 50 * MS)
        {
            copies += 1;
            equal += usize::from(at_ns == copy_ns);
        }
    }
    assert!((900..1100).contains(&copies), "{copies}");
    assert_eq!(equal, 0);
}

/// netem's default limit of 1000 packets: at 1 ms a packet and 1.5 s of delay, 1000 packets pass, 500 are lost,
/// and so on.
#[test]
fn limit() {
    let mut line = line(DelayLine {
        limit_pkts: Some(1000),
        ..DelayLine::default()
    });
    let passes = (0..6000).map(|i| line.propagate(i * MS, 1500, 1500 * MS) != Propagation::Lost);
    let passes: Vec<bool> = passes.collect();
    assert!(
        passes
            .iter()
            .zip(0..)
            .all(|(&it, i)| it == (i % 1500 < 1000))
    );
}

/// Slots of 20 ms with at most 3 packets. Packets come every 5 ms, so the line delivers 3 of 4 in time, and the
/// backlog grows by one packet every slot.
#[test]
fn slots() {
    let mut line = line(DelayLine {
        slots: Some(Slots {
            interval_ns: (20 * MS, 20 * MS),
            max_pkts: Some(3),
            max_bytes: None,
        }),
        ..DelayLine::default()
    });
    let arrivals = (0..400).map(|i| match line.propagate(i * 5 * MS, 1500, 0) {
        Propagation::Arrives { at_ns, .. } => at_ns / MS,
        Propagation::Lost => panic!("lost"),
    });
    let arrivals: Vec<u64> = arrivals.collect();
    assert_eq!(&arrivals[..7], &[20, 20, 20, 40, 40, 40, 60]);
    assert_eq!(arrivals[399], 20 * (399 / 3 + 1));
}

/// A slot that ends after 4000 bytes has three packets of 1500 bytes, as in netem, which counts them afterwards.
#[test]
fn slots_by_bytes() {
    let mut line = line(DelayLine {
        slots: Some(Slots {
            interval_ns: (20 * MS, 20 * MS),
            max_pkts: None,
            max_bytes: Some(4000),
        }),
        ..DelayLine::default()
    });
    let at_ms = |line: &mut DelayLineQueue<Pcg32>| match line.propagate(0, 1500, MS) {
        Propagation::Arrives { at_ns, .. } => at_ns / MS,
        Propagation::Lost => panic!("lost"),
    };
    let all: Vec<u64> = (0..7).map(|_| at_ms(&mut line)).collect();
    assert_eq!(all, [21, 21, 21, 41, 41, 41, 61]);
}
