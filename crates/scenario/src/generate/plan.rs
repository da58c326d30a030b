//! Generated scenario before it is written as text.

use std::fmt::Write;

use netflow_units::{BitsPerSecond, Seconds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{SizeRequest, TopologyKind};

/// Contents of the scenario, in the order of writing.
pub(super) struct Plan {
    pub(super) kind: TopologyKind,
    pub(super) wishes: SizeRequest,
    /// Comment lines below the title.
    pub(super) description: &'static str,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    pub(super) connections: Vec<Connection>,
}

/// Node; only nodes with a position are written.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) position: Option<(f64, f64)>,
}

pub(super) struct Link {
    /// Indices in the list of nodes.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) bandwidth_mbps: f64,
    pub(super) delay_ms: f64,
    pub(super) buffer_pkts: usize,
    pub(super) remark: &'static str,
}

pub(super) struct Connection {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) start_s: f64,
    pub(super) remark: &'static str,
}

impl Node {
    pub(super) fn named(name: String) -> Node {
        Node {
            name,
            position: None,
        }
    }
}

impl Link {
    /// Creates a link with a buffer of 100 ms, at least 20 packets.
    pub(super) fn new(from: usize, to: usize, bandwidth_mbps: f64, delay_ms: f64) -> Link {
        let packets_per_second = bandwidth_mbps * 1e6 / 8000.0;
        Link {
            from,
            to,
            bandwidth_mbps,
            delay_ms: (delay_ms * 10.0).round().max(1.0) / 10.0,
            buffer_pkts: ((packets_per_second / 10.0).round() as usize).max(20),
            remark: "",
        }
    }

    pub(super) fn remark(self, remark: &'static str) -> Link {
        Link { remark, ..self }
    }
}

/// Returns a random start in the first five seconds, so that connections do not start together.
pub(super) fn random_start_s(rng: &mut ChaCha8Rng) -> f64 {
    rng.random_range(0..500_u32) as f64 / 100.0
}

/// Returns a random pair of different indices below `n`.
pub(super) fn random_pair(n: usize, rng: &mut ChaCha8Rng) -> (usize, usize) {
    let from = rng.random_range(0..n);
    let to = rng.random_range(0..n - 1);
    (from, if to >= from { to + 1 } else { to })
}

impl Plan {
    /// Returns the scenario's text.
    pub(super) fn write(&self) -> String {
        let mut text =
            String::with_capacity(120 * (self.links.len() + self.connections.len()) + 1000);
        // Writing to a string cannot fail.
        let _ = self.write_to(&mut text);
        text
    }

    fn write_to(&self, text: &mut String) -> std::fmt::Result {
        let Plan { kind, wishes, .. } = self;
        writeln!(text, "# {kind}: {}.", kind.description())?;
        writeln!(text, "#")?;
        for line in self.description.lines() {
            writeln!(text, "# {line}")?;
        }
        writeln!(text, "#")?;
        writeln!(
            text,
            "# Command: netflow new {kind} --nodes {} --links {} --connections {} --seed {}",
            self.nodes.len(),
            self.links.len(),
            self.connections.len(),
            wishes.seed
        )?;
        text.push_str(SIMULATION);
        self.write_nodes(text)?;
        self.write_links(text)?;
        self.write_connections(text)
    }

    fn write_nodes(&self, text: &mut String) -> std::fmt::Result {
        if self.nodes.iter().any(|node| node.position.is_some()) {
            writeln!(
                text,
                "\n# Positions of nodes in pictures; the links define the nodes."
            )?;
        }
        for node in &self.nodes {
            if let Some((x, y)) = node.position {
                writeln!(
                    text,
                    "\n[[node]]\nname = \"{}\"\nx    = {x}\ny    = {y}",
                    node.name
                )?;
            }
        }
        Ok(())
    }

    fn write_links(&self, text: &mut String) -> std::fmt::Result {
        text.push_str(LINKS);
        for link in &self.links {
            let remark = if link.remark.is_empty() {
                "[[link]]"
            } else {
                "[[link]]                    # "
            };
            writeln!(text, "\n{remark}{}", link.remark)?;
            writeln!(text, "from      = \"{}\"", self.name(link.from))?;
            writeln!(text, "to        = \"{}\"", self.name(link.to))?;
            writeln!(
                text,
                "bandwidth = \"{}\"",
                BitsPerSecond(link.bandwidth_mbps * 1e6)
            )?;
            let delay_s = (link.delay_ms * 10.0).round() / 10_000.0;
            writeln!(text, "delay     = \"{}\"", Seconds(delay_s))?;
            writeln!(text, "buffer    = \"{} pkt\"", link.buffer_pkts)?;
        }
        Ok(())
    }

    fn write_connections(&self, text: &mut String) -> std::fmt::Result {
        text.push_str(CONNECTIONS);
        for (i, connection) in self.connections.iter().enumerate() {
            let remark = match connection.remark {
                "" => "[[connection]]",
                _ => "[[connection]]              # ",
            };
            writeln!(text, "\n{remark}{}", connection.remark)?;
            writeln!(text, "name       = \"c{}\"", i + 1)?;
            writeln!(text, "from       = \"{}\"", self.name(connection.from))?;
            writeln!(text, "to         = \"{}\"", self.name(connection.to))?;
            writeln!(text, "source     = {{ profile = \"ns-reno\" }}")?;
            writeln!(text, "start      = \"{}\"", Seconds(connection.start_s))?;
            writeln!(text, "max-window = \"64 pkt\"")?;
        }
        Ok(())
    }

    fn name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("", |node| &node.name)
    }
}

const SIMULATION: &str = "
[simulation]
duration    = \"60 s\"
packet-size = \"1000 B\"      # on the wire
";

const LINKS: &str = "
# Links lead both ways unless they say `duplex = false`; each direction has its own queue, in which
# the packet in service counts.
";

const CONNECTIONS: &str = "
# TCP as it was measured; `netflow profile list` shows what else there is. Other sources:
# source = { constant = \"2 Mbit/s\" }   or   source = { poisson = \"100 pkt/s\" }
";
