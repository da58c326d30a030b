//! Conversion of rows in memory to CSV.

use std::io::{self, Write};

use crate::delimited::quote;
use crate::number::{MAX_NUMBER_BYTES, push_time, put_value};
use crate::{Row, Table};

/// Writes rows in the format of the CSV file of the series, with the header.
///
/// # Errors
/// If the writer fails.
pub fn write_csv<R: Row>(rows: impl IntoIterator<Item = R>, out: &mut dyn Write) -> io::Result<()> {
    let table: Table = R::TABLE;
    let columns: Vec<&str> = table.columns().collect();
    writeln!(out, "{}", columns.join(","))?;
    let mut line = Vec::new();
    for row in rows {
        line.clear();
        let (time_s, keys, values) = row.columns();
        push_time(&mut line, time_s);
        for key in keys {
            line.push(b',');
            line.extend_from_slice(quote(&key).as_bytes());
        }
        for value in values {
            line.push(b',');
            let mut digits = [0; MAX_NUMBER_BYTES];
            let end = put_value(&mut digits, 0, value);
            line.extend_from_slice(&digits[..end]);
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}
