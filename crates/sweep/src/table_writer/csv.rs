//! CSV table writer; numbers have their exact shortest representation.

use std::io::{self, Write};

use netflow_results::quote;

use super::Encoder;
use netflow_results::columns::{Column, ColumnData};

pub(super) struct Csv<W> {
    to: W,
    text: Vec<u8>,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(mut to: W, columns: &[Column]) -> io::Result<Csv<W>> {
        let names: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
        writeln!(to, "{}", names.join(","))?;
        Ok(Csv {
            to,
            text: Vec::new(),
        })
    }
}

impl<W: Write> Encoder<W> for Csv<W> {
    fn write_batch(&mut self, _: &[Column], data: &[ColumnData]) -> io::Result<()> {
        let quoted: Vec<Vec<String>> = data
            .iter()
            .map(|data| match data {
                ColumnData::Texts(texts) => texts.names.iter().map(|name| quote(name)).collect(),
                _ => Vec::new(),
            })
            .collect();
        let mut digits = zmij::Buffer::new();
        self.text.clear();
        for row in 0..data.first().map_or(0, ColumnData::len) {
            for (column, data) in data.iter().enumerate() {
                if column > 0 {
                    self.text.push(b',');
                }
                let text = &mut self.text;
                match data {
                    ColumnData::Numbers(list) if list[row].is_finite() => {
                        text.extend_from_slice(digits.format_finite(list[row]).as_bytes());
                    }
                    ColumnData::Numbers(_) => {}
                    ColumnData::Wholes(list) => {
                        list[row].map_or(Ok(()), |number| write!(text, "{number}"))?;
                    }
                    ColumnData::Flags(list) => {
                        list[row].map_or(Ok(()), |flag| write!(text, "{flag}"))?;
                    }
                    ColumnData::Texts(texts) => {
                        if let Ok(place) = usize::try_from(texts.indices[row]) {
                            text.extend_from_slice(quoted[column][place].as_bytes());
                        }
                    }
                }
            }
            self.text.push(b'\n');
        }
        self.to.write_all(&self.text)
    }

    fn finish(self: Box<Self>) -> io::Result<W> {
        Ok(self.to)
    }
}
