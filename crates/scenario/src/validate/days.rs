//! Validation of diurnal profiles.

use netflow_document::{ProblemKind, SourceSpan, Spanned};

use super::Validator;
use super::names::Names;
use crate::file::{Day, Scenario};

/// Days by name, with their use by demands.
#[derive(Default)]
pub(super) struct Days {
    names: Names,
    list: Vec<DeclaredDay>,
    /// Location of the first demand with a day.
    first_use: Option<SourceSpan>,
    /// True if some names could not be read.
    is_incomplete: bool,
}

struct DeclaredDay {
    place: SourceSpan,
    /// Factor at the simulation's hour; 1 if it has none.
    factor: f64,
    is_used: bool,
}

impl Validator<'_> {
    /// Registers the names of days with their factors at the simulation's hour.
    pub(super) fn declare_days(&mut self, days: &[Day]) {
        for day in days {
            if !day.name.is_valid() {
                self.days.is_incomplete = true;
                continue;
            }
            let place = day.name.place();
            if let Err(first) = self.days.names.add(&day.name) {
                let first = self.days.list.get(first).map(|it| it.place);
                let help = first.map_or(String::new(), |place| self.first_definition_help(place));
                let message = format!("day `{}` exists twice", *day.name);
                self.error(ProblemKind::Duplicate, place, message, &help);
                continue;
            }
            let hour = self.settings.hour;
            self.days.list.push(DeclaredDay {
                place,
                factor: hour.map_or(1.0, |hour| day.factors.at(hour)),
                is_used: false,
            });
        }
    }

    /// Returns the factor of a demand with this day; reports an unknown day and returns `None`.
    pub(super) fn factor_of(&mut self, day: &Spanned<String>) -> Option<f64> {
        let found = self.days.names.find(day);
        if let Some(declared) = found.and_then(|found| self.days.list.get_mut(found)) {
            declared.is_used = true;
            self.days.first_use.get_or_insert(day.place());
            return Some(declared.factor);
        }
        let names: Vec<&str> = self.days.names.iter().collect();
        if self.days.is_incomplete || (names.is_empty() && self.findings.has_rejected_keys()) {
            return None; // it may be one that could not be read
        }
        let message = format!("unknown day `{}`", **day);
        let help = if names.is_empty() {
            "the scenario has no [[day]]".to_owned()
        } else {
            self.findings
                .given_names_help(day, "days", names.into_iter())
        };
        self.error(ProblemKind::UnknownName, day.place(), message, &help);
        None
    }

    /// Warns of days without an hour, of an hour without days, and of days without demands.
    pub(super) fn check_days(&mut self, scenario: &Scenario) {
        if self.findings.has_errors() {
            return; // demands that name them may not have been read
        }
        match (&scenario.simulation.hour, self.days.first_use) {
            (None, Some(place)) => {
                let message = "`day` has no effect: [simulation] has no `hour`";
                let help = "all demands have their `rate`; write `hour = 20` in [simulation], or \
                            `--set simulation.hour=20`, for the demands at 20:00";
                self.warning(ProblemKind::WithoutEffect, place, message, help);
            }
            (Some(hour), None) => {
                let message = "`hour` has no effect: no demand has a `day`";
                self.warning(ProblemKind::WithoutEffect, hour.place(), message, "");
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        let days = std::mem::take(&mut self.days);
        for (name, day) in days.names.iter().zip(&days.list) {
            if !day.is_used {
                let message = format!("day `{name}` has no effect: no demand refers to it");
                let help = format!("write `day = \"{name}\"` in a [[demand]]");
                self.warning(ProblemKind::WithoutEffect, day.place, message, &help);
            }
        }
    }
}
