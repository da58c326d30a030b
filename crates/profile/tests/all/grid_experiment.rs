//! Fits to designed experiments, whose settings are known.

use netflow_profile::fit::{
    CellOrigin, ExperimentCell, FitError, ProfileLabel, Sample, fit_grid_experiment,
};
use netflow_profile::{Profile, Provenance, from_toml, to_toml};

const NAMES: ProfileLabel<'static> = ProfileLabel {
    name: "lab",
    description: "made up",
};

/// Returns samples of 20 packets at this rate, with `resent` retransmissions in every second one.
/// The first three have no loss and ten times the rate.
fn transfer(rate_pps: f64, samples: usize, resent: u32) -> Vec<Sample> {
    let sample = |n: usize| Sample {
        time_s: n as f64,
        duration_s: 20.0 / rate_pps * if n < 3 { 0.1 } else { 1.0 },
        pkts: 20,
        resent_pkts: if n >= 3 && n % 2 == 1 { resent } else { 0 },
        spurious_pkts: 0,
        rtt_s: 0.123,
    };
    (0..samples).map(sample).collect()
}

/// 30·rtt^(-0.8)·loss^(-0.5)/10 packets/ms, rtt in ms.
fn rate_pps(loss: f64, rtt_s: f64) -> f64 {
    1e3 * 3.0 * (1e3 * rtt_s).powf(-0.8) / loss.sqrt()
}

fn cells() -> Vec<ExperimentCell> {
    let mut cells = Vec::new();
    for rtt_s in [0.06, 0.2, 0.1] {
        for loss in [0.04, 0.01] {
            let rate_pps = rate_pps(loss, rtt_s);
            cells.push(ExperimentCell {
                loss,
                rtt_s,
                transfers: vec![transfer(rate_pps, 50, 1), transfer(rate_pps, 30, 3)],
            });
        }
    }
    cells
}

/// The losses that were set count, not those observed; the start-up is left out of every transfer.
#[test]
fn cells_use_the_configured_settings() {
    let fit = fit_grid_experiment(&cells(), &NAMES).unwrap();
    let grid = fit.grid.as_ref().unwrap();
    for cell in cells() {
        let (found, expected) = (
            grid.throughput(cell.loss, cell.rtt_s),
            rate_pps(cell.loss, cell.rtt_s),
        );
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
    }
    assert_eq!(fit.cells.len(), 6);
    assert_eq!(fit.slices.len(), 2);
    for (slice, loss) in fit.slices.iter().zip([0.01, 0.04_f64]) {
        assert_eq!((slice.loss, slice.cells), (loss, 3));
        assert!((slice.a - 0.8).abs() < 1e-4, "{}", slice.a);
        assert!((slice.b - 3.0 / loss.sqrt()).abs() < 0.01, "{}", slice.b);
    }
}

/// The first sample with a resent packet is the fourth: 46 and 26 of 50 and 30 samples are left.
#[test]
fn every_transfer_start_up_is_excluded() {
    let fit = fit_grid_experiment(&cells(), &NAMES).unwrap();
    assert!(fit.cells.iter().all(|cell| cell.samples == 46 + 26));
}

#[test]
fn missing_samples_report_loss_and_rtt() {
    let mut cells = cells();
    cells[2].transfers.clear();
    let error = fit_grid_experiment(&cells, &NAMES).unwrap_err();
    assert!(matches!(
        error,
        FitError::NoSamplesAt {
            loss: 0.04,
            rtt_s: 0.2
        }
    ));
    assert_eq!(
        error.to_string(),
        "no samples at a loss of 4 % and a round-trip time of 200 ms: the transfers are too \
         short or missing"
    );
    assert!(fit_grid_experiment(&[], &NAMES).is_err());
}

/// At some settings the link was full or losses were too few. The grid has an extrapolated value
/// there and marks it, as do its file and the provenance of points interpolated with it.
#[test]
fn missing_settings_are_extrapolated_and_marked() {
    let mut cells = cells();
    cells.retain(|cell| (cell.loss, cell.rtt_s) != (0.01, 0.06));
    let fit = fit_grid_experiment(&cells, &NAMES).unwrap();
    let grid = fit.grid.as_ref().unwrap();
    let ratio = grid.throughput(0.01, 0.06) / rate_pps(0.01, 0.06);
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert_eq!(grid.spec().rows[0].extrapolated, [0]);
    assert_eq!(grid.spec().rows[1].extrapolated, [0_usize; 0]);
    let filled: Vec<bool> = (fit.cells.iter())
        .map(|cell| cell.origin == CellOrigin::Filled)
        .collect();
    assert_eq!(filled, [true, false, false, false, false, false]);
    let again = from_toml(&to_toml(grid).unwrap()).unwrap();
    for profile in [grid as &dyn Profile, &*again] {
        assert_eq!(profile.provenance(0.01, 0.06), Provenance::Extrapolated);
        assert_eq!(profile.provenance(0.02, 0.07), Provenance::Extrapolated);
        assert_eq!(profile.provenance(0.04, 0.06), Provenance::Measured);
        assert_eq!(profile.provenance(0.01, 0.1), Provenance::Measured);
        assert_eq!(profile.provenance(0.02, 0.15), Provenance::Measured);
    }
}
