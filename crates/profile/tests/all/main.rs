//! Profiles, from outside. One binary: it builds in a fraction of the time of one for each file.

mod cubic;
mod designed;
mod extension;
mod files;
mod fit;
mod formulas;
mod grids;
mod robustness;
mod slopes;
mod surfaces;
