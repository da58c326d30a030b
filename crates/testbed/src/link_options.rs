//! Options of an emulated link.

use std::path::PathBuf;

use netflow_queues::{LinkLoss, LossError};
use netflow_units::{Bytes, Packets, Rate, Seconds, Size};

/// Options of one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionOptions {
    /// Propagation delay, the same for every packet.
    pub delay: Seconds,
    /// Transmission rate; `None` for instantaneous transmission.
    pub rate: Option<Rate>,
    /// Buffer for waiting packets and the packet in service, used with a rate only. A packet that finds
    /// it full is dropped.
    pub buffer: Size,
    /// Random loss on the link.
    pub loss: LinkLoss,
}

impl Default for DirectionOptions {
    /// Returns no delay, rate or loss, and a buffer of 100 packets for a rate set later.
    fn default() -> DirectionOptions {
        DirectionOptions {
            delay: Seconds(0.0),
            rate: None,
            buffer: Size::Packets(Packets(100.0)),
            loss: LinkLoss::NONE,
        }
    }
}

/// Additional delay of connections to a TCP port of end B, which models hosts further away. It applies to
/// the packets that B sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtraPathDelay {
    /// Port at end B.
    pub port: u16,
    /// Delay in addition to that from B to A.
    pub delay: Seconds,
}

/// Options of a link with two ends, A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkOptions {
    /// Direction from A to B.
    pub out: DirectionOptions,
    /// Direction from B to A.
    pub back: DirectionOptions,
    /// Connections with an additional delay.
    pub extra_path_delay: Option<ExtraPathDelay>,
    /// Largest IP packet, in bytes.
    pub mtu: u16,
    /// Random seed of all losses.
    pub seed: u64,
    /// Capture file, if any.
    pub capture: Option<Capture>,
}

impl Default for LinkOptions {
    /// Returns an MTU of 1500 bytes, seed 1, and the defaults of [`DirectionOptions`].
    fn default() -> LinkOptions {
        LinkOptions {
            out: DirectionOptions::default(),
            back: DirectionOptions::default(),
            extra_path_delay: None,
            mtu: 1500,
            seed: 1,
            capture: None,
        }
    }
}

impl LinkOptions {
    /// Returns a link without loss or rate, with this one-way delay in each direction.
    pub fn with_delay(delay: Seconds) -> LinkOptions {
        let direction = DirectionOptions {
            delay,
            ..DirectionOptions::default()
        };
        LinkOptions {
            out: direction.clone(),
            back: direction,
            ..LinkOptions::default()
        }
    }

    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// The first value out of range, with its allowed range.
    pub fn check(&self) -> Result<(), OptionError> {
        self.out.check("a to b")?;
        self.back.check("b to a")?;
        if let Some(detour) = self.extra_path_delay
            && !(0.0..=MAX_DELAY_S).contains(&detour.delay.get())
        {
            let allowed = "from 0 s to 1 h";
            return Err(OptionError::new("detour", "delay", detour.delay, allowed));
        }
        let allowed = "from 68 to 65535 B";
        if self.mtu < 68 {
            let mtu = Bytes(f64::from(self.mtu));
            return Err(OptionError::new("link", "mtu", mtu, allowed));
        }
        Ok(())
    }
}

impl DirectionOptions {
    fn check(&self, direction: &'static str) -> Result<(), OptionError> {
        let wrong = |name, value: &dyn std::fmt::Display, allowed| {
            Err(OptionError::new(direction, name, value, allowed))
        };
        if !(0.0..=MAX_DELAY_S).contains(&self.delay.get()) {
            return wrong("delay", &self.delay, "from 0 s to 1 h");
        }
        match self.rate {
            Some(rate) if !(rate.get() >= 1.0 && rate.get().is_finite()) => {
                return wrong("rate", &rate, "at least 1 bit/s or 1 pkt/s");
            }
            _ => {}
        }
        if !(self.buffer.get() >= 1.0 && self.buffer.get().is_finite()) {
            return wrong("buffer", &self.buffer, "at least 1 pkt or 1 B");
        }
        match self.loss.check() {
            Ok(()) => Ok(()),
            Err(error) => wrong(error.name, &error.value, error.allowed),
        }
    }
}

/// Maximum delay in seconds; longer ones are mistakes in the unit.
const MAX_DELAY_S: f64 = 3600.0;

/// Value out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} of {place} is {value}: it must be {allowed}")]
pub struct OptionError {
    place: &'static str,
    name: &'static str,
    value: String,
    allowed: &'static str,
}

impl From<LossError> for OptionError {
    fn from(error: LossError) -> OptionError {
        OptionError::new("loss", error.name, error.value, error.allowed)
    }
}

impl OptionError {
    pub(crate) fn new(
        place: &'static str,
        name: &'static str,
        value: impl std::fmt::Display,
        allowed: &'static str,
    ) -> OptionError {
        OptionError {
            place,
            name,
            value: value.to_string(),
            allowed,
        }
    }
}

/// Capture of the packets as one end sees them: its own when they leave, before any loss, and those of
/// the other end when they arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Path of the file: pcap with nanoseconds, raw IP.
    pub path: PathBuf,
    /// End whose view is captured.
    pub end: End,
    /// Maximum bytes stored of a packet.
    pub snap_bytes: u32,
}

/// One of the two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// End where COMMAND runs; 10.77.0.1.
    A,
    /// Opposite end; 10.77.0.2.
    B,
}

impl End {
    /// Returns the end across the link.
    pub fn other(self) -> End {
        match self {
            End::A => End::B,
            End::B => End::A,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            End::A => "a",
            End::B => "b",
        })
    }
}
