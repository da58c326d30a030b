//! `netflow trace samples FILE…`, and samples as input of other commands.

use std::fs::File;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::profile::fit::{FlowSamples, Sample};
use netflow::trace::sender::{Options, RttMethod, Samplers};
use netflow_files::ShortLines;
use serde::{Deserialize, Serialize};

use super::{few_flows, read, warn_of_vantage};
use crate::failure::Failure;

/// What the sender of every TCP flow saw: loss, round-trip time, throughput of k packets each
///
/// Comma-separated values, one line for a sample: trace, flow, time_s (its end), loss
/// (retransmitted / packets), rtt_s (mean), throughput_pps, packets (k), retransmitted, needless
/// (retransmissions of packets that had arrived), duration_s, rtt_method. A capture is taken to be
/// made at the sender, that is the side with more payload.
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
    /// Packets in a sample
    #[arg(long, value_name = "N", default_value = "100")]
    k: NonZeroU32,

    /// How round-trip times are found; best: for every flow what it allows
    #[arg(long, value_enum, default_value_t)]
    rtt_method: RttArgument,
}

impl Sampling {
    /// Samples of so many packets, the best round-trip times.
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
    /// The best of the others that a flow allows
    #[default]
    Best,
    /// By selective acknowledgements
    Sack,
    /// By timestamps
    Timestamps,
    /// By cumulative acknowledgements of what was sent once
    Karn,
}

pub fn samples(arguments: &SamplesArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut lines = csv::Writer::from_writer(out);
    for file in &arguments.files {
        for flow in of_trace(file, &arguments.sampling)? {
            for sample in &flow.samples {
                lines.serialize(Line::new(&flow, sample)).map_err(failed)?;
            }
        }
    }
    Ok(lines.flush()?)
}

/// The samples in files: traces, or what `netflow trace samples` printed (named `*.csv`).
pub fn of_files(files: &[PathBuf], sampling: &Sampling) -> Result<Vec<FlowSamples>, Failure> {
    let mut flows = Vec::new();
    for file in files {
        let is_csv = |extension: &std::ffi::OsStr| extension.eq_ignore_ascii_case("csv");
        match file.extension() {
            Some(extension) if is_csv(extension) => of_csv(file, &mut flows)?,
            _ => flows.extend(of_trace(file, sampling)?),
        }
    }
    Ok(flows)
}

/// The samples in a trace.
pub fn of_trace(file: &Path, sampling: &Sampling) -> Result<Vec<FlowSamples>, Failure> {
    let options = Options {
        rtt_method: match sampling.rtt_method {
            RttArgument::Best => None,
            RttArgument::Sack => Some(RttMethod::Sack),
            RttArgument::Timestamps => Some(RttMethod::Timestamps),
            RttArgument::Karn => Some(RttMethod::Karn),
        },
    };
    let mut samplers = Samplers::new(options, sampling.k.get());
    read(file, |event| samplers.on(event))?;
    few_flows(file, samplers.senders().flows_left_out())?;
    warn_of_vantage(file, samplers.senders());
    Ok(samplers.finish(&file.display().to_string()))
}

fn of_csv(file: &Path, flows: &mut Vec<FlowSamples>) -> Result<(), Failure> {
    let source = File::open(file).map_err(|source| Failure::File {
        action: "read",
        path: file.to_owned(),
        source,
    })?;
    let begin = flows.len();
    let mut lines = csv::Reader::from_reader(ShortLines::new(source));
    for line in lines.deserialize() {
        let line: Line<String> = line.map_err(|error| wrong(file, &error))?;
        let known = flows[begin..]
            .iter()
            .rposition(|flow| flow.trace == line.trace && flow.flow == line.flow);
        let sample = line.sample();
        let good = sample.duration_s >= 0.0 && sample.rtt_s > 0.0 && sample.time_s.is_finite();
        if !good {
            return Err(Failure::usage(format!(
                "{}: a sample of {} has rtt_s {} and duration_s {}: they must be above 0 and not \
                 below 0",
                file.display(),
                line.flow,
                sample.rtt_s,
                sample.duration_s
            )));
        }
        match known {
            Some(place) => flows[begin + place].samples.push(sample),
            None => flows.push(FlowSamples {
                trace: line.trace,
                flow: line.flow,
                rtt_method: line.rtt_method,
                samples: vec![sample],
            }),
        }
    }
    Ok(())
}

fn wrong(file: &Path, error: &csv::Error) -> Failure {
    Failure::Usage {
        message: format!("{}: {error}", file.display()),
        help: Some(
            "samples have the columns that `netflow trace samples` prints; a trace's name must \
             not end in .csv"
                .to_owned(),
        ),
    }
}

fn failed(error: csv::Error) -> Failure {
    Failure::Output(error.into())
}

/// A line of samples; the loss and the throughput follow from the others.
#[derive(Serialize, Deserialize)]
struct Line<S> {
    trace: S,
    flow: S,
    time_s: f64,
    #[serde(default)]
    loss: f64,
    rtt_s: f64,
    #[serde(default)]
    throughput_pps: f64,
    packets: u32,
    retransmitted: u32,
    needless: u32,
    duration_s: f64,
    rtt_method: S,
}

impl<'a> Line<&'a str> {
    fn new(flow: &'a FlowSamples, sample: &Sample) -> Line<&'a str> {
        Line {
            trace: &flow.trace,
            flow: &flow.flow,
            time_s: sample.time_s,
            loss: sample.resent_fraction(),
            rtt_s: sample.rtt_s,
            throughput_pps: sample.throughput_pps(),
            packets: sample.pkts,
            retransmitted: sample.resent_pkts,
            needless: sample.needless_pkts,
            duration_s: sample.duration_s,
            rtt_method: &flow.rtt_method,
        }
    }
}

impl<S> Line<S> {
    fn sample(&self) -> Sample {
        Sample {
            time_s: self.time_s,
            duration_s: self.duration_s,
            pkts: self.packets,
            resent_pkts: self.retransmitted,
            needless_pkts: self.needless,
            rtt_s: self.rtt_s,
        }
    }
}
