//! Networks with higher bandwidths, from their start, over intervals of 5 s.

use std::fmt::Write as _;

use rayon::prelude::*;

use crate::errors::{Errors, IntervalErrors, quantile};
use crate::family::{Draw, Family, ModelKind, Set, Tcp};
use crate::run_results::run;

/// Factors of bandwidths, buffers, windows and rates.
pub const FACTORS: [u32; 3] = [1, 10, 100];
/// Networks of each family.
pub const NETWORKS: u64 = 4;
/// Duration of a run in seconds. At a factor of 100 a network of 60 s takes several seconds in the packet model.
const DURATION_S: f64 = 60.0;

/// Network with its errors relative to the first packet run.
#[derive(Clone, Copy, Debug)]
pub struct ScaledErrors {
    pub factor: u32,
    /// Errors of the fluid model, and of another packet run.
    pub models: [ModelErrors; 2],
}

/// Errors and cost of one run.
#[derive(Clone, Copy, Debug)]
pub struct ModelErrors {
    pub errors: Errors,
    pub intervals: IntervalErrors,
    pub cpu_s: f64,
}

/// Evaluates the first networks of every family at all factors.
pub fn evaluate_scaled(set: Set, tcp: Tcp, networks: u64) -> Vec<ScaledErrors> {
    // Long runs first, so that both cores are used until the end.
    let draws = FACTORS.into_iter().rev().flat_map(|factor| {
        Family::ALL.into_iter().flat_map(move |family| {
            (0..networks).map(move |number| {
                let draw = Draw::new(family, set, number).with(tcp);
                (factor, draw.scaled(factor, DURATION_S))
            })
        })
    });
    let draws: Vec<(u32, Draw)> = draws.collect();
    let found = |(factor, draw): (u32, Draw)| {
        let truth = run(&draw, ModelKind::Packets, 1);
        let models = [(ModelKind::Fluid, 1), (ModelKind::Packets, 2)];
        ScaledErrors {
            factor,
            models: models.map(|(model, seed)| {
                let is = run(&draw, model, seed);
                ModelErrors {
                    errors: Errors::of(&is, &truth),
                    intervals: IntervalErrors::of(&is, &truth),
                    cpu_s: is.wall_time_s,
                }
            }),
        }
    };
    draws.into_par_iter().with_max_len(1).map(found).collect()
}

/// Returns the section about higher bandwidths.
pub fn table(found: &[ScaledErrors]) -> String {
    let mut out = format!(
        "The first {} networks of each family ran with bandwidths, buffers, maximum windows and rates of sources multiplied\n\
         by 1, 10 and 100. A run has {DURATION_S:.0} s from time 0, and its connections start in the first seconds, or later with churn. The\n\
         reference is one packet run. The row *packets* is a second packet run with another seed. The error over intervals is\n\
         Σ\\|error\\|/Σ of the goodput of a connection in consecutive 5 s. Queues and lost packets are those of the last {:.0} s, or\n\
         of all {DURATION_S:.0} s with churn.\n\n\
         | factor | model | 5 s intervals: median connection | 90th percentile | median, first 10 s | longest queues | lost packets | time of a run [s] |\n\
         |---|---|---|---|---|---|---|---|\n",
        found.len() / FACTORS.len() / Family::ALL.len(),
        DURATION_S * 2.0 / 3.0,
    );
    for factor in FACTORS {
        for (model, name) in ["fluid", "packets"].into_iter().enumerate() {
            let found = found.iter().filter(|it| it.factor == factor);
            let models: Vec<ModelErrors> = found.map(|it| it.models[model]).collect();
            let median = |of: &dyn Fn(&ModelErrors) -> Option<f64>| {
                quantile(models.iter().filter_map(of).collect(), 0.5)
            };
            let _ = writeln!(
                out,
                "| {factor} | {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} | {:.1} |",
                median(&|it| Some(it.intervals.run)),
                median(&|it| Some(it.intervals.run_p90)),
                median(&|it| Some(it.intervals.start)),
                median(&|it| Some(it.errors.queues)),
                median(&|it| it.errors.lost),
                models.iter().map(|it| it.cpu_s).sum::<f64>(),
            );
        }
    }
    out
}
