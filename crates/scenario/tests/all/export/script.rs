//! Readable part of a script, which describes the network.

use netflow_scenario::export::{Ns2Options, Ns2Trace, ns2};

use super::ns2::compile_scenario;

const SCENARIO: &str = r#"
[simulation]
duration = "60 s"
packet-size = "1000 B"

[[link]]
from = "A"
to = "R"
bandwidth = "10 Mbit/s"
delay = "5 ms"

[[link]]
from = "R"
to = "new york"
bandwidth = "1.5 Mbit/s"
delay = "30 ms"
buffer = "25 KB"
duplex = false

[[link]]
from = "new york"
to = "R"
bandwidth = "1.5 Mbit/s"
delay = "30 ms"
duplex = false
queue = { discipline = "red", min = "10 pkt", max = "40 pkt", max-p = 0.1, gentle = true }

[[connection]]
name = "web"
from = "A"
to = "new york"
source = { profile = "ns-sack-w64" }
delayed-ack = true
count = 3
start = "1 s"
stop = "50 s"

[[connection]]
name = "voice"
from = "A"
to = "new york"
source = { constant = "64 kbit/s" }
packet-size = "200 B"

[[connection]]
name = "typing"
from = "A"
to = "new york"
source = { profile = "linux-cubic" }
application = { poisson = "4 pkt/s" }
acks = false

[[event]]
at = "20 s"
link = "A->R"
set = { bandwidth = "5 Mbit/s", loss = "1 %" }

[[event]]
at = "25 s"
link = "A->R"
set = { loss = { ber = 1e-6 } }

[[event]]
at = "30 s"
link = "A<->R"
set = { delay = "80 ms" }
"#;

/// The description of the network equals `tests/export/script.tcl`; `NETFLOW_BLESS=1` rewrites that
/// file, whose diff must be reviewed.
#[test]
fn script_describes_whole_network() {
    let options = Ns2Options {
        trace: Ns2Trace::Links(vec!["R->new york".to_owned()]),
        ..Ns2Options::default()
    };
    let script = ns2(&compile_scenario(SCENARIO), &options).unwrap();
    let (top, rest) = script.split_once("\n# ---- commands").unwrap();
    let (_, rest) = rest.split_once("\n# ---- nodes").unwrap();
    let (network, _) = rest.split_once("\n# ---- statistics").unwrap();
    let described = format!("{top}\n# …\n\n# ---- nodes{network}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/export/script.tcl");
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        std::fs::write(path, &described).unwrap();
    }
    assert_eq!(described, std::fs::read_to_string(path).unwrap());
}
