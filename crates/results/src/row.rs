//! The rows of the series as types.

use std::sync::Arc;

use netflow_network::{ClassNumbers, Columns, ConnectionInterval, LinkInterval, columns};

use crate::Table;

/// A row of one of the series, as [`crate::Results`] reads it.
pub trait Row: Sized {
    /// The series and its columns.
    const TABLE: Table;

    /// Returns the row of these columns. Both slices have the lengths of the table.
    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> Self;

    /// Returns the columns: time, keys and values.
    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>);
}

/// Declares a series and its row type: the file name, the key columns and the type of its numbers.
macro_rules! series {
    (
        $(#[$table_meta:meta])* $table:ident = $file:literal;
        $(#[$meta:meta])* $name:ident: $time:literal {
            $($(#[doc = $about:literal])* $key:ident,)*
        }
        $numbers:ty
    ) => {
        $(#[$table_meta])*
        pub const $table: Table = Table {
            name: $file,
            keys: &[$(stringify!($key)),*],
            values: <$numbers as Columns>::COLUMNS,
        };

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            #[doc = $time]
            pub time_s: f64,
            $($(#[doc = $about])* pub $key: Arc<str>,)*
            /// Its numbers.
            pub values: $numbers,
        }

        impl Row for $name {
            const TABLE: Table = $table;

            fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> $name {
                let mut keys = keys.iter().cloned();
                $name {
                    time_s,
                    $($key: keys.next().expect("a name for every key"),)*
                    values: Columns::of(values),
                }
            }

            fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>) {
                (self.time_s, vec![$(self.$key.clone()),*], self.values.numbers())
            }
        }
    };
}

series! {
    /// Values of every link in every recording interval.
    LINKS = "links";
    /// A link over one recording interval.
    LinkRow: "End of the interval in seconds." {
        /// `FROM->TO`.
        link,
    }
    LinkInterval
}

series! {
    /// Values of every connection in every recording interval.
    CONNECTIONS = "connections";
    /// A connection over one recording interval.
    ConnectionRow: "End of the interval in seconds." {
        /// Name of the connection.
        connection,
    }
    ConnectionInterval
}

series! {
    /// Values of every connection at every link that its data crosses, in every recording interval. Acknowledgements
    /// are not counted. A link that only acknowledgements cross has no row.
    CLASSES = "classes";
    /// A connection at one of the links it crosses, over one recording interval.
    ClassRow: "End of the interval in seconds." {
        /// `FROM->TO`.
        link,
        /// Name of the connection.
        connection,
    }
    ClassNumbers
}

columns! {
    /// Response time of a user.
    pub struct WaitNumbers {
        /// Index of the run: 0 has the scenario's seed, 1 the next seed, and so on.
        pub run: f64,
        /// Index of the user within the workload, from 0.
        pub user: f64,
        /// Response time in seconds.
        pub wait_s: f64,
    }
}

series! {
    /// Response times of users: a row for every wait.
    WAITS = "waits";
    /// Response time of a user for one event.
    WaitRow: "Arrival time of the user in seconds; the same for every wait of that user." {
        /// Name of the workload.
        workload,
        /// Event that the user waits for: `connect`, `file`, `page`, `echo`, `play` or `stall`.
        wait,
    }
    WaitNumbers
}

columns! {
    /// Quantity of the whole network over several seeds.
    pub struct NetworkTotalsNumbers {
        /// Mean over the seeds.
        pub mean: f64,
        /// Standard deviation over the seeds.
        pub std: Option<f64>,
        /// Half-width of the 95 % confidence interval of the mean.
        pub ci95: Option<f64>,
    }
}

series! {
    /// Quantities of the whole network, with several seeds.
    NETWORK_TOTALS = "network_totals";
    /// Quantity of the whole network over one recording interval.
    NetworkTotalsRow: "End of the interval in seconds." {
        /// Name of the quantity: `queue_pkts`, `highest_utilization`, `send_pps` or `goodput_pps`.
        quantity,
    }
    NetworkTotalsNumbers
}
