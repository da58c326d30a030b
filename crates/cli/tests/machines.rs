//! Tests that results are bit-identical on every machine, although the C math library depends on the
//! processor.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Workplace, files, text};
use netflow_needs::{Need, skip};
use netflow_problems::{SHARED_QUEUE, random_scenario, shipped_scenarios};

/// Setting that makes glibc ignore features of this processor, as on an older one.
const OLDER: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F",
);

/// Number of random scenarios.
const SCENARIOS: u64 = 100;

/// Prints results of the system's math library, for [`older_processor_gives_equal_output`].
#[test]
fn canary() {
    let sums = (1..10_000).fold([0_u64; 3], |sums, i| {
        let x = f64::from(i) * 1e-4;
        let of = [x.exp(), x.ln(), x.powf(0.3)];
        std::array::from_fn(|k| sums[k].wrapping_add(of[k].to_bits()))
    });
    println!("sums {sums:?}");
}

fn canary_output(older: bool) -> String {
    let me = std::env::current_exe().expect("the path of this program");
    let mut command = std::process::Command::new(me);
    command.args(["canary", "--exact", "--nocapture"]);
    if older {
        command.env(OLDER.0, OLDER.1);
    }
    let said = text(&command.output().expect("this program runs").stdout);
    let sums = said.lines().find(|line| line.starts_with("sums"));
    sums.unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn older_processor_gives_equal_output() {
    if canary_output(false) == canary_output(true) {
        let why =
            "the system's library of mathematics cannot be told to be that of another machine";
        return skip(Need::System, why);
    }
    let place = Workplace::new();
    fs::write(place.path("w.toml"), SHARED_QUEUE).unwrap();
    let mut wrong = Vec::new();
    let mut same = |arguments: &[&str]| -> Option<i32> {
        let [now, older] = [false, true].map(|older| {
            fs::remove_dir_all(place.path("results")).ok();
            let mut command = place.netflow(arguments);
            if older {
                command.env(OLDER.0, OLDER.1);
            }
            let output = command.output().unwrap();
            let results = place.path("results");
            // The output of a run that writes files contains only its duration in addition.
            let said = if results.exists() {
                files(&results)
            } else {
                vec![(PathBuf::new(), output.stdout)]
            };
            (output.status.code(), said)
        });
        if now != older {
            wrong.push(arguments.join(" "));
        }
        now.0
    };
    let mut done = 0;
    for seed in 0..SCENARIOS {
        let file = format!("random-{seed}.toml");
        fs::write(place.path(&file), random_scenario(seed).text).unwrap();
        let run = ["run", &file, "--allow-outside", "--quiet", "-o", "results"];
        done += usize::from(same(&run) == Some(0));
        same(&["solve", &file, "--format", "csv"]); // may also fail with the same error
    }
    assert!(done > SCENARIOS as usize * 3 / 4, "{done}");
    for path in shipped_scenarios() {
        let path = path.to_str().expect("a path of letters");
        let run = ["run", path, "--quiet", "-o", "results"];
        assert_eq!(same(&run), Some(0), "{path}");
        same(&["solve", path, "--format", "csv"]);
    }
    let range = "link.R->S.bandwidth=1..4 Mbit/s/4x";
    for arguments in [
        &["run", "w.toml", "--seeds", "7", "--quiet", "-o", "results"][..],
        &["solve", "dumbbell.toml", "--sensitivity", "--format", "csv"],
        &["sweep", "dumbbell.toml", "--vary", range, "-o", "results"],
        &["failures", "dumbbell.toml", "--format", "csv"],
        &[
            "availability",
            "dumbbell.toml",
            "--set",
            "link.*.unavailability=1%",
            "--states",
            "9",
            "--sample",
            "50",
            "--format",
            "csv",
        ],
        &["profile", "show", "linux-cubic", "--format", "csv"],
    ] {
        assert_eq!(same(arguments), Some(0), "{arguments:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
