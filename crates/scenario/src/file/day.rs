//! `[[day]]`

use netflow_document::{Findings, Read, Spanned, Value, table};
use schemars::JsonSchema;
use serde::Serialize;

use super::allowed;

const HOURS: f64 = 24.0;

/// Daily profile: factors of demands over 24 hours.
#[table(name = "day")]
pub struct Day {
    /// Unique name, to which `day` of demands refers.
    #[key(example = "office")]
    pub name: Spanned<String>,
    /// Factors of the rates, evenly spaced over 24 hours, the first at 0:00; 24 factors are one for each full
    /// hour. Values in between are interpolated linearly, also from the last factor to the first.
    #[key(allowed = allowed::FACTORS, example = "[0.3, 0.2, 1.0, 0.8]")]
    pub factors: Spanned<Factors>,
}

/// Factors of the rates, evenly spaced over 24 hours.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Factors(pub Vec<f64>);

impl Factors {
    /// The factor at an hour from 0 to below 24. There must be one at least.
    pub(crate) fn at(&self, hour: f64) -> f64 {
        let Factors(factors) = self;
        let position = hour * factors.len() as f64 / HOURS;
        let (before, part) = (position.floor(), position.fract());
        let factor = |i: usize| factors[i % factors.len()];
        let (a, b) = (factor(before as usize), factor(before as usize + 1));
        // Rounding leads to nothing that is not between them.
        (a + part * (b - a)).clamp(a.min(b), a.max(b))
    }
}

impl Read for Factors {
    const KIND: &'static str = "an array of numbers";
    const IS_CELL: bool = false;

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Factors> {
        let Some(each) = value.array_elements() else {
            value.report_wrong_type(key, Factors::KIND, findings);
            return None;
        };
        let factors = each.map(|it| it.setting(key, &allowed::SCALE, findings));
        let factors: Vec<Option<Spanned<f64>>> = factors.collect();
        let factors = factors.into_iter().map(|it| it.map(Spanned::into_inner));
        factors.collect::<Option<_>>().map(Factors)
    }

    fn shown(&self) -> String {
        match self.0.len() {
            0 => "empty".to_owned(),
            many => format!("a list of {many}"),
        }
    }

    fn fallback() -> Factors {
        Factors(vec![1.0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Factors;

    #[test]
    fn factor_is_exact_at_its_hour() {
        let hourly: Vec<f64> = (0..24).map(|i| 0.1 + 0.37 * f64::from(i)).collect();
        let day = Factors(hourly.clone());
        for (hour, factor) in hourly.into_iter().enumerate() {
            assert_eq!(day.at(hour as f64), factor);
        }
        let quarters = Factors(vec![0.3, 0.2, 1.0, 0.8]);
        let found = [0.0, 6.0, 12.0, 18.0].map(|hour| quarters.at(hour));
        assert_eq!(found, [0.3, 0.2, 1.0, 0.8]);
    }

    #[test]
    fn factors_are_interpolated_linearly() {
        let day = Factors(vec![0.25, 0.5, 1.0, 0.75]);
        let found = [3.0, 7.5, 15.0].map(|hour| day.at(hour));
        assert_eq!(found, [0.375, 0.625, 0.875]);
    }

    #[test]
    fn last_factor_interpolates_to_first_of_next_day() {
        let day = Factors(vec![0.25, 0.5, 1.0, 0.75]);
        assert_eq!([day.at(21.0), day.at(22.5)], [0.5, 0.375]);
        // Nearly midnight is nearly the first, and rounds to it at the end.
        assert!((day.at(24.0_f64.next_down()) - 0.25).abs() < 1e-12);
        let minutes = Factors((1..=1440).map(f64::from).collect());
        assert!((minutes.at(24.0_f64.next_down()) - 1.0).abs() < 1e-8);
    }

    #[test]
    fn single_factor_is_constant_all_day() {
        let day = Factors(vec![0.7]);
        for hour in [0.0, 0.1, 13.37, 24.0_f64.next_down()] {
            assert_eq!(day.at(hour), 0.7);
        }
    }

    proptest! {
        #[test]
        fn factor_is_between_neighbours_and_scales_with_them(
            factors in prop::collection::vec(1e-9..1e9_f64, 1..1441), hour in 0.0..24.0_f64, twice in 0..20,
        ) {
            let day = Factors(factors.clone());
            let found = day.at(hour);
            let position = (hour * factors.len() as f64 / 24.0) as usize;
            let around = [position, position + 1].map(|i| factors[i % factors.len()]);
            prop_assert!(around[0].min(around[1]) <= found && found <= around[0].max(around[1]));
            // Powers of two leave all digits as they are.
            let scale = f64::from(twice - 10).exp2();
            let scaled = Factors(factors.iter().map(|it| it * scale).collect());
            prop_assert_eq!(scaled.at(hour).to_bits(), (found * scale).to_bits());
        }

        #[test]
        fn collinear_factors_do_not_change_result(
            factors in prop::collection::vec(0.1..10.0_f64, 1..100), hour in 0.0..24.0_f64,
        ) {
            let next = |i: usize| factors[(i + 1) % factors.len()];
            let halves = factors.iter().enumerate();
            let finer = halves.flat_map(|(i, it)| [*it, (it + next(i)) / 2.0]).collect();
            let (coarse, fine) = (Factors(factors.clone()).at(hour), Factors(finer).at(hour));
            prop_assert!((coarse - fine).abs() <= 1e-10 * coarse, "{} {}", coarse, fine);
        }
    }
}
