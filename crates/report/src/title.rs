//! Title of a scenario from its first comment.

use std::path::{Component, Path};

use netflow_files::{FileKind, read_text};
use netflow_results::Results;

/// Maximum length of a title in characters.
const MAX_TITLE_CHARS: usize = 100;

/// Returns the first sentence of the first comment of the scenario, from the copy in the results directory.
pub fn scenario_title(results: &Results) -> Option<String> {
    let kept = Path::new(results.manifest.scenario_copy.as_ref()?);
    // A manifest is untrusted, so files outside of its directory are not read.
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !kept.components().all(inside) {
        return None;
    }
    let path = results.directory().join(kept);
    let text = read_text(&path, FileKind::Scenario).ok()?;
    sentence(&text, &path.file_stem()?.to_string_lossy())
}

/// Returns the first sentence of the first comment of a file, without the name of the file in front of it.
fn sentence(text: &str, stem: &str) -> Option<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    let lines = lines.map(str::trim).take_while(|line| !line.is_empty());
    let comment = lines.collect::<Vec<_>>().join(" ");
    let comment = match comment.split_once(" \u{2014} ") {
        Some((name, rest)) if name == stem || !name.contains(' ') => rest,
        _ => &comment,
    };
    let end = comment.find(". ");
    let end = end.or_else(|| comment.strip_suffix('.').map(str::len));
    let end = [end, comment.find("? ").map(|at| at + 1)];
    let end = end.into_iter().flatten().min().unwrap_or(comment.len());
    let sentence = comment.get(..end)?.trim();
    // Keeps only the text before a colon if the sentence is too long.
    let sentence = match sentence.split_once(": ") {
        Some((what, _)) if sentence.chars().count() > MAX_TITLE_CHARS => what,
        _ => sentence,
    };
    let mut letters = sentence.chars();
    let first = letters.next()?;
    let title: Vec<char> = first.to_uppercase().chain(letters).collect();
    if title.len() > MAX_TITLE_CHARS {
        Some(
            title
                .into_iter()
                .take(MAX_TITLE_CHARS - 1)
                .chain(['\u{2026}'])
                .collect(),
        )
    } else {
        Some(title.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_the_first_sentence() {
        let title_of_comment = |text| sentence(text, "link-failure");
        let failure = "# link-failure \u{2014} the short way fails, traffic takes\n# the long one.\n#\n# more\n";
        assert_eq!(
            title_of_comment(failure).unwrap(),
            "The short way fails, traffic takes the long one"
        );
        assert_eq!(
            title_of_comment("# Who waits? All do.\n").unwrap(),
            "Who waits?"
        );
        assert_eq!(
            title_of_comment("# R1 at 2.5 Mbit/s. Slow.\n").unwrap(),
            "R1 at 2.5 Mbit/s"
        );
        assert_eq!(title_of_comment("[simulation]\n# late\n"), None);
        assert_eq!(title_of_comment("#\n# late\n"), None);
        let how = format!("# An office: {}.\n", "x".repeat(500));
        assert_eq!(title_of_comment(&how).unwrap(), "An office");
        let long = format!("# {}\n", "x".repeat(500));
        assert_eq!(
            title_of_comment(&long).unwrap().chars().count(),
            MAX_TITLE_CHARS
        );
    }
}
