//! How far the fluid model is from packets, over a population of random networks in families.
//!
//! A network is drawn by a number ([`family`]), moved by packets with several seeds, which is taken for
//! true, and by fluids ([`seen`]); [`errors`] says how far the one is from the other, [`judge`] how far both
//! are from a real ns-2, and [`page`] tells all of it.

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

/// A network, and what was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub draw: Draw,
    /// Of the fluid, beside the mean of the packets' runs.
    pub fluid: Told,
    /// Of the fluid that packets calibrate, watched for each of [`WATCHED_S`].
    pub calibrated: [Told; 2],
    /// Of each of these runs, beside their mean.
    pub spread: Vec<Errors>,
    /// Seconds that one run of packets took, and the largest swing of a queue in it.
    pub packets_s: f64,
    pub packets_swing: f64,
}

/// How far one way to evaluate a network is off, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub errors: Errors,
    pub took_s: f64,
    /// The largest swing of a queue in the last seconds.
    pub swing: f64,
}

/// The seed of the packets that calibrate fluids: none of those that are taken for true.
const CALIBRATING_SEED: u64 = 1000;

/// For how many seconds packets are watched that calibrate fluids.
pub const WATCHED_S: [f64; 2] = [10.0, 30.0];

/// The first networks of every family with this TCP, with so many runs of packets each.
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
