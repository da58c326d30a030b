//! Tables of reference values.

use std::path::PathBuf;

pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    pub fn read(name: &str) -> Table {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/reference/math")
            .join(name);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        let columns = lines
            .next()
            .unwrap()
            .split(',')
            .map(str::to_owned)
            .collect();
        let rows = lines
            .map(|l| l.split(',').map(|v| v.parse().unwrap()).collect())
            .collect();
        Table { columns, rows }
    }

    pub fn get(&self, row: usize, column: &str) -> f64 {
        self.rows[row][self.columns.iter().position(|c| c == column).unwrap()]
    }
}
