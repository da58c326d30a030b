//! Inputs of a conditioner other than the packets it marks.

/// Properties of the connections of an aggregate and of the other aggregates. Implementations supply them by
/// measurement, by signalling between edges, or from configuration; `None` means unknown.
pub trait Inputs {
    /// Returns the mean RTT of the aggregate in seconds.
    fn rtt_s(&self) -> Option<f64>;
    /// Returns the mean retransmission timeout of the aggregate in seconds.
    fn rto_s(&self) -> Option<f64>;
    /// Returns the smallest RTT of all aggregates in seconds.
    fn min_rtt_s(&self) -> Option<f64>;
    /// Returns the smallest retransmission timeout of all aggregates in seconds.
    fn min_rto_s(&self) -> Option<f64>;
    /// Returns the fraction of the packets of the aggregate whose connection has a window below
    /// `window_pkts`.
    fn below_window(&self, window_pkts: f64) -> Option<f64>;
}

/// Properties of one aggregate; `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// Mean RTT in seconds.
    pub rtt_s: Option<f64>,
    /// Mean retransmission timeout in seconds.
    pub rto_s: Option<f64>,
    /// Window in packets, the same for all connections.
    pub window_pkts: Option<f64>,
}

impl Aggregate {
    /// Returns an aggregate with this RTT and retransmission timeout in seconds.
    pub fn new(rtt_s: f64, rto_s: f64) -> Aggregate {
        Aggregate {
            rtt_s: Some(rtt_s),
            rto_s: Some(rto_s),
            window_pkts: None,
        }
    }
}

/// Minima over several aggregates, as exchanged between edges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Minima {
    /// Smallest RTT in seconds.
    pub rtt_s: Option<f64>,
    /// Smallest retransmission timeout in seconds.
    pub rto_s: Option<f64>,
}

impl Minima {
    /// Returns the minima over these aggregates.
    pub fn over<'a>(aggregates: impl IntoIterator<Item = &'a Aggregate>) -> Minima {
        aggregates
            .into_iter()
            .map(|aggregate| Minima {
                rtt_s: aggregate.rtt_s,
                rto_s: aggregate.rto_s,
            })
            .fold(Minima::default(), Minima::and)
    }

    /// Returns the smaller of these minima and those of another edge.
    #[must_use]
    pub fn and(self, other: Minima) -> Minima {
        Minima {
            rtt_s: smaller(self.rtt_s, other.rtt_s),
            rto_s: smaller(self.rto_s, other.rto_s),
        }
    }
}

fn smaller(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

/// [`Inputs`] with given values. The default, with everything unknown, is sufficient for
/// [`Kind::Standard`](crate::Kind::Standard).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GivenInputs {
    /// Properties of this aggregate.
    pub aggregate: Aggregate,
    /// Minima over all aggregates.
    pub minima: Minima,
}

impl Inputs for GivenInputs {
    fn rtt_s(&self) -> Option<f64> {
        self.aggregate.rtt_s
    }

    fn rto_s(&self) -> Option<f64> {
        self.aggregate.rto_s
    }

    fn min_rtt_s(&self) -> Option<f64> {
        self.minima.rtt_s
    }

    fn min_rto_s(&self) -> Option<f64> {
        self.minima.rto_s
    }

    fn below_window(&self, window_pkts: f64) -> Option<f64> {
        let window = self.aggregate.window_pkts?;
        Some(f64::from(u8::from(window < window_pkts)))
    }
}
