//! Writer of GraphML, with the attribute names of the Internet Topology Zoo where they exist.

use std::fmt::{self, Write};

use crate::{Position, Topology};

/// Keys of nodes and links: identifier, element, name and type.
const KEYS: &[(&str, &str, &str, &str)] = &[
    ("n", "node", "name", "string"),
    ("l", "node", "label", "string"),
    ("lon", "node", "Longitude", "double"),
    ("lat", "node", "Latitude", "double"),
    ("x", "node", "x", "double"),
    ("y", "node", "y", "double"),
    ("p", "node", "population", "double"),
    ("e", "edge", "name", "string"),
    ("bw", "edge", "LinkSpeedRaw", "double"),
    ("d", "edge", "delay_s", "double"),
    ("km", "edge", "length_km", "double"),
    ("m", "edge", "metric", "double"),
    ("b", "edge", "buffer", "string"),
    ("r", "edge", "srlg", "string"),
    ("rbw", "edge", "reverse_LinkSpeedRaw", "double"),
    ("rd", "edge", "reverse_delay_s", "double"),
    ("rkm", "edge", "reverse_length_km", "double"),
    ("rm", "edge", "reverse_metric", "double"),
    ("rb", "edge", "reverse_buffer", "string"),
    ("g", "graph", "label", "string"),
];

/// Marker near the beginning of every file that this module writes.
pub const GRAPHML_HEADER: &str = "<!-- A network, written by netflow. -->";

/// Returns all nodes and links as GraphML. Demands are left out.
///
/// Reading the result yields identical nodes and links.
pub fn write(topology: &Topology) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_to(topology, &mut text);
    text
}

fn write_to(topology: &Topology, text: &mut String) -> fmt::Result {
    writeln!(text, "<?xml version=\"1.0\" encoding=\"utf-8\"?>")?;
    writeln!(text, "{GRAPHML_HEADER}")?;
    writeln!(
        text,
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
    )?;
    for (id, of, name, kind) in KEYS {
        writeln!(
            text,
            "  <key id=\"{id}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        )?;
    }
    let directed = topology.links.iter().all(|link| link.directed);
    let default = if directed { "directed" } else { "undirected" };
    writeln!(text, "  <graph edgedefault=\"{default}\">")?;
    if let Some(name) = &topology.name {
        writeln!(text, "    <data key=\"g\">{}</data>", Escaped(name))?;
    }
    for (place, node) in topology.nodes.iter().enumerate() {
        writeln!(text, "    <node id=\"{place}\">")?;
        data_element(text, "n", Some(Escaped(&node.name)))?;
        data_element(text, "l", node.label.as_deref().map(Escaped))?;
        match node.position {
            Some(Position::Degrees {
                longitude,
                latitude,
            }) => {
                data_element(text, "lon", Some(longitude))?;
                data_element(text, "lat", Some(latitude))?;
            }
            Some(Position::Plane { x, y }) => {
                data_element(text, "x", Some(x))?;
                data_element(text, "y", Some(y))?;
            }
            None => {}
        }
        data_element(text, "p", node.population)?;
        writeln!(text, "    </node>")?;
    }
    for link in &topology.links {
        let (from, to) = (link.from, link.to);
        write!(text, "    <edge source=\"{from}\" target=\"{to}\"")?;
        if link.directed != directed {
            write!(text, " directed=\"{}\"", link.directed)?;
        }
        writeln!(text, ">")?;
        data_element(text, "e", link.name.as_deref().map(Escaped))?;
        data_element(text, "bw", link.bandwidth_bps)?;
        data_element(text, "d", link.delay_s)?;
        data_element(text, "km", link.length_km)?;
        data_element(text, "m", link.metric)?;
        data_element(text, "b", link.buffer)?;
        let groups = (!link.srlg.is_empty()).then(|| link.srlg.join(";"));
        data_element(text, "r", groups.as_deref().map(Escaped))?;
        if let Some(reverse) = &link.reverse {
            data_element(text, "rbw", reverse.bandwidth_bps)?;
            data_element(text, "rd", reverse.delay_s)?;
            data_element(text, "rkm", reverse.length_km)?;
            data_element(text, "rm", reverse.metric)?;
            data_element(text, "rb", reverse.buffer)?;
        }
        writeln!(text, "    </edge>")?;
    }
    writeln!(text, "  </graph>\n</graphml>")
}

fn data_element(text: &mut String, key: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => writeln!(text, "      <data key=\"{key}\">{value}</data>"),
        None => Ok(()),
    }
}

/// A text with XML escapes. Characters that XML does not allow become replacement characters.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '\r' => f.write_str("&#13;")?,
                '\t' | '\n' => f.write_char(c)?,
                _ if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}')?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
