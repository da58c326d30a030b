//! Options of the conditioner.

use clap::Args;
use netflow::diffserv::Kind;
use netflow::document::Words;
use netflow::mark::{MarkError, Marking, MarkingSpec};
use netflow::scenario::file::ConditionerName as Name;

use super::packets::StreamInfo;
use crate::failure::Failure;
use crate::parse::{bits_per_s, bytes, packets, positive_time, word};
use crate::problems;

#[derive(Args)]
pub struct MarkingArguments {
    /// Conditioner that marks the packets
    #[arg(long, value_name = "CONDITIONER", value_parser = word::<Name>(), default_value = "standard")]
    conditioner: Name,

    /// Committed rate, up to which packets are DP0, such as "2 Mbit/s"
    #[arg(long, value_name = "RATE", value_parser = bits_per_s)]
    committed_rate: f64,

    /// Peak rate, beyond which packets are DP2 (standard, sw, trtcm)
    #[arg(long, value_name = "RATE", value_parser = bits_per_s)]
    peak_rate: Option<f64>,

    /// Averaging interval of the rate estimator (all but srtcm and trtcm) [default: 1 s]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    averaging: Option<f64>,

    /// Committed burst size in bytes (srtcm, trtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    committed_burst: Option<f64>,

    /// Excess burst size in bytes, marked DP1 (srtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    excess_burst: Option<f64>,

    /// Peak burst size in bytes (trtcm)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    peak_burst: Option<f64>,

    /// Mean round-trip time of the aggregate (rtt, rtt-rto, rtt-sw)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rtt: Option<f64>,

    /// Smallest round-trip time of all aggregates (rtt, rtt-rto, rtt-sw)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    min_rtt: Option<f64>,

    /// Mean retransmission timeout of the aggregate (rtt-rto)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rto: Option<f64>,

    /// Smallest retransmission timeout of all aggregates (rtt-rto)
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    min_rto: Option<f64>,

    /// Congestion window below which a packet is DP0 (sw, rtt-sw) [default: 3 pkt]
    #[arg(long, value_name = "PACKETS", value_parser = packets)]
    small_window: Option<f64>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl MarkingArguments {
    /// Returns the requested conditioner. Missing options are an error, ignored ones a warning.
    pub fn marking(&self) -> Result<Marking, Failure> {
        let spec = MarkingSpec {
            conditioner: self.conditioner,
            committed_rate: self.committed_rate,
            peak_rate: self.peak_rate,
            averaging: self.averaging,
            committed_burst: self.committed_burst,
            excess_burst: self.excess_burst,
            peak_burst: self.peak_burst,
            rtt: self.rtt,
            min_rtt: self.min_rtt,
            rto: self.rto,
            min_rto: self.min_rto,
            small_window: self.small_window,
            seed: self.seed,
        };
        let name = self.conditioner.name();
        for option in spec.unused() {
            problems::warn_message(&format!("--{option} has no effect on conditioner `{name}`"));
        }
        spec.marking().map_err(|error| match error {
            MarkError::Missing { setting, .. } => {
                let example = match setting {
                    it if it.ends_with("burst") => "15KB",
                    it if it.ends_with("rate") => "\"4 Mbit/s\"",
                    _ => "100ms",
                };
                Failure::Usage {
                    message: format!("conditioner `{name}` requires --{setting}"),
                    help: Some(format!("for example, --{setting} {example}")),
                }
            }
            MarkError::Invalid(error) => Failure::Usage {
                message: error.to_string(),
                help: error.help(),
            },
        })
    }

    /// Warns about information that the conditioner needs and the stream lacks, and about ignored
    /// information.
    pub fn warn_about_stream(&self, stream: &StreamInfo) {
        let name = self.conditioner;
        let kind = name.kind();
        if kind.is_some_and(Kind::protects_small_windows) && !stream.windows {
            problems::warn_message(&format!(
                "conditioner `{}` protects no packets: the stream has no congestion windows; add a column window_pkts",
                name.name()
            ));
        }
        if kind.is_some() && stream.precedences {
            problems::warn_message(&format!(
                "the precedences of the stream have no effect on conditioner `{}`",
                name.name()
            ));
        }
    }
}
