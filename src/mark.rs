//! DiffServ conditioner over a packet stream, as in `netflow mark`.

use netflow_diffserv::packet_table::Packet;
use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, DropPrecedence, Error, GivenInputs, Kind, Marker,
    Minima, SrTcm, TrTcm,
};
use netflow_document::Words;
use netflow_scenario::file::ConditionerName as Name;

/// Conditioner and its settings. Settings that it does not use are `None`.
#[derive(Clone, Copy, Debug)]
pub struct MarkingSpec {
    /// Conditioner that marks the packets.
    pub conditioner: Name,
    /// Committed rate in bit/s: packets within it are DP0.
    pub committed_rate: f64,
    /// Peak rate in bit/s: packets beyond it are DP2.
    pub peak_rate: Option<f64>,
    /// Averaging interval of the rate estimator, in seconds.
    pub averaging: Option<f64>,
    /// Burst size within the committed rate, in bytes.
    pub committed_burst: Option<f64>,
    /// Burst size beyond it, marked DP1, in bytes.
    pub excess_burst: Option<f64>,
    /// Burst size within the peak rate, in bytes.
    pub peak_burst: Option<f64>,
    /// Mean round-trip time of the aggregate, in seconds.
    pub rtt: Option<f64>,
    /// The smallest round-trip time of all aggregates, in seconds.
    pub min_rtt: Option<f64>,
    /// Mean retransmission timeout of the aggregate, in seconds.
    pub rto: Option<f64>,
    /// The smallest retransmission timeout of all aggregates, in seconds.
    pub min_rto: Option<f64>,
    /// Window in packets below which a packet is DP0.
    pub small_window: Option<f64>,
    /// Random seed.
    pub seed: u64,
}

/// Reason why packets cannot be marked.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// A required setting is missing.
    #[error("conditioner `{conditioner}` requires {setting}")]
    Missing {
        /// Name of the conditioner.
        conditioner: &'static str,
        /// Option name of the setting, for example `peak-rate`.
        setting: &'static str,
    },
    /// A setting is outside its range.
    #[error(transparent)]
    Invalid(#[from] Error),
}

/// Conditioner with its state.
pub struct Marking {
    marker: AnyMarker,
    name: &'static str,
    /// Time of the first packet, which is the marker's time 0.
    start_s: Option<f64>,
}

enum AnyMarker {
    Conditioner(Box<Marker>),
    SrTcm(SrTcm),
    TrTcm(TrTcm),
}

impl Marking {
    /// Returns the colour of the next packet. Times must not decrease.
    pub fn mark(&mut self, packet: &Packet) -> DropPrecedence {
        let start_s = *self.start_s.get_or_insert(packet.time_s);
        let now_ns = ((packet.time_s - start_s).max(0.0) * 1e9).round() as u64;
        let before = packet.precedence.unwrap_or(DropPrecedence::Dp0);
        match &mut self.marker {
            AnyMarker::Conditioner(marker) => marker.mark(now_ns, packet.bytes, packet.window_pkts),
            AnyMarker::SrTcm(marker) => marker.remark(now_ns, packet.bytes, before),
            AnyMarker::TrTcm(marker) => marker.remark(now_ns, packet.bytes, before),
        }
    }

    /// Returns the conditioner's name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl MarkingSpec {
    /// Creates the conditioner.
    ///
    /// # Errors
    /// If a setting is missing or invalid.
    pub fn marking(&self) -> Result<Marking, MarkError> {
        let name = self.conditioner;
        let marker = match name {
            Name::Srtcm => AnyMarker::SrTcm(SrTcm::new(
                round_to_u64(self.committed_rate),
                round_to_u64(self.required(self.committed_burst, "committed-burst")?),
                round_to_u64(self.required(self.excess_burst, "excess-burst")?),
            )?),
            Name::Trtcm => AnyMarker::TrTcm(TrTcm::new(
                round_to_u64(self.committed_rate),
                round_to_u64(self.required(self.committed_burst, "committed-burst")?),
                round_to_u64(self.required(self.peak_rate, "peak-rate")?),
                round_to_u64(self.required(self.peak_burst, "peak-burst")?),
            )?),
            other => AnyMarker::Conditioner(Box::new(self.marker(other)?)),
        };
        Ok(Marking {
            marker,
            name: name.name(),
            start_s: None,
        })
    }

    fn marker(&self, name: Name) -> Result<Marker, MarkError> {
        let kind = name.kind().unwrap_or(Kind::Standard);
        if kind.follows_rtt() {
            self.required(self.rtt, "rtt")?;
            self.required(self.min_rtt, "min-rtt")?;
        } else {
            self.required(self.peak_rate, "peak-rate")?;
        }
        if kind.follows_rto() {
            self.required(self.rto, "rto")?;
            self.required(self.min_rto, "min-rto")?;
        }
        let mut spec = ConditionerSpec::new(kind, self.committed_rate, self.peak_rate);
        spec.interval_s = self.averaging.unwrap_or(spec.interval_s);
        spec.small_window_pkts = self.small_window.unwrap_or(spec.small_window_pkts);
        let known = GivenInputs {
            aggregate: Aggregate {
                rtt_s: self.rtt,
                rto_s: self.rto,
                window_pkts: None,
            },
            minima: Minima {
                rtt_s: self.min_rtt,
                rto_s: self.min_rto,
            },
        };
        let conditioner = Conditioner::new(spec)?;
        Ok(Marker::new(conditioner, &known, 0, self.seed)?)
    }

    fn required(&self, value: Option<f64>, setting: &'static str) -> Result<f64, MarkError> {
        value.ok_or_else(|| MarkError::Missing {
            conditioner: self.conditioner.name(),
            setting,
        })
    }

    /// Returns the option names of given settings without effect on the conditioner.
    pub fn unused(&self) -> Vec<&'static str> {
        let name = self.conditioner;
        let kind = name.kind();
        let rtt = kind.is_some_and(Kind::follows_rtt);
        let rto = kind.is_some_and(Kind::follows_rto);
        let small = kind.is_some_and(Kind::protects_small_windows);
        let options = [
            ("peak-rate", self.peak_rate, rtt || name == Name::Srtcm),
            ("averaging", self.averaging, kind.is_none()),
            ("committed-burst", self.committed_burst, kind.is_some()),
            ("excess-burst", self.excess_burst, name != Name::Srtcm),
            ("peak-burst", self.peak_burst, name != Name::Trtcm),
            ("rtt", self.rtt, !rtt),
            ("min-rtt", self.min_rtt, !rtt),
            ("rto", self.rto, !rto),
            ("min-rto", self.min_rto, !rto),
            ("small-window", self.small_window, !small),
        ];
        let unused = options
            .into_iter()
            .filter(|(_, value, unused)| value.is_some() && *unused);
        unused.map(|(option, ..)| option).collect()
    }
}

/// Rounds to whole bits per second or bytes. Markers reject values that are too large.
fn round_to_u64(value: f64) -> u64 {
    value.round() as u64
}
