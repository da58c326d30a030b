//! How far from packets fluids were on the networks of studies/fluid-population.

/// Medians over 300 random networks; the study refuses to write its page if these are others than it finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// Σ|error|/Σ of a network's twelve longest queues.
    pub queues: f64,
    /// Median relative error of a connection's goodput.
    pub goodput: f64,
    /// Its 90th percentile.
    pub goodput_p90: f64,
}

impl Within {
    /// Of fluids that packets calibrated, watched for 10 s, and of others.
    pub const fn of_fluids(calibrated: bool) -> Within {
        match calibrated {
            false => Within {
                queues: 0.192,
                goodput: 0.092,
                goodput_p90: 0.266,
            },
            true => Within {
                queues: 0.121,
                goodput: 0.072,
                goodput_p90: 0.217,
            },
        }
    }
}

/// What a fluid's queues are that sources at a constant rate fill.
pub const CONSTANT_RATES: &str = "sources at a constant rate are taken for random ones, whose queues are longer, and lose more, as long as they fit";
