//! Series as comma-separated values.

use crate::number::{push_time, push_value};
use crate::partial::{CHUNK, PartialFile};
use crate::{Error, Exporter, Names, Table};

/// Rows are put together in one buffer; names are quoted once, before the first row.
pub(crate) struct Csv {
    file: PartialFile,
    buffer: Vec<u8>,
    /// `12.5`, as it stands at the start of every row of the interval.
    time: Vec<u8>,
    /// For every key column, every name as `,name`.
    names: Vec<Vec<Box<[u8]>>>,
}

impl Csv {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> Result<Csv, Error> {
        let quoted = |name: &String| format!(",{}", quote(name)).into_bytes().into_boxed_slice();
        let names = names
            .iter()
            .map(|column| column.iter().map(quoted).collect())
            .collect();
        let mut buffer = Vec::with_capacity(CHUNK + CHUNK / 8);
        let header: Vec<&str> = table.columns().collect();
        buffer.extend_from_slice(header.join(",").as_bytes());
        buffer.push(b'\n');
        Ok(Csv {
            file,
            buffer,
            time: Vec::new(),
            names,
        })
    }
}

impl Exporter for Csv {
    fn interval(&mut self, time_s: f64) {
        self.time.clear();
        push_time(&mut self.time, time_s);
    }

    fn row(&mut self, keys: &[usize], values: &[f64]) -> Result<(), Error> {
        self.buffer.extend_from_slice(&self.time);
        for (names, &key) in self.names.iter().zip(keys) {
            self.buffer.extend_from_slice(&names[key]);
        }
        for &value in values {
            self.buffer.push(b',');
            push_value(&mut self.buffer, value);
        }
        self.buffer.push(b'\n');
        if self.buffer.len() >= CHUNK {
            self.file.drain(&mut self.buffer)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<PartialFile, Error> {
        self.file.drain(&mut self.buffer)?;
        Ok(self.file)
    }
}

/// A field as RFC 4180 wants it: in quotes where it holds a comma, a quote or a line end.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(quote("N5->N7"), "N5->N7");
        assert_eq!(quote("a,b"), "\"a,b\"");
        assert_eq!(quote("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(quote(" lead"), "\" lead\"");
    }
}
