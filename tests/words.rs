//! Words of comments and documentation: retired phrases and the length of sentences.
//!
//! No retired phrase may become more frequent.
//! `tests/retired-phrases.txt` has a line for each phrase: the phrase, its replacement and the largest number of
//! occurrences, separated by tabs. With `NETFLOW_BLESS=1` the numbers are lowered to those of today.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/retired-phrases.txt");

/// Adds the files below a directory that have one of these endings.
fn collect(directory: &Path, endings: &[&str], files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).expect("a directory");
    for entry in entries.map(|entry| entry.expect("an entry").path()) {
        if entry.is_symlink() || entry.ends_with("target") {
            continue;
        }
        if entry.is_dir() {
            collect(&entry, endings, files);
        } else if endings
            .iter()
            .any(|ending| entry.extension().is_some_and(|it| it == *ending))
        {
            files.push(entry);
        }
    }
}

/// Returns the text of comments in code; pages are text as a whole.
fn prose(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a text");
    let is_code = path.extension().is_some_and(|it| it == "rs");
    let lines = text.lines().map(|line| {
        if !is_code {
            line
        } else {
            line.find("//").map_or("", |start| &line[start..])
        }
    });
    lines.map(str::to_lowercase).collect()
}

/// Counts a phrase between word boundaries; one that begins with `/// ` counts only at the start of a doc comment.
fn occurrences(lines: &[String], phrase: &str) -> usize {
    if let Some(first) = phrase.strip_prefix("/// ") {
        let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
        let mut before = false;
        let mut count = 0;
        for line in lines {
            let text = line.get(3..).unwrap_or_default().trim_start();
            let starts = text
                .strip_prefix(first)
                .is_some_and(|rest| !rest.starts_with(is_word));
            count += usize::from(is_doc(line) && !before && starts);
            before = is_doc(line);
        }
        return count;
    }
    let in_line = |line: &String| {
        line.match_indices(phrase)
            .filter(|(at, _)| {
                let before = line[..*at].chars().next_back();
                let after = line[at + phrase.len()..].chars().next();
                !before.is_some_and(is_word) && !after.is_some_and(is_word)
            })
            .count()
    };
    lines.iter().map(in_line).sum()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn retired_phrases_do_not_become_more_frequent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    collect(&root.join("docs"), &["md"], &mut files);
    collect(&root.join("src"), &["rs"], &mut files);
    collect(&root.join("crates"), &["rs"], &mut files);
    let texts: Vec<Vec<String>> = files.iter().map(|path| prose(path)).collect();
    let list = fs::read_to_string(LIST).expect("retired-phrases.txt");
    let mut lowered = String::new();
    let mut failures = String::new();
    for line in list.lines() {
        let mut fields = line.split('\t');
        let (Some(phrase), Some(instead), Some(most)) =
            (fields.next(), fields.next(), fields.next())
        else {
            panic!("not a phrase, its replacement and a number: {line}");
        };
        let most: usize = most.parse().expect("a number");
        let found: usize = texts.iter().map(|lines| occurrences(lines, phrase)).sum();
        writeln!(lowered, "{phrase}\t{instead}\t{}", found.min(most)).expect("a text");
        if found > most {
            writeln!(
                failures,
                "{found} times `{phrase}`, at most {most}: write {instead}"
            )
            .expect("a text");
        }
    }
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        fs::write(LIST, lowered).expect("retired-phrases.txt");
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn phrases_are_counted_between_word_boundaries() {
    let lines = [
        "/// what it is told.",
        "/// what",
        "// foretold: so many, so many",
    ];
    let lines = lines.map(str::to_owned);
    assert_eq!(occurrences(&lines, "told"), 1);
    assert_eq!(occurrences(&lines, "so many"), 2);
    assert_eq!(occurrences(&lines, "/// what"), 1);
}

/// Number of words above which a sentence is long.
const MAX_WORDS: usize = 35;

/// Largest fraction of long sentences.
const MAX_LONG_FRACTION: f64 = 0.03;

/// Returns the text blocks of a page: paragraphs, list items and sentences in tables, without code.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut in_code = false;
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        let is_item = line.starts_with("- ")
            || (line.split_once(". ")).is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if line.is_empty() || line.starts_with(['`', '#', '|', '!']) || is_item {
            blocks.push(String::new());
        }
        if in_code || line.starts_with("```") || line.starts_with('#') {
            continue;
        }
        if line.starts_with('|') {
            // Other cells are names and numbers.
            let cells = line.split('|').map(|cell| cell.trim().to_owned());
            blocks.extend(cells.filter(|cell| cell.ends_with('.')));
            blocks.push(String::new());
        } else if let Some(block) = blocks.last_mut() {
            *block += line;
            block.push(' ');
        }
    }
    blocks
}

/// Returns the sentences of a block. Code in a line counts as one word, and targets of links do not count.
fn sentences(block: &str) -> Vec<String> {
    let mut plain = String::new();
    for (i, part) in block.split('`').enumerate() {
        plain += if i % 2 == 0 { part } else { "code" };
    }
    let mut text = String::new();
    for (i, part) in plain.split("](").enumerate() {
        let visible = match part.split_once(')') {
            Some((_, rest)) if i > 0 => rest,
            _ => part,
        };
        text += visible;
    }
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(sentence) = sentences.last_mut() {
            *sentence += word;
            sentence.push(' ');
        }
        let word = word.trim_end_matches([')', '*', '"']);
        let abbreviates = ["e.g.", "i.e.", "vs."].contains(&word);
        if word.ends_with(['.', '?', '!']) && !abbreviates {
            sentences.push(String::new());
        }
    }
    sentences
}

fn word_count(sentence: &str) -> usize {
    let words = sentence.split_whitespace();
    words
        .filter(|it| it.contains(char::is_alphanumeric))
        .count()
}

/// The help is in `docs/reference/commands.md`.
#[test]
fn few_sentences_are_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md")];
    collect(&root.join("docs"), &["md"], &mut files);
    let (mut count, mut long) = (0, Vec::new());
    for file in &files {
        let page = fs::read_to_string(file).expect("a text");
        for sentence in blocks(&page).iter().flat_map(|block| sentences(block)) {
            let words = word_count(&sentence);
            count += usize::from(words > 0);
            if words > MAX_WORDS {
                let name = file.strip_prefix(root).expect("below").display();
                long.push(format!("{name}: {words} words: {sentence}"));
            }
        }
    }
    assert!(count > 2000, "only {count} sentences were found");
    let fraction = long.len() as f64 / count as f64;
    assert!(
        fraction < MAX_LONG_FRACTION,
        "{} of {count} sentences have more than {MAX_WORDS} words:\n{}",
        long.len(),
        long.join("\n")
    );
}

#[test]
fn sentences_are_separated() {
    let page = "# Title\n\nOne two\nthree. Four `a b c` five\n([six](x.md#y)).\n\n- seven\n\n| a b | c d. |\n\n```sh\nd e\n```\n";
    let counts: Vec<usize> = (blocks(page).iter())
        .flat_map(|block| sentences(block))
        .map(|sentence| word_count(&sentence))
        .filter(|&count| count > 0)
        .collect();
    assert_eq!(counts, [3, 4, 1, 2]);
}
