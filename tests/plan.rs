//! Capacity plans of scenarios: the written scenario, its files, and its evaluation.

use std::fs;
use std::path::{Path, PathBuf};

use netflow::plan::{Error, ScenarioVariants};
use netflow::scenario::planning_tables::{read_candidates, read_modules};
use netflow::scenario::{CompiledScenario, FileAccess, load, load_within};
use netflow::scenario_edit::{EditError, ScenarioFile};
use netflow::steady::{
    Bounds, FailureOptions, Plan, PlanOptions, headroom_under_failures, plan as search,
};
use tempfile::TempDir;

const TRAFFIC: &str = r#"
[[demand]]
from = "A"
to   = "C"
kind = "poisson"
rate = "12 Mbit/s"
"#;

/// Directory with a scenario and its tables.
struct Files {
    directory: TempDir,
}

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        Files { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn options(growth: f64) -> PlanOptions {
    PlanOptions {
        bounds: Bounds {
            utilization: 0.8,
            ..Bounds::default()
        },
        intact_utilization: f64::INFINITY,
        failures: Some(FailureOptions {
            nodes: false,
            ..FailureOptions::default()
        }),
        demand_factor: growth,
    }
}

fn planned(files: &Files, growth: f64) -> (CompiledScenario, ScenarioVariants, Plan) {
    let path = files.path("network.toml");
    let scenario = load(&path, &[]).unwrap();
    let modules = read_modules(&files.path("modules.csv")).unwrap();
    let candidates = files.path("candidates.csv");
    let candidates = if candidates.exists() {
        read_candidates(&candidates).unwrap()
    } else {
        Vec::new()
    };
    let variants = ScenarioVariants::new(
        ScenarioFile::read(&path, &scenario).unwrap(),
        &scenario,
        &modules,
        candidates,
    )
    .unwrap();
    let plan = search(&variants, 10.0, &options(growth), &|| false, &mut |_| {});
    let plan = plan.unwrap().expect("it was not stopped");
    (scenario, variants, plan)
}

/// Returns the factor by which demands of a written plan can grow.
fn headroom(path: &Path) -> f64 {
    let scenario = load_within(path, &[], FileAccess::BelowDirectory).unwrap();
    let options = options(1.0);
    let of_failures = options.failures.unwrap();
    let found = headroom_under_failures(
        &scenario.network,
        10.0,
        &options.bounds,
        &of_failures,
        &|| false,
    );
    let found = found.unwrap().expect("it was not stopped");
    found.least.factor.expect("some headroom")
}

const SIMULATION: &str = "[simulation]\nduration = \"10 s\"\n";

/// Triangle whose detour A-B-C carries everything if A-C fails: both of its links need 12 · 1.5 / 0.8 = 22.5 Mbit/s.
const TRIANGLE: &str = r#"
# The links of the triangle.
[[link]]
from = "A"
to = "B"
bandwidth = "10 Mbit/s"    # rented
delay = "1 ms"

[[link]]
from = 'B'
to = 'C'
bandwidth = '10 Mbit/s'
reverse = { bandwidth = "4 Mbit/s" }
delay = "1 ms"

[[link]]
from = "A"
to = "C"
bandwidth = "30 Mbit/s"
delay = "1 ms"
"#;

#[test]
fn written_plan_keeps_comments_and_has_the_headroom() {
    let text = format!("{SIMULATION}{TRIANGLE}{TRAFFIC}");
    let files = Files::new(&[
        ("network.toml", &text),
        ("modules.csv", "capacity,cost\n5 Mbit/s,1\n"),
    ]);
    let (scenario, variants, plan) = planned(&files, 1.5);
    // Three modules of 5 Mbit/s at two links.
    assert_eq!((plan.cost, plan.is_optimal()), (6.0, true));
    let path = files.path("plan.toml");
    let files_written = variants.write(&scenario, &plan, &path).unwrap();
    assert_eq!(files_written, std::slice::from_ref(&path));
    let written = fs::read_to_string(&path).unwrap();
    let expected = text
        .replacen("\"10 Mbit/s\"", "\"25 Mbit/s\"", 1)
        .replace("'10 Mbit/s'", "'25 Mbit/s'")
        .replace("\"4 Mbit/s\"", "\"19 Mbit/s\"");
    assert_eq!(
        written,
        format!("# Written by netflow plan; cost 6\n{expected}")
    );
    assert!(headroom(&path) >= 1.5);
    // A second plan replaces the file; another file stays.
    variants.write(&scenario, &plan, &path).unwrap();
    let other = files.path("modules.csv");
    assert!(matches!(
        variants.write(&scenario, &plan, &other),
        Err(Error::Edit(EditError::Write(_)))
    ));
}

#[test]
fn new_link_is_written_to_tables_and_inline_arrays() {
    let inline = r#"
link = [
    { from = "A", to = "B", bandwidth = "20 Mbit/s", delay = "1 ms" },
    { from = "B", to = "C", bandwidth = "20 Mbit/s", delay = "1 ms" },
]
"#;
    let tables = TRIANGLE
        .split_once("[[link]]\nfrom = \"A\"\nto = \"C\"")
        .unwrap()
        .0;
    let [inline, tables] = [
        format!("{inline}{SIMULATION}{TRAFFIC}"),
        format!("{SIMULATION}{tables}{TRAFFIC}"),
    ];
    for text in [&inline, &tables] {
        let files = Files::new(&[
            ("network.toml", text),
            ("modules.csv", "capacity,cost\n30 Mbit/s,5\n"),
            ("candidates.csv", "from,to,delay,cost\nA,C,1 ms,1\n"),
        ]);
        let (scenario, variants, plan) = planned(&files, 1.5);
        // Only the new link keeps the traffic if a link fails.
        assert_eq!(plan.opened, [true]);
        let path = files.path("plan.toml");
        variants.write(&scenario, &plan, &path).unwrap();
        let written = load(&path, &[]).unwrap();
        let link = written.network.link_by_name("A->C").expect("the new link");
        assert_eq!(written.network.link_spec(link).bandwidth_bps, 30e6);
        assert!(headroom(&path) >= 1.5);
    }
}

#[test]
fn table_of_links_is_written_next_to_the_plan() {
    let text = format!("{SIMULATION}[include]\nlinks = \"links.csv\"\n{TRAFFIC}");
    let links =
        "from,to,bandwidth,delay\nA,B,10 Mbit/s,1 ms\nB,C,\"10 Mbit/s\",1 ms\nA,C,30 Mbit/s,1 ms\n";
    let files = Files::new(&[
        ("network.toml", &text),
        ("links.csv", links),
        (
            "modules.csv",
            "link,capacity,cost\nA<->B,5 Mbit/s,1\nC->B,20 Mbit/s,2\n",
        ),
    ]);
    let (scenario, variants, plan) = planned(&files, 1.5);
    assert_eq!(plan.cost, 5.0);
    let path = files.path("plan.toml");
    let table = files.path("plan-links.csv");
    assert_eq!(
        variants.write(&scenario, &plan, &path).unwrap(),
        [path.clone(), table.clone()]
    );
    let written = fs::read_to_string(&table).unwrap();
    assert!(
        written.ends_with("A,B,25 Mbit/s,1 ms\nB,C,\"30 Mbit/s\",1 ms\nA,C,30 Mbit/s,1 ms\n"),
        "{written}"
    );
    assert!(headroom(&path) >= 1.5);
    // A table of another program stays, and so does the plan.
    fs::write(files.path("other-links.csv"), links).unwrap();
    let error = variants.write(&scenario, &plan, &files.path("other.toml"));
    assert!(
        matches!(error, Err(Error::Edit(EditError::Write(_)))),
        "{error:?}"
    );
    assert!(!files.path("other.toml").exists());
    let elsewhere = tempfile::tempdir().unwrap();
    let error = variants.write(&scenario, &plan, &elsewhere.path().join("plan.toml"));
    assert!(
        matches!(error, Err(Error::Edit(EditError::Write(_)))),
        "{error:?}"
    );
}

#[test]
fn bandwidth_from_the_command_line_is_not_written() {
    let text = format!("{SIMULATION}{TRIANGLE}{TRAFFIC}");
    let files = Files::new(&[
        ("network.toml", &text),
        ("modules.csv", "capacity,cost\n5 Mbit/s,1\n"),
    ]);
    let path = files.path("network.toml");
    let scenario = load(&path, &["link.A<->B.bandwidth=5 Mbit/s".to_owned()]).unwrap();
    let modules = read_modules(&files.path("modules.csv")).unwrap();
    let variants = ScenarioVariants::new(
        ScenarioFile::read(&path, &scenario).unwrap(),
        &scenario,
        &modules,
        Vec::new(),
    )
    .unwrap();
    let plan = search(&variants, 10.0, &options(1.5), &|| false, &mut |_| {});
    let plan = plan.unwrap().unwrap();
    // Four modules at the narrower link.
    assert_eq!(plan.cost, 7.0);
    let error = variants
        .write(&scenario, &plan, &files.path("plan.toml"))
        .unwrap_err();
    assert!(error.to_string().contains("--set"), "{error}");
    assert!(!files.path("plan.toml").exists());
}

#[test]
fn unknown_links_and_nodes_are_reported() {
    let text = format!("{SIMULATION}{TRIANGLE}{TRAFFIC}");
    let files = Files::new(&[
        ("network.toml", &text),
        ("modules.csv", "link,capacity,cost\nA<->D,5 Mbit/s,1\n"),
    ]);
    let path = files.path("network.toml");
    let scenario = load(&path, &[]).unwrap();
    let modules = read_modules(&files.path("modules.csv")).unwrap();
    let error = ScenarioVariants::new(
        ScenarioFile::read(&path, &scenario).unwrap(),
        &scenario,
        &modules,
        Vec::new(),
    )
    .err()
    .unwrap();
    assert!(matches!(error, Error::UnknownLink(name) if name == "A<->D"));
    fs::write(files.path("candidates.csv"), "from,to\nA,D\n").unwrap();
    let candidates = read_candidates(&files.path("candidates.csv")).unwrap();
    let error = ScenarioVariants::new(
        ScenarioFile::read(&path, &scenario).unwrap(),
        &scenario,
        &[],
        candidates,
    )
    .err();
    assert!(matches!(error, Some(Error::UnknownNode { node, .. }) if node == "D"));
}
