//! The series files and their columns.

use netflow_network::Column;

use crate::{CLASSES, CONNECTIONS, Format, LINKS, NETWORK_TOTALS, WAITS};

/// A series: its name and its columns after `time_s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// Columns that identify a row.
    pub keys: &'static [&'static str],
    /// Columns that contain numbers.
    pub values: &'static [Column],
}

impl Table {
    /// Returns its file name in a results directory.
    pub fn file(&self, format: Format) -> String {
        format!("{}.{format}", self.name)
    }

    /// Returns the names of all columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (keys, values) = (self.keys, self.values);
        std::iter::once("time_s")
            .chain(keys.iter().copied())
            .chain(values.iter().map(|column| column.name))
    }
}

/// Standard deviations of [`LINKS`] over the seeds.
pub const LINKS_STD: Table = Table {
    name: "links_std",
    ..LINKS
};

/// Half the widths of the 95 % confidence intervals of [`LINKS`].
pub const LINKS_CI95: Table = Table {
    name: "links_ci95",
    ..LINKS
};

/// Standard deviations of [`CONNECTIONS`] over the seeds.
pub const CONNECTIONS_STD: Table = Table {
    name: "connections_std",
    ..CONNECTIONS
};

/// Half the widths of the 95 % confidence intervals of [`CONNECTIONS`].
pub const CONNECTIONS_CI95: Table = Table {
    name: "connections_ci95",
    ..CONNECTIONS
};

/// [`NETWORK_TOTALS`] in format 1.
const FORMER_NETWORK_TOTALS: Table = Table {
    name: "whole",
    ..NETWORK_TOTALS
};

/// All series that a directory may contain.
pub(crate) const ALL: [Table; 10] = [
    LINKS,
    CONNECTIONS,
    CLASSES,
    WAITS,
    LINKS_STD,
    LINKS_CI95,
    CONNECTIONS_STD,
    CONNECTIONS_CI95,
    NETWORK_TOTALS,
    FORMER_NETWORK_TOTALS,
];
