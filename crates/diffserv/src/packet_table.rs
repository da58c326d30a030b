//! CSV reader for the packets of a stream.

use std::io;
use std::ops::Range;

use csv::ByteRecord;

use crate::DropPrecedence;

/// A packet to mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Arrival time in seconds.
    pub time_s: f64,
    /// Size in bytes.
    pub bytes: u32,
    /// Window of its connection in packets, if known.
    pub window_pkts: Option<f64>,
    /// Colour on arrival, if the table has colours.
    pub precedence: Option<DropPrecedence>,
}

/// Iterator over the packets of a table with the columns `time_s` and `bytes`, and optionally `window_pkts`
/// and `precedence`, in any order. Times must not decrease.
#[derive(Debug)]
pub struct PacketReader<R> {
    rows: csv::Reader<R>,
    row: ByteRecord,
    columns: Columns,
    before_s: f64,
}

/// Error while reading a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Read error, or malformed CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// An invalid field.
    #[error("line {line}, column {column}: {message}")]
    Field {
        /// Line of the file, from 1.
        line: u64,
        /// Column in the line in characters, from 1.
        column: usize,
        /// Byte range in the file.
        span: Range<usize>,
        /// Description of the problem.
        message: String,
        /// Allowed values.
        allowed: String,
    },
}

impl<R: io::Read> PacketReader<R> {
    /// Reads the column names.
    ///
    /// # Errors
    /// A column is missing, unknown or duplicated.
    pub fn new(source: R) -> Result<PacketReader<R>, TableError> {
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(source);
        let columns = Columns::of(rows.byte_headers()?)?;
        Ok(PacketReader {
            rows,
            row: ByteRecord::new(),
            columns,
            before_s: f64::NEG_INFINITY,
        })
    }

    /// Returns true if the table has windows of connections.
    pub fn has_windows(&self) -> bool {
        self.columns.window_pkts.is_some()
    }

    /// Returns true if the table has colours.
    pub fn has_precedences(&self) -> bool {
        self.columns.precedence.is_some()
    }

    fn read(&mut self) -> Result<Option<Packet>, TableError> {
        if !self.rows.read_byte_record(&mut self.row)? {
            return Ok(None);
        }
        let row = Row(&self.row);
        let packet = self.columns.packet(&row)?;
        if packet.time_s < self.before_s {
            let message = "this packet is earlier than the previous row: times must not decrease";
            let allowed = "sort the rows by time_s";
            return Err(row.error(self.columns.time_s, message.to_owned(), allowed));
        }
        self.before_s = packet.time_s;
        Ok(Some(packet))
    }
}

impl<R: io::Read> Iterator for PacketReader<R> {
    type Item = Result<Packet, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Positions of the columns.
#[derive(Debug)]
struct Columns {
    time_s: usize,
    bytes: usize,
    window_pkts: Option<usize>,
    precedence: Option<usize>,
}

const NAMES: &str = "columns are time_s, bytes, window_pkts and precedence";

impl Columns {
    fn of(header: &ByteRecord) -> Result<Columns, TableError> {
        let row = Row(header);
        let mut found = [None; 4];
        for i in 0..header.len() {
            let name = row.text(i);
            let known = ["time_s", "bytes", "window_pkts", "precedence"];
            match known.iter().position(|known| *known == name) {
                Some(place) if found[place].is_none() => found[place] = Some(i),
                Some(_) => {
                    let message = format!("duplicate column `{name}`");
                    return Err(row.error(i, message, NAMES));
                }
                None => return Err(row.error(i, format!("unknown column `{name}`"), NAMES)),
            }
        }
        let [time_s, bytes, window_pkts, precedence] = found;
        let needed = |column: Option<usize>, name: &str| {
            column.ok_or_else(|| row.error(0, format!("missing column `{name}`"), NAMES))
        };
        Ok(Columns {
            time_s: needed(time_s, "time_s")?,
            bytes: needed(bytes, "bytes")?,
            window_pkts,
            precedence,
        })
    }

    fn packet(&self, row: &Row<'_>) -> Result<Packet, TableError> {
        let number = |column: usize, name: &str, allowed: Range<f64>| {
            let value = row.text(column).parse::<f64>();
            value
                .ok()
                .filter(|value| allowed.contains(value))
                .ok_or_else(|| {
                    let message = format!("`{name}` cannot be `{}`", row.text(column));
                    let Range { start, end } = allowed;
                    let allowed = format!("allowed: {start} to below {end:e}");
                    row.error(column, message, &allowed)
                })
        };
        let bytes = row.text(self.bytes).parse::<u32>().map_err(|_| {
            let message = format!("`bytes` cannot be `{}`", row.text(self.bytes));
            let allowed = "allowed: whole numbers from 0 to 4294967295";
            row.error(self.bytes, message, allowed)
        })?;
        let window_pkts = match self.window_pkts {
            Some(column) if !row.text(column).is_empty() => {
                Some(number(column, "window_pkts", 0.0..1e9)?)
            }
            _ => None,
        };
        let precedence = match self.precedence {
            Some(column) => Some(match row.text(column).as_str() {
                "0" => DropPrecedence::Dp0,
                "1" => DropPrecedence::Dp1,
                "2" => DropPrecedence::Dp2,
                other => {
                    let message = format!("`precedence` cannot be `{other}`");
                    return Err(row.error(column, message, "allowed: 0, 1 or 2"));
                }
            }),
            None => None,
        };
        Ok(Packet {
            time_s: number(self.time_s, "time_s", 0.0..9e9)?,
            bytes,
            window_pkts,
            precedence,
        })
    }
}

/// A row with its position.
struct Row<'a>(&'a ByteRecord);

impl Row<'_> {
    fn text(&self, column: usize) -> String {
        let field = self.0.get(column).unwrap_or_default();
        String::from_utf8_lossy(field).trim().to_owned()
    }

    /// Returns an error at a field. Fields are assumed to be unquoted, so that their lengths and the commas
    /// give the position.
    fn error(&self, column: usize, message: String, allowed: &str) -> TableError {
        let fields = self.0.iter().take(column);
        let bytes: usize = fields.clone().map(|field| field.len() + 1).sum();
        let chars: usize = fields
            .map(|field| String::from_utf8_lossy(field).chars().count() + 1)
            .sum();
        let length = self.0.get(column).map_or(0, <[u8]>::len);
        let (line, start) = match self.0.position() {
            Some(position) => (position.line(), position.byte()),
            None => (1, 0),
        };
        let start = usize::try_from(start)
            .unwrap_or(usize::MAX)
            .saturating_add(bytes);
        TableError::Field {
            line,
            column: chars + 1,
            span: start..start.saturating_add(length),
            message,
            allowed: allowed.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(table: &str) -> Result<Vec<Packet>, TableError> {
        PacketReader::new(table.as_bytes())?.collect()
    }

    #[test]
    fn columns_come_in_any_order() {
        let packets = all("bytes,precedence,time_s,window_pkts\n1000,2,0.5,\n40,0,0.5,3.5\n");
        let packets = packets.unwrap();
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[0].precedence, Some(DropPrecedence::Dp2));
        assert_eq!(packets[0].window_pkts, None);
        assert_eq!(packets[1].bytes, 40);
        assert_eq!(packets[1].window_pkts, Some(3.5));
    }

    #[test]
    fn errors_have_a_position() {
        for (table, expected) in [
            ("time_s\n", "line 1, column 1: missing column `bytes`"),
            (
                "time_s,bytes,bytes\n",
                "line 1, column 14: duplicate column `bytes`",
            ),
            (
                "time_s,bytes\n1,40\n0.5,40\n",
                "line 3, column 1: this packet",
            ),
            ("time_s,bytes\n1,-4\n", "line 2, column 3: `bytes` cannot"),
            (
                "time_s,bytes\n1\n",
                "line 2, column 3: `bytes` cannot be ``",
            ),
        ] {
            let error = all(table).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
