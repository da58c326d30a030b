//! Consistency of the guide, and of the book that mdBook builds. With `NETFLOW_BLESS=1` the table
//! of scenarios is rewritten.

#[path = "../crates/report/tests/common/browser.rs"]
mod driver;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use driver::{Browser, chromium};
use netflow_needs::{Need, skip};
use serde_json::json;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below a folder with this extension, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the first sentence of a scenario's first comment.
fn first_sentence(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    let paragraph: Vec<&str> = comment
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let mut text = paragraph.join(" ");
    if let Some(end) = text.find(". ") {
        text.truncate(end + 1);
    }
    match text.split_once(" — ") {
        Some((_, text)) => text.to_owned(),
        None => text,
    }
}

/// The highlighter of the book reports languages that it does not know. This needs neither mdBook nor a browser.
#[test]
fn blocks_have_languages_that_the_book_knows() {
    let known = ["console", "py", "python", "rust", "sh", "text", "toml"];
    for page in files(&root().join("docs"), "md") {
        let text = fs::read_to_string(&page).expect("a page");
        let fences = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("```"));
        for fence in fences.filter(|fence| !fence.is_empty()) {
            let language = fence.split([' ', ',']).next().unwrap_or_default();
            assert!(known.contains(&language), "{}: ```{fence}", page.display());
        }
    }
}

#[test]
fn scenarios_are_listed_with_their_descriptions() {
    let folder = root().join("scenarios");
    let mut page = "\
# Scenarios to start from

Each file has comments, and commands to try at its top. The tests run all scenarios. The table shows the first
sentence of each file.

| scenario | description |
|---|---|
"
    .to_owned();
    for file in files(&folder, "toml") {
        let name = file.strip_prefix(&folder).expect("below").display();
        let sentence = first_sentence(&fs::read_to_string(&file).expect("a scenario"));
        assert!(!sentence.is_empty(), "{name} does not say what it is");
        page += &format!("| [{name}]({name}) | {sentence} |\n");
    }
    let path = folder.join("README.md");
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        fs::write(&path, &page).expect("room for the page");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == kept,
        "scenarios/README.md: NETFLOW_BLESS=1 renews it"
    );
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = fs::read_to_string(root().join("SUMMARY.md")).expect("the summary");
    let listed: Vec<&str> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    let once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    for folder in ["docs", "studies", "scenarios"] {
        for page in files(&root().join(folder), "md") {
            let name = page.strip_prefix(root()).expect("below");
            let name = name.to_str().expect("a name");
            if folder == "studies" && !name.ends_with("/README.md") {
                continue;
            }
            assert!(once.contains(name), "SUMMARY.md does not list {name}");
        }
    }
}

fn mdbook() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("mdbook"))
        .find(|file| file.is_file())
}

/// Builds the book in a separate folder.
fn built(program: &Path, place: &Path) -> Vec<PathBuf> {
    let output = Command::new(program)
        .args(["build", "--dest-dir"])
        .arg(place)
        .arg(root())
        .output()
        .expect("mdbook runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    files(place, "html")
}

/// Returns the values of an attribute. mdBook writes double quotes, and `<` in texts as `&lt;`.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    let tags = page.split('<').skip(1);
    let tags = tags.map(|tag| tag.split('>').next().unwrap_or(tag));
    tags.filter_map(|tag| tag.split_once(&start)?.1.split('"').next())
        .collect()
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn book_is_complete_and_fits_a_phone() {
    let Some(program) = mdbook() else {
        skip(
            Need::Mdbook,
            "mdbook is not installed: the book is not built",
        );
        return;
    };
    let place = tempfile::tempdir().expect("a place");
    let pages = built(&program, place.path());
    assert!(pages.len() > 40, "{pages:?}");
    assert_links_resolve(place.path(), &pages);
    match chromium() {
        Some(program) => opens_everywhere(&program, place.path(), &pages),
        None => skip(
            Need::Chromium,
            "chromium is not installed: the book is not opened",
        ),
    }
}

/// Checks that every link points to a file of the book, and to an existing anchor if it has one.
fn assert_links_resolve(book: &Path, pages: &[PathBuf]) {
    let texts: BTreeMap<&PathBuf, String> = pages
        .iter()
        .map(|page| (page, fs::read_to_string(page).expect("a page")))
        .collect();
    let places: BTreeMap<&PathBuf, BTreeSet<&str>> = texts
        .iter()
        .map(|(page, text)| (*page, attributes(text, "id").into_iter().collect()))
        .collect();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (page, text) in &texts {
        let is_print = page.ends_with("print.html") || page.ends_with("404.html");
        let links = attributes(text, "href").into_iter();
        for link in links.chain(attributes(text, "src")) {
            // The page to print contains all anchors, some of them twice, and its links do not
            // matter.
            if link.contains("://") || link.starts_with("data:") || is_print {
                continue;
            }
            tried += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = match file {
                "" => (*page).clone(),
                file => plain(&page.parent().expect("a folder").join(file)),
            };
            let leads = to.is_file()
                && to.starts_with(book)
                && (anchor.is_empty()
                    || places
                        .get(&to)
                        .is_some_and(|places| places.contains(anchor)));
            if !leads {
                let page = page.strip_prefix(book).expect("below");
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(tried > 500, "only {tried} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that no page writes to the console, is wider than a phone, or requires missing files.
fn opens_everywhere(program: &Path, book: &Path, pages: &[PathBuf]) {
    let mut browser = Browser::start(program, 390, 844);
    browser.look(390, 844, false);
    for page in pages {
        let name = page.strip_prefix(book).expect("below").display();
        // Pages for printing, frames, and pages of servers.
        if ["print.html", "toc.html", "404.html", "SUMMARY.html"]
            .contains(&name.to_string().as_str())
        {
            continue;
        }
        // Former pages lead to others.
        let text = fs::read_to_string(page).expect("a page");
        if text.contains("http-equiv=\"refresh\"") {
            continue;
        }
        let url = format!("file://{}", page.display());
        browser.call("Page.navigate", json!({ "url": url }));
        browser.until(&format!(
            "document.readyState === 'complete' && location.href === {url:?}"
        ));
        assert_eq!(
            browser.ask("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{name} sticks out at 390 px"
        );
        let errors = &browser.offences.errors;
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    let own = format!("file://{}/", book.display());
    let strangers: Vec<&String> = browser
        .offences
        .requests
        .iter()
        .filter(|request| !request.starts_with(&own) && !request.starts_with("data:"))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}
