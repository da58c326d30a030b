//! What a link is like.

use std::path::PathBuf;

use netflow_queues::{LinkLoss, LossError};
use netflow_units::{Bytes, Packets, Rate, Seconds, Size};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionOptions {
    /// Propagation delay, the same for every packet.
    pub delay: Seconds,
    /// How fast packets are put on the link, one after the other; `None`: at once.
    pub rate: Option<Rate>,
    /// Room for packets that wait for the link or are being sent, with a rate only: one that finds
    /// no room is dropped.
    pub buffer: Size,
    /// What is lost on the way.
    pub loss: LinkLoss,
}

impl Default for DirectionOptions {
    /// Neither delay nor rate nor loss; a buffer of 100 packets, should there be a rate.
    fn default() -> DirectionOptions {
        DirectionOptions {
            delay: Seconds(0.0),
            rate: None,
            buffer: Size::Packets(Packets(100.0)),
            loss: LinkLoss::NONE,
        }
    }
}

/// Connections to a TCP port of end B that are further away than the others that share the link: what
/// B answers them takes longer on its way back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detour {
    /// The port at end B.
    pub port: u16,
    /// What comes on top of the delay from B to A.
    pub delay: Seconds,
}

/// A link with two ends, A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkOptions {
    /// From A to B.
    pub out: DirectionOptions,
    /// From B to A.
    pub back: DirectionOptions,
    /// Who is further away than the others.
    pub detour: Option<Detour>,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// What every loss depends on.
    pub seed: u64,
    /// Whether and where packets are written down.
    pub capture: Option<Capture>,
}

impl Default for LinkOptions {
    /// An MTU of 1500 bytes, seed 1, and the defaults of [`DirectionOptions`].
    fn default() -> LinkOptions {
        LinkOptions {
            out: DirectionOptions::default(),
            back: DirectionOptions::default(),
            detour: None,
            mtu: 1500,
            seed: 1,
            capture: None,
        }
    }
}

impl LinkOptions {
    /// A link without loss or rate, with this delay each way.
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

    /// Checks that every value is one that a link can have.
    ///
    /// # Errors
    /// The first that is not, with what is allowed.
    pub fn check(&self) -> Result<(), OptionError> {
        self.out.check("a to b")?;
        self.back.check("b to a")?;
        if let Some(detour) = self.detour
            && !(0.0..=LONGEST_DELAY_S).contains(&detour.delay.get())
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
        if !(0.0..=LONGEST_DELAY_S).contains(&self.delay.get()) {
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

/// Longer ones are mistakes of a unit.
const LONGEST_DELAY_S: f64 = 3600.0;

/// A value that a link cannot have.
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

/// A file with the packets as one end sees them: its own as they leave, before anything is lost,
/// and those of the other end as they arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The file, pcap with nanoseconds, raw IP.
    pub path: PathBuf,
    /// Whose view.
    pub end: End,
    /// Bytes kept of a packet.
    pub snap_bytes: u32,
}

/// One of the two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Where COMMAND runs; 10.77.0.1.
    A,
    /// The other one; 10.77.0.2.
    B,
}

impl End {
    /// The end across the link.
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
