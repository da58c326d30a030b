//! Suggestions for misspelt names.

/// Returns the allowed name that `name` most likely means, if any is close.
///
/// Any of these makes a name close; the first of several equally close names wins:
///
/// - it differs only in case, blanks and hyphens;
/// - `elsewhere` maps it (foreign name, netflow's name);
/// - it is one or two edits away;
/// - one name contains the other.
///
/// All suggestions in netflow use this function.
pub fn nearest_name<'a>(
    name: &str,
    allowed: impl Iterator<Item = &'a str> + Clone,
    elsewhere: &[(&str, &str)],
) -> Option<&'a str> {
    // A longer name is not a typing error, and comparing it would take long.
    if name.chars().count() > 64 {
        return None;
    }
    let plain = normalized(name);
    if let Some(same) = allowed.clone().find(|other| normalized(other) == plain) {
        return Some(same);
    }
    let kebab = name.to_lowercase().replace(['_', ' '], "-");
    let meant = elsewhere.iter().filter(|(other, _)| *other == kebab);
    let mut meant = meant.filter_map(|(_, key)| allowed.clone().find(|other| other == key));
    if let Some(key) = meant.next() {
        return Some(key);
    }
    let close = allowed
        .clone()
        .map(|other| (strsim::osa_distance(&plain, &normalized(other)), other))
        .filter(|(edits, other)| {
            *edits <= max_edits(other.chars().count().min(plain.chars().count()))
        })
        .min_by_key(|(edits, _)| *edits);
    if let Some((_, other)) = close {
        return Some(other);
    }
    // `profile-name` for `profile`, `window` for `max-window`. Shorter pieces match too many names.
    let mut parts = allowed.filter(|other| {
        let other = normalized(other);
        plain.len() >= 4 && other.len() >= 4 && (other.contains(&plain) || plain.contains(&other))
    });
    parts.next()
}

/// Returns a remark for `did you mean`, if two names look the same but one of them has combining accents (`e` and
/// U+0301) where the other has one character (`é`); otherwise an empty text.
pub fn composition_remark(name: &str, other: &str) -> &'static str {
    let is_mark = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    // Letters of which each is a character with its accents.
    let letters = |text: &str| -> Vec<(char, bool)> {
        let mut letters: Vec<(char, bool)> = Vec::new();
        for c in text.chars() {
            match letters.last_mut() {
                Some((_, has_marks)) if is_mark(&c) => *has_marks = true,
                _ => letters.push((c, false)),
            }
        }
        letters
    };
    let (one, two) = (letters(name), letters(other));
    let is_same = |(a, b): (&(char, bool), &(char, bool))| {
        a == b || (a.1 && !b.1 && !b.0.is_ascii()) || (b.1 && !a.1 && !a.0.is_ascii())
    };
    if name != other && one.len() == two.len() && one.iter().zip(&two).all(is_same) {
        " (the names differ in Unicode composition)"
    } else {
        ""
    }
}

/// Returns the maximum number of edits for a word of this length.
fn max_edits(length: usize) -> usize {
    match length {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    }
}

fn normalized(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{composition_remark, nearest_name};

    #[test]
    fn names_that_look_the_same_get_a_remark() {
        let (composed, decomposed) = ("Sainte-\u{c9}lodie", "Sainte-E\u{301}lodie");
        assert!(composition_remark(composed, decomposed).contains("Unicode composition"));
        assert!(composition_remark(decomposed, composed).contains("Unicode composition"));
        assert_eq!(composition_remark(composed, composed), "");
        assert_eq!(composition_remark("Sainte-Elodie", composed), "");
        assert_eq!(composition_remark("Sainte-Elodi", decomposed), "");
    }

    #[test]
    fn likely_mistakes_are_corrected() {
        let keys = ["from", "to", "bandwidth", "delay", "buffer", "max-window"];
        let elsewhere = [("capacity", "bandwidth"), ("capacity", "gone")];
        let near = |name: &str| nearest_name(name, keys.into_iter(), &elsewhere);
        assert_eq!(near("bandwith"), Some("bandwidth"));
        assert_eq!(near("Bandwidth"), Some("bandwidth"));
        assert_eq!(near("max_window"), Some("max-window"));
        assert_eq!(near("maxwindow"), Some("max-window"));
        assert_eq!(near("window"), Some("max-window"));
        assert_eq!(near("capacity"), Some("bandwidth"));
        assert_eq!(near("form"), Some("from"));
    }

    /// Regression: garbage was given a "nearest" name.
    #[test]
    fn garbage_has_no_nearest_name() {
        let names = ["ns-reno", "linux-6", "c1", "netbsd-1.2", "to"];
        for garbage in [
            "colour",
            "qwertyuiop",
            "x",
            "",
            "!!!",
            &"x".repeat(1_000_000),
        ] {
            assert_eq!(
                nearest_name(garbage, names.into_iter(), &[]),
                None,
                "{:.20}",
                garbage
            );
        }
    }
}
