//! Any text is read as a scenario, or refused with places inside it; nothing panics.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A folder that does not exist: no file of this machine becomes part of the input.
    let folder = Path::new("/nonexistent");
    if let Err(problems) = netflow_scenario::from_str("fuzz.toml", text, folder, &[]) {
        assert!(problems.iter().count() > 0);
        for problem in &problems {
            let inside = problem.span.as_ref().is_none_or(|span| span.start <= span.end && span.end <= text.len());
            assert!(inside, "{problem}");
        }
    }
    // What can be read can be written, and reads back the same.
    if let Ok(scenario) = netflow_scenario::parse("fuzz.toml", text) {
        let written = scenario.to_toml().expect("a text");
        let again = netflow_scenario::parse("again.toml", &written).expect("what was written");
        assert!(again == scenario, "{written}");
    }
});
