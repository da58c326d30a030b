//! Validation of explicit paths.

use netflow_document::{ProblemKind, Spanned};
use netflow_network::NodeId;

use super::Validator;

/// Invalid path, whose errors were reported.
pub(super) struct InvalidPath;

impl Validator<'_> {
    /// Returns the nodes of a path between the two `ends`, if one is given.
    pub(super) fn path(
        &mut self,
        path: Option<&Spanned<Vec<Spanned<String>>>>,
        ends: Option<(NodeId, NodeId)>,
        key: &str,
    ) -> Result<Option<Vec<NodeId>>, InvalidPath> {
        let Some(path) = path else { return Ok(None) };
        let mut nodes = Vec::with_capacity(path.len());
        for name in path.iter() {
            nodes.push(self.known_node(name));
        }
        let nodes: Option<Vec<NodeId>> = nodes.into_iter().collect();
        let (Some(nodes), Some((from, to))) = (nodes, ends) else {
            return Err(InvalidPath);
        };
        // The reader rejects paths of fewer than two nodes.
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err(InvalidPath);
        };
        let mut good = true;
        for (wanted, end, name, verb) in [
            (from, nodes.first(), first, "begins"),
            (to, nodes.last(), last, "ends"),
        ] {
            if end != Some(&wanted) {
                good = false;
                let must = self.node_name(wanted).to_owned();
                let message = format!(
                    "`{key}` {verb} at `{}`, but must {} at `{must}`",
                    **name,
                    &verb[..verb.len() - 1]
                );
                let help = match key {
                    "path" => "a path runs from `from` to `to`",
                    _ => "a return path runs from `to` to `from`",
                };
                self.error(ProblemKind::Conflict, name.place(), message, help);
            }
        }
        for (i, name) in path.iter().enumerate() {
            if nodes[..i].contains(&nodes[i]) {
                good = false;
                let message = format!("`{key}` contains `{}` twice", **name);
                self.error(
                    ProblemKind::Conflict,
                    name.place(),
                    message,
                    "a path cannot have loops",
                );
            }
        }
        for (pair, names) in nodes.windows(2).zip(path.windows(2)) {
            let (&[a, b], [_, name]) = (pair, names) else {
                continue;
            };
            if a != b && !self.links.contains_key(&(a, b)) && !self.is_incomplete {
                good = false;
                self.report_missing_link(a, b, name, key);
            }
        }
        if good {
            Ok(Some(nodes))
        } else {
            Err(InvalidPath)
        }
    }

    fn report_missing_link(&mut self, a: NodeId, b: NodeId, name: &Spanned<String>, key: &str) {
        let from = self.node_name(a).to_owned();
        let message = format!(
            "`{key}` uses link `{from}->{}`, which does not exist",
            self.node_name(b)
        );
        let leaving = self.link_list.iter().filter(|link| link.from == a);
        let mut ends: Vec<&str> = leaving.map(|link| self.node_name(link.to)).collect();
        ends.truncate(10);
        let help = if ends.is_empty() {
            format!("`{from}` has no outgoing links")
        } else {
            format!("links from `{from}` end at: {}", ends.join(", "))
        };
        self.error(ProblemKind::UnknownName, name.place(), message, &help);
    }
}
