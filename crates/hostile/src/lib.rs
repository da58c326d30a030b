//! Fuzz tests of every parser and reader in netflow.
//!
//! [`READERS`] has one function for each kind of input. It takes any bytes, reads them as netflow
//! would, and panics if the result is impossible; errors in the bytes are for the reader to report.
//! [`run`] feeds the readers with the inputs under `corpus/READER` and those of other tests,
//! mutated by [`mutate::mutate_input`]: bits and bytes, numbers, words of the format, pieces of other
//! inputs. Input number i of a seed is always the same.
//!
//! ```sh
//! cargo run --profile hostile -p netflow-hostile -- --inputs 10000000 --seed 1
//! cargo run --profile hostile -p netflow-hostile -- --seconds 60 ns2 capture
//! ```
//!
//! The profile `hostile` is optimized and checks overflows and debug assertions. Inputs that panic,
//! take longer than [`LONGEST`] or use more than [`MAX_MEMORY_BYTES`] of memory are kept under
//! `corpus/failed/READER`. The tests of this crate replay those first, then try a few hundred
//! inputs for each reader. With a nightly compiler and cargo-fuzz the same functions run under
//! coverage guidance: see `fuzz/Cargo.toml`.

pub mod mutate;
mod readers;
mod run;
mod watchdog;

pub use readers::{
    READERS, Reader, capture, connections_table, ipb, links_table, manifest, measurements, network,
    ns2, packets_table, profile, samples_table, scenario, series, series_jsonl, stack, summary,
    topology, workloads,
};
pub use run::{FuzzFailure, FuzzOptions, FuzzReport, replay, run, seeds};
pub use watchdog::{LONGEST, MAX_MEMORY_BYTES};
