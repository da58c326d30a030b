//! Former names of keys and words in files, tables and options.

use netflow_scenario::{CompiledScenario, FORMER_NAMES, ProblemKind, from_str};

const FORMER: &str = r#"
[simulation]
duration = "10 s"
model = "packets"

[[link]]
from = "A"
to = "B"
bandwidth = "10 Mbit/s"
delay = "10 ms"

[[connection]]
name = "bbr"
from = "A"
to = "B"
source = { stack = "linux-6", congestion = "bbr" }

[[connection]]
name = "reno"
from = "A"
to = "B"
source.window = "reno"

[[workload]]
name = "users"
application = "http"
interarrival = "1 s"
clients = "A"
servers = "B"
think-time = { exponential = { mean = "5 s", most = "60 s" } }
reply-size = { pareto = { shape = 1.2, least = "1 KB", most = "1 MB" } }
"#;

fn compiled(text: &str, options: &[&str]) -> CompiledScenario {
    let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
    let compiled = from_str("test.toml", text, ".".as_ref(), &options);
    compiled.unwrap_or_else(|problems| panic!("{problems}"))
}

fn traffic(scenario: &CompiledScenario) -> String {
    let network = &scenario.network;
    let connections = network.connections().map(|id| network.connection_spec(id));
    let connections: Vec<_> = connections.map(|it| &it.source).collect();
    format!("{:?} {connections:?}", scenario.options)
}

#[test]
fn former_names_are_read_with_a_warning_and_can_be_rewritten() {
    let former = compiled(FORMER, &[]);
    let kinds: Vec<_> = former.warnings.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ProblemKind::Renamed; 6], "{:?}", former.warnings);
    let (renewed, count) = FORMER_NAMES.renew(FORMER);
    assert_eq!(count, 6);
    let present = compiled(&renewed, &[]);
    assert!(present.warnings.is_empty(), "{:?}", present.warnings);
    assert_eq!(traffic(&former), traffic(&present));
}

#[test]
fn options_may_use_former_names() {
    let (renewed, _) = FORMER_NAMES.renew(FORMER);
    for (former, present) in [
        ("simulation.model=window", "simulation.model=packet"),
        (
            "connection.reno.source.stack=linux-6",
            "connection.reno.source.tcp=linux-6",
        ),
        (
            "connection.bbr.source={ window = 'newreno' }",
            "connection.bbr.source={ ns2-tcp = 'newreno' }",
        ),
        (
            "workload.users.think-time.exponential.most=30 s",
            "workload.users.think-time.exponential.max=30 s",
        ),
    ] {
        let of = |option: &str| traffic(&compiled(&renewed, &[option]));
        assert_eq!(of(former), of(present), "{former}");
    }
}

#[test]
fn columns_may_have_former_names() {
    let directory = tempfile::tempdir().unwrap();
    let text = |column: &str| {
        let table = format!("name,from,to,{column}\nx,A,B,reno\n");
        std::fs::write(directory.path().join("connections.csv"), table).unwrap();
        let text = "simulation = { duration = \"1 s\" }\ninclude = { connections = \"connections.csv\" }\n\
                    [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"1 Mbit/s\"\n";
        let found = from_str("test.toml", text, directory.path(), &[]);
        traffic(&found.unwrap_or_else(|problems| panic!("{problems}")))
    };
    assert_eq!(text("source.window"), text("source.ns2-tcp"));
    assert_eq!(text("window"), text("ns2-tcp"));
}
