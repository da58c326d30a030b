//! Fuzz targets, one function for each kind of input.

mod ipb;
mod measurements;
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
pub use measurements::measurements;
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
    pub(crate) extra_inputs: &'static [(&'static str, &'static str)],
    /// Words of the format.
    pub(crate) dictionary: &'static [&'static str],
}

/// All fuzz targets.
pub const READERS: &[Reader] = &[
    Reader {
        name: "scenario",
        read: scenario,
        extra_inputs: &[("scenarios", ".toml"), ("tests/invalid", ".toml")],
        dictionary: scenarios::DICTIONARY,
    },
    Reader {
        name: "workloads",
        read: workloads,
        extra_inputs: &[("scenarios", "web.toml")],
        dictionary: scenarios::DICTIONARY,
    },
    Reader {
        name: "links_table",
        read: links_table,
        extra_inputs: &[],
        dictionary: scenarios::TABLE_DICTIONARY,
    },
    Reader {
        name: "connections_table",
        read: connections_table,
        extra_inputs: &[],
        dictionary: scenarios::TABLE_DICTIONARY,
    },
    Reader {
        name: "profile",
        read: profile,
        extra_inputs: &[],
        dictionary: profiles::DICTIONARY,
    },
    Reader {
        name: "stack",
        read: stack,
        extra_inputs: &[],
        dictionary: profiles::DICTIONARY,
    },
    Reader {
        name: "ns2",
        read: ns2,
        extra_inputs: &[("crates/trace/tests/malformed", ".tr")],
        dictionary: traces::DICTIONARY,
    },
    Reader {
        name: "capture",
        read: capture,
        extra_inputs: &[("crates/trace/tests/malformed", ".hex")],
        dictionary: &[],
    },
    Reader {
        name: "ipb",
        read: ipb,
        extra_inputs: &[],
        dictionary: ipb::DICTIONARY,
    },
    Reader {
        name: "summary",
        read: summary,
        extra_inputs: &[],
        dictionary: results::DICTIONARY,
    },
    Reader {
        name: "manifest",
        read: manifest,
        extra_inputs: &[],
        dictionary: results::DICTIONARY,
    },
    Reader {
        name: "network",
        read: network,
        extra_inputs: &[],
        dictionary: results::DICTIONARY,
    },
    Reader {
        name: "series",
        read: series,
        extra_inputs: &[],
        dictionary: results::DICTIONARY,
    },
    Reader {
        name: "series_jsonl",
        read: series_jsonl,
        extra_inputs: &[],
        dictionary: results::DICTIONARY,
    },
    Reader {
        name: "measurements",
        read: measurements,
        extra_inputs: &[],
        dictionary: measurements::DICTIONARY,
    },
    Reader {
        name: "samples_table",
        read: samples_table,
        extra_inputs: &[],
        dictionary: tables::DICTIONARY,
    },
    Reader {
        name: "packets_table",
        read: packets_table,
        extra_inputs: &[],
        dictionary: tables::DICTIONARY,
    },
    Reader {
        name: "topology",
        read: topology,
        extra_inputs: &[
            ("tests/reference/topologies", "Abilene.graphml"),
            ("crates/import/tests/tools/samples", ""),
        ],
        dictionary: topologies::DICTIONARY,
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
