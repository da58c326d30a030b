//! Fuzzer of all readers of netflow.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use netflow_hostile::{FuzzOptions, READERS, Reader, replay, run};

/// Tries everything that netflow reads with many inputs that nobody meant
#[derive(Parser)]
struct Arguments {
    /// How many inputs, of all readers together
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    inputs: u64,

    /// For how long at most, all readers together
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,

    /// Which inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Only these readers
    #[arg(value_name = "READER", value_parser = READERS.iter().map(|reader| reader.name).collect::<Vec<_>>())]
    readers: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted = |reader: &&Reader| {
        let names = &arguments.readers;
        names.is_empty() || names.iter().any(|name| name == reader.name)
    };
    let readers: Vec<&Reader> = READERS.iter().filter(wanted).collect();
    let share = readers.len() as u32;
    let plan = FuzzOptions {
        seed: arguments.seed,
        inputs: arguments.inputs.div_ceil(u64::from(share)),
        time: arguments.seconds.map_or(Duration::MAX, |seconds| {
            Duration::from_secs(seconds) / share
        }),
        threads: thread::available_parallelism().map_or(1, usize::from),
    };
    println!("seed {}", plan.seed);
    let mut bad = 0;
    for reader in readers {
        if let Err(failed) = replay(reader) {
            bad += 1;
            println!(
                "{}: {}\n  as before: {}",
                reader.name,
                failed.message,
                failed.input_file.display()
            );
        }
        let began = Instant::now();
        let tried = run(reader, &plan);
        let (slowest, number) = tried.slowest.unwrap_or_default();
        println!(
            "{}: {} inputs in {:.1} s; the slowest, number {number}, took {slowest:?}; at most {} MB of \
             memory until now",
            reader.name,
            tried.inputs,
            began.elapsed().as_secs_f64(),
            tried
                .peak_bytes
                .map_or("?".to_owned(), |bytes| (bytes >> 20).to_string()),
        );
        for failed in &tried.failures {
            bad += 1;
            println!(
                "  FAILED at {}\n    kept as {}",
                failed.message,
                failed.input_file.display()
            );
        }
    }
    match bad {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
