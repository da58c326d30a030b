//! The name that somebody meant.

/// What people call a key elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[
    ("src", "from"),
    ("source", "from"),
    ("sender", "from"),
    ("a", "from"),
    ("dst", "to"),
    ("dest", "to"),
    ("destination", "to"),
    ("target", "to"),
    ("receiver", "to"),
    ("b", "to"),
    ("capacity", "bandwidth"),
    ("rate", "bandwidth"),
    ("speed", "bandwidth"),
    ("bw", "bandwidth"),
    ("latency", "delay"),
    ("propagation", "delay"),
    ("queue-limit", "buffer"),
    ("queue-size", "buffer"),
    ("window", "max-window"),
    ("tcp", "source"),
    ("end", "stop"),
    ("route", "path"),
    ("time", "at"),
    ("id", "name"),
    ("n", "count"),
    ("length", "size"),
    ("bytes", "size"),
    ("dt", "step"),
    ("time-step", "step"),
    ("flow", "connection"),
    ("flows", "connection"),
    ("edge", "link"),
    ("edges", "link"),
    ("general", "simulation"),
];

/// The allowed name that `name` most likely stands for, if any is close.
pub fn nearest<'a>(name: &str, allowed: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    netflow_units::nearest_name(name, allowed, ELSEWHERE)
}

/// ``did you mean `link`? allowed: ...``
pub(crate) fn help<'a>(
    name: &str,
    what: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
) -> String {
    listed(nearest(name, allowed.clone()), what, allowed)
}

/// The same with the nearest name already found.
pub(crate) fn listed<'a>(
    near: Option<&str>,
    what: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let list = cut(allowed);
    match near {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

/// A long list is cut.
const LONGEST_LIST: usize = 20;

fn cut<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let all = names.clone().count();
    let shown: Vec<&str> = names.take(LONGEST_LIST).collect();
    match all.saturating_sub(LONGEST_LIST) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn words_from_elsewhere_are_understood() {
        let keys = ["from", "to", "bandwidth", "max-window"];
        let near = |name: &str| nearest(name, keys.into_iter());
        assert_eq!(near("capacity"), Some("bandwidth"));
        assert_eq!(near("dst"), Some("to"));
        assert_eq!(near("colour"), None);
    }
}
