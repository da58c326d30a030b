//! Unique names of nodes that are legal in scenario files.

use std::collections::{HashMap, HashSet};

/// The identifier and the preferred name of a node.
pub(crate) struct NameRequest<'a> {
    pub(crate) id: &'a str,
    pub(crate) preferred: &'a str,
}

/// Returns unique names for all nodes, of letters, digits, `_` and `-`. If several nodes prefer the same
/// name, each gets its identifier as a suffix. A node whose name is legal without a change keeps it:
/// `POP-1` next to `POP 1`.
pub(crate) fn unique(requests: &[NameRequest<'_>]) -> Vec<String> {
    let legal: Vec<String> = requests
        .iter()
        .map(|request| legal(request.preferred))
        .collect();
    // Number of nodes per name, and number of those whose name is unchanged.
    let mut wanted: HashMap<&str, (usize, usize)> = HashMap::new();
    for (request, name) in requests.iter().zip(&legal) {
        let (all, unchanged) = wanted.entry(name).or_default();
        *all += 1;
        *unchanged += usize::from(request.preferred == name);
    }
    let keeps = |request: &NameRequest<'_>, name: &str| match wanted.get(name) {
        Some((1, _)) => true,
        Some((_, 1)) => request.preferred == name,
        _ => false,
    };
    // These names are reserved before others are generated.
    let given = requests.iter().zip(&legal);
    let given = given.filter(|(request, name)| keeps(request, name));
    let mut taken: HashSet<String> = given.map(|(_, name)| name.clone()).collect();
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::with_capacity(legal.len());
    for (request, name) in requests.iter().zip(&legal) {
        if keeps(request, name) {
            names.push(name.clone());
            continue;
        }
        let id = self::legal(request.id);
        let base = if id == *name {
            name.clone()
        } else {
            format!("{name}-{id}")
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
    const MAX_CHARS: usize = 60;
    let mut name = String::new();
    for c in text.chars().take(MAX_CHARS) {
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
    fn legal_names_are_kept_in_any_order() {
        for (preferred, expected) in [
            (["POP-1", "POP 1"], ["POP-1", "POP-1-2"]),
            (["POP 1", "POP-1"], ["POP-1-2", "POP-1"]),
            (["a/b", "a b"], ["a-b", "a-b-2"]),
        ] {
            let requests = preferred.map(|preferred| NameRequest {
                id: preferred,
                preferred,
            });
            assert_eq!(unique(&requests), expected);
        }
    }

    #[test]
    fn names_are_legal_and_unique() {
        let requests = [
            ("0", "New York"),
            ("1", "St. John's (NL)"),
            ("2", "London"),
            ("3", "London"),
            ("4", "London-2"),
            ("5", "->"),
            ("6", "Zürich"),
        ];
        let requests = requests.map(|(id, preferred)| NameRequest { id, preferred });
        let names = unique(&requests);
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
