//! The subcommand `netflow check SCENARIO`.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use netflow::evaluate::{equal_paths_note, max_packet_model_s, on_one_of_several_paths, overload};
use netflow::network::{Buffer, LinkId, Network};
use netflow::number::{count, plain};
use netflow::prelude::Simulation;
use netflow::results::rounded_time;
use netflow::scenario::{CompiledScenario, FORMER_NAMES, Problem, ProblemKind, Severity};
use netflow::simulation::uncalibrated;
use netflow_files::{FileKind, STANDARD_INPUT};
use serde::Serialize;

use super::run::tables::{format_outage, format_range_ms};
use crate::command::explain::followed_trace;
use crate::failure::Failure;
use crate::input::{ModelledScenario, read};
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::{csv, file};
use crate::problems;

/// Maximum number of connections for the overload check, which takes too long for more.
const MAX_CHECKED_CONNECTIONS: usize = 100_000;

/// Check a scenario and report all errors and warnings
#[derive(Args)]
pub struct CheckArguments {
    #[command(flatten)]
    scenario: ModelledScenario,

    /// Rewrite former names of keys in the scenario file
    #[arg(long)]
    fix: bool,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

pub fn check(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let format = arguments.format;
    if arguments.fix {
        fix(&arguments.scenario.scenario.path)?;
    }
    let answer = |size: Option<ScenarioSize>, problems: &[Problem], out: &mut dyn Write| {
        let answer = object! { ok: size.is_some(), size: size, problems: problems };
        format.print(out, &answer, |out| csv(problems, out), |_| Ok(()))
    };
    match arguments.scenario.load() {
        Ok(mut scenario) => {
            scenario.warnings.extend(overloaded(&scenario));
            match format {
                Format::Text => Ok(print_text(&scenario, out)?),
                _ => Ok(answer(
                    Some(ScenarioSize::of(&scenario)),
                    &scenario.warnings,
                    out,
                )?),
            }
        }
        Err(failure) => {
            if let Failure::Input(report) = &failure {
                answer(None, &report.problems, out)?;
            }
            Err(failure)
        }
    }
}

/// Rewrites former names in a scenario file, and deletes removed keys.
fn fix(path: &Path) -> Result<(), Failure> {
    if path == Path::new(STANDARD_INPUT) {
        return Err(Failure::usage("`--fix` cannot rewrite the standard input"));
    }
    let bytes = read(path, FileKind::Scenario)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(()); // reported when it is loaded
    };
    let (renewed, names) = FORMER_NAMES.renew(&text);
    if names > 0 {
        file::replace(path, renewed)?;
        let renewed = count(names, "former name");
        // An error of the standard error cannot be reported anywhere.
        let _ = writeln!(io::stderr(), "{}: rewrote {renewed}", path.display());
    }
    Ok(())
}

/// Returns a warning about demands that no routing can carry. It has no source location.
fn overloaded(scenario: &CompiledScenario) -> Option<Problem> {
    if scenario.network.connection_count() > MAX_CHECKED_CONNECTIONS {
        return None;
    }
    let help = "excess traffic is lost or queues without bound; for demands, find the largest feasible factor with \
                `netflow solve --headroom`, or halve them with `--set simulation.demand-scale=0.5`";
    Some(Problem {
        severity: Severity::Warning,
        kind: ProblemKind::Suspicious,
        message: overload(scenario)?,
        file: None,
        span: None,
        line: None,
        column: None,
        help: Some(help.to_owned()),
    })
}

/// A problem as a table row. JSON also contains the byte range.
#[derive(Default, Serialize)]
struct Row<'a> {
    severity: &'static str,
    message: &'a str,
    file: Option<&'a Path>,
    line: Option<usize>,
    column: Option<usize>,
    help: Option<&'a str>,
}

fn csv(problems: &[Problem], out: &mut dyn Write) -> io::Result<()> {
    let rows = problems.iter().map(|it| Row {
        severity: it.severity.name(),
        message: &it.message,
        file: it.file.as_deref(),
        line: it.line,
        column: it.column,
        help: it.help.as_deref(),
    });
    let rows: Vec<Row<'_>> = rows.collect();
    csv::write_with_header(&rows, out)
}

fn print_text(scenario: &CompiledScenario, out: &mut dyn Write) -> io::Result<()> {
    problems::warn_all(&scenario.warnings);
    let size = ScenarioSize::of(scenario);
    write!(
        out,
        "ok: {}, {}, {}, {}",
        count(size.nodes, "node"),
        count(size.links, "link"),
        count(size.connections, "connection"),
        count(size.classes, "connection group"),
    )?;
    if size.workloads > 0 {
        write!(out, ", {}", count(size.workloads, "workload"))?;
    }
    match scenario.warnings.len() {
        0 => writeln!(out)?,
        warnings => writeln!(out, ", {}", count(warnings, "warning"))?,
    }
    let network = &scenario.network;
    if network.connection_count() <= MAX_CHECKED_CONNECTIONS
        && let Ok(Some(steps_s)) = uncalibrated(network)
            .and_then(|network| Simulation::possible_steps_s(network, scenario.options))
    {
        writeln!(out, " time steps of {}", format_range_ms(steps_s))?;
    }
    if let Some(at_most_s) = max_packet_model_s(scenario)
        && at_most_s < RECOMMENDED_RUNTIME_S
    {
        writeln!(
            out,
            " tip: the packet model needs about {} at most and predicts queues more accurately; write `model = \"packet\"`, and `source = {{ tcp = \"linux-6\" }}` instead of `profile`",
            rounded_time(at_most_s.max(MIN_SHOWN_RUNTIME_S))
        )?;
    }
    let chosen = (scenario.packet_model_reason.as_ref()).map(|setting| {
        format!("packet model, because of {setting}; the fluid model is also possible: `model = \"fluid\"`")
    });
    let notes = [
        chosen,
        equal_paths_note(
            scenario,
            size.on_one_of_several_paths,
            "--set simulation.ecmp=true",
        ),
        default_buffers(network),
        converted_buffers(network),
    ];
    for text in notes.into_iter().flatten() {
        writeln!(out, " {text}")?;
    }
    let traces = network.links().filter(|&id| !network.is_class_queue(id));
    let traces = traces.filter_map(|id| followed_trace(network, id));
    for text in traces.take(MAX_LISTED_LINKS) {
        writeln!(out, " {text}")?;
    }
    for id in network.connections() {
        for outage in network.unrouted_intervals(id, 0.0, scenario.options.duration_s) {
            let name = network.connection_name(id);
            writeln!(out, " {name} has {}", format_outage(&outage))?;
        }
    }
    Ok(())
}

/// Runtimes in seconds. The packet model is recommended up to `RECOMMENDED_RUNTIME_S`; shorter estimates than `MIN_SHOWN_RUNTIME_S`
/// are shown as `MIN_SHOWN_RUNTIME_S`.
const RECOMMENDED_RUNTIME_S: f64 = 2.0;
const MIN_SHOWN_RUNTIME_S: f64 = 0.1;

/// Maximum number of links whose buffers or traces are listed one by one.
const MAX_LISTED_LINKS: usize = 6;

/// Describes the buffers of links without a stated size; `None` if all links state it.
fn default_buffers(network: &Network) -> Option<String> {
    let list = list_buffers(network, |buffer| buffer == Buffer::BandwidthDelay)?;
    Some(format!("default buffers: {list}"))
}

/// Describes, in packets, the buffers that are stated in bytes or as a time; `None` without such buffers.
fn converted_buffers(network: &Network) -> Option<String> {
    let list = list_buffers(network, |buffer| {
        matches!(buffer, Buffer::Bytes(_) | Buffer::Time(_))
    })?;
    Some(format!(
        "byte- and time-limited buffers, in packets of {}: {list}",
        mean_size(network)
    ))
}

/// Describes the mean packet size that the conversion of buffers to packets assumes.
fn mean_size(network: &Network) -> String {
    let is_converted = |id: &LinkId| {
        matches!(
            network.link_spec(*id).buffer,
            Buffer::Bytes(_) | Buffer::Time(_)
        )
    };
    let sizes = network.links().filter(is_converted);
    let sizes: Vec<f64> = sizes
        .map(|id| network.mean_packet_bytes(id).round())
        .collect();
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let most = sizes.iter().copied().fold(0.0, f64::max);
    if least == most {
        format!("the mean size {} B", plain(least))
    } else {
        format!(
            "the mean size of each link, {}–{} B",
            plain(least),
            plain(most)
        )
    }
}

/// Lists the buffers of links that satisfy a condition, in packets.
fn list_buffers(network: &Network, are: impl Fn(Buffer) -> bool) -> Option<String> {
    let such = |id: &LinkId| are(network.link_spec(*id).buffer);
    let ids: Vec<LinkId> = network.links().filter(such).collect();
    let pkts = |id: &LinkId| match network.buffer_pkts(*id) {
        pkts if pkts < 1.0 => pkts,
        pkts => pkts.round(),
    };
    let least = ids.iter().map(pkts).reduce(f64::min)?;
    let most = ids.iter().map(pkts).reduce(f64::max)?;
    let told = |id: &LinkId| format!("{} {} pkt", network.link_name(*id), plain(pkts(id)));
    Some(match ids.len() {
        ..=MAX_LISTED_LINKS => ids.iter().map(told).collect::<Vec<_>>().join(", "),
        links if least == most => format!("{} pkt at {links} links", plain(least)),
        links => format!("{} to {} pkt at {links} links", plain(least), plain(most)),
    })
}

#[derive(Clone, Copy, Serialize)]
struct ScenarioSize {
    nodes: usize,
    links: usize,
    /// Number of connections. A demand divided into several parts counts once.
    connections: usize,
    /// Number of connections that use one of several shortest paths.
    on_one_of_several_paths: usize,
    classes: usize,
    workloads: usize,
}

impl ScenarioSize {
    fn of(scenario: &CompiledScenario) -> ScenarioSize {
        let network = &scenario.network;
        ScenarioSize {
            nodes: network.node_count(),
            links: network.link_count(),
            connections: scenario.unsplit_count(),
            on_one_of_several_paths: on_one_of_several_paths(scenario),
            classes: network.class_count(),
            workloads: network.workloads().len(),
        }
    }
}
