//! Errors in the numbers of a profile.

/// Location of a number in a profile's definition; indices start at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberLocation {
    /// All rows.
    Rows,
    /// Loss probability of a row.
    Loss {
        /// The row.
        row: usize,
    },
    /// Exponent A in a row of a power law.
    Exponent {
        /// The row.
        row: usize,
    },
    /// Factor B in a row of a power law.
    Factor {
        /// The row.
        row: usize,
    },
    /// All throughputs in a row of a grid.
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
    /// All round-trip times.
    Rtts,
    /// One round-trip time of a grid.
    Rtt {
        /// The round-trip time's index.
        column: usize,
    },
    /// Shortest round-trip time of a power law.
    RttMin,
    /// Longest round-trip time of a power law.
    RttMax,
    /// Coefficient of rtt·loss in the exponent, \[Prof\] eq. 3.
    LossRttExponent,
    /// The window limit.
    Window,
    /// Amplitude of the window sawtooth, see [`Profile::swing`](crate::Profile::sawtooth_amplitude).
    SawtoothAmplitude,
    /// Retransmission timeout T0.
    Timeout,
    /// Segments per acknowledgement, b.
    SegmentsPerAck,
}

/// Invalid number of a profile.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// An axis without values.
    #[error("no {what}")]
    Empty {
        /// Location.
        place: NumberLocation,
        /// Name of the missing values.
        what: &'static str,
    },
    /// The values of an axis do not increase.
    #[error("{what} must increase: {value} follows {before}")]
    NotIncreasing {
        /// Location.
        place: NumberLocation,
        /// Name of the axis.
        what: &'static str,
        /// Value that is too small.
        value: f64,
        /// Value before it.
        before: f64,
    },
    /// A row has too few or too many throughputs.
    #[error("{found} throughputs in this row for {wanted} round-trip times")]
    RowLength {
        /// Location.
        place: NumberLocation,
        /// Number of throughputs.
        found: usize,
        /// Required number.
        wanted: usize,
    },
    /// A value is outside its range, or NaN.
    #[error("{what} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// Location.
        place: NumberLocation,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
        /// Allowed range, in words.
        allowed: &'static str,
    },
}

impl ProfileError {
    /// Returns the location of the number.
    pub fn place(&self) -> NumberLocation {
        match self {
            Self::Empty { place, .. }
            | Self::NotIncreasing { place, .. }
            | Self::RowLength { place, .. }
            | Self::OutOfRange { place, .. } => *place,
        }
    }
}

/// Returns `Ok` if `good`, else an error with the value and its allowed range.
pub(crate) fn ensure(
    good: bool,
    place: NumberLocation,
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

/// Range of round-trip times in a definition, which avoids overflow in the equations.
pub(crate) const RTT_MIN_S: f64 = 1e-12;
pub(crate) const RTT_MAX_S: f64 = 1e6;

/// Smallest positive loss probability, so that its logarithm is an ordinary number.
const LOSS_MIN: f64 = 1e-60;

pub(crate) fn ensure_rtt(rtt_s: f64, place: NumberLocation) -> Result<(), ProfileError> {
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
        |row| NumberLocation::Loss { row },
        |loss, place| {
            let good = loss == 0.0 || (LOSS_MIN..=1.0).contains(&loss);
            ensure(good, place, "loss", loss, "0 to 1")
        },
    )
}

pub(crate) fn ensure_increasing(
    values: impl Iterator<Item = f64>,
    what: &'static str,
    place: impl Fn(usize) -> NumberLocation,
    check: impl Fn(f64, NumberLocation) -> Result<(), ProfileError>,
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
            NumberLocation::Window,
            "window limit (packets)",
            window,
            "1 to 1e12 packets",
        )
    })
}
