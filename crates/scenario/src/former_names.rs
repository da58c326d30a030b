//! Former names of the keys and words of scenarios, and removed keys.

use netflow_document::{FormerName, FormerNames, RemovedKey};

const fn renamed(within: &'static str, former: &'static str, name: &'static str) -> FormerName {
    FormerName {
        within,
        former,
        name,
    }
}

/// Former names that scenarios, tables and `--set` options may use.
pub const FORMER_NAMES: FormerNames = FormerNames {
    keys: &[
        // Before 0.2.
        renamed("source", "stack", "tcp"),
        renamed("source", "window", "ns2-tcp"),
        renamed("exponential", "most", "max"),
        renamed("log-normal", "most", "max"),
        renamed("pareto", "most", "max"),
        renamed("pareto", "least", "min"),
    ],
    words: &[
        renamed("model", "packets", "packet"),
        renamed("model", "window", "packet"),
    ],
    removed: &[
        RemovedKey {
            within: "simulation",
            name: "transport",
            help: "remove `transport`: the fluid model has one kind of queue",
        },
        RemovedKey {
            within: "simulation",
            name: "coupling",
            help: "remove `coupling`: the fluid model always simulates congestion windows",
        },
    ],
};
