//! The subcommand `netflow trace samples FILE…`, and samples as input of other commands.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::profile::fit::FlowSamples;
use netflow::trace::sender::{Options, RttMethod, Samplers, SamplesWriter, read_samples};
use netflow_files::{BoundedLines, FileKind};

use super::trace_files::{check_flow_count, read, warn_about_capture_point};
use crate::failure::Failure;
use crate::input;
use crate::parse::from_1;

/// Print samples of every TCP flow: loss, round-trip time and throughput of k packets each
///
/// The output is CSV with one line per sample: trace, flow, time_s (its end), loss (retransmitted /
/// packets), rtt_s (mean), throughput_pps, packets (k), retransmitted, needless (retransmissions of
/// packets that had arrived), duration_s, rtt_method. netflow assumes that a capture was made at
/// the sender, which is the side with more payload.
#[derive(Args)]
pub struct SamplesArguments {
    /// Traces: ns-2, pcap or pcapng, compressed or not
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    sampling: Sampling,
}

/// How samples are taken.
#[derive(Args)]
pub struct Sampling {
    /// Number of packets in a sample
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_1::<NonZeroU32>)]
    k: NonZeroU32,

    /// Method of measuring round-trip times; best: the best method for each flow
    #[arg(long, value_enum, default_value_t)]
    rtt_method: RttArgument,
}

impl Sampling {
    /// Returns sampling with `k` packets per sample and the best round-trip times.
    #[cfg(target_os = "linux")]
    pub fn with_k(k: NonZeroU32) -> Sampling {
        Sampling {
            k,
            rtt_method: RttArgument::default(),
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum RttArgument {
    /// Best method that the flow supports
    #[default]
    Best,
    /// Selective acknowledgements
    Sack,
    /// Timestamps
    Timestamps,
    /// Cumulative acknowledgements of packets that were sent once
    Karn,
}

pub fn samples(arguments: &SamplesArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = SamplesWriter::new(out);
    for file in &arguments.files {
        for flow in samples_of_trace(file, &arguments.sampling)? {
            table.write(&flow)?;
        }
    }
    Ok(table.flush()?)
}

/// Reads the samples of files: traces, or output of `netflow trace samples` (named `*.csv`).
pub fn samples_of_files(
    files: &[PathBuf],
    sampling: &Sampling,
) -> Result<Vec<FlowSamples>, Failure> {
    let mut flows = Vec::new();
    for file in files {
        let is_csv = |extension: &std::ffi::OsStr| extension.eq_ignore_ascii_case("csv");
        match file.extension() {
            Some(extension) if is_csv(extension) => flows.extend(samples_of_csv(file)?),
            _ => flows.extend(samples_of_trace(file, sampling)?),
        }
    }
    Ok(flows)
}

/// Computes the samples of a trace.
pub fn samples_of_trace(file: &Path, sampling: &Sampling) -> Result<Vec<FlowSamples>, Failure> {
    let options = Options {
        rtt_method: match sampling.rtt_method {
            RttArgument::Best => None,
            RttArgument::Sack => Some(RttMethod::Sack),
            RttArgument::Timestamps => Some(RttMethod::Timestamps),
            RttArgument::Karn => Some(RttMethod::Karn),
        },
    };
    let mut samplers = Samplers::new(options, sampling.k.get());
    read(file, |event| samplers.on_event(event))?;
    check_flow_count(file, samplers.senders().events_of_omitted_flows())?;
    warn_about_capture_point(file, samplers.senders());
    Ok(samplers.finish(&file.display().to_string()))
}

/// Reads the samples of a table that `netflow trace samples` printed.
fn samples_of_csv(file: &Path) -> Result<Vec<FlowSamples>, Failure> {
    let bytes = input::read(file, FileKind::Samples)?;
    read_samples(BoundedLines::new(bytes.as_slice())).map_err(|error| Failure::Usage {
        message: format!("{}: {error}", file.display()),
        help: Some(
            "samples must have the columns of `netflow trace samples`; the name of a trace must \
             not end in .csv"
                .to_owned(),
        ),
    })
}
