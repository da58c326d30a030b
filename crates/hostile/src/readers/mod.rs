//! Fuzz targets, one function for each kind of input.

mod ipb;
mod profiles;
mod results;
mod scenarios;
mod tables;
mod topologies;
mod traces;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use ipb::ipb;
pub use profiles::{profile, stack};
pub use results::{manifest, network, series, series_jsonl, summary};
pub use scenarios::{connections_table, links_table, scenario, workloads};
pub use tables::{packets_table, samples_table};
pub use topologies::topology;
pub use traces::{capture, ns2};

/// Fuzz target.
#[derive(Debug)]
pub struct Reader {
    /// Name of its function, and of its folder in the corpus.
    pub name: &'static str,
    /// Function that reads any bytes. It panics only on an error in netflow.
    pub read: fn(&[u8]),
    /// Additional folders with initial inputs, from the root of the workspace, and the file name
    /// suffix. Files in `.hex` contain hexadecimal numbers.
    pub(crate) more: &'static [(&'static str, &'static str)],
    /// Words of the format.
    pub(crate) words: &'static [&'static str],
}

/// All fuzz targets.
pub const READERS: &[Reader] = &[
    Reader {
        name: "scenario",
        read: scenario,
        more: &[("scenarios", ".toml"), ("tests/invalid", ".toml")],
        words: scenarios::WORDS,
    },
    Reader {
        name: "workloads",
        read: workloads,
        more: &[("scenarios", "web.toml")],
        words: scenarios::WORDS,
    },
    Reader {
        name: "links_table",
        read: links_table,
        more: &[],
        words: scenarios::TABLE_WORDS,
    },
    Reader {
        name: "connections_table",
        read: connections_table,
        more: &[],
        words: scenarios::TABLE_WORDS,
    },
    Reader {
        name: "profile",
        read: profile,
        more: &[],
        words: profiles::WORDS,
    },
    Reader {
        name: "stack",
        read: stack,
        more: &[],
        words: profiles::WORDS,
    },
    Reader {
        name: "ns2",
        read: ns2,
        more: &[("crates/trace/tests/malformed", ".tr")],
        words: traces::WORDS,
    },
    Reader {
        name: "capture",
        read: capture,
        more: &[("crates/trace/tests/malformed", ".hex")],
        words: &[],
    },
    Reader {
        name: "ipb",
        read: ipb,
        more: &[],
        words: ipb::WORDS,
    },
    Reader {
        name: "summary",
        read: summary,
        more: &[],
        words: results::WORDS,
    },
    Reader {
        name: "manifest",
        read: manifest,
        more: &[],
        words: results::WORDS,
    },
    Reader {
        name: "network",
        read: network,
        more: &[],
        words: results::WORDS,
    },
    Reader {
        name: "series",
        read: series,
        more: &[],
        words: results::WORDS,
    },
    Reader {
        name: "series_jsonl",
        read: series_jsonl,
        more: &[],
        words: results::WORDS,
    },
    Reader {
        name: "samples_table",
        read: samples_table,
        more: &[],
        words: tables::WORDS,
    },
    Reader {
        name: "packets_table",
        read: packets_table,
        more: &[],
        words: tables::WORDS,
    },
    Reader {
        name: "topology",
        read: topology,
        more: &[("tests/reference/topologies", "Abilene.graphml")],
        words: topologies::WORDS,
    },
];

/// Returns a folder used by this thread only.
fn folder() -> PathBuf {
    thread_local! {
        static FOLDER: TempDir = {
            // A memory file system, if there is one.
            let memory = tempfile::tempdir_in("/dev/shm");
            memory.or_else(|_| tempfile::tempdir()).expect("a temporary folder")
        };
    }
    FOLDER.with(|folder| folder.path().to_owned())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("a file in a temporary folder");
}
