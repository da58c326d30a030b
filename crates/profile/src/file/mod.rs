//! Profile files: a profile as a small TOML document.
//!
//! ```toml
//! format = 1                      # the version of this format
//! kind = "grid"                   # grid, power-law, mathis, pftk-approximate, pftk-full
//! name = "lab-reno"               # its name in messages and lists
//! description = "our testbed, May" # optional: where it was measured
//! window = "64 pkt"               # optional: throughput is at most window / rtt
//! rtt = ["60 ms", "100 ms", "200 ms"]
//! throughput-unit = "pkt/s"       # or "pkt/ms"
//! rows = [                        # losses increase; one throughput for each rtt
//!   { loss = 0.01, throughput = [194, 117, 59.2] },
//!   { loss = 0.02, throughput = [135, 81.5, 40.3] },
//! ]
//! ```
//!
//! A power law has A and B for rtt in ms and throughput in packets/ms (\[Prof\] eqs. 2 and 3):
//!
//! ```toml
//! format = 1
//! kind = "power-law"
//! name = "lab-fit"
//! rtt-min = "60 ms"
//! rtt-max = "5 s"
//! loss-rtt-exponent = 1e-4        # optional: eq. 3's coefficient, 0 if absent
//! rows = [
//!   { loss = 0.01, a = 1.0240, b = 6.528 },
//!   { loss = 0.02, a = 1.0173, b = 6.165 },
//! ]
//! ```
//!
//! A formula has parameters, all optional:
//!
//! ```toml
//! format = 1
//! kind = "pftk-full"
//! name = "pftk-w64"
//! segments-per-ack = 2
//! timeout = "1 s"                 # not for mathis
//! window = "64 pkt"
//! ```

mod error;
mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use error::{ProfileFileError, ProfileFileErrorKind};

use crate::{Analytic, Grid, PowerLaw, Profile};

/// The version of the format that is read and written.
const FORMAT: &str = "1";

/// The kinds of profile that a file can describe.
const KINDS: &[&str] = &[
    "grid",
    "power-law",
    "mathis",
    "pftk-approximate",
    "pftk-full",
];

/// What a profile is, for saving it; see [`Profile::definition`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Definition<'a> {
    /// A table of A and B.
    PowerLaw(&'a PowerLaw),
    /// A measured surface.
    Grid(&'a Grid),
    /// A formula with parameters.
    Analytic(&'a Analytic),
}

/// Reads the profile file at `path`.
///
/// # Errors
/// The file cannot be read, or [`from_toml`]'s errors; the message begins with path, line and
/// column.
pub fn load(path: &Path) -> Result<Arc<dyn Profile>, ProfileFileError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| ProfileFileError::unreadable(path, error))?;
    from_toml(&text).map_err(|error| error.in_file(path))
}

/// Reads a profile from the text of a profile file.
///
/// # Errors
/// The text is no TOML, has an unknown key or kind, lacks a key, or has values that a profile
/// cannot have (axes that do not increase, values that are not positive, rows of the wrong
/// length); each with its line and column.
pub fn from_toml(text: &str) -> Result<Arc<dyn Profile>, ProfileFileError> {
    read::read(text).map_err(|error| error.placed_in(text))
}

/// Writes a profile as the text of a profile file, which reads back as the same profile.
///
/// `None` if its [`definition`](Profile::definition) is unknown.
pub fn to_toml(profile: &dyn Profile) -> Option<String> {
    profile.definition().map(write::write)
}
