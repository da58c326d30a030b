//! Tables of the accepted units of each dimension.

/// Unit of a quantity: a number `x` with this unit is `x · multiplier · 10^exponent` base units.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) multiplier: u32,
    pub(crate) exponent: i32,
    /// Name in suggestions and output: the canonical unit of an alias, otherwise the unit itself.
    pub(crate) canonical: &'static str,
    /// True if output may use the unit. Such units are powers of ten, in ascending order.
    pub(crate) printed: bool,
}

const fn printed(name: &'static str, exponent: i32) -> Unit {
    Unit {
        name,
        multiplier: 1,
        exponent,
        canonical: name,
        printed: true,
    }
}

const fn accepted(name: &'static str, multiplier: u32, exponent: i32) -> Unit {
    Unit {
        name,
        multiplier,
        exponent,
        canonical: name,
        printed: false,
    }
}

const fn alias(name: &'static str, exponent: i32, canonical: &'static str) -> Unit {
    Unit {
        name,
        multiplier: 1,
        exponent,
        canonical,
        printed: false,
    }
}

/// Dimension that a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Time,
    /// Time between failures or to repair, far longer than a run.
    LongTime,
    BitRate,
    PacketRate,
    Bytes,
    Packets,
    Probability,
}

impl Dimension {
    pub(crate) const ALL: [Dimension; 7] = [
        Self::Time,
        Self::LongTime,
        Self::BitRate,
        Self::PacketRate,
        Self::Bytes,
        Self::Packets,
        Self::Probability,
    ];

    /// Returns all accepted units.
    pub(crate) fn units(self) -> &'static [Unit] {
        match self {
            Self::Time | Self::LongTime => {
                const {
                    &[
                        printed("us", -6),
                        printed("ms", -3),
                        printed("s", 0),
                        accepted("min", 60, 0),
                        accepted("h", 3600, 0),
                        accepted("d", 86_400, 0),
                    ]
                }
            }
            Self::BitRate => {
                const {
                    &[
                        printed("bit/s", 0),
                        printed("kbit/s", 3),
                        printed("Mbit/s", 6),
                        printed("Gbit/s", 9),
                        alias("bps", 0, "bit/s"),
                        alias("kbps", 3, "kbit/s"),
                        alias("Mbps", 6, "Mbit/s"),
                        alias("Gbps", 9, "Gbit/s"),
                        accepted("B/s", 8, 0),
                        accepted("KB/s", 8, 3),
                        accepted("MB/s", 8, 6),
                        accepted("GB/s", 8, 9),
                    ]
                }
            }
            Self::PacketRate => const { &[printed("pkt/s", 0)] },
            Self::Bytes => {
                const {
                    &[
                        printed("B", 0),
                        printed("KB", 3),
                        printed("MB", 6),
                        printed("GB", 9),
                        accepted("KiB", 1 << 10, 0),
                        accepted("MiB", 1 << 20, 0),
                        accepted("GiB", 1 << 30, 0),
                    ]
                }
            }
            Self::Packets => const { &[printed("pkt", 0)] },
            Self::Probability => const { &[printed("%", -2)] },
        }
    }

    /// Returns the noun in messages, for example "a unit of time".
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Time | Self::LongTime => "time",
            Self::BitRate => "rate",
            Self::PacketRate => "packet rate",
            Self::Bytes => "size",
            Self::Packets => "packets",
            Self::Probability => "probability",
        }
    }

    /// Returns the most common units, as examples in help texts.
    pub(crate) fn example_units(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["s", "ms"],
            Self::LongTime => &["h", "d"],
            Self::BitRate => &["Mbit/s", "kbit/s"],
            Self::PacketRate => &["pkt/s"],
            Self::Bytes => &["KB", "B"],
            Self::Packets => &["pkt"],
            Self::Probability => &["%"],
        }
    }

    /// Returns the list of units for help texts, most common first.
    pub(crate) fn unit_list(self) -> &'static str {
        match self {
            Self::Time => "s, ms, us, min, h, d",
            Self::LongTime => "h, d, min, s, ms, us",
            Self::BitRate => "bit/s, kbit/s, Mbit/s, Gbit/s, B/s, KB/s, MB/s, GB/s",
            Self::PacketRate => "pkt/s",
            Self::Bytes => "B, KB, MB, GB, KiB, MiB, GiB",
            Self::Packets => "pkt",
            Self::Probability => "%",
        }
    }

    pub(crate) fn find(self, name: &str) -> Option<&'static Unit> {
        self.units().iter().find(|unit| unit.name == name)
    }
}

/// Common spellings of units elsewhere, each with the accepted unit. Used for suggestions only.
const FOREIGN_SPELLINGS: &[(&str, &str)] = &[
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("usec", "us"),
    ("µs", "us"),
    ("μs", "us"),
    ("microsecond", "us"),
    ("microseconds", "us"),
    ("m", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("day", "d"),
    ("days", "d"),
    ("bits/s", "bit/s"),
    ("pps", "pkt/s"),
    ("p/s", "pkt/s"),
    ("packet/s", "pkt/s"),
    ("packets/s", "pkt/s"),
    ("pkts/s", "pkt/s"),
    ("byte", "B"),
    ("bytes", "B"),
    ("k", "kbit/s"),
    ("m", "Mbit/s"),
    ("g", "Gbit/s"),
    ("k", "KB"),
    ("m", "MB"),
    ("g", "GB"),
    ("p", "pkt"),
    ("pkts", "pkt"),
    ("packet", "pkt"),
    ("packets", "pkt"),
    ("percent", "%"),
];

/// Returns both readings of an ambiguous rate such as `mb/s`, which may mean bits or bytes. `mbps`
/// is bits.
pub(crate) fn ambiguous_rate(
    name: &str,
    dimensions: &[Dimension],
) -> Option<(&'static str, &'static str)> {
    if !dimensions.contains(&Dimension::BitRate) {
        return None;
    }
    let compact: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    let stem = match compact.strip_suffix("ps") {
        Some(stem) if stem.ends_with('B') => stem,
        Some(_) => return None,
        None => compact.strip_suffix("/s").unwrap_or(&compact),
    };
    match stem.to_ascii_lowercase().as_str() {
        "b" => Some(("bit/s", "B/s")),
        "kb" => Some(("kbit/s", "KB/s")),
        "mb" => Some(("Mbit/s", "MB/s")),
        "gb" => Some(("Gbit/s", "GB/s")),
        _ => None,
    }
}

/// Returns the accepted unit closest to `name`, if any is close.
pub(crate) fn nearest(name: &str, dimensions: &[Dimension]) -> Option<&'static str> {
    let units = || dimensions.iter().flat_map(|dimension| dimension.units());
    let allowed = |canonical: &str| {
        units()
            .find(|unit| unit.name == canonical)
            .map(|unit| unit.name)
    };

    let compact: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    // The right unit in the wrong case, or with blanks inside.
    if let Some(unit) = units().find(|unit| unit.name == compact) {
        return Some(unit.canonical);
    }
    if let Some(unit) = units().find(|unit| unit.name.eq_ignore_ascii_case(&compact)) {
        return Some(unit.canonical);
    }
    let foreign = FOREIGN_SPELLINGS
        .iter()
        .filter(|(other, _)| other.eq_ignore_ascii_case(&compact));
    if let Some(unit) = foreign
        .filter_map(|(_, canonical)| allowed(canonical))
        .next()
    {
        return Some(unit);
    }
    // A rate without its time unit.
    let a_second = compact + "/s";
    if let Some(unit) = units().find(|unit| unit.name.eq_ignore_ascii_case(&a_second)) {
        return Some(unit.canonical);
    }
    let compact = a_second.trim_end_matches("/s");
    // A typing error: at most two edits (a wrong case counts half), and at most half of the word.
    let most = 2 * compact.chars().count().div_ceil(2).min(2);
    units()
        .map(|unit| (edit_distance(compact, unit.name), unit))
        .min_by_key(|(cost, _)| *cost)
        .filter(|(cost, _)| *cost <= most)
        .map(|(_, unit)| unit.canonical)
}

/// Computes the edit distance in which a wrong case costs 1 and any other edit 2.
fn edit_distance(a: &str, b: &str) -> usize {
    // Longer words cannot be close to a unit.
    let a: Vec<char> = a.chars().take(16).collect();
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).map(|j| 2 * j).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = 2 * (i + 1);
        for (j, &y) in b.iter().enumerate() {
            let swap = if x == y {
                0
            } else if x.eq_ignore_ascii_case(&y) {
                1
            } else {
                2
            };
            let best = (diagonal + swap).min(row[j] + 2).min(row[j + 1] + 2);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_mistakes_suggest_the_unit() {
        let rate = [Dimension::BitRate, Dimension::PacketRate];
        assert_eq!(nearest("Mbq", &rate), Some("Mbit/s"));
        assert_eq!(nearest("mbit/s", &rate), Some("Mbit/s"));
        assert_eq!(nearest("Mbit", &rate), Some("Mbit/s"));
        assert_eq!(nearest("mbit", &rate), Some("Mbit/s"));
        assert_eq!(nearest("gBIT", &rate), Some("Gbit/s"));
        assert_eq!(nearest("mbit", &[Dimension::Bytes]), None);
        assert_eq!(nearest("Mbit / s", &rate), Some("Mbit/s"));
        assert_eq!(nearest("Kbit/s", &rate), Some("kbit/s"));
        assert_eq!(nearest("packets/s", &rate), Some("pkt/s"));
        assert_eq!(
            nearest("Kb", &[Dimension::Bytes, Dimension::Packets]),
            Some("KB")
        );
        assert_eq!(nearest("seconds", &[Dimension::Time]), Some("s"));
        assert_eq!(nearest("µs", &[Dimension::Time]), Some("us"));
        assert_eq!(nearest("parsec", &[Dimension::Time]), None);
        assert_eq!(
            nearest("x".repeat(100_000).as_str(), &[Dimension::Time]),
            None
        );
    }

    #[test]
    fn bits_and_bytes_are_never_guessed() {
        let rate = [Dimension::BitRate, Dimension::PacketRate];
        for name in ["mb/s", "Mb/s", "mB/s", "mb", "MBps", "M b/s"] {
            let both = ambiguous_rate(name, &rate);
            assert_eq!(both, Some(("Mbit/s", "MB/s")), "{name}");
        }
        for name in ["mbps", "Mbit", "m", "mbq/s", ""] {
            assert_eq!(ambiguous_rate(name, &rate), None, "{name}");
        }
        assert_eq!(ambiguous_rate("mb", &[Dimension::Bytes]), None);
        assert_eq!(nearest("mbps", &rate), Some("Mbit/s"));
    }

    #[test]
    fn every_canonical_name_is_itself_a_unit() {
        for dimension in Dimension::ALL {
            for unit in dimension.units() {
                let canonical = dimension.find(unit.canonical).expect("canonical unit");
                assert_eq!(
                    (canonical.multiplier, canonical.exponent),
                    (unit.multiplier, unit.exponent)
                );
                assert!(!unit.printed || unit.multiplier == 1, "{}", unit.name);
            }
            for name in dimension
                .unit_list()
                .split(", ")
                .chain(dimension.example_units().iter().copied())
            {
                assert!(dimension.find(name).is_some(), "{name}");
            }
        }
    }
}
