//! Fits of profiles to samples from a sender's trace: a surface throughput = F(loss, rtt).
//!
//! Samples are runs of k consecutive packets with their loss, round-trip time and throughput
//! ([`Sample`]), one list for each flow. There are two methods.
//!
//! # [`Method::LongRun`], the default
//!
//! F is defined as it is used: the rate of a long transfer, *all packets over all time*, at the
//! *probability* with which the network loses a packet.
//!
//! 1. **Start-up** is left out: the samples of a flow up to and including the first one with a
//!    resent packet ([`startup`]).
//! 2. **Conditions**: a flow with steady loss and round-trip time is one condition. The best input
//!    is therefore one trace for each setting of the network. Other flows are halved until the
//!    parts are steady, or too short to estimate their losses. Sorting single samples by their own
//!    loss would mix chance with cause: a sample that lost little by chance was fast by chance as
//!    well.
//! 3. The **loss probability** of a condition is (resends − spurious resends)/packets. Every loss
//!    is repaired by one resend, but after a timeout go-back-N also resends packets that had
//!    arrived (for ns-2's Reno at 20 % loss, 25 % of the packets are resends).
//! 4. Its **throughput** is packets over time, the harmonic mean of the samples' throughputs. Their
//!    arithmetic mean, with equal weight for slow and fast samples, is too high by up to a factor
//!    of 2. Its **standard error** is from batch means ([`Condition::standard_error`]).
//! 5. **Outliers** are conditions far from their neighbours, relative to the scatter of these and
//!    to their own errors. They are left out and listed. Slow samples within a condition stay,
//!    because timeouts are part of the long run.
//! 6. **Cells**: conditions with similar losses and round-trip times share a grid point, weighted
//!    by their packets, each moved to it along a smooth trend.
//! 7. **Holes** of the grid inside the convex hull of the measurements are filled from the trend
//!    and the nearest cells, and marked. Nothing is filled outside: rows and columns with such
//!    holes are left out.
//!
//! The result is a [`Grid`]; A(loss) and B(loss) are fitted to its measured cells as well.
//!
//! # [`Method::Paper`]
//!
//! It follows \[Prof\] §2.1–2.3 exactly. The loss is resends/k. Arithmetic means are over cells of
//! 0.01 × 10 ms, start-up included. An unweighted least-squares line in the log-log plane through
//! each loss slice gives a [`PowerLaw`].

mod bins;
mod cubic;
mod diagnosis;
mod error;
mod grid_experiment;
mod hull;
mod missing_cells;
mod paper;
mod residual;
mod sample;
mod slice;
mod steady_parts;
mod surface;
mod trend;

pub use cubic::{cubic_window_pkts, extend_cubic};
pub use diagnosis::{Cluster, ResidualSign, diagnose};
pub use error::FitError;
pub use grid_experiment::{ExperimentCell, fit_grid_experiment};
pub use missing_cells::fill_missing_cells;
pub use residual::{Residual, residuals};
pub use sample::{FlowSamples, Sample};
pub use slice::Slice;
pub use steady_parts::{Condition, ConditionStatus, startup};

use crate::{Grid, PowerLaw, Profile};

/// Method of a fit; see [the module](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Long-run rate over the loss probability, on a grid.
    #[default]
    LongRun,
    /// \[Prof\]'s means of samples, and a power law.
    Paper,
}

/// Provenance of a cell's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellOrigin {
    /// Measured: the cell has samples.
    Measured,
    /// Interpolated between other cells, without samples.
    Filled,
}

/// Value of the surface at one loss and round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitCell {
    /// Loss probability.
    pub loss: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Throughput in packets/s.
    pub throughput_pps: f64,
    /// Relative standard error of the throughput; `None` with too few samples to estimate it. For a
    /// filled cell: the error with which filling reproduces left-out cells.
    pub relative_error: Option<f64>,
    /// Number of samples.
    pub samples: usize,
    /// Provenance of the value.
    pub origin: CellOrigin,
}

/// Name and description of a profile.
#[derive(Debug, Clone, Copy)]
pub struct ProfileLabel<'a> {
    /// Name in scenarios.
    pub name: &'a str,
    /// One-line description of the measurement.
    pub description: &'a str,
}

/// Fitted profile with the data on which it is based.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Method of the fit.
    pub method: Method,
    /// Surface; `None` for the paper's method only.
    pub grid: Option<Grid>,
    /// A(loss) and B(loss); `None` if no loss was observed at two round-trip times.
    pub power_law: Option<PowerLaw>,
    /// Cells, by loss and then round-trip time.
    pub cells: Vec<FitCell>,
    /// Lines from which A and B are computed.
    pub slices: Vec<Slice>,
    /// Conditions of the flows; empty for the paper's method.
    pub conditions: Vec<Condition>,
    /// R.m.s. relative error with which filling reproduces left-out cells that have neighbours on
    /// all sides.
    pub interpolation_error: Option<f64>,
    /// Number of measured cells that are not in the grid, because it would have holes in their rows
    /// or columns.
    pub dropped_cells: usize,
}

impl Fit {
    /// Returns the profile: the grid, or the paper's power law.
    pub fn profile(&self) -> Option<&dyn Profile> {
        let grid = self.grid.as_ref().map(|grid| grid as &dyn Profile);
        grid.or(self.power_law.as_ref().map(|law| law as &dyn Profile))
    }
}

/// Fits a profile to the samples of flows.
///
/// # Errors
/// There are no samples, no losses among them, or (paper) no loss slice with two round-trip times.
pub fn fit(
    flows: &[FlowSamples],
    method: Method,
    names: &ProfileLabel<'_>,
) -> Result<Fit, FitError> {
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

/// Returns the conditions of flows.
pub fn conditions(flows: &[FlowSamples]) -> Vec<Condition> {
    let flows = flows.iter().enumerate();
    flows
        .flat_map(|(i, flow)| steady_parts::conditions(i, &flow.samples))
        .collect()
}
