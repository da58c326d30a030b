//! Generator of the built-in grids from the measurements:
//! `cargo run -p netflow-profile --example make-grids` in the workspace rewrites `crates/profile/data/*.toml`. A test fails if they differ
//! from its output.

mod grids;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (path, text) in grids::grids()? {
        std::fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
