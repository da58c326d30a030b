//! Models of short transfers compared with ns-2 and Linux, row by row:
//!
//! ```sh
//! cargo run --release -p study-short-transfers   # writes studies/short-transfers/README.md
//! ```

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use study_short_transfers::{evaluate_all, models::TRIALS, page, root};

fn main() -> ExitCode {
    match study() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn study() -> Result<(), Box<dyn Error>> {
    let page = page::page(&evaluate_all(TRIALS)?);
    fs::write(root().join("studies/short-transfers/README.md"), page)?;
    Ok(())
}
