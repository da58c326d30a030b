//! Growth and decay of a workload's traffic around the first and the last user arrival.

use netflow_network::WorkloadSpec;

/// Number of sampled users whose request ages are used.
const SAMPLED_USERS: usize = 300;
const AGE_QUANTILES: usize = 64;

/// Growth of the traffic after the first user arrival, and its decay after the last. It follows from the age
/// of a user at each request. Response times of the network are not included.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    /// Quantiles of the age at a request, in seconds, each with an equal share of the traffic.
    ages_s: Vec<f64>,
    start_s: f64,
    stop_s: f64,
}

impl Ramp {
    pub fn new(spec: &WorkloadSpec) -> Ramp {
        let mut ages_s: Vec<f64> = Vec::new();
        for session in spec.arrivals(1).take(SAMPLED_USERS) {
            let mut age_s = 0.0;
            for turn in &session.turns {
                age_s += turn.pause_s;
                ages_s.extend(turn.exchanges.iter().map(|_| age_s));
            }
        }
        ages_s.sort_unstable_by(f64::total_cmp);
        let at = |k: usize| {
            ages_s
                .get((2 * k + 1) * ages_s.len() / (2 * AGE_QUANTILES))
                .copied()
        };
        Ramp {
            ages_s: (0..AGE_QUANTILES).filter_map(at).collect(),
            start_s: spec.start_s,
            stop_s: spec.stop_s.unwrap_or(f64::INFINITY),
        }
    }

    /// Returns the traffic sent from `from_s` to `to_s`, in seconds at the full rate.
    pub fn active_s(&self, from_s: f64, to_s: f64) -> f64 {
        let until = |age_s: f64| -> f64 {
            let since = self.ages_s.iter().map(|a| (age_s - a).max(0.0));
            since.sum::<f64>() / self.ages_s.len().max(1) as f64
        };
        let between = |zero_s: f64| {
            if zero_s.is_finite() {
                until(to_s - zero_s) - until(from_s - zero_s)
            } else {
                0.0
            }
        };
        (between(self.start_s) - between(self.stop_s)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use netflow_network::NetworkBuilder;
    use netflow_problems::constant_users;

    use super::*;

    /// Pages at ages 0, 10 and 20 s: a third of the rate at first and all of it after 20 s. The last third
    /// continues until 20 s after the last arrival.
    #[test]
    fn traffic_ramps_up_with_user_age() {
        let ramp = Ramp::new(&constant_users(&mut NetworkBuilder::new()));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.05, "{a} {b}");
        near(ramp.active_s(0.0, 5.0), 0.0);
        near(ramp.active_s(6.0, 7.0), 1.0 / 3.0);
        near(ramp.active_s(16.0, 17.0), 2.0 / 3.0);
        near(ramp.active_s(30.0, 40.0), 10.0);
        near(ramp.active_s(76.0, 77.0), 1.0 / 3.0);
        near(ramp.active_s(86.0, 200.0), 0.0);
        near(ramp.active_s(0.0, 200.0), 60.0);
    }
}
