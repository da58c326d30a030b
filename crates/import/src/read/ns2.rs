//! Reader of the `simplex-link` and `duplex-link` lines of ns-2 scripts.

use std::collections::HashMap;
use std::ops::Range;

use netflow_document::ProblemKind;

use crate::attributes::{LinkAttributes, StatedQuantity, scaled, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::LabelBandwidth;
use crate::lines::{Word, lines, words};
use crate::topology_builder::TopologyBuilder;

const EXAMPLE_LINE: &str = "$ns duplex-link $a $b 10Mb 5ms DropTail";

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let text = draft.text;
    let mut set: HashMap<&str, &str> = HashMap::new();
    let mut depth = 0_usize;
    let mut others = 0_usize;
    for (start, line) in logical_lines(text) {
        let code = line.trim_start();
        if code.is_empty() || code.starts_with('#') {
            continue;
        }
        let words = words(start, &line);
        let link = words
            .iter()
            .position(|it| matches!(it.text, "simplex-link" | "duplex-link"));
        match (link, words.as_slice()) {
            (Some(at), _) if at + 1 == words.len() && at == 0 => others += 1,
            (Some(at), _) if depth > 0 => {
                let message = "this link is created in a loop, a procedure or a condition";
                let help = "write each link as a separate line";
                return Err(ImportError::new(
                    ProblemKind::NotAvailable,
                    words[at].span.clone(),
                    message,
                )
                .help(help));
            }
            (Some(at), _) => add_link(draft, &words, at, &set)?,
            (None, [command, name, value])
                if command.text == "set" && !value.text.starts_with('[') =>
            {
                set.insert(static_part(text, name), static_part(text, value));
                others += 1;
            }
            _ => others += 1,
        }
        let opened = line.matches('{').count();
        let closed = line.matches('}').count();
        depth = (depth + opened).saturating_sub(closed);
    }
    if others > 0 {
        let text = "ignoring queue limits and lines that do not create links";
        draft
            .assumptions
            .add_general(format!("{text}: {others} lines"));
    }
    Ok(())
}

/// Returns the word as a slice of the original text, which outlives the joined line.
fn static_part<'t>(text: &'t str, word: &Word<'_>) -> &'t str {
    text.get(word.span.clone()).unwrap_or_default()
}

/// Returns lines; a line that ends in a backslash is joined with the next.
pub(super) fn logical_lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut all = lines(text);
    std::iter::from_fn(move || {
        let (start, line) = all.next()?;
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            // The joined line keeps its length, so that byte offsets stay valid.
            let end = start + whole.len();
            whole.pop();
            let Some((next, line)) = all.next() else {
                break;
            };
            whole.push_str(&" ".repeat(next.saturating_sub(end) + 1));
            whole.push_str(line);
        }
        Some((start, whole))
    })
}

fn add_link(
    draft: &mut TopologyBuilder<'_>,
    words: &[Word<'_>],
    at: usize,
    set: &HashMap<&str, &str>,
) -> ReadResult<()> {
    let command = &words[at];
    let span = words[0].span.start..words[words.len() - 1].span.end;
    let [from, to, bandwidth, delay, ..] = &words[at + 1..] else {
        let message = format!(
            "`{}` needs two nodes, a bandwidth and a delay",
            command.text
        );
        return Err(ImportError::new(ProblemKind::Missing, span, message)
            .help(format!("write {EXAMPLE_LINE}")));
    };
    let mut ends = [0, 0];
    for (end, word) in ends.iter_mut().zip([from, to]) {
        let name = word.text.strip_prefix('$').unwrap_or(word.text);
        if name.is_empty() || name.contains(['$', '[', '{', '"']) {
            let message = format!("`{}` is not the name of a node", truncate_text(word.text));
            let help = "write the node as a variable, such as `$n1` or `$n(1)`";
            return Err(
                ImportError::new(ProblemKind::NotAvailable, word.span.clone(), message).help(help),
            );
        }
        *end = draft.node_or_new(name, word.span.clone())?;
    }
    let value = |word: &Word<'_>| match word.text.strip_prefix('$') {
        None => Ok(word.text.to_owned()),
        Some(name) => set
            .get(name)
            .map(|value| (*value).to_owned())
            .ok_or_else(|| {
                let message = format!("`{}` is not set on an earlier line", truncate_text(name));
                ImportError::new(ProblemKind::UnknownName, word.span.clone(), message)
            }),
    };
    let rate = value(bandwidth)?;
    let bps = bandwidth_bps(&rate, &bandwidth.span)?;
    let (bandwidth, label) = if rate.contains('B') {
        (None, Some((LabelBandwidth::of_bytes(bps), rate)))
    } else {
        (
            Some((StatedQuantity::WithUnit(bps), bandwidth.span.clone())),
            None,
        )
    };
    let delay_s = delay_s(&value(delay)?, &delay.span)?;
    let says = LinkAttributes {
        bandwidth,
        label,
        delay: Some((StatedQuantity::WithUnit(delay_s), delay.span.clone())),
        ..LinkAttributes::default()
    };
    let directed = command.text == "simplex-link";
    draft.add_link((ends[0], ends[1]), directed, says, span)
}

/// Parses a bandwidth: `10Mb`, `1.5Mbps`, `64k`, `1MB` (bytes), `1000000`.
fn bandwidth_bps(text: &str, span: &Range<usize>) -> ReadResult<f64> {
    let (number, unit) = quantity(text);
    let bytes = if unit.contains('B') { 8.0 } else { 1.0 };
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bps" => 1.0,
        "k" | "kb" | "kbps" => 1e3,
        "m" | "mb" | "mbps" => 1e6,
        "g" | "gb" | "gbps" => 1e9,
        _ => f64::NAN,
    };
    let bps = number * factor * bytes;
    if bps.is_finite() && bps > 0.0 {
        Ok(bps)
    } else {
        let message = format!("`{}` is not a bandwidth of ns-2", truncate_text(text));
        Err(ImportError::value(span.clone(), message).help("write 10Mb, 64k or 1000000"))
    }
}

/// Parses a delay: `5ms`, `0.005`, `20us`.
fn delay_s(text: &str, span: &Range<usize>) -> ReadResult<f64> {
    let (number, unit) = quantity(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "m" | "ms" => 1e-3,
        "u" | "us" => 1e-6,
        "n" | "ns" => 1e-9,
        _ => f64::NAN,
    };
    let delay_s = scaled(number, factor);
    if delay_s.is_finite() && delay_s >= 0.0 {
        Ok(delay_s)
    } else {
        let message = format!("`{}` is not a delay of ns-2", truncate_text(text));
        Err(ImportError::value(span.clone(), message).help("write 5ms, 0.005 or 20us"))
    }
}

/// Splits a text into a number and its suffix.
fn quantity(text: &str) -> (f64, &str) {
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let bytes = text.as_bytes();
    let mut end = text.find(|c: char| !digit(c)).unwrap_or(text.len());
    // The exponent of `1e6` belongs to the number; the e of `1e` does not.
    if matches!(bytes.get(end), Some(b'e' | b'E'))
        && bytes
            .get(end + 1)
            .is_some_and(|b| b.is_ascii_digit() || *b == b'-')
    {
        let rest = &text[end + 2..];
        end = end
            + 2
            + rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
    }
    (text[..end].parse().unwrap_or(f64::NAN), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ns2_quantities_are_parsed() {
        let bandwidth = |text| bandwidth_bps(text, &(0..0)).unwrap();
        assert_eq!(bandwidth("10Mb"), 1e7);
        assert_eq!(bandwidth("1.5Mbps"), 1.5e6);
        assert_eq!(bandwidth("64k"), 64e3);
        assert_eq!(bandwidth("1MB"), 8e6);
        assert_eq!(bandwidth("1e6"), 1e6);
        let delay = |text| delay_s(text, &(0..0)).unwrap();
        assert_eq!(
            (delay("5ms"), delay("0.25"), delay("20us")),
            (0.005, 0.25, 2e-5)
        );
        assert!(bandwidth_bps("10Mx", &(0..0)).is_err() && delay_s("-1ms", &(0..0)).is_err());
    }
}
