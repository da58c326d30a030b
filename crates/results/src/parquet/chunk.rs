//! An encoder of one Parquet column chunk, page by page.
//!
//! The column writer of the library would hash every name of every row, although names are indices
//! already, and test every number for null. This takes half of the time of writing a file. Therefore
//! pages are built here, and the library writes their headers, the row group and the footer. Format:
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Maximum compressed size of the first page of numbers, as a fraction. Above it, the column is not
/// compressed.
const MAX_COMPRESSED_RATIO: f64 = 0.8;

/// A column chunk of a row group, in memory until the row group is complete.
pub(super) struct Chunk {
    column: ColumnDescPtr,
    to: TrackedWrite<Vec<u8>>,
    rows: u64,
    uncompressed: usize,
    has_dictionary: bool,
    data_page_at: Option<u64>,
    encodings: Vec<Encoding>,
    /// The compressor, or `None` if compression is off.
    snappy: Option<snap::raw::Encoder>,
}

impl Chunk {
    /// Returns an empty chunk with capacity for `capacity` bytes.
    pub(super) fn new(column: ColumnDescPtr, capacity: usize) -> Chunk {
        Chunk {
            column,
            to: TrackedWrite::new(Vec::with_capacity(capacity)),
            rows: 0,
            uncompressed: 0,
            has_dictionary: false,
            data_page_at: None,
            encodings: vec![Encoding::RLE],
            snappy: Some(snap::raw::Encoder::new()),
        }
    }

    /// Writes the dictionary page, which is the first: `count` values in sequence.
    pub(super) fn dictionary(&mut self, values: &[u8], count: usize) -> Result<()> {
        self.has_dictionary = true;
        self.encodings.push(Encoding::PLAIN);
        let page = Page::DictionaryPage {
            buf: self.compressed(values)?,
            num_values: count as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.put(page, values.len())?;
        Ok(())
    }

    /// Writes a data page of `rows` rows.
    pub(super) fn page(&mut self, content: &[u8], rows: usize, encoding: Encoding) -> Result<()> {
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        self.rows += rows as u64;
        let page = Page::DataPage {
            buf: self.compressed(content)?,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let at = self.put(page, content.len())?;
        self.data_page_at.get_or_insert(at);
        Ok(())
    }

    /// Returns the content compressed by Snappy.
    ///
    /// Compression is switched off if it gains little on the first page of numbers, because it takes as
    /// long as all other steps together. Dictionary indices repeat, so they are always compressed.
    fn compressed(&mut self, content: &[u8]) -> Result<Bytes> {
        let Some(snappy) = &mut self.snappy else {
            return Ok(Bytes::copy_from_slice(content));
        };
        let compressed = snappy.compress_vec(content);
        let compressed = compressed.map_err(|error| ParquetError::External(Box::new(error)))?;
        let may_stop = !self.has_dictionary && self.data_page_at.is_none();
        if may_stop && compressed.len() as f64 > MAX_COMPRESSED_RATIO * content.len() as f64 {
            self.snappy = None;
            return Ok(Bytes::copy_from_slice(content));
        }
        Ok(compressed.into())
    }

    /// Writes a page and returns its offset.
    fn put(&mut self, page: Page, uncompressed: usize) -> Result<u64> {
        let mut writer = SerializedPageWriter::new(&mut self.to);
        let written = writer.write_page(CompressedPage::new(page, uncompressed))?;
        self.uncompressed += written.uncompressed_size;
        Ok(written.offset)
    }

    /// Returns the bytes and the metadata that a row group appends.
    pub(super) fn close(
        self,
        statistics: Option<Statistics>,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let bytes = self.to.into_inner()?;
        let builder = ColumnChunkMetaData::builder(self.column)
            .set_encodings(self.encodings)
            .set_compression(match self.snappy {
                Some(_) => Compression::SNAPPY,
                None => Compression::UNCOMPRESSED,
            })
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_data_page_offset(self.data_page_at.unwrap_or(0) as i64)
            .set_dictionary_page_offset(self.has_dictionary.then_some(0));
        let builder = match statistics {
            Some(statistics) => builder.set_statistics(statistics),
            None => builder,
        };
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows,
            metadata: builder.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), closed))
    }
}

/// Returns the number of bits of an index into a list of `count` items, at least 1.
pub(super) fn bit_width(count: usize) -> u32 {
    count.saturating_sub(1).max(1).ilog2() + 1
}

/// Appends a bit-packed run of indices, eight at a time. The last group is padded with zeros.
pub(super) fn put_packed(places: &[u32], width: u32, to: &mut Vec<u8>) {
    put_varint((places.len().div_ceil(8) as u64) << 1 | 1, to);
    let (groups, rest) = places.as_chunks::<8>();
    groups.iter().for_each(|group| put_group(group, width, to));
    if !rest.is_empty() {
        let mut group = [0; 8];
        group[..rest.len()].copy_from_slice(rest);
        put_group(&group, width, to);
    }
}

fn put_group(group: &[u32; 8], width: u32, to: &mut Vec<u8>) {
    let (mut bits, mut used, mut bytes, mut end) = (0_u64, 0, [0; 32], 0);
    for &place in group {
        bits |= u64::from(place) << used;
        used += width;
        while used >= 8 {
            bytes[end] = bits as u8;
            end += 1;
            bits >>= 8;
            used -= 8;
        }
    }
    to.extend_from_slice(&bytes[..end]);
}

/// Appends an RLE run: the same index `times` times.
pub(super) fn put_run(place: u32, times: usize, width: u32, to: &mut Vec<u8>) {
    put_varint((times as u64) << 1, to);
    to.extend_from_slice(&place.to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn put_varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format description: 0 to 7 in three bits each.
    #[test]
    fn bit_packing_matches_parquet_format() {
        let mut packed = Vec::new();
        put_packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut packed);
        assert_eq!(packed, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        for width in [1, 7, 8, 9, 16, 17, 31, 32] {
            let mut packed = Vec::new();
            let places: Vec<u32> = (0..8).map(|i| u32::MAX >> (32 - width) ^ (i & 1)).collect();
            put_packed(&places, width, &mut packed);
            let bit = |at: u32| packed[1 + at as usize / 8] >> (at % 8) & 1;
            for (place, value) in places.iter().enumerate() {
                let bits = (0..width).map(|i| u32::from(bit(place as u32 * width + i)) << i);
                assert_eq!(bits.sum::<u32>(), *value, "{width} bits");
            }
        }
    }

    #[test]
    fn run_is_encoded_as_length_and_value() {
        let mut run = Vec::new();
        put_run(300, 100, 9, &mut run);
        assert_eq!(run, [0xc8, 0x01, 0x2c, 0x01]);
    }

    #[test]
    fn bit_width_fits_largest_index() {
        let widths = [0, 1, 2, 3, 4, 5, 256, 257].map(bit_width);
        assert_eq!(widths, [1, 1, 1, 2, 2, 3, 8, 9]);
    }
}
