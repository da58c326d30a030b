//! Parser of `--vary KEY=VALUES`: a setting and the values it takes in a sweep.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;

/// A varied setting: its key, as in `--set`, and its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Key, as before the `=` of `--set`.
    pub key: String,
    /// Unit of the values if all are numbers with the same unit; empty for numbers without a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Values as numbers in that unit, for the tables.
    #[serde(skip)]
    pub numbers: Option<Vec<f64>>,
    /// Values, as after the `=` of `--set`.
    pub values: Vec<String>,
}

/// Error of an invalid axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--vary {option}: {message}")]
pub struct AxisError {
    /// The given option.
    pub option: String,
    /// Description of the problem.
    pub message: String,
    /// Suggested correction.
    pub help: String,
}

/// Maximum number of values of an axis.
pub const MAX_VALUES: usize = 100_000;

const EXAMPLE: &str = "write a list, KEY=10ms,50ms,200ms, or a range, KEY=1..4 Mbit/s/20: 20 values from 1 to 4 Mbit/s";

impl Axis {
    /// Parses an option as [`Axis::parse`]. A file of `[include]` may contain `*`, which stands for any characters of a file
    /// name: the values are the files in `directory`, in the order of their names.
    ///
    /// # Errors
    /// The option is invalid, or no file matches.
    pub fn parse_with_files(option: &str, directory: &Path) -> Result<Axis, AxisError> {
        let pattern = option
            .split_once('=')
            .map(|(key, text)| (key.trim(), text.trim()));
        let Some((key, pattern)) =
            pattern.filter(|it| it.0.starts_with("include.") && it.1.contains('*'))
        else {
            return Axis::parse(option);
        };
        let wrong = |message: String| {
            AxisError {
            option: option.to_owned(),
            message,
            help: "write one pattern, such as `include.demands=matrices/*.csv`; its folder is relative to the scenario"
                .to_owned(),
        }
        };
        let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        if folder.contains('*') || pattern.contains(',') {
            return Err(wrong("`*` is possible in one file name only".to_owned()));
        }
        let place = directory.join(folder);
        let entries = std::fs::read_dir(&place)
            .map_err(|error| wrong(format!("cannot read {}: {error}", place.display())))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|it| matches_file_name(name, it)).collect();
        names.sort_unstable();
        let path = |file: String| match folder {
            "" => file,
            folder => format!("{folder}/{file}"),
        };
        let files: Vec<String> = names.into_iter().map(path).collect();
        if files.is_empty() {
            return Err(wrong(format!(
                "no file in {} matches `{name}`",
                place.display()
            )));
        }
        Axis::from_values(key, files)
    }

    /// Parses an option. `KEY=V1,V2,…` is a list, `KEY=A..B/N` has N values from A to B in equal steps, and
    /// `KEY=A..B/Nx` has them in equal ratios. A unit follows every number, or only the last.
    ///
    /// # Errors
    /// The option is invalid.
    pub fn parse(option: &str) -> Result<Axis, AxisError> {
        let wrong = |message: String, help: &str| AxisError {
            option: option.to_owned(),
            message,
            help: help.to_owned(),
        };
        let Some((key, text)) = option.split_once('=') else {
            let message = "the `=` between key and values is missing".to_owned();
            return Err(wrong(message, EXAMPLE));
        };
        let (key, text) = (key.trim(), text.trim());
        if key.is_empty() {
            return Err(wrong("the key before `=` is missing".to_owned(), EXAMPLE));
        }
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        if text
            .split_once('-')
            .is_some_and(|(a, b)| is_number(a) && is_number(b))
        {
            let message = format!("`{text}` is not a number");
            return Err(wrong(message, "a range is `A..B/N`, such as `0.5..1.5/11`"));
        }
        let values = match range_ends(text) {
            Some((from, to)) => range(from, to).map_err(|(message, help)| wrong(message, &help))?,
            None => apply_last_unit(list(text).map_err(|message| wrong(message, EXAMPLE))?),
        };
        Axis::distinct(key, values).map_err(|message| wrong(message, "write every value once"))
    }

    /// Returns an axis with these values, each as after the `=`.
    ///
    /// # Errors
    /// The list is empty or too long, or a value is duplicated.
    pub fn from_values(key: &str, values: Vec<String>) -> Result<Axis, AxisError> {
        let wrong = |message: String| AxisError {
            option: key.to_owned(),
            message,
            help: "write every value once".to_owned(),
        };
        match values.len() {
            0 => Err(wrong("the list of values is empty".to_owned())),
            1..=MAX_VALUES => Axis::distinct(key, values).map_err(wrong),
            n => Err(wrong(format!(
                "a list has at most {MAX_VALUES} values, not {n}"
            ))),
        }
    }

    fn distinct(key: &str, values: Vec<String>) -> Result<Axis, String> {
        let mut seen = HashSet::new();
        if let Some(value) = values.iter().find(|value| !seen.insert(*value)) {
            return Err(format!("the value `{value}` is given twice"));
        }
        let (unit, numbers) = numbers(&values).unzip();
        Ok(Axis {
            key: key.to_owned(),
            unit,
            numbers,
            values,
        })
    }

    /// Returns true if the values are non-negative integers without a unit, as required for counts.
    pub(crate) fn is_integer(&self) -> bool {
        // An `f64` represents all integers up to 2⁵³.
        const MAX_EXACT_INTEGER: f64 = (1_u64 << 53) as f64;
        let whole =
            |number: &f64| (0.0..=MAX_EXACT_INTEGER).contains(number) && number.fract() == 0.0;
        let unit = self.unit.as_deref().unwrap_or_default();
        unit.is_empty() && self.numbers.iter().flatten().all(whole)
    }

    /// Returns `KEY=VALUE` for the value of index `value`.
    pub fn setting(&self, value: usize) -> String {
        format!("{}={}", self.key, self.values[value])
    }
}

/// Returns whether `*` in a pattern can stand for characters such that it is this name. Names with a dot first need one in the
/// pattern.
fn matches_file_name(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the text before and after the `..` of a range. (Paths start with `..`, or with a name and `/`.)
fn range_ends(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once("..")?;
    let is_end = !from.trim().is_empty() && !from.contains(['"', '\'', '{', '[', ',']);
    let is_path = from.contains('/') && split_unit(from).is_none();
    (is_end && !is_path).then_some((from.trim(), to.trim()))
}

type MessageAndHelp = (String, String);

fn range(from: &str, to: &str) -> Result<Vec<String>, MessageAndHelp> {
    const HELP: &str =
        "write FROM..TO/COUNT, such as 1..4 Mbit/s/20, or FROM..TO/COUNTx for equal ratios";
    let wrong = |message: String| (message, HELP.to_owned());
    let no_count = || wrong(format!("the range `{from}..{to}` has no count"));
    let (to, count) = to.rsplit_once('/').ok_or_else(no_count)?;
    let (to, count) = (to.trim(), count.trim());
    let (digits, is_geometric) = match count.strip_suffix('x') {
        Some(digits) => (digits, true),
        None => (count, false),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(match (count.parse::<f64>(), split_unit(count)) {
            (Ok(_), _) => wrong(format!("the count `{count}` is not a whole number")),
            (Err(_), Some((count, unit))) if split_unit(to).is_some_and(|it| it.1.is_empty()) => (
                format!("the unit `{unit}` follows the count"),
                format!("did you mean `{from}..{to} {unit}/{count}`?"),
            ),
            _ => no_count(),
        });
    }
    let allowed = || (2..=MAX_VALUES).contains(&digits.parse().unwrap_or(usize::MAX));
    if !allowed() {
        let message = format!("a range has 2 to {MAX_VALUES} values, not {digits}");
        let help = "for a single value, use `--set`";
        return Err((message, help.to_owned()));
    }
    let count: usize = digits.parse().unwrap_or(2);
    let end = |text: &str| match split_unit(text) {
        Some((number, unit)) if number.is_finite() => Ok((number, unit.to_owned())),
        Some(_) => Err(wrong(format!("`{text}` is too large"))),
        None => Err(wrong(format!("`{text}` is not a number with a unit"))),
    };
    let ((from, from_unit), (to, unit)) = (end(from)?, end(to)?);
    if !from_unit.is_empty() && from_unit != unit {
        let message = match unit.as_str() {
            "" => format!("only the first end has a unit, `{from_unit}`"),
            unit => format!("the ends have different units, `{from_unit}` and `{unit}`"),
        };
        let help = "write the same unit after both ends, or only after the last";
        return Err((message, help.to_owned()));
    }
    if from >= to {
        let message = format!("the range from {from} to {to} does not increase");
        return Err((message, "write the smaller end first".to_owned()));
    }
    if is_geometric && from <= 0.0 {
        let message = format!("a range with equal ratios cannot begin at {from}");
        return Err((message, "begin above 0, or leave out the `x`".to_owned()));
    }
    let steps = (count - 1) as f64;
    let value = |i: usize| {
        let done = i as f64;
        match i {
            0 => from,
            _ if i == count - 1 => to,
            _ if is_geometric => round_to_13_digits(from * libm::pow(to / from, done / steps)),
            _ => round_to_13_digits((from * (steps - done) + to * done) / steps),
        }
    };
    let text = |number: f64| match unit.as_str() {
        "" => number.to_string(),
        unit => format!("{number} {unit}"),
    };
    Ok((0..count).map(|i| text(value(i))).collect())
}

/// Rounds to 13 significant digits: 1.4, not 1.4000000000000001.
fn round_to_13_digits(number: f64) -> f64 {
    format!("{number:.12e}").parse().unwrap_or(number)
}

/// Splits at commas outside quotes and braces.
fn list(text: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0_u32, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    let parts: Vec<String> = parts.iter().map(|part| part.trim().to_owned()).collect();
    match parts.as_slice() {
        [only] if only.is_empty() => Err("the list of values is empty".to_owned()),
        parts if parts.iter().any(String::is_empty) => {
            Err("a value between two commas is empty".to_owned())
        }
        parts if parts.len() > MAX_VALUES => Err(format!(
            "a list has at most {MAX_VALUES} values, not {}",
            parts.len()
        )),
        _ => Ok(parts),
    }
}

/// Adds the unit of the last value if the others have none: `5,10,20 Mbit/s`.
fn apply_last_unit(mut values: Vec<String>) -> Vec<String> {
    if let Some((last, others)) = values.split_last_mut()
        && let Some((_, unit)) = split_unit(last)
        && !unit.is_empty()
        && others.iter().all(|value| value.parse::<f64>().is_ok())
    {
        for value in others {
            *value = format!("{value} {unit}");
        }
    }
    values
}

/// Returns the unit and the values as numbers, if all are numbers with the same unit.
fn numbers(values: &[String]) -> Option<(String, Vec<f64>)> {
    let quantities = values.iter().map(|value| split_unit(value));
    let quantities: Vec<(f64, &str)> = quantities.collect::<Option<_>>()?;
    if quantities.iter().any(|(number, _)| !number.is_finite()) {
        return None;
    }
    let unit = quantities.first()?.1;
    let same = quantities.iter().all(|(_, other)| *other == unit);
    same.then(|| {
        let numbers = quantities.iter().map(|(number, _)| *number);
        (unit.to_owned(), numbers.collect())
    })
}

/// Splits a quantity into its number and its unit.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let ends = (1..=text.len())
        .rev()
        .filter(|&end| text.is_char_boundary(end));
    let mut ends =
        ends.filter(|&end| text[..end].ends_with(|c: char| c.is_ascii_digit() || c == '.'));
    let (number, unit) = ends.find_map(|end| {
        let number: f64 = text[..end].parse().ok()?;
        Some((number, text[end..].trim()))
    })?;
    // `1-2` and `10.0.0.1` are not quantities.
    let is_unit =
        !unit.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ':'));
    is_unit.then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(option: &str) -> Vec<String> {
        Axis::parse(option).unwrap().values
    }

    #[test]
    fn files_of_a_pattern_are_the_values() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("m")).unwrap();
        for name in ["m/b.csv", "m/a.csv", "m/.hidden.csv", "m/c.txt", "z.csv"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let axis = |option| Axis::parse_with_files(option, directory.path());
        let values = |option| axis(option).unwrap().values;
        assert_eq!(values("include.demands=m/*.csv"), ["m/a.csv", "m/b.csv"]);
        assert_eq!(values("include.demands=m/*a*"), ["m/a.csv"]);
        assert_eq!(values("include.demands=*.csv"), ["z.csv"]);
        assert_eq!(values("include.demands=x.csv,y.csv"), ["x.csv", "y.csv"]);
        let none = axis("include.demands=m/*.toml").unwrap_err();
        assert!(none.message.starts_with("no file in"), "{none}");
        assert!(axis("include.demands=*/a.csv").is_err());
        assert!(axis("include.demands=absent/*.csv").is_err());
    }

    #[test]
    fn stars_match_any_characters() {
        for (pattern, name, is_match) in [
            ("*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aba", true),
            ("*b*", "abc", true),
            ("ab", "abc", false),
            ("*ab*ab", "ab", false),
            ("*.csv", ".a.csv", false),
        ] {
            assert_eq!(
                matches_file_name(pattern, name),
                is_match,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn range_includes_both_ends() {
        assert_eq!(
            values("k=1..2 Mbit/s/3"),
            ["1 Mbit/s", "1.5 Mbit/s", "2 Mbit/s"]
        );
        assert_eq!(values("k=1Mbit/s..2 Mbit/s/2"), ["1 Mbit/s", "2 Mbit/s"]);
        assert_eq!(values("k = 0..1/11")[3], "0.3");
        assert_eq!(values("k=1..100 ms/3x"), ["1 ms", "10 ms", "100 ms"]);
        assert_eq!(values("k=-1..1/3"), ["-1", "0", "1"]);
        assert_eq!(values("k=1 %..3 %/3"), ["1 %", "2 %", "3 %"]);
    }

    #[test]
    fn list_values_are_separated_by_commas() {
        assert_eq!(values("k=10ms, 50ms"), ["10ms", "50ms"]);
        assert_eq!(values("link.a.queue={ a = 1, b = 2 },codel").len(), 2);
        assert_eq!(values("include.links=../a.csv,../b.csv").len(), 2);
        assert_eq!(values("include.links=sub/../a.csv"), ["sub/../a.csv"]);
        assert_eq!(values("k=\"a,b\",c").len(), 2);
        let rates = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"];
        assert_eq!(values("k=5,10,20 Mbit/s"), rates);
        assert_eq!(values("k=5,10ms,20 ms"), ["5", "10ms", "20 ms"]);
        assert_eq!(values("k=a,20 ms"), ["a", "20 ms"]);
    }

    #[test]
    fn unit_after_the_count_is_reported() {
        let error = Axis::parse("k=10..100/4 ms").unwrap_err();
        assert_eq!(error.message, "the unit `ms` follows the count");
        assert_eq!(error.help, "did you mean `10..100 ms/4`?");
    }

    #[test]
    fn counts_are_integers() {
        for (text, whole) in [
            ("k=1,2", true),
            ("k=0,2e3", true),
            ("k=0.5,1", false),
            ("k=-1,1", false),
            ("k=1 ms,2 ms", false),
            ("k=1,1e17", false),
        ] {
            assert_eq!(Axis::parse(text).unwrap().is_integer(), whole, "{text}");
        }
    }

    #[test]
    fn values_of_one_unit_are_numeric() {
        let axis = Axis::parse("k=10ms,50 ms").unwrap();
        assert_eq!(
            (axis.unit.as_deref(), axis.numbers),
            (Some("ms"), Some(vec![10.0, 50.0]))
        );
        let axis = Axis::parse("k=1,2e3").unwrap();
        assert_eq!(
            (axis.unit.as_deref(), axis.numbers),
            (Some(""), Some(vec![1.0, 2000.0]))
        );
        for text in [
            "k=10ms,1s",
            "k=fluid,window",
            "k=1,infinite",
            "k=10.0.0.1,10.0.0.2",
        ] {
            assert_eq!(Axis::parse(text).unwrap().numbers, None, "{text}");
        }
    }

    proptest! {
        /// Any text gives an error or values.
        #[test]
        fn parsing_never_panics(option in ".{0,40}", ends in "[-0-9.e]{0,8}\\.\\.[-0-9.eE msx/]{0,12}") {
            let _ = Axis::parse(&option);
            let _ = Axis::parse(&format!("k={ends}"));
        }

        #[test]
        fn ranges_rise_from_end_to_end(from in -1e6..1e6_f64, over in 1e-3..1e6_f64, count in 2..50_usize) {
            let to = from + over;
            let axis = Axis::parse(&format!("k={from} ms..{to} ms/{count}")).unwrap();
            let numbers = axis.numbers.unwrap();
            prop_assert_eq!(numbers.len(), count);
            prop_assert_eq!((numbers[0], numbers[count - 1]), (from, to));
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
