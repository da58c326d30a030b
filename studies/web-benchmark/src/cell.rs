//! Experiments: a stack, a path and users.

use netflow_ipb::Load;
use netflow_tcpmodel::Stack;
use netflow_testbed::{BitErrors, DirectionOptions, LinkOptions, OptionError, StackOptions};
use netflow_units::{BitsPerSecond, Packets, Rate, Seconds, Size};
use netflow_workload::{Application, Distribution, Http, Session, Workload};

/// Arrival rate of users per second until all connections are in use.
const USERS_PER_S: f64 = 10.0;
/// Factor of the think times of \[IPB\]: a quarter of a second rather than 15 s.
const THINK_SCALE: f64 = 0.02;
/// Bandwidths in bits per second: OC-3, the link of \[IPB\], and 10 Mbit/s for \[Short\].
const OC3_BPS: f64 = 155.52e6;
const ETHERNET_BPS: f64 = 10e6;
/// Maximum size of an IP packet over ATM (RFC 1626), the network of \[IPB\], in bytes.
const ATM_MTU: u16 = 9180;
/// Bit error rate of 2⁻²⁰, the highest in \[IPB\].
pub const BIT_ERROR_RATE: f64 = 1.0 / (1 << 20) as f64;

/// Random loss of the link in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impairment {
    /// Nothing.
    None,
    /// Loss probability of each packet.
    Loss(f64),
    /// Error probability of each bit; an error loses its packet.
    BitErrors(f64),
}

impl Impairment {
    /// Returns the name in words.
    pub fn name(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Loss(loss) => format!("{} % lost", 100.0 * loss),
            Self::BitErrors(rate) => format!("BER {rate:.2e}"),
        }
    }
}

/// Application of the users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Users {
    /// Web users of \[IPB\].
    Web,
    /// Users of \[Short\]: each fetches the given bytes over a separate connection.
    Fetch(u32),
}

/// Experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Stack of both ends: `linux-6` or `legacy`.
    pub stack: &'static str,
    /// Application.
    pub what: Users,
    /// One-way delay in milliseconds.
    pub oneway_ms: u32,
    /// Random loss.
    pub impairment: Impairment,
    /// Number of users for each seed.
    pub users: u64,
    /// Number of seeds (1, 2, …); each has its own link and users.
    pub seeds: u64,
}

/// One-way delays of \[IPB\] in milliseconds.
pub const ONEWAY_MS: [u32; 4] = [1, 10, 100, 200];

/// Returns \[IPB\]'s users with current TCP, loss-free and at a loss of 1 % in each direction.
pub fn web(users: u64, seeds: u64) -> Vec<Cell> {
    cells(
        "linux-6",
        [Impairment::None, Impairment::Loss(0.01)],
        users,
        seeds,
    )
}

/// Returns \[IPB\]'s users with the TCP of its time, loss-free and with its bit errors.
pub fn legacy(users: u64, seeds: u64) -> Vec<Cell> {
    let harms = [Impairment::None, Impairment::BitErrors(BIT_ERROR_RATE)];
    cells("legacy", harms, users, seeds)
}

fn cells(stack: &'static str, harms: [Impairment; 2], users: u64, seeds: u64) -> Vec<Cell> {
    let cell = |(harm, oneway_ms)| Cell {
        stack,
        what: Users::Web,
        oneway_ms,
        impairment: harm,
        users,
        seeds,
    };
    harms
        .into_iter()
        .flat_map(|harm| ONEWAY_MS.map(|oneway_ms| (harm, oneway_ms)))
        .map(cell)
        .collect()
}

/// Returns \[Short\]'s transfers of 6 and 20 packets: over loss at 50 ms, and over delay at 5 %
/// loss.
pub fn short(users: u64) -> Vec<Cell> {
    let paths = [0.0, 0.01, 0.02, 0.05, 0.10].map(|loss| (50, loss));
    let paths = paths.into_iter().chain([10, 100, 200].map(|ms| (ms, 0.05)));
    let cell = |(oneway_ms, loss), bytes| Cell {
        stack: "legacy",
        what: Users::Fetch(bytes),
        oneway_ms,
        impairment: if loss > 0.0 {
            Impairment::Loss(loss)
        } else {
            Impairment::None
        },
        users,
        seeds: 1,
    };
    paths
        .flat_map(|path| [3072, 10_240].map(|bytes| cell(path, bytes)))
        .collect()
}

impl Cell {
    /// Returns the one-way delay in seconds.
    pub fn oneway_s(&self) -> f64 {
        f64::from(self.oneway_ms) / 1e3
    }

    /// Returns the bandwidth in each direction, in bits per second.
    pub fn bandwidth_bps(&self) -> f64 {
        match self.what {
            Users::Web => OC3_BPS,
            Users::Fetch(_) => ETHERNET_BPS,
        }
    }

    /// Returns the maximum size of an IP packet, in bytes.
    pub fn mtu(&self) -> u16 {
        match (self.what, self.stack) {
            (Users::Web, "legacy") => ATM_MTU,
            (Users::Web, _) => 1500,
            (Users::Fetch(_), _) => 552,
        }
    }

    /// Returns the workload for a seed.
    pub fn load(&self, seed: u64) -> Load {
        let http = match self.what {
            Users::Web => Http::default(),
            Users::Fetch(bytes) => Http {
                request_bytes: Distribution::Constant(200.0),
                reply_bytes: Distribution::Constant(bytes.into()),
                files: Distribution::Constant(1.0),
                pages: Distribution::Constant(1.0),
                ..Http::default()
            },
        };
        Load {
            workload: Workload {
                application: Application::Http(http),
                seed,
            },
            users_per_s: USERS_PER_S,
        }
    }

    /// Returns the factor of the workload's think times.
    pub fn think_scale(&self) -> f64 {
        THINK_SCALE
    }

    /// Returns the sessions for a seed, with scaled think times.
    ///
    /// # Errors
    /// Never, because the workloads are valid.
    pub fn sessions(&self, seed: u64) -> Result<Vec<Session>, netflow_workload::Error> {
        let load = self.load(seed);
        let sessions = load.workload.sessions(load.users_per_s)?;
        let mut sessions: Vec<Session> = sessions.take(self.users as usize).collect();
        for turn in sessions.iter_mut().flat_map(|session| &mut session.turns) {
            turn.pause_s *= self.think_scale();
        }
        Ok(sessions)
    }

    /// Returns the emulated link for a seed.
    ///
    /// # Errors
    /// If the bit error rate is invalid.
    pub fn link(&self, seed: u64) -> Result<LinkOptions, OptionError> {
        let mut direction = DirectionOptions {
            delay: Seconds(self.oneway_s()),
            rate: Some(Rate::BitsPerSecond(BitsPerSecond(self.bandwidth_bps()))),
            buffer: Size::Packets(Packets(10_000.0)),
            ..DirectionOptions::default()
        };
        match self.impairment {
            Impairment::None => {}
            Impairment::Loss(loss) => direction.loss.random = loss,
            Impairment::BitErrors(rate) => {
                direction.loss.bit_errors = Some(BitErrors::independent(rate)?)
            }
        }
        Ok(LinkOptions {
            out: direction.clone(),
            back: direction,
            mtu: self.mtu(),
            seed,
            ..LinkOptions::default()
        })
    }

    /// Returns the settings of Linux TCP.
    pub fn settings(&self) -> StackOptions {
        StackOptions::preset(self.stack).unwrap_or_default()
    }

    /// Returns the same TCP in the model.
    pub fn stack(&self) -> Option<Stack> {
        Stack::builtin(self.stack)
    }
}
