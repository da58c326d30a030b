//! Tests of the documented exit codes, and of the use of standard output and error.

mod common;

use std::fs;
use std::process::Output;

use common::{Workplace, files, text};

#[test]
fn successful_run_exits_with_0() {
    let output = Workplace::new().expect("run dumbbell.toml", 0);
    assert!(text(&output.stdout).contains("R->S"));
    assert!(
        !text(&output.stderr).contains("error"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn invalid_command_line_exits_with_2() {
    let place = Workplace::new();
    for wrong in [
        "",
        "rnu dumbbell.toml",
        "run",
        "run dumbbell.toml --interval 5",
        "run dumbbell.toml --interval 0s",
        "run dumbbell.toml --threads 0",
        "run dumbbell.toml --seeds 0",
        "run dumbbell.toml --format xml -o out",
        "run dumbbell.toml --classes",
        "run dumbbell.toml --set nonsense",
        "explain dumbbell.toml frist",
        "explain dumbbell.toml first --at 1h",
        "profile show ns-rneo",
        "profile show nt --loss 200%",
    ] {
        let output = place.expect(wrong, 2);
        assert_eq!(text(&output.stdout), "", "{wrong}");
        assert!(!text(&output.stderr).is_empty(), "{wrong}");
    }
}

#[test]
fn unknown_names_get_a_suggestion() {
    let place = Workplace::new();
    for (arguments, nearest) in [
        ("chekc dumbbell.toml", "check"),
        ("run dumbbell.toml --thread 2", "--threads"),
        ("explain dumbbell.toml frist", "`first`"),
        ("profile show ns-rneo", "`ns-reno`"),
    ] {
        let output = place.expect(arguments, 2);
        assert!(
            text(&output.stderr).contains(nearest),
            "{arguments}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn invalid_scenario_exits_with_2_and_locations() {
    let place = Workplace::new();
    let broken = common::DUMBBELL
        .replace("\"1 Mbit/s\"", "\"1 Mbq\"")
        .replace("source = { profile = \"ns-reno\" }\nstart", "start");
    fs::write(place.path("broken.toml"), broken).unwrap();
    for command in ["run", "check"] {
        let output = place.expect(&format!("{command} broken.toml"), 2);
        let problems = text(&output.stderr);
        assert_eq!(text(&output.stdout), "");
        assert!(
            problems.contains("broken.toml:22:16: error: "),
            "{problems}"
        );
        assert!(
            problems.contains("\"1 Mbq\""),
            "the line is shown: {problems}"
        );
        assert!(
            problems.matches("error: ").count() >= 2,
            "both are found: {problems}"
        );
    }
}

#[test]
fn unreadable_file_exits_with_3() {
    let place = Workplace::new();
    for missing in [
        "run missing.toml",
        "check missing.toml",
        "explain missing.toml c",
        "profile show missing.toml",
    ] {
        let output = place.expect(missing, 3);
        assert!(
            text(&output.stderr).contains("missing.toml"),
            "{missing}: {}",
            text(&output.stderr)
        );
    }
    fs::create_dir(place.path("directory.toml")).unwrap();
    place.expect("run directory.toml", 3);
}

#[test]
fn unwritable_file_exits_with_3() {
    let place = Workplace::new();
    fs::write(place.path("file"), "mine").unwrap();
    for output in ["file", "file/below"] {
        let result = place.expect(&format!("run dumbbell.toml -o {output}"), 3);
        assert!(
            text(&result.stderr).contains(output),
            "{}",
            text(&result.stderr)
        );
        assert_eq!(
            text(&result.stdout),
            "",
            "no tables of a run that has failed"
        );
    }
    assert_eq!(fs::read(place.path("file")).unwrap(), b"mine");
    place.expect("new dumbbell -o file/below.toml", 3);
}

#[test]
fn rejected_interval_keeps_earlier_results() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o out", 0);
    let before = files(&place.path("out"));
    // More than 10⁸ intervals.
    for seeds in ["", "--seeds 3 --set connection.*.source={ns2-tcp='reno'}"] {
        for directory in ["out", "new"] {
            let run = format!("run dumbbell.toml -o {directory} --interval 0.001us {seeds}");
            let output = place.expect(&run, 2);
            assert_eq!(text(&output.stdout), "");
            let said = text(&output.stderr);
            assert!(said.contains("error: option every: "), "{said}");
        }
        assert!(files(&place.path("out")) == before, "{seeds}");
        assert!(!place.path("new").exists(), "{seeds}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_standard_output_exits_with_3() {
    let place = Workplace::new();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = place
        .netflow(["run", "dumbbell.toml"])
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
}

#[test]
fn missing_format_support_has_help() {
    let place = Workplace::new();
    let output = place.run("run dumbbell.toml -o out --format parquet");
    let refused = |output: Output, feature: &str| {
        if output.status.code() != Some(0) {
            assert_eq!(output.status.code(), Some(2));
            let said = text(&output.stderr);
            assert!(said.contains(&format!("--features {feature}")), "{said}");
        }
    };
    refused(output, "parquet");
    for name in ["fig.pdf", "fig.png"] {
        refused(
            place.run(&format!("report --figure profile ns-reno -o {name}")),
            "pdf",
        );
    }
}
