//! Parser of the bandwidth in the label of a link.

/// A bandwidth parsed from a label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelBandwidth {
    pub(crate) bps: f64,
    /// Rule that combined several rates, such as `the smaller of 2`; empty for a single rate.
    pub(crate) rule: String,
    /// Multiplicity of the rate: 2 in `2x10 Gbps`.
    pub(crate) multiplicity: f64,
    /// Interpretation of a unit of bytes such as `10 GB/s`.
    pub(crate) bytes: Option<ByteUnit>,
}

/// An interpretation of a rate in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ByteUnit {
    /// Bytes, in columns.
    Bytes,
    /// Bits, in labels. The authors of the Topology Zoo read all 59 such labels as bits.
    Bits,
}

impl ByteUnit {
    fn bits(self) -> f64 {
        match self {
            ByteUnit::Bytes => 8.0,
            ByteUnit::Bits => 1.0,
        }
    }

    fn remark(self) -> &'static str {
        match self {
            ByteUnit::Bytes => "read as bytes; Mb/s and Mbit/s are bits",
            ByteUnit::Bits => "read as bits, as usual in labels; in a column it would mean bytes",
        }
    }
}

impl LabelBandwidth {
    /// Returns a rate that is stated in bytes per second.
    pub(crate) fn of_bytes(bps: f64) -> LabelBandwidth {
        LabelBandwidth {
            bps,
            rule: String::new(),
            multiplicity: 1.0,
            bytes: Some(ByteUnit::Bytes),
        }
    }

    /// Returns a remark on the interpretation; empty if the label is unambiguous.
    pub(crate) fn remark(&self) -> String {
        match (self.rule.as_str(), self.bytes) {
            ("", None) => String::new(),
            ("", Some(bytes)) => format!(" ({})", bytes.remark()),
            (rule, None) => format!(" ({rule})"),
            (rule, Some(bytes)) => format!(" ({rule}; {})", bytes.remark()),
        }
    }
}

/// Returns the bandwidth in a text such as `45 Mbps DS-3`, `OC192/STM64`, `2x10Gb/s`, `< 155 Mbps` or
/// `10-34 Mb/s`; `None` if there is none.
pub(crate) fn parse_bandwidth(text: &str, bytes: ByteUnit) -> Option<LabelBandwidth> {
    let tokens = tokenize(text, bytes);
    // A negative bandwidth is invalid.
    if let [sign, number, ..] = &*tokens
        && sign.is('-')
        && !number.after_space
        && number.is_number()
    {
        return None;
    }
    let mut found: Vec<Term> = Vec::new();
    let mut at = 0;
    let mut plus = false;
    let mut left_out = false;
    while at < tokens.len() {
        let Some((term, next)) = parse_term(&tokens, at) else {
            left_out |= is_unapplied_factor(&tokens, at);
            plus = tokens[at].is('+') || (plus && !matches!(tokens[at].kind, TokenKind::Word(_)));
            at += 1;
            continue;
        };
        match found.last_mut() {
            Some(last) if plus => {
                last.bps += term.bps;
                last.multiplicity = 1.0;
                last.bytes = last.bytes.or(term.bytes);
                last.rule = "the sum";
            }
            _ => found.push(term),
        }
        plus = false;
        at = next;
    }
    let first = found.first()?;
    // `45 Mbps DS-3` states one bandwidth twice.
    let same = |term: &Term| (term.bps / first.bps - 1.0).abs() < 0.06;
    let least = if found.iter().all(same) {
        first
    } else {
        found.iter().min_by(|a, b| a.bps.total_cmp(&b.bps))?
    };
    let mut rule = match (least.rule, found.iter().all(same)) {
        (rule, true) => rule.to_owned(),
        ("", false) => format!("the lowest of {}", found.len()),
        (rule, false) => format!("{rule}, the lowest of {}", found.len()),
    };
    if left_out {
        rule += if rule.is_empty() { "" } else { ", " };
        rule += "a factor is ignored";
    }
    Some(LabelBandwidth {
        bps: least.bps,
        rule,
        multiplicity: least.multiplicity,
        bytes: least.bytes,
    })
}

struct Term {
    bps: f64,
    rule: &'static str,
    multiplicity: f64,
    bytes: Option<ByteUnit>,
}

#[derive(Debug, PartialEq)]
enum TokenKind {
    Number(f64),
    /// A word in lower case.
    Word(String),
    Sign(char),
}

#[derive(Debug, PartialEq)]
struct Token {
    kind: TokenKind,
    /// True if white space precedes it.
    after_space: bool,
    /// Interpretation of a word with the capital B of bytes: `GB`, `GBps`.
    bytes: Option<ByteUnit>,
}

impl Token {
    fn is(&self, sign: char) -> bool {
        self.kind == TokenKind::Sign(sign)
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, TokenKind::Number(_))
    }
}

fn tokenize(text: &str, bytes: ByteUnit) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text;
    let mut after_space = true;
    while let Some(c) = rest.chars().next() {
        let length;
        // `.5` is a number if no word, number or point precedes it directly.
        let is_free = after_space
            || matches!(found.last(), Some(Token { kind: TokenKind::Sign(c), .. }) if *c != '.');
        let fraction = c == '.' && is_free && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let kind = if c.is_ascii_digit() || fraction {
            let (number, used) = parse_number(rest);
            length = used;
            TokenKind::Number(number)
        } else if c.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphabetic());
            let end = end.unwrap_or(rest.len());
            // The x of `2xT1` is a sign.
            let after_number = found.last().is_some_and(Token::is_number);
            let end = match c {
                'x' | 'X' if after_number && !after_space => 1,
                _ => end,
            };
            // The x of `10GEx4` is also a sign.
            let ends_with_x = end > 1 && rest[..end].ends_with(['x', 'X']);
            let number = rest[end..].starts_with(|c: char| c.is_ascii_digit());
            length = if ends_with_x && number { end - 1 } else { end };
            TokenKind::Word(rest[..length].to_lowercase())
        } else {
            length = c.len_utf8();
            TokenKind::Sign(if c == '×' { '*' } else { c })
        };
        let word = &rest[..length];
        let is_of_bytes = word.strip_suffix("ps").unwrap_or(word).ends_with('B');
        rest = &rest[length..];
        if matches!(kind, TokenKind::Sign(c) if c.is_whitespace()) {
            after_space = true;
            continue;
        }
        let bytes = is_of_bytes.then_some(bytes);
        found.push(Token {
            kind,
            after_space,
            bytes,
        });
        after_space = false;
    }
    found
}

/// Parses a number at the start of a text and returns its length: `1,000.5`, or `2,5` with a decimal
/// comma.
fn parse_number(text: &str) -> (f64, usize) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut plain = String::new();
    let mut at = digits(0);
    plain.push_str(&text[..at]);
    while bytes.get(at) == Some(&b',') && digits(at + 1) == 3 && at <= 3 * plain.len() {
        plain.push_str(&text[at + 1..at + 4]);
        at += 4;
    }
    let point = matches!(bytes.get(at), Some(b'.' | b',')) && (1..3).contains(&digits(at + 1));
    if point || (bytes.get(at) == Some(&b'.') && digits(at + 1) > 0) {
        let fraction = digits(at + 1);
        plain.push('.');
        plain.push_str(&text[at + 1..at + 1 + fraction]);
        at += 1 + fraction;
    }
    let exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if exponent {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let count = digits(at + 1 + sign);
        if count > 0 {
            plain.push_str(&text[at..at + 1 + sign + count]);
            at += 1 + sign + count;
        }
    }
    (plain.parse().unwrap_or(f64::NAN), at)
}

/// Parses a rate with its multiplicity: `4x155Mbps`, `STM-64x2`.
fn parse_term(tokens: &[Token], at: usize) -> Option<(Term, usize)> {
    let (multiplicity, start) = match multiplicity_before(tokens, at) {
        Some((multiplicity, next)) => (multiplicity, next),
        None => (1.0, at),
    };
    let (LabelRate { bps, rule, bytes }, next) = parse_rate(tokens, start)?;
    let (after, next) = match multiplicity_after(tokens, next) {
        Some((multiplicity, next)) => (multiplicity, next),
        None => (1.0, next),
    };
    let multiplicity = multiplicity * after;
    let bps = bps * multiplicity;
    let rule = match rule {
        "" if multiplicity != 1.0 => "multiplied",
        rule => rule,
    };
    let possible = bps.is_finite() && bps > 0.0;
    let term = Term {
        bps,
        rule,
        multiplicity,
        bytes,
    };
    possible.then_some((term, next))
}

fn is_times(token: Option<&Token>) -> bool {
    token.is_some_and(|token| token.is('*') || token.kind == TokenKind::Word("x".to_owned()))
}

/// Returns whether a word denotes a bundle: `40 λ x 10 Gb/s`, `10G LAG x2`.
fn is_bundle_word(token: Option<&Token>) -> bool {
    let words = [
        "λ",
        "lambda",
        "lambdas",
        "wave",
        "waves",
        "wavelengths",
        "ch",
        "channels",
        "lag",
        "ae",
        "bundle",
        "trunk",
        "links",
        "link",
    ];
    token.is_some_and(
        |token| matches!(&token.kind, TokenKind::Word(word) if words.contains(&word.as_str())),
    )
}

/// Returns whether there is a factor at this token that was not applied: `x 2`, `half of`.
fn is_unapplied_factor(tokens: &[Token], at: usize) -> bool {
    let number = |token: Option<&Token>| token.is_some_and(Token::is_number);
    let word = |at: usize, all: &[&str]| {
        let kind = tokens.get(at).map(|token| &token.kind);
        matches!(kind, Some(TokenKind::Word(word)) if all.contains(&word.as_str()))
    };
    let multiplied = is_times(tokens.get(at))
        && (number(tokens.get(at + 1)) || at > 0 && number(tokens.get(at - 1)));
    let part = word(at, &["half", "quarter"]) && word(at + 1, &["of"]);
    let many = [
        "dual", "double", "twice", "triple", "quad", "two", "three", "four", "five", "six",
        "seven", "eight", "nine", "ten",
    ];
    let doubled = word(at, &many) && number(tokens.get(at + 1));
    let fraction = tokens
        .get(at)
        .is_some_and(|token| "½¼¾".chars().any(|it| token.is(it)));
    // `4 OC-12` and `LAG(3)` contain factors. `155 STM-1` states one rate twice, and in `Link 2 T1` the
    // number identifies the link.
    let counted = match (
        tokens.get(at).map(|it| &it.kind),
        parse_technology(tokens, at + 1),
    ) {
        (Some(TokenKind::Number(n)), Some((bps, _))) => {
            let said_twice = (n * 1e6 / bps - 1.0).abs() < 0.06;
            *n != 1.0 && !said_twice && !(at > 0 && is_bundle_word(tokens.get(at - 1)))
        }
        _ => false,
    };
    let bundled = is_bundle_word(tokens.get(at))
        && tokens.get(at + 1).is_some_and(|token| token.is('('))
        && number(tokens.get(at + 2));
    multiplied || part || doubled || fraction || counted || bundled
}

fn multiplicity_before(tokens: &[Token], at: usize) -> Option<(f64, usize)> {
    let TokenKind::Number(multiplicity) = tokens.get(at)?.kind else {
        return None;
    };
    let whole = multiplicity.fract() == 0.0 && (1.0..=1000.0).contains(&multiplicity);
    let sign = at + 1 + usize::from(is_bundle_word(tokens.get(at + 1)));
    (whole && is_times(tokens.get(sign))).then_some((multiplicity, sign + 1))
}

fn multiplicity_after(tokens: &[Token], at: usize) -> Option<(f64, usize)> {
    let sign = at + usize::from(is_bundle_word(tokens.get(at)));
    if !is_times(tokens.get(sign)) {
        return None;
    }
    match tokens.get(sign + 1)?.kind {
        TokenKind::Number(multiplicity)
            if multiplicity.fract() == 0.0 && (1.0..=1000.0).contains(&multiplicity) =>
        {
            Some((multiplicity, sign + 2))
        }
        _ => None,
    }
}

/// A rate without its multiplicity.
struct LabelRate {
    bps: f64,
    rule: &'static str,
    bytes: Option<ByteUnit>,
}

/// Parses a rate: `10 Gbit/s`, `1-20Gbps`, `300M-1Gb/s`, `34/45 Mbit/s`, `OC-48c`.
fn parse_rate(tokens: &[Token], at: usize) -> Option<(LabelRate, usize)> {
    let TokenKind::Number(first) = tokens.get(at)?.kind else {
        let (bps, next) = parse_technology(tokens, at)?;
        let (rule, bytes) = ("", None);
        return Some((LabelRate { bps, rule, bytes }, next));
    };
    let between = |at: usize| match tokens.get(at) {
        Some(token) if token.is('-') => Some("the lower end"),
        Some(token) if token.is('/') => Some("the lowest of 2"),
        _ => None,
    };
    let of = |number: f64, unit: RateUnit, rule| LabelRate {
        bps: number * unit.bps,
        rule,
        bytes: unit.bytes,
    };
    if let Some((unit, next)) = parse_unit(tokens, at + 1) {
        // The upper end of a range is skipped.
        if between(next) == Some("the lower end")
            && let Some((_, _, next)) = parse_number_and_unit(tokens, next + 1)
        {
            return Some((of(first, unit, "the lower end"), next));
        }
        return Some((of(first, unit, ""), next));
    }
    let rule = between(at + 1)?;
    let (second, unit, next) = parse_number_and_unit(tokens, at + 2)?;
    let least = if first > 0.0 {
        first.min(second)
    } else {
        second
    };
    Some((of(least, unit, rule), next))
}

/// Parses a number and its unit.
fn parse_number_and_unit(tokens: &[Token], at: usize) -> Option<(f64, RateUnit, usize)> {
    let TokenKind::Number(number) = tokens.get(at)?.kind else {
        return None;
    };
    let (unit, next) = parse_unit(tokens, at + 1)?;
    Some((number, unit, next))
}

/// A unit of rates.
#[derive(Clone, Copy)]
struct RateUnit {
    bps: f64,
    bytes: Option<ByteUnit>,
}

/// Speeds of Ethernet in Mbit/s and Gbit/s.
const MEGABITS: [f64; 3] = [10.0, 100.0, 1000.0];
const GIGABITS: [f64; 9] = [2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0];

/// Returns whether the word is directly between one of these speeds and a dash.
fn is_ethernet(tokens: &[Token], at: usize, speeds: &[f64]) -> bool {
    let number = at.checked_sub(1).map(|before| &tokens[before].kind);
    let is_speed = matches!(number, Some(TokenKind::Number(number)) if speeds.contains(number));
    let dash = tokens.get(at + 1);
    let dash = dash.is_some_and(|token| token.is('-') && !token.after_space);
    is_speed && !tokens[at].after_space && dash
}

/// Parses a unit of rates in any spelling. A capital B with `/s` or `ps` means bytes.
fn parse_unit(tokens: &[Token], at: usize) -> Option<(RateUnit, usize)> {
    let token = tokens.get(at)?;
    let TokenKind::Word(word) = &token.kind else {
        return None;
    };
    let bps = match word.as_str() {
        "bps" | "bit" | "bits" => 1.0,
        "k" | "kb" | "kbs" | "kbit" | "kbits" | "kbps" => 1e3,
        "m" | "mb" | "mbs" | "mbit" | "mbits" | "mbps" | "mpbs" => 1e6,
        "g" | "gb" | "gbs" | "gbit" | "gbits" | "gbps" | "ge" | "gbe" | "gige" | "gig" => 1e9,
        // Ethernet, such as `100BASE-TX` or `10GBASE-LR`.
        "base" if is_ethernet(tokens, at, &MEGABITS) => 1e6,
        "gbase" if is_ethernet(tokens, at, &GIGABITS) => 1e9,
        "tb" | "tbs" | "tbit" | "tbits" | "tbps" => 1e12,
        _ => return None,
    };
    let slash = tokens.get(at + 1).is_some_and(|token| token.is('/'));
    let second =
        |token: &Token| matches!(&token.kind, TokenKind::Word(s) if s == "s" || s == "sec");
    let a_second = slash && tokens.get(at + 2).is_some_and(second);
    let bytes = token.bytes.filter(|_| a_second || word.ends_with("ps"));
    let unit = RateUnit {
        bps: bps * bytes.map_or(1.0, ByteUnit::bits),
        bytes,
    };
    Some((unit, if a_second { at + 3 } else { at + 1 }))
}

/// Parses a technology with a fixed rate, such as OC-48.
fn parse_technology(tokens: &[Token], at: usize) -> Option<(f64, usize)> {
    let TokenKind::Word(word) = &tokens.get(at)?.kind else {
        return None;
    };
    match word.as_str() {
        "gige" | "gbe" | "ge" => return Some((1e9, at + 1)),
        "fe" => return Some((1e8, at + 1)),
        _ => {}
    }
    let dash = tokens.get(at + 1).is_some_and(|token| token.is('-'));
    let number_at = at + 1 + usize::from(dash);
    let level = tokens.get(number_at)?;
    let TokenKind::Number(n) = level.kind else {
        return None;
    };
    let whole = n.fract() == 0.0 && (0.0..=4096.0).contains(&n);
    let together = !level.after_space || matches!(word.as_str(), "oc" | "stm" | "sts");
    if !whole || !together {
        return None;
    }
    let of = |rates: [f64; 5]| rates.get(n as usize).copied().filter(|&bps| bps > 0.0);
    let bps = match word.as_str() {
        "oc" | "sts" if n >= 1.0 => n * 51.84e6,
        "stm" if n >= 1.0 => n * 155.52e6,
        "ds" => of([64e3, 1.544e6, 6.312e6, 44.736e6, 274.176e6])?,
        "t" => of([0.0, 1.544e6, 6.312e6, 44.736e6, 274.176e6])?,
        "e" => of([64e3, 2.048e6, 8.448e6, 34.368e6, 139.264e6])?,
        _ => return None,
    };
    // The c of `OC-192c` denotes concatenation, which does not change the rate.
    let concatenated =
        |token: &Token| token.kind == TokenKind::Word("c".to_owned()) && !token.after_space;
    let next = number_at + 1 + usize::from(tokens.get(number_at + 1).is_some_and(concatenated));
    Some((bps, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Option<LabelBandwidth> {
        parse_bandwidth(text, ByteUnit::Bits)
    }

    /// Factors that are not understood are reported. Fractions and negative rates are handled as such.
    #[test]
    fn unknown_factors_are_reported() {
        for (text, bps) in [
            ("two 10G", 10e9),
            ("4 OC-12", 622.08e6),
            ("100GbE LAG(3)", 100e9),
            ("½ 10G", 10e9),
            ("quad 10G", 10e9),
            ("nine 10G", 10e9),
        ] {
            let told = label(text).unwrap();
            assert_eq!(
                (told.bps, &*told.rule),
                (bps, "a factor is ignored"),
                "{text}"
            );
        }
        for text in [".5G", "<.5G", "(.5G)", "~.5G", "BW=.5G"] {
            let half = label(text).unwrap();
            assert_eq!((half.bps, &*half.rule), (0.5e9, ""), "{text}");
        }
        assert_eq!(label(".1-.5G").unwrap().bps, 0.1e9);
        assert_eq!(label("1..5G").unwrap().bps, 5e9);
        assert_eq!(label("-10G"), None);
        assert_eq!(label("-.5G"), None);
        for text in ["1 OC-12", "155 STM-1", "Link 2 T1"] {
            assert_eq!(label(text).unwrap().rule, "", "{text}");
        }
        // A dash before a rate is not a minus sign.
        assert_eq!(label("- 10G").map(|it| it.bps), Some(10e9));
        assert_eq!(label("A-B 10G").map(|it| it.rule), Some(String::new()));
    }

    #[test]
    fn bandwidth_is_parsed_from_labels() {
        let cases = [
            ("45 Mbps DS-3", 45e6),
            ("OC192/STM64", 192.0 * 51.84e6),
            ("OC12/STM4", 622.08e6),
            ("OC-192c", 9953.28e6),
            ("STM-16", 2488.32e6),
            ("STM-64x2", 2.0 * 9953.28e6),
            ("10GE", 10e9),
            ("10GEx4", 40e9),
            ("1GE Primary Link", 1e9),
            ("8*GbE", 8e9),
            ("2x10Gb/s", 20e9),
            ("4*2 Mbps PDH", 8e6),
            ("3 x 622Mbps", 3.0 * 622e6),
            ("4x1 Gbps + 2x STM-1", 4e9 + 2.0 * 155.52e6),
            ("CANARIE N*10Gbit/s", 10e9),
            ("< 155 Mbps", 155e6),
            ("<= 10 Mbps backup", 10e6),
            (">10Gbps", 10e9),
            ("<45Mb", 45e6),
            ("less than 100 Mbps", 100e6),
            ("1-20Gbps", 1e9),
            ("1-2.5 Gb/s", 1e9),
            ("300M-1Gb/s", 300e6),
            ("0-10 Mbps", 10e6),
            ("1-4.999Gbps", 1e9),
            ("34/45 Mbit/s", 34e6),
            ("155Mbs/1Gbps", 155e6),
            ("GigE/FE/ATM", 100e6),
            ("Managed Fiber (10Gbps, 100Mbps)", 100e6),
            ("Dark Fiber (1-10Gbps)", 1e9),
            ("2 x E3 (68Mbps)", 2.0 * 34.368e6),
            ("9600 bit/s", 9600.0),
            ("0.02M", 2e4),
            ("64 Kbps", 64e3),
            ("10 Gb/s - redundantno", 10e9),
            ("100 MBPS", 100e6),
            ("<45MB", 45e6),
            ("ANS CO+RE T1", 1.544e6),
            ("internetMCI T3", 44.736e6),
            ("E1", 2.048e6),
            ("KreoNet2  10Gbit/s", 10e9),
            ("40Mpbs", 40e6),
            ("1,000 Mbps", 1e9),
            ("2,5 Gbit/s", 2.5e9),
            ("1e9 bit/s", 1e9),
            ("DTP-Ring 2.5 Gbit/s", 2.5e9),
            ("2xT1", 2.0 * 1.544e6),
            ("4xT1", 4.0 * 1.544e6),
            ("2XOC-3", 2.0 * 155.52e6),
            ("10GBASE-LR", 10e9),
            ("100BASE-TX", 1e8),
            ("1000BASE-T", 1e9),
            ("10G LAG x2", 20e9),
            ("40 λ × 10 Gb/s", 400e9),
            ("8 lambdas x 100G", 800e9),
        ];
        for (text, bps) in cases {
            let told = label(text).unwrap_or_else(|| panic!("{text}"));
            assert!((told.bps / bps - 1.0).abs() < 1e-9, "{text}: {told:?}");
        }
    }

    /// In columns, units mean the same as in scenarios. In labels, bytes are read as bits, with a remark.
    #[test]
    fn column_units_match_scenario_units() {
        use netflow_units::BitsPerSecond;
        for prefix in ["", "k", "K", "m", "M", "g", "G"] {
            for unit in ["b/s", "B/s", "bit/s", "bps", "Bps", "BPS"] {
                let text = format!("10 {prefix}{unit}");
                let Ok(rate) = text.parse::<BitsPerSecond>() else {
                    continue;
                };
                let of_bytes = text.ends_with("B/s");
                for (bytes, bps) in [
                    (ByteUnit::Bytes, rate.get()),
                    (
                        ByteUnit::Bits,
                        rate.get() / if of_bytes { 8.0 } else { 1.0 },
                    ),
                ] {
                    // A label without a prefix is not recognized as a rate.
                    let Some(told) = parse_bandwidth(&text, bytes) else {
                        assert_eq!(text, "10 B/s");
                        continue;
                    };
                    assert_eq!(told.bps, bps, "{text}");
                    assert_eq!(told.bytes, of_bytes.then_some(bytes), "{text}");
                }
            }
        }
        let told = label("2x10 GB/s - redundant").unwrap();
        assert_eq!((told.bps, told.bytes), (20e9, Some(ByteUnit::Bits)));
        assert_eq!(
            told.remark(),
            " (multiplied; read as bits, as usual in labels; in a column it would mean bytes)"
        );
        let told = parse_bandwidth("10 GBps", ByteUnit::Bytes).unwrap();
        assert_eq!((told.bps, told.bytes), (80e9, Some(ByteUnit::Bytes)));
    }

    #[test]
    fn other_labels_have_no_bandwidth() {
        for text in [
            "",
            "Green Link",
            "Fibre ottica spenta (Dark Fibre)",
            "TAT-14",
            "SeaMeWe-3",
            "Adria-1",
            "Completion 2007-2008",
            "1Q 2003",
            "72 Lambda ROADM Network",
            "Ethernet",
            "SDH",
            "Aphrodite-2",
            "Blue",
            "STM-0",
            "Camp 3 base",
            "7BASE-T",
            "0 Mbps",
            "T9",
            "99999999999999999999999999999999999999e999 Gbps",
        ] {
            assert_eq!(label(text), None, "{text}");
        }
    }

    #[test]
    fn combination_rule_of_rates_is_reported() {
        let rule = |text| label(text).unwrap().rule;
        assert_eq!(rule("1 Gbps"), "");
        assert_eq!(rule("45 Mbps DS-3"), "");
        assert_eq!(rule("1-20Gbps"), "the lower end");
        assert_eq!(rule("GigE/FE/ATM"), "the lowest of 2");
        assert_eq!(rule("4x1 Gbps + 2x STM-1"), "the sum");
        assert_eq!(rule("2x10Gb/s"), "multiplied");
        assert_eq!(rule("half of 10G"), "a factor is ignored");
        assert_eq!(rule("dual 10 Gbit/s"), "a factor is ignored");
        assert_eq!(rule("10G protected x2"), "a factor is ignored");
        assert_eq!(rule("1-20Gbps x blue"), "the lower end");
        for plain in [
            "10 Mbit/s half-duplex",
            "dual-stack 1 Gbit/s",
            "10 Gbit/s quarter ring",
        ] {
            assert_eq!(rule(plain), "", "{plain}");
        }
    }
}
