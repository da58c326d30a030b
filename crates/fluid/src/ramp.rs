//! How the traffic of users grows and fades.

use netflow_network::WorkloadSpec;

/// Users whose ages at what they ask for are looked at.
const SAMPLED_USERS: usize = 300;
const AGES: usize = 64;

/// How traffic grows after the first user came, and fades after the last: by the ages at which
/// users ask for something. What the network takes to answer is not part of them.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    /// Each the age at which one more of equal shares of all is sent.
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
        let at = |k: usize| ages_s.get((2 * k + 1) * ages_s.len() / (2 * AGES)).copied();
        Ramp {
            ages_s: (0..AGES).filter_map(at).collect(),
            start_s: spec.start_s,
            stop_s: spec.stop_s.unwrap_or(f64::INFINITY),
        }
    }

    /// Seconds at the full rate that what is sent from `from_s` to `to_s` is worth.
    pub fn active_s(&self, from_s: f64, to_s: f64) -> f64 {
        let until = |age_s: f64| -> f64 {
            let since = self.ages_s.iter().map(|a| (age_s - a).max(0.0));
            since.sum::<f64>() / self.ages_s.len().max(1) as f64
        };
        let between = |zero_s: f64| match zero_s.is_finite() {
            true => until(to_s - zero_s) - until(from_s - zero_s),
            false => 0.0,
        };
        (between(self.start_s) - between(self.stop_s)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use netflow_network::NetworkBuilder;
    use netflow_problems::constant_users;

    use super::*;

    /// Pages at ages 0, 10 and 20 s: a third of the rate at first, all of it after 20 s, and the
    /// last third until 20 s after the last user came.
    #[test]
    fn traffic_grows_with_the_ages_of_users() {
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
