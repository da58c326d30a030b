//! XML parsing with limits, and access to elements.

use std::ops::Range;

use netflow_document::ProblemKind;
use roxmltree::{Document, Node, ParsingOptions};

use crate::errors::{ImportError, ReadResult};

/// Maximum number of elements and texts in a document.
const MAX_XML_NODES: u32 = 20_000_000;

/// Parses a document. Documents with a DTD are rejected.
pub(super) fn parse(text: &str) -> ReadResult<Document<'_>> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_XML_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        let at = byte_of(text, place.row as usize, place.col as usize);
        let message = error.to_string();
        // The position is reported separately.
        let message = message.split(" at ").next().unwrap_or(&message).to_owned();
        match error {
            roxmltree::Error::DtdDetected => {
                let message = "the document declares its own types and entities";
                ImportError::new(ProblemKind::NotAvailable, at, message)
                    .help("remove the <!DOCTYPE ...>")
            }
            _ => ImportError::syntax(at, format!("invalid XML: {message}")),
        }
    })
}

/// Returns the byte at a row and a column, both from 1.
fn byte_of(text: &str, row: usize, column: usize) -> Range<usize> {
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines
        .by_ref()
        .take(row.saturating_sub(1))
        .map(str::len)
        .sum();
    let line = lines.next().unwrap_or_default();
    let column = line.char_indices().nth(column.saturating_sub(1));
    let at = start + column.map_or(line.len(), |(at, _)| at);
    at..at
}

/// Returns the byte range of the start tag of an element, for error messages.
pub(super) fn tag(node: Node<'_, '_>) -> Range<usize> {
    let range = node.range();
    let text = node.document().input_text();
    let whole = text.get(range.clone()).unwrap_or_default();
    let end = whole.find('>').map_or(whole.len(), |end| end + 1);
    range.start..range.start + end
}

/// Returns the child elements of this name.
pub(super) fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children()
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the first child element of this name.
pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// Returns the text of an element.
pub(super) fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.children().filter(Node::is_text);
    texts.filter_map(|it| it.text()).collect()
}

/// Returns a required attribute.
pub(super) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> ReadResult<&'a str> {
    node.attribute(name).ok_or_else(|| {
        let message = format!("<{}> has no `{name}`", node.tag_name().name());
        ImportError::new(ProblemKind::Missing, tag(node), message)
    })
}
