//! Integration tests of profiles, in one binary, which builds much faster than one per file.

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
