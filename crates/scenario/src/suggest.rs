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
pub(crate) fn nearest<'a>(
    name: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    // A name this long is no slip of the pen, and comparing it would take its time.
    if name.chars().count() > 64 {
        return None;
    }
    let plain = simplified(name);
    if let Some(same) = allowed.clone().find(|other| simplified(other) == plain) {
        return Some(same);
    }
    let close = allowed
        .clone()
        .map(|other| (strsim::osa_distance(&plain, &simplified(other)), other))
        .filter(|(edits, other)| {
            *edits <= most_edits(other.chars().count().min(plain.chars().count()))
        })
        .min_by_key(|(edits, _)| *edits);
    if let Some((_, other)) = close {
        return Some(other);
    }
    let kebab = name.to_lowercase().replace(['_', ' '], "-");
    let meant = ELSEWHERE.iter().filter(|(other, _)| *other == kebab);
    let mut meant = meant.filter_map(|(_, key)| allowed.clone().find(|other| other == key));
    if let Some(key) = meant.next() {
        return Some(key);
    }
    // `profile-name` for `profile`, `window` for `max-window`; a short piece says too little.
    let mut parts = allowed.filter(|other| {
        let other = simplified(other);
        plain.len() >= 4 && other.len() >= 4 && (other.contains(&plain) || plain.contains(&other))
    });
    parts.next()
}

/// Slips that a word of this length can have and still be itself.
fn most_edits(length: usize) -> usize {
    match length {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    }
}

fn simplified(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// ``did you mean `link`? allowed: ...``
pub(crate) fn help<'a>(
    name: &str,
    what: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let list = listed(allowed.clone());
    match nearest(name, allowed) {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

/// A long list is cut.
const LONGEST_LIST: usize = 20;

fn listed<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
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
    fn slips_of_the_pen_are_understood() {
        let keys = ["from", "to", "bandwidth", "delay", "buffer", "max-window"];
        let near = |name: &str| nearest(name, keys.into_iter());
        assert_eq!(near("bandwith"), Some("bandwidth"));
        assert_eq!(near("Bandwidth"), Some("bandwidth"));
        assert_eq!(near("max_window"), Some("max-window"));
        assert_eq!(near("maxwindow"), Some("max-window"));
        assert_eq!(near("window"), Some("max-window"));
        assert_eq!(near("capacity"), Some("bandwidth"));
        assert_eq!(near("form"), Some("from"));
        assert_eq!(near("colour"), None);
        assert_eq!(near(&"x".repeat(1_000_000)), None);
        assert_eq!(near(""), None);
    }
}
