//! Profile files: written files read back, and errors have locations.

use netflow_document::ProblemKind;
use netflow_profile::{
    Analytic, Formula, FormulaParameters, Grid, GridRow, GridSpec, PowerLaw, PowerLawRow,
    PowerLawSpec, Profile, builtin, builtin_names, from_toml, load, to_toml,
};
use proptest::prelude::*;

const GRID: &str = r#"format = 1
kind = "grid"
name = "lab"
rtt = ["60 ms", "100 ms"]
throughput-unit = "pkt/s"
rows = [
  { loss = 0.01, throughput = [194, 117.5] },
  { loss = 0.02, throughput = [135, 81.5] },
]
"#;

const POWER_LAW: &str = r#"format = 1
kind = "power-law"
name = "fit"
rtt-min = "60 ms"
rtt-max = "5 s"
rows = [
  { loss = 0, a = 1.0, b = 6.5 },
  { loss = 0.1, a = 0.9, b = 3.5 },
]
"#;

#[test]
fn files_are_read() {
    let grid = from_toml(GRID).expect("a good grid");
    assert_eq!(
        (grid.name(), grid.description(), grid.window_limit_pkts()),
        ("lab", "", None)
    );
    assert!((grid.throughput(0.01, 0.1) - 117.5).abs() < 1e-9);
    let in_ms = GRID.replace("pkt/s", "pkt/ms");
    assert!((from_toml(&in_ms).expect("pkt/ms").throughput(0.01, 0.1) - 117_500.0).abs() < 1e-6);
    let fit = from_toml(POWER_LAW).expect("a good power law");
    assert!((fit.throughput(0.0, 0.1) - 65.0).abs() < 1e-9);
    let pftk =
        "format = 1\nkind = \"pftk-full\"\nname = \"p\"\ntimeout = \"1 s\"\nwindow = \"64 pkt\"\n";
    assert!((from_toml(pftk).expect("a formula").throughput(0.01, 0.1) - 69.5245).abs() < 1e-4);
}

/// The files in the crate's documentation are valid.
#[test]
fn documented_files_are_read() {
    let documentation = include_str!("../../src/lib.rs");
    let mut files = 0;
    for part in documentation.split("//! ```toml\n").skip(1) {
        let text = part.split("//! ```").next().expect("the end of the block");
        let text = text
            .lines()
            .map(|line| line.trim_start_matches("//!"))
            .collect::<Vec<_>>()
            .join("\n");
        let profile = from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(profile.throughput(0.01, 0.1) > 50.0);
        files += 1;
    }
    assert_eq!(files, 3);
}

/// Asserts the error and its location after one replacement in a valid file.
#[track_caller]
fn rejection_error(good: &str, from: &str, to: &str, message: &str) -> Option<String> {
    assert!(good.contains(from), "{from}");
    let problems = from_toml(&good.replacen(from, to, 1)).expect_err("a bad file");
    let said: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}{}", problem.location(), problem.message))
        .collect();
    let found = said.iter().position(|said| said == message);
    let found = found.unwrap_or_else(|| panic!("{said:?}"));
    problems.into_vec().swap_remove(found).help
}

#[test]
fn errors_report_their_location() {
    rejection_error(
        GRID,
        "format = 1\n",
        "",
        "line 1, column 1: the profile has no `format`",
    );
    rejection_error(
        GRID,
        "format = 1",
        "format = 2",
        "line 1, column 10: `format` cannot be 2",
    );
    rejection_error(
        GRID,
        "name = \"lab\"\n",
        "",
        "line 1, column 1: the profile has no `name`",
    );
    rejection_error(
        GRID,
        "name = \"lab\"",
        "name = 3",
        "line 3, column 8: `name` must be a string, not a number",
    );
    rejection_error(
        GRID,
        "name = \"lab\"",
        "swing = 0\nname = \"lab\"",
        "line 3, column 9: swing is 0, allowed is 0.01 to 100",
    );
    rejection_error(
        GRID,
        "[\"60 ms\", \"100 ms\"]",
        "[]",
        "line 4, column 7: no round-trip times",
    );
    rejection_error(
        GRID,
        "\"100 ms\"",
        "\"60 ms\"",
        "line 4, column 17: round-trip times (s) must increase: 0.06 follows 0.06",
    );
    rejection_error(
        GRID,
        "0.02",
        "0.005",
        "line 8, column 12: loss must increase: 0.005 follows 0.01",
    );
    rejection_error(
        GRID,
        "0.02",
        "1.5",
        "line 8, column 12: loss is 1.5, allowed is 0 to 1",
    );
    rejection_error(
        GRID,
        "0.02",
        "nan",
        "line 8, column 12: `loss` must be a finite number",
    );
    rejection_error(
        GRID,
        ", 81.5",
        "",
        "line 8, column 31: 1 throughputs in this row for 2 round-trip times",
    );
    rejection_error(
        GRID,
        "81.5",
        "0",
        "line 8, column 37: throughput (pkt/s) is 0, allowed is above 0, 1e-60 to 1e60",
    );
    rejection_error(
        GRID,
        "81.5",
        "-3",
        "line 8, column 37: throughput (pkt/s) is -3, allowed is above 0, 1e-60 to 1e60",
    );
    rejection_error(
        GRID,
        "81.5",
        "inf",
        "line 8, column 37: `throughput` must be a finite number",
    );
    rejection_error(
        GRID,
        "81.5",
        "\"x\"",
        "line 8, column 37: `throughput` must be a number, not a string",
    );
    rejection_error(
        GRID,
        "{ loss = 0.02, throughput = [135, 81.5] }",
        "7",
        "line 8, column 3: `rows` must be tables, not a number",
    );
    rejection_error(
        POWER_LAW,
        "b = 3.5",
        "b = 0",
        "line 8, column 30: factor b is 0, allowed is above 0, 1e-100 to 1e100",
    );
    rejection_error(
        POWER_LAW,
        "b = 3.5 ",
        "",
        "line 8, column 3: this [[rows]] has no `b`",
    );
    rejection_error(
        POWER_LAW,
        "\"5 s\"",
        "\"5 ms\"",
        "line 5, column 11: round-trip times (s) must increase: 0.005 follows 0.06",
    );
    let empty = "format = 1\nkind = \"power-law\"\nname = \"x\"\nrtt-min = \"1 s\"\nrtt-max = \"2 s\"\nrows = []\n";
    assert_eq!(
        from_toml(empty).unwrap_err().to_string(),
        "line 6, column 8: error: no rows"
    );
    let toml = from_toml("format = 1\nkind = \n").unwrap_err();
    let toml = &toml.into_vec()[0];
    assert_eq!((toml.kind, toml.line), (ProblemKind::Syntax, Some(2)));
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = GRID
        .replace("name = ", "nam = ")
        .replace("pkt/s", "Mbit/s")
        .replace("81.5", "\"x\"");
    let problems = from_toml(&text).unwrap_err().into_vec();
    let lines: Vec<Option<usize>> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(3), Some(5), Some(8)], "{problems:?}");
}

#[test]
fn help_suggests_the_intended_name() {
    let help = rejection_error(
        GRID,
        "rtt = ",
        "rtts = ",
        "line 4, column 1: unknown key `rtts` in the profile",
    )
    .expect("help");
    assert!(
        help.starts_with("did you mean `rtt`? allowed here: format, kind,"),
        "{help}"
    );
    let help = rejection_error(
        GRID,
        "throughput = [135",
        "throughputs = [135",
        "line 8, column 18: unknown key `throughputs` in this [[rows]]",
    );
    assert_eq!(
        help.as_deref(),
        Some("did you mean `throughput`? allowed here: loss, throughput, extended")
    );
    let help = rejection_error(
        GRID,
        "\"grid\"",
        "\"gird\"",
        "line 2, column 8: unknown kind `gird`",
    )
    .expect("help");
    assert!(help.starts_with("did you mean `grid`?"), "{help}");
    let help = rejection_error(
        GRID,
        "\"60 ms\"",
        "60",
        "line 4, column 8: `rtt` has no unit: 60",
    )
    .expect("help");
    assert!(help.starts_with("write `rtt = \"60 s\"`"), "{help}");
    let help = rejection_error(
        GRID,
        "pkt/s",
        "Mbit/s",
        "line 5, column 19: unknown throughput-unit `Mbit/s`",
    );
    assert_eq!(help.as_deref(), Some("allowed: pkt/s, pkt/ms"));
    // A key of another kind is unknown here.
    rejection_error(
        POWER_LAW,
        "rtt-max",
        "window = \"8 pkt\"\nrtt-max",
        "line 5, column 1: unknown key `window` in the profile",
    );
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lab.toml");
    assert!(
        load(&path)
            .unwrap_err()
            .to_string()
            .starts_with(&format!("{}: error: cannot be read: ", path.display()))
    );
    std::fs::write(&path, GRID.replace("0.02", "0.005")).unwrap();
    let error = load(&path).unwrap_err();
    let place = format!("{}:8:12: ", path.display());
    assert!(error.to_string().starts_with(&place), "{error}");
    let first = &error.into_vec()[0];
    assert_eq!(
        (first.line, first.column, first.file.as_deref()),
        (Some(8), Some(12), Some(path.as_path()))
    );
    std::fs::write(&path, GRID).unwrap();
    assert_eq!(load(&path).expect("a good file").name(), "lab");
}

/// Asserts that a profile reads back with the same text and the same bits.
fn assert_round_trip(profile: &dyn Profile) {
    let text = to_toml(profile).expect("a definition");
    let again = from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(to_toml(&*again).as_deref(), Some(text.as_str()));
    assert_eq!(again.domain(), profile.domain());
    for (loss, rtt) in [(0.0, 0.1), (0.003, 0.06), (0.07, 0.9), (0.4, 7.0)] {
        assert_eq!(
            again.throughput(loss, rtt).to_bits(),
            profile.throughput(loss, rtt).to_bits()
        );
    }
}

#[test]
fn built_in_profiles_round_trip() {
    for name in builtin_names() {
        assert_round_trip(&*builtin(name).expect(name));
    }
}

fn increasing(max: f64, n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1e-9..max, n).prop_map(|mut values| {
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    })
}

fn grid() -> impl Strategy<Value = Grid> {
    let axes = (increasing(1.0, 1..6), increasing(10.0, 1..6), any::<bool>());
    axes.prop_flat_map(|(mut losses, rtts, lossless)| {
        if lossless {
            losses.insert(0, 0.0);
        }
        let row = prop::collection::vec(
            prop_oneof![1e-3..1e6f64, 1e-60..1e-50f64, 1e50..1e60f64],
            rtts.len(),
        );
        let rows = prop::collection::vec(row, losses.len());
        (
            Just(losses),
            Just(rtts),
            rows,
            "\\PC{0,12}",
            any::<String>(),
            (prop::option::of(1.0..1e6f64), 0.01..100.0f64),
        )
    })
    .prop_map(
        |(losses, rtts_s, rows, name, description, (window_pkts, swing))| {
            let rows = losses
                .into_iter()
                .zip(rows)
                .map(|(loss, throughput_pps)| GridRow {
                    loss,
                    throughput_pps,
                    extrapolated: Vec::new(),
                });
            Grid::new(GridSpec {
                name,
                description,
                window_pkts,
                sawtooth_amplitude: swing,
                rtts_s,
                rows: rows.collect(),
            })
            .expect("a good grid")
        },
    )
}

proptest! {
    #[test]
    fn grids_round_trip(grid in grid()) {
        assert_round_trip(&grid);
    }

    #[test]
    fn power_laws_round_trip(
        losses in increasing(1.0, 1..9),
        coefficients in prop::collection::vec((-3.0..3.0f64, 1e-9..1e9f64), 9),
        loss_rtt_exponent in prop_oneof![Just(0.0), -1e-3..1e-3f64],
        rtt in (1e-4..0.1f64, 0.1..100.0f64),
    ) {
        let rows = losses.iter().zip(coefficients).map(|(&loss, (a, b))| PowerLawRow { loss, a, b }).collect();
        let spec = PowerLawSpec {
            name: "any".into(),
            description: "a \"fit\"\n\\ of\tmine".into(),
            rows,
            loss_rtt_exponent,
            rtt_min_s: rtt.0,
            rtt_max_s: rtt.1,
        };
        assert_round_trip(&PowerLaw::new(spec).expect("a good power law"));
    }

    #[test]
    fn formulas_round_trip(
        formula in prop::sample::select(vec![Formula::Mathis, Formula::PftkApproximate, Formula::PftkFull]),
        segments_per_ack in 1.0..4.0f64,
        timeout_s in 0.0..5.0f64,
        window_pkts in prop::option::of(1.0..1e5f64),
    ) {
        let timeout_s = if formula == Formula::Mathis { 1.0 } else { timeout_s };
        let parameters = FormulaParameters { segments_per_ack, timeout_s, window_pkts };
        assert_round_trip(&Analytic::new("any", "", formula, parameters).expect("good parameters"));
    }

    /// Damage anywhere gives an error or another valid file, never a panic.
    #[test]
    fn damaged_files_do_not_panic(
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        put in prop_oneof!["\\PC{0,3}", prop::sample::select(vec!["nan", "1e999", "-0", "[[", "\"", "\n", "{", "é"]).prop_map(String::from)],
        which in any::<bool>(),
    ) {
        let good = if which { GRID } else { POWER_LAW };
        let from = at.index(good.len());
        let to = (from + length).min(good.len());
        let text = format!("{}{put}{}", &good[..from], &good[to..]);
        match from_toml(&text) {
            Ok(profile) => prop_assert!(profile.throughput(0.01, 0.1) > 0.0),
            Err(problems) => prop_assert!(problems.iter().all(|problem| problem.line.is_some())),
        }
    }
}
