//! `mtbf`, `mttr` and `unavailability` of links, nodes and shared-risk groups

use netflow_document::{ProblemKind, Section, Spanned};

use super::LongTime;

/// The three keys of an element, which are alternatives.
pub(crate) struct Unavailability<'a> {
    pub mtbf: Option<&'a LongTime>,
    pub mttr: Option<&'a LongTime>,
    pub fraction: Option<&'a Spanned<f64>>,
}

impl Unavailability<'_> {
    /// Returns the fraction of the time in which the element has failed, if given.
    pub fn value(&self) -> Option<f64> {
        let of_times = |(up, down): (&LongTime, &LongTime)| down.get() / (up.get() + down.get());
        let fraction = self.fraction.map(|it| **it);
        fraction.or_else(|| self.mtbf.zip(self.mttr).map(of_times))
    }

    /// Rejects both forms together, and a time without the other one.
    pub(super) fn check(&self, s: &mut Section<'_, '_>) {
        let has_time = self.mtbf.is_some() || self.mttr.is_some();
        if let (Some(fraction), true) = (self.fraction, has_time) {
            let message = "`unavailability` conflicts with `mtbf` and `mttr`";
            s.findings
                .error(ProblemKind::Conflict, fraction.place(), message)
                .set_help("leave out `unavailability`, or `mtbf` and `mttr`");
            return;
        }
        let (given, missing, example) = match (self.mtbf, self.mttr) {
            (Some(mtbf), None) => (mtbf, ["mtbf", "mttr"], "12 h"),
            (None, Some(mttr)) => (mttr, ["mttr", "mtbf"], "200 d"),
            _ => return,
        };
        let [one, other] = missing;
        // A rejected or misspelt value would have been the other one.
        if s.get(other).is_none() && !s.is_misspelt(other) {
            s.findings
                .error(
                    ProblemKind::Missing,
                    given.place(),
                    format!("`{one}` needs `{other}`"),
                )
                .set_help(format!("add `{other} = \"{example}\"`"));
        }
    }
}
