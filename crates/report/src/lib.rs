//! Report pages and figures of simulation results.
//!
//! A [`Report`] reads one or more results directories and produces **one HTML page** that needs no network,
//! server or other file. The page shows:
//!
//! - the network as a map with a time slider;
//! - queue, loss and utilization of every link;
//! - rate and round-trip time of every connection;
//! - sortable and searchable tables, and the facts of the run.
//!
//! Properties of the page:
//!
//! - **Names are data.** The results are embedded as JSON that cannot end its element, and are displayed as
//!   text only. The Content-Security-Policy of the page allows only its own two scripts (by their SHA-256)
//!   and forbids any request.
//! - **Peaks are preserved.** Long series are downsampled to the minimum and the maximum of each of several
//!   hundred time intervals, in their order.
//! - **There is no NaN.** Missing values are absent, and a gap in a curve.
//! - **The same results give the same bytes.**
//! - **Large networks stay usable.** Above [`MAX_ALL_CURVES`] links or connections, only the busiest
//!   [`MAX_BUSIEST_CURVES`] have curves and are on the map. The tables and the curves of the whole network
//!   include all.
//!
//! [`results_figure`], [`sweep_figure`], [`profile_figure`], [`map_figure`] and [`distribution_figure`] draw
//! single figures for papers as SVG. A [`Drawing`] can also be converted to PDF or PNG, and contains its
//! points as CSV.
//!
//! A [`FailuresPage`] shows the effect of failures on a network: two maps and two tables, without a script.
//!
//! # What is bundled
//!
//! Every page includes [µPlot](https://github.com/leeoniya/uPlot) 1.6.32, © Leon Sorokin, MIT licence
//! (`vendor/uplot/LICENSE`), which draws the curves. PDFs and PNGs use Noto Sans, © Google, SIL Open Font
//! License (`vendor/noto-sans/LICENSE`), so that they are identical on every platform. It has Latin, Greek
//! and Cyrillic letters.

mod colours;
mod confidence_band;
mod data;
mod downsample;
mod error;
mod failures_page;
mod figure;
mod html;
mod layout;
mod map_data;
mod reference_run;
mod report;
mod rounding;
mod run;
mod series_table;
mod title;
mod unmet_demand;
mod worst_moment;

pub use colours::Rgb;
pub use error::Error;
pub use failures_page::{Effect, FailingNode, FailuresPage, MapLine, PageTable, Severity};
pub use figure::{
    Drawing, Figure, ProfileSample, Style, distribution_figure, map_figure, profile_figure,
    results_figure, sweep_figure,
};
pub use html::{PAGE_ENDINGS, PAGE_MARK};
pub use report::Report;
pub use run::{MAX_ALL_CURVES, MAX_BUSIEST_CURVES};
