//! Profiles from samples: what a sender's own trace shows, to a surface throughput = F(loss, rtt).
//!
//! Samples are runs of k consecutive packets with their loss, round-trip time and throughput
//! ([`Sample`]), one list for each flow. There are two ways from them to a profile.
//!
//! # [`Method::LongRun`], the default
//!
//! F is what it is used as: the rate of a long transfer, *all packets over all time*, at the
//! *probability* with which the network loses a packet.
//!
//! 1. **Start-up** is left out: the samples of a flow up to and including the first one with a
//!    resent packet ([`startup`]).
//! 2. **Conditions**: a flow whose loss and round-trip time were steady is one condition, so one
//!    trace for each setting of the network is the best input. Other flows are cut in halves until
//!    the pieces are steady, or too short for their losses to tell. Sorting single samples by their own loss would mix luck
//!    with cause: a sample that lost little by chance was fast by chance as well.
//! 3. The **loss probability** of a condition is (resends − needless resends)/packets: every loss is
//!    repaired by one resend, but after a timeout go-back-N also resends what had arrived (of ns-2's
//!    Reno at 20 % loss 25 % of the packets are resends).
//! 4. Its **throughput** is packets over time; that is the harmonic mean of the samples'
//!    throughputs. Their arithmetic mean, which gives a slow sample no more weight than a fast one,
//!    is too high by up to a factor of 2. Its **standard error** comes from batch means
//!    ([`Condition::standard_error`]).
//! 5. **Outliers**, conditions far from their neighbours by the measure of these and of their own
//!    errors, are left out and listed. Slow samples within a condition are not: timeouts are part
//!    of the long run.
//! 6. **Cells**: conditions with like losses and round-trip times share a grid point, weighted by
//!    their packets, each moved to it along a smooth trend.
//! 7. **Holes** of the grid inside the convex hull of what was measured are filled from the trend
//!    and the nearest cells, and marked; nothing is filled outside: rows and columns with such
//!    holes are left out.
//!
//! The result is a [`Grid`]; A(loss) and B(loss) are fitted to its measured cells as well.
//!
//! # [`Method::Paper`]
//!
//! \[Prof\] §2.1–2.3 to the letter: loss = resends/k; arithmetic means over cells of 0.01 × 10 ms,
//! start-up included; through each loss slice an unweighted least-squares line in the log-log plane:
//! a [`PowerLaw`].

mod bins;
mod condition;
mod cubic;
mod designed;
mod diagnosis;
mod error;
mod holes;
mod hull;
mod paper;
mod residual;
mod sample;
mod slice;
mod surface;
mod trend;

pub use condition::{Condition, Status, startup};
pub use cubic::{cubic_window_pkts, extend_cubic};
pub use designed::{DesignedCell, fit_designed};
pub use diagnosis::{Cluster, Side, diagnose};
pub use error::FitError;
pub use holes::fill_holes;
pub use residual::{Residual, residuals};
pub use sample::{FlowSamples, Sample};
pub use slice::Slice;

use crate::{Grid, PowerLaw, Profile};

/// How samples become a surface; see [the module](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// The long-run rate over the loss probability, on a grid.
    #[default]
    LongRun,
    /// \[Prof\]'s means of samples, and a power law.
    Paper,
}

/// Where a cell's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// There are samples in it.
    Measured,
    /// There are none; interpolated between others.
    Filled,
}

/// The surface at one loss and round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Loss probability.
    pub loss: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Throughput in packets/s.
    pub throughput_pps: f64,
    /// Standard error of the throughput, relative to it; `None` where there are too few samples to
    /// tell. Of a filled cell: how well left-out cells are met by filling.
    pub relative_error: Option<f64>,
    /// Samples that it rests on.
    pub samples: usize,
    /// Measured or filled.
    pub origin: Origin,
}

/// What the profile is called.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Its name in scenarios.
    pub name: &'a str,
    /// One line on where it was measured.
    pub description: &'a str,
}

/// A profile with what it rests on.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The method.
    pub method: Method,
    /// The surface; only the paper's method has none.
    pub grid: Option<Grid>,
    /// A(loss) and B(loss); `None` if no loss was seen at two round-trip times.
    pub power_law: Option<PowerLaw>,
    /// The cells, by loss and then round-trip time.
    pub cells: Vec<Cell>,
    /// The lines that A and B come from.
    pub slices: Vec<Slice>,
    /// Steady stretches of the flows; the paper's method knows none.
    pub conditions: Vec<Condition>,
    /// How well left-out cells are met by filling them (r.m.s., relative), where cells have
    /// neighbours on all sides.
    pub interpolation_error: Option<f64>,
    /// Measured cells that are not in the grid, because it would have holes at their rows or
    /// columns.
    pub dropped_cells: usize,
}

impl Fit {
    /// The profile: the grid, or the paper's power law.
    pub fn profile(&self) -> Option<&dyn Profile> {
        let grid = self.grid.as_ref().map(|grid| grid as &dyn Profile);
        grid.or(self.power_law.as_ref().map(|law| law as &dyn Profile))
    }
}

/// Fits a profile to the samples of flows.
///
/// # Errors
/// No samples, no losses among them, or (paper) no loss slice with two round-trip times.
pub fn fit(flows: &[FlowSamples], method: Method, names: &Names<'_>) -> Result<Fit, FitError> {
    if flows.iter().all(|flow| flow.samples.is_empty()) {
        return Err(FitError::NoSamples);
    }
    match method {
        Method::Paper => {
            let found = paper::fit(flows, names)?;
            Ok(Fit {
                method,
                grid: None,
                power_law: Some(found.power_law),
                cells: found.cells,
                slices: found.slices,
                conditions: Vec::new(),
                interpolation_error: None,
                dropped_cells: 0,
            })
        }
        Method::LongRun => {
            let mut conditions = conditions(flows);
            let found = surface::fit(&mut conditions, names)?;
            let domain = found.grid.domain();
            let power_law = slice::power_law(
                names.name,
                names.description,
                &found.slices,
                domain.rtt_min_s,
                domain.rtt_max_s,
            )?;
            Ok(Fit {
                method,
                grid: Some(found.grid),
                power_law,
                cells: found.cells,
                slices: found.slices,
                conditions,
                interpolation_error: found.interpolation_error,
                dropped_cells: found.dropped_cells,
            })
        }
    }
}

/// The steady stretches of flows.
pub fn conditions(flows: &[FlowSamples]) -> Vec<Condition> {
    let flows = flows.iter().enumerate();
    flows
        .flat_map(|(i, flow)| condition::conditions(i, &flow.samples))
        .collect()
}
