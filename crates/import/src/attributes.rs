//! Names and values of the attributes of nodes and links, in any format.

use std::borrow::Cow;
use std::ops::Range;

use netflow_units::{BitsPerSecond, BufferSize, Seconds, Size, UnitErrorKind, nearest_name};

use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::{self, ByteUnit, LabelBandwidth};
use crate::topology::LinkSettings;

/// An attribute of a node or a link.
#[derive(Clone, Debug)]
pub(crate) struct Attribute<'t> {
    pub(crate) name: Cow<'t, str>,
    pub(crate) value: Cow<'t, str>,
    pub(crate) span: Range<usize>,
}

impl<'t> Attribute<'t> {
    pub(crate) fn new(
        name: impl Into<Cow<'t, str>>,
        value: impl Into<Cow<'t, str>>,
        span: Range<usize>,
    ) -> Attribute<'t> {
        Attribute {
            name: name.into(),
            value: value.into(),
            span,
        }
    }

    /// Returns its name without differences in case and punctuation.
    fn key(&self) -> String {
        normalize_name(&self.name)
    }

    fn number(&self) -> ReadResult<f64> {
        let number: Option<f64> = self.value.trim().parse().ok();
        let finite = number.filter(|number| number.is_finite());
        finite.ok_or_else(|| {
            let message = format!(
                "`{}` of `{}` is not a number",
                truncate_text(&self.value),
                self.name
            );
            with_separator_help(ImportError::value(self.span.clone(), message), &self.value)
        })
    }
}

/// Adds help to an error, if the text is a number with a decimal comma or with digit grouping.
pub(crate) fn with_separator_help(wrong: ImportError, text: &str) -> ImportError {
    match format!("{} bit/s", text.trim()).parse::<BitsPerSecond>() {
        Err(error) if matches!(error.kind(), UnitErrorKind::Separator { .. }) => {
            wrong.help(error.help().replace(" bit/s\"", "\""))
        }
        _ => wrong,
    }
}

/// Returns a text cut to a length that fits into messages.
pub(crate) fn truncate_text(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line = single_line(text);
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns a text in one line, without control characters.
pub(crate) fn single_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns the assumed unit of rates without one, in bit/s. `largest` is the largest of them. The unit is
/// Mbit/s, or bit/s if `largest` would exceed 1 Tbit/s.
pub(crate) fn default_rate_unit_bps(largest: f64) -> f64 {
    if largest > 1e6 { 1.0 } else { 1e6 }
}

/// A quantity as stated in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StatedQuantity {
    /// A value in base units.
    WithUnit(f64),
    /// A number without a unit.
    WithoutUnit(f64),
}

impl StatedQuantity {
    /// Returns whether the quantity is 0, in any unit.
    pub(crate) fn is_zero(&self) -> bool {
        matches!(*self, StatedQuantity::WithUnit(number) | StatedQuantity::WithoutUnit(number) if number == 0.0)
    }

    /// Returns the number if it has no unit.
    pub(crate) fn unitless(&self) -> Option<f64> {
        match *self {
            StatedQuantity::WithoutUnit(number) => Some(number),
            StatedQuantity::WithUnit(_) => None,
        }
    }

    /// Returns the value in base units. `unit` applies to a number without a unit.
    pub(crate) fn to_base_units(&self, unit: f64) -> f64 {
        match *self {
            StatedQuantity::WithUnit(value) => value,
            StatedQuantity::WithoutUnit(number) => number * unit,
        }
    }
}

/// The attributes of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeAttributes {
    pub(crate) name: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) longitude: Option<f64>,
    pub(crate) latitude: Option<f64>,
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
    pub(crate) population: Option<f64>,
    /// True if the node represents a link with more than two ends.
    pub(crate) is_hyperedge: bool,
}

/// The attributes of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkAttributes {
    pub(crate) name: Option<String>,
    pub(crate) bandwidth: Option<(StatedQuantity, Range<usize>)>,
    /// The bandwidth parsed from a label, and the label.
    pub(crate) label: Option<(LabelBandwidth, String)>,
    /// A label without a bandwidth.
    pub(crate) silent: Option<String>,
    pub(crate) delay: Option<(StatedQuantity, Range<usize>)>,
    pub(crate) length_km: Option<f64>,
    pub(crate) metric: Option<f64>,
    /// A status such as `Planned`.
    pub(crate) status: Option<String>,
    pub(crate) buffer: Option<BufferSize>,
    /// Shared-risk groups.
    pub(crate) srlg: Vec<String>,
    /// Further settings.
    pub(crate) settings: LinkSettings,
    /// Attributes of the opposite direction only.
    pub(crate) reverse: Option<Box<LinkAttributes>>,
    /// Notes on attributes that contradict others, which take precedence.
    pub(crate) contradictions: Vec<String>,
}

impl LinkAttributes {
    /// Returns whether the link is out of service.
    pub(crate) fn is_down(&self) -> bool {
        self.status.as_deref().is_some_and(is_down)
    }

    /// Returns whether both have the same name and equal attributes, regardless of their position in the
    /// file.
    pub(crate) fn has_equal_name_and_attributes(&self, other: &LinkAttributes) -> bool {
        self.name == other.name && self.has_equal_attributes(other)
    }

    /// Returns whether both have equal attributes.
    pub(crate) fn has_equal_attributes(&self, other: &LinkAttributes) -> bool {
        let reverse = match (&self.reverse, &other.reverse) {
            (Some(a), Some(b)) => a.has_equal_attributes(b),
            (None, None) => true,
            _ => false,
        };
        let stated =
            |it: &Option<(StatedQuantity, Range<usize>)>| it.as_ref().map(|(it, _)| it.clone());
        let label = |it: &LinkAttributes| it.label.as_ref().map(|(_, label)| label.clone());
        reverse
            && stated(&self.bandwidth) == stated(&other.bandwidth)
            && stated(&self.delay) == stated(&other.delay)
            && label(self) == label(other)
            && (&self.silent, &self.status) == (&other.silent, &other.status)
            && (self.length_km, self.metric) == (other.length_km, other.metric)
            && (&self.buffer, &self.srlg) == (&other.buffer, &other.srlg)
            && self.settings == other.settings
    }

    /// Fills missing attributes from the opposite direction.
    pub(crate) fn fill_from_reverse(&mut self, other: &LinkAttributes) {
        let has_rate = |it: &LinkAttributes| it.bandwidth.is_some() || it.label.is_some();
        if !has_rate(self) {
            self.bandwidth.clone_from(&other.bandwidth);
            self.label.clone_from(&other.label);
        }
        if self.delay.is_none() && self.length_km.is_none() {
            self.delay.clone_from(&other.delay);
            self.length_km = other.length_km;
        }
        self.metric = self.metric.or(other.metric);
        self.buffer = self.buffer.or(other.buffer);
        for group in &other.srlg {
            if !self.srlg.contains(group) {
                self.srlg.push(group.clone());
            }
        }
    }
}

/// Returns the name of an attribute of the opposite direction without its prefix: `metric` for
/// `reverse_metric`.
fn strip_reverse_prefix(name: &str) -> Option<&str> {
    const WORD: &str = "reverse";
    let begins = name.get(..WORD.len())?.eq_ignore_ascii_case(WORD);
    let rest = name[WORD.len()..].trim_start_matches(['_', '-', ' ', '.']);
    (begins && !rest.is_empty()).then_some(rest)
}

/// Returns a text in lower case without white space and punctuation.
pub(crate) fn normalize_name(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether a status means that a link is out of service.
fn is_down(status: &str) -> bool {
    const DOWN: &[&str] = &[
        "down",
        "admindown",
        "administrativelydown",
        "inactive",
        "disabled",
        "disconnected",
        "offline",
        "outofservice",
        "failed",
        "shut",
        "shutdown",
        "decommissioned",
        "retired",
        "off",
        "false",
        "no",
        "0",
    ];
    DOWN.contains(&&*normalize_name(status))
}

/// Returns whether a status means that a link is in service.
pub(crate) fn is_up(status: &str) -> bool {
    const UP: &[&str] = &[
        "up",
        "upup",
        "active",
        "enabled",
        "connected",
        "online",
        "inservice",
        "operational",
        "on",
        "true",
        "yes",
        "1",
    ];
    UP.contains(&&*normalize_name(status))
}

/// The values of several attributes for one quantity.
struct Candidates<T> {
    all: Vec<(usize, String, T)>,
}

impl<T> Default for Candidates<T> {
    fn default() -> Candidates<T> {
        Candidates { all: Vec::new() }
    }
}

impl<T> Candidates<T> {
    /// Adds the value of an attribute. `rank` is the index of its name in the list of known names.
    fn add(&mut self, rank: usize, name: &str, value: T) {
        self.all.push((rank, single_line(name), value));
    }

    /// Returns the value that takes precedence: the first in the list of known names, regardless of the
    /// order in the file. Values that are not informative are used only if there is no other.
    /// Contradicting values are noted.
    fn select(
        self,
        says_something: impl Fn(&T) -> bool,
        is_alike: impl Fn(&T, &T) -> bool,
        contradictions: &mut Vec<String>,
    ) -> Option<T> {
        let mut all = self.all;
        all.sort_by_cached_key(|(rank, name, it)| (!says_something(it), *rank, name.clone()));
        let mut all = all.into_iter();
        let (_, taken, value) = all.next()?;
        for (_, name, other) in all {
            if says_something(&other) && !is_alike(&value, &other) {
                let text = format!("`{name}` contradicts `{taken}`: `{taken}` is used");
                contradictions.push(text);
            }
        }
        Some(value)
    }
}

impl StatedQuantity {
    /// Returns whether both can be equal, in one of the possible units of a number without a unit.
    fn may_equal(&self, other: &StatedQuantity) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        match (self, other) {
            (StatedQuantity::WithUnit(a), StatedQuantity::WithUnit(b))
            | (StatedQuantity::WithoutUnit(a), StatedQuantity::WithoutUnit(b)) => near(*a, *b),
            (StatedQuantity::WithUnit(sure), StatedQuantity::WithoutUnit(bare))
            | (StatedQuantity::WithoutUnit(bare), StatedQuantity::WithUnit(sure)) => {
                [1.0, 1e6, 1e-3].iter().any(|unit| near(bare * unit, *sure))
            }
        }
    }
}

/// Returns a text unless it is empty or a placeholder such as `None`, which Python writes for a missing
/// value.
fn non_placeholder(text: &str) -> Option<String> {
    let text = single_line(text);
    (!matches!(text.as_str(), "" | "None" | "?" | "null" | "NaN" | "nan")).then_some(text)
}

pub(crate) fn parse_node(attributes: &[Attribute<'_>]) -> ReadResult<NodeAttributes> {
    let mut says = NodeAttributes::default();
    for attribute in attributes {
        let Some(value) = non_placeholder(&attribute.value) else {
            continue;
        };
        match attribute.key().as_str() {
            "name" => says.name = Some(value),
            "label" => says.label = Some(value),
            "longitude" | "lon" | "lng" | "long" => says.longitude = Some(attribute.number()?),
            "latitude" | "lat" => says.latitude = Some(attribute.number()?),
            // Coordinates on a picture may also be texts.
            "x" => says.x = attribute.number().ok(),
            "y" => says.y = attribute.number().ok(),
            "population" | "pop" => {
                let number = attribute.number()?;
                if number < 0.0 {
                    let message = format!("`{}` is negative", attribute.name);
                    return Err(ImportError::value(attribute.span.clone(), message));
                }
                says.population = Some(number);
            }
            "hyperedge" => says.is_hyperedge = value != "0",
            _ => {}
        }
    }
    Ok(says)
}

pub(crate) fn parse_link(attributes: &[Attribute<'_>]) -> ReadResult<LinkAttributes> {
    let mut says = LinkAttributes::default();
    let reverse = attributes.iter().filter_map(|it| {
        let name = strip_reverse_prefix(&it.name)?;
        Some(Attribute::new(name, it.value.clone(), it.span.clone()))
    });
    let reverse: Vec<Attribute<'_>> = reverse.collect();
    if reverse
        .iter()
        .any(|it| non_placeholder(&it.value).is_some())
    {
        says.reverse = Some(Box::new(parse_link(&reverse)?));
    }
    let (mut speed, mut speed_unit) = (None, None);
    // Labels, ordered from the most to the least reliable source of a bandwidth.
    let mut labels: [Option<String>; 5] = Default::default();
    let (mut rates, mut times) = (Candidates::default(), Candidates::default());
    let (mut lengths, mut metrics) = (Candidates::default(), Candidates::default());
    for attribute in attributes {
        let Some(value) = non_placeholder(&attribute.value) else {
            continue;
        };
        let key = attribute.key();
        match key.as_str() {
            // This attribute takes precedence over all others.
            "linkspeedraw" => {
                let bps = Bandwidth::StatedQuantity(StatedQuantity::WithUnit(attribute.number()?));
                rates.add(0, &attribute.name, (bps, value, attribute.span.clone()));
            }
            "linkspeed" => speed = Some((value, attribute.span.clone())),
            "linkspeedunits" => speed_unit = Some(value),
            "linklabel" => labels[0] = Some(value),
            "label" => labels[1] = Some(value),
            "linktype" | "type" => labels[2] = Some(value),
            "linknote" | "note" => labels[3] = Some(value),
            "description" => labels[4] = Some(value),
            "name" | "id" => says.name = Some(value),
            key if STATUS.contains(&key) => {
                // Out of service takes precedence.
                if !says.is_down() {
                    says.status = Some(value);
                }
            }
            key if GROUPS.contains(&key) => {
                let names = value.split(';').map(single_line);
                says.srlg.extend(names.filter(|name| !name.is_empty()));
            }
            "buffer" => says.buffer = Some(buffer(attribute)?),
            _ => {
                let name = &*attribute.name;
                if let Some((rank, unit)) = rate_key(&key) {
                    let said = (rate(attribute, unit)?, value, attribute.span.clone());
                    rates.add(1 + rank, name, said);
                } else if let Some((rank, unit)) = match_key(&key, TIMES, TIME_UNITS) {
                    times.add(rank, name, (time(attribute, unit)?, attribute.span.clone()));
                } else if let Some((rank, unit)) = match_key(&key, LENGTHS, LENGTH_UNITS) {
                    lengths.add(rank, name, length_km(attribute, unit)?);
                } else if let Some(rank) = METRICS.iter().position(|it| *it == key) {
                    metrics.add(rank, name, not_negative(attribute)?);
                }
            }
        }
    }
    let aside = &mut says.contradictions;
    // A bandwidth of 0 means that it is unknown.
    let rate = rates.select(
        |(rate, ..)| !rate.stated().is_zero(),
        |(rate, ..), (other, ..)| rate.stated().may_equal(&other.stated()),
        aside,
    );
    match rate {
        Some((Bandwidth::StatedQuantity(stated), _, span)) => says.bandwidth = Some((stated, span)),
        Some((Bandwidth::Label(told), value, _)) => says.label = Some((told, value)),
        None => {}
    }
    let any = |_: &f64| true;
    let alike = |a: &f64, b: &f64| a == b;
    says.delay = times.select(|_| true, |(a, _), (b, _)| a.may_equal(b), aside);
    says.length_km = lengths.select(any, alike, aside);
    says.metric = metrics.select(any, alike, aside);
    if let (None, Some((speed, span))) = (&says.bandwidth, speed) {
        let text = format!("{speed} {}", speed_unit.as_deref().unwrap_or_default());
        match label_bandwidth::parse_bandwidth(&text, ByteUnit::Bits) {
            Some(told) if told.bytes.is_some() => says.label = Some((told, text)),
            Some(told) => says.bandwidth = Some((StatedQuantity::WithUnit(told.bps), span)),
            None => {}
        }
    }
    if says.label.is_none() {
        let mut labels = labels.into_iter().flatten().peekable();
        says.silent = labels.peek().cloned();
        says.label = labels.find_map(|label| {
            Some((
                label_bandwidth::parse_bandwidth(&label, ByteUnit::Bits)?,
                label,
            ))
        });
    }
    Ok(says)
}

const RATES: &[&str] = &[
    "bandwidth",
    "capacity",
    "cap",
    "bw",
    "speed",
    "rate",
    "datarate",
];
/// Names of the attribute with the status of a link.
const STATUS: &[&str] = &[
    "status",
    "linkstatus",
    "linkstate",
    "operstatus",
    "operstate",
    "adminstatus",
    "adminstate",
    "up",
    "isup",
    "enabled",
];
/// Names of the attribute with the shared-risk groups of a link.
const GROUPS: &[&str] = &["srlg", "srlgs", "riskgroup", "sharedriskgroup"];
/// Units of rates in column names: `capacity_gbps`, `rate_mbit`.
pub(crate) const RATE_UNITS: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
    ("tbps", 1e12),
    ("bits", 1.0),
    ("kbits", 1e3),
    ("mbits", 1e6),
    ("gbits", 1e9),
    ("tbits", 1e12),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
];
const TIMES: &[&str] = &["delay", "latency", "propagationdelay", "propdelay"];
const TIME_UNITS: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
const LENGTHS: &[&str] = &["length", "distance", "dist", "km"];
const LENGTH_UNITS: &[(&str, f64)] = &[("km", 1.0), ("m", 1e-3)];
const METRICS: &[&str] = &[
    "metric",
    "weight",
    "cost",
    "igp",
    "igpmetric",
    "igpweight",
    "ospf",
    "ospfcost",
    "ospfweight",
];

/// Parses a name of a rate like [`match_key`]. A unit alone is also a name: `mbps`.
fn rate_key(key: &str) -> Option<(usize, Option<f64>)> {
    match_key(key, RATES, RATE_UNITS).or_else(|| {
        let named = RATE_UNITS.iter().filter(|(name, _)| is_rate_unit(name));
        let unit = named.clone().find(|(name, _)| *name == key)?;
        Some((RATES.len(), Some(unit.1)))
    })
}

/// Returns whether a unit alone is a name of rates. `bit` is not.
pub(crate) fn is_rate_unit(unit: &str) -> bool {
    !matches!(unit, "bit" | "bits")
}

/// Returns the index of the word that a key begins with, and the unit that follows it, if any.
fn match_key(key: &str, words: &[&str], units: &[(&str, f64)]) -> Option<(usize, Option<f64>)> {
    let mut words = words.iter().enumerate();
    words.find_map(|(rank, word)| match key.strip_prefix(word)? {
        "" => Some((rank, None)),
        unit => {
            let known = units.iter().find(|(name, _)| *name == unit)?;
            Some((rank, Some(known.1)))
        }
    })
}

/// Returns whether the name of an attribute of nodes is known.
pub(crate) fn is_node_attribute(name: &str) -> bool {
    const KEYS: &[&str] = &[
        "name",
        "label",
        "longitude",
        "lon",
        "lng",
        "long",
        "latitude",
        "lat",
        "x",
        "y",
        "population",
        "pop",
    ];
    KEYS.contains(&Attribute::new(name, "", 0..0).key().as_str())
}

/// Names of attributes of links that have no unit.
const UNITLESS_ATTRIBUTES: &[&str] = &[
    "linkspeedraw",
    "linkspeed",
    "linkspeedunits",
    "linklabel",
    "label",
    "linktype",
    "name",
    "id",
    "type",
    "note",
    "linknote",
    "buffer",
    "key",
];

/// Returns the known name of a link attribute that is most similar to an unknown one.
pub(crate) fn nearest_link_attribute(name: &str) -> Option<&'static str> {
    let words = [RATES, TIMES, LENGTHS, METRICS, STATUS, GROUPS];
    let words = words.into_iter().flatten();
    nearest_name(name, words.copied(), &[])
}

/// Returns whether the name of an attribute of links is known.
pub(crate) fn is_link_attribute(name: &str) -> bool {
    let key = normalize_name(strip_reverse_prefix(name).unwrap_or(name));
    let known = [(TIMES, TIME_UNITS), (LENGTHS, LENGTH_UNITS)];
    let words = [UNITLESS_ATTRIBUTES, METRICS, STATUS, GROUPS];
    words.into_iter().flatten().any(|word| *word == key)
        || rate_key(&key).is_some()
        || known
            .iter()
            .any(|(words, units)| match_key(&key, words, units).is_some())
}

fn not_negative(attribute: &Attribute<'_>) -> ReadResult<f64> {
    let number = attribute.number()?;
    if number >= 0.0 {
        Ok(number)
    } else {
        let message = format!("`{}` is negative", attribute.name);
        Err(ImportError::value(attribute.span.clone(), message))
    }
}

/// Parses a length, for example `120` or `120 km`.
fn length_km(attribute: &Attribute<'_>, unit: Option<f64>) -> ReadResult<f64> {
    let text = attribute.value.trim();
    let with_unit = LENGTH_UNITS.iter().find_map(|(name, km)| {
        let number = text.strip_suffix(name)?.trim_end();
        number.parse::<f64>().is_ok().then_some((number, *km))
    });
    let (number, km) = with_unit.unwrap_or((text, unit.unwrap_or(1.0)));
    let number = Attribute::new(&*attribute.name, number, attribute.span.clone());
    Ok(not_negative(&number)? * km)
}

/// Returns `number` times `unit`, without the rounding error of a unit such as 1e-3.
pub(crate) fn scaled(number: f64, unit: f64) -> f64 {
    if unit < 1.0 {
        number / (1.0 / unit).round()
    } else {
        number * unit
    }
}

fn buffer(attribute: &Attribute<'_>) -> ReadResult<BufferSize> {
    let above_0 = |room: &BufferSize| match room {
        BufferSize::Size(Size::Bytes(bytes)) => bytes.get() > 0.0,
        BufferSize::Size(Size::Packets(packets)) => packets.get() > 0.0,
        BufferSize::Time(time) => time.get() > 0.0,
    };
    let room = attribute.value.trim().parse::<BufferSize>().ok();
    room.filter(above_0).ok_or_else(|| {
        let message = format!(
            "`{}` of `{}` is not a buffer size",
            truncate_text(&attribute.value),
            attribute.name
        );
        ImportError::value(attribute.span.clone(), message).help("write 100 pkt, 150 KB or 50 ms")
    })
}

enum Bandwidth {
    StatedQuantity(StatedQuantity),
    Label(LabelBandwidth),
}

impl Bandwidth {
    fn stated(&self) -> StatedQuantity {
        match self {
            Bandwidth::StatedQuantity(stated) => stated.clone(),
            Bandwidth::Label(told) => StatedQuantity::WithUnit(told.bps),
        }
    }
}

fn rate(attribute: &Attribute<'_>, unit: Option<f64>) -> ReadResult<Bandwidth> {
    if attribute.value.trim().parse::<f64>().is_ok() {
        let number = not_negative(attribute)?;
        return Ok(Bandwidth::StatedQuantity(match unit {
            // The name ends in bytes per second: `capacity_GBps`.
            Some(unit) if has_byte_unit_suffix(&attribute.name, unit) && number > 0.0 => {
                return Ok(Bandwidth::Label(LabelBandwidth::of_bytes(
                    8.0 * number * unit,
                )));
            }
            Some(unit) => StatedQuantity::WithUnit(number * unit),
            None => StatedQuantity::WithoutUnit(number),
        }));
    }
    let text = attribute.value.trim();
    if let Ok(rate) = text.parse::<BitsPerSecond>()
        && rate.get() >= 0.0
    {
        return Ok(if is_byte_rate(text) && rate.get() > 0.0 {
            Bandwidth::Label(LabelBandwidth::of_bytes(rate.get()))
        } else {
            Bandwidth::StatedQuantity(StatedQuantity::WithUnit(rate.get()))
        });
    }
    label_bandwidth::parse_bandwidth(&attribute.value, ByteUnit::Bytes)
        .map(Bandwidth::Label)
        .ok_or_else(|| {
            let message = format!(
                "`{}` of `{}` is not a rate",
                truncate_text(&attribute.value),
                attribute.name
            );
            let wrong = ImportError::value(attribute.span.clone(), message)
                .help("write a number, with or without a unit, such as 10 Mbit/s");
            with_separator_help(wrong, &attribute.value)
        })
}

/// Returns whether a key ends in a unit of bytes, such as `capacity_GBps`. In `capacityBps`, the capital
/// letter begins a word.
pub(crate) fn has_byte_unit_suffix(key: &str, unit: f64) -> bool {
    key.ends_with("Bps") && (unit > 1.0 || key.ends_with("_Bps"))
}

/// Returns whether a rate has a unit of bytes per second.
pub(crate) fn is_byte_rate(rate: &str) -> bool {
    rate.trim_end().ends_with("B/s")
}

fn time(attribute: &Attribute<'_>, unit: Option<f64>) -> ReadResult<StatedQuantity> {
    if attribute.value.trim().parse::<f64>().is_ok() {
        let number = not_negative(attribute)?;
        return Ok(match unit {
            Some(unit) => StatedQuantity::WithUnit(scaled(number, unit)),
            None => StatedQuantity::WithoutUnit(number),
        });
    }
    match attribute.value.trim().parse::<Seconds>() {
        Ok(time) if time.get() >= 0.0 => Ok(StatedQuantity::WithUnit(time.get())),
        Ok(_) => {
            let message = format!("`{}` is negative", attribute.name);
            Err(ImportError::value(attribute.span.clone(), message))
        }
        Err(error) => {
            let message = format!(
                "`{}` of `{}` is not a time: {error}",
                truncate_text(&attribute.value),
                attribute.name
            );
            Err(ImportError::value(attribute.span.clone(), message).help(error.help()))
        }
    }
}
