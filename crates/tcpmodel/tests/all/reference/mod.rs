//! Tables of reference values.

use std::path::PathBuf;

/// A table with named columns.
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [f64],
}

impl Table {
    /// Reads `tests/reference/math/NAME`, which must have at least `rows` rows.
    pub fn read(name: &str, rows: usize) -> Table {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/reference/math")
            .join(name);
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_path(&path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let columns = reader.headers().unwrap().iter().map(str::to_owned);
        let table = Table {
            columns: columns.collect(),
            rows: reader.deserialize().map(Result::unwrap).collect(),
        };
        assert!(table.rows.len() >= rows, "{}", path.display());
        table
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row {
            columns: &self.columns,
            values,
        })
    }
}

impl Row<'_> {
    pub fn get(&self, column: &str) -> f64 {
        let at = self.columns.iter().position(|name| name == column);
        self.values[at.unwrap_or_else(|| panic!("no column {column}"))]
    }

    /// Asserts that the value of the column is `found`, with the relative error `tolerance` (or relative to
    /// 1e-12, if it is 0).
    pub fn assert_close(&self, column: &str, found: f64, tolerance: f64) {
        let wanted = self.get(column);
        let good = found == wanted || (found - wanted).abs() <= tolerance * wanted.abs().max(1e-12);
        assert!(
            good,
            "{column}: {found}, not {wanted}, in {:?}",
            self.values
        );
    }
}
