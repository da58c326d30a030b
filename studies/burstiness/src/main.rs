//! Effect of TCP on the burstiness of aggregate traffic, compared with ns-2:
//!
//! ```sh
//! cargo run --release -p study-burstiness   # writes studies/burstiness/README.md; a minute
//! ```

use std::error::Error;
use std::fs;

use study_burstiness::page::{CellResult, page};
use study_burstiness::reference::{Reference, root};
use study_burstiness::{cells, mean};

const SEEDS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let reference = Reference::read()?;
    let mut judged: Vec<CellResult> = Vec::new();
    for cell in cells() {
        let Some(ns) = reference.of(cell) else {
            continue;
        };
        let mean = mean(cell, SEEDS);
        println!("{cell:?}: {mean:?}");
        judged.push((cell, mean, ns));
    }
    let text = page(&judged, SEEDS, include_str!("head.md"));
    fs::write(root().join("studies/burstiness/README.md"), text)?;
    Ok(())
}
