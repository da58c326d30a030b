//! `netflow profile list`

use std::io::Write;

use clap::Args;
use netflow::profile::{aliases, builtin, builtin_names};
use serde::Serialize;

use super::json;
use crate::args::ReportFormat;
use crate::failure::Failure;
use crate::number::plain;
use crate::table;

/// List the built-in profiles
#[derive(Args)]
pub struct ListArguments {
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    aliases: Vec<&'static str>,
    description: String,
    loss_min: f64,
    loss_max: f64,
    rtt_min_s: f64,
    rtt_max_s: f64,
    window_limit_pkts: Option<f64>,
}

pub fn list(arguments: &ListArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let entries: Vec<Entry> = builtin_names()
        .iter()
        .filter_map(|name| entry(name))
        .collect();
    if arguments.format == ReportFormat::Json {
        return Ok(json(&entries, out)?);
    }
    let mut table = table::aligned(
        &[
            "name",
            "alias",
            "loss %",
            "rtt ms",
            "window pkt",
            "what it is",
        ],
        6,
    );
    for entry in &entries {
        table.add_row([
            entry.name.to_owned(),
            entry.aliases.join(", "),
            format!(
                "{}–{}",
                plain(100.0 * entry.loss_min),
                plain(100.0 * entry.loss_max)
            ),
            format!(
                "{}–{}",
                plain(1e3 * entry.rtt_min_s),
                plain(1e3 * entry.rtt_max_s)
            ),
            entry.window_limit_pkts.map(plain).unwrap_or_default(),
            entry.description.clone(),
        ]);
    }
    Ok(table::print(&table, out)?)
}

fn entry(name: &'static str) -> Option<Entry> {
    let profile = builtin(name)?;
    let domain = profile.domain();
    Some(Entry {
        name,
        aliases: aliases()
            .iter()
            .filter(|(_, of)| *of == name)
            .map(|(alias, _)| *alias)
            .collect(),
        description: profile.description().to_owned(),
        loss_min: domain.loss_min,
        loss_max: domain.loss_max,
        rtt_min_s: domain.rtt_min_s,
        rtt_max_s: domain.rtt_max_s,
        window_limit_pkts: profile.window_limit_pkts(),
    })
}
