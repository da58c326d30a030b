//! The subcommand `netflow mark FILE`.

mod conditioner_options;
mod packets;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::diffserv::DropPrecedence;
use netflow::diffserv::packet_table::Packet;
use netflow::number::{count, percent, short};
use serde::Serialize;

use netflow::mark::Marking;

use self::conditioner_options::MarkingArguments;
use crate::failure::Failure;
use crate::output::format::{Format, HELP};
use crate::output::table::{Table, format_or};

/// Mark a packet stream with a DiffServ conditioner and count the colours
///
/// DP0 (green) is dropped last, DP2 (red) first. The stream is a trace (ns-2, pcap, pcapng), or a
/// table named *.csv with the columns time_s and bytes. Optional columns are window_pkts (the
/// congestion window of the packet's connection) and precedence (0, 1 or 2: the previous colour,
/// which srtcm and trtcm never improve).
#[derive(Args)]
pub struct MarkArguments {
    /// Packets: a trace, or a table named *.csv
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    marking: MarkingArguments,

    /// Link of an ns-2 trace at which the packets arrive, such as `N5->N7`
    #[arg(long, value_name = "LINK")]
    link: Option<String>,

    #[arg(
        long,
        value_enum,
        default_value_t,
        help = HELP,
        long_help = format!("{HELP}\n\nCSV contains every packet with its colour.")
    )]
    format: Format,
}

pub fn mark(arguments: &MarkArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut marking = arguments.marking.marking()?;
    let mut colours = [Colour::default(); 3];
    let mut times_s: Option<(f64, f64)> = None;
    let csv = arguments.format == Format::Csv;
    if csv {
        writeln!(out, "time_s,bytes,precedence")?;
    }
    let seen =
        packets::for_each_packet(&arguments.file, arguments.link.as_deref(), &mut |packet| {
            let precedence = marking.mark(&packet);
            let colour = &mut colours[precedence.index()];
            colour.packets += 1;
            colour.bytes += u64::from(packet.bytes);
            let time_s = packet.time_s;
            times_s = Some(times_s.map_or((time_s, time_s), |(first_s, _)| (first_s, time_s)));
            if csv {
                write_packet(&packet, precedence, out)
            } else {
                Ok(())
            }
        })?;
    arguments.marking.warn_about_stream(&seen);
    let (first_s, last_s) = times_s.unwrap_or_default();
    let report = Report::new(&arguments.file, &marking, colours, last_s - first_s);
    // For CSV, all rows have already been written.
    Ok(arguments
        .format
        .print(out, &report, |_| Ok(()), |out| report.print(out))?)
}

fn write_packet(
    packet: &Packet,
    precedence: DropPrecedence,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (time_s, bytes, precedence) = (packet.time_s, packet.bytes, precedence.index());
    writeln!(out, "{time_s},{bytes},{precedence}")
}

/// Counts of one colour.
#[derive(Clone, Copy, Default)]
struct Colour {
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Report {
    file: String,
    conditioner: String,
    duration_s: f64,
    packets: u64,
    bytes: u64,
    rate_bps: Option<f64>,
    colours: Vec<JsonMarking>,
}

#[derive(Serialize)]
struct JsonMarking {
    precedence: String,
    packets: u64,
    bytes: u64,
    fraction_of_packets: f64,
    fraction_of_bytes: f64,
    rate_bps: Option<f64>,
}

impl Report {
    fn new(file: &Path, marking: &Marking, colours: [Colour; 3], duration_s: f64) -> Report {
        let packets = colours.iter().map(|colour| colour.packets).sum();
        let bytes = colours.iter().map(|colour| colour.bytes).sum();
        // A rate needs a positive duration.
        let rate_bps = |bytes: u64| (duration_s > 0.0).then(|| 8.0 * bytes as f64 / duration_s);
        let fraction = |part: u64, whole: u64| match whole {
            0 => 0.0,
            _ => part as f64 / whole as f64,
        };
        let shown = |(precedence, colour): (DropPrecedence, &Colour)| JsonMarking {
            precedence: precedence.to_string(),
            packets: colour.packets,
            bytes: colour.bytes,
            fraction_of_packets: fraction(colour.packets, packets),
            fraction_of_bytes: fraction(colour.bytes, bytes),
            rate_bps: rate_bps(colour.bytes),
        };
        Report {
            file: file.display().to_string(),
            conditioner: marking.name().to_owned(),
            duration_s,
            packets,
            bytes,
            rate_bps: rate_bps(bytes),
            colours: DropPrecedence::ALL
                .into_iter()
                .zip(&colours)
                .map(shown)
                .collect(),
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let packets = usize::try_from(self.packets).unwrap_or(usize::MAX);
        let (seconds, rate) = (short(self.duration_s), megabits(self.rate_bps));
        writeln!(out, "conditioner {}", self.conditioner)?;
        writeln!(
            out,
            "{} in {seconds} s: {rate} Mbit/s",
            count(packets, "packet")
        )?;
        Table::of(&self.colours)
            .text("colour", |it| it.precedence.clone())
            .number("packets", |it| it.packets)
            .number("of packets", |it| percent(it.fraction_of_packets))
            .number("of bytes", |it| percent(it.fraction_of_bytes))
            .number("Mbit/s", |it| megabits(it.rate_bps))
            .print(out)
    }
}

fn megabits(rate_bps: Option<f64>) -> String {
    format_or(rate_bps, |rate_bps| short(rate_bps / 1e6), "-")
}
