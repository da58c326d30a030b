//! One direction of a link, compared with closed forms.

use netflow_testbed::{
    BitErrors, Channel, DirectionOptions, DropReason, GilbertElliott, LinkLoss, LinkOptions,
    PacketOutcome,
};
use netflow_units::{Bytes, Packets, Seconds, Size};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn clean() -> DirectionOptions {
    DirectionOptions::default()
}

/// Returns the fates of packets of this size, one every microsecond.
fn packet_outcomes(
    options: &DirectionOptions,
    seed: u64,
    pkts: u64,
    bytes: usize,
) -> Vec<PacketOutcome> {
    let mut channel = Channel::new(options, seed, 0);
    (0..pkts)
        .map(|number| channel.offer(1000 * number, bytes))
        .collect()
}

fn lost(fates: &[PacketOutcome]) -> Vec<bool> {
    let lost = |fate: &PacketOutcome| matches!(fate, PacketOutcome::Dropped(_));
    fates.iter().map(lost).collect()
}

fn count(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64
}

/// Allows 4 standard deviations, which a binomial variable exceeds once in 16 000 times.
fn assert_binomial(count: f64, n: f64, p: f64, inflation: f64) {
    let deviation = (n * p * (1.0 - p) * inflation).sqrt();
    assert!(
        (count - n * p).abs() <= 4.0 * deviation,
        "{count} of {n}, p = {p}"
    );
}

fn directions() -> impl Strategy<Value = DirectionOptions> {
    let rate = proptest::option::of(prop_oneof![
        Just("8 Mbit/s"),
        Just("1 Gbit/s"),
        Just("1000 pkt/s")
    ]);
    let buffer = prop_oneof![Just("1 pkt"), Just("10 pkt"), Just("3000 B"), Just("1 MB")];
    (
        0.0..0.2,
        rate,
        buffer,
        0.0..0.5,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(delay_s, rate, buffer, loss, gilbert, bits)| DirectionOptions {
                delay: Seconds(delay_s),
                rate: rate.map(|rate| rate.parse().unwrap()),
                buffer: buffer.parse().unwrap(),
                loss: LinkLoss {
                    random: loss,
                    gilbert: gilbert.then(|| GilbertElliott::new(0.1, 0.3, 0.0, 0.8).unwrap()),
                    bit_errors: bits.then(|| BitErrors::in_bursts(1e-5, 4.0).unwrap()),
                    ..LinkLoss::NONE
                },
            },
        )
}

proptest! {
    /// Packets stay in order and take at least the delay. The fate of a packet does not depend on later
    /// ones.
    #[test]
    fn packets_stay_in_order(
        options in directions(),
        seed in 0u64..1000,
        arrivals in prop::collection::vec((0u64..3_000_000, 1usize..1500), 1..300),
    ) {
        let mut channel = Channel::new(&options, seed, 0);
        let (mut now_ns, mut last_ns) = (0, 0);
        let delay_ns = (options.delay.get() * 1e9).round() as u64;
        for (gap_ns, bytes) in arrivals {
            now_ns += gap_ns;
            match channel.offer(now_ns, bytes) {
                PacketOutcome::Delivered(at_ns) => {
                    prop_assert!(at_ns >= last_ns && at_ns >= now_ns + delay_ns);
                    last_ns = at_ns;
                }
                PacketOutcome::Dropped(DropReason::Buffer) => prop_assert!(options.rate.is_some()),
                PacketOutcome::Dropped(_) => {}
            }
        }
    }

    /// A clock that goes back does not reorder packets.
    #[test]
    fn backward_clock_does_not_reorder_packets(
        times_ns in prop::collection::vec(0u64..1_000_000_000, 1..100),
    ) {
        let options = DirectionOptions { rate: Some("8 Mbit/s".parse().unwrap()), ..clean() };
        let mut channel = Channel::new(&options, 1, 0);
        let mut last_ns = 0;
        for now_ns in times_ns {
            if let PacketOutcome::Delivered(at_ns) = channel.offer(now_ns, 100) {
                prop_assert!(at_ns >= last_ns);
                last_ns = at_ns;
            }
        }
    }

    /// A burst fills the buffer; the k-th packet leaves after k transmission times.
    #[test]
    fn a_burst_is_sent_back_to_back(room in 1u64..200, bytes in 40usize..1500) {
        let options = DirectionOptions {
            delay: Seconds(0.010),
            rate: Some("10 Mbit/s".parse().unwrap()),
            buffer: Size::Packets(Packets(room as f64)),
            ..clean()
        };
        let mut channel = Channel::new(&options, 1, 0);
        for k in 1..=room {
            let expected_ns = 10e6 + k as f64 * 8.0 * bytes as f64 / 10e6 * 1e9;
            match channel.offer(0, bytes) {
                PacketOutcome::Delivered(at_ns) => prop_assert!((at_ns as f64 - expected_ns).abs() <= 1.0),
                PacketOutcome::Dropped(_) => prop_assert!(false, "packet {k}"),
            }
        }
        prop_assert_eq!(channel.offer(0, bytes), PacketOutcome::Dropped(DropReason::Buffer));
        let expected_ns = (room * (room + 1) / 2) as f64 * 8.0 * bytes as f64 / 10e6 * 1e9;
        prop_assert!((channel.queued_ns() as f64 - expected_ns).abs() <= room as f64);
        // Once the first has been sent, there is space for one.
        let sent_ns = (8.0 * bytes as f64 / 10e6 * 1e9).ceil() as u64;
        prop_assert!(matches!(channel.offer(sent_ns, bytes), PacketOutcome::Delivered(_)));
        prop_assert_eq!(channel.offer(sent_ns, bytes), PacketOutcome::Dropped(DropReason::Buffer));
    }

    /// 1 - (1 - e)^(8L), by repeated multiplication.
    #[test]
    fn independent_bit_errors_match_closed_form(rate in 0.0..0.01, bytes in 1usize..200) {
        let clean: f64 = (0..8 * bytes).map(|_| 1.0 - rate).product();
        let loss = BitErrors::independent(rate).unwrap().loss_probability(bytes as f64);
        prop_assert!((loss - (1.0 - clean)).abs() < 1e-12, "{loss}");
    }
}

#[test]
fn byte_buffer_counts_bytes() {
    let options = DirectionOptions {
        rate: Some("8 kbit/s".parse().unwrap()),
        buffer: Size::Bytes(Bytes(1000.0)),
        ..clean()
    };
    let mut channel = Channel::new(&options, 1, 0);
    assert!(matches!(
        channel.offer(0, 600),
        PacketOutcome::Delivered(600_000_000)
    ));
    assert_eq!(
        channel.offer(0, 401),
        PacketOutcome::Dropped(DropReason::Buffer)
    );
    assert!(matches!(
        channel.offer(0, 400),
        PacketOutcome::Delivered(1_000_000_000)
    ));
}

#[test]
fn independent_losses_are_binomial() {
    for (seed, loss) in [(1, 0.001), (2, 0.01), (3, 0.05), (4, 0.3)] {
        let options = DirectionOptions {
            loss: loss.into(),
            ..clean()
        };
        assert_binomial(
            count(&lost(&packet_outcomes(&options, seed, 200_000, 1000))),
            200_000.0,
            loss,
            1.0,
        );
    }
}

/// A bad state that loses everything: loss fraction p/(p + r), bursts of 1/r packets.
#[test]
fn gilbert_bursts_have_given_loss_and_length() {
    let (p, r) = (0.01, 0.2);
    let chain = GilbertElliott::new(p, r, 0.0, 1.0).unwrap();
    let options = DirectionOptions {
        loss: LinkLoss {
            gilbert: Some(chain),
            ..LinkLoss::NONE
        },
        ..clean()
    };
    let lost = lost(&packet_outcomes(&options, 5, 400_000, 1000));
    let memory = 1.0 - p - r;
    assert_binomial(
        count(&lost),
        400_000.0,
        p / (p + r),
        (1.0 + memory) / (1.0 - memory),
    );
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    let mean = count(&lost) / bursts;
    // The lengths are geometric: standard deviation sqrt(1 - r)/r.
    let deviation = (1.0 - r).sqrt() / r / bursts.sqrt();
    assert!((mean - 1.0 / r).abs() < 4.0 * deviation, "{mean}");
    // (r·good + p·bad)/(p + r), by hand.
    let chain = GilbertElliott::new(0.1, 0.3, 0.02, 0.5).unwrap();
    assert!((chain.loss_probability() - (0.3 * 0.02 + 0.1 * 0.5) / 0.4).abs() < 1e-15);
}

/// The closed form matches the bits of 100 000 packets, and the channel matches the closed form.
#[test]
fn burst_bit_errors_match_closed_form() {
    let (rate, burst_bits, bytes) = (2e-4, 12.0, 150);
    let errors = BitErrors::in_bursts(rate, burst_bits).unwrap();
    let p = errors.loss_probability(bytes as f64);
    // 1 - (1 - 2e-4)·(1 - 2e-4/(12·(1 - 2e-4)))^1199, by Python.
    assert!((p - 0.019_985_114).abs() < 1e-9, "{p}");

    let mut random = ChaCha8Rng::seed_from_u64(6);
    let (onset, end) = (rate / (burst_bits * (1.0 - rate)), 1.0 / burst_bits);
    let (mut with_error, mut errored_bits) = (0.0, 0.0);
    for _ in 0..100_000 {
        let mut errored = random.random::<f64>() < rate;
        let mut any = errored;
        errored_bits += f64::from(u8::from(errored));
        for _ in 1..8 * bytes {
            errored ^= random.random::<f64>() < if errored { end } else { onset };
            any |= errored;
            errored_bits += f64::from(u8::from(errored));
        }
        with_error += f64::from(u8::from(any));
    }
    assert_binomial(with_error, 1e5, p, 1.0);
    // Every burst counts as one draw of about twice its squared length.
    assert_binomial(errored_bits, 1e5 * 1200.0, rate, 2.0 * burst_bits);

    let options = DirectionOptions {
        loss: LinkLoss {
            bit_errors: Some(errors),
            ..LinkLoss::NONE
        },
        ..clean()
    };
    assert_binomial(
        count(&lost(&packet_outcomes(&options, 7, 200_000, bytes))),
        2e5,
        p,
        1.0,
    );
}

/// Bursts with the mean length of independent errors cause the same losses.
#[test]
fn short_bursts_are_independent_errors() {
    for rate in [1e-7, 1e-4, 0.01] {
        let bursts = BitErrors::in_bursts(rate, 1.0 / (1.0 - rate)).unwrap();
        let independent = BitErrors::independent(rate).unwrap();
        for bytes in [1, 40, 1500] {
            let (a, b) = (
                bursts.loss_probability(bytes as f64),
                independent.loss_probability(bytes as f64),
            );
            assert!((a - b).abs() <= 1e-12 * b, "{a} {b}");
        }
    }
}

/// Fates depend on the seed and the packet's index, not on times, queues or other causes.
#[test]
fn the_same_seed_drops_the_same_packets() {
    let options = DirectionOptions {
        loss: 0.1.into(),
        ..clean()
    };
    let alone = lost(&packet_outcomes(&options, 9, 5000, 1000));
    assert_eq!(alone, lost(&packet_outcomes(&options, 9, 5000, 1000)));
    assert_ne!(alone, lost(&packet_outcomes(&options, 10, 5000, 1000)));
    let mut back = Channel::new(&options, 9, 1);
    let back: Vec<PacketOutcome> = (0..5000).map(|_| back.offer(0, 1000)).collect();
    assert_ne!(alone, lost(&back));

    let slow = DirectionOptions {
        rate: Some("100 pkt/s".parse().unwrap()),
        loss: LinkLoss {
            bit_errors: Some(BitErrors::independent(1e-5).unwrap()),
            ..options.loss
        },
        ..options
    };
    let fates = packet_outcomes(&slow, 9, 5000, 1000);
    assert!(fates.contains(&PacketOutcome::Dropped(DropReason::Buffer)));
    assert!(fates.contains(&PacketOutcome::Dropped(DropReason::BitErrors)));
    for (alone, fate) in alone.iter().zip(&fates) {
        match fate {
            PacketOutcome::Dropped(DropReason::Loss) => assert!(alone),
            PacketOutcome::Dropped(DropReason::Buffer) => {}
            _ => assert!(!alone),
        }
    }
}

#[test]
fn invalid_options_are_rejected() {
    let refused = |change: &dyn Fn(&mut LinkOptions)| {
        let mut options = LinkOptions::default();
        change(&mut options);
        options.check().unwrap_err().to_string()
    };
    let cases = [
        (
            refused(&|o| o.out.delay = Seconds(-1.0)),
            "delay of a to b is -1 s: it must be from 0 s to 1 h",
        ),
        (
            refused(&|o| o.back.delay = Seconds(f64::NAN)),
            "delay of b to a is NaN s: it must be from 0 s to 1 h",
        ),
        (
            refused(&|o| o.out.loss = 1.5.into()),
            "loss of a to b is 1.5: it must be from 0 to 1",
        ),
        (
            refused(&|o| o.mtu = 60),
            "mtu of link is 60 B: it must be from 68 to 65535 B",
        ),
        (
            refused(&|o| o.out.buffer = Size::Packets(Packets(0.0))),
            "buffer of a to b is 0 pkt: it must be at least 1 pkt or 1 B",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
    for (p, r, good, bad) in [
        (1.5, 0.1, 0.0, 1.0),
        (0.0, 0.0, 0.0, 1.0),
        (0.1, 0.1, 0.0, f64::NAN),
    ] {
        assert!(GilbertElliott::new(p, r, good, bad).is_err());
    }
    for rate in [-1e-9, 1.0, f64::NAN] {
        assert!(BitErrors::independent(rate).is_err());
    }
    // A bit error rate of 0.9 cannot have bursts of two bits.
    assert!(BitErrors::in_bursts(0.9, 2.0).is_err());
    assert!(BitErrors::in_bursts(1e-6, 0.5).is_err());
}
