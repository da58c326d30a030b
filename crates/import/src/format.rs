//! The file formats that can be imported.

use std::path::Path;

use crate::read::{database_level, has_cables, has_edges, has_interfaces, is_matrix};

/// A file format of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GraphML, as written by the Internet Topology Zoo and NetworkX.
    GraphMl,
    /// GML, as written by the Internet Topology Zoo and NetworkX.
    Gml,
    /// The native format of SNDlib.
    SndlibNative,
    /// The XML format of SNDlib.
    SndlibXml,
    /// The `.graph` and `.demands` files of Repetita and DEFO.
    Repetita,
    /// The node-link JSON of NetworkX.
    NodeLink,
    /// CSV tables of edges, or of demands.
    EdgeList,
    /// The `simplex-link` and `duplex-link` lines of an ns-2 script.
    Ns2,
    /// Output of `tc`, or its commands.
    Tc,
    /// The `.n2p` files of Net2Plan.
    Net2Plan,
    /// The `topology.txt` of TeaVaR.
    TeaVar,
    /// A demand matrix of numbers only.
    Matrix,
    /// Topology files of containerlab.
    Containerlab,
    /// Lab topologies of netlab.
    Netlab,
    /// Tables of cables and interfaces of NetBox.
    NetBox,
    /// Neighbours of LLDP.
    Lldp,
    /// Router LSAs of OSPF.
    Ospf,
    /// Link-state database of IS-IS.
    Isis,
    /// Edges of Batfish.
    Batfish,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 19] = [
        Format::GraphMl,
        Format::Gml,
        Format::SndlibNative,
        Format::SndlibXml,
        Format::Repetita,
        Format::NodeLink,
        Format::EdgeList,
        Format::Ns2,
        Format::Tc,
        Format::Net2Plan,
        Format::TeaVar,
        Format::Matrix,
        Format::Containerlab,
        Format::Netlab,
        Format::NetBox,
        Format::Lldp,
        Format::Ospf,
        Format::Isis,
        Format::Batfish,
    ];

    /// Returns its name, such as `graphml`.
    pub fn name(self) -> &'static str {
        match self {
            Format::GraphMl => "graphml",
            Format::Gml => "gml",
            Format::SndlibNative => "sndlib",
            Format::SndlibXml => "sndlib-xml",
            Format::Repetita => "repetita",
            Format::NodeLink => "node-link",
            Format::EdgeList => "csv",
            Format::Ns2 => "ns2",
            Format::Tc => "tc",
            Format::Net2Plan => "net2plan",
            Format::TeaVar => "teavar",
            Format::Matrix => "matrix",
            Format::Containerlab => "containerlab",
            Format::Netlab => "netlab",
            Format::NetBox => "netbox",
            Format::Lldp => "lldp",
            Format::Ospf => "ospf",
            Format::Isis => "isis",
            Format::Batfish => "batfish",
        }
    }

    /// Returns its description in one line.
    pub fn description(self) -> &'static str {
        match self {
            Format::GraphMl => "GraphML, as in the Internet Topology Zoo",
            Format::Gml => "GML, as in the Internet Topology Zoo",
            Format::SndlibNative => "native format of SNDlib",
            Format::SndlibXml => "SNDlib's XML",
            Format::Repetita => "graphs and demands of Repetita and DEFO",
            Format::NodeLink => "node-link JSON of NetworkX, as in topohub",
            Format::EdgeList => "CSV table of links or demands",
            Format::Ns2 => "simplex-link and duplex-link lines of an ns-2 script",
            Format::Tc => "queueing disciplines of a Linux interface: output or commands of tc",
            Format::Net2Plan => "networks of Net2Plan, .n2p",
            Format::TeaVar => "topology.txt of TeaVaR",
            Format::Matrix => "demand matrix of numbers only",
            Format::Containerlab => "topology file of containerlab",
            Format::Netlab => "lab topology of netlab",
            Format::NetBox => "CSV of NetBox: cables, interfaces",
            Format::Lldp => "neighbours of LLDP: JSON of lldpctl",
            Format::Ospf => "router LSAs of OSPF: show ip ospf database router",
            Format::Isis => "database of IS-IS: show isis database detail",
            Format::Batfish => "edges of Batfish as JSON or CSV",
        }
    }

    /// Detects the format of a file by the beginning of its content, otherwise by its file name.
    pub fn of(path: &Path, text: &str) -> Option<Format> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        Format::by_content(text).or_else(|| {
            let extension = path.extension()?.to_str()?.to_ascii_lowercase();
            match extension.as_str() {
                "graphml" => Some(Format::GraphMl),
                "gml" => Some(Format::Gml),
                "graph" | "demands" => Some(Format::Repetita),
                "json" => Some(Format::NodeLink),
                "csv" | "tsv" => Some(Format::EdgeList),
                "tcl" => Some(Format::Ns2),
                "n2p" => Some(Format::Net2Plan),
                _ => None,
            }
        })
    }

    fn by_content(text: &str) -> Option<Format> {
        if text.starts_with('<') {
            return match root(text) {
                "graphml" => Some(Format::GraphMl),
                "network" if text.contains("<networkStructure") => Some(Format::SndlibXml),
                "network" if text.contains("<layer") || text.contains("<physicalTopology") => {
                    Some(Format::Net2Plan)
                }
                "network" => Some(Format::SndlibXml),
                _ => None,
            };
        }
        let mut words = text.split_whitespace();
        let (first, second) = (words.next()?, words.next().unwrap_or_default());
        match first {
            "?SNDlib" => Some(Format::SndlibNative),
            "NODES" | "DEMANDS" if second.parse::<u64>().is_ok() => Some(Format::Repetita),
            "graph" | "Creator" | "graph["
                if second.starts_with(['[', '"']) || first == "graph[" =>
            {
                Some(Format::Gml)
            }
            "qdisc" | "class" | "tc" => Some(Format::Tc),
            "#!/bin/sh" if text.contains("\ntc ") => Some(Format::Tc),
            _ if first.starts_with('[') && text.contains("\"Remote_Interface\"") => {
                Some(Format::Batfish)
            }
            _ if first.starts_with('[') && text.contains("\"kind\"") => Some(Format::Tc),
            _ if first.starts_with('{') => Some(match text {
                _ if text.contains("\"nodes\"") => Format::NodeLink,
                _ if text.contains("\"routerLinkStates\"") => Format::Ospf,
                _ if text.contains("\"lldp\"") => Format::Lldp,
                _ => Format::NodeLink,
            }),
            "to_node" | "from_node" if matches!(second, "to_node" | "from_node") => {
                Some(Format::TeaVar)
            }
            _ if is_matrix(text) => Some(Format::Matrix),
            _ if has_cables(text) || has_interfaces(text) => Some(Format::NetBox),
            _ if has_edges(text) => Some(Format::Batfish),
            _ => Format::by_line(text),
        }
    }

    /// Detects a format by lines that may follow others.
    fn by_line(text: &str) -> Option<Format> {
        const MAX_LINES: usize = 10_000;
        let lines = || text.lines().take(MAX_LINES).map(str::trim_end);
        let has_key = |key: &str| {
            lines().any(|line| {
                line.strip_prefix(key)
                    .is_some_and(|rest| rest.starts_with(':'))
            })
        };
        let is_ospf = |line: &str| line.trim_start().starts_with("Router Link States (Area");
        if lines().any(is_ospf) {
            Some(Format::Ospf)
        } else if lines().any(|line| database_level(line).is_some()) {
            Some(Format::Isis)
        } else if has_key("topology") {
            Some(Format::Containerlab)
        } else if has_key("nodes") && has_key("links") {
            Some(Format::Netlab)
        } else {
            None
        }
    }
}

/// Returns the name of the root element of an XML document.
fn root(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = match text {
            _ if text.starts_with("<?") => "?>",
            _ if text.starts_with("<!--") => "-->",
            _ if text.starts_with("<!") => ">",
            _ => break,
        };
        match text.split_once(end) {
            Some((_, rest)) => text = rest,
            None => return "",
        }
    }
    let name = text.strip_prefix('<').unwrap_or_default();
    let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_content() {
        let of = |name: &str, text: &str| Format::of(Path::new(name), text);
        let graphml = "\u{feff}<?xml version=\"1.0\"?>\n<!-- <network> -->\n<graphml xmlns=\"\">";
        assert_eq!(of("a.xml", graphml), Some(Format::GraphMl));
        assert_eq!(
            of("a.xml", "<network version=\"1.0\">"),
            Some(Format::SndlibXml)
        );
        assert_eq!(
            of("a.txt", "?SNDlib native format; type"),
            Some(Format::SndlibNative)
        );
        assert_eq!(of("a", "NODES 3\nlabel x y"), Some(Format::Repetita));
        assert_eq!(of("a.txt", "graph [\n"), Some(Format::Gml));
        assert_eq!(of("a.txt", "{\"nodes\": []}"), Some(Format::NodeLink));
        assert_eq!(of("a.CSV", "from,to"), Some(Format::EdgeList));
        assert_eq!(of("a.tcl", "set ns [new Simulator]"), Some(Format::Ns2));
        assert_eq!(of("a", "qdisc netem 8001: root"), Some(Format::Tc));
        assert_eq!(of("a", "tc qdisc add dev eth0"), Some(Format::Tc));
        assert_eq!(of("a.json", "[{\"kind\":\"netem\"}]"), Some(Format::Tc));
        assert_eq!(of("a.xml", "<html>"), None);
        assert_eq!(of("a.txt", "hello"), None);
    }
}
