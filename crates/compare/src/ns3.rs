//! Running a real ns-3.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use netflow_scenario::Prepared;
use netflow_scenario::export::{
    NS3_CONNECTIONS_FILE, NS3_DELAYS_FILE, NS3_LIBRARIES, NS3_LINKS_FILE, Ns3Options, ns3,
};
use tempfile::TempDir;

use crate::error::file;
use crate::program::{each_row, run_program, temporary};
use crate::{ConnectionInterval, Delay, Error, LinkInterval, Referee, Run, Runner, Settings};

/// An ns-3 that can be compiled against. A scenario is compiled once, and kept until another one comes.
#[derive(Debug, Default)]
pub struct Ns3 {
    compiled: Mutex<Option<(String, Compiled)>>,
}

#[derive(Debug)]
struct Compiled {
    program: PathBuf,
    _folder: TempDir,
}

/// A header that every ns-3 has.
const HEADER: &str = "/usr/include/ns3/flow-monitor-module.h";

impl Ns3 {
    /// The compiler `g++` of the path, and the headers where Debian has them.
    ///
    /// # Errors
    /// [`Error::NoNs3`]
    pub fn find() -> Result<Ns3, Error> {
        if Command::new("g++").arg("--version").output().is_err() {
            return Err(Error::NoNs3("there is no command `g++`".to_owned()));
        }
        match Path::new(HEADER).is_file() {
            true => Ok(Ns3::default()),
            false => Err(Error::NoNs3(format!("there is no {HEADER}"))),
        }
    }

    /// Whether ns-3 can be told of this scenario, which takes no ns-3 to find out.
    ///
    /// # Errors
    /// What of the scenario cannot be exported.
    pub fn check_export(scenario: &Prepared, settings: &Settings) -> Result<(), Error> {
        program(scenario, settings).map(drop)
    }

    /// The program of this text.
    fn compile(&self, text: String, stop: &(dyn Fn() -> bool + Sync)) -> Result<PathBuf, Error> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, compiled)) = &*compiled
            && *known == text
        {
            return Ok(compiled.program.clone());
        }
        let folder = temporary()?;
        let source = folder.path().join("scenario.cc");
        file("write", &source, fs::write(&source, &text))?;
        let program = folder.path().join("scenario");
        let libraries = NS3_LIBRARIES.map(|name| format!("-lns3-{name}"));
        let mut arguments: Vec<&OsStr> = ["-std=c++17", "-O2"].map(OsStr::new).to_vec();
        arguments.extend([source.as_os_str(), "-o".as_ref(), program.as_os_str()]);
        arguments.extend(libraries.iter().map(OsStr::new));
        let place = folder.path().join("compiler");
        run_program("g++", "g++".as_ref(), &arguments, &place, stop)?;
        let made = program.clone();
        *compiled = Some((
            text,
            Compiled {
                program,
                _folder: folder,
            },
        ));
        Ok(made)
    }
}

fn program(scenario: &Prepared, settings: &Settings) -> Result<String, Error> {
    let options = Ns3Options {
        start_jitter_s: settings.start_jitter_s,
        every_s: settings.every_s,
    };
    Ok(ns3(scenario, &options)?)
}

impl Runner for Ns3 {
    fn referee(&self) -> Referee {
        Referee::Ns3
    }

    fn check(&self, scenario: &Prepared, settings: &Settings) -> Result<(), Error> {
        Ns3::check_export(scenario, settings)
    }

    fn run_one(
        &self,
        scenario: &Prepared,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error> {
        let program = self.compile(program(scenario, settings)?, stop)?;
        let folder = temporary()?;
        let place = folder.path().join("run");
        let seed = (run + 1).to_string();
        let arguments = [OsStr::new(&seed), place.as_os_str()];
        let cpu_s = run_program("ns-3", &program, &arguments, &place, stop)?;
        read_run(scenario, &place, cpu_s)
    }
}

/// What a run has written: rows come interval by interval, in the order of the scenario.
fn read_run(scenario: &Prepared, place: &Path, cpu_s: f64) -> Result<Run, Error> {
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
    each_row(&place.join(NS3_LINKS_FILE), 6, |_, numbers| {
        let (Some((_, intervals)), &[time_s, arrived_pkts, lost_pkts, queue_pkts, utilization]) =
            (run.links.get_mut(row % count), numbers)
        else {
            return Err("a row of another length".to_owned());
        };
        if row.is_multiple_of(count) {
            run.times_s.push(time_s);
        }
        row += 1;
        intervals.push(LinkInterval {
            arrived_pkts,
            lost_pkts,
            queue_pkts,
            utilization,
        });
        Ok(())
    })?;
    let count = run.connections.len().max(1);
    let mut row = 0;
    each_row(&place.join(NS3_CONNECTIONS_FILE), 4, |_, numbers| {
        let (Some((_, intervals)), &[_, sent_pkts, delivered_pkts]) =
            (run.connections.get_mut(row % count), numbers)
        else {
            return Err("a row of another length".to_owned());
        };
        row += 1;
        intervals.push(ConnectionInterval {
            sent_pkts,
            delivered_pkts,
        });
        Ok(())
    })?;
    let path = place.join(NS3_DELAYS_FILE);
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
