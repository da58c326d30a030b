//! The subcommand `netflow profile list`.

use std::io::Write;

use clap::Args;
use netflow::number::plain;
use netflow::profile::{aliases, builtin, builtin_names};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::table::{Table, format_or};

/// List the built-in profiles
#[derive(Args)]
pub struct ListArguments {
    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
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
    let entries = builtin_names().iter().filter_map(|name| entry(name));
    let entries: Vec<Entry> = entries.collect();
    let text = |out: &mut dyn Write| {
        let range = |from: f64, to: f64| format!("{}–{}", plain(from), plain(to));
        Table::of(&entries)
            .text("name", |it| it.name)
            .text("alias", |it| it.aliases.join(", "))
            .text("loss %", |it| {
                range(100.0 * it.loss_min, 100.0 * it.loss_max)
            })
            .text("rtt ms", |it| range(1e3 * it.rtt_min_s, 1e3 * it.rtt_max_s))
            .text("window pkt", |it| {
                format_or(it.window_limit_pkts, plain, "")
            })
            .description("description", |it| it.description.clone())
            .print(out)
    };
    let csv = |out: &mut dyn Write| csv::write(&entries, out);
    Ok(arguments.format.print(out, &entries, csv, text)?)
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
