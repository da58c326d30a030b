//! Selection of the links or connections of a figure.

use netflow_units::nearest_name;
use wildmatch::WildMatch;

use crate::Error;

/// Number of links or connections in a figure if none are named.
const DEFAULT_SELECTION: usize = 3;
/// Maximum number of names listed in an error about an unknown name.
const MAX_SUGGESTED_NAMES: usize = 20;

/// Returns the names that match a pattern, in the order of the patterns; `*` matches any text and `?` any
/// character. Without patterns, returns the busiest.
pub fn select_names(names: &[(String, f64)], only: &[String]) -> Result<Vec<String>, Error> {
    if only.is_empty() {
        let mut busiest = names.to_vec();
        busiest.sort_by(|a, b| b.1.total_cmp(&a.1));
        return Ok(busiest
            .into_iter()
            .take(DEFAULT_SELECTION)
            .map(|it| it.0)
            .collect());
    }
    select_matching(names.iter().map(|it| it.0.as_str()), only)
}

/// Returns the names that match a pattern, each once, in the order of the patterns.
pub fn select_matching<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    only: &[String],
) -> Result<Vec<String>, Error> {
    let mut chosen: Vec<String> = Vec::new();
    for pattern in only {
        for name in matching(names.clone(), pattern)? {
            if !chosen.iter().any(|it| it == name) {
                chosen.push(name.to_owned());
            }
        }
    }
    Ok(chosen)
}

/// Returns a suggestion to append to a list of names.
pub fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest_name(name, names, &[]);
    near.map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// Returns the names that a pattern selects: a name equal to it, otherwise all that match.
fn matching<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    pattern: &str,
) -> Result<Vec<&'a str>, Error> {
    if let Some(itself) = names.clone().find(|name| *name == pattern) {
        return Ok(vec![itself]);
    }
    let wild = WildMatch::new(pattern);
    let found: Vec<&str> = names.clone().filter(|name| wild.matches(name)).collect();
    if !found.is_empty() {
        Ok(found)
    } else {
        let near = did_you_mean(pattern, names.clone());
        let some: Vec<&str> = names.clone().take(MAX_SUGGESTED_NAMES).collect();
        let more = match names.count().saturating_sub(MAX_SUGGESTED_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let some = some.join(", ");
        let what =
            format!("no name in the results matches {pattern}; available: {some}{more}{near}");
        Err(Error::NothingToShow(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<(String, f64)> {
        let names = [("a->b", 0.1), ("a->c", 0.9), ("b->c", 0.5), ("*->c", 0.2)];
        names.map(|(name, busy)| (name.to_owned(), busy)).to_vec()
    }

    fn of(only: &[&str]) -> Result<Vec<String>, String> {
        let only: Vec<String> = only.iter().map(|it| (*it).to_owned()).collect();
        select_names(&names(), &only).map_err(|error| error.to_string())
    }

    #[test]
    fn patterns_select_and_exact_names_have_priority() {
        assert_eq!(of(&[]).unwrap(), ["a->c", "b->c", "*->c"]);
        assert_eq!(
            of(&["a->*", "?->c"]).unwrap(),
            ["a->b", "a->c", "b->c", "*->c"]
        );
        assert_eq!(of(&["*->c"]).unwrap(), ["*->c"]);
    }

    #[test]
    fn unmatched_pattern_is_an_error() {
        assert_eq!(
            of(&["a->b", "b->a"]).unwrap_err(),
            "no name in the results matches b->a; available: a->b, a->c, b->c, *->c; did you mean `b->c`?"
        );
        assert_eq!(
            of(&["zzz*"]).unwrap_err(),
            "no name in the results matches zzz*; available: a->b, a->c, b->c, *->c"
        );
    }
}
