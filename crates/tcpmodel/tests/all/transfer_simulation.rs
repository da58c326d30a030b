//! Transfers simulated packet by packet: whole round trips, closed forms, monotonicity, threads, and
//! invalid input. The study of short transfers compares them with measurements.

use netflow_tcpmodel::rto::{ExactMoments, RtoChain, Solver, Timers};
use netflow_tcpmodel::transfer_simulation::{
    CompletionCriterion, Distribution, Options, Transfer, TransferSimulation,
};
use netflow_tcpmodel::{CongestionControl, Recovery, RtoRule, Stack, builtin_names};
use proptest::prelude::*;

fn simulate(stack: &str, transfer: Transfer, trials: u64) -> Distribution {
    let stack = Stack::builtin(stack).unwrap();
    let options = Options {
        trials,
        ..Options::default()
    };
    TransferSimulation { stack, transfer }
        .solve(&options)
        .unwrap()
}

fn with_loss(loss: f64, transfer: Transfer) -> Transfer {
    Transfer {
        loss_forward: loss,
        loss_back: loss,
        ..transfer
    }
}

/// Windows of 2, 4, 8, … or 10, 20, … packets take a round trip each, after one for the handshake. The last
/// window takes half a round trip to arrive, and a whole one to be acknowledged.
#[test]
fn without_loss_a_transfer_takes_whole_round_trips() {
    let (rtt_s, mss_bytes) = (0.2, 1000);
    for (stack, packets, round_trips) in [
        ("ns-2.35", 1, 2.0),
        ("ns-2.35", 2, 2.0),
        ("ns-2.35", 3, 3.0),
        ("ns-2.35", 6, 3.0),
        ("ns-2.35", 7, 4.0),
        ("ns-2.35", 14, 4.0),
        ("ns-2.35", 62, 6.0),
        ("ns-2.35", 63, 7.0),
        ("linux-6", 10, 2.0),
        ("linux-6", 11, 3.0),
        ("linux-6", 30, 3.0),
        ("linux-6", 31, 4.0),
    ] {
        let push = Transfer::push(packets * 1000, mss_bytes, rtt_s / 2.0);
        for (until, expected_s) in [
            (CompletionCriterion::Delivered, (round_trips - 0.5) * rtt_s),
            (CompletionCriterion::Acknowledged, round_trips * rtt_s),
        ] {
            let transfer = Transfer {
                until,
                ..push.clone()
            };
            let latency = simulate(stack, transfer, 2);
            let s = latency.mean_s();
            assert!((s - expected_s).abs() < 1e-9, "{stack} {packets}: {s} s");
            assert!((latency.handshake_s() - rtt_s).abs() < 1e-12);
        }
        // A reply arrives at the requesting end half a round trip later.
        let fetch = Transfer::fetch(100, packets * 1000, mss_bytes, rtt_s / 2.0);
        let s = simulate(stack, fetch, 2).mean_s();
        assert!((s - round_trips * rtt_s).abs() < 1e-9, "{stack} {packets}");
    }
}

/// SYN, SYN-ACK and acknowledgement of 40 B, then 1000 B and a header, in sequence.
#[test]
fn packets_have_a_transmission_time() {
    let transfer = Transfer {
        bandwidth_bps: Some(1e6),
        ..Transfer::push(1000, 1000, 0.05)
    };
    let sent_s = 8.0 * (3.0 * 40.0 + 1040.0) / 1e6;
    let s = simulate("ns-2.35", transfer, 2).mean_s();
    assert!((s - (0.15 + sent_s)).abs() < 1e-12, "{s}");
}

/// Only SYNs and one segment can be lost. A geometric number of SYNs waits 3, 6, … 60 s. With probability
/// (1 − p)², both the first SYN and the segment arrive at once.
#[test]
fn one_segment_matches_hand_calculation() {
    let (loss, trials) = (0.2, 50_000);
    let transfer = Transfer {
        loss_forward: loss,
        ..Transfer::push(500, 500, 0.05)
    };
    let latency = simulate("ns-2.35", transfer, trials);
    let timers = Timers {
        initial_s: 3.0,
        base_s: 3.0,
        max_s: 60.0,
    };
    let syn = ExactMoments
        .solve(&[RtoChain::new(1, loss, timers)])
        .unwrap();
    let error = (latency.handshake_s() - 0.1 - syn.mean_s) * (trials as f64).sqrt() / syn.std_s;
    assert!(error.abs() < 4.0, "{error}");
    let at_once = latency
        .sorted_s()
        .iter()
        .filter(|&&s| s < 0.15 + 1e-9)
        .count();
    let share = (1.0_f64 - loss).powi(2);
    let spread = (share * (1.0 - share) * trials as f64).sqrt();
    let error = (at_once as f64 - share * trials as f64) / spread;
    assert!(error.abs() < 4.0, "{error}");
    assert_eq!(latency.trials(), trials as usize);
    assert_eq!(latency.quantile(0.5), latency.quantile(0.0));
}

/// An interrupted simulation returns the result of fewer transfers.
#[test]
fn transfers_can_be_interrupted() {
    let simulation = TransferSimulation {
        stack: Stack::builtin("linux-6").unwrap(),
        transfer: with_loss(0.05, Transfer::push(20_000, 1000, 0.05)),
    };
    let of = |trials| Options {
        trials,
        seed: 3,
        precision: None,
    };
    let stopped = simulation
        .solve_interruptible(&of(10_000_000), &|| true)
        .unwrap();
    let few = simulation.solve(&of(stopped.trials() as u64)).unwrap();
    assert!(stopped.trials() < 100_000);
    assert_eq!(stopped, few);
}

#[test]
fn results_are_identical_for_any_number_of_threads() {
    let simulation = TransferSimulation {
        stack: Stack::builtin("linux-6").unwrap(),
        transfer: with_loss(0.05, Transfer::push(20_000, 1000, 0.05)),
    };
    let options = Options {
        trials: 5001,
        seed: 3,
        precision: None,
    };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let solved = pool.build().unwrap().install(|| simulation.solve(&options));
        solved.unwrap()
    };
    let one = with(1);
    for threads in [2, 8] {
        assert_eq!(one, with(threads));
    }
    let other = Options { seed: 4, ..options };
    assert_ne!(one, simulation.solve(&other).unwrap());
}

/// The increases are large compared with the random variation of this number of trials.
#[test]
fn latency_increases_with_loss() {
    for name in builtin_names() {
        for packets in [1, 6, 20] {
            let mut before_s = 0.0;
            for loss in [0.0, 0.02, 0.06, 0.12, 0.2, 0.3] {
                let transfer = with_loss(loss, Transfer::push(packets * 500, 500, 0.05));
                let latency = simulate(name, transfer, 4000);
                assert!(latency.mean_s() > before_s, "{name} {packets} {loss}");
                before_s = latency.mean_s();
                let quantiles = [0.0, 0.1, 0.5, 0.9, 0.99, 1.0].map(|q| latency.quantile(q));
                assert!(quantiles.is_sorted());
            }
        }
    }
}

proptest! {
    /// Without loss, latency increases in delay and size, and there are no timeouts.
    #[test]
    fn latency_increases_with_delay_and_size(
        packets in 1_u64..200,
        delay_s in 0.001..0.2,
        name in prop::sample::select(builtin_names()),
    ) {
        let of = |packets, delay_s| simulate(name, Transfer::push(packets * 500, 500, delay_s), 8);
        let here = of(packets, delay_s);
        prop_assert_eq!(here.timeout_s(), 0.0);
        prop_assert_eq!(here.retransmissions(), 0.0);
        // A delayed acknowledgement just before a segment may cost or save a round trip.
        let delayed = ["linux-2.0.34", "rfc6298"].contains(&name);
        let longer_s = if delayed { 1.5 * delay_s } else { delay_s + 0.001 };
        prop_assert!(of(packets, longer_s).mean_s() > here.mean_s());
        prop_assert!(of(packets + 1, delay_s).mean_s() >= here.mean_s());
        prop_assert!(of(4 * packets + 20, delay_s).mean_s() > here.mean_s());
    }
}

prop_compose! {
    /// Any stack, with each combination of rules.
    fn any_stack()(
        like in prop::sample::select(builtin_names()),
        window in 1_u32..20,
        (rto_rule, clock_s) in prop::sample::select(vec![
            (RtoRule::Ticks, 0.01),
            (RtoRule::Rfc6298, 0.0),
            (RtoRule::Linux, 0.004),
            (RtoRule::Linux, 0.0),
        ]),
        recovery in prop::sample::select(vec![
            Recovery::Timeout,
            Recovery::Tahoe,
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Rack,
        ]),
        duplicate_acks in 1_u32..5,
        min_rto_s in prop::sample::select(vec![1e-6, 0.01, 0.2, 3.0]),
        window_after_loss in 0.01..=1.0,
        segments_per_ack in 1_u32..4,
        quick_acks in prop::sample::select(vec![0, 3, 16, u32::MAX]),
        congestion in prop::sample::select(vec![
            CongestionControl::Reno,
            CongestionControl::Cubic,
            CongestionControl::Bbr,
            CongestionControl::Dctcp,
        ]),
        flags in prop::array::uniform8(any::<bool>()),
    ) -> Stack {
        Stack {
            initial_window_pkts: window,
            rto_rule,
            clock_s,
            recovery,
            duplicate_acks,
            initial_rto_s: 1.0,
            min_rto_s,
            window_after_loss,
            segments_per_ack,
            quick_acks,
            quick_while_growing: false,
            timestamps: flags[0],
            limited_transmit: flags[1],
            early_retransmit: flags[2],
            tail_loss_probe: flags[3],
            acks_compressed: flags[4],
            ack_delay_beats: flags[5],
            syn_answered_again: flags[6],
            syn_timeout_ends_slow_start: flags[7],
            congestion,
            ..Stack::builtin(like).unwrap()
        }
    }
}

proptest! {
    /// Every transfer ends for any rules and losses, and its components add up to the total.
    #[test]
    fn every_transfer_ends(
        stack in any_stack(),
        packets in 1_u64..80,
        forward in 0.0..0.6,
        back in 0.0..0.6,
        delay_s in prop::sample::select(vec![0.0, 1e-6, 0.05, 2.0]),
        fetch in any::<bool>(),
    ) {
        let transfer = if fetch {
            Transfer::fetch(700, 500 * packets, 500, delay_s)
        } else {
            Transfer::push(500 * packets, 500, delay_s)
        };
        let transfer = Transfer {
            loss_forward: forward,
            loss_back: back,
            until: CompletionCriterion::Acknowledged,
            ..transfer
        };
        let options = Options { trials: 20, seed: packets, precision: None };
        let latency = TransferSimulation { stack, transfer }.solve(&options).unwrap();
        prop_assert!(latency.mean_s().is_finite());
        let least_s = if fetch { 4.0 } else { 3.0 } * delay_s;
        prop_assert!(latency.quantile(0.0) >= least_s - 1e-9);
        prop_assert!(latency.handshake_s() >= 2.0 * delay_s - 1e-9);
        prop_assert!(latency.timeout_s() >= 0.0);
        prop_assert!(latency.transfer_s() >= -1e-9);
    }
}

#[test]
fn invalid_transfers_are_rejected() {
    let good = Transfer::push(1000, 500, 0.05);
    type Change = fn(&mut Transfer);
    let cases: [(Change, &str); 7] = [
        (|t| t.bytes = 0, "size in B is 0, allowed is 1 or more"),
        (|t| t.mss_bytes = 0, "mss in B is 0, allowed is 1 or more"),
        (
            |t| t.delay_s = -0.1,
            "delay in s is -0.1, allowed is 0 to 1e6",
        ),
        (
            |t| t.loss_forward = 1.0,
            "loss with the data is 1, allowed is a probability from 0 to 0.9",
        ),
        (
            |t| t.loss_back = f64::NAN,
            "loss against the data is NaN, allowed is a probability from 0 to 0.9",
        ),
        (
            |t| t.bandwidth_bps = Some(0.0),
            "bandwidth in bit/s is 0, allowed is 1e-3 to 1e18",
        ),
        (
            |t| t.bytes = 6_000_000_000,
            "size in segments is 12000000, allowed is 10 million or less",
        ),
    ];
    for (change, message) in cases {
        let mut transfer = good.clone();
        change(&mut transfer);
        let stack = Stack::builtin("linux-6").unwrap();
        let simulation = TransferSimulation { stack, transfer };
        let error = simulation.solve(&Options::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let simulation = TransferSimulation {
        stack: Stack::builtin("linux-6").unwrap(),
        transfer: good,
    };
    let one = Options {
        trials: 1,
        seed: 1,
        precision: None,
    };
    let error = simulation.solve(&one).unwrap_err();
    assert_eq!(error.to_string(), "trials is 1, allowed is 2 to 10 million");
}
