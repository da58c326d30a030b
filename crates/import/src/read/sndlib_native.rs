//! Reader of the native format of SNDlib: sections of rows with words and parenthesized lists.

use std::ops::Range;

use netflow_document::ProblemKind;

use crate::Subject;
use crate::attributes::{Attribute, LinkAttributes, StatedQuantity, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::lines::{Word, lines};
use crate::topology_builder::TopologyBuilder;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let text = draft.text;
    // The open section and its byte range.
    let mut open: Option<(Section, Range<usize>)> = None;
    for (start, line) in lines(text) {
        let line = line.trim_start_matches('\u{feff}');
        if let Some(name) = line.trim().strip_prefix("# network ") {
            draft.name = Some(truncate_text(name));
        }
        let line = line.split('#').next().unwrap_or_default();
        let words = words(start, line);
        let Some(first) = words.first() else { continue };
        if first.text == "?SNDlib" {
            if !line.contains("network") {
                let message = "the SNDlib file has no network";
                let help = "give a file with a network: solutions and models are not supported";
                return Err(ImportError::new(
                    ProblemKind::NotAvailable,
                    first.span.clone(),
                    message,
                )
                .help(help));
            }
            continue;
        }
        match (&open, words.as_slice()) {
            (None, [name, bracket]) if bracket.text == "(" => {
                open = Some((Section::from_name(name)?, name.span.clone()));
            }
            (None, [name, open, close]) if open.text == "(" && close.text == ")" => {
                Section::from_name(name)?;
            }
            (None, _) => {
                let message = format!("`{}` is outside all sections", truncate_text(line));
                let help =
                    "sections begin with META (, NODES (, LINKS (, DEMANDS (, ADMISSIBLE_PATHS (";
                return Err(ImportError::syntax(first.span.clone(), message).help(help));
            }
            (Some(_), [close]) if close.text == ")" => open = None,
            (Some((section, _)), row) => match section {
                Section::Meta => meta(draft, row),
                Section::Nodes => node(draft, row)?,
                Section::Links => link(draft, row)?,
                Section::Demands => demand(draft, row)?,
                Section::Paths => {}
            },
        }
    }
    match open {
        Some((_, span)) => {
            Err(ImportError::syntax(span, "this section is never closed").help("end it with `)`"))
        }
        None => Ok(()),
    }
}

#[derive(Clone, Copy)]
enum Section {
    Meta,
    Nodes,
    Links,
    Demands,
    Paths,
}

impl Section {
    fn from_name(name: &Word<'_>) -> ReadResult<Section> {
        match name.text {
            "META" => Ok(Section::Meta),
            "NODES" => Ok(Section::Nodes),
            "LINKS" => Ok(Section::Links),
            "DEMANDS" => Ok(Section::Demands),
            "ADMISSIBLE_PATHS" => Ok(Section::Paths),
            other => {
                let message = format!("unknown section `{}`", truncate_text(other));
                let names = ["META", "NODES", "LINKS", "DEMANDS", "ADMISSIBLE_PATHS"];
                let near = netflow_units::nearest_name(other, names.into_iter(), &[]);
                let help = near.map(|near| format!("did you mean `{near}`? "));
                let help = format!("{}sections: {}", help.unwrap_or_default(), names.join(", "));
                Err(ImportError::syntax(name.span.clone(), message).help(help))
            }
        }
    }
}

/// Splits a line into words and brackets, which need no white space around them.
fn words(start: usize, line: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    for word in crate::lines::words(start, line) {
        let mut from = 0;
        let brackets = word.text.match_indices(['(', ')']);
        for (at, bracket) in brackets.chain([(word.text.len(), "")]) {
            for (from, to) in [(from, at), (at, at + bracket.len())] {
                if from < to {
                    found.push(Word {
                        text: &word.text[from..to],
                        span: word.span.start + from..word.span.start + to,
                    });
                }
            }
            from = at + bracket.len();
        }
    }
    found
}

/// Reads a row such as `unit = MBITPERSEC`.
fn meta(draft: &mut TopologyBuilder<'_>, row: &[Word<'_>]) {
    if let [key, equals, value] = row
        && equals.text == "="
    {
        if key.text == "unit" {
            draft.rate_unit = match value.text {
                "BITPERSEC" => Some(1.0),
                "KBITPERSEC" => Some(1e3),
                "MBITPERSEC" => Some(1e6),
                "GBITPERSEC" => Some(1e9),
                _ => draft.rate_unit,
            };
        }
        draft
            .origin
            .push((truncate_text(key.text), truncate_text(value.text)));
    }
}

/// The words before, within and after the first brackets of a row.
type Components<'r, 't> = (&'r [Word<'t>], &'r [Word<'t>], &'r [Word<'t>]);

fn split_components<'r, 't>(row: &'r [Word<'t>]) -> Option<Components<'r, 't>> {
    let open = row.iter().position(|word| word.text == "(")?;
    let close = open + row[open..].iter().position(|word| word.text == ")")?;
    Some((&row[..open], &row[open + 1..close], &row[close + 1..]))
}

fn row_span(row: &[Word<'_>]) -> Range<usize> {
    match (row.first(), row.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => 0..0,
    }
}

fn row_error(row: &[Word<'_>], what: &str, like: &str) -> ImportError {
    ImportError::syntax(row_span(row), format!("invalid {what}")).help(format!("write {like}"))
}

/// Reads a node: `Aachen ( 6.04 50.76 )`.
fn node(draft: &mut TopologyBuilder<'_>, row: &[Word<'_>]) -> ReadResult<()> {
    let like = "NAME ( LONGITUDE LATITUDE )";
    let Some(id) = row.first() else { return Ok(()) };
    let attributes = match split_components(row) {
        None if row.len() == 1 => Vec::new(),
        Some(([_], [x, y], _)) => vec![
            Attribute::new("x", x.text, x.span.clone()),
            Attribute::new("y", y.text, y.span.clone()),
        ],
        _ => return Err(row_error(row, "node", like)),
    };
    for attribute in &attributes {
        number(&attribute.value, &attribute.span)?;
    }
    draft.add_node(id.text, &attributes, row_span(row))?;
    if let Some((_, _, rest)) = split_components(row)
        && let Some(first) = rest.first()
    {
        let text = format!(
            "ignoring unknown text `{}` after a node",
            truncate_text(first.text)
        );
        let about = Subject::Node(draft.node_count() - 1, draft.line(&first.span));
        draft.assumptions.add(text, about);
    }
    Ok(())
}

/// Reads a link: `L1 ( A B ) pre-installed cost routing-cost setup-cost ( {capacity cost}* )`.
fn link(draft: &mut TopologyBuilder<'_>, row: &[Word<'_>]) -> ReadResult<()> {
    let like = "NAME ( FROM TO ) PRE-INSTALLED COST ROUTING-COST SETUP-COST ( CAPACITY COST ... )";
    let Some(([id], [from, to], rest)) = split_components(row) else {
        return Err(row_error(row, "link", like));
    };
    let Some((numbers, modules, [])) = split_components(rest) else {
        return Err(row_error(row, "link", like));
    };
    let [installed, _, _, _] = numbers else {
        return Err(row_error(row, "link", like));
    };
    let ends = (
        draft.existing_node(from.text, from.span.clone())?,
        draft.existing_node(to.text, to.span.clone())?,
    );
    if modules.len() % 2 != 0 {
        return Err(row_error(
            modules,
            "list of modules",
            "pairs of CAPACITY and COST",
        ));
    }
    let installed = capacity(installed)?;
    let offered = modules
        .chunks(2)
        .filter_map(|module| module.first())
        .map(capacity);
    let offered: Vec<Option<f64>> = offered.collect::<ReadResult<_>>()?;
    let offered: Vec<f64> = offered.into_iter().flatten().collect();
    let mut says = LinkAttributes {
        name: Some(id.text.to_owned()),
        ..LinkAttributes::default()
    };
    says.bandwidth = link_capacity(installed, &offered)
        .map(|capacity| (StatedQuantity::WithoutUnit(capacity), row_span(row)));
    remark(draft, installed, &offered);
    draft.add_link(ends, false, says, row_span(row))
}

/// Returns the capacity of a link: the installed capacity, otherwise that of the smallest module.
pub(super) fn link_capacity(installed: Option<f64>, offered: &[f64]) -> Option<f64> {
    let above_0 = |capacity: &f64| *capacity > 0.0;
    let smallest = offered.iter().copied().filter(above_0).reduce(f64::min);
    installed.filter(above_0).or(smallest)
}

/// Lists the assumptions about directions and capacity.
pub(super) fn remark(draft: &mut TopologyBuilder<'_>, installed: Option<f64>, offered: &[f64]) {
    draft.assumptions.add_general(
        "links are read as bidirectional, because SNDlib files do not define directions",
    );
    if !installed.is_some_and(|capacity| capacity > 0.0) && !offered.is_empty() {
        let text = "a link without pre-installed capacity gets the capacity of one smallest module";
        draft.assumptions.add_general(text);
    }
}

/// Parses a capacity; `None` for `UNLIMITED`.
fn capacity(word: &Word<'_>) -> ReadResult<Option<f64>> {
    match word.text {
        "UNLIMITED" => Ok(None),
        text => {
            let capacity = number(text, &word.span)?;
            if capacity >= 0.0 {
                Ok(Some(capacity))
            } else {
                Err(ImportError::value(
                    word.span.clone(),
                    "the capacity is negative",
                ))
            }
        }
    }
}

pub(super) fn number(text: &str, span: &Range<usize>) -> ReadResult<f64> {
    let number: Option<f64> = text.trim().parse().ok();
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or_else(|| {
        ImportError::value(
            span.clone(),
            format!("`{}` is not a number", truncate_text(text)),
        )
    })
}

/// Reads a demand: `D1 ( A B ) 1 34.00 UNLIMITED`.
fn demand(draft: &mut TopologyBuilder<'_>, row: &[Word<'_>]) -> ReadResult<()> {
    let like = "NAME ( FROM TO ) ROUTING-UNIT VALUE LONGEST-PATH";
    let Some(([_], [from, to], [unit, value, _])) = split_components(row) else {
        return Err(row_error(row, "demand", like));
    };
    let ends = (
        draft.existing_node(from.text, from.span.clone())?,
        draft.existing_node(to.text, to.span.clone())?,
    );
    let rate = number(unit.text, &unit.span)? * number(value.text, &value.span)?;
    draft.add_demand(ends, StatedQuantity::WithoutUnit(rate), row_span(row))
}
