//! Accuracy of the fluid model compared with the packet model, over families of random networks.
//!
//! A network is drawn by a number ([`family`]) and simulated by the packet model with several seeds
//! (the reference) and by the fluid model ([`seen`]). [`errors`] compares them, [`judge`] compares
//! both with ns-2, and [`page`] formats the results.

#![allow(missing_docs)]

pub mod errors;
pub mod family;
pub mod judge;
pub mod page;
pub mod seen;

use errors::Errors;
use family::{Draw, Family, Set, Side, Tcp};
use rayon::prelude::*;
use seen::{Seen, run};

/// Network with its results.
#[derive(Clone, Debug)]
pub struct Found {
    pub draw: Draw,
    /// Errors of the fluid model relative to the mean of the packet runs.
    pub fluid: Told,
    /// Errors of the calibrated fluid model, for each of [`WATCHED_S`].
    pub calibrated: [Told; 2],
    /// Errors of each packet run relative to their mean.
    pub spread: Vec<Errors>,
    /// Duration of a packet run in seconds, and the largest queue oscillation in it.
    pub packets_s: f64,
    pub packets_swing: f64,
}

/// Errors and cost of one model.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub errors: Errors,
    pub took_s: f64,
    /// Largest queue oscillation in the last seconds.
    pub swing: f64,
}

/// Seed of the calibration, different from the seeds of the reference.
const CALIBRATING_SEED: u64 = 1000;

/// Measurement times of the calibration in seconds.
pub const WATCHED_S: [f64; 2] = [10.0, 30.0];

/// Evaluates the first networks of every family with this TCP variant, with `seeds` packet runs
/// each.
pub fn find(set: Set, tcp: Tcp, networks: u64, seeds: u64) -> Vec<Found> {
    let families = Family::ALL.into_iter();
    let draws: Vec<Draw> = families
        .flat_map(|family| {
            (0..networks).map(move |number| Draw::new(family, set, number).with(tcp))
        })
        .collect();
    let found = |draw: Draw| {
        let runs: Vec<Seen> = (1..=seeds)
            .map(|seed| run(&draw, Side::Packets, seed))
            .collect();
        let truth = Seen::mean(&runs);
        let told = |seen: Seen| Told {
            errors: Errors::of(&seen, &truth),
            took_s: seen.took_s,
            swing: seen.swing(),
        };
        Found {
            fluid: told(run(&draw, Side::Fluid, 1)),
            calibrated: WATCHED_S
                .map(|watched_s| told(run(&draw, Side::Calibrated(watched_s), CALIBRATING_SEED))),
            spread: Errors::spread(&runs, &truth),
            packets_s: truth.took_s,
            packets_swing: runs[0].swing(),
            draw,
        }
    };
    draws.into_par_iter().map(found).collect()
}
