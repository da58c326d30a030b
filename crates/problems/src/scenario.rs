//! Random scenario files: every model, queue, source, aggregate, workload and event,
//! with unusual numbers.

use std::fmt::Write;

use netflow_profile::builtin_names;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Scenario file and its recording parameters.
#[derive(Clone, Debug)]
pub struct RandomScenario {
    /// Text of the file.
    pub text: String,
    /// Recording interval in seconds; rarely a divisor of the duration.
    pub every_s: f64,
    /// Duration of the run in seconds.
    pub duration_s: f64,
}

/// Maximum number of packets that all links together can carry during a run of the packet model.
const MAX_PACKETS: f64 = 20_000.0;

/// Approximate maximum number of steps of the fluid model.
const MAX_STEPS: f64 = 1500.0;

fn log_uniform(rng: &mut impl Rng, range: std::ops::Range<f64>) -> f64 {
    rng.random_range(range.start.ln()..range.end.ln()).exp()
}

/// Returns a random element.
fn choose_one<T: Copy>(rng: &mut impl Rng, of: &[T]) -> T {
    *of.choose(rng).expect("there is always one")
}

/// Formats a number with few digits or with many.
fn format_number(rng: &mut impl Rng, x: f64) -> String {
    match rng.random_range(0..3) {
        0 => format!("{x:.2e}"),
        1 => format!("{x:.0}"),
        _ => format!("{x}"),
    }
}

/// Formats a time in a random unit.
fn format_time(rng: &mut impl Rng, s: f64) -> String {
    let (unit, per_s) = choose_one(rng, &[("s", 1.0), ("ms", 1e3), ("us", 1e6)]);
    format!("\"{} {unit}\"", s * per_s)
}

/// Scenario under construction.
struct ScenarioWriter {
    rng: ChaCha8Rng,
    text: String,
    nodes: usize,
    pairs: Vec<(usize, usize)>,
    /// Bandwidth of the slowest link and of all links together, and the shortest round-trip time of a
    /// link.
    min_bandwidth_bps: f64,
    total_bandwidth_bps: f64,
    min_rtt_s: f64,
    duration_s: f64,
    model: &'static str,
    has_classes: bool,
    aggregates: usize,
}

/// Returns the scenario of this seed, which is always valid.
pub fn random_scenario(seed: u64) -> RandomScenario {
    let mut rng = ChaCha8Rng::seed_from_u64(crate::population_seed(seed));
    let nodes = rng.random_range(2..8_usize);
    let mut pairs: Vec<(usize, usize)> = (1..nodes).map(|i| (rng.random_range(0..i), i)).collect();
    for _ in 0..rng.random_range(0..3) {
        let (a, b) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
        let pair = (a.min(b), a.max(b));
        if a != b && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let model = choose_one(
        &mut rng,
        &["fluid", "fluid", "window", "window", "fluid-literal"],
    );
    let mut making = ScenarioWriter {
        text: String::new(),
        nodes,
        pairs,
        min_bandwidth_bps: f64::INFINITY,
        total_bandwidth_bps: 0.0,
        min_rtt_s: f64::INFINITY,
        duration_s: 0.0,
        model,
        has_classes: model == "fluid" && rng.random_bool(0.15),
        aggregates: match model {
            "fluid-literal" => 0,
            _ if rng.random_bool(0.3) => rng.random_range(1..3),
            _ => 0,
        },
        rng,
    };
    making.links();
    making.duration();
    making.aggregates();
    making.connections();
    making.workloads();
    making.events();
    let header = making.simulation();
    let duration_s = making.duration_s;
    let every_s = duration_s * log_uniform(&mut making.rng, 0.003..1.5);
    RandomScenario {
        text: header + &making.text,
        every_s: every_s.max(1e-6),
        duration_s,
    }
}

impl ScenarioWriter {
    fn push_key(&mut self, key: &str, value: impl std::fmt::Display) {
        writeln!(self.text, "{key} = {value}").expect("strings take everything");
    }

    fn chance(&mut self, p: f64) -> bool {
        self.rng.random_bool(p)
    }

    fn links(&mut self) {
        let bandwidth_bps = log_uniform(&mut self.rng, 1e5..1e9);
        let delay_s = log_uniform(&mut self.rng, 1e-5..0.2);
        for (a, b) in self.pairs.clone() {
            let bps = bandwidth_bps * log_uniform(&mut self.rng, 0.2..5.0);
            let delay_s = delay_s * log_uniform(&mut self.rng, 0.2..5.0);
            self.min_bandwidth_bps = self.min_bandwidth_bps.min(bps);
            self.total_bandwidth_bps += 2.0 * bps;
            self.min_rtt_s = self.min_rtt_s.min(2.0 * delay_s + 16_000.0 / bps);
            self.text.push_str("\n[[link]]\n");
            self.push_key("from", format!("\"n{a}\""));
            self.push_key("to", format!("\"n{b}\""));
            let value = format_number(&mut self.rng, bps);
            self.push_key("bandwidth", format!("\"{value} bit/s\""));
            if self.chance(0.95) {
                let value = format_time(&mut self.rng, delay_s);
                self.push_key("delay", value);
            }
            let room = log_uniform(&mut self.rng, 2.0..500.0);
            if self.has_classes && self.chance(0.5) {
                let queue = choose_one(&mut self.rng, &["wfq", "priority"]);
                self.push_key("queue", format!("\"{queue}\""));
                for name in ["K1", "K2"] {
                    self.text.push_str("[[link.class]]\n");
                    self.push_key("name", format!("\"{name}\""));
                    if queue == "wfq" {
                        let weight = self.rng.random_range(0.1..9.0);
                        self.push_key("weight", weight);
                    }
                }
                continue;
            }
            let room = match self.rng.random_range(0..3) {
                0 => format!("\"{} pkt\"", room.ceil()),
                1 => format!("\"{} KB\"", (room * 1.5).max(3.5)),
                _ => format!("\"{} pkt\"", (room * 2.0).ceil() / 2.0),
            };
            self.push_key("buffer", room);
            self.queue();
        }
    }

    fn queue(&mut self) {
        let curve = "min = \"5 pkt\", max = \"15 pkt\", max-p";
        match self.rng.random_range(0..10) {
            0 | 1 => {
                let gentle = self.chance(0.5);
                self.push_key(
                    "queue",
                    format!("{{ discipline = \"red\", {curve} = 0.1, weight = 0.002, gentle = {gentle} }}"),
                );
            }
            2 if self.aggregates > 0 => {
                let p = self.rng.random_range(0.05..0.5);
                self.push_key(
                    "queue",
                    format!(
                        "{{ discipline = \"rio\", dp0 = {{ {curve} = 0.02 }}, dp1 = {{ {curve} = 0.05 }}, dp2 = {{ {curve} = {p} }} }}"
                    ),
                );
            }
            _ => {}
        }
    }

    /// Chooses a duration within the limits on packets and steps.
    fn duration(&mut self) {
        let packets_s = MAX_PACKETS * 8000.0 / self.total_bandwidth_bps;
        let steps_s = MAX_STEPS * self.min_rtt_s / 12.0;
        let most_s = match self.model {
            "window" => packets_s,
            _ => steps_s,
        };
        let wanted_s = log_uniform(&mut self.rng, 0.02..30.0);
        self.duration_s = wanted_s.min(most_s).max(1e-3);
    }

    fn aggregates(&mut self) {
        for i in 0..self.aggregates {
            self.text.push_str("\n[[aggregate]]\n");
            self.push_key("name", format!("\"A{i}\""));
            let conditioners = [
                "standard", "rtt", "rtt-rto", "rtt-sw", "sw", "srtcm", "trtcm",
            ];
            let conditioner = choose_one(&mut self.rng, &conditioners);
            self.push_key("conditioner", format!("\"{conditioner}\""));
            let rate_bps = self.min_bandwidth_bps * self.rng.random_range(0.05..1.0);
            self.push_key("committed-rate", format!("\"{rate_bps} bit/s\""));
            if ["standard", "sw", "trtcm"].contains(&conditioner) {
                let peak_bps = rate_bps * self.rng.random_range(1.0..3.0);
                self.push_key("peak-rate", format!("\"{peak_bps} bit/s\""));
            }
        }
    }

    fn source(&mut self) -> String {
        let kind = self.rng.random_range(0..10);
        if self.model == "window" && kind < 6 {
            let tcp = choose_one(
                &mut self.rng,
                &["tahoe", "reno", "newreno", "vegas", "cubic"],
            );
            let delayed = self.chance(0.3);
            return format!("{{ ns2-tcp = \"{tcp}\", delayed-ack = {delayed} }}");
        }
        let rate_bps = self.min_bandwidth_bps * log_uniform(&mut self.rng, 0.01..1.5);
        match kind {
            8 => format!("{{ constant = \"{rate_bps} bit/s\" }}"),
            9 => format!("{{ poisson = \"{rate_bps} bit/s\" }}"),
            _ => format!(
                "{{ profile = \"{}\" }}",
                choose_one(&mut self.rng, builtin_names())
            ),
        }
    }

    fn connections(&mut self) {
        for i in 0..self.rng.random_range(self.aggregates.max(1)..7) {
            let from = self.rng.random_range(0..self.nodes);
            let to = (from + self.rng.random_range(1..self.nodes)) % self.nodes;
            let source = self.source();
            let answered = !source.contains("bit/s");
            self.text.push_str("\n[[connection]]\n");
            if self.chance(0.7) {
                self.push_key("name", format!("\"flow {i} é\""));
            }
            self.push_key("from", format!("\"n{from}\""));
            self.push_key("to", format!("\"n{to}\""));
            self.push_key("source", &source);
            let start_s = if self.chance(0.5) {
                self.rng.random_range(0.0..0.6) * self.duration_s
            } else {
                0.0
            };
            if start_s > 0.0 {
                let value = format_time(&mut self.rng, start_s);
                self.push_key("start", value);
            }
            if self.chance(0.2) {
                let stop_s = start_s + self.rng.random_range(0.05..0.5) * self.duration_s;
                let value = format_time(&mut self.rng, stop_s);
                self.push_key("stop", value);
            }
            if self.chance(0.2) {
                let size = log_uniform(&mut self.rng, 1.0..2000.0).ceil();
                self.push_key("size", format!("\"{size} pkt\""));
            }
            if self.chance(0.3) {
                let count = self.rng.random_range(1..8);
                self.push_key("count", count);
            }
            let size = choose_one(&mut self.rng, &[200.0, 576.0, 1000.0, 1237.0, 1500.0]);
            if self.chance(0.3) {
                self.push_key("packet-size", format!("\"{size} B\""));
            }
            if answered && self.chance(0.2) {
                let window = log_uniform(&mut self.rng, 1.0..300.0).ceil();
                self.push_key("max-window", format!("\"{window} pkt\""));
            }
            // Every aggregate has at least one member.
            if self.aggregates > 0 && (i < self.aggregates || self.chance(0.6)) {
                self.push_key("aggregate", format!("\"A{}\"", i % self.aggregates));
            }
        }
    }

    fn workloads(&mut self) {
        if self.model == "fluid-literal" || self.chance(0.85) {
            return;
        }
        let application = choose_one(&mut self.rng, &["http", "telnet"]);
        self.text.push_str("\n[[workload]]\nname = \"users\"\n");
        self.push_key("application", format!("\"{application}\""));
        // Two or three users per run, whatever the duration.
        let value = format_time(&mut self.rng, 0.4 * self.duration_s);
        self.push_key("interarrival", value);
        self.push_key("clients", "\"n0\"");
        self.push_key("servers", "\"n1\"");
    }

    fn events(&mut self) {
        if self.chance(0.6) {
            return;
        }
        let (a, b) = choose_one(&mut self.rng, &self.pairs.clone());
        let (a, b) = if self.chance(0.5) { (a, b) } else { (b, a) };
        let mut at_s = 0.0;
        for i in 0..self.rng.random_range(1..5) {
            at_s += self.rng.random_range(0.01..0.25) * self.duration_s;
            let at = format_time(&mut self.rng, at_s);
            self.text.push_str("\n[[event]]\n");
            self.push_key("at", at);
            self.push_key("link", format!("\"n{a}->n{b}\""));
            match (self.chance(0.4), i % 2) {
                (true, _) => {
                    let bps = self.min_bandwidth_bps * log_uniform(&mut self.rng, 0.3..3.0);
                    self.push_key("set", format!("{{ bandwidth = \"{bps} bit/s\" }}"));
                }
                (false, 0) => self.push_key("down", true),
                (false, _) => self.push_key("up", true),
            }
        }
    }

    fn simulation(&mut self) -> String {
        let rest = std::mem::take(&mut self.text);
        self.text.push_str("[simulation]\n");
        self.push_key("duration", format!("\"{} s\"", self.duration_s));
        self.push_key("model", format!("\"{}\"", self.model));
        let seed = self.rng.random_range(0..1_u64 << 40);
        self.push_key("seed", seed);
        if self.chance(0.3) {
            let size = choose_one(&mut self.rng, &[500.0, 1000.0, 1500.0]);
            self.push_key("packet-size", format!("\"{size} B\""));
        }
        if self.chance(0.3) {
            let acks = self.chance(0.5);
            self.push_key("acks", acks);
        }
        match self.model {
            "fluid" => {
                if self.chance(0.2) {
                    let step_s = self.duration_s * self.rng.random_range(0.002..0.9);
                    let value = format_time(&mut self.rng, step_s);
                    self.push_key("step", value);
                }
            }
            "window" => {
                if self.chance(0.3) {
                    let value = format_time(&mut self.rng, self.duration_s / 17.0);
                    self.push_key("burstiness-interval", value);
                }
            }
            _ => {
                let value = format_time(&mut self.rng, self.duration_s / 333.0);
                self.push_key("step", value);
            }
        }
        std::mem::replace(&mut self.text, rest)
    }
}
