//! The subcommand `netflow export SCENARIO --to ns2`, `--to ns3`, `--to graphml` or `--to tc`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use netflow::import::{Topology, graphml};
use netflow::scenario::CompiledScenario;
use netflow::scenario::export::{self, Ns2Options, Ns2Tcp, Ns2Trace, Ns3Options};

use crate::failure::Failure;
use crate::input::ModelledScenario;
use crate::output::file;
use crate::parse::{positive_time, tcp, time_from_zero};

/// Export a scenario to ns-2 or ns-3, its network to GraphML, or its links to tc
///
/// `ns SCRIPT [SEED [DIRECTORY [TRACE]]]` runs the ns-2 script, which writes ns-links.csv and
/// ns-connections.csv to the directory. Links, paths, sources and times are exactly those of the
/// scenario; every profile becomes the TCP from which it was measured.
///
/// The ns-3 program is one C++ file with build instructions at its top. Its TCP is current: CUBIC,
/// BBR, DCTCP, or Reno with SACK.
///
/// GraphML contains the nodes, and the links with bandwidth, delay and buffer; `netflow import`
/// reads them unchanged. It does not contain queue disciplines, losses, connections and events.
///
/// The shell script for `tc` makes one of the links on a network interface of Linux:
/// `sh SCRIPT "A->B" eth0`. Connections are not part of it.
#[derive(Args)]
pub struct ExportArguments {
    #[command(flatten)]
    scenario: ModelledScenario,

    /// Target program
    #[arg(long, value_enum)]
    to: Target,

    /// Output file, which replaces an earlier export [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// TCP variant of all connections with a profile [default: by the name of the profile]
    #[arg(long, value_name = "VARIANT", value_parser = tcp())]
    tcp: Option<Ns2Tcp>,

    /// Maximum random delay of connection starts
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time_from_zero)]
    start_jitter: f64,

    /// Maximum random time that TCP waits before it sends a packet (overhead_ of ns-2)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time_from_zero)]
    overhead: f64,

    /// Length of the intervals in the output files of the script [default: 0.5s]
    #[arg(long, alias = "every", value_name = "TIME", value_parser = positive_time)]
    interval: Option<f64>,

    /// Trace packets of all links, or of the given ones (A->B,C->D)
    #[arg(long, value_name = "LINKS")]
    trace: Option<Option<String>>,
}

/// Programs that there is an export for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// ns-2.35
    Ns2,
    /// ns-3.37, a program in C++
    Ns3,
    /// GraphML, nodes and links
    #[value(name = "graphml")]
    GraphMl,
    /// Linux tc, links as queueing disciplines
    Tc,
}

impl Target {
    /// Returns the marker in the head of its files.
    fn mark(self) -> &'static str {
        match self {
            Target::Ns2 => export::NS2_HEADER,
            Target::Ns3 => export::NS3_HEADER,
            Target::GraphMl => graphml::GRAPHML_HEADER,
            Target::Tc => export::TC_HEADER,
        }
    }
}

pub fn export(arguments: &ExportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = arguments.scenario.load()?;
    let options = Ns2Options {
        tcp: arguments.tcp,
        start_jitter_s: arguments.start_jitter,
        max_send_jitter_s: arguments.overhead,
        every_s: arguments.interval.unwrap_or(0.5),
        trace: ns2_trace(&scenario, arguments.trace.as_ref()),
    };
    let script = match arguments.to {
        Target::Ns2 => {
            export::ns2(&scenario, &options).map_err(|error| Failure::usage(error.to_string()))?
        }
        Target::Ns3 => {
            arguments.reject_options(&["--tcp", "--overhead", "--trace"], "--to ns2")?;
            let options = Ns3Options {
                start_jitter_s: arguments.start_jitter,
                every_s: arguments.interval.unwrap_or(0.5),
                ..Ns3Options::default()
            };
            export::ns3(&scenario, &options).map_err(|error| Failure::usage(error.to_string()))?
        }
        Target::Tc => {
            arguments.reject_options(&["--tcp", "--overhead", "--trace"], "--to ns2")?;
            arguments.reject_options(&["--start-jitter", "--interval"], "--to ns2 and --to ns3")?;
            export::tc(&scenario).map_err(|error| Failure::usage(error.to_string()))?
        }
        Target::GraphMl => {
            arguments.reject_options(&["--tcp", "--overhead", "--trace"], "--to ns2")?;
            arguments.reject_options(&["--start-jitter", "--interval"], "--to ns2 and --to ns3")?;
            graphml::write(&Topology::of(&scenario))
        }
    };
    match &arguments.output {
        None => Ok(out.write_all(script.as_bytes())?),
        Some(path) => file::write(path, script, Some(arguments.to.mark())),
    }
}

impl ExportArguments {
    /// Rejects options that do not apply to the target.
    fn reject_options(&self, options: &[&str], targets: &str) -> Result<(), Failure> {
        let given = [
            ("--tcp", self.tcp.is_some()),
            ("--start-jitter", self.start_jitter > 0.0),
            ("--overhead", self.overhead > 0.0),
            ("--interval", self.interval.is_some()),
            ("--trace", self.trace.is_some()),
        ];
        match given
            .iter()
            .find(|(option, given)| *given && options.contains(option))
        {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} applies to {targets} only"
            ))),
        }
    }
}

/// Parses the names of traced links. The whole text is tried as a name first, because names may contain
/// commas.
fn ns2_trace(scenario: &CompiledScenario, trace: Option<&Option<String>>) -> Ns2Trace {
    match trace {
        None => Ns2Trace::None,
        Some(None) => Ns2Trace::All,
        Some(Some(name)) if scenario.network.link_by_name(name).is_some() => {
            Ns2Trace::Links(vec![name.clone()])
        }
        Some(Some(names)) => Ns2Trace::Links(names.split(',').map(str::to_owned).collect()),
    }
}
