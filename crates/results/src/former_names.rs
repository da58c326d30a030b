//! Former names of columns, keys and tables.
//!
//! Keys of JSON files have their former name as `serde(alias)`. Here are the names that serde does not rename: columns
//! of series, sweeps, steady states and failures, keys with a suffix, and files.

use serde::{Deserialize, Deserializer};

use crate::Spread;

/// Former and present names of columns. Format 1 (netflow 0.1) has the former ones.
const COLUMNS: [(&str, &str); 21] = [
    ("queueing_delay_s", "sojourn_time_s"),
    ("saturated_s", "at_capacity_s"),
    ("loses_by_size", "loss_is_size_dependent"),
    ("blocked_pkts", "unrouted_pkts"),
    ("no_route_s", "unrouted_intervals_s"),
    ("made_pkts", "generated_pkts"),
    ("under_way_pkts", "in_network_pkts"),
    ("outside_profile_fraction", "extrapolated_fraction"),
    ("unusable_profile_fraction", "unreliable_fraction"),
    ("held_by", "limited_by"),
    ("alone_s", "unloaded_s"),
    ("rests", "has_steady_state"),
    ("why_not", "reason"),
    ("blocked_connections", "unroutable_connections"),
    ("blocked_goodput", "unroutable_goodput"),
    ("hurt_connections", "affected_connections"),
    ("hardest_hit", "worst_affected"),
    ("hardest_hit_lost", "worst_affected_loss"),
    ("moved_whole", "rerouted_unsplit"),
    ("harm", "effect"),
    ("whole", "network_totals"),
];

/// Suffixes of the statistics over seeds.
const STATISTICS: [&str; 2] = ["_std", "_seeds"];

/// Returns the present name of a column or table, if the name is a former one. Statistics over seeds
/// keep their suffix.
pub fn present_name(former: &str) -> Option<String> {
    let suffix = STATISTICS.into_iter().find(|it| former.ends_with(it));
    let stem = former.strip_suffix(suffix.unwrap_or("")).unwrap_or(former);
    let (_, name) = COLUMNS.into_iter().find(|(old, _)| *old == stem)?;
    Some(format!("{name}{}", suffix.unwrap_or("")))
}

/// Returns the former name of a column or table, if it has one.
pub(crate) fn former_name(name: &str) -> Option<&'static str> {
    let of_name = COLUMNS.into_iter().find(|(_, present)| *present == name);
    of_name.map(|(former, _)| former)
}

/// Reads statistics over seeds under present or former names.
pub(crate) fn read_spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Spread, D::Error> {
    let read = Spread::deserialize(deserializer)?;
    let renamed = read
        .into_iter()
        .map(|(name, value)| (present_name(&name).unwrap_or(name), value));
    Ok(renamed.collect())
}

/// Reads the origin of the rates of a profile as a present or a former word.
pub(crate) fn read_profile_use<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let read = Option::<String>::deserialize(deserializer)?;
    Ok(read.map(|word| match word.as_str() {
        "extended" => "extrapolated".to_owned(),
        "not usable" => "unreliable".to_owned(),
        _ => word,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_columns_have_present_names() {
        let of = |name| present_name(name).unwrap_or_default();
        assert_eq!(of("queueing_delay_s"), "sojourn_time_s");
        assert_eq!(of("queueing_delay_s_std"), "sojourn_time_s_std");
        assert_eq!(of("made_pkts_seeds"), "generated_pkts_seeds");
        assert_eq!(of("sojourn_time_s"), "");
        assert_eq!(former_name("network_totals"), Some("whole"));
        assert_eq!(former_name("utilization"), None);
    }
}
