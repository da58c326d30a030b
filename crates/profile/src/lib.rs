//! TCP profiles: throughput as a function of loss and round-trip time.
#![warn(missing_docs)]

mod analytic;
mod axis;
mod builtin;
mod compare;
mod domain;
mod error;
mod file;
mod grid;
mod power_law;
mod profile;

pub use analytic::{Analytic, Formula, FormulaParameters};
pub use builtin::{aliases, builtin, builtin_names};
pub use compare::{Comparison, Extreme, Faster, Region, common_axes, compare};
pub use domain::Domain;
pub use error::{Place, ProfileError};
pub use file::{Definition, ProfileFileError, ProfileFileErrorKind, from_toml, load, to_toml};
pub use grid::{Grid, GridRow, GridSpec};
pub use power_law::{PowerLaw, PowerLawRow, PowerLawSpec};
pub use profile::Profile;
