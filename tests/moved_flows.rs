//! Failures after which flows with a common path have several equal-cost paths, and all take one.

use netflow::failures::FailureReport;
use netflow::steady::{FailureOptions, failures};

/// A direct link from A to D, and two longer paths of equal cost.
const NETWORK: &str = r#"
simulation = { duration = "10 s", ecmp = true }
link = [
    { from = "A", to = "D", bandwidth = "100 Mbit/s", metric = 1 },
    { from = "A", to = "B", bandwidth = "100 Mbit/s", metric = 1 },
    { from = "B", to = "D", bandwidth = "100 Mbit/s", metric = 1 },
    { from = "A", to = "C", bandwidth = "100 Mbit/s", metric = 1 },
    { from = "C", to = "D", bandwidth = "100 Mbit/s", metric = 1 },
]
"#;

/// Returns the marked failures, in the table and as rows, and the warning, with a demand of this
/// kind.
fn marked(kind: &str) -> (Vec<String>, Vec<String>, Option<String>) {
    let text = format!(
        "{NETWORK}demand = [{{ name = 'd', from = 'A', to = 'D', rate = '20 Mbit/s', {kind} }}]"
    );
    let prepared = netflow::scenario::from_str("test.toml", &text, "".as_ref(), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    let options = FailureOptions::default();
    let found = failures(&prepared.network, 10.0, &options, &|| false);
    let found = found.expect("a steady state").expect("it was not stopped");
    let seen = FailureReport::new(&prepared.network, &found, 10.0);
    let rows = seen.cases.iter().filter(|row| row.rerouted_unsplit);
    let rows = rows.map(|row| row.failure.clone()).collect();
    let html = seen.page("test.toml".as_ref(), &[]).html();
    let cells = html.split("<td>").filter_map(|cell| cell.split_once(" *<"));
    let cells = cells.map(|(name, _)| name.replace("&lt;", "<").replace("&gt;", ">"));
    (rows, cells.collect(), found.moved_parts_warning())
}

#[test]
fn rerouted_whole_flows_are_marked() {
    let (rows, cells, warning) = marked("kind = 'voice'");
    assert_eq!(rows, ["A<->D"]);
    assert_eq!(cells, rows);
    let warning = warning.expect("a warning");
    assert!(warning.starts_with("in 1 of "), "{warning}");
    // A rate is split.
    assert_eq!(marked("kind = 'poisson'"), (Vec::new(), Vec::new(), None));
}
