//! What packets tell fluids about a network.

use crate::{Network, NetworkBuilder, Source};

/// What packets that were followed for a while showed of a drop-tail queue that windows fill: by how much a fluid's
/// law is off there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The loss that windows make, times what the law says at the same mean queue.
    pub losses: f64,
    /// The packets that wait, times what M/M/1/K says at the same utilization.
    pub waiting: f64,
    /// How many windows crossed the link then.
    pub windows: f64,
}

/// As many windows as these are as good as the same, up to this factor.
const ALIKE: f64 = 1.25;

/// Whether so many windows, and so many, are as good as the same.
pub fn windows_are_alike(some: f64, others: f64) -> bool {
    some.max(others) < ALIKE * some.min(others)
}

impl Default for Calibration {
    /// The law as it is.
    fn default() -> Calibration {
        Calibration {
            losses: 1.0,
            waiting: 1.0,
            windows: 0.0,
        }
    }
}

impl Calibration {
    /// Whether it is another law.
    pub fn is_some(&self) -> bool {
        *self != Calibration::default()
    }

    /// What is right where so many windows cross the link: nothing, if that is not about as many as were watched.
    pub fn with_windows(self, windows: f64) -> Calibration {
        match windows_are_alike(windows, self.windows) {
            true => self,
            false => Calibration::default(),
        }
    }
}

/// How packets are to calibrate a network of fluids before anything else happens.
#[derive(Clone, Debug)]
pub struct CalibrationPlan {
    /// For how many seconds packets are watched, after as many in which they settle.
    pub watched_s: f64,
    /// What connections with a profile send by as packets, in the order of connections.
    pub tcp: Vec<Option<Source>>,
}

impl CalibrationPlan {
    /// Watched for so long; nobody has a TCP yet.
    pub fn new(watched_s: f64) -> CalibrationPlan {
        CalibrationPlan {
            watched_s,
            tcp: Vec::new(),
        }
    }

    /// For how many seconds packets are followed: what is watched begins in the middle.
    pub fn followed_s(&self) -> f64 {
        2.0 * self.watched_s
    }
}

impl NetworkBuilder {
    /// Packets are to calibrate the network before it is evaluated as a fluid, or, with `None`, not any more.
    pub fn calibrate(&mut self, plan: Option<CalibrationPlan>) {
        self.calibration = plan;
    }
}

impl Network {
    /// How packets are still to calibrate it; engines of fluids refuse it until that is done.
    pub fn calibration_due(&self) -> Option<&CalibrationPlan> {
        self.tables().calibration.as_ref()
    }
}
