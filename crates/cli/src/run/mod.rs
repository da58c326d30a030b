//! `netflow run SCENARIO`

mod diffserv;
mod kept;
mod scope;
mod users;

use netflow::simulation::Run;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use netflow::profile::ProfileUse;
use netflow::results::{
    self, Beside, ConnectionSummary, ESTIMATE, Ensemble, Format, LinkSummary, Manifest, Scope,
    Series, Spread, Stop, Summary, TotalsSummary, Users, Watch, Watched, Writer,
};
use netflow::simulation::{
    Experience, Interval, Model, Network, Options, Outcome, Recorder, RunError, Simulation,
};
use rayon::prelude::*;

use crate::args::{positive_time, time_from_zero};
use crate::failure::Failure;
use crate::input::{self, Scenario, ScenarioArguments};
use crate::number::{count, duration, percent, plain, short};
use crate::progress::Progress;
use crate::{interrupt, problems, table};

/// How long recording intervals are unless somebody says otherwise.
pub const EVERY: &str = "0.5s";

/// Evaluate a scenario: tables on the standard output, series in a directory
///
/// Prints the links, busiest first, the connections, fastest first, and where the packets went.
/// With -o it also writes the series of every link and every connection, a summary and a manifest.
#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Write the results to this directory
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Format of the series
    #[arg(long, value_name = "csv|jsonl|parquet", default_value_t = Format::Csv, requires = "output")]
    format: Format,

    /// Length of a recording interval
    #[arg(long, value_name = "TIME", default_value = EVERY, value_parser = positive_time)]
    every: f64,

    /// Also write the series of every connection at every link
    #[arg(long, requires = "output")]
    classes: bool,

    /// Summarize the run from here on; series are of all of it [default: the scenario's warmup]
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    from: Option<f64>,

    /// Summarize it until here [default: its end]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    to: Option<f64>,

    /// Summarize every period between the scenario's events by itself, too
    #[arg(long)]
    by_event: bool,

    /// Threads to use at most; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Runs with the scenario's seed and those after it: means, and how far seeds differ
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[arg(conflicts_with = "classes")]
    seeds: u32,

    /// Rows of the printed tables at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// Print the summary as JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let started = Instant::now();
    let scenario = input::load(&arguments.scenario)?;
    if !arguments.quiet {
        problems::warn(&scenario);
    }
    let mut seeds = arguments.seeds;
    let random = matches!(scenario.options.model, Model::Packets(_))
        || scenario.network.workloads().len() > 0;
    if seeds > 1 && !random {
        if !arguments.quiet {
            problems::warn_of(
                "`--seeds` has no effect: only the window model and users are random",
            );
        }
        seeds = 1;
    }
    let scope = scope::scope(arguments, &scenario)?;
    let evaluation = with_threads(arguments.threads, || match seeds {
        1 => evaluate(arguments, &scenario, scope, started),
        seeds => evaluate_seeds(arguments, &scenario, scope, seeds, started),
    })?;

    if arguments.json {
        out.write_all(evaluation.summary.to_json().as_bytes())?;
    } else if !arguments.quiet {
        print(arguments, &evaluation, started, out)?;
    }
    evaluation.end
}

/// What a run has come to.
struct Evaluation {
    network: Network,
    scope: Scope,
    summary: Summary,
    /// Simulated seconds.
    time_s: f64,
    steps: u64,
    /// The shortest and the longest that was chosen.
    steps_s: Option<(f64, f64)>,
    end: Result<(), Failure>,
}

fn with_threads<T: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    match threads {
        None => work(),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads.into())
            .build()
            .map_err(|error| Failure::usage(format!("cannot start {threads} threads: {error}")))?
            .install(work),
    }
}

fn evaluate(
    arguments: &RunArguments,
    scenario: &Scenario,
    scope: Scope,
    started: Instant,
) -> Result<Evaluation, Failure> {
    let network = scenario.network.clone();
    let mut simulation = Simulation::new(network.clone(), scenario.options).map_err(cannot_run)?;
    let writer = create_writer(arguments, scenario)?;
    let progress = Progress::new(scenario.options.duration_s, !arguments.quiet);
    let stop_playing = stop_playing();
    let mut recorder = Watched {
        recorder: RunRecorder { writer, progress },
        watch: Watch::new(scope, &network, &stop_playing),
    };
    let outcome = simulation.run(arguments.every, &mut recorder, interrupt::requested);
    let Watched { recorder, watch } = recorder;
    let RunRecorder { writer, progress } = recorder;
    progress.finish();

    let time_s = simulation.time_s();
    let mut end = match outcome {
        Ok(Outcome::Finished) => Ok(()),
        Ok(Outcome::Stopped) => Err(Failure::Interrupted(format!(
            "stopped at {} s of network time",
            plain(time_s)
        ))),
        Err(RunError::Record(error)) => return Err(error.into()),
        Err(error) => Err(Failure::Evaluation(error.to_string())),
    };
    let is_whole = watch.is_whole(scenario.options.duration_s);
    let warnings = input::warning_texts(scenario);
    let (mut summary, users) = watch
        .finish(&mut simulation, warnings)
        .map_err(cannot_run)?;
    Users::add_to(&mut summary, &network, std::slice::from_ref(&users));
    let mut writer = writer;
    if let Some(writer) = &mut writer {
        writer.waits(&[whole_waits(is_whole, &users, &simulation, &stop_playing)?])?;
    }
    if end.is_ok() && interrupt::requested() {
        end = Err(Failure::Interrupted(
            "stopped while users were being played".to_owned(),
        ));
    }
    let evaluation = Evaluation {
        network,
        scope,
        summary,
        time_s,
        steps: simulation.steps(),
        steps_s: simulation.chosen_steps_s(),
        end,
    };
    finish(arguments, scenario, started, evaluation, writer)
}

/// A run with one seed of several.
struct SeedRun {
    series: Series,
    summary: Summary,
    time_s: f64,
    steps: u64,
    users: Users,
    /// Of the whole run, by workload.
    waits: Vec<Experience>,
}

/// Runs with different seeds, at the same time; what they say on average.
fn evaluate_seeds(
    arguments: &RunArguments,
    scenario: &Scenario,
    scope: Scope,
    seeds: u32,
    started: Instant,
) -> Result<Evaluation, Failure> {
    let network = scenario.network.clone();
    let mut writer = create_writer(arguments, scenario)?;
    let progress = Mutex::new(Progress::new(f64::from(seeds), !arguments.quiet));
    let at = |done: usize| {
        if let Ok(mut progress) = progress.lock() {
            progress.at(done as f64);
        }
    };
    let warnings = input::warning_texts(scenario);
    let run = |i: u32| -> Result<Option<SeedRun>, Failure> {
        let options = Options {
            seed: scenario.options.seed.wrapping_add(i.into()),
            ..scenario.options
        };
        let mut simulation = Simulation::new(network.clone(), options).map_err(cannot_run)?;
        let stop_playing = stop_playing();
        let mut recorder = Watched {
            recorder: Series::default(),
            watch: Watch::new(scope, &network, &stop_playing),
        };
        match simulation.run(arguments.every, &mut recorder, interrupt::requested) {
            Ok(Outcome::Finished) => {
                let Watched { recorder, watch } = recorder;
                let is_whole = watch.is_whole(options.duration_s);
                let finished = watch.finish(&mut simulation, warnings.clone());
                let (summary, users) = finished.map_err(cannot_run)?;
                let waits = whole_waits(is_whole, &users, &simulation, &stop_playing)?;
                Ok((!interrupt::requested()).then(|| SeedRun {
                    series: recorder,
                    summary,
                    time_s: simulation.time_s(),
                    steps: simulation.steps(),
                    users,
                    waits,
                }))
            }
            Ok(Outcome::Stopped) => Ok(None),
            Err(error) => Err(Failure::Evaluation(format!(
                "seed {}: {error}",
                options.seed
            ))),
        }
    };
    // A few at a time, so that series need not all be kept.
    let some = 4 * rayon::current_num_threads() as u32;
    let mut ensemble = Ensemble::default();
    let mut steps = 0;
    let mut time_s = 0.0;
    let (mut users, mut waits) = (Vec::new(), Vec::new());
    for first in (0..seeds).step_by(some as usize) {
        let last = seeds.min(first + some);
        let runs: Vec<_> = (first..last).into_par_iter().map(run).collect();
        for run in runs {
            if let Some(run) = run? {
                ensemble.add(run.series, run.summary);
                steps += run.steps;
                time_s = run.time_s;
                users.push(run.users);
                waits.push(run.waits);
            }
        }
        at(ensemble.seeds());
    }
    if let Ok(progress) = progress.into_inner() {
        progress.finish();
    }
    let done = ensemble.seeds();
    let stopped = format!("stopped after {done} of {seeds} seeds");
    let Some(mut summary) = ensemble.summary() else {
        return Err(Failure::Interrupted(stopped));
    };
    Users::add_to(&mut summary, &network, &users);
    if let Some(writer) = &mut writer {
        writer.ensemble(&network, &ensemble)?;
        writer.waits(&waits)?;
    }
    let evaluation = Evaluation {
        network,
        scope,
        summary,
        time_s,
        steps,
        steps_s: None,
        end: match done == seeds as usize {
            true => Ok(()),
            false => Err(Failure::Interrupted(stopped)),
        },
    };
    finish(arguments, scenario, started, evaluation, writer)
}

fn create_writer(arguments: &RunArguments, scenario: &Scenario) -> Result<Option<Writer>, Failure> {
    let Some(directory) = &arguments.output else {
        return Ok(None);
    };
    let (format, classes) = (arguments.format, arguments.classes);
    let mut writer = Writer::create(directory, &scenario.network, format, classes)?;
    for note in &scenario.notes {
        let topology = writer.topology();
        topology.note(note.node, note.label.clone(), note.position);
    }
    Ok(Some(writer))
}

/// Warns of what the run has shown, and writes the rest of the directory.
fn finish(
    arguments: &RunArguments,
    scenario: &Scenario,
    started: Instant,
    mut evaluation: Evaluation,
    writer: Option<Writer>,
) -> Result<Evaluation, Failure> {
    let summary = &mut evaluation.summary;
    for warning in outside_warnings(&summary.connections) {
        if !arguments.quiet {
            problems::warn_of(&warning);
        }
        summary.warnings.push(warning);
    }
    if let Some(writer) = writer {
        let stop = evaluation.end.as_ref().err().map(|failure| Stop {
            stopped_at_s: evaluation.time_s,
            reason: failure.to_string(),
        });
        let kept = match &arguments.output {
            Some(directory) => kept::keep(scenario, directory)?,
            None => kept::Kept::default(),
        };
        let manifest = manifest(
            arguments,
            scenario,
            &evaluation,
            &writer,
            started,
            stop,
            kept.scenario.clone(),
        );
        if let Err(error) = writer.finish(&evaluation.summary, &manifest) {
            kept.undo();
            return Err(error.into());
        }
    }
    Ok(evaluation)
}

/// What the engine says before or during a run.
fn cannot_run(error: RunError) -> Failure {
    match error {
        RunError::NotFinite { .. } => Failure::Evaluation(error.to_string()),
        _ => Failure::usage(error.to_string()),
    }
}

/// Says how many connections were where their profiles were not measured, and how many so far from
/// there that their rates are not usable.
fn outside_warnings(connections: &[ConnectionSummary]) -> Vec<String> {
    let warning = |of: &dyn Fn(&ConnectionSummary) -> f64, what: &str| {
        let some = connections.iter().filter(|connection| of(connection) > 0.0);
        let most = some.clone().max_by(|a, b| of(a).total_cmp(&of(b)))?;
        Some(format!(
            "{} spent time {what}; most of all {}, {} of its time",
            count(some.count(), "connection"),
            most.connection,
            percent(of(most)),
        ))
    };
    let not_usable = ProfileUse::NotUsable.name();
    let unusable = |connection: &ConnectionSummary| match connection.profile_use.as_deref() {
        Some(rests_on) if rests_on == not_usable => connection.unusable_profile_fraction,
        _ => 0.0,
    };
    let warnings = [
        warning(
            &|connection| connection.outside_profile_fraction,
            "outside the domain that the profile was measured in, where it is extended",
        ),
        warning(
            &unusable,
            "so far outside that domain that their rates are not usable",
        ),
    ];
    warnings.into_iter().flatten().collect()
}

fn manifest(
    arguments: &RunArguments,
    scenario: &Scenario,
    evaluation: &Evaluation,
    writer: &Writer,
    started: Instant,
    stop: Option<Stop>,
    kept: Option<String>,
) -> Manifest {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Manifest {
        program: "netflow".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: arguments.scenario.path().display().to_string(),
        digest: scenario.digest.clone(),
        sources: scenario
            .sources
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        kept,
        overrides: arguments.scenario.overrides().to_vec(),
        allow_outside: arguments.scenario.allow_outside(),
        seed: scenario.seed,
        seeds: evaluation.summary.seeds,
        options: scenario.options,
        every_s: arguments.every,
        from_s: evaluation.scope.from_s,
        to_s: Some(evaluation.scope.to_s).filter(|&to_s| to_s < scenario.options.duration_s),
        format: arguments.format,
        files: writer.files(),
        events: evaluation.summary.events.clone(),
        steps: evaluation.steps,
        threads: arguments.threads.map_or_else(cores, usize::from),
        wall_time_s: started.elapsed().as_secs_f64(),
        complete: stop.is_none(),
        stop,
    }
}

/// Writes the series where they are wanted, and moves the bar.
struct RunRecorder {
    writer: Option<Writer>,
    progress: Progress,
}

impl Recorder for RunRecorder {
    type Error = results::Error;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), results::Error> {
        self.progress.at(interval.time_s);
        match &mut self.writer {
            Some(writer) => writer.interval(interval),
            None => Ok(()),
        }
    }
}

/// What users waited in all of a run, of which the series are: in its scope, if that is all of it.
fn whole_waits(
    is_whole: bool,
    users: &Users,
    simulation: &Simulation,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Experience>, Failure> {
    match is_whole {
        true => Ok(users.of_scope.clone()),
        false => simulation.experiences(interrupted).map_err(cannot_run),
    }
}

fn print(
    arguments: &RunArguments,
    evaluation: &Evaluation,
    started: Instant,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Evaluation {
        network,
        summary,
        time_s,
        steps,
        steps_s,
        ..
    } = evaluation;
    let periods = match summary.periods.is_empty() {
        true => std::slice::from_ref(summary),
        false => &summary.periods[..],
    };
    for period in periods {
        if period.duration_s < *time_s {
            scope::print_heading(network, period, out)?;
        }
        print_summary(network, period, arguments.top, out)?;
        if periods.len() > 1 {
            writeln!(out)?;
        }
    }
    let written = match &arguments.output {
        Some(directory) => format!("; results in {}", directory.display()),
        None => String::new(),
    };
    let steps = count(usize::try_from(*steps).unwrap_or(usize::MAX), "step");
    let lengths = steps_s.map_or_else(String::new, |lengths| format!(" of {}", range(lengths)));
    let seeds = match summary.seeds {
        1 => String::new(),
        n => format!(" for each of {n} seeds (± is the standard deviation over them)"),
    };
    let took = duration(started.elapsed().as_secs_f64());
    writeln!(
        out,
        "{} s of network time{seeds}, {steps}{lengths}, in {took}{written}",
        plain(*time_s)
    )
}

fn print_summary(
    network: &Network,
    summary: &Summary,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    print_links(&summary.links, top, out)?;
    if let Some(note) = summary.estimate_note() {
        writeln!(out, " {note}")?;
    }
    writeln!(out)?;
    print_connections(network, &summary.connections, top, out)?;
    writeln!(out)?;
    diffserv::print(summary, top, out)?;
    users::print(&summary.workloads, out)?;
    print_totals("packets", &summary.totals, out)?;
    if summary.acks.offered_pkts > 0.0 {
        print_totals("acknowledgements", &summary.acks, out)?;
    }
    Ok(())
}

/// Times from one to another, in milliseconds.
pub fn range((from_s, to_s): (f64, f64)) -> String {
    // Halves of halves have many digits.
    let ms = |time_s: f64| {
        let rounded: f64 = format!("{:.4e}", 1e3 * time_s)
            .parse()
            .unwrap_or(1e3 * time_s);
        crate::number::plain(rounded)
    };
    match from_s == to_s {
        true => format!("{} ms", ms(to_s)),
        false => format!("{} to {} ms", ms(from_s), ms(to_s)),
    }
}

fn print_links(links: &[LinkSummary], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut used: Vec<&LinkSummary> = links
        .iter()
        .filter(|link| link.offered_pkts > 0.0)
        .collect();
    used.sort_by(|a, b| b.utilization.total_cmp(&a.utilization));
    let mut table = table::table(&[
        "link",
        "utilization",
        "peak",
        "saturated s",
        "offered load",
        "Mbit/s",
        "mean queue pkt",
        "max queue pkt",
        "queueing ms",
        "loss",
        "offered pkt",
        "lost pkt",
    ]);
    for link in used.iter().take(top) {
        let sign = sign(link.queue_is_estimate);
        table.add_row([
            link.link.clone(),
            percent(link.utilization),
            link.peak_utilization.map_or_else(nothing, percent),
            link.saturated_s.map_or_else(nothing, short),
            link.offered_load.map_or_else(|| "any".to_owned(), percent),
            link.throughput_bps
                .map_or_else(nothing, |bps| short(bps / 1e6)),
            sign.to_owned() + &with_std(link.mean_queue_pkts, "mean_queue_pkts", &link.spread),
            sign.to_owned() + &short(link.max_queue_pkts),
            signed_ms(sign, link.queueing_delay_s),
            percent(link.loss_probability),
            short(link.offered_pkts),
            with_std(link.lost_pkts, "lost_pkts", &link.spread),
        ]);
    }
    table::print(&table, out)?;
    print_rest(used.len(), top, "link", out)?;
    match links.len() - used.len() {
        0 => Ok(()),
        idle => writeln!(out, " {} without traffic", count(idle, "link")),
    }
}

fn print_connections(
    network: &Network,
    connections: &[ConnectionSummary],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows: Vec<_> = network.connections().zip(connections).collect();
    rows.sort_by(|(_, a), (_, b)| b.mean_goodput_pps.total_cmp(&a.mean_goodput_pps));
    let mut table = table::table(&[
        "connection",
        "sent pkt/s",
        "goodput pkt/s",
        "goodput Mbit/s",
        "loss",
        "delay ms",
        "p99 ms",
        "rtt ms",
        "delivered pkt",
        "outside profile",
    ]);
    for (id, connection) in rows.iter().take(top) {
        let spec = network.connection_spec(*id);
        let sign = sign(connection.delay_is_estimate);
        let name = match spec.count {
            1 => connection.connection.clone(),
            n => format!("{} ×{n}", connection.connection),
        };
        table.add_row([
            name,
            short(connection.mean_send_pps),
            with_std(
                connection.mean_goodput_pps,
                "mean_goodput_pps",
                &connection.spread,
            ),
            short(connection.mean_goodput_pps * spec.packet_size_bytes * 8.0 / 1e6),
            connection.loss_probability.map_or_else(nothing, percent),
            signed_ms(sign, connection.mean_delay_s),
            signed_ms(sign, connection.delay_p99_s),
            signed_ms(sign, connection.mean_rtt_s),
            short(connection.delivered_pkts),
            outside_profile(connection),
        ]);
    }
    table::print(&table, out)?;
    print_rest(rows.len(), top, "connection", out)?;
    for connection in connections {
        for outage in &connection.no_route_s {
            writeln!(out, " {} has {}", connection.connection, no_route(outage))?;
        }
    }
    Ok(())
}

/// Between which times there is no way for packets.
pub fn no_route(&(from_s, to_s): &(f64, f64)) -> String {
    format!("no route {}–{} s", plain(from_s), plain(to_s))
}

/// For how much of the time it was outside its profile, and whether that makes its rates useless.
fn outside_profile(connection: &ConnectionSummary) -> String {
    let outside = percent(connection.outside_profile_fraction);
    match connection.profile_use.as_deref() {
        Some(rests_on) if rests_on == ProfileUse::NotUsable.name() => {
            format!("{outside}, {rests_on}")
        }
        _ => outside,
    }
}

/// With several seeds a mean has its standard deviation beside it.
fn with_std(mean: f64, name: &str, spread: &Spread) -> String {
    let std = spread.get(&format!("{name}_std")).and_then(Beside::one);
    beside(mean, std, short)
}

/// A mean as `text` writes it, with its standard deviation beside it where that is known.
fn beside(mean: f64, std: Option<f64>, text: fn(f64) -> String) -> String {
    match std {
        Some(std) => format!("{} ± {}", text(mean), text(std)),
        None => text(mean),
    }
}

/// What stands before numbers that are estimates.
fn sign(is_estimate: bool) -> &'static str {
    if is_estimate { ESTIMATE } else { "" }
}

fn signed_ms(sign: &str, time_s: Option<f64>) -> String {
    time_s.map_or_else(nothing, |time_s| sign.to_owned() + &ms(time_s))
}

fn ms(time_s: f64) -> String {
    short(time_s * 1e3)
}

/// Where nothing was measured.
fn nothing() -> String {
    "-".to_owned()
}

fn print_rest(all: usize, shown: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(
            out,
            " … and {rest} more {noun}{}; --top {all} shows all",
            if rest == 1 { "" } else { "s" }
        ),
    }
}

fn print_totals(kind: &str, totals: &TotalsSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{kind}: {}{} offered = {} delivered + {} lost{} + {} queued + {} in flight{}",
        match totals.before_pkts {
            0.0 => String::new(),
            before => format!("{} under way before + ", short(before)),
        },
        short(totals.offered_pkts),
        short(totals.delivered_pkts),
        short(totals.lost_pkts),
        match totals.blocked_pkts {
            0.0 => String::new(),
            blocked => format!(" + {} without a route", short(blocked)),
        },
        short(totals.queued_pkts),
        short(totals.in_flight_pkts),
        match totals.imbalance() {
            gap if gap <= 1e-9 => String::new(),
            gap => format!(" (they miss balance by {})", percent(gap)),
        }
    )
}

/// Whether users need not be played any more: an interrupted run still plays some of those who came
/// until then.
fn stop_playing() -> impl Fn() -> bool + Sync {
    const PATIENCE: Duration = Duration::from_millis(300);
    let noticed: OnceLock<Instant> = OnceLock::new();
    move || interrupt::requested() && noticed.get_or_init(Instant::now).elapsed() > PATIENCE
}
