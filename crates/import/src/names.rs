//! Names of nodes that scenario files can have.

use std::collections::{HashMap, HashSet};

/// What a file says about a node's name.
pub(crate) struct Wish<'a> {
    pub(crate) id: &'a str,
    pub(crate) wished: &'a str,
}

/// Names for all nodes, each unique, of letters, digits, `_` and `-`. Where several wish the same, each gets
/// its identifier behind it. A node whose name is legal as it stands keeps it: `POP-1` next to `POP 1`.
pub(crate) fn unique(wishes: &[Wish<'_>]) -> Vec<String> {
    let legal: Vec<String> = wishes.iter().map(|wish| legal(wish.wished)).collect();
    // How many nodes have this name, and how many of them without a change.
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
    // These names are given before others can be made up.
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

/// The nearest name that is legal everywhere: in links' names, in paths, and in `--set` options.
pub(crate) fn legal(text: &str) -> String {
    /// Longer ones are cut.
    const LONGEST: usize = 60;
    let mut name = String::new();
    for c in text.chars().take(LONGEST) {
        match c {
            _ if c.is_alphanumeric() || c == '_' => name.push(c),
            // An apostrophe leaves no gap.
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
