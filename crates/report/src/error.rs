//! Errors of reports and figures.

/// Error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A results directory could not be read.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
    /// No results directory was given.
    #[error("no results directory was given")]
    NoResults,
    /// The results do not contain the data of the figure.
    #[error("{0}")]
    NothingToShow(String),
    /// The figure could not be drawn.
    #[error("cannot draw the figure: {0}")]
    Drawing(String),
    /// This build supports SVG only.
    #[error(
        "this build supports SVG, but not PDF and PNG: build it with `cargo build --release -p netflow-cli --features pdf`"
    )]
    PdfMissing,
}
