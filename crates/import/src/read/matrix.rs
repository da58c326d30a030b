//! Reader of demand matrices that have numbers only, as written by `numpy.savetxt` and for TeaVaR.

use super::demands::{DemandRow, Demands, NodeReference};
use super::sndlib_native::number;
use crate::attributes::StatedQuantity;
use crate::errors::{ImportError, ReadResult};
use crate::lines::{Word, lines};

/// Returns whether a text begins with at least two numbers, and is not a CSV matrix with the names 0, 1, … or
/// 1, 2, … in its first row.
pub(crate) fn is_matrix(text: &str) -> bool {
    let Some((start, line)) = lines(text).find(|(_, line)| has_content(line)) else {
        return false;
    };
    let cells = cells(start, line);
    let is_table = line.contains([',', ';', '\t']);
    let are_names = |first: usize| {
        let names = cells[1..].iter().zip(first..);
        is_table
            && cells.len() > 2
            && names
                .clone()
                .all(|(cell, name)| cell.text == name.to_string())
    };
    cells.len() > 1
        && cells.iter().all(|cell| cell.text.parse::<f64>().is_ok())
        && !are_names(0)
        && !are_names(1)
}

fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// Splits a line at white space, commas and semicolons.
fn cells(start: usize, line: &str) -> Vec<Word<'_>> {
    let between = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let cells = line.split(between).filter(|cell| !cell.is_empty());
    let cells = cells.map(|text| {
        let at = start + (text.as_ptr() as usize - line.as_ptr() as usize);
        Word {
            text,
            span: at..at + text.len(),
        }
    });
    cells.collect()
}

/// Reads a square matrix, or the first row of a file with a flattened matrix in each row.
pub(super) fn demands(text: &str) -> ReadResult<Demands> {
    let bare = text.trim_start_matches('\u{feff}');
    let skipped = text.len() - bare.len();
    let rows = lines(bare).filter(|(_, line)| has_content(line));
    let rows: Vec<Vec<Word<'_>>> = rows.map(|(at, line)| cells(skipped + at, line)).collect();
    let width = rows.first().map_or(0, Vec::len);
    let uneven = rows.iter().find(|row| row.len() != width);
    if let Some(last) = uneven.and_then(|row| row.last()) {
        let len = uneven.map_or(0, Vec::len);
        let message = format!("this row has {len} numbers, but the first row has {width}");
        return Err(ImportError::syntax(last.span.clone(), message));
    }
    let side = width.isqrt();
    let (nodes, flat) = match rows.len() {
        height if height == width => (width, false),
        _ if side * side == width && width > 1 => (side, true),
        height => {
            let at = rows.first().map_or(0..0, |row| row[0].span.clone());
            let message = format!("{height} rows of {width} numbers are not a matrix");
            let help = "a matrix has as many rows as columns; a file of TeaVaR has one matrix of N × N numbers in each row";
            return Err(ImportError::syntax(at, message).help(help));
        }
    };
    let mut found = Demands {
        matrix_nodes: Some(nodes),
        ..Demands::default()
    };
    found
        .assumptions
        .push("rows of the demand matrix are read as senders, columns as receivers".to_owned());
    if flat && rows.len() > 1 {
        let text = format!(
            "only the first of {} demand matrices is imported",
            rows.len()
        );
        found.assumptions.push(text);
    }
    let count = if flat { 1 } else { nodes };
    for (place, cell) in rows.iter().take(count).flatten().enumerate() {
        let rate = number(cell.text, &cell.span)?;
        if rate == 0.0 {
            found.zero_demands += 1;
            continue;
        }
        let [from, to] = [place / nodes, place % nodes].map(NodeReference::Number);
        let rate = StatedQuantity::WithoutUnit(rate);
        found
            .rows
            .push(DemandRow::new(from, to, rate, cell.span.clone()));
    }
    Ok(found)
}
