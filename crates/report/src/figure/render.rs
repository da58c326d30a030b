//! Conversion of figures to PDF and PNG with a bundled font, so that the bytes are equal on every platform.

use krilla::Document;
use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::style::Drawing;
use crate::Error;

/// Noto Sans with Latin, Greek and Cyrillic letters.
const FONT: &[u8] = include_bytes!("../../vendor/noto-sans/NotoSans-Regular.ttf");

/// Pixels of a PNG per unit of the figure.
const PIXELS: f32 = 3.0;

pub(super) fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let size = Size::from_wh(width, height).ok_or_else(|| failed("it has no size"))?;
    let page = PageSettings::from_wh(width, height).ok_or_else(|| failed("it has no size"))?;
    let mut document = Document::new();
    document.set_metadata(Metadata::new().creator(Drawing::MARK.to_owned()));
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

pub(super) fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let size = tree.size();
    let pixels = |units: f32| (PIXELS * units).round() as u32;
    let mut picture = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| failed("it has no size"))?;
    let scale = Transform::from_scale(PIXELS, PIXELS);
    resvg::render(&tree, scale, &mut picture.as_mut());
    Ok(with_comment(&picture.encode_png().map_err(failed)?))
}

fn tree(svg: &str) -> Result<Tree, Error> {
    let mut options = Options {
        font_family: "Noto Sans".to_owned(),
        ..Options::default()
    };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Noto Sans");
    Tree::from_str(svg, &options).map_err(failed)
}

/// Adds [`Drawing::MARK`] to a PNG as a text chunk after the first chunk.
fn with_comment(png: &[u8]) -> Vec<u8> {
    /// Length of the signature and of the header chunk.
    const HEAD: usize = 8 + 25;
    let Some((head, rest)) = png.split_at_checked(HEAD) else {
        return png.to_vec();
    };
    let chunk = ["tEXtComment\0", Drawing::MARK].concat();
    let length = (chunk.len() - "tEXt".len()) as u32;
    let checksum = crc32fast::hash(chunk.as_bytes());
    [
        head,
        &length.to_be_bytes(),
        chunk.as_bytes(),
        &checksum.to_be_bytes(),
        rest,
    ]
    .concat()
}

fn failed(error: impl ToString) -> Error {
    Error::Drawing(error.to_string())
}
