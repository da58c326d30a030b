//! Integration tests of profiles, in one binary, which builds much faster than one per file.

mod cubic;
mod extrapolation;
mod files;
mod fit;
mod formulas;
mod grid_experiment;
mod grids;
mod log_derivatives;
mod robustness;
mod surfaces;
