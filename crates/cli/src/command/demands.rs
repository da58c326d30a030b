//! The subcommand `netflow demands SCENARIO --loads FILE`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::import::measurements;
use netflow::network::PathChoice;
use netflow::number::{count, percent, short};
use netflow::scenario::CompiledScenario;
use netflow::simulation::Network;
use netflow::steady::rows::{self, EstimatedDemandRow, LinkFitRow};
use netflow::steady::{
    DemandError, DemandEstimate, DemandOptions, Fit, Measurements, estimate_demands,
};
use netflow::units::BitsPerSecond;

use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::answer_options::AnswerOptions;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::output::table::{Table, format_or, mark_estimate};
use crate::output::{csv, file};
use crate::parse::positive_time;
use crate::problems;
use crate::threads::on_threads;

/// Error of a load above which netflow warns that routes or measurements are wrong.
const MAX_ERROR: f64 = 0.1;

/// Accuracy of single demands, from networks with known matrices.
const NOTE: &str = "single demands: sum of errors 35–69 % of all traffic with the totals of all nodes (--totals), \
                    55–88 % with loads only (three networks with known matrices)";

/// Estimate a traffic matrix from measured link loads
///
/// Of all matrices with the measured loads, the result is the one closest to a gravity model. The routes are those of
/// the scenario; its own traffic is ignored. Prints the demands, largest first, and the error of each load. A scenario
/// reads the table of `--output` by `demands = "FILE"` in [include].
#[derive(Args)]
pub struct DemandsArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// CSV table of measured loads; `-` is the standard input. Links that it omits count as unknown
    ///
    /// A row names a link in the column `link` (`A->B`), or in `from` and `to`. Its load is in `load` with a unit
    /// (`120 Mbit/s`), or in `load_bps`; in `bytes` and `seconds`; or in `octets` and `time_s`, two or more readings of
    /// a 64-bit counter of transmitted octets (ifHCOutOctets). Loads include the `overhead` of the link.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    loads: PathBuf,

    /// CSV table of the traffic that enters and leaves the network at nodes, `node,in,out`, for example from
    /// counters of access links; it makes demands more accurate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    totals: Option<PathBuf>,

    /// Time of the measurement: links that events took down before have no traffic
    /// [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    /// Also write the demands to this CSV table, `from,to,rate,kind`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    #[command(flatten)]
    answer: AnswerOptions,
}

/// First line of a table of demands.
const HEADER: &str = "from,to,rate,kind\n";

pub fn demands(arguments: &DemandsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        file::check_overwrite(path, Some(HEADER))?;
    }
    let scenario = arguments.scenario.load()?;
    problems::warn(&scenario);
    let network = &scenario.network;
    let measured = arguments.measurements(network)?;
    warn_of_loads_above_bandwidth(network, &measured);
    let options = DemandOptions {
        at_s: arguments.at.unwrap_or(scenario.options.duration_s),
        choice: path_choice(&scenario),
        packet_size_bytes: scenario.packet_size.get(),
    };
    let work = || estimate_demands(network, &measured, &options, &interrupt::requested);
    let found = on_threads(arguments.threads, work)?.map_err(failure)?;
    let found = found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
    let demands = rows::estimated_demands(network, &found);
    let links = rows::link_fits(network, &found);
    warn(network, &found, &links);
    let nodes = rows::node_fits(network, &found);
    if let Some(path) = &arguments.output {
        file::write(path, demand_table(&demands)?, Some(HEADER))?;
    }
    let errors = LoadErrors::of(&links);
    let answer = object! {
        total_bps: found.total_bps(),
        measured_links: errors.measured,
        median_error: errors.median,
        max_error: errors.max,
        demands: &demands,
        links: &links,
        nodes: &nodes,
    };
    let format = arguments.answer.format();
    Ok(format.print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("demands", &demands, out)?;
            csv::write_named_with_header("links", &links, out)?;
            csv::write_named_with_header("nodes", &nodes, out)
        },
        |out| {
            print_demands(&demands, arguments.answer.top, out)?;
            print_links(&links, arguments.answer.top, out)?;
            print_summary(&found, &errors, out)?;
            let notes: &[&str] = if arguments.answer.no_notes {
                &[]
            } else {
                &[NOTE]
            };
            print_notes(notes, out)
        },
    )?)
}

/// Returns the choice among equal-cost paths by which demands of the scenario are routed.
fn path_choice(scenario: &CompiledScenario) -> PathChoice {
    if scenario.ecmp {
        PathChoice::EqualShares
    } else {
        PathChoice::Preferred
    }
}

impl DemandsArguments {
    fn measurements(&self, network: &Network) -> Result<Measurements, Failure> {
        let invalid = |problems: netflow::document::Problems| Failure::Input(problems.into());
        let loads = measurements::link_loads(&self.loads, network).map_err(invalid)?;
        let totals = self.totals.as_ref().map_or_else(
            || Ok(measurements::NodeTotals::default()),
            |path| measurements::node_totals(path, network),
        );
        let totals = totals.map_err(invalid)?;
        Ok(Measurements {
            loads,
            entering: totals.entering,
            leaving: totals.leaving,
        })
    }
}

fn failure(error: DemandError) -> Failure {
    let help = match &error {
        DemandError::NotConverged => return Failure::Evaluation(error.to_string()),
        DemandError::Unexplained => "check the routes of the scenario, and links with a load of 0",
        DemandError::NoTraffic => "write a load above 0 in the table of --loads",
        _ => return Failure::usage(error.to_string()),
    };
    Failure::Usage {
        message: error.to_string(),
        help: Some(help.to_owned()),
    }
}

fn warn_of_loads_above_bandwidth(network: &Network, measured: &Measurements) {
    let above = measured.loads.iter();
    let above = above.filter(|(link, bps)| *bps > network.bandwidths_bps(*link).1);
    let above: Vec<_> = above.map(|(link, _)| *link).collect();
    if let Some(names) = network.first_link_name(&above) {
        problems::warn_message(&format!(
            "{names}: the measured load exceeds the bandwidth; check units and bandwidths"
        ));
    }
}

fn warn(network: &Network, found: &DemandEstimate, links: &[LinkFitRow<'_>]) {
    let unexplained = found.links.iter().filter(|it| it.is_unexplained());
    let unexplained: Vec<_> = unexplained.map(|it| it.of).collect();
    if let Some(names) = network.first_link_name(&unexplained) {
        problems::warn_message(&format!(
            "{names}: no path explains the measured load; check metrics, and links with a load of 0"
        ));
    }
    let worst = links.iter().find(|it| it.estimated_bps > 0.0);
    if let Some((link, error)) = worst.and_then(|it| Some((it.link, it.error?)))
        && error > MAX_ERROR
    {
        problems::warn_message(&format!(
            "the loads contradict each other or the routes, by {} at {link}; check metrics and units",
            percent(error)
        ));
    }
    let nodes = found.entering.iter().chain(&found.leaving);
    let errors = nodes.filter_map(|it: &Fit<_>| Some((it.of, it.error()?)));
    let worst = errors.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((node, error)) = worst.filter(|(_, error)| *error > MAX_ERROR) {
        problems::warn_message(&format!(
            "the totals of nodes contradict the loads, by {} at {}; check their directions and units",
            percent(error),
            network.node_name(node)
        ));
    }
    if found.unmeasured > 0 {
        problems::warn_message(&format!(
            "{} cross no measured link; only the gravity model determines them",
            count(found.unmeasured, "demand")
        ));
    }
}

/// Returns a table that a scenario can include. Rates are rounded to 1 bit/s. The kind is that of imported matrices:
/// measured loads contain acknowledgements, so none are added.
fn demand_table(demands: &[EstimatedDemandRow<'_>]) -> io::Result<Vec<u8>> {
    let mut writer = ::csv::Writer::from_writer(HEADER.as_bytes().to_vec());
    for demand in demands {
        let rate_bps = demand.rate_bps.round();
        if rate_bps > 0.0 {
            let rate = BitsPerSecond(rate_bps).to_string();
            writer.write_record([demand.from, demand.to, &rate, "constant"])?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error())
}

/// Errors of the estimated loads, relative to the measured ones.
struct LoadErrors<'a> {
    measured: usize,
    median: Option<f64>,
    max: Option<f64>,
    worst: Option<&'a str>,
}

impl<'a> LoadErrors<'a> {
    /// Returns the errors of links, which are ordered by error.
    fn of(links: &[LinkFitRow<'a>]) -> LoadErrors<'a> {
        let errors: Vec<f64> = links.iter().filter_map(|it| it.error).collect();
        LoadErrors {
            measured: errors.len(),
            median: errors.get(errors.len() / 2).copied(),
            max: errors.iter().copied().reduce(f64::max),
            worst: links.first().map(|it| it.link),
        }
    }
}

fn mbps(bps: f64) -> String {
    short(bps / 1e6)
}

fn print_demands(
    demands: &[EstimatedDemandRow<'_>],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    Table::of(demands)
        .text("demand", |it| format!("{}->{}", it.from, it.to))
        .number("rate [Mbit/s]", |it| mark_estimate(true, mbps(it.rate_bps)))
        .number("share", |it| mark_estimate(true, percent(it.share)))
        .print_top(top, "demand", out)
}

fn print_links(links: &[LinkFitRow<'_>], top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    Table::of(links)
        .text("link", |it| it.link)
        .number("measured [Mbit/s]", |it| {
            format_or(it.measured_bps, mbps, "-")
        })
        .number("estimated [Mbit/s]", |it| mbps(it.estimated_bps))
        .number("error", |it| format_or(it.error, error_text, "-"))
        .print_top(top, "link", out)
}

/// Formats the error of a load. Less than 1e-6 is rounding error.
fn error_text(error: f64) -> String {
    percent(if error < 1e-6 { 0.0 } else { error })
}

fn print_summary(
    found: &DemandEstimate,
    errors: &LoadErrors<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\ntotal: ~{} Mbit/s in {}",
        mbps(found.total_bps()),
        count(found.demands.len(), "demand")
    )?;
    let (Some(median), Some(max), Some(worst)) = (errors.median, errors.max, errors.worst) else {
        return Ok(());
    };
    let place = if max < 1e-6 {
        String::new()
    } else {
        format!(" at {worst}")
    };
    writeln!(
        out,
        "{} of {} measured; error of their loads: median {}, maximum {}{place}",
        errors.measured,
        count(found.links.len(), "link"),
        error_text(median),
        error_text(max)
    )
}
