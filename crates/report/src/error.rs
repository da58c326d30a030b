//! What can go wrong with a report.

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A results directory could not be read.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
    /// There is nothing to report on.
    #[error("no results directory was given")]
    NoResults,
    /// The results have nothing of what the figure shows.
    #[error("{0}")]
    NothingToShow(String),
    /// The figure could not be drawn.
    #[error("cannot draw the figure: {0}")]
    Drawing(String),
    /// This build draws SVG alone.
    #[error(
        "this build has no PDF and no PNG, only SVG: build it with `cargo build --release -p netflow-cli --features pdf`"
    )]
    PdfMissing,
}
