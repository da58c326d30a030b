//! The series and their columns.

use netflow_network::Column;

use crate::{CLASSES, CONNECTIONS, Format, LINKS, WAITS, WHOLE};

/// A series: its name and its columns after `time_s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// Columns that say what a row is about.
    pub keys: &'static [&'static str],
    /// Columns that hold numbers.
    pub values: &'static [Column],
}

impl Table {
    /// Its file in a results directory.
    pub fn file(&self, format: Format) -> String {
        format!("{}.{format}", self.name)
    }

    /// Every column, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (keys, values) = (self.keys, self.values);
        std::iter::once("time_s")
            .chain(keys.iter().copied())
            .chain(values.iter().map(|column| column.name))
    }
}

/// The standard deviations over the seeds of what [`LINKS`] has.
pub const LINKS_STD: Table = Table {
    name: "links_std",
    ..LINKS
};

/// Half the widths of the 95 % confidence intervals of what [`LINKS`] has.
pub const LINKS_CI95: Table = Table {
    name: "links_ci95",
    ..LINKS
};

/// The standard deviations over the seeds of what [`CONNECTIONS`] has.
pub const CONNECTIONS_STD: Table = Table {
    name: "connections_std",
    ..CONNECTIONS
};

/// Half the widths of the 95 % confidence intervals of what [`CONNECTIONS`] has.
pub const CONNECTIONS_CI95: Table = Table {
    name: "connections_ci95",
    ..CONNECTIONS
};

/// All there may be in a directory.
pub(crate) const ALL: [Table; 9] = [
    LINKS,
    CONNECTIONS,
    CLASSES,
    WAITS,
    LINKS_STD,
    LINKS_CI95,
    CONNECTIONS_STD,
    CONNECTIONS_CI95,
    WHOLE,
];
