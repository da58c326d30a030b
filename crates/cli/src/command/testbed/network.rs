//! The subcommand `netflow testbed SCENARIO`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueHint};
use netflow::evaluate::{self, warning_texts};
use netflow::network::{LinkId, Network, NodeId};
use netflow::number::{count, percent, plain, short};
use netflow::scenario::{CompiledScenario, FileAccess};
use netflow::units::nearest_name;
use netflow_emulation::{Emulation, Settings, payload_bytes};
use netflow_testbed::network::{LinkCounts, NetworkReport, OneWayDelay};
use netflow_testbed::{Capture, Lateness, bind_etc_hosts, is_pid_namespace_child};
use serde::Serialize;

use super::{exit_result, run_in_pid_namespace, wait};
use crate::failure::Failure;
use crate::output::format::Format;
use crate::output::progress::Progress;
use crate::output::table::{Table, format_or};
use crate::output::{csv, file};
use crate::{interrupt, problems};

/// What there is to say of a scenario's network.
#[derive(Args)]
#[command(next_help_heading = "Scenario")]
pub struct NetworkArguments {
    /// Node at which COMMAND runs
    #[arg(long, value_name = "NODE", requires = "scenario")]
    at: Option<String>,

    /// Run a shell at this node instead of COMMAND
    #[arg(long, value_name = "NODE", requires = "scenario", conflicts_with_all = ["command", "at"])]
    shell: Option<String>,

    /// Shell command to run at a node at the same time; may be given several times
    #[arg(long, value_name = "NODE=COMMAND", requires = "scenario")]
    serve: Vec<String>,

    /// Capture the packets that arrive at a link to a file (pcap, raw IP); may be given several
    /// times
    #[arg(long, value_name = "A->B=FILE", requires = "scenario", value_hint = ValueHint::FilePath)]
    capture: Vec<String>,

    /// Change a setting of the scenario; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "scenario")]
    overrides: Vec<String>,

    /// Maximum number of printed links and connections
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "N",
        default_value = "12",
        requires = "scenario"
    )]
    top: usize,

    /// Print only results and errors
    #[arg(short, long, requires = "scenario")]
    quiet: bool,
}

pub fn testbed(
    path: &Path,
    arguments: &NetworkArguments,
    command: &[OsString],
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let inside = is_pid_namespace_child()?;
    // All errors are reported before anything is created.
    let scenario = evaluate::load(path, &arguments.overrides, FileAccess::BelowDirectory)
        .map_err(|problems| Failure::Input(problems.into()))?;
    let work = NodeCommand::new(&scenario.network, arguments, command)?;
    let expected =
        netflow_emulation::check_feasibility(&scenario).map_err(netflow_emulation::Error::from)?;
    if !inside {
        if !arguments.quiet {
            for warning in warning_texts(&scenario) {
                problems::warn_message(&warning);
            }
            eprintln!(
                "{}, about {} packets/s at hosts and {} at links",
                count(expected.hosts, "host"),
                short(expected.pps),
                short(expected.hops_pps),
            );
        }
        out.flush()?;
        return run_in_pid_namespace();
    }
    interrupt::install_handler_with(|_| ());
    let settings = Settings {
        seed: scenario.options.seed,
        hosts: work.nodes(),
        captures: work.captures.clone(),
        ..Settings::default()
    };
    let mut emulation = Emulation::new(&scenario, &settings)?;
    let Some((node, program)) = &work.command else {
        let wanted = !arguments.quiet;
        let report = run_to_end(emulation, scenario.options.duration_s, wanted)?;
        print(&scenario, &report, arguments.top, format, out)?;
        return Ok(report.captures.check()?);
    };
    let plan = emulation.network().plan();
    let hosts = plan.hosts.iter();
    // Without names, hosts still have their addresses.
    let _ = bind_etc_hosts(hosts.map(|host| (host.name.as_str(), host.address)));
    let place = |node: NodeId| {
        let name = scenario.network.node_name(node);
        plan.hosts
            .iter()
            .position(|host| host.name == name)
            .unwrap_or(0)
    };
    let (at, serving): (usize, Vec<(usize, &str)>) = (
        place(*node),
        work.serving
            .iter()
            .map(|(node, line)| (place(*node), *line))
            .collect(),
    );
    emulation.start()?;
    let mut served = Vec::new();
    for (host, line) in serving {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).stdin(Stdio::null());
        served.push(emulation.network().spawn(host, &mut shell)?);
    }
    let Some((program, rest)) = program.split_first() else {
        return Err(Failure::usage("COMMAND is missing"));
    };
    let mut child = emulation
        .network()
        .spawn(at, Command::new(program).args(rest))?;
    let status = wait(&mut child)?;
    for mut server in served {
        if let Ok(Some(status)) = server.try_wait()
            && !status.success()
        {
            eprintln!("warning: the command of --serve ended with {status}");
        }
    }
    let report = emulation.finish()?;
    // If the report cannot be written, there still is the exit code.
    let _ = print(
        &scenario,
        &report,
        arguments.top,
        format,
        &mut io::stderr().lock(),
    );
    report.captures.check()?;
    exit_result(status)
}

/// The commands by node, and the captures.
struct NodeCommand<'a> {
    command: Option<(NodeId, Vec<OsString>)>,
    serving: Vec<(NodeId, &'a str)>,
    captures: Vec<(LinkId, Capture)>,
}

impl<'a> NodeCommand<'a> {
    fn new(
        network: &Network,
        arguments: &'a NetworkArguments,
        command: &[OsString],
    ) -> Result<NodeCommand<'a>, Failure> {
        let command = match (&arguments.shell, &arguments.at, command) {
            (Some(name), ..) => {
                if !io::stdin().is_terminal() {
                    return Err(Failure::Usage {
                        message: "--shell requires a terminal".to_owned(),
                        help: Some(format!("in a script, write --at {name} -- COMMAND")),
                    });
                }
                let shell = std::env::var_os("SHELL").unwrap_or_else(|| "sh".into());
                Some((node(network, name)?, vec![shell]))
            }
            (None, Some(name), [_, ..]) => Some((node(network, name)?, command.to_vec())),
            (None, Some(_), []) => {
                return Err(Failure::Usage {
                    message: "--at requires a COMMAND".to_owned(),
                    help: Some("add `-- COMMAND`, or use --shell".to_owned()),
                });
            }
            (None, None, [_, ..]) => {
                return Err(Failure::Usage {
                    message: "the node of COMMAND is missing".to_owned(),
                    help: Some("add --at NODE".to_owned()),
                });
            }
            (None, None, []) => None,
        };
        let pair = |text: &'a str, what: &str| {
            text.split_once('=').ok_or_else(|| Failure::Usage {
                message: format!("`{text}` is not {what}"),
                help: None,
            })
        };
        let serving = arguments.serve.iter().map(|text| {
            let (name, line) = pair(text, "NODE=COMMAND")?;
            Ok((node(network, name)?, line))
        });
        let captures = arguments.capture.iter().map(|text| {
            let (name, path) = pair(text, "A->B=FILE")?;
            let path = PathBuf::from(path);
            file::check_overwrite(&path, None)?;
            let capture = Capture {
                path,
                end: netflow_testbed::End::A,
                snap_bytes: u32::from(u16::MAX),
            };
            Ok((link(network, name)?, capture))
        });
        let work = NodeCommand {
            serving: serving.collect::<Result<_, Failure>>()?,
            captures: captures.collect::<Result<_, Failure>>()?,
            command,
        };
        if work.command.is_none() && !work.serving.is_empty() {
            return Err(Failure::usage("--serve requires a COMMAND or --shell"));
        }
        Ok(work)
    }

    fn nodes(&self) -> Vec<NodeId> {
        let serving = self.serving.iter().map(|(node, _)| *node);
        serving
            .chain(self.command.iter().map(|(node, _)| *node))
            .collect()
    }
}

fn node(network: &Network, name: &str) -> Result<NodeId, Failure> {
    let found = network.nodes().find(|&id| network.node_name(id) == name);
    let names = network.nodes().map(|id| network.node_name(id));
    found.ok_or_else(|| unknown_item("node", name, names))
}

fn link(network: &Network, name: &str) -> Result<LinkId, Failure> {
    let names = network.links().map(|id| network.link_name(id));
    let found = network.link_by_name(name);
    found.ok_or_else(|| unknown_item("link", name, names))
}

fn unknown_item<'n>(what: &str, name: &str, names: impl Iterator<Item = &'n str>) -> Failure {
    let names: Vec<&str> = names.collect();
    let nearest = nearest_name(name, names.iter().copied(), &[]);
    Failure::Usage {
        message: format!("unknown {what} `{name}`"),
        help: nearest.map(|nearest| format!("did you mean `{nearest}`?")),
    }
}

/// Runs the scenario to its end.
fn run_to_end(
    mut emulation: Emulation,
    duration_s: f64,
    wanted: bool,
) -> Result<NetworkReport, Failure> {
    let mut progress = Progress::new("the run", wanted);
    let began = emulation.start()?;
    let end = began + Duration::from_secs_f64(duration_s);
    while Instant::now() < end {
        if interrupt::requested() {
            return Err(netflow_emulation::Error::Stopped.into());
        }
        if !emulation.network().is_alive() {
            break;
        }
        progress.set(began.elapsed().as_secs_f64() / duration_s);
        let left = end.saturating_duration_since(Instant::now());
        thread::sleep(left.min(Duration::from_millis(50)));
    }
    progress.finish();
    Ok(emulation.finish()?)
}

/// Totals of a link.
#[derive(Serialize)]
struct LinkRow {
    link: String,
    utilization: f64,
    mean_queue_pkts: f64,
    arrived_pkts: u64,
    lost_pkts: u64,
    /// Lateness of packets at their last link, relative to their due times.
    lateness: Option<Lateness>,
}

/// Totals of a connection.
#[derive(Serialize)]
struct ConnectionRow {
    connection: String,
    sent_pkts: u64,
    delivered_pkts: f64,
    goodput_bps: f64,
    delay: Option<OneWayDelay>,
}

#[derive(Serialize)]
struct JsonNetworkReport {
    seconds: f64,
    links: Vec<LinkRow>,
    connections: Vec<ConnectionRow>,
    lateness: Lateness,
    entered_pkts: u64,
    stray_pkts: u64,
    unrouted_pkts: u64,
    capture_failures: u64,
    realtime: bool,
    /// Reason why it is invalid.
    doubt: Option<String>,
}

impl JsonNetworkReport {
    fn new(scenario: &CompiledScenario, report: &NetworkReport) -> JsonNetworkReport {
        let network = &scenario.network;
        let links = network.links().zip(&report.links).map(|(id, counts)| {
            let LinkCounts {
                arrived_pkts,
                lost_pkts,
                queue_pkt_s,
                busy_s,
                ..
            } = *counts;
            LinkRow {
                link: network.link_name(id).to_owned(),
                utilization: busy_s / report.seconds,
                mean_queue_pkts: queue_pkt_s / report.seconds,
                arrived_pkts,
                lost_pkts,
                lateness: report.lateness[id.index()],
            }
        });
        let connections = network
            .connections()
            .zip(&report.pairs)
            .map(|(id, counts)| {
                let spec = network.connection_spec(id);
                let bytes = payload_bytes(spec);
                let delivered_pkts = if spec.source.is_answered() {
                    counts.read_bytes as f64 / bytes
                } else {
                    counts.delivered_pkts as f64
                };
                ConnectionRow {
                    connection: network.connection_name(id).to_owned(),
                    sent_pkts: counts.sent_pkts,
                    delivered_pkts,
                    goodput_bps: 8.0 * delivered_pkts * spec.packet_size_bytes / report.seconds,
                    delay: report.delays[id.index()],
                }
            });
        JsonNetworkReport {
            seconds: report.seconds,
            links: links.collect(),
            connections: connections.collect(),
            lateness: report.all_lateness,
            entered_pkts: report.entered_pkts,
            stray_pkts: report.stray_pkts,
            unrouted_pkts: report.unrouted_pkts,
            capture_failures: report.captures.missing_pkts,
            realtime: report.realtime,
            doubt: report.unreliable_reason(),
        }
    }
}

fn print(
    scenario: &CompiledScenario,
    report: &NetworkReport,
    top: usize,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<()> {
    let answer = JsonNetworkReport::new(scenario, report);
    format.print(
        out,
        &answer,
        |out| {
            csv::write_named("links", &answer.links, out)?;
            writeln!(out)?;
            csv::write_named("connections", &answer.connections, out)
        },
        |out| tables(&answer, top, out),
    )
}

fn tables(answer: &JsonNetworkReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut links: Vec<&LinkRow> = answer.links.iter().collect();
    links.sort_by(|a, b| b.mean_queue_pkts.total_cmp(&a.mean_queue_pkts));
    Table::of(links)
        .text("link", |it| it.link.clone())
        .number("utilization", |it| percent(it.utilization))
        .number("mean queue pkt", |it| short(it.mean_queue_pkts))
        .number("arrived pkt", |it| it.arrived_pkts)
        .number("lost pkt", |it| it.lost_pkts)
        .number("late p99 us", |it| {
            format_or(it.lateness, |it| short(it.p99_us), "-")
        })
        .print_top(top, "link", out)?;
    writeln!(out)?;
    let ms = |of: fn(&OneWayDelay) -> f64| {
        move |it: &&ConnectionRow| format_or(it.delay, |it| short(1e3 * of(&it)), "-")
    };
    Table::of(answer.connections.iter().collect::<Vec<_>>())
        .text("connection", |it| it.connection.clone())
        .number("sent pkt", |it| it.sent_pkts)
        .number("delivered pkt", |it| short(it.delivered_pkts))
        .number("goodput Mbit/s", |it| short(1e-6 * it.goodput_bps))
        .number("delay p50 ms", ms(|it| it.p50_s))
        .number("p95 ms", ms(|it| it.p95_s))
        .number("p99 ms", ms(|it| it.p99_s))
        .print_top(top, "connection", out)?;
    writeln!(out)?;
    writeln!(
        out,
        "{} s, {} packets; late p50 {} us, p99 {} us, at most {} us",
        plain((10.0 * answer.seconds).round() / 10.0),
        answer.entered_pkts,
        short(answer.lateness.p50_us),
        short(answer.lateness.p99_us),
        short(answer.lateness.max_us),
    )?;
    for (pkts, what) in [
        (answer.unrouted_pkts, "had no route while links were down"),
        (answer.capture_failures, "are missing in captures"),
    ] {
        if pkts > 0 {
            writeln!(out, "{pkts} packets {what}")?;
        }
    }
    match &answer.doubt {
        Some(doubt) => writeln!(out, "inconclusive: {doubt}"),
        None => Ok(()),
    }
}
