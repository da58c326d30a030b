//! Fuzzing loop of one reader.

use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::Reader;
use crate::mutate::mutate_input;
use crate::watchdog::{Watchdog, peak_bytes};

/// Budget of a run.
#[derive(Clone, Copy, Debug)]
pub struct FuzzOptions {
    /// Random seed of the inputs.
    pub seed: u64,
    /// Maximum number of inputs.
    pub inputs: u64,
    /// Maximum duration.
    pub time: Duration,
    /// Number of threads.
    pub threads: usize,
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct FuzzReport {
    /// Number of inputs tried.
    pub inputs: u64,
    /// Time of the slowest input, and its number; `None` without inputs.
    pub slowest: Option<(Duration, u64)>,
    /// Peak memory of the process so far, in bytes.
    pub peak_bytes: Option<u64>,
    /// Failures, one for each message.
    pub failures: Vec<FuzzFailure>,
}

/// Failure of a reader with an input.
#[derive(Debug)]
pub struct FuzzFailure {
    /// Location and message of the panic.
    pub message: String,
    /// File in which the input is kept.
    pub input_file: PathBuf,
}

/// Time limit for shrinking a failed input.
const SHRINK_TIME: Duration = Duration::from_secs(3);

/// Maximum number of distinct failures that are kept.
const MAX_FAILURES: usize = 20;

/// Returns the initial inputs: those of the corpus and those of other tests.
///
/// # Panics
/// If the corpus cannot be read.
pub fn seeds(reader: &Reader) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = read_files(&corpus().join(reader.name), "");
    for (folder, end) in reader.extra_inputs {
        found.extend(read_files(&root.join(folder), end));
    }
    found.retain(|input| input.len() <= crate::mutate::MAX_INPUT_BYTES);
    assert!(!found.is_empty(), "no inputs for {}", reader.name);
    found
}

/// Reads all inputs that failed before, and returns their number.
///
/// # Errors
/// The first input that fails again.
///
/// # Panics
/// If the corpus cannot be read.
pub fn replay(reader: &Reader) -> Result<usize, FuzzFailure> {
    let inputs = read_files(&corpus().join("failed").join(reader.name), "");
    for input in &inputs {
        attempt(reader, input).map_err(|message| FuzzFailure {
            message,
            input_file: failed_input_path(reader.name, input),
        })?;
    }
    Ok(inputs.len())
}

/// Tries a reader with the inputs of a seed. Ends the process if an input takes longer than
/// [`LONGEST`](crate::LONGEST) or uses more than [`MAX_MEMORY_BYTES`](crate::MAX_MEMORY_BYTES) for each thread.
///
/// # Panics
/// If the corpus cannot be read, or written.
pub fn run(reader: &Reader, plan: &FuzzOptions) -> FuzzReport {
    let seeds = seeds(reader);
    let (watch, tried) = (Watchdog::default(), Mutex::new(FuzzReport::default()));
    let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let threads = plan.threads.max(1);
    let work = || {
        while began.elapsed() < plan.time {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.inputs {
                break;
            }
            let input = input(reader, &seeds, plan.seed, number);
            watch.begin(input.as_slice().into());
            let start = Instant::now();
            let result = attempt(reader, &input);
            let took = start.elapsed();
            watch.end();
            let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
            tried.inputs += 1;
            if tried.slowest.is_none_or(|(slowest, _)| slowest < took) {
                tried.slowest = Some((took, number));
            }
            if let Err(message) = result {
                let known = tried
                    .failures
                    .iter()
                    .any(|failed| failed.message == message);
                if !known && tried.failures.len() < MAX_FAILURES {
                    let kept = save_failed_input(reader.name, &shrink(reader, input, &message));
                    tried.failures.push(FuzzFailure {
                        message,
                        input_file: kept,
                    });
                }
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        scope.spawn(|| watch.watch_until(reader.name, threads, || done.load(Ordering::Relaxed)));
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::Relaxed);
        for ended in ended {
            ended.unwrap_or_else(|payload| panic::resume_unwind(payload));
        }
    });
    let mut tried = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    tried.peak_bytes = peak_bytes();
    tried
}

/// Returns input `number`. It is reproducible for one version of Rust, because it depends on Rust's
/// hashes.
fn input(reader: &Reader, seeds: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut hash = DefaultHasher::new();
    (reader.name, seed, number).hash(&mut hash);
    let mut rng = Pcg64::seed_from_u64(hash.finish());
    let first = seeds.get(rng.random_range(0..seeds.len()));
    mutate_input(
        &mut rng,
        first.map_or(&[], Vec::as_slice),
        seeds,
        reader.dictionary,
    )
}

thread_local! {
    /// Location of the last panic of this thread inside an attempt.
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the panic message of a reader, if it fails.
fn attempt(reader: &Reader, input: &[u8]) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let attempted = PANICKED.with_borrow_mut(|at| match at {
                Some(at) => {
                    *at = info.location().map_or(String::new(), ToString::to_string);
                    true
                }
                None => false,
            });
            if !attempted {
                usual(info);
            }
        }));
    });
    PANICKED.with_borrow_mut(|at| *at = Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(|| (reader.read)(input)));
    let at = PANICKED.take().unwrap_or_default();
    result.map_err(|payload| format!("{at}: {}", normalized_message(&*payload)))
}

/// Returns the panic message without numbers, which differ between inputs of the same failure.
fn normalized_message(payload: &(dyn Any + Send)) -> String {
    let text = match (
        payload.downcast_ref::<&str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "",
    };
    let first = text.lines().next().unwrap_or_default();
    first
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .take(100)
        .collect()
}

/// Shrinks an input within a time limit while the failure stays the same.
fn shrink(reader: &Reader, mut input: Vec<u8>, message: &str) -> Vec<u8> {
    let began = Instant::now();
    let mut piece = input.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
            if began.elapsed() > SHRINK_TIME {
                return input;
            }
            let mut less = input.clone();
            less.drain(at..(at + piece).min(input.len()));
            match attempt(reader, &less) {
                Err(same) if same == message => input = less,
                _ => at += piece,
            }
        }
        piece /= 2;
    }
    input
}

/// Stores an input that failed.
pub(crate) fn save_failed_input(reader: &str, input: &[u8]) -> PathBuf {
    let path = failed_input_path(reader, input);
    let folder = path.parent().expect("a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
    if let Err(error) = written {
        eprintln!("{} cannot be kept: {error}", path.display());
    }
    path
}

fn failed_input_path(reader: &str, input: &[u8]) -> PathBuf {
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let name = format!("{:016x}", hash.finish());
    corpus().join("failed").join(reader).join(name)
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Returns the contents of the files in a folder whose names end with `end`, ordered by name.
fn read_files(folder: &Path, end: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file() && path.to_string_lossy().ends_with(end));
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file of the corpus");
        if path.extension().is_some_and(|it| it == "hex") {
            decode_hex(&bytes)
        } else {
            bytes
        }
    };
    paths.into_iter().map(read).collect()
}

/// Decodes hexadecimal numbers with comments between them.
fn decode_hex(text: &[u8]) -> Vec<u8> {
    let lines = String::from_utf8_lossy(text);
    let digits = lines
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let digits: Vec<u32> = digits
        .flat_map(str::chars)
        .filter_map(|letter| letter.to_digit(16))
        .collect();
    let byte = |pair: &[u32]| pair.iter().fold(0, |sum, digit| 16 * sum + digit) as u8;
    digits.chunks(2).map(byte).collect()
}
