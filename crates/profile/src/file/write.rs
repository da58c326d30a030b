//! Writer of profile files.

use std::fmt::Write;

use netflow_units::{Packets, Seconds};

use super::{Definition, FORMAT};
use crate::{Analytic, Formula, Grid, PowerLaw, Profile};

/// Writes a profile; `write!` to a `String` cannot fail, so its results are dropped.
pub(super) fn write(definition: Definition<'_>) -> String {
    match definition {
        Definition::PowerLaw(power_law) => write_power_law(power_law),
        Definition::Grid(grid) => write_grid(grid),
        Definition::Analytic(analytic) => write_analytic(analytic),
    }
}

fn head(kind: &str, profile: &dyn Profile) -> String {
    let mut text = format!(
        "format = {FORMAT}\nkind = \"{kind}\"\nname = {}\n",
        quoted(profile.name())
    );
    if !profile.description().is_empty() {
        let _ = writeln!(text, "description = {}", quoted(profile.description()));
    }
    if let Some(window) = profile.window_limit_pkts() {
        let _ = writeln!(text, "window = \"{}\"", Packets(window));
    }
    if profile.sawtooth_amplitude() != 1.0 {
        let _ = writeln!(text, "swing = {}", number(profile.sawtooth_amplitude()));
    }
    text
}

fn write_grid(grid: &Grid) -> String {
    let spec = grid.spec();
    let mut text = head("grid", grid);
    let rtts: Vec<String> = spec
        .rtts_s
        .iter()
        .map(|&rtt| format!("\"{}\"", Seconds(rtt)))
        .collect();
    let _ = writeln!(
        text,
        "rtt = [{}]\nthroughput-unit = \"pkt/s\"\nrows = [",
        rtts.join(", ")
    );
    for row in &spec.rows {
        let rates: Vec<String> = row
            .throughput_pps
            .iter()
            .map(|&rate| number(rate))
            .collect();
        let extended = match row.extrapolated.as_slice() {
            [] => String::new(),
            columns => {
                let named: Vec<&str> = columns.iter().map(|&j| rtts[j].as_str()).collect();
                format!(", extended = [{}]", named.join(", "))
            }
        };
        let _ = writeln!(
            text,
            "  {{ loss = {}, throughput = [{}]{} }},",
            number(row.loss),
            rates.join(", "),
            extended
        );
    }
    text.push_str("]\n");
    text
}

fn write_power_law(power_law: &PowerLaw) -> String {
    let spec = power_law.spec();
    let mut text = head("power-law", power_law);
    let _ = writeln!(
        text,
        "rtt-min = \"{}\"\nrtt-max = \"{}\"",
        Seconds(spec.rtt_min_s),
        Seconds(spec.rtt_max_s)
    );
    if spec.loss_rtt_exponent != 0.0 {
        let _ = writeln!(
            text,
            "loss-rtt-exponent = {}",
            number(spec.loss_rtt_exponent)
        );
    }
    text.push_str("rows = [ # F = b·rtt^-a, rtt in ms, F in packets/ms\n");
    for row in &spec.rows {
        let _ = writeln!(
            text,
            "  {{ loss = {}, a = {}, b = {} }},",
            number(row.loss),
            number(row.a),
            number(row.b)
        );
    }
    text.push_str("]\n");
    text
}

fn write_analytic(analytic: &Analytic) -> String {
    let parameters = analytic.parameters();
    let mut text = head(analytic.formula().name(), analytic);
    let _ = writeln!(
        text,
        "segments-per-ack = {}",
        number(parameters.segments_per_ack)
    );
    if analytic.formula() != Formula::Mathis {
        let _ = writeln!(text, "timeout = \"{}\"", Seconds(parameters.timeout_s));
    }
    text
}

/// Returns the shortest decimal that reads back as the same bits.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-6..1e15).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// Returns a TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
