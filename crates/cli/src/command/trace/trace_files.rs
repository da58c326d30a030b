//! Reading of traces, and warnings about them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::number::plain;
use netflow::trace::sender::{MAX_FLOWS, Senders};
use netflow::trace::{self, Event, Reader};
use netflow::traces;

use crate::failure::Failure;
use crate::output::format::{Format, HELP};
use crate::parse::name_of;
use crate::{interrupt, problems};

/// Which traces, and how they are shown.
#[derive(Args)]
pub struct Files {
    /// Traces: ns-2, pcap or pcapng, compressed or not
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Maximum number of printed links or connections
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "N",
        default_value_t = 12
    )]
    pub top: usize,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    pub format: Format,
}

impl Files {
    /// Calls `show` for each file, with a heading if there are several.
    pub fn for_each(
        &self,
        out: &mut dyn Write,
        mut show: impl FnMut(&Path, &mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (i, file) in self.files.iter().enumerate() {
            if self.files.len() > 1 {
                let blank = if i > 0 { "\n" } else { "" };
                writeln!(out, "{blank}== {}", file.display())?;
            }
            show(file, out)?;
        }
        Ok(())
    }

    /// Returns the only file, for formats that cannot distinguish several.
    pub fn single(&self) -> Result<&Path, Failure> {
        match self.files.as_slice() {
            [file] => Ok(file),
            _ => Err(Failure::usage(format!(
                "--format {} takes one trace at a time",
                name_of(&self.format)
            ))),
        }
    }
}

/// Reads a trace to its end, and warns about malformed content.
pub fn read(file: &Path, mut on: impl FnMut(&Event)) -> Result<Reader, Failure> {
    let mut reader = trace::open(file).map_err(read_failure)?;
    let mut events = 0_u32;
    while let Some(event) = reader.next().map_err(read_failure)? {
        on(event);
        events = events.wrapping_add(1);
        if events.is_multiple_of(1 << 16) && interrupt::requested() {
            return Err(Failure::Interrupted(format!(
                "stopped reading {} after {} bytes",
                file.display(),
                reader.bytes_read()
            )));
        }
    }
    warn_about_faults(file, &reader);
    Ok(reader)
}

/// Rejects a trace with omitted events.
pub fn check_intervals(left_out: u64, every_s: f64) -> Result<(), Failure> {
    match left_out {
        0 => Ok(()),
        events => Err(Failure::Usage {
            message: format!(
                "the trace has too many intervals of {} s: {events} events are after the last possible interval",
                plain(every_s)
            ),
            help: Some("use longer intervals, or check the times in the trace".to_owned()),
        }),
    }
}

/// Rejects a trace with omitted flows.
pub fn check_flow_count(file: &Path, events_left_out: u64) -> Result<(), Failure> {
    match events_left_out {
        0 => Ok(()),
        events => Err(Failure::Usage {
            message: format!(
                "{} has more than {MAX_FLOWS} flows and links: {events} events belong to \
                 further ones",
                file.display()
            ),
            help: Some(
                "split the trace by time or by hosts (tcpdump -r, editcap, awk) and read each part"
                    .to_owned(),
            ),
        }),
    }
}

/// Warns about flows that were captured at the wrong end.
pub fn warn_about_capture_point(file: &Path, senders: &Senders) {
    if let Some(message) = traces::vantage_warning(file, senders) {
        problems::warn_message(&message);
    }
}

/// Warns about malformed content of a trace.
pub fn warn_about_faults(file: &Path, reader: &Reader) {
    if let Some(message) = traces::malformed_trace_warning(file, reader) {
        problems::warn_message(&message);
    }
}

/// Returns the failure. A file that is not a trace is invalid input, not an unreadable file.
pub fn read_failure(error: trace::Error) -> Failure {
    match error {
        trace::Error::NotATrace { .. } | trace::Error::LinkLayer { .. } => {
            Failure::usage(error.to_string())
        }
        error => Failure::Trace(error),
    }
}
