//! The series and their columns.

use crate::Format;

/// A series: its name and its columns after `time_s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// Columns that say what a row is about.
    pub keys: &'static [&'static str],
    /// Columns that hold numbers.
    pub values: &'static [&'static str],
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
            .chain(values.iter().copied())
    }
}

/// Columns that are not in the files of earlier versions; they read as empty.
pub(crate) const LATER: [&str; 2] = ["queueing_delay_s", "delay_s"];

/// Every link in every interval.
pub const LINKS: Table = Table {
    name: "links",
    keys: &["link"],
    values: &[
        "arrival_pps",
        "departure_pps",
        "queue_pkts",
        "loss_probability",
        "utilization",
        "queueing_delay_s",
    ],
};

/// Every connection in every interval.
pub const CONNECTIONS: Table = Table {
    name: "connections",
    keys: &["connection"],
    values: &[
        "send_pps",
        "goodput_pps",
        "rtt_s",
        "loss_probability",
        "delay_s",
    ],
};

/// Every connection at every link it crosses, in every interval.
pub const CLASSES: Table = Table {
    name: "classes",
    keys: &["link", "connection"],
    values: &["queue_pkts", "arrival_pps"],
};

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

/// What users waited for: a row for every wait; `time_s` is when the user came.
pub const WAITS: Table = Table {
    name: "waits",
    keys: &["workload", "wait"],
    values: &["run", "user", "wait_s"],
};

/// All there may be in a directory.
pub(crate) const ALL: [Table; 8] = [
    LINKS,
    CONNECTIONS,
    CLASSES,
    WAITS,
    LINKS_STD,
    LINKS_CI95,
    CONNECTIONS_STD,
    CONNECTIONS_CI95,
];
