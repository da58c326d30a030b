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
    /// Every link in every interval.
    LINKS = "links";
    /// A link over one recording interval.
    LinkRow: "End of the interval in seconds." {
        /// `FROM->TO`.
        link,
    }
    LinkInterval
}

series! {
    /// Every connection in every interval.
    CONNECTIONS = "connections";
    /// A connection over one recording interval.
    ConnectionRow: "End of the interval in seconds." {
        /// Its name.
        connection,
    }
    ConnectionInterval
}

series! {
    /// Every connection at every link that its data cross, in every interval. Acknowledgements are not counted: a link
    /// that only they cross has no row.
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
    /// How long a user waited.
    pub struct WaitNumbers {
        /// 0 is the run with the scenario's seed, 1 that with the seed after it, and so on.
        pub run: f64,
        /// Users of a workload are counted from 0.
        pub user: f64,
        /// How long, in seconds.
        pub wait_s: f64,
    }
}

series! {
    /// What users waited for: a row for every wait.
    WAITS = "waits";
    /// What a user waited for something.
    WaitRow: "When the user came, in seconds: of every wait of a user the same, of a stall in the tenth minute, too." {
        /// Name of the workload.
        workload,
        /// For what: `connect`, `file`, `page`, `echo`, `play` or `stall`.
        wait,
    }
    WaitNumbers
}

columns! {
    /// A quantity of the network as a whole, over the seeds.
    pub struct NetworkTotalsNumbers {
        /// The mean over the seeds.
        pub mean: f64,
        /// The standard deviation over them.
        pub std: Option<f64>,
        /// Half the width of the 95 % confidence interval of the mean.
        pub ci95: Option<f64>,
    }
}

series! {
    /// The network as a whole, with several seeds.
    NETWORK_TOTALS = "whole";
    /// A quantity of the network as a whole over one recording interval.
    NetworkTotalsRow: "End of the interval in seconds." {
        /// Which: `queue_pkts`, `highest_utilization`, `send_pps` or `goodput_pps`.
        quantity,
    }
    NetworkTotalsNumbers
}
