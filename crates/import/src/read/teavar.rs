//! Reader of the `topology.txt` of TeaVaR: rows `to_node from_node capacity prob_failure`.

use std::collections::BTreeSet;

use netflow_document::ProblemKind;

use crate::attributes::{self, Attribute, is_link_attribute, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::lines::{Word, lines, words};
use crate::topology_builder::TopologyBuilder;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let text = draft.text.trim_start_matches('\u{feff}');
    let skipped = draft.text.len() - text.len();
    let rows = lines(text).map(|(start, line)| words(skipped + start, line));
    let mut rows = rows.filter(|row| !row.is_empty());
    let head = rows.next().unwrap_or_default();
    let rows: Vec<Vec<Word<'_>>> = rows.collect();
    let ends =
        ["to_node", "from_node"].map(|name| head.iter().take(2).any(|word| word.text == name));
    if ends != [true, true] {
        let help = "write a first row `to_node from_node capacity prob_failure`";
        let message = "the first two columns are not the nodes of links";
        return Err(ImportError::new(ProblemKind::Missing, 0..0, message).help(help));
    }
    if head[0].text == "to_node" {
        let text = "the first column (`to_node`) is read as the sender of a link, as TeaVaR does";
        draft.assumptions.add_general(text);
    }
    for word in head[2..]
        .iter()
        .filter(|word| !is_link_attribute(word.text))
    {
        let text = format!("ignoring column `{}`", truncate_text(word.text));
        draft.assumptions.add_general(text);
    }
    let mut nodes = BTreeSet::new();
    for row in &rows {
        if row.len() != head.len() {
            let span = row[0].span.start..row[row.len() - 1].span.end;
            let message = format!(
                "this row has {} cells, but the first row has {}",
                row.len(),
                head.len()
            );
            return Err(ImportError::syntax(span, message));
        }
        for word in &row[..2] {
            let number: u32 = word.text.parse().map_err(|_| {
                let message = format!("`{}` is not the number of a node", truncate_text(word.text));
                ImportError::value(word.span.clone(), message)
            })?;
            nodes.insert(number);
        }
    }
    for number in nodes {
        draft.add_node(&number.to_string(), &[], 0..0)?;
    }
    for row in &rows {
        // A number may have leading zeros.
        let end = |word: &Word<'_>| {
            let number: u32 = word.text.parse().unwrap_or_default();
            draft.existing_node(&number.to_string(), word.span.clone())
        };
        let ends = (end(&row[0])?, end(&row[1])?);
        let said = head[2..].iter().zip(&row[2..]);
        let said: Vec<Attribute<'_>> = said
            .map(|(name, word)| Attribute::new(name.text, word.text, word.span.clone()))
            .collect();
        let span = row[0].span.start..row[row.len() - 1].span.end;
        draft.add_link(ends, true, attributes::parse_link(&said)?, span)?;
    }
    Ok(())
}
