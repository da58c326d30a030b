//! Table columns that are declared once, as the fields of a structure.

/// Numeric column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, which ends in its unit.
    pub name: &'static str,
    /// True if files of earlier versions lack it; it reads as empty there.
    pub later: bool,
}

impl Column {
    /// Returns the index of the column of this name. In a constant, an unknown name is a compile error.
    ///
    /// # Panics
    /// If there is no column of this name.
    pub const fn place(columns: &[Column], name: &str) -> usize {
        let mut i = 0;
        while i < columns.len() {
            if is_same(columns[i].name.as_bytes(), name.as_bytes()) {
                return i;
            }
            i += 1;
        }
        panic!("unknown column name")
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Row of numbers, implemented by [`columns!`](crate::columns).
pub trait Columns: Copy {
    /// Columns of the row.
    const COLUMNS: &'static [Column];

    /// Passes every number to `put` in the order of the columns; NaN if not measured.
    fn each(&self, put: impl FnMut(f64));

    /// Returns the row of these numbers, one for each column.
    ///
    /// # Panics
    /// If there are fewer numbers than columns.
    fn of(numbers: &[f64]) -> Self;

    /// Returns every number.
    fn numbers(&self) -> Vec<f64> {
        let mut numbers = Vec::with_capacity(Self::COLUMNS.len());
        self.each(|number| numbers.push(number));
        numbers
    }
}

/// Type of a cell.
pub trait Cell {
    /// Returns the cell as a number; NaN if not measured.
    fn number(&self) -> f64;
    /// Returns the cell of a number.
    fn of(number: f64) -> Self;
}

impl Cell for f64 {
    fn number(&self) -> f64 {
        *self
    }

    fn of(number: f64) -> f64 {
        number
    }
}

impl Cell for Option<f64> {
    fn number(&self) -> f64 {
        self.unwrap_or(f64::NAN)
    }

    fn of(number: f64) -> Option<f64> {
        Some(number).filter(|number| !number.is_nan())
    }
}

/// Declares a structure whose fields are the columns of a table: `f64`, or `Option<f64>` if a cell may be
/// empty. `later` marks columns that files of earlier versions lack.
#[macro_export]
macro_rules! columns {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $about:literal])* $(@$later:ident)? pub $column:ident: $cell:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $about])* pub $column: $cell,)*
        }

        impl $crate::Columns for $name {
            const COLUMNS: &'static [$crate::Column] = &[
                $($crate::Column {
                    name: stringify!($column),
                    later: $crate::columns!(@is_later $($later)?),
                },)*
            ];

            fn each(&self, mut put: impl FnMut(f64)) {
                $(put($crate::Cell::number(&self.$column));)*
            }

            fn of(numbers: &[f64]) -> Self {
                let mut numbers = numbers.iter().copied();
                let mut next = || numbers.next().expect("a number for every column");
                Self {
                    $($column: $crate::Cell::of(next()),)*
                }
            }
        }
    };
    (@is_later later) => { true };
    (@is_later) => { false };
}
