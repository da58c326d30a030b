//! Suggestions for misspelt names.

/// Names that other tools use for a key.
const FOREIGN_NAMES: &[(&str, &str)] = &[
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
    ("fq", "fq-codel"),
    ("fifo", "drop-tail"),
    ("pfifo", "drop-tail"),
    ("bfifo", "drop-tail"),
    ("taildrop", "drop-tail"),
    ("tail-drop", "drop-tail"),
    ("strict", "priority"),
    ("drr", "wfq"),
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
    ("fail", "down"),
    ("fails", "down"),
    ("failed", "down"),
    ("repair", "up"),
    ("repaired", "up"),
];

/// Keys of other tools that belong to another table here.
const MISPLACED: &[(&str, &str)] = &[("limit", "use `buffer` of the link")];

/// Returns the correct location of a key that is not allowed here.
pub(crate) fn misplaced(name: &str) -> Option<&'static str> {
    let found = MISPLACED.iter().find(|(key, _)| *key == name);
    found.map(|(_, place)| *place)
}

/// Returns the allowed name that is most similar to `name`, if any is similar.
pub fn nearest<'a>(name: &str, allowed: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    netflow_units::nearest_name(name, allowed, FOREIGN_NAMES)
}

/// Returns ``did you mean `link`? allowed: ...`` with every allowed name.
pub(crate) fn help<'a>(
    name: &str,
    what: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
) -> String {
    allowed_list_help(nearest(name, allowed.clone()), what, allowed)
}

/// Returns the help for a nearest name that is already known.
pub(crate) fn allowed_list_help<'a>(
    near: Option<&str>,
    what: &str,
    allowed: impl Iterator<Item = &'a str>,
) -> String {
    let list = allowed.collect::<Vec<_>>().join(", ");
    match near {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

/// Maximum number of names that are listed, because a document can have many.
const MAX_LISTED_NAMES: usize = 20;

/// Returns the help for names from the document, of which not all are listed.
pub(crate) fn given_list_help<'a>(
    name: &str,
    near: Option<&str>,
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let all = names.clone().count();
    let remark = near.map_or("", |near| netflow_units::composition_remark(name, near));
    let listed = allowed_list_help(near, what, names.take(MAX_LISTED_NAMES));
    let listed = match remark {
        "" => listed,
        remark => listed.replacen('?', &format!("?{remark}"), 1),
    };
    match all.saturating_sub(MAX_LISTED_NAMES) {
        0 => listed,
        rest => format!("{listed} and {rest} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::{given_list_help, help, nearest};

    #[test]
    fn foreign_names_are_suggested() {
        let keys = ["from", "to", "bandwidth", "max-window"];
        let near = |name: &str| nearest(name, keys.into_iter());
        assert_eq!(near("capacity"), Some("bandwidth"));
        assert_eq!(near("dst"), Some("to"));
        assert_eq!(near("colour"), None);
    }

    #[test]
    fn allowed_values_are_listed_completely() {
        let names: Vec<String> = (0..30).map(|i| format!("key-{i}")).collect();
        let all = || names.iter().map(String::as_str);
        let told = help("colour", "allowed", all());
        assert!(told.ends_with("key-28, key-29"), "{told}");
        let told = given_list_help("x", None, "nodes", all());
        assert!(told.ends_with("key-19 and 10 more"), "{told}");
    }
}
