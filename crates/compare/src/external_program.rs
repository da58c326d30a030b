//! External programs: execution, termination and output.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Error;
use crate::error::file;

/// Creates a temporary folder, which is removed on drop.
pub(crate) fn temporary() -> Result<tempfile::TempDir, Error> {
    file("make", &std::env::temp_dir(), tempfile::tempdir())
}

/// Runs a program in the folder `directory`, to which it may write, and returns its CPU seconds. `stop` is
/// polled.
pub(crate) fn run_program(
    name: &'static str,
    program: &Path,
    arguments: &[&OsStr],
    directory: &Path,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<f64, Error> {
    file("make", directory, fs::create_dir_all(directory))?;
    let in_directory = |name: &str| directory.join(name);
    let (stderr, times) = (in_directory("stderr"), in_directory("times"));
    let open = |path: &Path| file("write", path, fs::File::create(path));
    // The shell reports the CPU time of its children.
    let line = r#""$@" 2> "$NETFLOW_STDERR"; code=$?; times > "$NETFLOW_TIMES"; exit $code"#;
    let mut command = Command::new("sh");
    command
        .args(["-c", line, "sh"])
        .arg(program)
        .args(arguments)
        .env("NETFLOW_STDERR", &stderr)
        .env("NETFLOW_TIMES", &times)
        .stdin(Stdio::null())
        .stdout(open(&in_directory("stdout"))?)
        // A separate process group, so that all of its processes can be stopped.
        .process_group(0);
    let mut child = file("start", program, command.spawn())?;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = file("wait for", program, child.try_wait())? {
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
            program: name,
            status: status.to_string(),
            stderr: last_lines(&String::from_utf8_lossy(&text), 10),
        });
    }
    let mut text = String::new();
    let opened = file("read", &times, fs::File::open(&times))?;
    file("read", &times, opened.take(4096).read_to_string(&mut text))?;
    cpu_seconds(&text).ok_or_else(|| Error::Output {
        path: times,
        reason: format!("cannot read the CPU times of the shell: {text}"),
    })
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Parses the second line of `times` of the shell: user and system time of its children, for example
/// `0m1.5s`.
fn cpu_seconds(text: &str) -> Option<f64> {
    let line = text.lines().nth(1)?;
    let mut sum = 0.0;
    for time in line.split_whitespace() {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        sum += 60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?;
    }
    Some(sum)
}

/// Passes each row of a CSV file to `on`: the name in the second column, and the numbers.
pub(crate) fn for_each_csv_row(
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
                wrong(format!("line {line}: `{text}` is not a number"))
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
    fn cpu_times_of_the_shell_are_parsed() {
        let text = "0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n";
        assert_eq!(cpu_seconds(text), Some(62.75));
        assert_eq!(cpu_seconds("nothing"), None);
    }
}
