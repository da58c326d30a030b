//! Assumptions that replace information missing from a file.

use std::collections::HashMap;

use crate::Topology;

/// An assumption, and the parts of the network that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// The assumption in words: `bandwidth 10 Gbit/s, for the label is "10Gbps"`.
    pub text: String,
    /// The parts that it concerns. An empty list means the whole file.
    pub subjects: Vec<Subject>,
}

/// A part of a network, with its line in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// Index of a node, and line number.
    Node(usize, usize),
    /// Index of a link, and line number.
    Link(usize, usize),
    /// Description of another part, and line number.
    Other(String, usize),
}

/// Number of parts that a short listing names.
const MAX_LISTED_SUBJECTS: usize = 3;

impl Assumption {
    /// Returns one line: the text, the number of parts that it concerns, and the first of them.
    pub fn summary(&self, topology: &Topology) -> String {
        self.with_subjects(topology, MAX_LISTED_SUBJECTS)
    }

    /// Returns the text with all parts that it concerns.
    pub fn full_text(&self, topology: &Topology) -> String {
        self.with_subjects(topology, usize::MAX)
    }

    fn with_subjects(&self, topology: &Topology, most: usize) -> String {
        let shown = self.subjects.iter().take(most);
        let mut names: Vec<String> = shown.map(|about| about.name(topology)).collect();
        let rest = self.subjects.len().saturating_sub(most);
        if rest > 0 {
            names.push(format!("and {rest} more"));
        }
        if names.is_empty() {
            self.text.clone()
        } else {
            format!("{}: {}", self.text, names.join(", "))
        }
    }
}

impl Subject {
    fn name(&self, topology: &Topology) -> String {
        let (name, line) = match self {
            Subject::Node(node, line) => {
                let name = topology.nodes.get(*node).map(|node| node.name.clone());
                (name.unwrap_or_default(), *line)
            }
            Subject::Link(link, line) => {
                let link = topology.links.get(*link);
                let name = link.map(|link| topology.link_name(link));
                (name.unwrap_or_default(), *line)
            }
            Subject::Other(name, line) => (name.clone(), *line),
        };
        match (line, name.as_str()) {
            (0, _) => name,
            (line, "") => format!("line {line}"),
            (line, _) => format!("{name} (line {line})"),
        }
    }
}

/// A list of assumptions under construction. Assumptions of equal text are merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assumptions {
    list: Vec<Assumption>,
    index_by_text: HashMap<String, usize>,
}

impl Assumptions {
    /// Continues a list of earlier assumptions.
    pub(crate) fn continue_list(list: Vec<Assumption>) -> Assumptions {
        let texts = list.iter().map(|it| it.text.clone());
        Assumptions {
            index_by_text: texts.zip(0..).collect(),
            list,
        }
    }

    pub(crate) fn add_general(&mut self, text: impl Into<String>) {
        self.entry(text.into());
    }

    pub(crate) fn add(&mut self, text: impl Into<String>, about: Subject) {
        self.entry(text.into()).subjects.push(about);
    }

    fn entry(&mut self, text: String) -> &mut Assumption {
        let next = self.list.len();
        let place = *self.index_by_text.entry(text.clone()).or_insert(next);
        if place == next {
            let about = Vec::new();
            self.list.push(Assumption {
                text,
                subjects: about,
            });
        }
        &mut self.list[place]
    }

    pub(crate) fn finish(self) -> Vec<Assumption> {
        self.list
    }
}
