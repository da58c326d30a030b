//! Texts about traces, and about profiles fitted to them.

use std::path::Path;

use netflow_profile::fit::{FlowSamples, Method};
use netflow_trace::Reader;
use netflow_trace::sender::Senders;

use crate::number::{count, short};

/// Returns a warning about malformed parts of a trace, if any.
pub fn malformed_trace_warning(file: &Path, reader: &Reader) -> Option<String> {
    const SHOWN: usize = 5;
    let faults = reader.faults();
    if faults.count == 0 {
        return None;
    }
    let places = usize::try_from(faults.count).unwrap_or(usize::MAX);
    let end = if faults.truncated {
        "; the trace is truncated"
    } else {
        ""
    };
    let mut message = format!(
        "{}: {} in this {}{end}",
        file.display(),
        count(places, "malformed record"),
        reader.format(),
    );
    for fault in faults.first.iter().take(SHOWN) {
        message += &format!("\n  {fault}");
    }
    if places > SHOWN {
        message += &format!("\n  … and {} more", places - SHOWN);
    }
    Some(message)
}

/// Returns a warning about flows that were captured at the wrong end, if any.
pub fn vantage_warning(file: &Path, senders: &Senders) -> Option<String> {
    let near: Vec<_> = senders.captured_near_receiver().collect();
    let (flow, vantage) = near.first()?;
    Some(format!(
        "{}: {} captured near the receiver, so round-trip times and losses before the capture \
         are missing: of the round-trip time of {flow}, the capture contains \
         {} ms of {} ms; capture at the sender",
        file.display(),
        match near.len() {
            1 => "1 flow was".to_owned(),
            flows => format!("{flows} flows were"),
        },
        short(1e3 * vantage.receiver_side_s),
        short(1e3 * (vantage.receiver_side_s + vantage.sender_side_s)),
    ))
}

/// Returns the description of a profile fitted to these samples.
pub fn fit_description(flows: &[FlowSamples], method: Method) -> String {
    let how = match method {
        Method::LongRun => "long-run rate",
        Method::Paper => "means of samples",
    };
    let samples: usize = flows.iter().map(|flow| flow.samples.len()).sum();
    format!(
        "{how}, fitted to {} of {}",
        count(samples, "sample"),
        count(flows.len(), "flow")
    )
}
