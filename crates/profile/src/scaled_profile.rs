//! Profile with its rates scaled by a factor.

use std::sync::Arc;

use crate::{Domain, LogDerivatives, Profile, Provenance};

/// Profile with the rates of another one times a factor, within its window limit: a calibration of
/// one source from the packet model.
#[derive(Debug, Clone)]
pub struct Scaled {
    of: Arc<dyn Profile>,
    factor: f64,
    name: String,
}

impl Scaled {
    /// Scales the rates of `of` by a positive factor.
    pub fn new(of: Arc<dyn Profile>, factor: f64) -> Scaled {
        Scaled {
            name: format!("{} times {factor:.3}", of.name()),
            of,
            factor,
        }
    }

    fn within(&self, pps: f64, rtt_s: f64) -> f64 {
        let most_pps = self
            .window_limit_pkts()
            .map_or(f64::INFINITY, |window_pkts| window_pkts / rtt_s);
        (self.factor * pps).min(most_pps)
    }
}

impl Profile for Scaled {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        self.of.description()
    }

    fn domain(&self) -> Domain {
        self.of.domain()
    }

    fn throughput(&self, loss: f64, rtt_s: f64) -> f64 {
        self.within(self.of.throughput(loss, rtt_s), rtt_s)
    }

    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        self.of.throughputs(loss, rtt_s, out);
        for (out, &rtt_s) in out.iter_mut().zip(rtt_s) {
            *out = self.within(*out, rtt_s);
        }
    }

    fn slopes(&self, loss: f64, rtt_s: f64) -> LogDerivatives {
        let free_pps = self.factor * self.of.throughput(loss, rtt_s);
        if self.throughput(loss, rtt_s) < free_pps {
            LogDerivatives {
                by_loss: 0.0,
                by_rtt: -1.0 / rtt_s,
            }
        } else {
            self.of.slopes(loss, rtt_s)
        }
    }

    fn outside(&self, loss: f64, rtt_s: f64) -> bool {
        self.of.outside(loss, rtt_s)
    }

    fn provenance(&self, loss: f64, rtt_s: f64) -> Provenance {
        self.of.provenance(loss, rtt_s)
    }

    fn window_limit_pkts(&self) -> Option<f64> {
        self.of.window_limit_pkts()
    }

    fn sawtooth_amplitude(&self) -> f64 {
        self.of.sawtooth_amplitude()
    }
}
