//! Exporter of series as comma-separated values.

use crate::number::push_time;
use crate::row_buffer::RowBuffer;
use crate::{Error, Exporter, Names, Table};
use netflow_files::PartialFile;

/// The CSV exporter. Names are quoted once, before the first row.
pub(crate) struct Csv {
    sheet: RowBuffer,
    /// Time as text, for example `12.5`. It begins every row of the interval.
    time: Vec<u8>,
    /// Every name as `,name`, for each key column.
    names: Vec<Vec<Box<[u8]>>>,
}

impl Csv {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> Result<Csv, Error> {
        let quoted = |name: &String| format!(",{}", quote(name)).into_bytes().into_boxed_slice();
        let names = names
            .iter()
            .map(|column| column.iter().map(quoted).collect())
            .collect();
        let mut sheet = RowBuffer::new(file);
        let header: Vec<&str> = table.columns().collect();
        let header = header.join(",") + "\n";
        let mut line = sheet.row(header.len(), 0)?;
        line.text(header.as_bytes());
        line.end();
        Ok(Csv {
            sheet,
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
        let names = || self.names.iter().zip(keys).map(|(names, &key)| &names[key]);
        let texts =
            self.time.len() + names().map(|name| name.len()).sum::<usize>() + values.len() + 1;
        let mut line = self.sheet.row(texts, values.len())?;
        line.text(&self.time);
        for name in names() {
            line.text(name);
        }
        for &value in values {
            line.byte(b',');
            line.value(value);
        }
        line.byte(b'\n');
        line.end();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PartialFile, Error> {
        self.sheet.finish()
    }
}

/// Returns a field quoted according to RFC 4180, if it contains a comma, a quote, a line end or outer
/// spaces.
pub fn quote(field: &str) -> String {
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
