//! Estimate of a network's memory, made before anything is allocated.

use std::time::Duration;

/// Memory per table row in bytes: its specification (temporarily twice), name, paths, class and
/// initial state. It is 480 without unused capacity of growing lists.
const BYTES_PER_ROW: u64 = 1100;

/// Memory per byte of TOML; 30 were measured, for 5000 to 40 000 connections.
const BYTES_PER_BYTE: u64 = 40;

/// Address space that the system's allocator reserves for a new thread; one may start, to handle
/// signals.
const THREAD_ARENA_BYTES: u64 = 64 << 20;

/// Time during which the allocator maps twice that, to find an aligned half.
const ARENA_MAPPING_TIME: Duration = Duration::from_millis(5);

/// Returns the memory available without swapping, and within the limit of the process
/// (`ulimit -v`), if the system reports them.
pub(crate) fn available() -> Option<u64> {
    let of_machine = read_kib("/proc/meminfo", "MemAvailable:");
    match (of_machine, free_address_space()) {
        (Some(here), Some(left)) => Some(here.min(left)),
        (here, left) => here.or(left),
    }
}

fn free_address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let words = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = words.split_whitespace().next()?.parse().ok()?; // or `unlimited`
    std::thread::sleep(ARENA_MAPPING_TIME);
    let used = read_kib("/proc/self/status", "VmSize:")?;
    Some(limit.saturating_sub(used + THREAD_ARENA_BYTES))
}

/// Returns the bytes of a line in kibibytes.
fn read_kib(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the approximate number of rows of a table.
pub(crate) fn line_count(text: &str) -> usize {
    text.as_bytes()
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}

/// Rejects a table whose rows would not fit.
pub(crate) fn check_rows(rows: usize, what: &str) -> Result<(), String> {
    check(rows as u64 * BYTES_PER_ROW, || {
        format!("{rows} {what}s need")
    })
}

/// Rejects a scenario whose text would not fit after parsing.
pub(crate) fn check_text(text: &str) -> Result<(), String> {
    let bytes = text.len() as u64;
    check(bytes * BYTES_PER_BYTE, || {
        format!("{:.1} MB of TOML need", bytes as f64 / 1e6)
    })
}

fn check(needed: u64, who: impl FnOnce() -> String) -> Result<(), String> {
    // The check takes longer than reading a small table.
    if needed < 64 << 20 {
        return Ok(());
    }
    match available() {
        Some(available) if needed > available => Err(format!(
            "{} about {} MB of memory, but {} MB are available",
            who(),
            needed / 1_000_000,
            available / 1_000_000
        )),
        _ => Ok(()),
    }
}
