//! What a conditioner must know beyond the packets it sees.

/// What is known of an aggregate's connections and of the other aggregates. Whoever knows it,
/// measured, exchanged between edges or given, answers; `None` is "not known".
pub trait Inputs {
    /// Mean RTT of the aggregate in seconds.
    fn rtt_s(&self) -> Option<f64>;
    /// Mean retransmission timeout of the aggregate in seconds.
    fn rto_s(&self) -> Option<f64>;
    /// The smallest RTT of all aggregates in seconds.
    fn min_rtt_s(&self) -> Option<f64>;
    /// The smallest retransmission timeout of all aggregates in seconds.
    fn min_rto_s(&self) -> Option<f64>;
    /// The fraction of the aggregate's packets whose connection has a window below this.
    fn below_window(&self, window_pkts: f64) -> Option<f64>;
}

/// What is known of one aggregate; `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// Mean RTT in seconds.
    pub rtt_s: Option<f64>,
    /// Mean retransmission timeout in seconds.
    pub rto_s: Option<f64>,
    /// The window in packets; all connections count as having this one.
    pub window_pkts: Option<f64>,
}

impl Aggregate {
    /// An aggregate with this RTT and retransmission timeout, in seconds.
    pub fn new(rtt_s: f64, rto_s: f64) -> Aggregate {
        Aggregate {
            rtt_s: Some(rtt_s),
            rto_s: Some(rto_s),
            window_pkts: None,
        }
    }
}

/// The smallest of what is known of several aggregates: what edges tell each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Minima {
    /// The smallest RTT in seconds.
    pub rtt_s: Option<f64>,
    /// The smallest retransmission timeout in seconds.
    pub rto_s: Option<f64>,
}

impl Minima {
    /// The smallest of these aggregates.
    pub fn over<'a>(aggregates: impl IntoIterator<Item = &'a Aggregate>) -> Minima {
        aggregates
            .into_iter()
            .map(|aggregate| Minima {
                rtt_s: aggregate.rtt_s,
                rto_s: aggregate.rto_s,
            })
            .fold(Minima::default(), Minima::and)
    }

    /// The smaller of these and those that another edge tells.
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

/// [`Inputs`] that are given, or were exchanged. Everything unknown (the default) is enough for
/// [`Kind::Standard`](crate::Kind::Standard).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GivenInputs {
    /// This aggregate.
    pub aggregate: Aggregate,
    /// All aggregates.
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
