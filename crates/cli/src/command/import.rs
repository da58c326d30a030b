//! The subcommand `netflow import FILE... -o topology.toml`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::document::Words;
use netflow::import::scenario::{self, Defaults, Origin, WrittenScenario};
use netflow::import::{Coordinates, Format, Reading, demands, read};
use netflow::scenario::file::DemandKind;
use netflow::units::BufferSize;
use netflow_files::{PartialFile, STANDARD_INPUT, publish};

use crate::failure::Failure;
use crate::output::escape_control_characters::EscapingWriter;
use crate::output::file;
use crate::parse::{
    bandwidth, factor_from_1, one_of, rate_unit, room, time_from_zero, time_unit, word,
};

/// Write a scenario of a network that another program's file has
///
/// GraphML and GML of the Internet Topology Zoo, SNDlib (native and XML), Repetita, NetworkX's
/// node-link JSON, CSV tables of links, and the links of ns-2 scripts. What a file does not say is
/// assumed, and every assumption is told: in the scenario's comments, and in short on the standard
/// error.
///
/// The scenario runs as it is, if some node reaches another and back. Demands are rates, in a table of their own:
/// FILE-demands.csv. Where no traffic is known, there is one connection as an example.
#[derive(Args)]
pub struct ImportArguments {
    /// The network's file, and files with demands of its nodes, if they stand apart (Repetita's
    /// .demands, CSV tables `from,to,rate`, matrices of SNDlib); with a CSV table of links one of nodes,
    /// `id,lat,lon`; `-` is the standard input
    ///
    /// Networks are imported one by one:
    /// `for file in *.graphml; do netflow import $file -o ${file%.graphml}.toml; done`
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Write to this file, which must not be there yet, instead of the standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write demands to this file, below the scenario's folder [default: FILE-demands.csv beside it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "output")]
    demands: Option<PathBuf>,

    /// Replace the files if they are there
    #[arg(long, requires = "output")]
    force: bool,

    /// The files' format [default: what they begin with, or are called]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(&Format::ALL, Format::name, Format::description))]
    format: Option<Format>,

    /// Bandwidth of links of which nothing tells it
    #[arg(long, value_name = "RATE", default_value = "1 Gbit/s", value_parser = bandwidth)]
    bandwidth: f64,

    /// Delay of links of which neither a time nor the places of their ends tell it
    #[arg(long, value_name = "TIME", default_value = "5 ms", value_parser = time_from_zero)]
    delay: f64,

    /// Room of the queues, such as `100 pkt` or `50 ms` [default: that of scenarios]
    #[arg(long, value_name = "SIZE", value_parser = room)]
    buffer: Option<BufferSize>,

    /// How much longer than the great circle the way of a fibre is
    #[arg(long, value_name = "FACTOR", default_value = "1.5", value_parser = factor_from_1)]
    detour: f64,

    /// What bandwidths and demands without a unit are in, such as `Gbit/s` [default: what the format
    /// has; else bit/s, if one is above 1e6, or Mbit/s]
    #[arg(long, value_name = "UNIT", value_parser = rate_unit)]
    unit: Option<f64>,

    /// What delays without a unit are in [default: what the format has, or ms]
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    time_unit: Option<f64>,

    /// Kind of the demands whose file does not state it: a measured matrix contains its acknowledgements; `tcp` and `video` add
    /// them in the reverse direction
    #[arg(long, value_name = "KIND", default_value = Defaults::default().kind.name(), value_parser = word::<DemandKind>())]
    kind: DemandKind,

    /// Divide traffic among paths of equal cost [default: true if all links have a metric, as with IS-IS and OSPF, or links
    /// between two nodes are equal]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ecmp: Option<bool>,

    /// What coordinates are that nobody tells [default: degrees, if they can be]
    #[arg(long, value_enum)]
    coordinates: Option<CoordinateKind>,
}

/// What pairs of coordinates are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CoordinateKind {
    /// Longitude and latitude
    Degrees,
    /// Places on a picture, from which no delay follows
    Plane,
}

pub fn import(arguments: &ImportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let reading = Reading {
        format: arguments.format,
        rate_unit_bps: arguments.unit,
        time_unit_s: arguments.time_unit,
        coordinates: arguments.coordinates.map(|it| match it {
            CoordinateKind::Degrees => Coordinates::Degrees,
            CoordinateKind::Plane => Coordinates::Plane,
        }),
    };
    let paths: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    let topology = read(&paths, &reading).map_err(|problems| Failure::Input(problems.into()))?;
    let table = arguments.table()?;
    let choices = Defaults {
        bandwidth_bps: arguments.bandwidth,
        delay_s: arguments.delay,
        buffer: arguments.buffer,
        detour: arguments.detour,
        kind: arguments.kind,
        ecmp: arguments.ecmp,
    };
    let origin = Origin {
        files: paths.iter().map(|path| file_name(path)).collect(),
        command: arguments.command(),
        demands: table.as_ref().map(|table| table.name_in_scenario.clone()),
    };
    let written = scenario::write(&topology, &choices, &origin);
    arguments.write(&written, table.map(|table| table.path), out)?;
    let mut stderr = EscapingWriter::new(io::stderr().lock());
    for assumption in &written.assumptions {
        // An error of the standard error cannot be reported anywhere.
        let _ = writeln!(stderr, "assumed: {}", assumption.summary(&written.topology));
    }
    Ok(())
}

/// The CSV file of the demands.
struct Table {
    path: PathBuf,
    /// Path of the file in the scenario.
    name_in_scenario: String,
}

/// Returns the name of a file without its folders, which exist only on this machine.
fn file_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path != Path::new(STANDARD_INPUT) => name.to_string_lossy().into_owned(),
        _ => "the standard input".to_owned(),
    }
}

impl ImportArguments {
    fn table(&self) -> Result<Option<Table>, Failure> {
        let Some(output) = &self.output else {
            return Ok(None);
        };
        let folder = output.parent().unwrap_or(Path::new(""));
        let path = match &self.demands {
            Some(path) => path.clone(),
            None => {
                let name = output.file_stem().unwrap_or_default().to_string_lossy();
                folder.join(format!("{name}-demands.csv"))
            }
        };
        let below = path.strip_prefix(folder).ok().and_then(Path::to_str);
        let Some(called) = below.filter(|path| !Path::new(path).is_absolute()) else {
            let message = format!("{} is not below the scenario's folder", path.display());
            return Err(Failure::Usage {
                message,
                help: Some("a scenario reads tables below its folder only".to_owned()),
            });
        };
        let called = called.to_owned();
        Ok(Some(Table {
            path,
            name_in_scenario: called,
        }))
    }

    /// Returns a command line that generates the same scenario.
    fn command(&self) -> String {
        let mut command = "netflow import".to_owned();
        for file in &self.files {
            command += &format!(" {}", file_name(file));
        }
        let default = Defaults::default();
        let mut add = |option: String| command += &format!(" {option}");
        if let Some(format) = self.format {
            add(format!("--format {}", format.name()));
        }
        if self.bandwidth != default.bandwidth_bps {
            let rate = netflow::units::BitsPerSecond(self.bandwidth);
            add(format!("--bandwidth '{rate}'"));
        }
        if self.delay != default.delay_s {
            add(format!("--delay '{}'", netflow::units::Seconds(self.delay)));
        }
        if let Some(buffer) = self.buffer {
            add(format!("--buffer '{buffer}'"));
        }
        if self.detour != default.detour {
            add(format!("--detour {}", self.detour));
        }
        if self.kind != default.kind {
            add(format!("--kind {}", self.kind.name()));
        }
        if let Some(ecmp) = self.ecmp {
            add(format!("--ecmp={ecmp}"));
        }
        if let Some(unit) = self.unit {
            add(format!("--unit '{}'", netflow::units::BitsPerSecond(unit)));
        }
        if let Some(unit) = self.time_unit {
            add(format!("--time-unit '{}'", netflow::units::Seconds(unit)));
        }
        if let Some(coordinates) = self.coordinates {
            add(format!(
                "--coordinates {}",
                crate::parse::name_of(&coordinates)
            ));
        }
        command
    }

    /// Writes the scenario and its demands: both or neither.
    fn write(
        &self,
        written: &WrittenScenario,
        table: Option<PathBuf>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Some(output) = &self.output else {
            return Ok(out.write_all(written.text.as_bytes())?);
        };
        let table = table.filter(|_| !written.topology.demands.is_empty());
        for path in [Some(output), table.as_ref()].into_iter().flatten() {
            if path.exists() && !self.force {
                let said = "it is there already; --force replaces it";
                return Err(write_failure(
                    path,
                    io::Error::new(io::ErrorKind::AlreadyExists, said),
                ));
            }
        }
        let Some(table) = table else {
            return file::replace(output, &written.text);
        };
        let rows = demands::write(&written.topology);
        let mut files = Vec::new();
        for (path, text) in [(&table, &rows), (output, &written.text)] {
            files.push(partial(path, text).map_err(|error| write_failure(path, error))?);
        }
        publish(&[], files).map_err(|(path, error)| write_failure(&path, error))
    }
}

fn partial(path: &Path, text: &str) -> io::Result<PartialFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PartialFile::with_contents(folder, &name, text.as_bytes())
}

fn write_failure(path: &Path, source: io::Error) -> Failure {
    Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    }
}
