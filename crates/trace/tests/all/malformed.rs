//! Malformed traces and captures: each is read as far as possible, and its faults are reported.
//!
//! Each file in `tests/malformed` (captures as hexadecimal numbers) has its expected report next to it.
//! `UPDATE=1` rewrites the reports.

use std::fmt::Write;
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use netflow_trace::from_reader;
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed")
}

/// Returns the number of events and the faults, or the error.
fn read_messages(name: &str, bytes: Vec<u8>) -> String {
    let mut text = String::new();
    let mut reader = match from_reader(name, Cursor::new(bytes)) {
        Ok(reader) => reader,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut events = 0;
    let end = loop {
        match reader.next() {
            Ok(Some(_)) => events += 1,
            Ok(None) => break String::new(),
            Err(error) => break format!("error: {error}\n"),
        }
    };
    let faults = reader.faults();
    let _ = writeln!(text, "{}, {events} events", reader.format());
    if faults.skipped > 0 {
        let _ = writeln!(text, "{} skipped", faults.skipped);
    }
    if faults.count > 0 {
        let _ = writeln!(text, "{} faults", faults.count);
    }
    for fault in &faults.first {
        let _ = writeln!(text, "{fault}");
    }
    if faults.truncated {
        text += "the end is missing\n";
    }
    text + &end
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if path.extension().is_none_or(|kind| kind != "hex") {
        return bytes;
    }
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digits = lines.flat_map(str::split_whitespace);
    digits
        .map(|digits| u8::from_str_radix(digits, 16).unwrap())
        .collect()
}

#[test]
fn malformed_traces_have_expected_messages() {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind != "expected"))
        .collect();
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is = read_messages(&name, bytes_of(&path));
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, is).unwrap();
            continue;
        }
        let stands = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(is, stands, "{name}");
    }
}

fn decompressed(name: &str) -> Vec<u8> {
    let path = folder().join("../../../../tests/reference").join(name);
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes.truncate(20_000);
    bytes
}

/// Reads a trace to its end. A reader in an endless loop would return more events than there are bytes.
fn read_all(bytes: Vec<u8>) {
    let most = bytes.len() + 1;
    let Ok(mut reader) = from_reader("random", Cursor::new(bytes)) else {
        return;
    };
    let mut events = 0;
    while let Ok(Some(_)) = reader.next() {
        events += 1;
        assert!(events <= most, "it loops");
    }
    let faults = reader.faults();
    assert!(faults.first.len() as u64 <= faults.count);
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        read_all(bytes);
    }

    #[test]
    fn arbitrary_bytes_after_header_cause_no_panic(
        which in 0_usize..6,
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let headers: [&[u8]; 6] = [
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0],
            &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 101],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
            &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d],
            &[0x1f, 0x8b, 8, 0],
            b"+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n",
        ];
        read_all([headers[which], &bytes].concat());
    }

    #[test]
    fn damaged_traces_are_read_to_their_end(
        capture: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = decompressed(if capture { "linux/reno_0.1_60_0.pcap.gz" } else { "ns2/traces/reno_p02_rtt100.tr.gz" });
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        read_all(bytes);
    }
}
