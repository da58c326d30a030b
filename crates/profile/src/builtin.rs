//! Built-in profiles, created at first use.

use std::sync::{Arc, OnceLock};

use crate::{
    Analytic, Formula, FormulaParameters, PowerLaw, PowerLawRow, PowerLawSpec, Profile, from_toml,
};

/// Table 1 of \[Prof\].
const TABLE_1: &str = include_str!("../data/table1.csv");

/// Coefficient of rtt·loss in \[Prof\] eq. 3.
const NETBSD_LOSS_RTT_EXPONENT: f64 = 1e-4;

enum ProfileSource {
    /// A column pair of Table 1: its index, and the coefficient of rtt·loss.
    Table {
        pair: usize,
        loss_rtt_exponent: f64,
        description: &'static str,
    },
    /// A formula with its default parameters.
    Formula(Formula, &'static str),
    /// A profile file's text.
    File(&'static str),
}

const NAMES: &[&str] = &[
    "windows-nt-4-sp3",
    "sunos-5.5",
    "netbsd-1.2",
    "mathis",
    "pftk-approximate",
    "pftk-full",
    "ns-reno",
    "ns-newreno",
    "ns-sack",
    "ns-vegas",
    "ns-tahoe",
    "ns-reno-w64",
    "ns-newreno-w64",
    "ns-sack-w64",
    "ns-vegas-w64",
    "linux-reno",
    "linux-cubic",
];

/// Delay-based TCP: it backs off on queueing delay, so its share among competing flows is not a
/// function of loss and RTT.
pub const DELAY_BASED: [&str; 2] = ["ns-vegas", "ns-vegas-w64"];

const ALIASES: &[(&str, &str)] = &[
    ("nt", "windows-nt-4-sp3"),
    ("sun", "sunos-5.5"),
    ("bsd", "netbsd-1.2"),
    ("pftk", "pftk-full"),
];

static CACHE: [OnceLock<Option<Arc<dyn Profile>>>; NAMES.len()] =
    [const { OnceLock::new() }; NAMES.len()];

fn profile_source(name: &str) -> Option<ProfileSource> {
    let table = |pair, loss_rtt_exponent, description| ProfileSource::Table {
        pair,
        loss_rtt_exponent,
        description,
    };
    Some(match name {
        "windows-nt-4-sp3" => table(
            0,
            0.0,
            "Windows NT 4.0 SP3, measured by Popescu & Shankar ([Prof] Table 1)",
        ),
        "sunos-5.5" => table(
            1,
            0.0,
            "SunOS 5.5, measured by Popescu & Shankar ([Prof] Table 1)",
        ),
        "netbsd-1.2" => table(
            2,
            NETBSD_LOSS_RTT_EXPONENT,
            "NetBSD 1.2, measured by Popescu & Shankar ([Prof] Table 1, eq. 3)",
        ),
        "mathis" => ProfileSource::Formula(Formula::Mathis, "Mathis et al. 1997, b = 2"),
        "pftk-approximate" => ProfileSource::Formula(
            Formula::PftkApproximate,
            "Padhye et al. 1998, approximate model, b = 2, T0 = 1 s",
        ),
        "pftk-full" => ProfileSource::Formula(
            Formula::PftkFull,
            "Padhye et al. 1998, full model's send rate, b = 2, T0 = 1 s",
        ),
        "ns-reno" => ProfileSource::File(include_str!("../data/ns-reno.toml")),
        "ns-newreno" => ProfileSource::File(include_str!("../data/ns-newreno.toml")),
        "ns-sack" => ProfileSource::File(include_str!("../data/ns-sack.toml")),
        "ns-vegas" => ProfileSource::File(include_str!("../data/ns-vegas.toml")),
        "ns-tahoe" => ProfileSource::File(include_str!("../data/ns-tahoe.toml")),
        "ns-reno-w64" => ProfileSource::File(include_str!("../data/ns-reno-w64.toml")),
        "ns-newreno-w64" => ProfileSource::File(include_str!("../data/ns-newreno-w64.toml")),
        "ns-sack-w64" => ProfileSource::File(include_str!("../data/ns-sack-w64.toml")),
        "ns-vegas-w64" => ProfileSource::File(include_str!("../data/ns-vegas-w64.toml")),
        "linux-reno" => ProfileSource::File(include_str!("../data/linux-reno.toml")),
        "linux-cubic" => ProfileSource::File(include_str!("../data/linux-cubic.toml")),
        _ => return None,
    })
}

/// Returns the built-in profile with this name or alias.
///
/// A profile is created at first use, in well under a millisecond, and then shared.
pub fn builtin(name: &str) -> Option<Arc<dyn Profile>> {
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, canonical)| canonical);
    let index = NAMES.iter().position(|known| *known == name)?;
    CACHE[index].get_or_init(|| create(name)).clone()
}

/// Returns the canonical names of the built-in profiles.
pub fn builtin_names() -> &'static [&'static str] {
    NAMES
}

/// Returns the other names of built-in profiles: (alias, canonical name).
pub fn aliases() -> &'static [(&'static str, &'static str)] {
    ALIASES
}

/// Creates a profile; a test shows that it is never `None` for a known name.
fn create(name: &str) -> Option<Arc<dyn Profile>> {
    match profile_source(name)? {
        ProfileSource::Table {
            pair,
            loss_rtt_exponent,
            description,
        } => {
            let spec = PowerLawSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                rows: TABLE_1
                    .lines()
                    .filter_map(|line| table_row(line, pair))
                    .collect(),
                loss_rtt_exponent,
                rtt_min_s: 0.06,
                rtt_max_s: 5.0,
            };
            Some(Arc::new(PowerLaw::new(spec).ok()?))
        }
        ProfileSource::Formula(formula, description) => Some(Arc::new(
            Analytic::new(name, description, formula, FormulaParameters::default()).ok()?,
        )),
        ProfileSource::File(text) => from_toml(text).ok(),
    }
}

/// Parses A and B of one implementation from a line of Table 1; `None` for comments and the header.
fn table_row(line: &str, pair: usize) -> Option<PowerLawRow> {
    let mut fields = line.split(',');
    let loss = fields.next()?.parse().ok()?;
    let mut fields = fields.skip(2 * pair);
    Some(PowerLawRow {
        loss,
        a: fields.next()?.parse().ok()?,
        b: fields.next()?.parse().ok()?,
    })
}
