//! Single figures for papers, as SVG.

mod draw;
mod profile;
mod results;

pub use profile::{ProfileSample, profile_figure};
pub use results::{Figure, results_figure};
