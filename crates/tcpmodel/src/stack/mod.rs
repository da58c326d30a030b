//! The constants of a TCP implementation.

mod builtin;
mod read;

pub use builtin::builtin_names;

use netflow_document::{FileId, Findings, Problems, Sources, Words, words};

use crate::rounds::HEADER_BYTES;

/// Bytes of a SACK option without blocks, with the padding that Linux puts before it, and of each block.
const SACK_BYTES: u32 = 4;
const BLOCK_BYTES: u32 = 8;

/// The constants of a TCP implementation: what makes one stack's transfer take longer than
/// another's over the same path.
///
/// Some are [built in](Stack::builtin); others are described in TOML, as what differs from a
/// built-in one:
///
/// ```
/// use netflow_tcpmodel::Stack;
///
/// let patient = Stack::from_toml(r#"
///     name = "patient"
///     like = "linux-6"
///     initial-rto = "3 s"
///     initial-window = "4 pkt"
/// "#)?;
/// assert_eq!(patient.initial_rto_s, 3.0);
/// assert_eq!(patient.max_rto_s, 120.0);
///
/// let error = Stack::from_toml("name = \"x\"\nlike = \"linux-6\"\nmin-rto = 0.2").unwrap_err();
/// assert!(error.to_string().starts_with("line 3, column 11: error: `min-rto` has no unit: 0.2"));
/// # Ok::<(), netflow_document::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// Payload of a full segment in bytes, unless a transfer, or a scenario's packets, say otherwise: 1 to 65 535.
    pub mss_bytes: u32,
    /// Window of the data's first round trip in packets: 1 to 65 535.
    pub initial_window_pkts: u32,

    /// Retransmission timeout before a round-trip time is measured, in seconds.
    pub initial_rto_s: f64,
    /// Least retransmission timeout in seconds; [`RtoRule`] says least *what*.
    pub min_rto_s: f64,
    /// Where doubling ends, in seconds; at least `initial_rto_s` and `min_rto_s`.
    pub max_rto_s: f64,
    /// How the timeout follows from measured round-trip times.
    pub rto_rule: RtoRule,
    /// The clock's granularity in seconds: what round-trip times or timers are rounded to.
    /// 0 is an exact clock.
    pub clock_s: f64,
    /// Do packets carry timestamps (RFC 7323)? Then one that was sent again measures the
    /// round-trip time, too.
    pub timestamps: bool,

    /// So many timeouts of a SYN follow one another before their interval doubles.
    pub linear_syn_timeouts: u32,
    /// Is a SYN that comes a second time answered a second time?
    pub syn_answered_again: bool,
    /// Timeout of the data, in seconds, as long as no round trip is measured because the SYN or
    /// its answer had to be sent again (RFC 6298, 5.7).
    pub rto_after_syn_timeout_s: Option<f64>,
    /// More timeouts of the handshake than this leave an initial window of one packet.
    pub handshake_timeouts_forgiven: u32,
    /// Does a timeout of a SYN set the slow start threshold, so that slow start ends at once?
    pub syn_timeout_ends_slow_start: bool,

    /// How losses are found and repaired before the timer expires.
    pub recovery: Recovery,
    /// Duplicate acknowledgements that count as a loss: 1 to 255.
    pub duplicate_acks: u32,
    /// Do the first duplicate acknowledgements send new packets (RFC 3042)?
    pub limited_transmit: bool,
    /// With too few packets in flight, do fewer duplicate acknowledgements suffice (RFC 5827)?
    pub early_retransmit: bool,
    /// Is the last packet sent again ahead of the timer when nothing is acknowledged (RFC 8985, 7)?
    pub tail_loss_probe: bool,
    /// The share of the window that a loss leaves: above 0 and at most 1; half of it for Reno,
    /// 0.7 for CUBIC (RFC 9438).
    pub window_after_loss: f64,
    /// How the window moves: only for senders with selective acknowledgements, and Linux's; others are
    /// [`Reno`](CongestionControl::Reno).
    pub congestion: CongestionControl,

    /// Are packets marked that meet congestion, rather than dropped, where queues do that (ECN, RFC 3168)?
    /// Only for senders with selective acknowledgements, and Linux's; DCTCP has it in any case.
    pub ecn: bool,

    /// The most that a receiver lets be under way, in bytes: 1 to 1 GiB; without, no limit. Where packets are not
    /// given, segments are no larger than half of it.
    pub receive_window_bytes: Option<u32>,
    /// The largest send buffer in bytes, with what the kernel keeps with each packet (the third number of Linux's
    /// `tcp_wmem`): 4096 to 1 GiB; without, no limit. Only of senders with congestion controls.
    pub send_buffer_bytes: Option<u32>,
    /// A receiver acknowledges every so many full segments at once: 1 to 255; 2 with delayed
    /// acknowledgements. The models' b.
    pub segments_per_ack: u32,
    /// Other segments are acknowledged after this many seconds.
    pub ack_delay_s: f64,
    /// Does the delay end at the next beat of a free-running clock, rather than after a full
    /// delay?
    pub ack_delay_beats: bool,
    /// So many first segments of a connection are acknowledged at once, and so many after a pause
    /// (Linux).
    pub quick_acks: u32,
    /// Does the receive window, which holds the other end, begin with 64 KB, told in the handshake, and grow because more
    /// arrives in a round trip than ever before, and are segments acknowledged at once while it does (Linux)?
    pub quick_while_growing: bool,
    /// Are acknowledgements after the third duplicate put together (Linux)?
    pub acks_compressed: bool,
}

/// How a retransmission timeout follows from measured round-trip times.
#[words(plain, lowercase)]
pub enum RtoRule {
    /// srtt + 4·rttvar in whole ticks of the clock, computed in integers as in BSD and ns-2, two ticks at least; the
    /// minimum is of the sum.
    Ticks,
    /// RFC 6298: srtt + max(clock, 4·rttvar); the minimum is of the sum.
    Rfc6298,
    /// Linux: the minimum is of 4·rttvar, so that the timeout is above srtt by it.
    Linux,
}

/// How losses are found and repaired before the retransmission timer expires.
#[words(plain, lowercase)]
pub enum Recovery {
    /// Not at all: every loss takes a timeout.
    Timeout,
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast retransmit; fast recovery ends at the first new acknowledgement (RFC 2581).
    Reno,
    /// Fast recovery lasts until all that was sent before it is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// Selective acknowledgements, and losses found by time (RFC 8985).
    Rack,
}

/// How a sender's congestion window moves.
#[words(lowercase)]
pub enum CongestionControl {
    /// Additive increase, multiplicative decrease (RFC 5681).
    Reno,
    /// The window grows with the time since the last loss (RFC 9438), and slow start ends before
    /// losses (HyStart).
    Cubic,
    /// A model of the path sets pacing and window (BBR, version 1).
    Bbr,
    /// The window shrinks by the share of packets that met congestion (RFC 8257).
    Dctcp,
}

impl CongestionControl {
    /// All of them.
    pub fn all() -> impl Iterator<Item = CongestionControl> {
        Self::WORDS.iter().map(|word| word.meaning)
    }
}

impl Stack {
    /// The built-in stack of that name; [`builtin_names`] are all.
    pub fn builtin(name: &str) -> Option<Stack> {
        builtin::builtin(name)
    }

    /// Reads a stack from TOML: `name`, `like` (a built-in stack) and what differs from that, by
    /// the fields' names without their units, in kebab-case: `initial-rto = "3 s"`,
    /// `window-after-loss = 0.5`, `recovery = "newreno"`.
    ///
    /// # Errors
    /// Everything that is wrong: the text is no TOML, has an unknown key, a value of the wrong type or
    /// unit, or one that a stack cannot have; each with its line and column.
    pub fn from_toml(text: &str) -> Result<Stack, Problems> {
        Sources::read_text(text, read::read)
    }

    /// The same for a file among others; `None` if something is wrong with it, which the findings say.
    pub fn read_in(text: &str, file: FileId, findings: &mut Findings) -> Option<Stack> {
        read::read(text, file, findings)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first field that has a value outside its range, by its key in TOML.
    pub fn check(&self) -> Result<(), crate::Error> {
        self.wrong().into_iter().next().map_or(Ok(()), Err)
    }

    /// The fields that have values outside their ranges.
    fn wrong(&self) -> Vec<crate::Error> {
        let mut wrong = Vec::new();
        let mut ensure = |good: bool, what, value, allowed| {
            if !good {
                wrong.push(crate::Error {
                    what,
                    value,
                    allowed,
                });
            }
        };
        let durations = [
            ("initial-rto", self.initial_rto_s),
            ("min-rto", self.min_rto_s),
            ("max-rto", self.max_rto_s),
            (
                "rto-after-syn-timeout",
                self.rto_after_syn_timeout_s.unwrap_or(1.0),
            ),
        ];
        for (what, time_s) in durations {
            ensure(
                (1e-6..=1e6).contains(&time_s),
                what,
                time_s,
                "1e-6 to 1e6 s",
            );
        }
        ensure(
            self.max_rto_s >= self.initial_rto_s.max(self.min_rto_s),
            "max-rto",
            self.max_rto_s,
            "at least initial-rto and min-rto",
        );
        for (what, time_s) in [("clock", self.clock_s), ("ack-delay", self.ack_delay_s)] {
            ensure((0.0..=1e3).contains(&time_s), what, time_s, "0 to 1000 s");
        }
        ensure(
            self.rto_rule != RtoRule::Ticks || self.clock_s >= 1e-6,
            "clock",
            self.clock_s,
            "1e-6 s or more with rto-rule = \"ticks\"",
        );
        ensure(
            self.window_after_loss > 0.0 && self.window_after_loss <= 1.0,
            "window-after-loss",
            self.window_after_loss,
            "above 0 and at most 1",
        );
        let counts = [
            ("mss", self.mss_bytes, 65_535, "1 to 65535 B"),
            (
                "initial-window",
                self.initial_window_pkts,
                65_535,
                "1 to 65535 pkt",
            ),
            ("duplicate-acks", self.duplicate_acks, 255, "1 to 255"),
            ("segments-per-ack", self.segments_per_ack, 255, "1 to 255"),
            (
                "receive-window",
                self.receive_window_bytes.unwrap_or(1),
                1 << 30,
                "1 B to 1 GiB",
            ),
            (
                "send-buffer",
                self.send_buffer_bytes.map_or(1, |bytes| bytes / 4096),
                1 << 18,
                "4 KiB to 1 GiB",
            ),
        ];
        for (what, count, most, allowed) in counts {
            ensure((1..=most).contains(&count), what, count.into(), allowed);
        }
        wrong
    }

    /// Whether its senders know other congestion controls than Reno's: those with selective
    /// acknowledgements do, and Linux's.
    pub fn has_congestion_controls(&self) -> bool {
        match self.recovery {
            Recovery::Timeout | Recovery::Tahoe | Recovery::Reno => false,
            Recovery::NewReno => self.rto_rule == RtoRule::Linux,
            Recovery::Sack | Recovery::Rack => true,
        }
    }

    /// Why it cannot have this congestion control; `None` if it can.
    pub fn refuses_congestion(&self, congestion: CongestionControl) -> Option<String> {
        let knows = self.has_congestion_controls() || congestion == CongestionControl::Reno;
        let name = &self.name;
        (!knows).then(|| format!("the senders of `{name}` know no congestion control but Reno's"))
    }

    /// Why its senders cannot answer marks; `None` if they can.
    pub fn refuses_ecn(&self) -> Option<String> {
        let name = &self.name;
        let why = || format!("the senders of `{name}` do not answer marks");
        (!self.has_congestion_controls()).then(why)
    }

    /// Bytes of the headers of every packet after the handshake: IPv4, TCP and, in Linux's layout, timestamps
    /// (RFC 7323, appendix A).
    pub fn header_bytes(&self) -> f64 {
        HEADER_BYTES + f64::from(self.timestamps_bytes())
    }

    /// Bytes of the timestamps option, padded to 32-bit words; 0 without.
    pub(crate) fn timestamps_bytes(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }

    /// Bytes of data in a segment of this size, which includes options.
    pub(crate) fn data_bytes(&self, segment_bytes: u32) -> u32 {
        segment_bytes.saturating_sub(self.timestamps_bytes()).max(1)
    }

    /// Bytes of a SYN and of its answer. With timestamps, both carry all options of Linux: MSS, SACK permitted,
    /// timestamps and window scale.
    pub fn syn_bytes(&self) -> f64 {
        HEADER_BYTES + if self.timestamps { 20.0 } else { 0.0 }
    }

    /// Bytes of an acknowledgement that lists this number of SACK blocks (RFC 2018, 3), as far as the options field
    /// of 40 B has space for them: three blocks with timestamps, four without.
    pub fn ack_bytes(&self, blocks: u32) -> f64 {
        const OPTIONS_BYTES: u32 = 40;
        let most = (OPTIONS_BYTES - self.timestamps_bytes() - SACK_BYTES) / BLOCK_BYTES;
        let sack_bytes = match blocks.min(most) {
            0 => 0,
            _ if !self.has_sack() => 0,
            blocks => SACK_BYTES + BLOCK_BYTES * blocks,
        };
        self.header_bytes() + f64::from(sack_bytes)
    }

    /// Whether its receivers report what arrived out of order (RFC 2018).
    pub fn has_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Rack)
    }

    /// Whether its packets may be marked instead of being dropped.
    pub fn has_ecn(&self) -> bool {
        let asks = self.ecn || self.congestion == CongestionControl::Dctcp;
        asks && self.has_congestion_controls()
    }

    /// Another congestion control, with what that leaves of the window after a loss.
    pub fn set_congestion(&mut self, congestion: CongestionControl) {
        self.congestion = congestion;
        self.window_after_loss = match congestion {
            CongestionControl::Cubic => 0.7,
            CongestionControl::Reno | CongestionControl::Bbr | CongestionControl::Dctcp => 0.5,
        };
    }

    /// How long an end waits for the answer to a SYN, after so many timeouts, in seconds; `linear` says that
    /// it is the one that opened the connection, whose first timeouts may not double.
    pub fn handshake_timeout_s(&self, timeouts: u32, linear: bool) -> f64 {
        let doubled = match linear {
            true => timeouts.saturating_sub(self.linear_syn_timeouts),
            false => timeouts,
        };
        let timeout_s = self.initial_rto_s * libm::exp2(f64::from(doubled.min(60)));
        timeout_s.min(self.max_rto_s)
    }

    /// Segments of so many bytes that a receiver lets be under way at most: those that its
    /// [window](Self::receive_window_bytes) holds.
    pub fn most_out(&self, segment_bytes: u32) -> u32 {
        let window_bytes = self.receive_window_bytes.unwrap_or(u32::MAX);
        (window_bytes / segment_bytes.max(1)).max(1)
    }

    /// The window in packets, and the slow start threshold if there is one, after a handshake in which a
    /// timer fired so often, and a packet was sent again so often.
    pub fn first_window(&self, timeouts: u32, again: u32) -> (u32, Option<u32>) {
        let cwnd = match again > self.handshake_timeouts_forgiven && timeouts > 0 {
            true => 1,
            false => self.initial_window_pkts,
        };
        (
            cwnd,
            (self.syn_timeout_ends_slow_start && timeouts > 0).then_some(2),
        )
    }

    /// The retransmission timeout in seconds after one measured round-trip time: with
    /// srtt = `rtt_s` and a mean deviation of half of it (RFC 6298, 2.2), so three round-trip
    /// times, or what the [minimum](Self::min_rto_s) makes of it.
    pub fn rto_s(&self, rtt_s: f64) -> f64 {
        let rto_s = match self.rto_rule {
            RtoRule::Ticks => {
                let ticks = (rtt_s / self.clock_s).round().max(1.0);
                (3.0 * ticks * self.clock_s).max(self.min_rto_s)
            }
            RtoRule::Rfc6298 => (rtt_s + self.clock_s.max(2.0 * rtt_s)).max(self.min_rto_s),
            RtoRule::Linux => rtt_s + self.min_rto_s.max(2.0 * rtt_s),
        };
        rto_s.min(self.max_rto_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `tcpdump` shows them on Linux 6.18: 52 B, and 64, 72 and 80 B with SACK blocks; SYNs of 60 B.
    #[test]
    fn acks_have_the_sizes_of_linux() {
        let linux = Stack::builtin("linux-6").unwrap();
        let sizes: Vec<f64> = (0..5).map(|blocks| linux.ack_bytes(blocks)).collect();
        assert_eq!(sizes, [52.0, 64.0, 72.0, 80.0, 80.0]);
        assert_eq!((linux.header_bytes(), linux.syn_bytes()), (52.0, 60.0));
        let plain = Stack {
            timestamps: false,
            ..linux
        };
        assert_eq!(plain.ack_bytes(4), 40.0 + 4.0 + 32.0);
        let old = Stack::builtin("legacy").unwrap();
        assert_eq!((old.ack_bytes(3), old.syn_bytes()), (40.0, 40.0));
    }
}
