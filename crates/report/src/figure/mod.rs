//! Single figures for papers, drawn as SVG and converted to PDF or PNG.

mod distribution;
mod draw;
mod map;
mod names;
mod profile;
#[cfg(feature = "pdf")]
mod render;
mod results;
mod style;
mod sweep;

pub use distribution::distribution_figure;
pub use map::map_figure;
pub use profile::{ProfileSample, profile_figure};
pub use results::{Figure, results_figure};
pub use style::{Drawing, Style};
pub use sweep::sweep_figure;
