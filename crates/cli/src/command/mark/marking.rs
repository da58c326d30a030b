//! Which conditioner, and what it is told.

use clap::Args;
use netflow::diffserv::table::Packet;
use netflow::diffserv::{
    Aggregate, Conditioner, ConditionerSpec, DropPrecedence, Error, GivenInputs, Kind, Marker,
    Minima, SrTcm, TrTcm,
};
use netflow::document::Words;
use netflow::scenario::file::ConditionerName as Name;

use super::packets::Seen;
use crate::failure::Failure;
use crate::parse::{bits_per_s, bytes, packets, positive_time, word};
use crate::problems;

#[derive(Args)]
pub struct MarkingArguments {
    /// What marks the packets
    #[arg(long, value_name = "CONDITIONER", value_parser = word::<Name>(), default_value = "standard")]
    conditioner: Name,

    /// Rate up to which packets are DP0, such as "2 Mbit/s"
    #[arg(long, value_name = "RATE", value_parser = bits_per_s)]
    committed_rate: f64,

    /// Rate beyond which packets are DP2 (standard, sw, trtcm)
    #[arg(long, value_name = "RATE", value_parser = bits_per_s)]
    peak_rate: Option<f64>,

    /// Averaging interval of the rate estimator (all but srtcm and trtcm) [default: 1 s]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    averaging: Option<f64>,

    /// Bytes that may come at once within the committed rate (srtcm, trtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    committed_burst: Option<f64>,

    /// Bytes that may come at once beyond it, as DP1 (srtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    excess_burst: Option<f64>,

    /// Bytes that may come at once within the peak rate (trtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    peak_burst: Option<f64>,

    /// Mean round-trip time of the aggregate (rtt, rtt-rto, rtt-sw)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rtt: Option<f64>,

    /// The smallest round-trip time of all aggregates (rtt, rtt-rto, rtt-sw)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    min_rtt: Option<f64>,

    /// Mean retransmission timeout of the aggregate (rtt-rto)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rto: Option<f64>,

    /// The smallest retransmission timeout of all aggregates (rtt-rto)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    min_rto: Option<f64>,

    /// Window below which a packet is DP0 (sw, rtt-sw) [default: 3 pkt]
    #[arg(long, value_name = "PACKETS", value_parser = packets)]
    small_window: Option<f64>,

    /// What random numbers begin with
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A conditioner at work.
pub struct Marking {
    marker: AnyMarker,
    name: &'static str,
    /// Time of the first packet: markers begin with it.
    start_s: Option<f64>,
}

enum AnyMarker {
    Conditioner(Box<Marker>),
    SrTcm(SrTcm),
    TrTcm(TrTcm),
}

impl Marking {
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

    pub fn name(&self) -> &str {
        self.name
    }
}

impl MarkingArguments {
    /// The conditioner that is asked for; what it lacks is a failure, what it ignores a warning.
    pub fn marking(&self) -> Result<Marking, Failure> {
        let name = self.conditioner;
        self.warn_of_unused();
        let marker = match name {
            Name::Srtcm => AnyMarker::SrTcm(
                SrTcm::new(
                    whole(self.committed_rate),
                    whole(self.needed(self.committed_burst, "--committed-burst")?),
                    whole(self.needed(self.excess_burst, "--excess-burst")?),
                )
                .map_err(cannot)?,
            ),
            Name::Trtcm => AnyMarker::TrTcm(
                TrTcm::new(
                    whole(self.committed_rate),
                    whole(self.needed(self.committed_burst, "--committed-burst")?),
                    whole(self.needed(self.peak_rate, "--peak-rate")?),
                    whole(self.needed(self.peak_burst, "--peak-burst")?),
                )
                .map_err(cannot)?,
            ),
            other => AnyMarker::Conditioner(Box::new(self.marker(other)?)),
        };
        Ok(Marking {
            marker,
            name: name.name(),
            start_s: None,
        })
    }

    fn marker(&self, name: Name) -> Result<Marker, Failure> {
        let kind = name.kind().unwrap_or(Kind::Standard);
        if kind.follows_rtt() {
            self.needed(self.rtt, "--rtt")?;
            self.needed(self.min_rtt, "--min-rtt")?;
        } else {
            self.needed(self.peak_rate, "--peak-rate")?;
        }
        if kind.follows_rto() {
            self.needed(self.rto, "--rto")?;
            self.needed(self.min_rto, "--min-rto")?;
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
        let conditioner = Conditioner::new(spec).map_err(cannot)?;
        Marker::new(conditioner, &known, 0, self.seed).map_err(cannot)
    }

    fn needed(&self, value: Option<f64>, option: &str) -> Result<f64, Failure> {
        value.ok_or_else(|| {
            let name = self.conditioner.name();
            Failure::usage(format!("conditioner `{name}` needs {option}"))
        })
    }

    fn warn_of_unused(&self) {
        let name = self.conditioner;
        let kind = name.kind();
        let rtt = kind.is_some_and(Kind::follows_rtt);
        let rto = kind.is_some_and(Kind::follows_rto);
        let small = kind.is_some_and(Kind::protects_small_windows);
        let options = [
            ("--peak-rate", self.peak_rate, rtt || name == Name::Srtcm),
            ("--averaging", self.averaging, kind.is_none()),
            ("--committed-burst", self.committed_burst, kind.is_some()),
            ("--excess-burst", self.excess_burst, name != Name::Srtcm),
            ("--peak-burst", self.peak_burst, name != Name::Trtcm),
            ("--rtt", self.rtt, !rtt),
            ("--min-rtt", self.min_rtt, !rtt),
            ("--rto", self.rto, !rto),
            ("--min-rto", self.min_rto, !rto),
            ("--small-window", self.small_window, !small),
        ];
        for (option, value, unused) in options {
            if value.is_some() && unused {
                let name = name.name();
                problems::warn_of(&format!("{option} has no effect on conditioner `{name}`"));
            }
        }
    }

    /// Says what the stream should have told, and did not, or told in vain.
    pub fn warn_of_missing(&self, seen: &Seen) {
        let name = self.conditioner;
        let kind = name.kind();
        if kind.is_some_and(Kind::protects_small_windows) && !seen.windows {
            problems::warn_of(&format!(
                "conditioner `{}` protects no packet: the stream does not say their windows (window_pkts)",
                name.name()
            ));
        }
        if kind.is_some() && seen.precedences {
            problems::warn_of(&format!(
                "the precedences of the stream have no effect on conditioner `{}`",
                name.name()
            ));
        }
    }
}

fn cannot(error: Error) -> Failure {
    Failure::Usage {
        message: error.to_string(),
        help: error.help(),
    }
}

/// Markers count in whole bits per second and bytes; what is too large, they refuse.
fn whole(value: f64) -> u64 {
    value.round() as u64
}
