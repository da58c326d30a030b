//! Measured surfaces: the built-in grids, and interpolation between their points.

#[path = "../../examples/make-grids/grids.rs"]
mod maker;

use netflow_profile::{Grid, GridRow, GridSpec, Profile, builtin, builtin_names};

#[track_caller]
fn assert_within(found: f64, wanted: f64, tolerance: f64) {
    let error = (found / wanted - 1.0).abs();
    assert!(
        error <= tolerance,
        "{found} is not {wanted}: relative error {error:e}"
    );
}

#[test]
fn built_in_grids_match_the_measurements() {
    for (path, text) in maker::grids().expect("the measurements are readable") {
        let kept = std::fs::read_to_string(&path).expect("a data file");
        assert!(
            kept == text,
            "{} is stale: run `cargo run -p netflow-profile --example make-grids`",
            path.display()
        );
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        assert!(builtin_names().contains(&name), "{name} is not a built-in");
        assert_eq!(builtin(name).expect(name).name(), name);
    }
}

/// Packets/ms at (loss, rtt in ms), directly from the measurements.
#[test]
fn grid_points_are_reproduced() {
    for (name, loss, rtt_s, rate) in [
        ("ns-reno", 0.01, 0.06, 0.171928),
        ("ns-reno", 0.0005, 5.0, 0.0149308),
        ("ns-vegas", 0.3, 5.0, 0.000176079),
        ("ns-newreno", 0.0075, 0.15, 0.0967063),
        ("ns-reno-w64", 0.0005, 0.06, 0.792529),
        ("linux-reno", 0.2, 0.608, 0.00378982),
        ("linux-cubic", 0.01, 0.0515, 0.220414),
    ] {
        let profile = builtin(name).expect(name);
        assert_within(profile.throughput(loss, rtt_s) / 1000.0, rate, 1e-12);
    }
}

/// Linux's windows agree with theory where losses cause no timeouts. Reno's is √(3/(2p)) (Mathis et
/// al. 1997); CUBIC's is the larger of that and 1.054·(rtt/p)^¾ (RFC 9438, equation 6).
#[test]
fn linux_windows_agree_with_theory() {
    let reno_pkts = |loss: f64| (1.5 / loss).sqrt();
    let cubic_pkts = |loss: f64, rtt_s: f64| 1.054 * (rtt_s / loss).powf(0.75);
    for loss in [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02] {
        for rtt_s in [
            0.00128, 0.00519, 0.0206, 0.0515, 0.1026, 0.205, 0.407, 0.608,
        ] {
            let window = |name| builtin(name).expect(name).throughput(loss, rtt_s) * rtt_s;
            let [reno, cubic] = [window("linux-reno"), window("linux-cubic")];
            let off = reno / reno_pkts(loss);
            assert!(
                (0.85..1.3).contains(&off),
                "Reno ×{off:.2} at {loss} and {rtt_s} s"
            );
            let off = cubic / cubic_pkts(loss, rtt_s).max(reno_pkts(loss));
            assert!(
                (0.55..1.5).contains(&off),
                "CUBIC ×{off:.2} at {loss} and {rtt_s} s"
            );
        }
    }
}

fn small(window_pkts: Option<f64>, lossless: bool) -> Grid {
    let row = |loss, rates: [f64; 3]| GridRow {
        loss,
        throughput_pps: rates.to_vec(),
        extrapolated: Vec::new(),
    };
    let mut rows = vec![
        row(0.01, [100.0, 40.0, 9.0]),
        row(0.04, [50.0, 25.0, 6.0]),
        row(0.16, [20.0, 8.0, 3.0]),
    ];
    if lossless {
        rows.insert(0, row(0.0, [900.0, 450.0, 90.0]));
    }
    let spec = GridSpec {
        name: "small".into(),
        description: String::new(),
        window_pkts,
        sawtooth_amplitude: 1.0,
        rtts_s: vec![0.1, 0.2, 1.0],
        rows,
    };
    Grid::new(spec).expect("a good grid")
}

/// In the middle in ln loss and ln rtt, ln F is the mean of its four neighbours.
#[test]
fn ln_f_is_bilinear_in_ln_loss_and_ln_rtt() {
    let grid = small(None, false);
    let mean = (100.0_f64 * 40.0 * 50.0 * 25.0).powf(0.25);
    assert_within(grid.throughput(0.02, 0.02_f64.sqrt()), mean, 1e-12);
    // A power law in both is reproduced exactly: F ∝ p^(−1/2) from 100 to 50.
    assert_within(grid.throughput(0.0169, 0.1), 100.0 / 1.3, 1e-12);
}

/// 1/F² = (1 − s)/F₀² + s/F₁² with s = p/p₁.
#[test]
fn low_loss_rates_approach_the_lossless_rate() {
    let between = |f0: f64, f1: f64, s: f64| ((1.0 - s) / (f0 * f0) + s / (f1 * f1)).powf(-0.5);
    let windowed = small(Some(64.0), false);
    assert_eq!(windowed.domain().loss_min, 0.0);
    assert_within(windowed.throughput(0.0, 0.1), 640.0, 1e-12);
    assert_within(
        windowed.throughput(0.0025, 0.1),
        between(640.0, 100.0, 0.25),
        1e-12,
    );
    assert_within(windowed.throughput(0.01 * (1.0 - 1e-12), 0.1), 100.0, 1e-9);

    let measured = small(Some(1000.0), true);
    assert_within(measured.throughput(0.0, 0.2), 450.0, 1e-12);
    assert_within(
        measured.throughput(0.005, 0.2),
        between(450.0, 40.0, 0.5),
        1e-12,
    );

    let unknown = small(None, false);
    assert_eq!(unknown.domain().loss_min, 0.01);
    assert!(unknown.is_outside_domain(0.005, 0.1));
    // F ∝ p^(−1/2) from 100 at 1 % to 50 at 4 %; the other two columns fall by 1.6 and 1.5.
    let exponent = (2.0_f64 * 1.6 * 1.5).ln() / 3.0 / 4.0_f64.ln();
    assert_within(
        unknown.throughput(0.005, 0.1),
        100.0 * 2.0_f64.powf(exponent),
        1e-12,
    );
    assert_within(
        unknown.throughput(0.0, 0.1),
        100.0 * 1e6_f64.powf(exponent),
        1e-12,
    );
}

/// Far below its limit, a surface with a wide window is proportional to p^(−1/2).
#[test]
fn a_wide_window_follows_the_square_root_law() {
    let reno = builtin("ns-reno").expect("built-in");
    for rtt in [0.06, 0.3, 5.0] {
        let ratio = reno.throughput(0.000_05, rtt) / reno.throughput(0.000_2, rtt);
        assert_within(ratio, 2.0, 1e-3);
        assert_within(reno.throughput(0.0, rtt), 10_000.0 / rtt, 1e-12);
    }
}

/// F ≤ W/rtt everywhere; a window of two packets at 16 % and 100 ms is the same at any other
/// round-trip time.
#[test]
fn the_window_limits_the_rate_everywhere() {
    let grid = small(Some(8.0), false);
    assert_within(grid.throughput(0.01, 0.1), 80.0, 1e-12);
    assert_within(grid.throughput(0.04, 0.1), 50.0, 1e-12);
    assert_within(grid.throughput(0.16, 100.0), 0.03, 1e-12);
    assert_within(grid.throughput(0.16, 0.001), 2000.0, 1e-12);
    assert_eq!(grid.window_limit_pkts(), Some(8.0));
}

#[test]
fn single_cell_grid_follows_square_root_law() {
    let spec = GridSpec {
        name: "point".into(),
        description: String::new(),
        window_pkts: None,
        sawtooth_amplitude: 1.0,
        rtts_s: vec![0.1],
        rows: vec![GridRow {
            loss: 0.01,
            throughput_pps: vec![70.0],
            extrapolated: Vec::new(),
        }],
    };
    let grid = Grid::new(spec).expect("a good grid");
    let wanted = 70.0 / (0.3 / 0.01_f64).sqrt() * (0.1 / 4.0);
    assert_within(grid.throughput(0.3, 4.0), wanted, 1e-12);
    assert_within(grid.throughput(0.01, 0.1), 70.0, 1e-12);
}

/// Leaves out a loss row and interpolates over the gap, which justifies the choice of coordinates.
/// The errors quoted in `Grid`'s documentation are these.
#[test]
fn logarithmic_interpolation_predicts_held_out_rows_best() {
    for name in ["ns-reno", "ns-newreno", "ns-sack", "ns-vegas", "ns-tahoe"] {
        let text =
            std::fs::read_to_string(format!("{}/data/{name}.toml", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
        let profile = netflow_profile::from_toml(&text).unwrap();
        let Some(netflow_profile::Definition::Grid(grid)) = profile.definition() else {
            panic!("a grid")
        };
        let spec = grid.spec();
        let error = |coordinate: fn(f64) -> f64| {
            let (mut sum, mut n) = (0.0, 0.0);
            for rows in spec.rows.windows(3) {
                let [a, x, b] = [0, 1, 2].map(|i| coordinate(rows[i].loss));
                for j in 0..spec.rtts_s.len() {
                    let [fa, fx, fb] = [0, 1, 2].map(|i| rows[i].throughput_pps[j].ln());
                    let t = (x - a) / (b - a);
                    sum += (fa + t * (fb - fa) - fx).powi(2);
                    n += 1.0;
                }
            }
            (sum / n).sqrt()
        };
        let (logarithm, root, linear) = (error(f64::ln), error(f64::sqrt), error(|p| p));
        assert!(
            logarithm < root && root < linear,
            "{name}: {logarithm:.4} {root:.4} {linear:.4}"
        );
        if name == "ns-reno" {
            assert_eq!(
                format!("{logarithm:.3} {root:.3} {linear:.3}"),
                "0.064 0.068 0.078"
            );
        }
    }
}
