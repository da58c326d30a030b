//! Quantities with units: parsing, printing and separate types.
//!
//! The crate also contains name matching ([`nearest_name`]), quantiles, two containers
//! ([`Fifo`], [`Csr`]) and an optional index ([`NonMaxU32`]).
//!
//! Every quantity is an `f64` in one base unit ([`Seconds`], [`BitsPerSecond`], [`Bytes`],
//! [`Packets`], [`PacketsPerSecond`], [`Probability`]). Settings with several possible dimensions
//! have a sum type: [`Rate`] (bits or packets per second), [`Size`] (bytes or packets) and [`BufferSize`]
//! (a size or a time). Each type implements [`FromStr`](std::str::FromStr) and
//! [`Display`](std::fmt::Display).
//!
//! | quantity | units |
//! |---|---|
//! | time | `s` `ms` `us` `min` `h` |
//! | rate | `bit/s` `kbit/s` `Mbit/s` `Gbit/s`, also `bps` `kbps` `Mbps` `Gbps`; `B/s` `KB/s` `MB/s` `GB/s` |
//! | packet rate | `pkt/s` |
//! | size | `B` `KB` `MB` `GB` (powers of 1000), `KiB` `MiB` `GiB` (powers of 1024) |
//! | packets | `pkt` |
//! | probability | `%`, or no unit |
//!
//! Units are case-sensitive: a wrong case is rejected, and the error names the right one.
//!
//! Parsing is exact: the decimal value is scaled as a decimal and rounded once, so that `"20 ms"`
//! is the `f64` nearest to 0.02. Printing is exact, too: the printed text parses to the same bits.
//!
//! ```
//! use netflow_units::{Bytes, Rate, Seconds};
//!
//! let delay: Seconds = "20 ms".parse()?;
//! assert_eq!(delay.get(), 0.02);
//! assert_eq!(delay.to_string(), "20 ms");
//!
//! let rate: Rate = "8 Mbit/s".parse()?;
//! assert_eq!(rate.packets_per_second(Bytes(1000.0)).get(), 1000.0);
//!
//! let error = "50".parse::<Seconds>().unwrap_err();
//! assert_eq!(error.to_string(), "missing unit after `50`");
//! assert_eq!(error.help(), r#"write "50 s" or "50 ms"; units of time: s, ms, us, min, h, d"#);
//! # Ok::<(), netflow_units::UnitError>(())
//! ```
#![warn(missing_docs)]

mod bounds;
mod csr;
mod dimension;
mod error;
mod fifo;
mod link_name;
pub mod math;
mod names;
mod nanoseconds;
mod non_max;
mod number;
mod out_of_range;
mod print;
mod quantile;
mod quantity;
mod random;
mod read;
mod sum_types;

pub use bounds::Bounds;
pub use csr::Csr;
pub use error::{UnitError, UnitErrorKind};
pub use fifo::Fifo;
pub use link_name::{CIRCUIT, duplex_name, link_name, split_circuit};
pub use names::{composition_remark, nearest_name};
pub use nanoseconds::ns;
pub use non_max::NonMaxU32;
pub use out_of_range::{OutOfRange, ensure};
pub use quantile::quantile;
pub use quantity::{
    BitsPerSecond, Bytes, LongSeconds, Packets, PacketsPerSecond, Probability, Seconds,
};
pub use random::{SplitMix64, hash_mix};
pub use sum_types::{BufferSize, Rate, Size};
