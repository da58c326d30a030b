//! Former names of the keys and words of scenarios.

use netflow_document::{FormerName, FormerNames};

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
};
