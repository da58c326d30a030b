//! Tests of the manual pages.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{Workplace, text};

/// Every command that a page refers to has a page, and every page is that of a command.
#[test]
fn all_commands_have_man_pages_with_examples() {
    let place = Workplace::new();
    let output = place.netflow(["man", "-o", "man1"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut pages = BTreeSet::new();
    let mut named = BTreeSet::from(["netflow".to_owned()]);
    for entry in fs::read_dir(place.path("man1")).unwrap() {
        let path = entry.unwrap().path();
        let page = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        // Subcommands are written as `netflow\-run(1)`.
        let lines = page.lines().map(|line| line.replace('\\', ""));
        let below = lines.filter_map(|line| line.strip_suffix("(1)").map(str::to_owned));
        let below: Vec<String> = below.collect();
        assert!(
            !below.is_empty() || page.contains("Examples:"),
            "{name}: {page}"
        );
        named.extend(below);
        pages.insert(name);
    }
    assert_eq!(pages, named);
    assert!(pages.contains("netflow-trace-burstiness"), "{pages:?}");
    let said = format!("{} pages in man1\n", pages.len());
    assert_eq!(text(&output.stdout), said);
}

#[test]
fn output_that_is_not_a_directory_is_rejected() {
    let place = Workplace::new();
    fs::write(place.path("file"), "").unwrap();
    let output = place.netflow(["man", "-o", "file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("file"), "{said}");
}
