//! Generator and test of `docs/reference/commands.md`, the reference of the command line. `NETFLOW_BLESS=1`
//! rewrites the page.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::{Arg, Command};

use crate::args::{GROUPS, complete_command};
use crate::help_examples::EXAMPLES;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/commands.md"
);

const HEAD: &str = "\
# Command line

All commands and their options. `netflow COMMAND --help` prints the same, and `netflow man -o DIR` writes manual
pages. A name in `<…>` is one value. Times, rates and sizes have units, as in the [scenario file](scenario-file.md).

All commands have the same [exit codes](reading-results.md#exit-codes). The options `-h`, `--help` and `--version` are
not listed. This page is generated from the code (`cargo test -p netflow-cli reference`).
";

fn page() -> String {
    let mut command = complete_command().disable_help_subcommand(true);
    command.build();
    let mut page = HEAD.to_owned();
    let mut said = BTreeSet::new();
    for (title, names) in GROUPS {
        let _ = write!(page, "\n## {title}\n");
        for name in names {
            let it = command.find_subcommand(name).expect("a command of a group");
            section(it, name, "###", &mut said, &mut page);
        }
    }
    page
}

/// Writes a command and its subcommands.
fn section(
    command: &Command,
    path: &str,
    level: &str,
    said: &mut BTreeSet<String>,
    page: &mut String,
) {
    let _ = write!(page, "\n{level} `netflow {path}`\n");
    let about = command.get_long_about().or(command.get_about());
    let about = about.expect("every command says what it is for");
    let _ = write!(page, "\n{}\n", paragraphs(&about.to_string(), ""));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(page, "\n```text\n{usage}\n```\n");
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let arguments = command.get_arguments().filter(shown);
    for (i, arg) in arguments.enumerate() {
        page.push_str(if i == 0 { "\n" } else { "" });
        argument(arg, said, page);
    }
    if let Some((_, lines)) = EXAMPLES.iter().find(|(known, _)| *known == path) {
        page.push_str("\n```sh\n");
        for (i, (line, what)) in lines.iter().enumerate() {
            let _ = writeln!(page, "{}# {what}\n{line}", if i == 0 { "" } else { "\n" });
        }
        page.push_str("```\n");
    }
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name());
        section(below, &path, &format!("{level}#"), said, page);
    }
}

/// Writes an argument. The long help is written only once for arguments of equal name and help.
fn argument(arg: &Arg, written_help: &mut BTreeSet<String>, page: &mut String) {
    let short = arg.get_short().map(|it| format!("-{it}, "));
    let _ = write!(page, "- `{}{arg}`", short.unwrap_or_default());
    let help = arg.get_long_help().or(arg.get_help());
    let help = help.expect("every argument has help").to_string();
    let is_new = written_help.insert(help.clone());
    // The default is at the end of the help.
    let (help, default) = match help.rsplit_once("[default: ") {
        Some((help, default)) => (help.trim_end(), Some(default.trim_end_matches(']'))),
        None => (help.as_str(), None),
    };
    let help = if is_new {
        help
    } else {
        help.split("\n\n").next().unwrap_or_default()
    };
    let _ = writeln!(page, ": {}", paragraphs(help, "  "));
    let mut more = Vec::new();
    let values = arg.get_possible_values();
    let values = values.iter().filter(|it| !it.is_hide_set());
    let values: Vec<String> = values
        .map(|it| match it.get_help() {
            Some(what) => format!("`{}` ({})", it.get_name(), plain(&what.to_string())),
            None => format!("`{}`", it.get_name()),
        })
        .collect();
    let takes = arg.get_action().takes_values();
    if takes && !values.is_empty() {
        more.push(format!("Allowed: {}.", values.join(", ")));
    }
    let given = arg.get_default_values().iter();
    let given: Vec<String> = given
        .map(|it| format!("`{}`", it.to_string_lossy()))
        .collect();
    match default {
        _ if takes && !given.is_empty() => more.push(format!("Default: {}.", given.join(" "))),
        Some(default) => more.push(format!("Default: {}.", plain(default))),
        None => {}
    }
    if !more.is_empty() {
        let _ = writeln!(page, "\n  {}", more.join(" "));
    }
}

/// Formats paragraphs, indented except the first.
fn paragraphs(text: &str, indent: &str) -> String {
    let each = text.trim().split("\n\n").map(plain);
    each.collect::<Vec<_>>().join(&format!("\n\n{indent}"))
}

/// Joins a text to one line and escapes Markdown, except within backticks.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut plain = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i > 0 {
            plain.push('`');
        }
        for c in part.chars() {
            if i % 2 == 0 && matches!(c, '<' | '>' | '*' | '_' | '[' | ']') {
                plain.push('\\');
            }
            plain.push(c);
        }
    }
    plain
}

/// The page needs Linux because some commands exist only there.
#[cfg(target_os = "linux")]
#[test]
fn command_reference_is_current() {
    let made = page();
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        std::fs::write(FILE, &made).unwrap();
    }
    let kept = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        made == kept,
        "docs/reference/commands.md is out of date: run this test with NETFLOW_BLESS=1"
    );
}

#[test]
fn markdown_characters_are_escaped() {
    assert_eq!(
        plain("a *b* `c*`\n d_e <F>"),
        "a \\*b\\* `c*` d\\_e \\<F\\>"
    );
    assert_eq!(paragraphs("a\nb\n\nc", "  "), "a b\n\n  c");
}
