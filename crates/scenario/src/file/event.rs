//! `[[event]]`

use netflow_document::{Allowed, ProblemKind, Section, Spanned, table};

use super::{RateSetting, Time, allowed};

/// What happens to a link on the way: exactly one of `set`, `down` and `up`.
#[table(name = "event", check = one_change)]
pub struct Event {
    /// When.
    #[key(allowed = allowed::MOMENT, example = "20 s")]
    pub at: Time,
    /// To which link: `"A->B"` is one direction, `"A<->B"` both.
    #[key(example = "A->B")]
    pub link: Spanned<String>,
    /// Other settings of the link from now on: `{ bandwidth = "4 Mbit/s" }`.
    #[key(example = "{ bandwidth = \"4 Mbit/s\" }")]
    pub set: Option<Spanned<Set>>,
    /// `true`: the link fails. What is queued is lost, and routes are computed without it.
    #[key(allowed = TRUE, example = true)]
    pub down: Option<Spanned<bool>>,
    /// `true`: the link works again, and routes are computed with it.
    #[key(allowed = TRUE, example = true)]
    pub up: Option<Spanned<bool>>,
}

/// Settings of a link that an event can change.
#[table]
pub struct Set {
    /// The bandwidth from now on.
    #[key(allowed = allowed::RATE, example = "4 Mbit/s")]
    pub bandwidth: RateSetting,
}

const TRUE: Allowed<bool> = Allowed {
    test: |flag| *flag,
    text: "`down = true` when the link fails, `up = true` when it works again",
};

fn one_change(event: &mut Event, s: &mut Section<'_, '_>) {
    let keys = ["set", "down", "up"];
    let given = [
        event.set.is_some(),
        event.down.is_some(),
        event.up.is_some(),
    ];
    let message = match given.iter().filter(|given| **given).count() {
        1 => return,
        // What was refused, or misspelt, would have been one.
        0 if keys
            .iter()
            .any(|key| s.get(key).is_some() || s.is_misspelt(key)) =>
        {
            return;
        }
        0 => "this event changes nothing",
        _ => "this event changes several things at once",
    };
    let place = s.place();
    s.findings
        .error(ProblemKind::Conflict, place, message)
        .help("give one of: `set = { bandwidth = \"4 Mbit/s\" }`, `down = true`, `up = true`");
}
