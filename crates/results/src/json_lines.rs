//! Series as one JSON object a line.

use crate::number::{push_time, push_value};
use crate::partial::{CHUNK, PartialFile};
use crate::{Error, Exporter, Names, Table};

/// Everything but the numbers is put together before the first row.
pub(crate) struct JsonLines {
    file: PartialFile,
    buffer: Vec<u8>,
    /// `{"time_s":12.5`
    time: Vec<u8>,
    /// For every key column, every name as `,"link":"name"`.
    names: Vec<Vec<Box<[u8]>>>,
    /// For every value column `,"queue_pkts":`.
    labels: Vec<Box<[u8]>>,
}

impl JsonLines {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> JsonLines {
        let names = names
            .iter()
            .zip(table.keys)
            .map(|(column, key)| column.iter().map(|name| member(key, name)).collect())
            .collect();
        let label = |column: &&str| format!(",\"{column}\":").into_bytes().into_boxed_slice();
        let labels = table.values.iter().map(label).collect();
        let buffer = Vec::with_capacity(CHUNK + CHUNK / 8);
        JsonLines {
            file,
            buffer,
            time: Vec::new(),
            names,
            labels,
        }
    }
}

/// `,"key":"name"` with what JSON wants escaped.
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
        self.buffer.extend_from_slice(&self.time);
        for (names, &key) in self.names.iter().zip(keys) {
            self.buffer.extend_from_slice(&names[key]);
        }
        for (label, &value) in self.labels.iter().zip(values) {
            self.buffer.extend_from_slice(label);
            if !push_value(&mut self.buffer, value) {
                self.buffer.extend_from_slice(b"null");
            }
        }
        self.buffer.extend_from_slice(b"}\n");
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
