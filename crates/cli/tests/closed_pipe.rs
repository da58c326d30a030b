//! Tests that a closed pipe is not an error.

mod common;

use std::io::Read;
use std::process::Stdio;

use common::{Workplace, text};

#[test]
fn closed_pipe_is_not_an_error() {
    let place = Workplace::new();
    for arguments in [
        "run dumbbell.toml",
        "run dumbbell.toml --json",
        "run dumbbell.toml --format csv",
        "solve dumbbell.toml --format csv",
        "check dumbbell.toml",
        "explain dumbbell.toml first",
        "profile list",
        "profile show nt --format json",
        "profile compare nt bsd",
        "completions bash",
        "schema",
        "new dumbbell",
    ] {
        let mut child = place
            .netflow(arguments.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{arguments}: {}", text(&said));
        assert!(
            !text(&said).contains("error"),
            "{arguments}: {}",
            text(&said)
        );
    }
}
