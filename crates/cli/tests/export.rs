//! Tests of `netflow export` and its files.
#![cfg(unix)]

mod common;

use std::fs;
use std::os::unix::fs::symlink;

use common::{Workplace, text};

#[test]
fn file_equals_standard_output() {
    let place = Workplace::new();
    let printed = place.expect("export dumbbell.toml --to ns2", 0).stdout;
    place.expect(
        "export dumbbell.toml --to ns2 --interval 1s -o script.tcl",
        0,
    );
    assert_ne!(fs::read(place.path("script.tcl")).unwrap(), printed);
    let nothing = place.expect("export dumbbell.toml --to ns2 -o script.tcl", 0);
    assert!(nothing.stdout.is_empty() && nothing.stderr.is_empty());
    assert_eq!(fs::read(place.path("script.tcl")).unwrap(), printed);
    assert!(text(&printed).contains("tcp second B S {Agent/TCP/Reno packetSize_ 1460"));
}

/// Files are replaced atomically, but `/dev/null` must not be replaced.
#[test]
fn special_files_are_not_replaced() {
    let place = Workplace::new();
    symlink("/dev/null", place.path("nowhere")).unwrap();
    place.expect("export dumbbell.toml --to ns2 -o nowhere", 0);
    let link = fs::symlink_metadata(place.path("nowhere")).unwrap();
    assert!(link.file_type().is_symlink());
    place.expect("export dumbbell.toml --to ns2 -o .", 3);
}
