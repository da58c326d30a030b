//! Reference runs with ns-2.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use netflow_scenario::CompiledScenario;
use netflow_scenario::export::{NS2_CONNECTIONS_FILE, NS2_LINKS_FILE, Ns2Options, Ns2Trace, ns2};

use crate::error::file;
use crate::external_program::{for_each_csv_row, run_program, temporary};
use crate::{ConnectionInterval, Error, LinkInterval, ReferenceSystem, Run, Runner, Settings};

/// An installed ns-2.
#[derive(Clone, Debug)]
pub struct Ns2 {
    program: PathBuf,
}

impl Ns2 {
    /// Finds the command `ns` in `PATH`.
    ///
    /// # Errors
    /// [`Error::NotInstalled`]
    pub fn find() -> Result<Ns2, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join("ns"))
            .find(|program| program.is_file());
        found
            .map(|program| Ns2 { program })
            .ok_or(Error::NotInstalled)
    }

    /// Checks that the scenario can be exported. This does not require ns-2.
    ///
    /// # Errors
    /// The part of the scenario that cannot be exported.
    pub fn check_export(scenario: &CompiledScenario, settings: &Settings) -> Result<(), Error> {
        Ns2::script(scenario, settings, Ns2Trace::None).map(drop)
    }

    fn script(
        scenario: &CompiledScenario,
        settings: &Settings,
        trace: Ns2Trace,
    ) -> Result<String, Error> {
        let options = Ns2Options {
            tcp: settings.tcp,
            start_jitter_s: settings.start_jitter_s,
            max_send_jitter_s: settings.overhead_s,
            every_s: settings.every_s,
            trace,
        };
        Ok(ns2(scenario, &options)?)
    }

    /// Returns the seed of run `run`, from 0. The seeds are spread out, because the linear generator of ns-2
    /// gives correlated numbers for adjacent seeds.
    pub fn seed(run: u32) -> u64 {
        1 + (48_271 * (u64::from(run) + 1) * 7919) % 2_147_483_640
    }

    /// Runs a script with a seed in a folder and returns its CPU seconds.
    fn run(
        &self,
        script: &Path,
        seed: u64,
        directory: &Path,
        trace: Option<&str>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<f64, Error> {
        let seed = seed.to_string();
        let arguments = [script.as_os_str(), seed.as_ref(), directory.as_os_str()];
        let trace = trace.map(OsStr::new);
        let arguments: Vec<&OsStr> = arguments.into_iter().chain(trace).collect();
        run_program("ns", &self.program, &arguments, directory, stop)
    }
}

impl Runner for Ns2 {
    fn reference_system(&self) -> ReferenceSystem {
        ReferenceSystem::Ns2
    }

    fn check(&self, scenario: &CompiledScenario, settings: &Settings) -> Result<(), Error> {
        Ns2::check_export(scenario, settings)
    }

    fn has_traces(&self) -> bool {
        true
    }

    fn run_one(
        &self,
        scenario: &CompiledScenario,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error> {
        let folder = temporary()?;
        let script = Ns2::script(scenario, settings, Ns2Trace::None)?;
        let script = write_script(folder.path(), &script)?;
        let directory = folder.path().join("run");
        let cpu_s = self.run(&script, Ns2::seed(run), &directory, None, stop)?;
        read_run(scenario, &directory, cpu_s)
    }

    fn time_with_trace(
        &self,
        scenario: &CompiledScenario,
        settings: &Settings,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<f64>, Error> {
        let folder = temporary()?;
        let script = Ns2::script(scenario, settings, Ns2Trace::All)?;
        let script = write_script(folder.path(), &script)?;
        let directory = folder.path().join("traced");
        let cpu_s = self.run(&script, Ns2::seed(0), &directory, Some("/dev/null"), stop)?;
        Ok(Some(cpu_s))
    }
}

fn write_script(folder: &Path, script: &str) -> Result<PathBuf, Error> {
    let path = folder.join("scenario.tcl");
    file("write", &path, fs::write(&path, script))?;
    Ok(path)
}

/// Reads the output of a run.
fn read_run(scenario: &CompiledScenario, directory: &Path, cpu_s: f64) -> Result<Run, Error> {
    let network = &scenario.network;
    let links: Vec<_> = network.links().collect();
    let mut run = Run {
        links: links
            .iter()
            .map(|&id| (network.link_name(id).to_owned(), Vec::new()))
            .collect(),
        connections: network
            .connections()
            .map(|id| (network.connection_name(id).to_owned(), Vec::new()))
            .collect(),
        cost_s: Some(cpu_s),
        ..Run::default()
    };
    // Rows are in the order of intervals, then in the order of the scenario.
    let path = directory.join(NS2_LINKS_FILE);
    let mut bandwidths: Vec<f64> = links
        .iter()
        .map(|&id| network.link_spec(id).bandwidth_bps)
        .collect();
    let mut events = network.events().peekable();
    let mut start_s = 0.0;
    let mut place_in_interval = 0;
    for_each_csv_row(&path, 7, |row, numbers| {
        let [time_s, arrived, dropped, _, bytes, waiting] = numbers else {
            return Err(format!("unexpected row with {} numbers", numbers.len()));
        };
        let Some((name, intervals)) = run.links.get_mut(place_in_interval) else {
            return Err("more links than in the scenario".to_owned());
        };
        if *name != row {
            return Err(format!("link {row} instead of {name}"));
        }
        if place_in_interval == 0 {
            run.times_s.push(*time_s);
        }
        let length_s = time_s - start_s;
        let utilization = (8.0 * bytes / (bandwidths[place_in_interval] * length_s)).min(1.0);
        intervals.push(LinkInterval {
            arrived_pkts: *arrived,
            lost_pkts: *dropped,
            marked_pkts: None,
            queue_pkts: waiting + utilization,
            utilization,
        });
        place_in_interval += 1;
        if place_in_interval == links.len() {
            place_in_interval = 0;
            start_s = *time_s;
            while let Some(event) = events.next_if(|event| event.at_s <= start_s) {
                if let netflow_network::Change::Bandwidth(bps) = event.change {
                    bandwidths[event.link.index()] = bps;
                }
            }
        }
        Ok(())
    })?;
    let path = directory.join(NS2_CONNECTIONS_FILE);
    let count = run.connections.len();
    let mut row_number = 0;
    for_each_csv_row(&path, 6, |row, numbers| {
        let (Some((name, intervals)), [_, sent, acked, ..]) =
            (run.connections.get_mut(row_number % count.max(1)), numbers)
        else {
            return Err("more connections than in the scenario".to_owned());
        };
        if *name != row {
            return Err(format!("connection {row} instead of {name}"));
        }
        row_number += 1;
        intervals.push(ConnectionInterval {
            sent_pkts: *sent,
            delivered_pkts: *acked,
        });
        Ok(())
    })?;
    Ok(run)
}
