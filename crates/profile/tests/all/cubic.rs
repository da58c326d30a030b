//! CUBIC at low losses: windows compared with a simulation of the RFC 9438 window, the packet model
//! and the RFC.

use netflow_profile::fit::cubic_window_pkts;
use netflow_profile::{Provenance, builtin};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Constants of RFC 9438: C, β, and the growth of its Reno window in packets per round trip.
const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Simulates the mean window of RFC 9438's equations (W_cubic, W_est, fast convergence) for random
/// losses, without packets or round trips.
fn simulated_pkts(loss: f64, rtt_s: f64, losses: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let start = (1.2 / loss.sqrt()).max(1.1 * (rtt_s / loss).powf(0.75));
    let step_s = rtt_s / (loss * start) / 50.0;
    let (mut window, mut max) = (BETA * start, start);
    let (mut sent, mut time_s) = (0.0, 0.0);
    for _ in 0..losses {
        let k_s = ((max - window).max(0.0) / C).cbrt();
        let origin = max.max(window);
        let (mut reno, mut since_s) = (window, 0.0);
        let until = -rng.random_range(f64::MIN_POSITIVE..1.0).ln() / loss;
        let mut pkts = 0.0;
        while pkts < until {
            since_s += step_s;
            reno += ALPHA * step_s / rtt_s;
            window = window.max(reno).max(origin + C * (since_s - k_s).powi(3));
            pkts += window * step_s / rtt_s;
        }
        sent += pkts;
        time_s += since_s;
        max = if window < max {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        window *= BETA;
    }
    sent / time_s * rtt_s
}

fn profile_pkts(loss: f64, rtt_s: f64) -> f64 {
    builtin("linux-cubic")
        .expect("built-in")
        .throughput(loss, rtt_s)
        * rtt_s
}

#[track_caller]
fn assert_near(what: &str, found: f64, wanted: f64, tolerance: f64) {
    assert!(
        (found / wanted - 1.0).abs() <= tolerance,
        "{what}: {found}, not {wanted}"
    );
}

#[test]
fn windows_agree_with_simulated_equations() {
    for loss in [1e-4, 1e-5, 1e-6, 1e-7] {
        for rtt_s in [0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3] {
            let what = format!("{loss} and {rtt_s} s");
            let simulated = simulated_pkts(loss, rtt_s, 20_000);
            assert_near(&what, cubic_window_pkts(loss, rtt_s), simulated, 0.03);
            assert_near(&what, profile_pkts(loss, rtt_s), simulated, 0.12);
        }
    }
}

/// Packet model: loss, round-trip time in seconds, mean window in packets. Each line is from
/// `netflow run --format json` with one `linux-6` sender, `send-buffer = "1 GiB"`, 400 Gbit/s and
/// this `loss`: `mean_goodput_pps` times the round-trip time, over 600 losses (250 below 1e-5).
/// Standard errors: about 3 %.
const PACKETS: &[(f64, f64, f64)] = &[
    (5e-4, 0.00128, 45.8),
    (5e-4, 0.00519, 52.0),
    (5e-4, 0.01, 53.3),
    (5e-4, 0.0206, 54.7),
    (5e-4, 0.032, 55.5),
    (5e-4, 0.0515, 57.2),
    (5e-4, 0.1, 69.3),
    (5e-4, 0.205, 115.5),
    (5e-4, 0.407, 192.7),
    (5e-4, 0.608, 259.2),
    (1e-4, 0.00128, 112.6),
    (1e-4, 0.00519, 121.8),
    (1e-4, 0.01, 123.6),
    (1e-4, 0.0206, 125.5),
    (1e-4, 0.032, 129.6),
    (1e-4, 0.0515, 141.3),
    (1e-4, 0.1, 213.6),
    (1e-4, 0.205, 366.9),
    (1e-4, 0.407, 614.6),
    (1e-4, 0.608, 829.5),
    (1e-5, 0.00128, 380.2),
    (1e-5, 0.00519, 400.0),
    (1e-5, 0.01, 406.1),
    (1e-5, 0.0206, 438.4),
    (1e-5, 0.032, 545.4),
    (1e-5, 0.0515, 764.5),
    (1e-5, 0.1, 1257.0),
    (1e-5, 0.205, 2154.5),
    (1e-5, 0.407, 3627.4),
    (1e-5, 0.608, 4895.2),
    (1e-6, 0.01, 1328.6),
    (1e-6, 0.03, 2581.9),
    (1e-6, 0.1, 6352.0),
];

#[test]
fn profile_windows_agree_with_packet_model() {
    for &(loss, rtt_s, pkts) in PACKETS {
        let tolerance = match (loss < 5e-4, rtt_s >= 0.005) {
            (true, true) => 0.1,
            // Measured, or at the edge: Linux 6.18 itself differs from the packet model.
            _ => 0.2,
        };
        let what = format!("{loss} and {rtt_s} s");
        assert_near(&what, profile_pkts(loss, rtt_s), pkts, tolerance);
    }
}

/// At 10 ms CUBIC stays in its Reno region: the window is 123 packets at 1e-4 and 416 at 1e-5 in
/// the packet model, and 120 and 379 for periodic losses (RFC 9438, table 2). One exponent for all
/// round-trip times gives 166 and 766.
#[test]
fn short_rtts_have_the_reno_window() {
    for (loss, rtt_s, packets, published) in [
        (1e-4, 0.01, 123.0, 120.0),
        (1e-5, 0.01, 416.0, 379.0),
        (1e-4, 0.1, 221.0, 187.0),
        (1e-5, 0.1, 1252.0, 1054.0),
    ] {
        let window = profile_pkts(loss, rtt_s);
        assert_near("packets", window, packets, 0.1);
        // Random losses reduce a window less than periodic ones.
        assert!((1.0..1.3).contains(&(window / published)), "{window}");
        let profile = builtin("linux-cubic").expect("built-in");
        assert_eq!(profile.provenance(loss, rtt_s), Provenance::Extrapolated);
    }
}

/// RFC 9438, table 3, 100 ms and packets of 1500 B: the loss at which CUBIC reaches a throughput in
/// Mbit/s. Its losses are periodic; for random losses equation 6 allows (1.2/1.054)^(4/3) = 1.19
/// times as many.
#[test]
fn throughputs_agree_with_rfc_table_3() {
    for (mbps, published) in [
        (1.0, 2.0e-2),
        (10.0, 2.9e-4),
        (100.0, 1.4e-5),
        (1000.0, 6.3e-7),
        (10_000.0, 2.9e-8),
    ] {
        let pps = mbps * 1e6 / (8.0 * 1500.0);
        let (mut low, mut high) = (1e-8_f64, 0.2_f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if profile_pkts(middle, 0.1) / 0.1 > pps {
                low = middle
            } else {
                high = middle
            }
        }
        println!("{mbps} Mbit/s: {low:.2e} published {published:.2e}");
        let ratio = low / published;
        assert!((1.0..1.6).contains(&ratio), "{mbps} Mbit/s: {low:e}");
    }
}

/// Rates are continuous between the measured rows and those below. Their exponent in the loss is
/// between half of Reno's and 1.
#[test]
fn added_rows_join_measured_rows_continuously() {
    let profile = builtin("linux-cubic").expect("built-in");
    assert_eq!(profile.domain().loss_min, 5e-4);
    for i in 0..40 {
        let rtt_s = 0.001 * 1.18_f64.powi(i);
        let rate = |loss: f64| profile.throughput(loss, rtt_s);
        assert_near("edge", rate(5e-4 * (1.0 - 1e-9)), rate(5e-4), 1e-8);
        let mut loss = 1.1e-8;
        while loss < 4e-4 {
            let slope = profile.log_derivatives(loss, rtt_s).by_loss * loss;
            assert!(
                (-1.0..-0.25).contains(&slope),
                "{slope} at {loss}, {rtt_s} s"
            );
            loss *= 1.3;
        }
    }
}
