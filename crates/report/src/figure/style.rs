//! How a figure is to look, and what becomes of it.

use crate::Error;
use crate::colours::{self, Rgb};

/// How a figure is to look.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// How wide it is.
    pub width: u32,
    /// How tall; by the number of its panels, if nothing is said.
    pub height: Option<u32>,
    /// Size of its letters.
    pub font: u32,
    /// Whether it says which curve is which.
    pub legend: bool,
    /// The colours of its curves, in their order; they come again if there are more curves.
    pub colours: Vec<Rgb>,
    /// Its panels, by their names; all of them, if none is named.
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

/// A figure that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// As SVG.
    pub svg: String,
    /// What it shows, as CSV.
    pub data: String,
}

impl Drawing {
    /// What every file of a figure says, whatever its format, near its beginning or its end.
    pub const MARK: &str = "A figure of netflow";

    /// Whether this build draws PDF and PNG, too.
    pub const HAS_PDF: bool = cfg!(feature = "pdf");

    /// Of an SVG whose first line is its first tag.
    pub(crate) fn new(svg: &str, data: String) -> Drawing {
        let (tag, rest) = svg.split_once('\n').unwrap_or((svg, ""));
        Drawing {
            svg: format!("{tag}\n<!-- {} -->\n{rest}", Drawing::MARK),
            data,
        }
    }

    /// As PDF, in which a unit of the figure is a point (1/72 inch). Text stays text.
    ///
    /// # Errors
    /// If it cannot be drawn so, or this build has no PDF.
    pub fn pdf(&self) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "pdf")]
        return super::render::pdf(&self.svg);
        #[cfg(not(feature = "pdf"))]
        Err(Error::PdfMissing)
    }

    /// As PNG, with three pixels for each unit of the figure.
    ///
    /// # Errors
    /// If it cannot be drawn so, or this build has no PNG.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "pdf")]
        return super::render::png(&self.svg);
        #[cfg(not(feature = "pdf"))]
        Err(Error::PdfMissing)
    }
}
