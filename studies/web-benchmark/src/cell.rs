//! What is measured: a stack, a path and users.

use netflow_ipb::Load;
use netflow_tcpmodel::Stack;
use netflow_testbed::{BitErrors, DirectionOptions, LinkOptions, OptionError, StackOptions};
use netflow_units::{BitsPerSecond, Packets, Rate, Seconds, Size};
use netflow_workload::{Application, Distribution, Http, Session, Workload};

/// Users come this often, in users a second, until all the connections are taken.
const USERS_PER_S: f64 = 10.0;
/// Users think so many times as long as \[IPB\]'s: a quarter of a second rather than 15 s.
const THINK_SCALE: f64 = 0.02;
/// OC-3, the link of \[IPB\], in bits per second; and 10 Mbit/s for \[Short\].
const OC3_BPS: f64 = 155.52e6;
const ETHERNET_BPS: f64 = 10e6;
/// The largest IP packet over ATM (RFC 1626), the network of \[IPB\], in bytes.
const ATM_MTU: u16 = 9180;
/// A bit error rate of 2⁻²⁰, \[IPB\]'s highest.
pub const BIT_ERROR_RATE: f64 = 1.0 / (1 << 20) as f64;

/// What the link does to packets, each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Harm {
    /// Nothing.
    None,
    /// Each packet is lost with this probability.
    Loss(f64),
    /// Each bit is wrong with this probability, and with it its packet.
    BitErrors(f64),
}

impl Harm {
    /// In words.
    pub fn name(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Loss(loss) => format!("{} % lost", 100.0 * loss),
            Self::BitErrors(rate) => format!("BER {rate:.2e}"),
        }
    }
}

/// What users do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Users {
    /// \[IPB\]'s users of the web.
    Web,
    /// \[Short\]'s: each fetches so many bytes over a connection of its own.
    Fetch(u32),
}

/// One cell of the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The stack of both ends: `linux-6` or `legacy`.
    pub stack: &'static str,
    /// What its users do.
    pub what: Users,
    /// Delay each way, in milliseconds.
    pub oneway_ms: u32,
    /// What happens to packets.
    pub harm: Harm,
    /// So many users come, for each seed.
    pub users: u64,
    /// So many seeds, and so links and sets of users: 1, 2, ….
    pub seeds: u64,
}

/// The delays of \[IPB\], each way, in milliseconds.
pub const ONEWAY_MS: [u32; 4] = [1, 10, 100, 200];

/// \[IPB\]'s users with today's TCP, loss-free and at a loss of 1 % each way.
pub fn web(users: u64, seeds: u64) -> Vec<Cell> {
    cells("linux-6", [Harm::None, Harm::Loss(0.01)], users, seeds)
}

/// \[IPB\]'s users with the TCP of its time, loss-free and with its bit errors.
pub fn legacy(users: u64, seeds: u64) -> Vec<Cell> {
    let harms = [Harm::None, Harm::BitErrors(BIT_ERROR_RATE)];
    cells("legacy", harms, users, seeds)
}

fn cells(stack: &'static str, harms: [Harm; 2], users: u64, seeds: u64) -> Vec<Cell> {
    let cell = |(harm, oneway_ms)| Cell {
        stack,
        what: Users::Web,
        oneway_ms,
        harm,
        users,
        seeds,
    };
    harms
        .into_iter()
        .flat_map(|harm| ONEWAY_MS.map(|oneway_ms| (harm, oneway_ms)))
        .map(cell)
        .collect()
}

/// \[Short\]'s transfers of 6 and 20 packets: over loss at 50 ms, and over delay at 5 % loss.
pub fn short(users: u64) -> Vec<Cell> {
    let paths = [0.0, 0.01, 0.02, 0.05, 0.10].map(|loss| (50, loss));
    let paths = paths.into_iter().chain([10, 100, 200].map(|ms| (ms, 0.05)));
    let cell = |(oneway_ms, loss), bytes| Cell {
        stack: "legacy",
        what: Users::Fetch(bytes),
        oneway_ms,
        harm: if loss > 0.0 {
            Harm::Loss(loss)
        } else {
            Harm::None
        },
        users,
        seeds: 1,
    };
    paths
        .flat_map(|path| [3072, 10_240].map(|bytes| cell(path, bytes)))
        .collect()
}

impl Cell {
    /// Delay each way, in seconds.
    pub fn oneway_s(&self) -> f64 {
        f64::from(self.oneway_ms) / 1e3
    }

    /// Bandwidth each way, in bits per second.
    pub fn bandwidth_bps(&self) -> f64 {
        match self.what {
            Users::Web => OC3_BPS,
            Users::Fetch(_) => ETHERNET_BPS,
        }
    }

    /// The largest IP packet, in bytes.
    pub fn mtu(&self) -> u16 {
        match (self.what, self.stack) {
            (Users::Web, "legacy") => ATM_MTU,
            (Users::Web, _) => 1500,
            (Users::Fetch(_), _) => 552,
        }
    }

    /// Its users, for a seed.
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

    /// So many times as long as the workload's are the pauses.
    pub fn think_scale(&self) -> f64 {
        THINK_SCALE
    }

    /// What its users do, for a seed, with the pauses they make here.
    ///
    /// # Errors
    /// None, as the workloads are right.
    pub fn sessions(&self, seed: u64) -> Result<Vec<Session>, netflow_workload::Error> {
        let load = self.load(seed);
        let sessions = load.workload.sessions(load.users_per_s)?;
        let mut sessions: Vec<Session> = sessions.take(self.users as usize).collect();
        for turn in sessions.iter_mut().flat_map(|session| &mut session.turns) {
            turn.pause_s *= self.think_scale();
        }
        Ok(sessions)
    }

    /// The emulated link, for a seed.
    ///
    /// # Errors
    /// A bit error rate that is none.
    pub fn link(&self, seed: u64) -> Result<LinkOptions, OptionError> {
        let mut direction = DirectionOptions {
            delay: Seconds(self.oneway_s()),
            rate: Some(Rate::BitsPerSecond(BitsPerSecond(self.bandwidth_bps()))),
            buffer: Size::Packets(Packets(10_000.0)),
            ..DirectionOptions::default()
        };
        match self.harm {
            Harm::None => {}
            Harm::Loss(loss) => direction.loss.random = loss,
            Harm::BitErrors(rate) => {
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

    /// The settings of Linux's TCP.
    pub fn settings(&self) -> StackOptions {
        StackOptions::preset(self.stack).unwrap_or_default()
    }

    /// The rules of that TCP in the model.
    pub fn stack(&self) -> Option<Stack> {
        Stack::builtin(self.stack)
    }
}
