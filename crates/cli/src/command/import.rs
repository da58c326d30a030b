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
use crate::output::scenario_schema_file::SchemaFile;
use crate::parse::{
    bandwidth, factor_from_1, one_of, rate_unit, room, time_from_zero, time_unit, word,
};

/// Import a network from GraphML, SNDlib, CSV, tc and other formats
///
/// The formats are GraphML and GML of the Internet Topology Zoo, SNDlib (native and XML), Repetita,
/// Net2Plan, node-link JSON of NetworkX, CSV tables of links, TeaVaR, and the links of ns-2 scripts;
/// topologies of containerlab and netlab; cables of NetBox, neighbours of LLDP, databases of OSPF and
/// IS-IS, and edges of Batfish. The output or the commands of `tc` for a Linux interface become a
/// link between two nodes. netflow assumes values that a file does not contain. It reports every assumption: in the comments of the
/// scenario, and as a summary on the standard error.
///
/// The scenario runs without changes if at least one node reaches another and back. Demands are
/// rates in a separate table, FILE-demands.csv. If the traffic is unknown, the scenario has one
/// connection as an example. Editors complete keys with the schema netflow.schema.json, which is
/// written next to the output file.
#[derive(Args)]
pub struct ImportArguments {
    /// Network file, and separate files with demands of its nodes (.demands of Repetita, CSV tables
    /// `from,to,rate`, matrices of SNDlib or of numbers only). A CSV table of links can be followed
    /// by a table of nodes, `id,lat,lon`. `-` is the standard input
    ///
    /// Import several networks one by one:
    /// `for file in *.graphml; do netflow import $file -o ${file%.graphml}.toml; done`
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Output file, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Output file of demands, below the folder of the scenario [default: FILE-demands.csv next to
    /// it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "output")]
    demands: Option<PathBuf>,

    /// Replace existing files
    #[arg(long, requires = "output")]
    force: bool,

    /// Format of the files [default: detected from content or name]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(&Format::ALL, Format::name, Format::description))]
    format: Option<Format>,

    /// Bandwidth of links that have none in the file
    #[arg(long, value_name = "RATE", default_value = "1 Gbit/s", value_parser = bandwidth)]
    bandwidth: f64,

    /// Delay of links for which the file has neither a time nor coordinates of both ends
    #[arg(long, value_name = "TIME", default_value = "5 ms", value_parser = time_from_zero)]
    delay: f64,

    /// Buffer size of queues, such as `100 pkt` or `50 ms` [default: as in scenarios]
    #[arg(long, value_name = "SIZE", value_parser = room)]
    buffer: Option<BufferSize>,

    /// Length of a fibre relative to the great circle
    #[arg(long, value_name = "FACTOR", default_value = "1.5", value_parser = factor_from_1)]
    detour: f64,

    /// Unit of bandwidths and demands without a unit, such as `Gbit/s` [default: as in the format;
    /// otherwise bit/s if a value exceeds 1e6, else Mbit/s]
    #[arg(long, value_name = "UNIT", value_parser = rate_unit)]
    unit: Option<f64>,

    /// Unit of delays without a unit [default: as in the format, or ms]
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    time_unit: Option<f64>,

    /// Kind of demands without one in the file: a measured matrix contains its acknowledgements;
    /// `tcp` and `video` add them in the reverse direction
    #[arg(long, value_name = "KIND", default_value = Defaults::default().kind.name(), value_parser = word::<DemandKind>())]
    kind: DemandKind,

    /// Divide traffic among paths of equal cost [default: true if all links have a metric, as with
    /// IS-IS and OSPF, or if links between two nodes are equal]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ecmp: Option<bool>,

    /// Type of coordinates that the file does not define [default: degrees, if possible]
    #[arg(long, value_enum)]
    coordinates: Option<CoordinateKind>,
}

/// What pairs of coordinates are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CoordinateKind {
    /// Longitude and latitude
    Degrees,
    /// Positions in a drawing, which do not determine delays
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
                help: Some(
                    "write the demands to a file below the folder of the scenario".to_owned(),
                ),
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
                let said = "the file already exists; --force replaces it";
                return Err(write_failure(
                    path,
                    io::Error::new(io::ErrorKind::AlreadyExists, said),
                ));
            }
        }
        let schema = SchemaFile::beside(output);
        let text = schema.with_reference(&written.text);
        let Some(table) = table else {
            file::replace(output, text)?;
            return schema.write();
        };
        let rows = demands::write(&written.topology);
        let mut files = Vec::new();
        for (path, text) in [(&table, &rows), (output, &text)] {
            files.push(partial(path, text).map_err(|error| write_failure(path, error))?);
        }
        publish(&[], files).map_err(|(path, error)| write_failure(&path, error))?;
        schema.write()
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
