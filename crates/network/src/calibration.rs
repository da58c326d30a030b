//! Calibration of fluid queues by the packet model.

use crate::{Network, NetworkBuilder, Source};

/// Correction of the fluid queue model at a drop-tail queue that TCP windows fill, measured by the packet
/// model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Ratio of the loss of windows to that of the queue model at the same mean queue.
    pub losses: f64,
    /// Ratio of the waiting packets to those of M/M/1/K at the same utilization.
    pub waiting: f64,
    /// Number of windows that crossed the link during the measurement.
    pub windows: f64,
}

/// Ratio of window counts up to which a calibration is still valid.
const MAX_SIMILAR_RATIO: f64 = 1.25;

/// Returns whether two window counts are similar enough to share a calibration.
pub fn are_windows_similar(some: f64, others: f64) -> bool {
    some.max(others) < MAX_SIMILAR_RATIO * some.min(others)
}

impl Default for Calibration {
    /// Returns the uncorrected queue model.
    fn default() -> Calibration {
        Calibration {
            losses: 1.0,
            waiting: 1.0,
            windows: 0.0,
        }
    }
}

impl Calibration {
    /// Returns whether it corrects the queue model.
    pub fn is_some(&self) -> bool {
        *self != Calibration::default()
    }

    /// Returns the correction for this number of windows: none if it differs too much from the measured
    /// number.
    pub fn for_windows(self, windows: f64) -> Calibration {
        if are_windows_similar(windows, self.windows) {
            self
        } else {
            Calibration::default()
        }
    }
}

/// Plan to calibrate a fluid network by the packet model before any evaluation.
#[derive(Clone, Debug)]
pub struct CalibrationPlan {
    /// Measured time in seconds, after a settling time of equal length.
    pub watched_s: f64,
    /// TCP source that replaces each profile source in the packet model, in the order of connections.
    pub tcp: Vec<Option<Source>>,
}

impl CalibrationPlan {
    /// Returns a plan with this measured time and without TCP sources.
    pub fn new(watched_s: f64) -> CalibrationPlan {
        CalibrationPlan {
            watched_s,
            tcp: Vec::new(),
        }
    }

    /// Returns the simulated time in seconds; the measurement is its second half.
    pub fn simulated_s(&self) -> f64 {
        2.0 * self.watched_s
    }
}

impl NetworkBuilder {
    /// Requests calibration by the packet model before the fluid model is evaluated; `None` cancels the
    /// request.
    pub fn calibrate(&mut self, plan: Option<CalibrationPlan>) {
        self.calibration = plan;
    }
}

impl Network {
    /// Returns the calibration that is still due; fluid engines reject the network until it is done.
    pub fn calibration_due(&self) -> Option<&CalibrationPlan> {
        self.tables().calibration.as_ref()
    }
}
