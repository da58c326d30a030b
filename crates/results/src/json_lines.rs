//! Exporter of series as JSON lines: one object per line.

use crate::number::push_time;
use crate::row_buffer::RowBuffer;
use crate::{Error, Exporter, Names, Table};
use netflow_files::PartialFile;
use netflow_network::Column;

/// The JSON lines exporter. All text except the numbers is prepared before the first row.
pub(crate) struct JsonLines {
    sheet: RowBuffer,
    /// Time as text, for example `{"time_s":12.5`.
    time: Vec<u8>,
    /// Every name as `,"link":"name"`, for each key column.
    names: Vec<Vec<Box<[u8]>>>,
    /// Name of each value column as `,"queue_pkts":`.
    labels: Vec<Box<[u8]>>,
}

impl JsonLines {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> JsonLines {
        let column =
            |(column, key): (&&Names, &&str)| column.iter().map(|name| member(key, name)).collect();
        let names = names.iter().zip(table.keys).map(column).collect();
        let label = |column: &Column| format!(",\"{}\":", column.name).into_bytes().into();
        let labels = table.values.iter().map(label).collect();
        JsonLines {
            sheet: RowBuffer::new(file),
            time: Vec::new(),
            names,
            labels,
        }
    }
}

/// Returns `,"key":"name"` with JSON escapes.
fn member(key: &str, name: &str) -> Box<[u8]> {
    format!(",\"{key}\":{}", serde_json::Value::from(name))
        .into_bytes()
        .into_boxed_slice()
}

impl Exporter for JsonLines {
    fn interval(&mut self, time_s: f64) {
        self.time.clear();
        self.time.extend_from_slice(b"{\"time_s\":");
        push_time(&mut self.time, time_s);
    }

    fn row(&mut self, keys: &[usize], values: &[f64]) -> Result<(), Error> {
        let names = || self.names.iter().zip(keys).map(|(names, &key)| &names[key]);
        let texts = names()
            .chain(&self.labels)
            .map(|text| text.len())
            .sum::<usize>()
            + self.time.len()
            + 2;
        let mut line = self.sheet.row(texts, values.len())?;
        line.text(&self.time);
        for name in names() {
            line.text(name);
        }
        for (label, &value) in self.labels.iter().zip(values) {
            line.text(label);
            if !line.value(value) {
                line.text(b"null");
            }
        }
        line.text(b"}\n");
        line.end();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PartialFile, Error> {
        self.sheet.finish()
    }
}
