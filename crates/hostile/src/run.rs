//! Tries a reader with many inputs.

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
use crate::mutate::damage;
use crate::watch::{Watch, peak_bytes};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Which inputs.
    pub seed: u64,
    /// How many at most.
    pub inputs: u64,
    /// For how long at most.
    pub time: Duration,
    /// On so many threads.
    pub threads: usize,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Tried {
    /// How many inputs were tried.
    pub inputs: u64,
    /// The time of the slowest, and its number; `None` if there was none.
    pub slowest: Option<(Duration, u64)>,
    /// The most memory that the process had until then, in bytes.
    pub peak_bytes: Option<u64>,
    /// What failed, each place once.
    pub failed: Vec<Failed>,
}

/// An input that a reader failed with.
#[derive(Debug)]
pub struct Failed {
    /// Where and with which words.
    pub message: String,
    /// Where the input is kept.
    pub kept: PathBuf,
}

/// Inputs that failed are made smaller for so long.
const SHRINKING: Duration = Duration::from_secs(3);

/// Ways to fail that are kept.
const MOST_FAILED: usize = 20;

/// Inputs to begin with: those of the corpus, and those of other tests.
///
/// # Panics
/// If the corpus cannot be read.
pub fn seeds(reader: &Reader) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = files(&corpus().join(reader.name), "");
    for (folder, end) in reader.more {
        found.extend(files(&root.join(folder), end));
    }
    found.retain(|input| input.len() <= crate::mutate::LONGEST_INPUT);
    assert!(!found.is_empty(), "no inputs for {}", reader.name);
    found
}

/// Reads again what failed once; how many inputs that were.
///
/// # Errors
/// The first that fails again.
///
/// # Panics
/// If the corpus cannot be read.
pub fn replay(reader: &Reader) -> Result<usize, Failed> {
    let inputs = files(&corpus().join("failed").join(reader.name), "");
    for input in &inputs {
        attempt(reader, input).map_err(|message| Failed {
            message,
            kept: place(reader.name, input),
        })?;
    }
    Ok(inputs.len())
}

/// Tries a reader with the inputs of a seed. Ends the process where one takes longer than
/// [`LONGEST`](crate::LONGEST) or, for every thread, more than [`MOST_BYTES`](crate::MOST_BYTES).
///
/// # Panics
/// If the corpus cannot be read, or written.
pub fn run(reader: &Reader, plan: &Plan) -> Tried {
    let seeds = seeds(reader);
    let (watch, tried) = (Watch::default(), Mutex::new(Tried::default()));
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
                let known = tried.failed.iter().any(|failed| failed.message == message);
                if !known && tried.failed.len() < MOST_FAILED {
                    let kept = keep(reader.name, &shrunk(reader, input, &message));
                    tried.failed.push(Failed { message, kept });
                }
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        scope.spawn(|| watch.until(reader.name, threads, || done.load(Ordering::Relaxed)));
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

/// The input of a number: always the same with one version of Rust, whose hashes it is made from.
fn input(reader: &Reader, seeds: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut hash = DefaultHasher::new();
    (reader.name, seed, number).hash(&mut hash);
    let mut rng = Pcg64::seed_from_u64(hash.finish());
    let first = seeds.get(rng.random_range(0..seeds.len()));
    damage(
        &mut rng,
        first.map_or(&[], Vec::as_slice),
        seeds,
        reader.words,
    )
}

thread_local! {
    /// Where this thread panicked last, if it does so in an attempt.
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Why a reader fails, if it does.
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
    result.map_err(|payload| format!("{at}: {}", words(&*payload)))
}

/// What was said, without numbers: the same fault says others every time.
fn words(payload: &(dyn Any + Send)) -> String {
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

/// The same failure with less, as far as that is found soon.
fn shrunk(reader: &Reader, mut input: Vec<u8>, message: &str) -> Vec<u8> {
    let began = Instant::now();
    let mut piece = input.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
            if began.elapsed() > SHRINKING {
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

/// Keeps an input that failed.
pub(crate) fn keep(reader: &str, input: &[u8]) -> PathBuf {
    let path = place(reader, input);
    let folder = path.parent().expect("a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
    if let Err(error) = written {
        eprintln!("{} cannot be kept: {error}", path.display());
    }
    path
}

fn place(reader: &str, input: &[u8]) -> PathBuf {
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let name = format!("{:016x}", hash.finish());
    corpus().join("failed").join(reader).join(name)
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// What is in the files of a folder whose names end so, in the order of their names.
fn files(folder: &Path, end: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file() && path.to_string_lossy().ends_with(end));
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file of the corpus");
        match path.extension().is_some_and(|it| it == "hex") {
            true => unhexed(&bytes),
            false => bytes,
        }
    };
    paths.into_iter().map(read).collect()
}

/// The bytes of hexadecimal numbers with comments between them.
fn unhexed(text: &[u8]) -> Vec<u8> {
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
