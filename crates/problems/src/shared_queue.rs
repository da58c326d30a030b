//! Small scenario of the packet model with randomness and an event.

/// Scenario file: three TCP transfers and a Poisson source at one queue, whose link has half the
/// bandwidth after 6 s.
pub const SHARED_QUEUE: &str = r#"
[simulation]
duration = "20 s"
burstiness-interval = "200 ms"

[[link]]
from = "a"
to = "b"
bandwidth = "4 Mbit/s"
delay = "20 ms"
buffer = "20 pkt"

[[connection]]
name = "tcp"
from = "a"
to = "b"
count = 3
source = { ns2-tcp = "newreno" }

[[connection]]
name = "noise"
from = "a"
to = "b"
source = { poisson = "50 pkt/s" }
acks = false

[[event]]
at = "6 s"
link = "a->b"
set = { bandwidth = "2 Mbit/s" }
"#;
