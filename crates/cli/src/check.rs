//! `netflow check SCENARIO`

use std::io::{self, Write};

use clap::Args;
use netflow::prelude::Simulation;
use netflow::scenario::Problem;
use serde::Serialize;

use crate::args::ReportFormat;
use crate::failure::Failure;
use crate::input::{self, Scenario, ScenarioArguments};
use crate::number::count;
use crate::problems;
use crate::run::{no_route, range};

/// The steps of more connections than this take too long to find out.
const LOOKED_AT: usize = 100_000;

/// Say everything that is wrong or suspicious about a scenario, at once
#[derive(Args)]
pub struct CheckArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

pub fn check(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = input::load(&arguments.scenario);
    match (arguments.format, loaded) {
        (ReportFormat::Text, loaded) => Ok(print_text(&loaded?, out)?),
        (ReportFormat::Json, Ok(scenario)) => Ok(print_json(&Answer::ok(&scenario), out)?),
        (ReportFormat::Json, Err(Failure::Input(report))) => {
            print_json(
                &Answer {
                    ok: false,
                    size: None,
                    problems: report.problems.clone(),
                },
                out,
            )?;
            Err(Failure::Input(report))
        }
        (ReportFormat::Json, Err(other)) => Err(other),
    }
}

fn print_text(scenario: &Scenario, out: &mut dyn Write) -> io::Result<()> {
    problems::warn(scenario);
    let size = Size::of(scenario);
    write!(
        out,
        "ok: {}, {}, {}, {}",
        count(size.nodes, "node"),
        count(size.links, "link"),
        count(size.connections, "connection"),
        count(size.classes, "class"),
    )?;
    if size.workloads > 0 {
        write!(out, ", {}", count(size.workloads, "workload"))?;
    }
    match scenario.warnings.len() {
        0 => writeln!(out)?,
        warnings => writeln!(out, ", {}", count(warnings, "warning"))?,
    }
    let network = &scenario.network;
    if network.connection_count() <= LOOKED_AT
        && let Ok(simulation) = Simulation::new(network.clone(), scenario.options)
        && let Some(steps_s) = simulation.chosen_steps_s()
    {
        writeln!(out, " steps of {}", range(steps_s))?;
    }
    for id in network.connections() {
        for outage in network.without_route(id, 0.0, scenario.options.duration_s) {
            let name = network.connection_name(id);
            writeln!(out, " {name} has {}", no_route(&outage))?;
        }
    }
    Ok(())
}

fn print_json(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Answer {
    ok: bool,
    size: Option<Size>,
    problems: Vec<Problem>,
}

impl Answer {
    fn ok(scenario: &Scenario) -> Answer {
        Answer {
            ok: true,
            size: Some(Size::of(scenario)),
            problems: scenario.warnings.clone(),
        }
    }
}

#[derive(Serialize)]
struct Size {
    nodes: usize,
    links: usize,
    connections: usize,
    classes: usize,
    workloads: usize,
}

impl Size {
    fn of(scenario: &Scenario) -> Size {
        let network = &scenario.network;
        Size {
            nodes: network.node_count(),
            links: network.link_count(),
            connections: network.connection_count(),
            classes: network.class_count(),
            workloads: network.workloads().len(),
        }
    }
}
