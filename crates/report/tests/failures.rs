//! Tests of the page of failures: complete without a script, and the same in a browser.
#![cfg(unix)]

mod common;
#[path = "common/browser.rs"]
mod driver;

use std::fs;

use driver::{Browser, chromium};
use netflow_needs::{Need, skip};
use netflow_report::{Effect, FailingNode, FailuresPage, MapLine, PageTable, Severity};
use serde_json::json;

const HOSTILE: &str = "</title><script>alert(1)</script>{{style}}&\"'";

fn effect(severity: Severity, case: Option<usize>) -> Effect {
    Effect {
        severity,
        text: HOSTILE.to_owned(),
        case,
    }
}

/// Returns a page of a triangle whose nodes and links have every kind of effect.
fn page() -> FailuresPage {
    let node = |name: &str, severity, case| FailingNode {
        name: name.to_owned(),
        position: None,
        effect: effect(severity, case),
    };
    let line = |ends, severity, case| MapLine {
        ends,
        effect: effect(severity, case),
    };
    let cells = |n: usize| (0..n).map(|i| vec![format!("row {i}"), HOSTILE.to_owned()]);
    let columns = vec![("failure".to_owned(), false), ("lost".to_owned(), true)];
    FailuresPage {
        title: format!("Failures of {HOSTILE}"),
        findings: vec![HOSTILE.to_owned()],
        nodes: vec![
            node(HOSTILE, Severity::Fraction(0.2), Some(0)),
            node("B", Severity::NotSimulated, None),
            node("C", Severity::Fraction(0.0), Some(59)),
        ],
        failing: vec![
            line((0, 1), Severity::Fraction(0.1), Some(1)),
            line((1, 2), Severity::NoSteadyState, Some(2)),
            line((0, 2), Severity::NotSimulated, None),
        ],
        busy: vec![
            line((0, 1), Severity::Fraction(1.0), None),
            line((1, 0), Severity::Fraction(0.5), None),
            line((1, 2), Severity::Fraction(f64::NAN), None),
        ],
        max_lost: 0.2,
        max_lost_text: "20 % lost".to_owned(),
        cases: PageTable {
            columns: columns.clone(),
            rows: cells(60).collect(),
            omitted_rows: 0,
        },
        links: PageTable {
            columns,
            rows: cells(3).collect(),
            omitted_rows: 7,
        },
    }
}

#[test]
fn page_is_complete_without_script() {
    let html = page().html();
    for tag in ["<script", "<img", "http:", "https:", "NaN", "inf"] {
        assert!(!html.contains(tag), "{tag}");
    }
    assert_eq!(html.matches("</style>").count(), 1);
    assert_eq!(html.matches("</title><script").count(), 0);
    assert_eq!(
        html.matches("default-src 'none'; style-src 'sha256-")
            .count(),
        1
    );
    assert_eq!(html.matches("<tr id=\"case-").count(), 60);
    assert!(html.contains("… and 7 more."));
    // The largest loss has the last colour, and half of it the middle one.
    assert_eq!(html.matches("<circle class=\"l8\"").count(), 1);
    assert_eq!(html.matches("<line class=\"l4\"").count(), 2);
    assert_eq!(html, page().html());
}

#[test]
fn empty_analysis_gives_a_page() {
    let html = FailuresPage::default().html();
    assert!(html.contains("<main>") && !html.contains("NaN") && !html.contains("inf"));
}

#[test]
fn map_links_lead_to_table_rows() {
    let Some(program) = chromium() else {
        return skip(
            Need::Chromium,
            "chromium is not installed: the page of failures is not tried in a browser",
        );
    };
    let mut browser = Browser::start(&program, 1400, 1000);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("failures.html");
    fs::write(&file, page().html()).unwrap();
    browser.open(&file);
    assert_eq!(
        browser.ask("document.querySelectorAll('tr:target').length"),
        json!(0)
    );
    browser.click("section:first-of-type a[href='#case-59'] circle");
    assert_eq!(browser.text("tr:target td"), "row 59");
    let seen = "(() => { const row = document.querySelector('tr:target').getBoundingClientRect(); \
                return row.top >= 0 && row.bottom <= innerHeight; })()";
    assert_eq!(browser.ask(seen), json!(true));
    for (width, dark) in [(390, false), (820, true), (1400, false)] {
        browser.look(width, 900, dark);
        let fits = "document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(browser.ask(fits), json!(true), "{width}");
    }
    let offences = &browser.offences;
    assert!(offences.errors.is_empty(), "{:?}", offences.errors);
    assert_eq!(offences.requests.len(), 1, "{:?}", offences.requests);
}
