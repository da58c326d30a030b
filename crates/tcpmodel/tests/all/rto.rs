//! The chain of timeouts: exact moments and quantiles compared with a table, Monte Carlo compared with
//! exact moments, closed forms, and invalid input.

use crate::reference::{Row, Table};
use netflow_tcpmodel::Error;
use netflow_tcpmodel::rto::{
    ExactDistribution, ExactMoments, InterruptibleMonteCarlo, MonteCarlo, RtoChain, Solver,
    TimeoutTime, Timers,
};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The timers of [Short].
fn timers(delay_s: f64) -> Timers {
    Timers {
        initial_s: 3.0,
        base_s: (6.0 * delay_s).max(0.2),
        max_s: 120.0,
    }
}

/// Returns the probability that the packet or its acknowledgement is lost.
fn round_trip_loss(loss: f64) -> f64 {
    loss + loss * (1.0 - loss)
}

fn chain(row: Row<'_>) -> RtoChain {
    let loss = round_trip_loss(row.get("pl"));
    RtoChain::new(row.get("data") as u64, loss, timers(row.get("delay")))
}

#[test]
fn exact_moments_agree_with_the_table() {
    for row in Table::read("rto_moments.csv", 360).rows() {
        let solved = ExactMoments.solve(&[chain(row)]).unwrap();
        row.assert_close("mean", solved.mean_s, 1e-9);
        row.assert_close("sd", solved.std_s, 1e-9);
        assert_eq!(solved.means_s, [solved.mean_s]);
    }
}

#[test]
fn exact_quantiles_agree_with_the_table() {
    for row in Table::read("rto_quantiles.csv", 90).rows() {
        let distribution = distribution(&ExactDistribution, chain(row));
        row.assert_close("P0", distribution.cdf(0.0), 1e-9);
        row.assert_close("mean_lat", distribution.mean_s(), 1e-9);
        for (column, q) in [
            ("q50", 0.5),
            ("q75", 0.75),
            ("q90", 0.9),
            ("q95", 0.95),
            ("q99", 0.99),
            ("q999", 0.999),
        ] {
            row.assert_close(column, distribution.quantile(q), 1e-9);
        }
        let (_, total) = distribution.points().last().unwrap();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
    }
}

/// Timers without a feasible common unit: the lattice distribution is slightly wider, and its mean is
/// exact.
#[test]
fn timers_without_a_common_unit_are_solved() {
    let near = Timers {
        base_s: 0.3,
        ..timers(0.0)
    };
    let odd = Timers {
        base_s: 0.3 + 1.234567e-7,
        ..near
    };
    for (packets, loss) in [(1, 0.1), (20, 0.0975), (200, 0.3)] {
        let exact = ExactMoments
            .solve(&[RtoChain::new(packets, loss, odd)])
            .unwrap();
        let near = distribution(&ExactDistribution, RtoChain::new(packets, loss, near));
        let odd = distribution(&ExactDistribution, RtoChain::new(packets, loss, odd));
        assert!((odd.mean_s() / exact.mean_s - 1.0).abs() < 1e-9);
        for q in [0.123, 0.456, 0.789, 0.987] {
            // Lattice points are much closer than a standard deviation.
            let difference = (odd.quantile(q) - near.quantile(q)).abs() / exact.std_s;
            assert!(difference < 0.005, "{packets} {loss} {q}: {difference}");
        }
    }
}

/// One packet with timers 1, 2, 4, 4, …: k losses take Σ L with probability p^k·(1−p).
#[test]
fn one_packet_matches_hand_calculation() {
    let timers = Timers {
        initial_s: 1.0,
        base_s: 0.5,
        max_s: 4.0,
    };
    let p: f64 = 0.25;
    let distribution = distribution(&ExactDistribution, RtoChain::new(1, p, timers));
    let times_s = [0.0, 1.0, 3.0, 7.0, 11.0, 15.0];
    for (losses, (point, time_s)) in distribution.points().zip(times_s).enumerate() {
        assert_eq!(point.0, time_s);
        assert!((point.1 - (1.0 - p.powi(losses as i32 + 1))).abs() < 1e-15);
    }
    // The mean is p·1 + p²·2 + p³·4/(1−p), because every timer after the second is 4.
    let mean_s = p + 2.0 * p.powi(2) + 4.0 * p.powi(3) / (1.0 - p);
    for solver in [&ExactMoments as &dyn Solver, &ExactDistribution] {
        let solved = solver.solve(&[RtoChain::new(1, p, timers)]).unwrap();
        assert!((solved.mean_s - mean_s).abs() < 1e-14);
    }
    assert!((distribution.mean_s() - mean_s).abs() < 1e-12);
}

/// Timers that start at the maximum never double: n packets lose n·p/(1−p) sends on average.
#[test]
fn timers_at_their_maximum_make_a_negative_binomial_time() {
    let timers = Timers {
        initial_s: 2.0,
        base_s: 2.0,
        max_s: 2.0,
    };
    let (n, p) = (50, 0.4);
    let mean_s = 2.0 * n as f64 * p / (1.0 - p);
    let std_s = (4.0 * n as f64 * p).sqrt() / (1.0 - p);
    let solved = ExactDistribution
        .solve(&[RtoChain::new(n, p, timers)])
        .unwrap();
    assert!((solved.mean_s / mean_s - 1.0).abs() < 1e-12);
    assert!((solved.std_s / std_s - 1.0).abs() < 1e-12);
    assert!((solved.distribution.unwrap().mean_s() / mean_s - 1.0).abs() < 1e-12);
}

/// A chain that takes place with probability q has q times the mean, and 1 − q more probability at 0.
#[test]
fn chain_probability_scales_the_mean() {
    let always = RtoChain::new(3, 0.2, timers(0.1));
    let sometimes = RtoChain {
        probability: 0.25,
        ..always
    };
    for solver in [&ExactMoments as &dyn Solver, &ExactDistribution] {
        let whole = solver.solve(&[always]).unwrap();
        let part = solver.solve(&[sometimes]).unwrap();
        assert!((part.mean_s - 0.25 * whole.mean_s).abs() < 1e-14);
        let both = solver.solve(&[always, sometimes]).unwrap();
        assert!((both.mean_s - 1.25 * whole.mean_s).abs() < 1e-14);
        let variances = whole.std_s.powi(2) + part.std_s.powi(2);
        assert!((both.std_s.powi(2) - variances).abs() < 1e-12);
    }
    let at_once = distribution(&ExactDistribution, sometimes).cdf(0.0);
    assert!((at_once - (0.75 + 0.25 * 0.8_f64.powi(3))).abs() < 1e-14);
}

/// The mean of 50 000 trials is approximately normal, with the exact mean and the exact standard deviation
/// over √50 000. The largest of 200 errors exceeds 4 with probability 1.3 %; with this seed it does not. An
/// error of a few percent in the chain exceeds it at most points.
#[test]
fn sampling_agrees_with_the_exact_mean() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut squares, mut covered, points) = (0.0, 0, 200);
    for point in 0..points {
        let chain = random_chain(&mut rng);
        let exact = ExactMoments.solve(&[chain]).unwrap();
        let sampled = MonteCarlo {
            trials: 50_000,
            seed: point,
            ..MonteCarlo::default()
        }
        .solve(&[chain])
        .unwrap();
        let error = (sampled.mean_s - exact.mean_s) / (exact.std_s / 50_000_f64.sqrt());
        assert!(error.abs() < 4.0, "{error} at {chain:?}");
        // The sample's standard deviation is that of the chain, as far as a heavy tail allows.
        let spread = sampled.std_s / exact.std_s;
        assert!((0.5..2.0).contains(&spread), "{spread} at {chain:?}");
        squares += error * error;
        let (low_s, high_s) = sampled.interval_s();
        covered += u32::from(low_s < exact.mean_s && exact.mean_s < high_s);
    }
    // The sum of 200 squared normal errors is 200 ± 20.
    assert!((100.0..300.0).contains(&squares), "{squares}");
    // The exact mean is in 190 ± 3 of 200 intervals.
    assert!((178..=200).contains(&covered), "{covered}");
}

fn random_chain(rng: &mut impl Rng) -> RtoChain {
    RtoChain::new(
        rng.random_range(1..=200),
        rng.random_range(0.02..0.6),
        timers(rng.random_range(0.0..0.3)),
    )
}

#[test]
fn a_sample_has_the_exact_distribution() {
    let chain = RtoChain::new(20, 0.0975, timers(0.05));
    let exact = distribution(&ExactDistribution, chain);
    let sampled = distribution(&MonteCarlo::default(), chain);
    // Kolmogorov–Smirnov test: 1.95/√n is exceeded with probability 0.001.
    for (time_s, probability) in exact.points() {
        let found = sampled.cdf(time_s + 1e-9);
        assert!(
            (found - probability).abs() < 1.95e-3,
            "{time_s}: {found} {probability}"
        );
    }
    assert_eq!(sampled.quantile(0.0), 0.0);
    assert!(sampled.quantile(1.0).is_finite());
}

#[test]
fn a_sample_is_identical_for_any_number_of_threads() {
    let chains = [
        RtoChain::new(1, 0.3, timers(0.05)),
        RtoChain::new(60, 0.2, timers(0.05)),
    ];
    let solver = MonteCarlo {
        trials: 100_001,
        precision: None,
        seed: 5,
    };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let solved = pool.build().unwrap().install(|| solver.solve(&chains));
        solved.unwrap()
    };
    let one = with(1);
    assert_eq!(one.trials, 100_001);
    for threads in [2, 8] {
        let many = with(threads);
        assert_eq!(bits(&one), bits(&many));
        assert_eq!(one.distribution, many.distribution);
    }
    let other = MonteCarlo { seed: 6, ..solver }.solve(&chains).unwrap();
    assert_ne!(bits(&one), bits(&other));
}

/// An interrupted simulation returns the result of fewer trials.
#[test]
fn trials_can_be_interrupted() {
    let chains = [RtoChain::new(20, 0.2, timers(0.05))];
    let monte_carlo = MonteCarlo {
        trials: 1_000_000_000,
        ..MonteCarlo::default()
    };
    let stop = &|| true;
    let stopped = InterruptibleMonteCarlo { monte_carlo, stop }.solve(&chains);
    let few = MonteCarlo {
        trials: 16_384,
        ..monte_carlo
    };
    let few = few.solve(&chains).unwrap();
    assert_eq!(bits(&stopped.unwrap()), bits(&few));
}

fn bits(time: &TimeoutTime) -> Vec<u64> {
    let of = [time.mean_s, time.std_s, time.standard_error_s];
    of.iter()
        .chain(&time.means_s)
        .map(|value| value.to_bits())
        .chain([time.trials, time.sends])
        .collect()
}

#[test]
fn sampling_stops_when_it_is_precise_enough() {
    let chain = RtoChain::new(20, 0.0975, timers(0.05));
    let solver = MonteCarlo {
        trials: 10_000_000,
        precision: Some(0.01),
        seed: 1,
    };
    let solved = solver.solve(&[chain]).unwrap();
    assert!(1.96 * solved.standard_error_s <= 0.01 * solved.mean_s);
    // (1.96 · 2.599363/1.249998 / 1 %)² = 166 000 trials suffice; the precision is checked at powers of
    // two.
    assert_eq!(solved.trials, 1 << 18);
    // Every packet is sent once, and once more for each of n·p/(1−p) losses.
    let sends = solved.sends as f64 / solved.trials as f64;
    assert!(
        (sends / (20.0 / (1.0 - 0.0975)) - 1.0).abs() < 0.001,
        "{sends}"
    );
}

#[test]
fn without_loss_there_is_no_timeout() {
    let chain = RtoChain::new(1000, 0.0, timers(0.05));
    let few = MonteCarlo {
        trials: 1000,
        ..MonteCarlo::default()
    };
    for solver in [&ExactMoments as &dyn Solver, &ExactDistribution, &few] {
        let solved = solver.solve(&[chain]).unwrap();
        assert_eq!((solved.mean_s, solved.std_s), (0.0, 0.0));
        if let Some(distribution) = solved.distribution {
            assert_eq!(distribution.quantile(1.0), 0.0);
        }
    }
}

#[test]
fn invalid_chains_are_rejected() {
    let good = RtoChain::new(20, 0.1, timers(0.05));
    let said = |chain: RtoChain| {
        let errors = [
            ExactMoments.solve(&[chain]),
            ExactDistribution.solve(&[chain]),
            MonteCarlo::default().solve(&[good, chain]),
        ];
        let errors: Vec<Error> = errors.into_iter().map(Result::unwrap_err).collect();
        assert!(errors.iter().all(|error| error.what == errors[0].what));
        errors[0].to_string()
    };
    let with = |change: fn(&mut RtoChain)| {
        let mut chain = good;
        change(&mut chain);
        said(chain)
    };
    assert_eq!(
        with(|chain| chain.loss = 1.0),
        "loss probability is 1, allowed is 0 to 0.9999"
    );
    assert_eq!(
        with(|chain| chain.loss = f64::NAN),
        "loss probability is NaN, allowed is 0 to 0.9999"
    );
    assert_eq!(
        with(|chain| chain.loss = -0.1),
        "loss probability is -0.1, allowed is 0 to 0.9999"
    );
    assert_eq!(
        with(|chain| chain.packets = u64::MAX),
        "number of packets is 18446744073709552000, allowed is at most 10 million"
    );
    assert_eq!(
        with(|chain| chain.timers.base_s = 0.0),
        "base timer (s) is 0, allowed is 1e-6 to 1e6 s"
    );
    assert_eq!(
        with(|chain| chain.timers.max_s = 2.0),
        "maximum timer (s) is 2, allowed is at least the initial and the base timer"
    );
    assert_eq!(
        with(|chain| chain.probability = 2.0),
        "probability of a chain is 2, allowed is 0 to 1"
    );
    let sample = |trials, precision| {
        let solver = MonteCarlo {
            trials,
            precision,
            seed: 1,
        };
        solver.solve(&[good]).unwrap_err().to_string()
    };
    assert_eq!(
        sample(1, None),
        "number of trials is 1, allowed is 2 to a billion"
    );
    assert_eq!(
        sample(10, Some(0.0)),
        "precision is 0, allowed is above 0 and below 1"
    );
    let long = RtoChain::new(10_000_000, 0.1, timers(0.05));
    let error = ExactDistribution.solve(&[long]).unwrap_err();
    assert_eq!(error.what, "number of packets");
}

fn distribution(solver: &dyn Solver, chain: RtoChain) -> netflow_tcpmodel::rto::Distribution {
    solver.solve(&[chain]).unwrap().distribution.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// For all timers, probabilities sum to one, and the mean of the distribution is that of the recursion.
    #[test]
    fn the_two_exact_solutions_agree(
        packets in 1_u64..60,
        loss in 0.0..0.8,
        initial_s in 0.01..10.0,
        base_s in 0.01..10.0,
        more in 1.0..50.0,
    ) {
        let timers = Timers { initial_s, base_s, max_s: more * f64::max(initial_s, base_s) };
        let solved = ExactDistribution.solve(&[RtoChain::new(packets, loss, timers)]).unwrap();
        let distribution = solved.distribution.unwrap();
        let (_, total) = distribution.points().last().unwrap();
        prop_assert!((total - 1.0).abs() < 1e-11);
        let error = (distribution.mean_s() - solved.mean_s).abs();
        prop_assert!(error <= 1e-9 * solved.mean_s, "{} {}", distribution.mean_s(), solved.mean_s);
        // The variance agrees, too, except for the split between lattice points.
        let mut before = 0.0;
        let mut squares = 0.0;
        for (time_s, cumulative) in distribution.points() {
            squares += (time_s - solved.mean_s).powi(2) * (cumulative - before);
            before = cumulative;
        }
        let spread = squares.sqrt();
        prop_assert!((spread / solved.std_s - 1.0).abs() < 0.011 || loss < 1e-6);
    }
}

proptest! {
    /// The time increases in the number of packets, the loss and the timers.
    #[test]
    fn timeout_time_increases_with_every_parameter(
        packets in 1_u64..100,
        loss in 0.001..0.8,
        base_s in 0.01..3.0,
    ) {
        let mean_s = |packets, loss, base_s| {
            let timers = Timers { initial_s: 3.0, base_s, max_s: 120.0 };
            ExactMoments.solve(&[RtoChain::new(packets, loss, timers)]).unwrap().mean_s
        };
        let here = mean_s(packets, loss, base_s);
        prop_assert!(mean_s(packets + 1, loss, base_s) > here);
        prop_assert!(mean_s(packets, 1.01 * loss, base_s) > here);
        prop_assert!(packets == 1 || mean_s(packets, loss, 1.01 * base_s) > here);
    }
}
