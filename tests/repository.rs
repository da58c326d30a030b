//! Map of the crates in `CONTRIBUTING.md`: every crate with the description of its `Cargo.toml`,
//! above all crates that it uses. With `NETFLOW_BLESS=1` the texts are rewritten; the order is
//! edited by hand.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Crate of the workspace.
struct Crate {
    description: String,
    /// Crates that it depends on, except for tests.
    uses: Vec<String>,
}

/// Returns the packages by their paths: `crates/NAME`, and `src/lib.rs` for the root package.
fn crates() -> BTreeMap<String, Crate> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON of cargo");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let place = |package: &Value| {
        let manifest = text(&package["manifest_path"]);
        let below = manifest.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/"));
        match below.and_then(|path| path.strip_suffix("Cargo.toml")) {
            Some("") => "src/lib.rs".to_owned(),
            Some(folder) => folder.trim_end_matches('/').to_owned(),
            None => panic!("{manifest} is not in the workspace"),
        }
    };
    let places: BTreeMap<String, String> = packages
        .clone()
        .map(|package| (text(&package["name"]), place(package)))
        .collect();
    let of = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let built_with = dependencies.iter().filter(|it| it["kind"].is_null());
        Crate {
            description: text(&package["description"]),
            uses: built_with
                .filter_map(|it| places.get(&text(&it["name"])).cloned())
                .collect(),
        }
    };
    packages
        .map(|package| (place(package), of(package)))
        .filter(|(place, _)| !place.starts_with("studies/"))
        .collect()
}

#[test]
fn the_crate_table_matches_the_manifests() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/CONTRIBUTING.md");
    let page = std::fs::read_to_string(path).expect("CONTRIBUTING.md");
    let crates = crates();
    let mut rows: Vec<String> = Vec::new();
    let lines = page.lines().map(|line| {
        let row = line
            .strip_prefix("| `")
            .and_then(|row| row.split_once("` | "));
        let Some((place, _)) = row else {
            return line.to_owned();
        };
        let it = crates.get(place).unwrap_or_else(|| panic!("no `{place}`"));
        rows.push(place.to_owned());
        format!("| `{place}` | {} |", it.description)
    });
    let renewed: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    let row_of = |place: &str| {
        let row = rows.iter().position(|row| row == place);
        row.unwrap_or_else(|| panic!("CONTRIBUTING.md lacks a row for `{place}`"))
    };
    for (place, it) in &crates {
        for used in &it.uses {
            assert!(
                row_of(place) < row_of(used),
                "`{place}` uses `{used}`, which does not stand below it"
            );
        }
    }
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        std::fs::write(path, renewed).expect("room for CONTRIBUTING.md");
    } else {
        assert!(
            page == renewed,
            "CONTRIBUTING.md: NETFLOW_BLESS=1 renews it"
        );
    }
}

/// At most two screens; details belong elsewhere.
#[test]
fn the_readme_is_short() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let lines = std::fs::read_to_string(path)
        .expect("README.md")
        .lines()
        .count();
    assert!(lines <= 110, "README.md has {lines} lines");
}

/// Returns the Markdown files in a folder and its subfolders.
fn pages_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
    pages
}

/// Every link of a page points to a file, and to an existing heading if it has one.
#[test]
fn page_links_resolve() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = Vec::new();
    for name in ["README", "CONTRIBUTING", "CHANGELOG", "SUMMARY"] {
        pages.push(root.join(format!("{name}.md")));
    }
    pages.extend(pages_below(&root.join("docs")));
    pages.extend(pages_below(&root.join("scenarios")));
    let studies = std::fs::read_dir(root.join("studies")).expect("studies");
    pages.extend(studies.map(|entry| entry.expect("an entry").path().join("README.md")));
    pages.retain(|page| page.is_file() && page.extension().is_some_and(|it| it == "md"));
    let mut wrong = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        let folder = page.parent().expect("a folder");
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ', '\n']).next())
        {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            if target.contains("://") || target.is_empty() {
                continue;
            }
            let path = if file.is_empty() {
                page.clone()
            } else {
                folder.join(file)
            };
            let leads = path.exists() && (heading.is_empty() || has_heading(&path, heading));
            if !leads {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Paths of the repository that the guide mentions exist.
#[test]
fn paths_in_pages_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = pages_below(&root.join("docs"));
    pages.push(root.join("README.md"));
    pages.push(root.join("CONTRIBUTING.md"));
    let mut wrong = Vec::new();
    let mut tried = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for path in text.split('`').skip(1).step_by(2) {
            let folders = ["crates/", "studies/", "scenarios/", "notebooks/"];
            let is_path = folders.iter().any(|folder| path.starts_with(folder));
            // Outputs of commands, and patterns.
            if !is_path || path.contains(|c: char| c.is_whitespace() || c == '*') {
                continue;
            }
            tried += 1;
            if !root.join(path).exists() && !path.ends_with("/failed") {
                wrong.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(tried > 50, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The system's mathematical functions have different bits on other machines. Code that affects
/// results uses `libm`, or `netflow_units::math` in hot loops. Pictures, generated problems and
/// measurements of real networks may use any.
#[test]
fn result_crates_do_not_use_system_math() {
    const FUNCTIONS: [&str; 23] = [
        "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "cbrt", "hypot",
        "sin", "cos", "tan", "sin_cos", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
        "gamma",
    ];
    const EXEMPT_CRATES: [&str; 5] = ["report", "problems", "hostile", "emulation", "testbed"];
    let files = files_of_code();
    assert!(files.len() > 300, "{}", files.len());
    let mut wrong = Vec::new();
    for path in files
        .iter()
        .filter(|path| !EXEMPT_CRATES.iter().any(|it| is_of(path, it)))
    {
        let text = std::fs::read_to_string(path).expect("a file");
        let before_tests = text.split("#[cfg(test)]\nmod ").next().unwrap_or(&text);
        for (line, i) in before_tests.lines().zip(1..) {
            let code = line.split("//").next().unwrap_or(line);
            let is_method = |name: &str| code.contains(&format!(".{name}("));
            if (FUNCTIONS.iter()).any(|name| is_method(name) || has_path(code, name)) {
                wrong.push(format!("{}:{i}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns whether the file belongs to this crate.
fn is_of(path: &std::path::Path, name: &str) -> bool {
    path.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/crates").to_owned() + "/" + name)
}

/// Returns the files in the crates' `src`, except tests.
fn files_of_code() -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    let crates = entries(&root.join("crates")).into_iter();
    let mut folders: Vec<_> = crates.map(|it| it.join("src")).collect();
    folders.push(root.join("src"));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.file_stem().is_some_and(|it| it == "tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.retain(|path| path.extension().is_some_and(|it| it == "rs"));
    files
}

/// Returns whether the code has `f64::name` as a whole word.
fn has_path(code: &str, name: &str) -> bool {
    let path = format!("f64::{name}");
    let mut rests = code.split(&path).skip(1);
    rests.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn has_heading(page: &std::path::Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(page).unwrap_or_default();
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let anchors = headings.map(|line| {
        let line = line.trim_start_matches('#').trim().to_lowercase();
        let kept = line
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().replace(' ', "-")
    });
    anchors.into_iter().any(|it| it == anchor)
}
