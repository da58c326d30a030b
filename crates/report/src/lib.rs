//! Pictures of netflow's results.
//!
//! A [`Report`] reads one or more results directories and becomes **one page** that needs nothing
//! else: no network, no server, no other file. It shows the network as a map that a slider moves
//! through time, every link's queue, loss and utilization, every connection's rate and round-trip
//! time, tables that can be sorted and searched, and the facts of the run.
//!
//! - **Names are data.** The results stand in the page as JSON in which nothing can end the
//!   element that holds it, and reach the screen as text only. The page's Content-Security-Policy
//!   lets it run its own two scripts (by their SHA-256) and nothing else, and forbids any request.
//! - **Peaks stay.** Long series are thinned to the smallest and the largest value of each of
//!   several hundred stretches of time, in the order in which they came.
//! - **There is no NaN.** What is no number is absent, and a gap in a curve.
//! - **The same results give the same bytes.**
//! - **Large networks stay usable.** Above [`MANY`] links or connections only the busiest
//!   [`BUSIEST`] have curves and a place on the map; the tables and the curves of the whole
//!   network count all.
//!
//! [`results_figure`], [`sweep_figure`], [`profile_figure`], [`map_figure`] and [`distribution_figure`] draw single figures for
//! papers, as SVG; a [`Drawing`] becomes a PDF or a PNG, too, and has its points as CSV.
//!
//! A [`FailuresPage`] shows what a network becomes if something fails: two maps and two tables, without a script.
//!
//! # What is bundled
//!
//! The curves are drawn by [µPlot](https://github.com/leeoniya/uPlot) 1.6.32, © Leon Sorokin, MIT
//! licence (`vendor/uplot/LICENSE`), which is part of every page. The letters of PDFs and PNGs are those of Noto
//! Sans, © Google, SIL Open Font License (`vendor/noto-sans/LICENSE`), so that they are the same on every
//! machine; it has Latin, Greek and Cyrillic letters.

mod against;
mod band;
mod colours;
mod columns;
mod data;
mod error;
mod failures;
mod figure;
mod html;
mod layout;
mod map;
mod report;
mod run;
mod short;
mod short_by;
mod thin;
mod title;
mod worst;

pub use colours::Rgb;
pub use error::Error;
pub use failures::{Effect, FailingNode, FailuresPage, MapLine, Rows, Strength};
pub use figure::{
    Drawing, Figure, ProfileSample, Style, distribution_figure, map_figure, profile_figure,
    results_figure, sweep_figure,
};
pub use html::{PAGE_ENDINGS, PAGE_MARK};
pub use report::Report;
pub use run::{BUSIEST, MANY};
