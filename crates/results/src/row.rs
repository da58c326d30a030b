//! The rows of the series as types.

use std::sync::Arc;

use crate::{CLASSES, CONNECTIONS, LINKS, Table, WAITS};

/// A row of one of the series, as [`crate::Results`] reads it.
pub trait Row: Sized {
    /// Which series, with its columns.
    const TABLE: Table;

    /// From the columns in their order; both slices are as long as the table says.
    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> Self;

    /// The columns again: time, keys and values.
    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>);
}

/// What a series leaves empty, as a number that is none.
pub(crate) fn empty(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

fn measured(value: f64) -> Option<f64> {
    Some(value).filter(|value| !value.is_nan())
}

/// A link over one recording interval.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// End of the interval in seconds.
    pub time_s: f64,
    /// `FROM->TO`.
    pub link: Arc<str>,
    /// Packets/s that arrived.
    pub arrival_pps: f64,
    /// Packets/s that departed.
    pub departure_pps: f64,
    /// Mean number of packets in the queue, the one in service included.
    pub queue_pkts: f64,
    /// Lost / arrived.
    pub loss_probability: f64,
    /// Fraction of the time the link was busy.
    pub utilization: f64,
    /// Mean time in seconds that a packet spent there, its own transmission included; empty where
    /// none departed.
    pub queueing_delay_s: Option<f64>,
}

impl Row for LinkRow {
    const TABLE: Table = LINKS;

    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> LinkRow {
        LinkRow {
            time_s,
            link: keys[0].clone(),
            arrival_pps: values[0],
            departure_pps: values[1],
            queue_pkts: values[2],
            loss_probability: values[3],
            utilization: values[4],
            queueing_delay_s: measured(values[5]),
        }
    }

    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>) {
        let values = vec![
            self.arrival_pps,
            self.departure_pps,
            self.queue_pkts,
            self.loss_probability,
            self.utilization,
            empty(self.queueing_delay_s),
        ];
        (self.time_s, vec![self.link.clone()], values)
    }
}

/// A connection over one recording interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionRow {
    /// End of the interval in seconds.
    pub time_s: f64,
    /// Its name.
    pub connection: Arc<str>,
    /// Packets/s sent, all `count` of it together.
    pub send_pps: f64,
    /// Packets/s delivered, all `count` of it together.
    pub goodput_pps: f64,
    /// Mean round-trip time in seconds; empty where none was measured.
    pub rtt_s: Option<f64>,
    /// Mean loss probability of the path; empty where nothing was sent.
    pub loss_probability: Option<f64>,
    /// Mean time in seconds from sending a packet to its arrival; empty where none arrived.
    pub delay_s: Option<f64>,
}

impl Row for ConnectionRow {
    const TABLE: Table = CONNECTIONS;

    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> ConnectionRow {
        ConnectionRow {
            time_s,
            connection: keys[0].clone(),
            send_pps: values[0],
            goodput_pps: values[1],
            rtt_s: measured(values[2]),
            loss_probability: measured(values[3]),
            delay_s: measured(values[4]),
        }
    }

    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>) {
        let values = vec![
            self.send_pps,
            self.goodput_pps,
            empty(self.rtt_s),
            empty(self.loss_probability),
            empty(self.delay_s),
        ];
        (self.time_s, vec![self.connection.clone()], values)
    }
}

/// A connection at one of the links it crosses, over one recording interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRow {
    /// End of the interval in seconds.
    pub time_s: f64,
    /// `FROM->TO`.
    pub link: Arc<str>,
    /// Name of the connection.
    pub connection: Arc<str>,
    /// Its packets in the queue at the end of the interval.
    pub queue_pkts: f64,
    /// Its packets/s that arrived during the last step of the interval.
    pub arrival_pps: f64,
}

impl Row for ClassRow {
    const TABLE: Table = CLASSES;

    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> ClassRow {
        ClassRow {
            time_s,
            link: keys[0].clone(),
            connection: keys[1].clone(),
            queue_pkts: values[0],
            arrival_pps: values[1],
        }
    }

    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>) {
        let keys = vec![self.link.clone(), self.connection.clone()];
        (self.time_s, keys, vec![self.queue_pkts, self.arrival_pps])
    }
}

/// What a user waited for something.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// When the user came, in seconds.
    pub time_s: f64,
    /// Name of the workload.
    pub workload: Arc<str>,
    /// For what: `connect`, `file`, `page` or `echo`.
    pub wait: Arc<str>,
    /// 0 is the run with the scenario's seed, 1 that with the seed after it, and so on.
    pub run: f64,
    /// Users of a workload are counted from 0.
    pub user: f64,
    /// How long, in seconds.
    pub wait_s: f64,
}

impl Row for WaitRow {
    const TABLE: Table = WAITS;

    fn from_columns(time_s: f64, keys: &[Arc<str>], values: &[f64]) -> WaitRow {
        WaitRow {
            time_s,
            workload: keys[0].clone(),
            wait: keys[1].clone(),
            run: values[0],
            user: values[1],
            wait_s: values[2],
        }
    }

    fn columns(&self) -> (f64, Vec<Arc<str>>, Vec<f64>) {
        let keys = vec![self.workload.clone(), self.wait.clone()];
        (self.time_s, keys, vec![self.run, self.user, self.wait_s])
    }
}
