//! JSON schema of the crate: the file equals the generated one.
//!
//! `UPDATE=1 cargo test -p netflow-scenario --test all schema` rewrites it.

use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.json");

#[test]
fn schema_file_is_up_to_date() {
    let made = netflow_scenario::schema() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, &made).expect("a written schema");
    }
    let kept = std::fs::read_to_string(FILE).expect("schema.json");
    assert!(
        made == kept,
        "schema.json is out of date: run this test with UPDATE=1"
    );
}

#[test]
fn schema_has_descriptions() {
    let schema: Value = serde_json::from_str(&netflow_scenario::schema()).expect("JSON");
    let mut objects = vec![("scenario", &schema)];
    let definitions = schema["$defs"].as_object().expect("definitions");
    objects.extend(
        definitions
            .iter()
            .map(|(name, schema)| (name.as_str(), schema)),
    );
    for (name, object) in objects {
        assert!(
            object["description"].is_string() || object["oneOf"].is_array(),
            "{name}"
        );
        let properties = object["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}: {key}");
        }
    }
    assert!(!netflow_scenario::schema().contains("null"));
}

/// The reader's keys, listed in the message about an unknown key, are those of the schema.
#[test]
fn reader_accepts_schema_keys() {
    let schema: Value = serde_json::from_str(&netflow_scenario::schema()).expect("JSON");
    let keys = |schema: &Value| -> Vec<String> {
        let mut keys: Vec<String> = schema["properties"]
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        keys.sort();
        keys
    };
    let text = "zzz = 1\n[simulation]\nzzz = 1\n[include]\nzzz = 1\n[[node]]\nzzz = 1\n\
        [[link]]\nzzz = 1\nqueue = { discipline = \"red\", zzz = 1 }\n[[connection]]\nzzz = 1\n\
        [[demand]]\nzzz = 1\n[[day]]\nzzz = 1\n[[workload]]\nzzz = 1\n[[event]]\nzzz = 1\nset = { zzz = 1 }\n";
    let problems = netflow_scenario::parse("zzz.toml", text).unwrap_err();
    let allowed = |place: &str| -> Vec<String> {
        let problem = problems
            .iter()
            .find(|problem| problem.message == format!("unknown key `zzz` in {place}"));
        let help = problem
            .and_then(|problem| problem.help.clone())
            .unwrap_or_else(|| panic!("{place}: {problems}"));
        let list = help.rsplit(": ").next().expect("a list");
        let mut keys: Vec<String> = list.split(", ").map(ToOwned::to_owned).collect();
        keys.sort();
        keys
    };
    let definition = |name: &str| &schema["$defs"][name];
    assert_eq!(allowed("the scenario"), keys(&schema));
    for (place, name) in [
        ("[simulation]", "Simulation"),
        ("[include]", "Include"),
        ("this [[node]]", "Node"),
        ("this [[link]]", "Link"),
        ("`queue`", "Red"),
        ("this [[connection]]", "Connection"),
        ("this [[demand]]", "Demand"),
        ("this [[day]]", "Day"),
        ("this [[workload]]", "Workload"),
        ("this [[event]]", "Event"),
        ("`set`", "Set"),
    ] {
        assert_eq!(allowed(place), keys(definition(name)), "{place}");
    }
}
