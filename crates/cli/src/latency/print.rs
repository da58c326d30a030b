//! Answers as text, CSV and JSON.

use std::io::{self, Write};

use netflow::tcpmodel::rto::HALF_INTERVAL;
use netflow::units::{BitsPerSecond, Bytes, Seconds};
use serde::Serialize;

use super::answer::Answer;
use super::{Method, Model};
use crate::number::{percent, plain, short};
use crate::table;

/// One answer.
pub fn text(method: &Method, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} in {} of {}, {} and a loss of {} % each way{}: {} with {}\n",
        Bytes(answer.size_bytes as f64),
        crate::number::count(answer.packets as usize, "packet"),
        Bytes(f64::from(method.mss_bytes)),
        Seconds(answer.delay_s),
        plain(100.0 * answer.loss),
        bandwidth(method),
        model(method.model),
        method.stack.name,
    )?;
    let mut table = table::aligned(&["latency", "s", ""], 1);
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    table.add_row(["mean".to_owned(), short(answer.mean_s), certainty(answer)]);
    for (name, time_s) in [
        ("median", answer.median_s),
        ("90 % within", answer.p90_s),
        ("99 % within", answer.p99_s),
    ] {
        if let Some(time_s) = time_s {
            table.add_row([name.to_owned(), short(time_s), String::new()]);
        }
    }
    for (name, time_s) in [
        ("handshake", answer.handshake_s),
        ("rounds", answer.transfer_s),
        ("timeouts", answer.timeout_s),
    ] {
        let share = if answer.mean_s > 0.0 {
            format!("{} of the mean", percent(time_s / answer.mean_s))
        } else {
            String::new()
        };
        table.add_row([name.to_owned(), short(time_s), share]);
    }
    table::print(&table, out)
}

/// How sure the mean is.
fn certainty(answer: &Answer) -> String {
    match answer {
        Answer {
            mean_low_s: Some(low_s),
            ..
        } => format!("{} if only the way of the data lost packets", short(*low_s)),
        Answer { samples: 0, .. } => "exact".to_owned(),
        _ => format!(
            "± {} (95 %), {} transfers played",
            short(HALF_INTERVAL * answer.standard_error_s),
            answer.samples
        ),
    }
}

/// Many answers.
pub fn table(method: &Method, answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} with {}, packets of {}{}\n",
        model(method.model),
        method.stack.name,
        Bytes(f64::from(method.mss_bytes)),
        bandwidth(method),
    )?;
    let titles = [
        "size",
        "packets",
        "delay",
        "loss",
        "mean s",
        "median s",
        "90 % s",
        "99 % s",
        "handshake s",
        "rounds s",
        "timeouts s",
    ];
    let mut table = table::table(&titles);
    for answer in answers {
        let maybe = |time_s: Option<f64>| time_s.map_or(String::new(), short);
        table.add_row([
            Bytes(answer.size_bytes as f64).to_string(),
            answer.packets.to_string(),
            Seconds(answer.delay_s).to_string(),
            format!("{} %", plain(100.0 * answer.loss)),
            short(answer.mean_s),
            maybe(answer.median_s),
            maybe(answer.p90_s),
            maybe(answer.p99_s),
            short(answer.handshake_s),
            short(answer.transfer_s),
            short(answer.timeout_s),
        ]);
    }
    table::print(&table, out)
}

fn model(model: Model) -> &'static str {
    match model {
        Model::Short => "the model of Zhang, Wang & Keshav",
        Model::Rounds => "transfers played packet by packet",
        Model::ModelC => "Model C",
        Model::Csa => "the model of Cardwell, Savage & Anderson",
    }
}

/// `, 10 Mbit/s`, if it is given.
fn bandwidth(method: &Method) -> String {
    method
        .bandwidth_bps
        .map_or(String::new(), |bps| format!(", {}", BitsPerSecond(bps)))
}

/// Columns named as in JSON; what a model does not say is empty.
pub fn csv(answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for answer in answers {
        writer.serialize(answer)?;
    }
    writer.flush()
}

pub fn json(answer: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}
