//! Parameters of TCP implementations ("stacks").

mod builtin;
mod read;

pub use builtin::builtin_names;

use netflow_document::{FileId, Findings, Problems, Sources, Words, keyword_enum};

use crate::transfer_simulation::HEADER_BYTES;

/// Bytes of a SACK option without blocks, with the padding that Linux puts before it, and of each block.
const SACK_BYTES: u32 = 4;
const BLOCK_BYTES: u32 = 8;

/// The parameters of a TCP implementation. They determine how much longer a transfer of one stack takes
/// than that of another, over the same path.
///
/// Some stacks are [built in](Stack::builtin). Others are described in TOML, as the differences from a
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
    /// The name.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// The payload of a full segment in bytes, from 1 to 65 535. A transfer, or the packets of a scenario,
    /// can override it.
    pub mss_bytes: u32,
    /// The initial congestion window in packets, from 1 to 65 535.
    pub initial_window_pkts: u32,

    /// The retransmission timeout before a round-trip time is measured, in seconds.
    pub initial_rto_s: f64,
    /// The minimum retransmission timeout in seconds. [`RtoRule`] defines the term to which it applies.
    pub min_rto_s: f64,
    /// The maximum of the doubled timeout in seconds; at least `initial_rto_s` and `min_rto_s`.
    pub max_rto_s: f64,
    /// The rule that computes the timeout from measured round-trip times.
    pub rto_rule: RtoRule,
    /// The clock granularity in seconds, to which round-trip times or timers are rounded; 0 for an exact
    /// clock.
    pub clock_s: f64,
    /// True if packets carry timestamps (RFC 7323). Retransmitted packets then measure the round-trip time,
    /// too.
    pub timestamps: bool,

    /// The number of consecutive timeouts of a SYN before their interval doubles.
    pub linear_syn_timeouts: u32,
    /// True if a duplicate SYN is answered again.
    pub syn_answered_again: bool,
    /// The timeout of the data in seconds if no round-trip time was measured because the SYN or SYN-ACK was
    /// sent again (RFC 6298, 5.7).
    pub rto_after_syn_timeout_s: Option<f64>,
    /// The maximum number of handshake timeouts that keep the initial window; more leave a window of one
    /// packet.
    pub handshake_timeouts_forgiven: u32,
    /// True if a timeout of a SYN sets the slow-start threshold, so that slow start ends at once.
    pub syn_timeout_ends_slow_start: bool,

    /// The method of loss detection and repair before the timer expires.
    pub recovery: Recovery,
    /// The number of duplicate acknowledgements that indicates a loss, from 1 to 255.
    pub duplicate_acks: u32,
    /// True if the first duplicate acknowledgements send new packets (limited transmit, RFC 3042).
    pub limited_transmit: bool,
    /// True if fewer duplicate acknowledgements suffice with few packets in flight (early retransmit,
    /// RFC 5827).
    pub early_retransmit: bool,
    /// True with tail loss probes: the last packet is sent again before the timer expires (RFC 8985, 7).
    pub tail_loss_probe: bool,
    /// β, the share of the window left after a loss: above 0 and at most 1; 0.5 for Reno, 0.7 for CUBIC
    /// (RFC 9438).
    pub window_after_loss: f64,
    /// The congestion control. Senders with selective acknowledgements and Linux's support all of them.
    /// Others support only [`Reno`](CongestionControl::Reno).
    pub congestion: CongestionControl,

    /// True if queues may mark packets instead of dropping them (ECN, RFC 3168). Senders with selective
    /// acknowledgements and Linux's support it. DCTCP and Prague always use it.
    pub ecn: bool,

    /// The maximum receive window in bytes, from 1 to 1 GiB; `None` without a limit. Unless packets are
    /// given, segments are at most half of it.
    pub receive_window_bytes: Option<u32>,
    /// The maximum send buffer in bytes, kernel overhead per packet included (the third number of Linux's
    /// `tcp_wmem`): 4096 to 1 GiB; `None` without a limit. It applies only to senders with congestion
    /// controls.
    pub send_buffer_bytes: Option<u32>,
    /// The number of full segments per acknowledgement, from 1 to 255; 2 with delayed acknowledgements. It
    /// is b of the models.
    pub segments_per_ack: u32,
    /// The delay of acknowledgements for other segments, in seconds.
    pub ack_delay_s: f64,
    /// True if delayed acknowledgements leave at the next tick of a free-running clock, and not after the
    /// full delay.
    pub ack_delay_beats: bool,
    /// The number of segments acknowledged at once at the start of a connection, and after a pause (Linux's
    /// quick acknowledgements).
    pub quick_acks: u32,
    /// True with Linux's receive window autotuning. The window limits the other end. It begins with 64 KB
    /// in the handshake, and grows if more data than before arrives in a round trip. Meanwhile, segments
    /// are acknowledged at once.
    pub quick_while_growing: bool,
    /// True if acknowledgements after the third duplicate are compressed (Linux).
    pub acks_compressed: bool,

    /// True if CUBIC leaves slow start before losses (HyStart).
    pub hystart: bool,
    /// True if Prague behaves at round-trip times below 25 ms as at 25 ms (`prague_rtt_scaling` of Linux).
    pub rtt_independence: bool,
    /// True if marks on the path are those of a shallow queue (route feature `ecn_low` of the kernel with BBRv3). BBRv3
    /// then uses ECN, and responds to marks if the minimum round-trip time is at most 5 ms.
    pub ecn_low: bool,
    /// The maximum random delay of an acknowledgement between link and sender, in seconds: interrupts and
    /// scheduling. It is at most 1/16 of the round-trip time. Only the packet model has it.
    pub host_delay_s: f64,
    /// True if its data is L4S traffic (ECT(1)) although its congestion control usually sends ECT(0).
    pub l4s: bool,
    /// True if the host sends bursts of up to 64 KB, as with segmentation offload (TSO, GSO). It applies only to senders
    /// with congestion controls.
    pub segmentation_offload: bool,
}

/// Rule that computes the retransmission timeout from measured round-trip times.
#[keyword_enum(plain, lowercase)]
pub enum RtoRule {
    /// srtt + 4·rttvar in whole ticks of the clock, at least two ticks, in integer arithmetic as in BSD and ns-2. The
    /// minimum applies to the sum.
    Ticks,
    /// RFC 6298: srtt + max(clock, 4·rttvar). The minimum applies to the sum.
    Rfc6298,
    /// Linux: srtt + 4·rttvar. The minimum applies to 4·rttvar.
    Linux,
}

/// Method of loss detection and repair before the retransmission timer expires.
#[keyword_enum(plain, lowercase)]
pub enum Recovery {
    /// None: every loss causes a timeout.
    Timeout,
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast retransmit; fast recovery ends at the first new acknowledgement (RFC 2581).
    Reno,
    /// Fast recovery lasts until all data sent before it is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// Selective acknowledgements, and loss detection by time (RFC 8985).
    Rack,
}

/// Congestion control of a sender.
#[keyword_enum(lowercase)]
pub enum CongestionControl {
    /// Additive increase, multiplicative decrease (RFC 5681).
    Reno,
    /// The window grows with the time since the last loss (RFC 9438), and slow start ends before
    /// losses (HyStart).
    Cubic,
    /// A model of the path sets pacing and window (BBR, version 1).
    Bbr,
    /// As BBR, with bounds by losses and, with `ecn-low`, by ECN marks (BBR, version 3).
    Bbr3,
    /// DCTCP: the window shrinks in proportion to the share of marked packets (RFC 8257).
    Dctcp,
    /// TCP Prague, for L4S: like DCTCP, with pacing, and independent of short round-trip times (RFC 9331).
    Prague,
}

/// Use of ECN by a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnRules {
    /// True if the control needs ECN; otherwise the stack decides.
    pub is_required: bool,
    /// True if its packets are L4S traffic (ECT(1), RFC 9331); otherwise they have ECT(0).
    pub is_l4s: bool,
    /// Feedback of its receivers.
    pub feedback: EcnFeedback,
    /// True if retransmissions may be marked, too (RFC 3168, 6.1.5, forbids it).
    pub marks_retransmissions: bool,
}

impl EcnRules {
    /// ECN by RFC 3168, if the stack requests it.
    pub const OPTIONAL: EcnRules = EcnRules {
        is_required: false,
        is_l4s: false,
        feedback: EcnFeedback::Classic,
        marks_retransmissions: false,
    };
}

/// ECN feedback of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// An acknowledgement reports whether the last packet was marked.
    Classic,
    /// As classic; delayed acknowledgements leave before a packet with another mark (RFC 8257, 3.2).
    Exact,
    /// An acknowledgement has a counter of marked packets (Accurate ECN, RFC 9768).
    Accurate,
}

impl CongestionControl {
    /// Returns all congestion controls.
    pub fn all() -> impl Iterator<Item = CongestionControl> {
        Self::WORDS.iter().map(|word| word.meaning)
    }
}

impl Stack {
    /// Returns the built-in stack with this name; [`builtin_names`] lists all.
    pub fn builtin(name: &str) -> Option<Stack> {
        builtin::builtin(name)
    }

    /// Reads a stack from TOML: `name`, `like` (a built-in stack) and the differences from that stack. Keys
    /// are the names of the fields without units, in kebab-case: `initial-rto = "3 s"`, `window-after-loss
    /// = 0.5`, `recovery = "newreno"`.
    ///
    /// # Errors
    /// All mistakes, each with line and column. The text is not TOML, a key is unknown, or a value
    /// has the wrong type or unit or is outside its allowed range.
    pub fn from_toml(text: &str) -> Result<Stack, Problems> {
        Sources::read_text(text, read::read)
    }

    /// Reads a stack from one file of several. Returns `None` if the file has mistakes, which are added to
    /// `findings`.
    pub fn read_in(text: &str, file: FileId, findings: &mut Findings) -> Option<Stack> {
        read::read(text, file, findings)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first field with a value outside its range, by its key in TOML.
    pub fn check(&self) -> Result<(), crate::Error> {
        self.errors().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns the fields with values outside their ranges.
    fn errors(&self) -> Vec<crate::Error> {
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
        let delays = [
            ("clock", self.clock_s),
            ("ack-delay", self.ack_delay_s),
            ("host-delay", self.host_delay_s),
        ];
        for (what, time_s) in delays {
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

    /// Returns true if the senders support congestion controls other than Reno: those with selective
    /// acknowledgements, and Linux's.
    pub fn has_congestion_controls(&self) -> bool {
        match self.recovery {
            Recovery::Timeout | Recovery::Tahoe | Recovery::Reno => false,
            Recovery::NewReno => self.rto_rule == RtoRule::Linux,
            Recovery::Sack | Recovery::Rack => true,
        }
    }

    /// Returns the reason why the stack does not support this congestion control; `None` if it does.
    pub fn congestion_error(&self, congestion: CongestionControl) -> Option<String> {
        let knows = self.has_congestion_controls() || congestion == CongestionControl::Reno;
        let name = &self.name;
        (!knows).then(|| format!("`{name}` supports only the congestion control `reno`"))
    }

    /// Returns the reason why the senders do not support ECN; `None` if they do.
    pub fn ecn_error(&self) -> Option<String> {
        let name = &self.name;
        let why = || format!("`{name}` does not support ECN");
        (!self.has_congestion_controls()).then(why)
    }

    /// Returns true if its data is L4S traffic (ECT(1), RFC 9331).
    pub fn is_l4s(&self) -> bool {
        self.l4s || self.ecn_rules().is_l4s
    }

    /// Returns the reason why its data may not be L4S traffic: its reaction to marks must scale with their share
    /// (RFC 9331, 4.3).
    pub fn l4s_error(&self) -> Option<String> {
        let (name, control) = (&self.name, self.congestion.name());
        let can = self.has_congestion_controls() && self.ecn_rules().is_required;
        (!can).then(|| format!("`{control}` of `{name}` does not react to marks as L4S requires"))
    }

    /// Returns the header bytes of every packet after the handshake: IPv4, TCP and, in Linux's layout,
    /// timestamps (RFC 7323, appendix A).
    pub fn header_bytes(&self) -> f64 {
        HEADER_BYTES + f64::from(self.timestamps_bytes())
    }

    /// Returns the bytes of the timestamps option, padded to 32-bit words; 0 without timestamps.
    pub(crate) fn timestamps_bytes(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }

    /// Returns the bytes of data in a segment of this size, which includes options.
    pub(crate) fn data_bytes(&self, segment_bytes: u32) -> u32 {
        segment_bytes.saturating_sub(self.timestamps_bytes()).max(1)
    }

    /// Returns the bytes of a SYN and of a SYN-ACK. With timestamps, both carry all options of Linux: MSS,
    /// SACK permitted, timestamps and window scale.
    pub fn syn_bytes(&self) -> f64 {
        HEADER_BYTES + if self.timestamps { 20.0 } else { 0.0 }
    }

    /// Returns the bytes of an acknowledgement with this number of SACK blocks (RFC 2018, 3). The options
    /// field of 40 B limits them to three blocks with timestamps, and four without.
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

    /// Returns true if the receivers report segments received out of order (SACK, RFC 2018).
    pub fn has_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Rack)
    }

    /// Returns true if the packets are ECN-capable: they may be marked instead of being dropped.
    pub fn has_ecn(&self) -> bool {
        let requests = self.ecn || self.ecn_rules().is_required;
        requests && self.has_congestion_controls()
    }

    /// Sets the congestion control, and its share of the window after a loss.
    pub fn set_congestion(&mut self, congestion: CongestionControl) {
        self.congestion = congestion;
        self.window_after_loss = match congestion {
            CongestionControl::Cubic => 0.7,
            CongestionControl::Reno
            | CongestionControl::Bbr
            | CongestionControl::Bbr3
            | CongestionControl::Dctcp
            | CongestionControl::Prague => 0.5,
        };
    }

    /// Returns the time that an end waits for the answer to a SYN after `timeouts` timeouts, in seconds.
    /// `linear` marks the end that opened the connection, whose first timeouts may have equal intervals.
    pub fn handshake_timeout_s(&self, timeouts: u32, linear: bool) -> f64 {
        let doubled = if linear {
            timeouts.saturating_sub(self.linear_syn_timeouts)
        } else {
            timeouts
        };
        let timeout_s = self.initial_rto_s * libm::exp2(f64::from(doubled.min(60)));
        timeout_s.min(self.max_rto_s)
    }

    /// Returns the maximum number of segments in flight that a receiver allows: those of `segment_bytes`
    /// that fit into its [window](Self::receive_window_bytes).
    pub fn peer_window_segments(&self, segment_bytes: u32) -> u32 {
        let window_bytes = self.receive_window_bytes.unwrap_or(u32::MAX);
        (window_bytes / segment_bytes.max(1)).max(1)
    }

    /// Returns the initial window in packets, and the slow-start threshold if there is one. In the
    /// handshake, the timer fired `timeouts` times and packets were sent again `again` times.
    pub fn first_window(&self, timeouts: u32, again: u32) -> (u32, Option<u32>) {
        let cwnd = if again > self.handshake_timeouts_forgiven && timeouts > 0 {
            1
        } else {
            self.initial_window_pkts
        };
        (
            cwnd,
            (self.syn_timeout_ends_slow_start && timeouts > 0).then_some(2),
        )
    }

    /// Returns the retransmission timeout in seconds after one measurement of the round-trip time.
    ///
    /// With srtt = `rtt_s` and a mean deviation of half of it (RFC 6298, 2.2), it is three round-trip
    /// times. The [minimum](Self::min_rto_s) can increase it.
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

    /// Sizes as shown by `tcpdump` on Linux 6.18: 52 B, and 64, 72 and 80 B with SACK blocks; SYNs of 60 B.
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
