//! Smoke test of the study's command: two networks, two seeds.

use std::process::Command;

use netflow_needs::{Need, skip};

#[test]
fn the_study_runs() {
    let output = Command::new(env!("CARGO_BIN_EXE_study-profiles"))
        .arg("--quick")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    if text.starts_with("SKIPPED") {
        skip(Need::Ns2, &text);
        return;
    }
    for part in [
        "| topology | 2 plain |",
        "| topology | 2 jittered |",
        "| N5->N7 |",
        "| c4 |",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

/// The committed page contains all four networks.
#[test]
fn page_contains_all_networks() {
    let page = include_str!("../README.md");
    for name in [
        "topology",
        "four-transfers-unlimited",
        "medium",
        "hundred-nodes",
    ] {
        assert!(page.contains(&format!("\n## {name}\n")), "{name}");
        let rows = |text: &str| {
            let begin = format!("| {name} | ");
            text.lines()
                .filter(|line| line.starts_with(&begin))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(page).len(), 2, "{name}");
    }
}
