//! Number of rows of a run's series.

use netflow_scenario::CompiledScenario;

use super::{Error, Settings};

/// Maximum number of rows written or kept: about 1.4 GB as CSV.
pub const MOST_ROWS: f64 = 2e7;

/// Approximate size of a row as CSV, in bytes.
const BYTES_PER_ROW: f64 = 70.0;

impl Settings {
    /// Returns the number of rows of the series of links, connections and classes that are written
    /// or kept.
    pub fn rows_of(&self, scenario: &CompiledScenario) -> f64 {
        let intervals = (scenario.options.duration_s / self.every_s).ceil();
        intervals * self.rows_per_interval(scenario)
    }

    fn rows_per_interval(&self, scenario: &CompiledScenario) -> f64 {
        let network = &scenario.network;
        let of_directory = self.directory.as_ref();
        if of_directory.is_none() && !self.keep_series {
            return 0.0;
        }
        let rows = (network.link_count() + network.connection_count()) as f64;
        let classes = self.keep_classes || of_directory.is_some_and(|it| it.classes);
        match (self.seeds_of(scenario), classes) {
            (1, true) => rows + network.class_count() as f64,
            (1, false) => rows,
            // Means, standard deviations and confidence intervals.
            _ => 3.0 * rows,
        }
    }

    /// Rejects series that are too long before the evaluation.
    pub(super) fn check_rows(&self, scenario: &CompiledScenario) -> Result<(), Error> {
        let rows = self.rows_of(scenario);
        if rows <= MOST_ROWS {
            return Ok(());
        }
        let duration_s = scenario.options.duration_s;
        let least_s = duration_s
            / (MOST_ROWS / self.rows_per_interval(scenario))
                .floor()
                .max(1.0);
        Err(Error::TooManyRows {
            rows,
            bytes: rows * BYTES_PER_ROW,
            every_s: self.every_s,
            enough_s: round_up(least_s),
        })
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    // Integer powers are exact: 0.05 instead of 0.05000000000000001.
    let exponent = libm::log10(value).floor() as i32;
    let scaled = |factor: f64, exponent: i32| {
        if exponent < 0 {
            factor / 10f64.powi(-exponent)
        } else {
            factor * 10f64.powi(exponent)
        }
    };
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = steps
        .into_iter()
        .map(|factor| scaled(factor, exponent))
        .find(|&step| step >= value);
    found.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Directory, evaluate};

    fn scenario() -> CompiledScenario {
        let text = r#"
            simulation = { duration = "60 s" }
            link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms" }]
            connection = [{ from = "A", to = "B", source = { constant = "1 Mbit/s" } }]
        "#;
        netflow_scenario::from_str("rows.toml", text, ".".as_ref(), &[]).expect("a scenario")
    }

    #[test]
    fn too_long_series_are_rejected_with_valid_interval() {
        let scenario = scenario();
        let place = tempfile::tempdir().expect("a directory");
        let results = place.path().join("results");
        let mut settings = Settings {
            every_s: 1e-6,
            directory: Some(Directory::at(&results)),
            ..Settings::default()
        };
        let refused = evaluate(&scenario, &settings).expect_err("a refusal");
        let Error::TooManyRows { rows, enough_s, .. } = refused else {
            panic!("{refused}");
        };
        // Two directions of a link, and a connection.
        assert_eq!((rows, enough_s), (1.8e8, 1e-5));
        assert!(!results.exists());
        settings.every_s = enough_s;
        assert_eq!(settings.rows_of(&scenario), 1.8e7);
        assert!(settings.check_rows(&scenario).is_ok());
        settings.every_s = 1e-6;
        settings.directory = None;
        assert!(settings.check_rows(&scenario).is_ok(), "nothing is written");
    }

    #[test]
    fn intervals_are_rounded_up() {
        for (value, rounded) in [
            (0.013, 0.02),
            (0.05, 0.05),
            (0.051, 0.1),
            (3.0, 5.0),
            (11.0, 20.0),
        ] {
            assert_eq!(round_up(value), rounded, "{value}");
        }
    }
}
