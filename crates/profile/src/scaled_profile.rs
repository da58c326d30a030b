//! Profile with its rates scaled by a factor.

use std::sync::Arc;

use crate::{Domain, LogDerivatives, Profile, Provenance};

/// Profile with the rates of another one times a factor, within its window limit: a calibration of
/// one source from the packet model.
#[derive(Debug, Clone)]
pub struct ScaledProfile {
    inner: Arc<dyn Profile>,
    factor: f64,
    name: String,
}

impl ScaledProfile {
    /// Scales the rates of `of` by a positive factor.
    pub fn new(of: Arc<dyn Profile>, factor: f64) -> ScaledProfile {
        ScaledProfile {
            name: format!("{} times {factor:.3}", of.name()),
            inner: of,
            factor,
        }
    }

    fn scaled_pps(&self, pps: f64, rtt_s: f64) -> f64 {
        let most_pps = self
            .window_limit_pkts()
            .map_or(f64::INFINITY, |window_pkts| window_pkts / rtt_s);
        (self.factor * pps).min(most_pps)
    }
}

impl Profile for ScaledProfile {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        self.inner.description()
    }

    fn domain(&self) -> Domain {
        self.inner.domain()
    }

    fn throughput(&self, loss: f64, rtt_s: f64) -> f64 {
        self.scaled_pps(self.inner.throughput(loss, rtt_s), rtt_s)
    }

    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        self.inner.throughputs(loss, rtt_s, out);
        for (out, &rtt_s) in out.iter_mut().zip(rtt_s) {
            *out = self.scaled_pps(*out, rtt_s);
        }
    }

    fn log_derivatives(&self, loss: f64, rtt_s: f64) -> LogDerivatives {
        let free_pps = self.factor * self.inner.throughput(loss, rtt_s);
        if self.throughput(loss, rtt_s) < free_pps {
            LogDerivatives {
                by_loss: 0.0,
                by_rtt: -1.0 / rtt_s,
            }
        } else {
            self.inner.log_derivatives(loss, rtt_s)
        }
    }

    fn is_outside_domain(&self, loss: f64, rtt_s: f64) -> bool {
        self.inner.is_outside_domain(loss, rtt_s)
    }

    fn provenance(&self, loss: f64, rtt_s: f64) -> Provenance {
        self.inner.provenance(loss, rtt_s)
    }

    fn window_limit_pkts(&self) -> Option<f64> {
        self.inner.window_limit_pkts()
    }

    fn sawtooth_amplitude(&self) -> f64 {
        self.inner.sawtooth_amplitude()
    }
}
