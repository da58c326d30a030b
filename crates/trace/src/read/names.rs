//! Names of the nodes of a trace.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Maximum size of all names together, in bytes; later names are ignored.
const MAX_BYTES: usize = 16 << 20;

/// Node names by node number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeNames {
    names: BTreeMap<u32, String>,
    bytes: usize,
}

impl NodeNames {
    /// Creates an empty table: the name of every node is its number.
    pub const fn new() -> NodeNames {
        NodeNames {
            names: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Sets the name of a node.
    pub fn set(&mut self, node: u32, name: String) {
        self.names.insert(node, name);
    }

    /// Returns whether no node has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the name of a node.
    pub fn name(&self, node: u32) -> Cow<'_, str> {
        match self.names.get(&node) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(node.to_string()),
        }
    }

    /// Returns the link as `FROM->TO`.
    pub fn link(&self, link: crate::Link) -> String {
        format!("{}->{}", self.name(link.from), self.name(link.to))
    }

    /// Parses a comment `# netflow node NUMBER NAME`. Returns `false` for other lines.
    pub(super) fn parse_comment(&mut self, line: &[u8]) -> bool {
        let Some(rest) = line.strip_prefix(b"# netflow node ") else {
            return false;
        };
        let Some(space) = memchr::memchr(b' ', rest) else {
            return false;
        };
        let number = std::str::from_utf8(rest.get(..space).unwrap_or_default()).ok();
        let Some(node) = number.and_then(|number| number.parse().ok()) else {
            return false;
        };
        let name = rest.get(space + 1..).unwrap_or_default();
        // An entry takes about 64 bytes in addition to its name.
        self.bytes += name.len() + 64;
        if self.bytes <= MAX_BYTES {
            self.set(node, unescaped(&String::from_utf8_lossy(name)));
        }
        true
    }
}

/// Replaces the escapes `
/// `, `\r` and `\\`.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next()) {
            ('\\', Some(escaped @ ('n' | 'r' | '\\'))) => {
                letters.next();
                out.push(match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    _ => '\\',
                });
            }
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_nodes() {
        let mut names = NodeNames::new();
        assert!(names.parse_comment(b"# netflow node 3 a b\\\\n\\nc"));
        assert!(!names.parse_comment(b"# netflow node x y"));
        assert!(!names.parse_comment(b"# netflow node 4"));
        assert_eq!(names.name(3), "a b\\n\nc");
        assert_eq!(names.link(crate::Link { from: 3, to: 4 }), "a b\\n\nc->4");
    }
}
