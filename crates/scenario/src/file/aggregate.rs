//! `[[aggregate]]`

use netflow_diffserv::Kind;
use netflow_document::{Section, Spanned, keyword_enum, table};

use super::{PacketCount, RateSetting, Time, allowed};

/// Conditioned aggregate (DiffServ): its connections are metered together, and their packets marked with a drop
/// precedence at the edge of the network.
#[table(name = "aggregate", called = override_name)]
pub struct Aggregate {
    /// Unique name, to which `aggregate` of connections refers.
    #[key(example = "A1")]
    pub name: Spanned<String>,
    /// Rate up to which packets are DP0, which is dropped last.
    #[key(allowed = allowed::RATE, example = "2 Mbit/s")]
    pub committed_rate: RateSetting,
    /// Rate above which packets are DP2, which is dropped first. Required by `standard`, `sw` and `trtcm`.
    #[key(allowed = allowed::RATE, example = "4 Mbit/s")]
    pub peak_rate: Option<RateSetting>,
    /// Conditioner that marks its packets.
    #[key(example = "standard")]
    pub conditioner: Spanned<ConditionerName>,
    /// Averaging interval of the rate estimator; no effect on `srtcm` and `trtcm`. Default: 1 s.
    #[key(allowed = allowed::DURATION, example = "1 s")]
    pub averaging: Option<Time>,
    /// Round-trip time in the formulas of `rtt`, `rtt-rto` and `rtt-sw`. Default: the mean of its packets.
    #[key(allowed = allowed::DURATION, example = "100 ms")]
    pub rtt: Option<Time>,
    /// Retransmission timeout in the formula of `rtt-rto`. Default: three round-trip times, at least 200 ms.
    #[key(allowed = allowed::DURATION, example = "300 ms")]
    pub rto: Option<Time>,
    /// Congestion window below which `sw` and `rtt-sw` mark packets DP0. Default: 3 pkt.
    #[key(allowed = allowed::WINDOW, example = "3 pkt")]
    pub small_window: Option<PacketCount>,
}

/// Conditioners.
#[keyword_enum]
pub enum ConditionerName {
    /// By rate only: the time sliding window three colour marker of RFC 2859.
    Standard,
    /// Fewer DP2 packets for aggregates with a long round-trip time.
    Rtt,
    /// Fewer DP2 packets for a long round-trip time and a long retransmission timeout.
    RttRto,
    /// As `rtt`; packets sent with a small window are DP0.
    RttSw,
    /// As `standard`; packets sent with a small window are DP0.
    Sw,
    /// Single rate three colour marker of RFC 2697.
    Srtcm,
    /// Two rate three colour marker of RFC 2698.
    Trtcm,
}

impl ConditionerName {
    /// Which of those that follow a rate estimator; `None` for the markers of the RFCs.
    pub fn kind(self) -> Option<Kind> {
        match self {
            ConditionerName::Standard => Some(Kind::Standard),
            ConditionerName::Rtt => Some(Kind::Rtt),
            ConditionerName::RttRto => Some(Kind::RttRto),
            ConditionerName::RttSw => Some(Kind::RttSmallWindow),
            ConditionerName::Sw => Some(Kind::SmallWindow),
            ConditionerName::Srtcm | ConditionerName::Trtcm => None,
        }
    }

    /// Whether it marks DP2 beyond a peak rate.
    pub fn has_peak_rate(self) -> bool {
        match self.kind() {
            Some(kind) => !kind.follows_rtt(),
            None => self == ConditionerName::Trtcm,
        }
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    Some(format!("aggregate.{}", section.text("name")?))
}
