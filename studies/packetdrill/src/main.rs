//! The Linux TCP sender compared with scripts of packetdrill, which are in a folder that the user names:
//!
//! ```sh
//! cargo run -p study-packetdrill -- FOLDER   # writes README.md
//! ```

mod assertion;
mod replay;
mod script;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use netflow_problems::fill_page;
use replay::{Counts, Outcome};

const HELP: &str = "skipped: no folder with scripts of packetdrill
help: git clone https://github.com/google/packetdrill
      cargo run -p study-packetdrill -- packetdrill/gtests/net/tcp";

fn main() -> Result<(), Box<dyn Error>> {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("{HELP}");
        return Ok(());
    };
    let mut paths = Vec::new();
    collect(Path::new(&folder), &mut paths)?;
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{} has no scripts (*.pkt)\n{HELP}", folder.display()).into());
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(directory.join("differences.csv"))?;
    let explained: BTreeMap<String, String> = reader.deserialize().collect::<Result<_, _>>()?;
    let mut results = Vec::new();
    for path in &paths {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (outcome, counts) = match script::read(&text) {
            Ok(script) => replay::run(&script),
            Err(reason) => (Outcome::DoesNotApply(reason), Counts::default()),
        };
        results.push((name, outcome, counts));
    }
    let table = tables(&results, &explained);
    print!("{table}");
    let page = directory.join("README.md");
    let filled = fill_page(&fs::read_to_string(&page)?, "packetdrill", &table)?;
    fs::write(page, filled)?;
    unexplained(&results, &explained)
}

/// Adds all scripts in a folder and its subfolders.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|it| it == "pkt") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns the explanation of a script's difference. Names in Linux's self-tests have a prefix.
fn explanation<'a>(explained: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    let found = explained
        .iter()
        .find(|(known, _)| name.ends_with(known.as_str()));
    found.map(|(_, text)| text.as_str())
}

/// Returns an error if a script fails without an explanation, or passes in spite of one.
fn unexplained(
    results: &[(String, Outcome, Counts)],
    explained: &BTreeMap<String, String>,
) -> Result<(), Box<dyn Error>> {
    for (name, outcome, _) in results {
        match (outcome, explanation(explained, name)) {
            (Outcome::Fails(text), None) => {
                return Err(format!(
                    "{name}, {text}\nhelp: correct it, or explain it in differences.csv"
                )
                .into());
            }
            (Outcome::Passes { .. }, Some(_)) => {
                return Err(format!("{name} passes\nhelp: remove it from differences.csv").into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the summary and the table of all scripts.
fn tables(results: &[(String, Outcome, Counts)], explained: &BTreeMap<String, String>) -> String {
    let count = |wanted: fn(&Outcome) -> bool| results.iter().filter(|it| wanted(&it.1)).count();
    let passes = count(|it| matches!(it, Outcome::Passes { .. }));
    let fails = count(|it| matches!(it, Outcome::Fails(_)));
    let segments: usize = results.iter().map(|it| it.2.segments).sum();
    let assertions: usize = results.iter().map(|it| it.2.assertions).sum();
    let mut text = format!(
        "| scripts | apply | pass | segments compared | assertions compared |\n|---|---|---|---|---|\n\
         | {} | {} | {passes} | {segments} | {assertions} |\n\n\
         | script | result | segments | assertions | not compared | clock, reason or first difference |\n|---|---|---|---|---|---|\n",
        results.len(),
        passes + fails,
    );
    for (name, outcome, counts) in results {
        let (result, reason) = match outcome {
            Outcome::Passes { jiffies_per_s } => ("passes", format!("{jiffies_per_s} jiffies/s")),
            Outcome::Fails(first) => {
                let why = explanation(explained, name).unwrap_or("unexplained");
                // Lines move with the comments of a script.
                let first = first.split_once(": ").map_or(first.as_str(), |it| it.1);
                ("differs", format!("{why} ({first})"))
            }
            Outcome::DoesNotApply(reason) => ("does not apply", reason.clone()),
        };
        let _ = writeln!(
            text,
            "| {name} | {result} | {} | {} | {} | {reason} |",
            counts.segments,
            counts.assertions,
            counts.unknown.len(),
        );
    }
    text
}
