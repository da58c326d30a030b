//! Columnar tables whose schema is derived from a serializable row.
//!
//! Other crates declare rows as structs for their own tables and answers. Each field becomes a column of
//! the same name, so a new field needs no change here.

#[cfg(feature = "parquet")]
mod arrow;
mod collect;

use serde::{Deserialize, Serialize};

#[cfg(feature = "parquet")]
pub use arrow::{array, name, numbers, schema, texts};
pub use collect::Cell;
use collect::CellSink;

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Floating-point numbers.
    Number,
    /// Whole numbers from 0.
    Whole,
    /// True or false.
    Flag,
    /// Strings.
    Text,
}

/// A column: name, type and unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name. For a setting that a sweep varies, the key of the setting.
    pub name: String,
    /// Type of its values.
    pub kind: ColumnType,
    /// Unit of its numbers, if they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl Column {
    /// Returns a column of this name, with the unit that the suffix of the name stands for.
    pub fn new(name: &str, kind: ColumnType) -> Column {
        Column {
            name: name.to_owned(),
            kind,
            unit: unit_of(name).map(str::to_owned),
        }
    }

    /// Returns the columns of rows of this type. The given row must have every field.
    pub fn of(row: &impl Serialize) -> Vec<Column> {
        let mut columns = Vec::new();
        collect::row(row, &mut ColumnCollector(&mut columns));
        columns
    }
}

/// Returns the unit that the suffix of a name stands for.
fn unit_of(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('_')?;
    match end {
        "s" => Some("s"),
        "bps" => Some("bit/s"),
        "pps" => Some("packets/s"),
        "pkts" => Some("packets"),
        _ => None,
    }
}

struct ColumnCollector<'a>(&'a mut Vec<Column>);

impl CellSink for ColumnCollector<'_> {
    fn put(&mut self, name: &str, cell: Cell<'_>) {
        let kind = match cell {
            Cell::Whole(_) => ColumnType::Whole,
            Cell::Flag(_) => ColumnType::Flag,
            Cell::Text(_) => ColumnType::Text,
            Cell::Number(_) | Cell::Nothing => ColumnType::Number,
        };
        self.0.push(Column::new(name, kind));
    }
}

/// The values of a column, one per row.
#[derive(Clone, Debug)]
pub enum ColumnData {
    /// Numbers; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Whole numbers; `None` is a missing value.
    Wholes(Vec<Option<u64>>),
    /// Flags; `None` is a missing value.
    Flags(Vec<Option<bool>>),
    /// Strings, as indices into a list of distinct strings.
    Texts(TextColumn),
}

/// Dictionary-encoded strings: each distinct string is stored once.
#[derive(Clone, Debug, Default)]
pub struct TextColumn {
    /// Distinct strings, in the order of their first appearance.
    pub names: Vec<String>,
    /// Index into `names` for every row; -1 is a missing value.
    pub indices: Vec<i32>,
    index_by_name: std::collections::HashMap<String, i32>,
    last_index: i32,
}

impl TextColumn {
    fn push(&mut self, text: &str) {
        // Rows have the same order in every case, so the next name is the likeliest one.
        let guess = self.last_index + 1;
        let place = match self.names.get(guess as usize) {
            Some(name) if name == text => guess,
            _ => match self.index_by_name.get(text) {
                Some(&place) => place,
                None => {
                    let place = self.names.len() as i32;
                    self.names.push(text.to_owned());
                    self.index_by_name.insert(text.to_owned(), place);
                    place
                }
            },
        };
        self.last_index = place;
        self.indices.push(place);
    }
}

impl ColumnData {
    /// Returns an empty column of this type.
    pub fn new(kind: ColumnType) -> ColumnData {
        match kind {
            ColumnType::Number => ColumnData::Numbers(Vec::new()),
            ColumnType::Whole => ColumnData::Wholes(Vec::new()),
            ColumnType::Flag => ColumnData::Flags(Vec::new()),
            ColumnType::Text => ColumnData::Texts(TextColumn::default()),
        }
    }

    /// Appends a cell. A cell of another type is stored as a missing value.
    pub fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (ColumnData::Numbers(list), Cell::Number(number)) => list.push(number),
            (ColumnData::Numbers(list), Cell::Whole(number)) => list.push(number as f64),
            (ColumnData::Numbers(list), _) => list.push(f64::NAN),
            (ColumnData::Wholes(list), Cell::Whole(number)) => list.push(Some(number)),
            (ColumnData::Wholes(list), _) => list.push(None),
            (ColumnData::Flags(list), Cell::Flag(flag)) => list.push(Some(flag)),
            (ColumnData::Flags(list), _) => list.push(None),
            (ColumnData::Texts(texts), Cell::Text(text)) => texts.push(text),
            (ColumnData::Texts(texts), _) => texts.indices.push(-1),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            ColumnData::Numbers(list) => list.len(),
            ColumnData::Wholes(list) => list.len(),
            ColumnData::Flags(list) => list.len(),
            ColumnData::Texts(texts) => texts.indices.len(),
        }
    }

    /// Appends copies of a cell until there are `rows` rows.
    pub fn fill_to(&mut self, rows: usize, cell: Cell<'_>) {
        let missing = rows.saturating_sub(self.len());
        if missing == 0 {
            return;
        }
        self.push(cell);
        match self {
            ColumnData::Numbers(list) => list.resize(rows, list[list.len() - 1]),
            ColumnData::Wholes(list) => list.resize(rows, list[list.len() - 1]),
            ColumnData::Flags(list) => list.resize(rows, list[list.len() - 1]),
            ColumnData::Texts(texts) => texts
                .indices
                .resize(rows, texts.indices[texts.indices.len() - 1]),
        }
    }

    /// Removes all rows. The dictionary of strings is kept.
    pub fn clear(&mut self) {
        match self {
            ColumnData::Numbers(list) => list.clear(),
            ColumnData::Wholes(list) => list.clear(),
            ColumnData::Flags(list) => list.clear(),
            ColumnData::Texts(texts) => texts.indices.clear(),
        }
    }
}

/// Adapter that appends the fields of a row to their columns.
pub struct RowAppender<'a> {
    columns: &'a [Column],
    data: &'a mut [ColumnData],
    /// Index of the column that the next field most likely belongs to.
    next: usize,
}

impl<'a> RowAppender<'a> {
    /// Adds a row. Columns that it lacks get a missing value.
    pub fn add(columns: &'a [Column], data: &'a mut [ColumnData], row: &impl Serialize) {
        let rows = data.first().map_or(0, ColumnData::len);
        let mut filling = RowAppender {
            columns,
            data,
            next: 0,
        };
        collect::row(row, &mut filling);
        for data in filling.data.iter_mut().filter(|data| data.len() == rows) {
            data.push(Cell::Nothing);
        }
    }
}

/// A table that is filled row by row.
#[derive(Clone, Debug)]
pub struct DataFrame {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Their values.
    pub data: Vec<ColumnData>,
}

impl DataFrame {
    /// Returns a table without rows.
    pub fn new(columns: Vec<Column>) -> DataFrame {
        let data = columns.iter().map(|column| ColumnData::new(column.kind));
        DataFrame {
            data: data.collect(),
            columns,
        }
    }

    /// Returns a table of these rows. `every` is a row that has every field.
    pub fn of<R: Serialize>(every: &impl Serialize, rows: &[R]) -> DataFrame {
        let mut frame = DataFrame::new(Column::of(every));
        for row in rows {
            RowAppender::add(&frame.columns, &mut frame.data, row);
        }
        frame
    }
}

impl CellSink for RowAppender<'_> {
    fn put(&mut self, name: &str, cell: Cell<'_>) {
        let here = |column: &Column| column.name == name;
        let place = match self.columns.get(self.next) {
            Some(column) if here(column) => Some(self.next),
            _ => self.columns.iter().position(here),
        };
        debug_assert!(place.is_some(), "a column for {name}");
        if let Some(place) = place {
            self.data[place].push(cell);
            self.next = place + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        count: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        wait_s: Option<f64>,
        list: Vec<f64>,
        inner: Inner,
        #[serde(flatten)]
        flat: Inner,
        is_open: bool,
    }

    #[derive(Clone, Copy, Serialize)]
    struct Inner {
        rate_bps: Option<f64>,
    }

    fn row(wait_s: Option<f64>) -> Row {
        let inner = Inner { rate_bps: None };
        Row {
            name: "a",
            count: 2,
            wait_s,
            list: Vec::new(),
            inner,
            flat: inner,
            is_open: true,
        }
    }

    #[test]
    fn columns_are_the_fields_of_a_row() {
        let columns = Column::of(&row(Some(1.0)));
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "name",
                "count",
                "wait_s",
                "inner.rate_bps",
                "rate_bps",
                "is_open"
            ]
        );
        let units: Vec<Option<&str>> = columns
            .iter()
            .map(|column| column.unit.as_deref())
            .collect();
        assert_eq!(
            units,
            [None, None, Some("s"), Some("bit/s"), Some("bit/s"), None]
        );
        assert_eq!(columns[1].kind, ColumnType::Whole);
        assert_eq!(columns[5].kind, ColumnType::Flag);

        let mut data: Vec<ColumnData> = columns
            .iter()
            .map(|column| ColumnData::new(column.kind))
            .collect();
        RowAppender::add(&columns, &mut data, &row(None));
        RowAppender::add(&columns, &mut data, &row(Some(3.0)));
        assert!(data.iter().all(|data| data.len() == 2));
        let ColumnData::Numbers(waits) = &data[2] else {
            panic!("numbers");
        };
        assert!(waits[0].is_nan() && waits[1] == 3.0);
    }
}
