//! The file formats that can be imported.

use std::path::Path;

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
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 9] = [
        Format::GraphMl,
        Format::Gml,
        Format::SndlibNative,
        Format::SndlibXml,
        Format::Repetita,
        Format::NodeLink,
        Format::EdgeList,
        Format::Ns2,
        Format::Tc,
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
                _ => None,
            }
        })
    }

    fn by_content(text: &str) -> Option<Format> {
        if text.starts_with('<') {
            return match root(text) {
                "graphml" => Some(Format::GraphMl),
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
            _ if first.starts_with('[') && text.contains("\"kind\"") => Some(Format::Tc),
            _ if first.starts_with('{') => Some(Format::NodeLink),
            _ => None,
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
