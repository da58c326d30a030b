//! Unique names of nodes that are legal in scenario files.

use std::collections::{HashMap, HashSet};

/// The identifier and the preferred name of a node.
pub(crate) struct Wish<'a> {
    pub(crate) id: &'a str,
    pub(crate) wished: &'a str,
}

/// Returns unique names for all nodes, of letters, digits, `_` and `-`. If several nodes prefer the same
/// name, each gets its identifier as a suffix. A node whose name is legal without a change keeps it:
/// `POP-1` next to `POP 1`.
pub(crate) fn unique(wishes: &[Wish<'_>]) -> Vec<String> {
    let legal: Vec<String> = wishes.iter().map(|wish| legal(wish.wished)).collect();
    // Number of nodes per name, and number of those whose name is unchanged.
    let mut wanted: HashMap<&str, (usize, usize)> = HashMap::new();
    for (wish, name) in wishes.iter().zip(&legal) {
        let (all, unchanged) = wanted.entry(name).or_default();
        *all += 1;
        *unchanged += usize::from(wish.wished == name);
    }
    let keeps = |wish: &Wish<'_>, name: &str| match wanted.get(name) {
        Some((1, _)) => true,
        Some((_, 1)) => wish.wished == name,
        _ => false,
    };
    // These names are reserved before others are generated.
    let given = wishes.iter().zip(&legal);
    let given = given.filter(|(wish, name)| keeps(wish, name));
    let mut taken: HashSet<String> = given.map(|(_, name)| name.clone()).collect();
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::with_capacity(legal.len());
    for (wish, name) in wishes.iter().zip(&legal) {
        if keeps(wish, name) {
            names.push(name.clone());
            continue;
        }
        let id = self::legal(wish.id);
        let base = match id == *name {
            true => name.clone(),
            false => format!("{name}-{id}"),
        };
        let mut free = base.clone();
        let count = next.entry(base.clone()).or_insert(1);
        while !taken.insert(free.clone()) {
            *count += 1;
            free = format!("{base}-{count}");
        }
        names.push(free);
    }
    names
}

/// Returns the most similar name that is legal everywhere: in names of links, in paths, and in `--set`
/// options.
pub(crate) fn legal(text: &str) -> String {
    /// Maximum length; longer names are cut.
    const LONGEST: usize = 60;
    let mut name = String::new();
    for c in text.chars().take(LONGEST) {
        match c {
            _ if c.is_alphanumeric() || c == '_' => name.push(c),
            // An apostrophe or a point is removed without a replacement.
            '\'' | '’' | '.' => {}
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    match name.trim_end_matches('-') {
        "" => "node".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legal_name_is_kept_whatever_the_order() {
        for (wished, expected) in [
            (["POP-1", "POP 1"], ["POP-1", "POP-1-2"]),
            (["POP 1", "POP-1"], ["POP-1-2", "POP-1"]),
            (["a/b", "a b"], ["a-b", "a-b-2"]),
        ] {
            let wishes = wished.map(|wished| Wish { id: wished, wished });
            assert_eq!(unique(&wishes), expected);
        }
    }

    #[test]
    fn names_are_legal_and_unique() {
        let wishes = [
            ("0", "New York"),
            ("1", "St. John's (NL)"),
            ("2", "London"),
            ("3", "London"),
            ("4", "London-2"),
            ("5", "->"),
            ("6", "Zürich"),
        ];
        let wishes = wishes.map(|(id, wished)| Wish { id, wished });
        let names = unique(&wishes);
        let expected = [
            "New-York",
            "St-Johns-NL",
            "London-2-2",
            "London-3",
            "London-2",
            "node",
            "Zürich",
        ];
        assert_eq!(names, expected);
    }
}
