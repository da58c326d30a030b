//! Style of a figure, and the drawn figure.

use crate::Error;
use crate::colours::{self, Rgb};

/// Style of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Width in units of the figure.
    pub width: u32,
    /// Height; `None` depends on the number of panels.
    pub height: Option<u32>,
    /// Font size.
    pub font: u32,
    /// True to draw the legend.
    pub legend: bool,
    /// Colours of the curves in order; they repeat if there are more curves.
    pub colours: Vec<Rgb>,
    /// Names of the panels to draw; all if empty.
    pub panels: Vec<String>,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            width: 640,
            height: None,
            font: 12,
            legend: true,
            colours: colours::curves().to_vec(),
            panels: Vec::new(),
        }
    }
}

/// A drawn figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// SVG source.
    pub svg: String,
    /// Plotted data as CSV.
    pub data: String,
}

impl Drawing {
    /// Marker in every file of a figure, near its start or end in any format.
    pub const MARK: &str = "A figure of netflow";

    /// True if this build supports PDF and PNG.
    pub const HAS_PDF: bool = cfg!(feature = "pdf");

    /// Returns a figure from an SVG with its first tag on its first line.
    pub(crate) fn new(svg: &str, data: String) -> Drawing {
        let (tag, rest) = svg.split_once('\n').unwrap_or((svg, ""));
        Drawing {
            svg: format!("{tag}\n<!-- {} -->\n{rest}", Drawing::MARK),
            data,
        }
    }

    /// Converts to PDF, with a point (1/72 inch) per unit of the figure. Text stays text.
    ///
    /// # Errors
    /// The conversion fails, or this build has no PDF.
    pub fn pdf(&self) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "pdf")]
        return super::render::pdf(&self.svg);
        #[cfg(not(feature = "pdf"))]
        Err(Error::PdfMissing)
    }

    /// Converts to PNG, with three pixels per unit of the figure.
    ///
    /// # Errors
    /// The conversion fails, or this build has no PNG.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "pdf")]
        return super::render::png(&self.svg);
        #[cfg(not(feature = "pdf"))]
        Err(Error::PdfMissing)
    }
}
