//! Single figures for papers, as SVG.

mod distribution;
mod draw;
mod profile;
mod results;

pub use distribution::distribution_figure;
pub use profile::{ProfileSample, profile_figure};
pub use results::{Figure, results_figure};
