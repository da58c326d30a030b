//! Table of samples, as `netflow trace samples` prints it.

use std::collections::HashMap;
use std::io;

use netflow_profile::fit::{FlowSamples, Sample};
use netflow_units::Bounds;
use serde::{Deserialize, Serialize};

/// Reason for not reading a table of samples.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Input that is unreadable, not comma-separated values, or without a required column.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// Sample with invalid values.
    #[error("line {line}: a sample of {flow} has {what}")]
    Sample {
        /// Line of the file, from 1.
        line: u64,
        /// Name of its flow.
        flow: String,
        /// Invalid value and its allowed range, as text.
        what: String,
    },
}

/// Writer of samples as comma-separated values, one line per sample: trace, flow, `time_s` (its end),
/// loss (retransmitted / packets), `rtt_s` (mean), `throughput_pps`, packets (k), retransmitted,
/// needless, `duration_s`, `rtt_method`.
#[derive(Debug)]
pub struct SamplesWriter<W: io::Write>(csv::Writer<W>);

impl<W: io::Write> SamplesWriter<W> {
    /// Creates a writer of a new table.
    pub fn new(out: W) -> SamplesWriter<W> {
        SamplesWriter(csv::Writer::from_writer(out))
    }

    /// Writes all samples of a flow.
    ///
    /// # Errors
    /// The error of the output.
    pub fn write(&mut self, flow: &FlowSamples) -> io::Result<()> {
        for sample in &flow.samples {
            self.0.serialize(SampleRow::new(flow, sample))?;
        }
        Ok(())
    }

    /// Flushes the buffered rows.
    ///
    /// # Errors
    /// The error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Reads a table of samples: flows in the order of their first samples. Loss and throughput are ignored,
/// because the other columns determine them.
///
/// # Errors
/// [`TableError`] for the first invalid row.
pub fn read_samples(source: impl io::Read) -> Result<Vec<FlowSamples>, TableError> {
    let mut flows: Vec<FlowSamples> = Vec::new();
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut lines = csv::Reader::from_reader(source);
    let mut lines = lines.deserialize();
    while let Some(line) = lines.next() {
        let line: SampleRow<String> = line?;
        let sample = line.sample();
        if let Some(what) = sample_error(&sample) {
            return Err(TableError::Sample {
                line: lines.reader().position().line().saturating_sub(1),
                flow: line.flow,
                what,
            });
        }
        let name = (line.trace, line.flow);
        let place = match places.get(&name) {
            Some(&place) => place,
            None => {
                places.insert(name.clone(), flows.len());
                flows.push(FlowSamples {
                    trace: name.0,
                    flow: name.1,
                    rtt_method: line.rtt_method,
                    samples: Vec::new(),
                });
                flows.len() - 1
            }
        };
        flows[place].samples.push(sample);
    }
    Ok(flows)
}

fn sample_error(sample: &Sample) -> Option<String> {
    let allowed = Bounds::TIME.text;
    let is_time = |s: f64| s >= 0.0 && Bounds::TIME.contains(s);
    if !sample.time_s.is_finite() {
        Some(format!("time_s {}: it must be a number", sample.time_s))
    } else if !is_time(sample.duration_s) {
        let duration_s = sample.duration_s;
        Some(format!(
            "duration_s {duration_s}: it must be 0 or {allowed}"
        ))
    } else if !is_time(sample.rtt_s) || sample.rtt_s == 0.0 {
        Some(format!("rtt_s {}: it must be {allowed}", sample.rtt_s))
    } else if sample.pkts == 0 {
        Some("packets 0: it must be 1 or more".to_owned())
    } else if sample.resent_pkts > sample.pkts || sample.spurious_pkts > sample.resent_pkts {
        Some(format!(
            "{} retransmitted and {} needlessly retransmitted of {} packets: the counts are inconsistent",
            sample.resent_pkts, sample.spurious_pkts, sample.pkts
        ))
    } else {
        None
    }
}

/// Sample as a row of the table; loss and throughput follow from the other columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRow<S> {
    /// Name of the trace.
    pub trace: S,
    /// Name of the flow in the trace.
    pub flow: S,
    /// End of the sample, in seconds.
    pub time_s: f64,
    /// Fraction of retransmitted packets, 0 to 1.
    #[serde(default)]
    pub loss: f64,
    /// Mean round-trip time, in seconds.
    pub rtt_s: f64,
    /// Throughput in packets/s; infinite if all packets were sent at once.
    #[serde(default)]
    pub throughput_pps: f64,
    /// Number of packets sent, k.
    pub packets: u32,
    /// Number of retransmitted packets among them.
    pub retransmitted: u32,
    /// Number of spurious retransmissions among these.
    pub needless: u32,
    /// Time from the first packet to the first after the sample, in seconds.
    pub duration_s: f64,
    /// Method of the flow's round-trip times.
    pub rtt_method: S,
}

impl<'a> SampleRow<&'a str> {
    /// Returns the row of a flow's sample.
    pub fn new(flow: &'a FlowSamples, sample: &Sample) -> SampleRow<&'a str> {
        SampleRow {
            trace: &flow.trace,
            flow: &flow.flow,
            time_s: sample.time_s,
            loss: sample.resent_fraction(),
            rtt_s: sample.rtt_s,
            throughput_pps: sample.throughput_pps(),
            packets: sample.pkts,
            retransmitted: sample.resent_pkts,
            needless: sample.spurious_pkts,
            duration_s: sample.duration_s,
            rtt_method: &flow.rtt_method,
        }
    }
}

impl<S> SampleRow<S> {
    fn sample(&self) -> Sample {
        Sample {
            time_s: self.time_s,
            duration_s: self.duration_s,
            pkts: self.packets,
            resent_pkts: self.retransmitted,
            spurious_pkts: self.needless,
            rtt_s: self.rtt_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time_s: f64) -> Sample {
        Sample {
            time_s,
            duration_s: 0.0,
            pkts: 100,
            resent_pkts: 3,
            spurious_pkts: 1,
            rtt_s: 0.0123456789,
        }
    }

    #[test]
    fn written_samples_are_read_back() {
        let flow = |name: &str, times: &[f64]| FlowSamples {
            trace: "a \"b\", c.tr".to_owned(),
            flow: name.to_owned(),
            rtt_method: "karn".to_owned(),
            samples: times.iter().map(|&time_s| sample(time_s)).collect(),
        };
        let flows = [flow("1", &[0.1, 1.0 / 3.0]), flow("2", &[0.2])];
        let mut table = Vec::new();
        let mut writer = SamplesWriter::new(&mut table);
        for flow in &flows {
            writer.write(flow).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        assert_eq!(read_samples(table.as_slice()).unwrap(), flows);
    }

    #[test]
    fn invalid_samples_are_rejected_with_line_number() {
        let header = "trace,flow,time_s,rtt_s,packets,retransmitted,needless,duration_s,rtt_method";
        let good = "t,1,1,0.1,100,1,0,0.5,karn";
        for (bad, expected) in [
            ("t,1,nan,0.1,100,1,0,0.5,karn", "time_s NaN"),
            ("t,1,1,0,100,1,0,0.5,karn", "rtt_s 0"),
            ("t,1,1,1e307,100,1,0,0.5,karn", "rtt_s 1"),
            ("t,1,1,0.1,100,1,0,-1,karn", "duration_s -1"),
            ("t,1,1,0.1,0,0,0,0.5,karn", "packets 0"),
            ("t,1,1,0.1,100,101,0,0.5,karn", "101 retransmitted"),
        ] {
            let table = format!("{header}\n{good}\n{bad}\n");
            let error = read_samples(table.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("line 3: "), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }

    /// Linear search for the flow of each row took minutes for 200 000 flows.
    #[test]
    fn reading_many_flows_takes_linear_time() {
        use std::fmt::Write;
        let mut table =
            "trace,flow,time_s,rtt_s,packets,retransmitted,needless,duration_s,rtt_method\n"
                .to_owned();
        for flow in 0..200_000 {
            writeln!(table, "a,{flow},1,0.1,100,1,0,0.5,karn").unwrap();
        }
        let began = std::time::Instant::now();
        assert_eq!(read_samples(table.as_bytes()).unwrap().len(), 200_000);
        assert!(began.elapsed().as_secs() < 10);
    }
}
