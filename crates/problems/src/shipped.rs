//! Scenarios shipped with the program.

use std::path::{Path, PathBuf};

/// Returns their files, in order.
pub fn shipped_scenarios() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder of scenarios") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
