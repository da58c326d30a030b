//! Tests of fitting a capture and its samples on the command line.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `netflow` with these arguments and returns its output.
fn netflow(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_netflow"))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The capture has 2941 data packets (counted by another program), so 29 samples of 100.
#[test]
fn fit_of_samples_equals_fit_of_trace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let capture = root.join("tests/reference/linux/reno_0.1_60_0.pcap.gz");
    let capture = capture.to_str().unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (samples, by_samples, by_trace) = (file("s.csv"), file("s.toml"), file("t.toml"));

    let lines = netflow(&["trace", "samples", capture]);
    assert_eq!(lines.lines().count(), 1 + 29);
    fs::write(&samples, lines).unwrap();
    netflow(&["profile", "fit", &samples, "-o", &by_samples]);
    netflow(&["profile", "fit", capture, "-o", &by_trace]);
    let profile = fs::read_to_string(&by_samples).unwrap();
    assert_eq!(profile, fs::read_to_string(&by_trace).unwrap());
    assert!(
        profile.contains("fitted to 29 samples of 1 flow"),
        "{profile}"
    );

    // Karn's algorithm yields fewer and longer times. A requested method is stated in the output.
    let forced = netflow(&["trace", "samples", "--rtt-method", "karn", capture]);
    assert!(forced.lines().skip(1).all(|line| line.ends_with(",karn")));
    let halves = netflow(&["trace", "samples", "--k", "50", capture]);
    assert_eq!(halves.lines().count(), 1 + 58);
}

/// A figure needs only three of the columns.
#[test]
fn plotted_samples_have_loss_rtt_and_throughput() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let capture = root.join("tests/reference/linux/reno_0.1_60_0.pcap.gz");
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let draw = |samples: &str| {
        let figure = file("figure.svg");
        let arguments = ["report", "linux-reno", "--figure", "profile"];
        netflow(&[&arguments[..], &["--samples", samples, "-o", &figure]].concat());
        fs::read_to_string(figure).unwrap()
    };
    let lines = netflow(&["trace", "samples", capture.to_str().unwrap()]);
    let (all, three, wrong) = (file("all.csv"), file("three.csv"), file("wrong.csv"));
    fs::write(&all, &lines).unwrap();
    let columns = |line: &str| line.split(',').collect::<Vec<_>>()[3..6].join(",") + "\n";
    fs::write(&three, lines.lines().map(columns).collect::<String>()).unwrap();
    let drawn = draw(&three);
    assert!(drawn.contains("samples"), "{drawn}");
    assert!(drawn == draw(&all));

    fs::write(&wrong, "loss,rtt_s,throughput_pps\n0.1,0.1,5\n2,0.1,5\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_netflow"))
        .args([
            "report",
            "linux-reno",
            "--figure",
            "profile",
            "--samples",
            &wrong,
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("row 2: loss is 2, allowed is 0 to 1"),
        "{said}"
    );
}
