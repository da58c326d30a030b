//! `[[event]]`

use netflow_document::{Allowed, ProblemKind, Section, Spanned, table};

use super::{LossSetting, RateSetting, Time, allowed};

/// Change of a link during the run: exactly one of `set`, `down` and `up`, for exactly one of `link`, `node` and
/// `srlg`.
#[table(name = "event", check = check_single_change)]
pub struct Event {
    /// Time of the event.
    #[key(allowed = allowed::MOMENT, example = "20 s")]
    pub at: Time,
    /// Affected link: `"A->B"` is one direction, `"A<->B"` both.
    #[key(example = "A->B")]
    pub link: Option<Spanned<String>>,
    /// Node with all affected links, in both directions.
    #[key(example = "A")]
    pub node: Option<Spanned<String>>,
    /// Shared-risk group with all affected links.
    #[key(example = "conduit-1")]
    pub srlg: Option<Spanned<String>>,
    /// New settings of the link: one or more of `{ bandwidth = "4 Mbit/s" }`, `{ loss = "1 %" }` and `{ delay =
    /// "80 ms" }`.
    #[key(example = "{ bandwidth = \"4 Mbit/s\" }")]
    pub set: Option<Spanned<Set>>,
    /// `true`: the link fails. Its queue is lost, and routes are recomputed without it.
    #[key(allowed = TRUE, example = true)]
    pub down: Option<Spanned<bool>>,
    /// `true`: the link works again, whichever event made it fail, and routes are recomputed with it.
    #[key(allowed = TRUE, example = true)]
    pub up: Option<Spanned<bool>>,
}

/// Settings of a link that an event can change, at least one.
#[table(check = check_not_empty)]
pub struct Set {
    /// New bandwidth. It also applies to packets already in the queue. With 0 the link transmits nothing and its queue
    /// stays, which needs the packet model; routes do not change.
    #[key(allowed = allowed::RATE_OR_ZERO, example = "4 Mbit/s")]
    pub bandwidth: Option<RateSetting>,
    /// New loss after the queue, as `loss` of the link, for packets whose transmission ends later, including
    /// those in the queue. `0` ends it.
    #[key(example = "1 %")]
    pub loss: Option<Spanned<LossSetting>>,
    /// New propagation delay, for packets whose transmission ends later, including those in the queue. Packets
    /// that have left the queue keep the old delay, so later packets may overtake them. Routes, default buffers
    /// and other values computed from the initial delays do not change.
    #[key(allowed = allowed::DELAY, example = "80 ms")]
    pub delay: Option<Time>,
}

const TRUE: Allowed<bool> = Allowed {
    test: |flag| *flag,
    text: "`down = true` for a failure, `up = true` for a repair",
};

fn check_single_change(event: &mut Event, s: &mut Section<'_, '_>) {
    let places = [
        event.link.is_some(),
        event.node.is_some(),
        event.srlg.is_some(),
    ];
    check_one_of(
        s,
        ["link", "node", "srlg"],
        places,
        [
            "this event names no link, node or group",
            "this event names several of link, node and group",
        ],
        "give one of: `link = \"A->B\"`, `node = \"A\"`, `srlg = \"conduit-1\"`",
    );
    let changes = [
        event.set.is_some(),
        event.down.is_some(),
        event.up.is_some(),
    ];
    check_one_of(
        s,
        ["set", "down", "up"],
        changes,
        [
            "this event changes nothing",
            "this event makes several changes",
        ],
        "give one of: `set = { bandwidth = \"4 Mbit/s\" }`, `down = true`, `up = true`",
    );
    if let (Some(set), None, [_, true, _] | [_, _, true]) = (&event.set, &event.link, places) {
        let message = "`set` applies to one link, not to a node or a group";
        s.findings
            .error(ProblemKind::Conflict, set.place(), message)
            .set_help("write an event for each link: `link = \"A->B\"`");
    }
}

fn check_not_empty(set: &mut Set, s: &mut Section<'_, '_>) {
    let Set {
        bandwidth,
        loss,
        delay,
    } = &*set;
    let keys = ["bandwidth", "loss", "delay"];
    // What was refused, or misspelt, would have been one.
    let is_meant = |key: &&str| s.get(key).is_some() || s.is_misspelt(key);
    let is_empty = bandwidth.is_none() && loss.is_none() && delay.is_none();
    if is_empty && !keys.iter().any(is_meant) {
        let place = s.place();
        s.findings
            .error(ProblemKind::Conflict, place, "`set` sets nothing")
            .set_help("add `bandwidth = \"4 Mbit/s\"`, `loss = \"1 %\"` or `delay = \"80 ms\"`, or several of them");
    }
}

/// Refuses none and several of what exactly one is to be given.
fn check_one_of(
    s: &mut Section<'_, '_>,
    keys: [&str; 3],
    given: [bool; 3],
    [none, several]: [&str; 2],
    help: &str,
) {
    let message = match given.iter().filter(|given| **given).count() {
        1 => return,
        // What was refused, or misspelt, would have been one.
        0 if keys
            .iter()
            .any(|key| s.get(key).is_some() || s.is_misspelt(key)) =>
        {
            return;
        }
        0 => none,
        _ => several,
    };
    let place = s.place();
    s.findings
        .error(ProblemKind::Conflict, place, message)
        .set_help(help);
}
