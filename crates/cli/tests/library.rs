//! Test that `netflow run` writes the same files as the library.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use common::{Workplace, files};
use netflow::evaluate::{Directory, Settings};
use netflow::results::{Format, Manifest};
use netflow::scenario::FileAccess;

#[test]
fn library_and_command_write_equal_results() {
    let place = Workplace::new();
    let setting = "connection.*.source={ns2-tcp='reno'}".to_owned();
    for (seeds, format) in [(1, Format::Csv), (3, Format::Jsonl)] {
        let (of_command, of_library) = (place.path("command"), place.path("library"));
        let run = format!(
            "run dumbbell.toml -q -o command --interval 0.3s --from 2s --to 15s --threads 2 --seeds {seeds} \
             --series {format} --set {setting}"
        );
        place.expect(&run, 0);
        let path = place.path("dumbbell.toml");
        let scenario =
            netflow::evaluate::load(&path, from_ref(&setting), FileAccess::BelowDirectory).unwrap();
        let settings = Settings {
            seeds,
            every_s: 0.3,
            from_s: Some(2.0),
            to_s: Some(15.0),
            threads: Some(2),
            directory: Some(Directory {
                format,
                // Runs with several seeds have no classes.
                classes: seeds > 1,
                ..Directory::at(&of_library)
            }),
            ..Settings::default()
        };
        netflow::evaluate(&scenario, &settings).unwrap();

        let (command, library) = (files(&of_command), files(&of_library));
        let names: Vec<&PathBuf> = command.iter().map(|(name, _)| name).collect();
        assert!(names.len() >= 5, "{names:?}");
        assert!(command == library, "{names:?}");
        let manifest = |directory: &Path| -> Manifest {
            let text = fs::read_to_string(directory.join(Manifest::FILE)).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let (command, by_library) = (manifest(&of_command), manifest(&of_library));
        // Only the runtime and the name of the scenario file may differ.
        let as_command = Manifest {
            wall_time_s: command.wall_time_s,
            scenario: command.scenario.clone(),
            sources: command.sources.clone(),
            ..by_library
        };
        assert_eq!(command, as_command);
        fs::remove_dir_all(of_command).unwrap();
        fs::remove_dir_all(of_library).unwrap();
    }
}
