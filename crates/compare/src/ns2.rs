//! Running a real ns-2.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use netflow_scenario::Prepared;
use netflow_scenario::export::{NS2_CONNECTIONS_FILE, NS2_LINKS_FILE, Ns2Options, Ns2Trace, ns2};

use crate::error::file;
use crate::{ConnectionInterval, Error, LinkInterval, Referee, Run, Runner, Settings};

/// An ns-2 that can be run.
#[derive(Clone, Debug)]
pub struct Ns2 {
    program: PathBuf,
}

impl Ns2 {
    /// The command `ns` of the path.
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

    /// Whether ns-2 can be told of this scenario, which takes no ns-2 to find out.
    ///
    /// # Errors
    /// What of the scenario cannot be exported.
    pub fn check_export(scenario: &Prepared, settings: &Settings) -> Result<(), Error> {
        Ns2::script(scenario, settings, Ns2Trace::None).map(drop)
    }

    fn script(scenario: &Prepared, settings: &Settings, trace: Ns2Trace) -> Result<String, Error> {
        let options = Ns2Options {
            tcp: settings.tcp,
            start_jitter_s: settings.start_jitter_s,
            overhead_s: settings.overhead_s,
            every_s: settings.every_s,
            trace,
        };
        Ok(ns2(scenario, &options)?)
    }

    /// The seed of the run with this number, from 0. Neighbouring seeds of ns-2's generator give
    /// related numbers (it is linear), so they are spread out.
    pub fn seed(run: u32) -> u64 {
        1 + (48_271 * (u64::from(run) + 1) * 7919) % 2_147_483_640
    }

    /// Runs a script with a seed in a folder; CPU seconds.
    fn run(
        &self,
        script: &Path,
        seed: u64,
        place: &Path,
        trace: Option<&str>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<f64, Error> {
        file("make", place, fs::create_dir_all(place))?;
        let said = |name: &str| place.join(name);
        let (stderr, times) = (said("stderr"), said("times"));
        let open = |path: &Path| file("write", path, fs::File::create(path));
        // The shell tells the CPU time of what it ran.
        let line = r#""$@" 2> "$NETFLOW_STDERR"; code=$?; times > "$NETFLOW_TIMES"; exit $code"#;
        let mut command = Command::new("sh");
        command
            .args(["-c", line, "sh"])
            .arg(&self.program)
            .arg(script)
            .arg(seed.to_string())
            .arg(place)
            .args(trace)
            .env("NETFLOW_STDERR", &stderr)
            .env("NETFLOW_TIMES", &times)
            .stdin(Stdio::null())
            .stdout(open(&said("stdout"))?)
            // A group of its own, so that all of it can be stopped.
            .process_group(0);
        let mut child = file("start", &self.program, command.spawn())?;
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = file("wait for", &self.program, child.try_wait())? {
                break status;
            }
            if stop() {
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.wait();
                return Err(Error::Stopped);
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(50));
        };
        if !status.success() {
            let text = fs::read(&stderr).unwrap_or_default();
            return Err(Error::Failed {
                seed,
                status: status.to_string(),
                stderr: last_lines(&String::from_utf8_lossy(&text), 10),
            });
        }
        let mut text = String::new();
        let opened = file("read", &times, fs::File::open(&times))?;
        file("read", &times, opened.take(4096).read_to_string(&mut text))?;
        cpu_seconds(&text).ok_or_else(|| Error::Output {
            path: times,
            reason: format!("the shell's times cannot be read: {text}"),
        })
    }
}

impl Runner for Ns2 {
    fn referee(&self) -> Referee {
        Referee::Ns2
    }

    fn check(&self, scenario: &Prepared, settings: &Settings) -> Result<(), Error> {
        Ns2::check_export(scenario, settings)
    }

    fn has_traces(&self) -> bool {
        true
    }

    fn run_one(
        &self,
        scenario: &Prepared,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error> {
        let folder = temporary()?;
        let script = Ns2::script(scenario, settings, Ns2Trace::None)?;
        let script = write_script(folder.path(), &script)?;
        let place = folder.path().join("run");
        let cpu_s = self.run(&script, Ns2::seed(run), &place, None, stop)?;
        read_run(scenario, &place, cpu_s)
    }

    fn time_with_trace(
        &self,
        scenario: &Prepared,
        settings: &Settings,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<f64>, Error> {
        let folder = temporary()?;
        let script = Ns2::script(scenario, settings, Ns2Trace::All)?;
        let script = write_script(folder.path(), &script)?;
        let place = folder.path().join("traced");
        let cpu_s = self.run(&script, Ns2::seed(0), &place, Some("/dev/null"), stop)?;
        Ok(Some(cpu_s))
    }
}

fn temporary() -> Result<tempfile::TempDir, Error> {
    file("make", &std::env::temp_dir(), tempfile::tempdir())
}

fn write_script(folder: &Path, script: &str) -> Result<PathBuf, Error> {
    let path = folder.join("scenario.tcl");
    file("write", &path, fs::write(&path, script))?;
    Ok(path)
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The second line of the shell's `times`: user and system time of its children, as `0m1.5s`.
fn cpu_seconds(text: &str) -> Option<f64> {
    let line = text.lines().nth(1)?;
    let mut sum = 0.0;
    for time in line.split_whitespace() {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        sum += 60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?;
    }
    Some(sum)
}

/// What a run has written.
fn read_run(scenario: &Prepared, place: &Path, cpu_s: f64) -> Result<Run, Error> {
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
    // Rows come interval by interval, in the order of the scenario.
    let path = place.join(NS2_LINKS_FILE);
    let mut bandwidths: Vec<f64> = links
        .iter()
        .map(|&id| network.link_spec(id).bandwidth_bps)
        .collect();
    let mut events = network.events().peekable();
    let mut start_s = 0.0;
    let mut place_in_interval = 0;
    each_row(&path, 7, |row, numbers| {
        let [time_s, arrived, dropped, _, bytes, waiting] = numbers else {
            return Err(format!("a row of {} numbers", numbers.len()));
        };
        let Some((name, intervals)) = run.links.get_mut(place_in_interval) else {
            return Err("more links than the scenario has".to_owned());
        };
        if *name != row {
            return Err(format!("link {row} where {name} was expected"));
        }
        if place_in_interval == 0 {
            run.times_s.push(*time_s);
        }
        let length_s = time_s - start_s;
        let utilization = (8.0 * bytes / (bandwidths[place_in_interval] * length_s)).min(1.0);
        intervals.push(LinkInterval {
            arrived_pkts: *arrived,
            lost_pkts: *dropped,
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
    let path = place.join(NS2_CONNECTIONS_FILE);
    let count = run.connections.len();
    let mut row_number = 0;
    each_row(&path, 6, |row, numbers| {
        let (Some((name, intervals)), [_, sent, acked, ..]) =
            (run.connections.get_mut(row_number % count.max(1)), numbers)
        else {
            return Err("more connections than the scenario has".to_owned());
        };
        if *name != row {
            return Err(format!("connection {row} where {name} was expected"));
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

/// Every row of one of the script's files: the name in the second column, and the numbers.
fn each_row(
    path: &Path,
    columns: usize,
    mut on: impl FnMut(&str, &[f64]) -> Result<(), String>,
) -> Result<(), Error> {
    let wrong = |reason: String| Error::Output {
        path: path.to_owned(),
        reason,
    };
    let mut reader = csv::ReaderBuilder::new()
        .from_path(path)
        .map_err(|error| wrong(error.to_string()))?;
    let mut record = csv::ByteRecord::new();
    let mut numbers = Vec::with_capacity(columns);
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| wrong(error.to_string()))?
    {
        let line = record.position().map_or(0, csv::Position::line);
        numbers.clear();
        for (i, field) in record.iter().enumerate() {
            if i == 1 {
                continue;
            }
            let number = std::str::from_utf8(field)
                .ok()
                .and_then(|text| text.parse().ok());
            let number: f64 = number.ok_or_else(|| {
                let text = String::from_utf8_lossy(field);
                wrong(format!("line {line}: `{text}` is no number"))
            })?;
            numbers.push(number);
        }
        let name = String::from_utf8_lossy(record.get(1).unwrap_or_default());
        on(&name, &numbers).map_err(|reason| wrong(format!("line {line}: {reason}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::cpu_seconds;

    #[test]
    fn the_shell_tells_cpu_times() {
        let text = "0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n";
        assert_eq!(cpu_seconds(text), Some(62.75));
        assert_eq!(cpu_seconds("nothing"), None);
    }
}
