//! The three series and their columns.

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
    /// Every column, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (keys, values) = (self.keys, self.values);
        std::iter::once("time_s")
            .chain(keys.iter().copied())
            .chain(values.iter().copied())
    }
}

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
    ],
};

/// Every connection in every interval.
pub const CONNECTIONS: Table = Table {
    name: "connections",
    keys: &["connection"],
    values: &["send_pps", "goodput_pps", "rtt_s", "loss_probability"],
};

/// Every connection at every link it crosses, in every interval.
pub const CLASSES: Table = Table {
    name: "classes",
    keys: &["link", "connection"],
    values: &["queue_pkts", "arrival_pps"],
};
