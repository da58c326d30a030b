//! Results page of the study:
//!
//! ```sh
//! cargo run --release -p study-conditioners             # writes studies/conditioners/README.md
//! cargo run --release -p study-conditioners -- --sweep  # throughput of F1 and F2 over the RTT of F2, as CSV
//! ```

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use study_conditioners::{page, root};

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
    if std::env::args().any(|argument| argument == "--sweep") {
        print!("{}", page::sweep_csv()?);
        return Ok(());
    }
    fs::write(root().join("studies/conditioners/README.md"), page::page()?)?;
    Ok(())
}
