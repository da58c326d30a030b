//! Figures as PDF and PNG, with a font of their own: the same bytes everywhere.

use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::style::Drawing;
use crate::Error;

/// Noto Sans with Latin, Greek and Cyrillic letters.
const FONT: &[u8] = include_bytes!("../../vendor/noto-sans/NotoSans-Regular.ttf");

/// Pixels of a PNG for each unit of the figure.
const PIXELS: f32 = 3.0;

impl Drawing {
    /// As PDF, in which a unit of the figure is a point (1/72 inch). Text stays text.
    ///
    /// # Errors
    /// If it cannot be drawn so.
    pub fn pdf(&self) -> Result<Vec<u8>, Error> {
        let tree = self.tree()?;
        let (width, height) = (tree.size().width(), tree.size().height());
        let size = Size::from_wh(width, height).ok_or_else(|| failed("it has no size"))?;
        let page = PageSettings::from_wh(width, height).ok_or_else(|| failed("it has no size"))?;
        let mut document = Document::new();
        let mut page = document.start_page_with(page);
        let mut surface = page.surface();
        let drawn = surface.draw_svg(&tree, size, SvgSettings::default());
        drawn.ok_or_else(|| failed("it has no place on a page"))?;
        surface.finish();
        page.finish();
        document
            .finish()
            .map_err(|error| failed(format!("{error:?}")))
    }

    /// As PNG, with three pixels for each unit of the figure.
    ///
    /// # Errors
    /// If it cannot be drawn so.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        let tree = self.tree()?;
        let size = tree.size();
        let pixels = |units: f32| (PIXELS * units).round() as u32;
        let mut picture = Pixmap::new(pixels(size.width()), pixels(size.height()))
            .ok_or_else(|| failed("it has no size"))?;
        let scale = Transform::from_scale(PIXELS, PIXELS);
        resvg::render(&tree, scale, &mut picture.as_mut());
        picture.encode_png().map_err(failed)
    }

    fn tree(&self) -> Result<Tree, Error> {
        let mut options = Options {
            font_family: "Noto Sans".to_owned(),
            ..Options::default()
        };
        let fonts = options.fontdb_mut();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("Noto Sans");
        Tree::from_str(&self.svg, &options).map_err(failed)
    }
}

fn failed(error: impl ToString) -> Error {
    Error::Drawing(error.to_string())
}
