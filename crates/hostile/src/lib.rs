//! Everything that netflow reads, tried with inputs that nobody meant.
//!
//! [`READERS`] has one function for every kind of input. It takes any bytes, reads them as netflow
//! would, and panics if what came out cannot be; what is wrong with the bytes is for the reader to
//! say. [`run`] feeds them with inputs that are kept under `corpus/READER` and beside the other tests,
//! damaged by [`mutate::damage`]: bits and bytes, numbers, words of the format, pieces of other
//! inputs. Input number i of a seed is always the same.
//!
//! ```sh
//! cargo run --profile hostile -p netflow-hostile -- --inputs 10000000 --seed 1
//! cargo run --profile hostile -p netflow-hostile -- --seconds 60 ns2 capture
//! ```
//!
//! The profile `hostile` is optimised and checks overflows and debug assertions. What panics, takes
//! longer than [`LONGEST`] or more than [`MOST_BYTES`] of memory is kept under
//! `corpus/failed/READER`; the tests of this crate, which try some hundred inputs a reader, read what is
//! there first. With a nightly compiler and cargo-fuzz the same functions can be led by what they
//! cover: see `fuzz/Cargo.toml`.

pub mod mutate;
mod readers;
mod run;
mod watch;

pub use readers::{
    READERS, Reader, capture, connections_table, ipb, links_table, manifest, network, ns2,
    packets_table, profile, samples_table, scenario, series, series_jsonl, stack, summary,
    topology, workloads,
};
pub use run::{Failed, Plan, Tried, replay, run, seeds};
pub use watch::{LONGEST, MOST_BYTES};
