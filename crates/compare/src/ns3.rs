//! Reference runs with ns-3.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_scenario::CompiledScenario;
use netflow_scenario::export::{
    NS3_CONNECTIONS_FILE, NS3_DELAYS_FILE, NS3_LIBRARIES, NS3_LINKS_FILE, Ns3Options, ns3,
    ns3_batch,
};
use tempfile::TempDir;

use crate::error::file;
use crate::external_program::{for_each_csv_row, run_program, temporary};
use crate::{
    ConnectionInterval, Delay, Error, LinkInterval, ReferenceSystem, Run, Runner, Settings,
};

/// An installed ns-3. One or more scenarios are compiled together, and the program is cached until other
/// scenarios are run.
#[derive(Debug, Default)]
pub struct Ns3 {
    compiled: Mutex<Option<Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    /// Source of each scenario on its own, in the order of their numbers.
    texts: Vec<String>,
    program: PathBuf,
    _folder: TempDir,
}

/// Header present in every installation of ns-3.
const HEADER: &str = "/usr/include/ns3/flow-monitor-module.h";

impl Ns3 {
    /// Finds the compiler `g++` in `PATH`, and the headers at their location in Debian.
    ///
    /// # Errors
    /// [`Error::NoNs3`]
    pub fn find() -> Result<Ns3, Error> {
        if Command::new("g++").arg("--version").output().is_err() {
            return Err(Error::NoNs3("the command `g++` does not exist".to_owned()));
        }
        if Path::new(HEADER).is_file() {
            Ok(Ns3::default())
        } else {
            Err(Error::NoNs3(format!("{HEADER} does not exist")))
        }
    }

    /// Checks that the scenario can be exported. This does not require ns-3.
    ///
    /// # Errors
    /// The part of the scenario that cannot be exported.
    pub fn check_export(scenario: &CompiledScenario, settings: &Settings) -> Result<(), Error> {
        program(scenario, settings).map(drop)
    }

    /// Compiles scenarios into one program, which takes little longer than for one scenario. They are run one
    /// by one later. `change` can modify the source before compilation, for experiments.
    ///
    /// # Errors
    /// A scenario cannot be exported, or the compiler fails or is stopped.
    pub fn compile(
        &self,
        scenarios: &[&CompiledScenario],
        settings: &Settings,
        change: &dyn Fn(String) -> String,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let texts = scenarios.iter().map(|it| program(it, settings));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        let together = ns3_batch(scenarios, &options(settings))?;
        *lock(&self.compiled) = Some(compile(&change(together), texts, stop)?);
        Ok(())
    }

    /// Returns the program that contains the scenario, and the number of the scenario in it.
    fn program(
        &self,
        text: String,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(PathBuf, usize), Error> {
        let mut compiled = lock(&self.compiled);
        if let Some(known) = &*compiled
            && let Some(number) = known.texts.iter().position(|known| *known == text)
        {
            return Ok((known.program.clone(), number));
        }
        let made = compile(&text, vec![text.clone()], stop)?;
        let program = made.program.clone();
        *compiled = Some(made);
        Ok((program, 0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compile(
    text: &str,
    texts: Vec<String>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Compiled, Error> {
    let folder = temporary()?;
    let source = folder.path().join("scenario.cc");
    file("write", &source, fs::write(&source, text))?;
    let program = folder.path().join("scenario");
    let libraries = NS3_LIBRARIES.map(|name| format!("-lns3-{name}"));
    let mut arguments: Vec<&OsStr> = ["-std=c++17", "-O2"].map(OsStr::new).to_vec();
    arguments.extend([source.as_os_str(), "-o".as_ref(), program.as_os_str()]);
    arguments.extend(libraries.iter().map(OsStr::new));
    let directory = folder.path().join("compiler");
    run_program("g++", "g++".as_ref(), &arguments, &directory, stop)?;
    Ok(Compiled {
        texts,
        program,
        _folder: folder,
    })
}

fn options(settings: &Settings) -> Ns3Options {
    Ns3Options {
        start_jitter_s: settings.start_jitter_s,
        every_s: settings.every_s,
        delays_from_s: settings.delays_from_s,
    }
}

fn program(scenario: &CompiledScenario, settings: &Settings) -> Result<String, Error> {
    Ok(ns3(scenario, &options(settings))?)
}

impl Runner for Ns3 {
    fn reference_system(&self) -> ReferenceSystem {
        ReferenceSystem::Ns3
    }

    fn check(&self, scenario: &CompiledScenario, settings: &Settings) -> Result<(), Error> {
        Ns3::check_export(scenario, settings)
    }

    fn run_one(
        &self,
        scenario: &CompiledScenario,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error> {
        let (program, number) = self.program(program(scenario, settings)?, stop)?;
        let folder = temporary()?;
        let directory = folder.path().join("run");
        let (seed, number) = ((run + 1).to_string(), number.to_string());
        let arguments = [
            OsStr::new(&seed),
            directory.as_os_str(),
            OsStr::new(&number),
        ];
        let cpu_s = run_program("ns-3", &program, &arguments, &directory, stop)?;
        read_run(scenario, &directory, cpu_s)
    }
}

/// Reads the output of a run. Rows are in the order of intervals, then in the order of the scenario.
fn read_run(scenario: &CompiledScenario, directory: &Path, cpu_s: f64) -> Result<Run, Error> {
    let network = &scenario.network;
    let mut run = Run {
        links: network
            .links()
            .map(|id| (network.link_name(id).to_owned(), Vec::new()))
            .collect(),
        connections: network
            .connections()
            .map(|id| (network.connection_name(id).to_owned(), Vec::new()))
            .collect(),
        cost_s: Some(cpu_s),
        ..Run::default()
    };
    let count = run.links.len().max(1);
    let mut row = 0;
    for_each_csv_row(&directory.join(NS3_LINKS_FILE), 7, |_, numbers| {
        let (
            Some((_, intervals)),
            &[
                time_s,
                arrived_pkts,
                lost_pkts,
                marked_pkts,
                queue_pkts,
                utilization,
            ],
        ) = (run.links.get_mut(row % count), numbers)
        else {
            return Err("a row of unexpected length".to_owned());
        };
        if row.is_multiple_of(count) {
            run.times_s.push(time_s);
        }
        row += 1;
        intervals.push(LinkInterval {
            arrived_pkts,
            lost_pkts,
            marked_pkts: Some(marked_pkts),
            queue_pkts,
            utilization,
        });
        Ok(())
    })?;
    let count = run.connections.len().max(1);
    let mut row = 0;
    for_each_csv_row(&directory.join(NS3_CONNECTIONS_FILE), 4, |_, numbers| {
        let (Some((_, intervals)), &[_, sent_pkts, delivered_pkts]) =
            (run.connections.get_mut(row % count), numbers)
        else {
            return Err("a row of unexpected length".to_owned());
        };
        row += 1;
        intervals.push(ConnectionInterval {
            sent_pkts,
            delivered_pkts,
        });
        Ok(())
    })?;
    let path = directory.join(NS3_DELAYS_FILE);
    let wrong = |error: csv::Error| Error::Output {
        path: path.clone(),
        reason: error.to_string(),
    };
    let mut reader = csv::Reader::from_path(&path).map_err(wrong)?;
    for record in reader.deserialize() {
        let (name, p50_s, p95_s): (String, f64, f64) = record.map_err(wrong)?;
        run.delays.push((name, Delay { p50_s, p95_s }));
    }
    Ok(run)
}
