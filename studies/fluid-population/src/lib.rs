//! Accuracy of the fluid model compared with the packet model, over families of random networks.
//!
//! A network is drawn by a number ([`family`]) and simulated by the packet model with several seeds
//! (the reference) and by the fluid model ([`run_results`]). [`errors`] compares them, [`ns2_comparison`] compares
//! both with ns-2, [`scaled`] has the same at higher bandwidths, and [`page`] formats the results.

#![allow(missing_docs)]

pub mod errors;
pub mod family;
pub mod ns2_comparison;
pub mod page;
pub mod run_results;
pub mod scaled;

use errors::Errors;
use family::{Draw, Family, ModelKind, Set, Tcp};
use rayon::prelude::*;
use run_results::{RunResults, run};

/// Network with its results.
#[derive(Clone, Debug)]
pub struct NetworkErrors {
    pub draw: Draw,
    /// Errors of the fluid model relative to the mean of the packet runs.
    pub fluid: ModelErrors,
    /// Errors of the calibrated fluid model, for each of [`CALIBRATION_TIMES_S`].
    pub calibrated: [ModelErrors; 2],
    /// Errors of each packet run relative to their mean.
    pub spread: Vec<Errors>,
    /// Duration of a packet run in seconds, and the largest queue oscillation in it.
    pub packets_s: f64,
    pub packets_oscillation: f64,
}

/// Errors and cost of one model.
#[derive(Clone, Copy, Debug)]
pub struct ModelErrors {
    pub errors: Errors,
    pub wall_time_s: f64,
    /// Largest queue oscillation in the last seconds.
    pub oscillation: f64,
}

/// Seed of the calibration, different from the seeds of the reference.
const CALIBRATION_SEED: u64 = 1000;

/// Measurement times of the calibration in seconds.
pub const CALIBRATION_TIMES_S: [f64; 2] = [10.0, 30.0];

/// Evaluates the first networks of every family with this TCP variant, with `seeds` packet runs
/// each.
pub fn evaluate_networks(set: Set, tcp: Tcp, networks: u64, seeds: u64) -> Vec<NetworkErrors> {
    let families = Family::ALL.into_iter();
    let draws: Vec<Draw> = families
        .flat_map(|family| {
            (0..networks).map(move |number| Draw::new(family, set, number).with(tcp))
        })
        .collect();
    let found = |draw: Draw| {
        let runs: Vec<RunResults> = (1..=seeds)
            .map(|seed| run(&draw, ModelKind::Packets, seed))
            .collect();
        let truth = RunResults::mean(&runs);
        let told = |seen: RunResults| ModelErrors {
            errors: Errors::of(&seen, &truth),
            wall_time_s: seen.wall_time_s,
            oscillation: seen.max_oscillation(),
        };
        NetworkErrors {
            fluid: told(run(&draw, ModelKind::Fluid, 1)),
            calibrated: CALIBRATION_TIMES_S.map(|watched_s| {
                told(run(
                    &draw,
                    ModelKind::Calibrated(watched_s),
                    CALIBRATION_SEED,
                ))
            }),
            spread: Errors::spread(&runs, &truth),
            packets_s: truth.wall_time_s,
            packets_oscillation: runs[0].max_oscillation(),
            draw,
        }
    };
    draws.into_par_iter().map(found).collect()
}
