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
use collect::Sink;

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
        collect::row(row, &mut Naming(&mut columns));
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

struct Naming<'a>(&'a mut Vec<Column>);

impl Sink for Naming<'_> {
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
pub enum Data {
    /// Numbers; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Whole numbers; `None` is a missing value.
    Wholes(Vec<Option<u64>>),
    /// Flags; `None` is a missing value.
    Flags(Vec<Option<bool>>),
    /// Strings, as indices into a list of distinct strings.
    Texts(Texts),
}

/// Dictionary-encoded strings: each distinct string is stored once.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// Distinct strings, in the order of their first appearance.
    pub names: Vec<String>,
    /// Index into `names` for every row; -1 is a missing value.
    pub places: Vec<i32>,
    known: std::collections::HashMap<String, i32>,
    last: i32,
}

impl Texts {
    fn push(&mut self, text: &str) {
        // Rows have the same order in every case, so the next name is the likeliest one.
        let guess = self.last + 1;
        let place = match self.names.get(guess as usize) {
            Some(name) if name == text => guess,
            _ => match self.known.get(text) {
                Some(&place) => place,
                None => {
                    let place = self.names.len() as i32;
                    self.names.push(text.to_owned());
                    self.known.insert(text.to_owned(), place);
                    place
                }
            },
        };
        self.last = place;
        self.places.push(place);
    }
}

impl Data {
    /// Returns an empty column of this type.
    pub fn new(kind: ColumnType) -> Data {
        match kind {
            ColumnType::Number => Data::Numbers(Vec::new()),
            ColumnType::Whole => Data::Wholes(Vec::new()),
            ColumnType::Flag => Data::Flags(Vec::new()),
            ColumnType::Text => Data::Texts(Texts::default()),
        }
    }

    /// Appends a cell. A cell of another type is stored as a missing value.
    pub fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Data::Numbers(list), Cell::Number(number)) => list.push(number),
            (Data::Numbers(list), Cell::Whole(number)) => list.push(number as f64),
            (Data::Numbers(list), _) => list.push(f64::NAN),
            (Data::Wholes(list), Cell::Whole(number)) => list.push(Some(number)),
            (Data::Wholes(list), _) => list.push(None),
            (Data::Flags(list), Cell::Flag(flag)) => list.push(Some(flag)),
            (Data::Flags(list), _) => list.push(None),
            (Data::Texts(texts), Cell::Text(text)) => texts.push(text),
            (Data::Texts(texts), _) => texts.places.push(-1),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Data::Numbers(list) => list.len(),
            Data::Wholes(list) => list.len(),
            Data::Flags(list) => list.len(),
            Data::Texts(texts) => texts.places.len(),
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
            Data::Numbers(list) => list.resize(rows, list[list.len() - 1]),
            Data::Wholes(list) => list.resize(rows, list[list.len() - 1]),
            Data::Flags(list) => list.resize(rows, list[list.len() - 1]),
            Data::Texts(texts) => texts
                .places
                .resize(rows, texts.places[texts.places.len() - 1]),
        }
    }

    /// Removes all rows. The dictionary of strings is kept.
    pub fn clear(&mut self) {
        match self {
            Data::Numbers(list) => list.clear(),
            Data::Wholes(list) => list.clear(),
            Data::Flags(list) => list.clear(),
            Data::Texts(texts) => texts.places.clear(),
        }
    }
}

/// Adapter that appends the fields of a row to their columns.
pub struct RowAppender<'a> {
    columns: &'a [Column],
    data: &'a mut [Data],
    /// Index of the column that the next field most likely belongs to.
    next: usize,
}

impl<'a> RowAppender<'a> {
    /// Adds a row. Columns that it lacks get a missing value.
    pub fn add(columns: &'a [Column], data: &'a mut [Data], row: &impl Serialize) {
        let rows = data.first().map_or(0, Data::len);
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
    pub data: Vec<Data>,
}

impl DataFrame {
    /// Returns a table without rows.
    pub fn new(columns: Vec<Column>) -> DataFrame {
        let data = columns.iter().map(|column| Data::new(column.kind));
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

impl Sink for RowAppender<'_> {
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

        let mut data: Vec<Data> = columns
            .iter()
            .map(|column| Data::new(column.kind))
            .collect();
        RowAppender::add(&columns, &mut data, &row(None));
        RowAppender::add(&columns, &mut data, &row(Some(3.0)));
        assert!(data.iter().all(|data| data.len() == 2));
        let Data::Numbers(waits) = &data[2] else {
            panic!("numbers");
        };
        assert!(waits[0].is_nan() && waits[1] == 3.0);
    }
}
