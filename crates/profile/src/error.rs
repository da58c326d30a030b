//! What can be wrong with a profile's numbers.

/// Where in a profile's definition a number stands; counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The rows as a whole.
    Rows,
    /// A row's loss probability.
    Loss {
        /// The row.
        row: usize,
    },
    /// The exponent A of a power law's row.
    Exponent {
        /// The row.
        row: usize,
    },
    /// The factor B of a power law's row.
    Factor {
        /// The row.
        row: usize,
    },
    /// The throughputs of a grid's row as a whole.
    Row {
        /// The row.
        row: usize,
    },
    /// One throughput of a grid.
    Cell {
        /// The row.
        row: usize,
        /// The round-trip time's index.
        column: usize,
    },
    /// The round-trip times as a whole.
    Rtts,
    /// One round-trip time of a grid.
    Rtt {
        /// The round-trip time's index.
        column: usize,
    },
    /// The shortest round-trip time of a power law.
    RttMin,
    /// The longest round-trip time of a power law.
    RttMax,
    /// The coefficient of rtt·loss in the exponent, \[Prof\] eq. 3.
    LossRttExponent,
    /// The window limit.
    Window,
    /// How far windows swing.
    Swing,
    /// The length of the retransmission timer, T0.
    Timeout,
    /// The segments that one acknowledgement covers, b.
    SegmentsPerAck,
}

/// A number that a profile cannot have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// An axis without values.
    #[error("no {what}")]
    Empty {
        /// Where.
        place: Place,
        /// What is missing.
        what: &'static str,
    },
    /// Values of an axis must increase.
    #[error("{what} must increase: {value} follows {before}")]
    NotIncreasing {
        /// Where.
        place: Place,
        /// Which axis.
        what: &'static str,
        /// The value that is too small.
        value: f64,
        /// The value before it.
        before: f64,
    },
    /// A row with too few or too many throughputs.
    #[error("{found} throughputs in this row for {wanted} round-trip times")]
    RowLength {
        /// Where.
        place: Place,
        /// How many there are.
        found: usize,
        /// How many there must be.
        wanted: usize,
    },
    /// A value outside its range, or NaN.
    #[error("{what} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// Where.
        place: Place,
        /// What it is.
        what: &'static str,
        /// The value.
        value: f64,
        /// The range, in words.
        allowed: &'static str,
    },
}

impl ProfileError {
    /// Where the number stands.
    pub fn place(&self) -> Place {
        match self {
            Self::Empty { place, .. }
            | Self::NotIncreasing { place, .. }
            | Self::RowLength { place, .. }
            | Self::OutOfRange { place, .. } => *place,
        }
    }
}

/// `Ok` if `good`, else the value with its range.
pub(crate) fn ensure(
    good: bool,
    place: Place,
    what: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), ProfileError> {
    if good {
        Ok(())
    } else {
        Err(ProfileError::OutOfRange {
            place,
            what,
            value,
            allowed,
        })
    }
}

/// The round-trip times that a definition may contain: they bound what the equations can overflow.
pub(crate) const RTT_MIN_S: f64 = 1e-12;
pub(crate) const RTT_MAX_S: f64 = 1e6;

/// Smallest loss probability that is not 0: its logarithm must be an ordinary number.
const LOSS_MIN: f64 = 1e-60;

pub(crate) fn ensure_rtt(rtt_s: f64, place: Place) -> Result<(), ProfileError> {
    let good = (RTT_MIN_S..=RTT_MAX_S).contains(&rtt_s);
    ensure(
        good,
        place,
        "round-trip time (s)",
        rtt_s,
        "above 0, 1e-12 to 1e6 s",
    )
}

pub(crate) fn ensure_losses(losses: impl Iterator<Item = f64>) -> Result<(), ProfileError> {
    ensure_increasing(
        losses,
        "loss",
        |row| Place::Loss { row },
        |loss, place| {
            let good = loss == 0.0 || (LOSS_MIN..=1.0).contains(&loss);
            ensure(good, place, "loss", loss, "0 to 1")
        },
    )
}

pub(crate) fn ensure_increasing(
    values: impl Iterator<Item = f64>,
    what: &'static str,
    place: impl Fn(usize) -> Place,
    check: impl Fn(f64, Place) -> Result<(), ProfileError>,
) -> Result<(), ProfileError> {
    let mut before = f64::NEG_INFINITY;
    for (i, value) in values.enumerate() {
        check(value, place(i))?;
        if value <= before {
            return Err(ProfileError::NotIncreasing {
                place: place(i),
                what,
                value,
                before,
            });
        }
        before = value;
    }
    Ok(())
}

pub(crate) fn ensure_window(window_pkts: Option<f64>) -> Result<(), ProfileError> {
    window_pkts.map_or(Ok(()), |window| {
        let good = (1.0..=1e12).contains(&window);
        ensure(
            good,
            Place::Window,
            "window limit (packets)",
            window,
            "1 to 1e12 packets",
        )
    })
}
