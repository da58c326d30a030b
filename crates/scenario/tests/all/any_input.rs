//! Random damage to scenarios and tables, which must never make the reader panic.

use std::fs;
use std::sync::LazyLock;

use netflow_scenario::generate::{SizeRequest, TopologyKind};
use netflow_scenario::{ProblemKind, from_str, load};
use proptest::prelude::*;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

/// Texts to be damaged: the shipped scenarios, generated ones, and one with every key.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts = vec![EVERY_KEY.to_owned()];
    for entry in fs::read_dir(FOLDER).expect("the folder of scenarios") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            texts.push(fs::read_to_string(path).expect("a text"));
        }
    }
    texts.sort();
    texts.extend(
        TopologyKind::ALL.map(|kind| kind.write(&SizeRequest::default()).expect("a scenario")),
    );
    texts
});

const EVERY_KEY: &str = r#"
[simulation]
duration = "10 s"
warmup = "2 s"
step = "20 ms"
packet-size = "1000 B"
overhead = { bytes = "10 B", minimum = "84 B", cells = "atm" }
seed = 1
model = "fluid"
acks = true
burstiness-interval = "100 ms"
hour = 20.5
[[node]]
name = "A"
label = "Ä"
x = 1
y = -2.5e3
[[link]]
from = "A"
to = "B"
bandwidth = "1000 pkt/s"
delay = "20 ms"
overhead = "38 B"
buffer = "150 KB"
duplex = true
policer = { rate = "20 Mbit/s", burst = "32 KB" }
shaper = { rate = "20 Mbit/s", burst = "32 KB" }
queue = { discipline = "red", min = "10 pkt", max = "40 pkt", max-p = 0.1, weight = 0.002, gentle = true }
[[connection]]
name = "c1"
from = "A"
to = "B"
source = { profile = "ns-reno" }
start = "0 s"
stop = "8 s"
size = "1.5 MB"
count = 3
max-window = "64 pkt"
packet-size = "512 B"
path = ["A", "B"]
return-path = ["B", "A"]
acks = true
delayed-ack = true
[[workload]]
name = "web"
application = "http"
interarrival = "500 ms"
clients = ["A"]
servers = "B"
start = "1 s"
stop = "9 s"
source = { ns2-tcp = "newreno", initial-window = "10 pkt", min-rto = "200 ms" }
packet-size = "1500 B"
stack = "linux-6"
request-size = { table = [["200 B", 0], ["300 B", 0.7], ["1 KB", 1]] }
reply-size = { pareto = { shape = 1.2, min = "1 KB", max = "1 MB" } }
files-per-page = { exponential = { mean = 3, max = 30 } }
think-time = { log-normal = { median = "15 s", sigma = 1.3, max = "15 min" } }
pages-per-visit = { constant = 2.5 }
[[workload]]
name = "terminals"
application = "telnet"
interarrival = "1 s"
clients = "A"
servers = "B"
keystrokes = { constant = 10 }
keystroke-gap = { constant = "1 s" }
keystroke-size = { constant = "1 B" }
echo-size = { table = [["1 B", 0.5], ["1 KB", 1]] }
[[demand]]
from = "B"
to = "A"
rate = "1 Mbit/s"
day = "office"
[[day]]
name = "office"
factors = [0.3, "20 %", 1, 0.8]
[[event]]
at = "5 s"
link = "A<->B"
set = { bandwidth = "4 Mbit/s", loss = { random = "1 %", ber = 1e-6, burst = 16 } }
"#;

const LINKS: &str = "# links\nfrom,to,bandwidth,delay,buffer,queue.discipline,queue.min,queue.max\n\
    A,B,8 Mbit/s,20 ms,\"100 pkt\",red,5 pkt,20 pkt\nB,\"C \"\"x\"\"\",4 Mbit/s,,,,,\n";
const CONNECTIONS: &str =
    "name,from,to,profile,constant,path,count\nu1,A,B,ns-reno,,A > B,3\nu2,B,A,,1 Mbit/s,,\n";

/// Kind of damage to a text; positions are fractions of its length.
#[derive(Clone, Debug)]
enum Damage {
    DeleteBytes(f64, usize),
    DeleteLine(f64),
    RepeatLine(f64),
    Insert(f64, String),
    MoveLine(f64, f64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || 0.0..1.0;
    prop_oneof![
        (at(), 1..20_usize).prop_map(|(at, length)| Damage::DeleteBytes(at, length)),
        at().prop_map(Damage::DeleteLine),
        at().prop_map(Damage::RepeatLine),
        (at(), "\\PC{1,3}|[\\[\\]{}=\",.>\n-]{1,3}|nan|-1|1e999|0")
            .prop_map(|(at, text)| Damage::Insert(at, text)),
        (at(), at()).prop_map(|(from, to)| Damage::MoveLine(from, to)),
    ]
}

fn apply(text: &str, damages: &[Damage]) -> String {
    let mut text = text.to_owned();
    for damage in damages {
        let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
        let line = |at: &f64| (at * lines.len() as f64) as usize;
        let byte = |at: &f64| {
            let mut byte = (at * text.len() as f64) as usize;
            while !text.is_char_boundary(byte) {
                byte -= 1;
            }
            byte
        };
        match damage {
            _ if lines.is_empty() => return text,
            Damage::DeleteBytes(at, length) => {
                let start = byte(at);
                let mut end = (start + length).min(text.len());
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                text.replace_range(start..end, "");
                continue;
            }
            Damage::Insert(at, inserted) => {
                let at = byte(at);
                text.insert_str(at, inserted);
                continue;
            }
            Damage::DeleteLine(at) => drop(lines.remove(line(at))),
            Damage::RepeatLine(at) => {
                let at = line(at);
                lines.insert(at, lines[at].clone());
            }
            Damage::MoveLine(from, to) => {
                let (from, to) = (line(from), line(to));
                let moved = lines.remove(from);
                lines.insert(to.min(lines.len()), moved);
            }
        }
        text = lines.join("\n");
    }
    text
}

proptest! {
    #[test]
    fn damaged_scenarios_are_read_or_rejected_with_location(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
        option in prop::option::of("(simulation|link.A->B|connection.c1)\\.(step.min|queue.max|source.constant|count)=\\PC{0,6}"),
    ) {
        let text = apply(which.get::<String>(&TEXTS), &damages);
        let options: Vec<String> = option.into_iter().collect();
        if let Err(problems) = from_str("damaged.toml", &text, FOLDER.as_ref(), &options) {
            prop_assert!(problems.iter().count() > 0);
            for problem in &problems {
                let span = problem.span.clone();
                if let Some(span) = span.filter(|_| problem.file.as_deref() == Some("damaged.toml".as_ref())) {
                    prop_assert!(span.start <= span.end && span.end <= text.len(), "{problem} at {span:?}");
                }
                let elsewhere = problem.message.starts_with("--set") || problem.kind == ProblemKind::More;
                prop_assert!(problem.line.is_some() || elsewhere, "{problem}");
            }
        }
    }

    #[test]
    fn arbitrary_text_is_read_or_rejected(text in "\\PC*") {
        let _ = from_str("any.toml", &text, FOLDER.as_ref(), &[]);
    }

    #[test]
    fn damaged_tables_are_read_or_rejected(
        links in prop::collection::vec(damage(), 0..3),
        connections in prop::collection::vec(damage(), 0..3),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        write("links.csv", &apply(LINKS, &links));
        write("connections.csv", &apply(CONNECTIONS, &connections));
        write("topology.toml", "[simulation]\nduration = \"10 s\"\n[include]\nlinks = \"links.csv\"\nconnections = \"connections.csv\"\n");
        if let Err(problems) = load(&folder.path().join("topology.toml"), &[]) {
            prop_assert!(problems.iter().all(|problem| problem.line.is_some()), "{problems}");
        }
    }
}
