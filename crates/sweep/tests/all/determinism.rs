//! Identical files for any threads, shards, interruptions and damage.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use netflow_results::Format;
use netflow_sweep::{Error, Model, Sweep, SweepRequest, WriteOptions, WriteSummary};
use rayon::prelude::*;

use crate::common::{axes, error_text, files, load, request, sweep};

fn write(sweep: &Sweep, to: &Path, writing: WriteOptions) -> WriteSummary {
    let written = sweep.write(to, &writing, &load, &mut |_| {}, &|| false);
    written.unwrap_or_else(|error| panic!("{}", error_text(&error)))
}

/// Runs `work` with this number of threads.
fn with<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(work)
}

/// Writes the whole sweep with this number of threads.
fn write_with(threads: usize, sweep: &Sweep, to: &Path) -> WriteSummary {
    with(threads, || write(sweep, to, WriteOptions::default()))
}

fn write_whole_sweep(sweep: &Sweep) -> (tempfile::TempDir, WriteSummary) {
    let place = tempfile::tempdir().unwrap();
    let written = write_with(1, sweep, place.path());
    (place, written)
}

#[test]
fn results_do_not_depend_on_threads() {
    for format in Format::ALL
        .into_iter()
        .filter(|it| it.is_available() && *it != Format::Jsonl)
    {
        let sweep = sweep(SweepRequest {
            format,
            ..request()
        });
        let ((one, written), two) = (write_whole_sweep(&sweep), tempfile::tempdir().unwrap());
        assert_eq!(
            (written.cases, written.reused, written.missing_chunks),
            (60, 0, 0)
        );
        write_with(2, &sweep, two.path());
        assert!(files(one.path()) == files(two.path()));
    }
}

#[test]
fn shards_form_the_whole_sweep() {
    let sweep = sweep(request());
    let (one, _) = write_whole_sweep(&sweep);
    let parts = tempfile::tempdir().unwrap();
    // All shards at once, in one directory.
    let written: Vec<WriteSummary> = ["1/3", "2/3", "3/3"]
        .par_iter()
        .map(|shard| {
            let shard = shard.parse().unwrap();
            write(
                &sweep,
                parts.path(),
                WriteOptions {
                    shard,
                    ..WriteOptions::default()
                },
            )
        })
        .collect();
    assert_eq!(written.iter().map(|it| it.cases).sum::<u64>(), 60);
    assert!(files(one.path()) == files(parts.path()));
    // Existing chunks are not computed again.
    assert_eq!(write_with(2, &sweep, parts.path()).reused, 60);
}

#[test]
fn stopped_sweep_resumes() {
    let sweep = sweep(request());
    let (one, _) = write_whole_sweep(&sweep);
    let place = tempfile::tempdir().unwrap();
    let mut stopped = 0;
    for after in [0, 1, 3, 7, 10, 40, 400] {
        let asked = AtomicU64::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) > after;
        let end = with(2, || {
            sweep.write(
                place.path(),
                &WriteOptions::default(),
                &load,
                &mut |_| {},
                &stop,
            )
        });
        match end {
            Err(Error::Stopped { .. }) => stopped += 1,
            Err(error) => panic!("{}", error_text(&error)),
            Ok(written) => assert!(written.reused > 0),
        }
    }
    assert!(stopped > 3);
    write_with(2, &sweep, place.path());
    assert!(files(one.path()) == files(place.path()));
}

#[test]
fn damaged_chunks_are_recomputed() {
    let sweep = sweep(request());
    let (one, _) = write_whole_sweep(&sweep);
    let expected = files(one.path());
    let table = |name: &str| {
        expected
            .keys()
            .find(|path| path.starts_with(name))
            .unwrap()
            .clone()
    };
    let (links, network, receipt) = (table("links/"), table("network/0"), table("chunks/0"));
    for (path, text) in [
        (&links, None),
        (&links, Some("x")),
        (&network, Some("")),
        (&receipt, Some("{")),
    ] {
        let path = one.path().join(path);
        match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let written = write_with(1, &sweep, one.path());
        assert_eq!(written.damaged, [path.display().to_string()]);
        assert!(files(one.path()) == expected);
    }
    // One changed byte at the same size.
    let mut bytes = expected[&links].clone();
    bytes[20] ^= 1;
    fs::write(one.path().join(&links), bytes).unwrap();
    assert_eq!(write_with(1, &sweep, one.path()).damaged.len(), 1);
    assert!(files(one.path()) == expected);
}

/// Leftovers of a killed process are removed; other files remain.
#[test]
fn partial_files_are_removed() {
    let sweep = sweep(request());
    let (one, _) = write_whole_sweep(&sweep);
    let expected = files(one.path());
    let table = expected
        .keys()
        .find(|path| path.starts_with("links/"))
        .unwrap();
    let left = table.replace("links/", "links/.") + ".Ab3x.partial";
    fs::write(one.path().join(left), "half").unwrap();
    write_with(1, &sweep, one.path());
    assert!(files(one.path()) == expected);
    fs::write(one.path().join("links/mine.txt"), "mine").unwrap();
    let writing = WriteOptions {
        force: true,
        ..WriteOptions::default()
    };
    assert_eq!(write(&sweep, one.path(), writing).reused, 0);
    assert_eq!(files(one.path()).len(), expected.len() + 1);
}

/// The seed of a case depends only on its own seed index.
#[test]
fn runs_are_the_same_in_shards() {
    let sweep = sweep(SweepRequest {
        axes: axes(&["connection.c1.source.constant=1 Mbit/s,1.5 Mbit/s"]),
        settings: vec!["connection.c2.source={ ns2-tcp = \"reno\" }".to_owned()],
        model: Model::Packets,
        seeds: 3,
        ..request()
    });
    assert_eq!(sweep.cases().count(), 2 * 5 * 3);
    let (one, _) = write_whole_sweep(&sweep);
    let parts = tempfile::tempdir().unwrap();
    for shard in ["2/2", "1/2"] {
        let shard = shard.parse().unwrap();
        let writing = WriteOptions {
            shard,
            ..WriteOptions::default()
        };
        with(2, || write(&sweep, parts.path(), writing));
    }
    assert!(files(one.path()) == files(parts.path()));
}
