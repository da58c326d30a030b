//! Text output of latencies.

use std::io::{self, Write};

use netflow::document::Words as _;
use netflow::latency::{LatencyResult, Method, Model};
use netflow::number::{count, percent, plain, short};
use netflow::tcpmodel::rto::NORMAL_QUANTILE_975;
use netflow::units::{BitsPerSecond, Bytes, Seconds};

use crate::output::table::{Table, format_or};

/// The stack of the papers, which date from 1998.
const PAPER_STACK: &str = "linux-2.0.34";

/// Prints one answer.
pub fn text(method: &Method, answer: &LatencyResult, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} in {} of {}, one-way delay {}, loss {} % in each direction{}: {} with {}\n",
        Bytes(answer.question.size_bytes as f64),
        count(answer.question.packets as usize, "packet"),
        Bytes(f64::from(method.mss_bytes)),
        Seconds(answer.question.delay_s),
        plain(100.0 * answer.question.loss),
        bandwidth(method),
        model(method.model),
        method.stack.name,
    )?;
    let times = [
        ("median", answer.median_s),
        ("p90", answer.p90_s),
        ("p99", answer.p99_s),
    ];
    let parts = [
        ("handshake", answer.handshake_s),
        ("rounds", answer.transfer_s),
        ("timeouts", answer.timeout_s),
    ];
    let share = |time_s: f64| {
        if answer.mean_s > 0.0 {
            format!("{} of the mean", percent(time_s / answer.mean_s))
        } else {
            String::new()
        }
    };
    let mut rows = vec![("mean", answer.mean_s, format_confidence(answer))];
    let known = |(name, time_s): (_, Option<f64>)| Some((name, time_s?, String::new()));
    rows.extend(times.into_iter().filter_map(known));
    rows.extend(parts.map(|(name, time_s)| (name, time_s, share(time_s))));
    Table::of(rows)
        .text("latency", |row| row.0)
        .number("s", |row| short(row.1))
        .description("", |row| row.2.clone())
        .print(out)
}

/// Prints a note if the TCP is that of a paper instead of a current one, or depends on marks.
pub fn print_notes(method: &Method, out: &mut dyn Write) -> io::Result<()> {
    if method.stack.ecn_rules().is_required && method.model == Model::Simulated {
        writeln!(
            out,
            "\nnote: no ECN marks are simulated, so that `{}` reacts only to losses",
            method.stack.congestion.name()
        )
    } else if method.stack.name == PAPER_STACK {
        writeln!(
            out,
            "\nTCP of 1998, as in the paper; for a current TCP, use --model rounds"
        )
    } else {
        Ok(())
    }
}

/// Describes the confidence interval of the mean.
fn format_confidence(answer: &LatencyResult) -> String {
    match answer {
        LatencyResult {
            mean_low_s: Some(low_s),
            ..
        } => format!(
            "{} with loss in the direction of the data only",
            short(*low_s)
        ),
        LatencyResult { samples: 0, .. } => "exact".to_owned(),
        _ => format!(
            "± {} (95 %), {} transfers simulated",
            short(NORMAL_QUANTILE_975 * answer.standard_error_s),
            answer.samples
        ),
    }
}

/// Prints a table of several answers.
pub fn table(method: &Method, answers: &[LatencyResult], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} with {}, packets of {}{}\n",
        model(method.model),
        method.stack.name,
        Bytes(f64::from(method.mss_bytes)),
        bandwidth(method),
    )?;
    let maybe = |time_s| format_or(time_s, short, "");
    Table::of(answers)
        .text("size", |it| Bytes(it.question.size_bytes as f64))
        .number("packets", |it| it.question.packets)
        .number("delay", |it| Seconds(it.question.delay_s))
        .number("loss", |it| {
            format!("{} %", plain(100.0 * it.question.loss))
        })
        .number("mean s", |it| short(it.mean_s))
        .number("median s", |it| maybe(it.median_s))
        .number("p90 s", |it| maybe(it.p90_s))
        .number("p99 s", |it| maybe(it.p99_s))
        .number("handshake s", |it| short(it.handshake_s))
        .number("rounds s", |it| short(it.transfer_s))
        .number("timeouts s", |it| short(it.timeout_s))
        .print(out)
}

fn model(model: Model) -> &'static str {
    match model {
        Model::Short => "the model of Zhang, Wang & Keshav",
        Model::Simulated => "packet-by-packet simulation",
        Model::ModelC => "Model C",
        Model::Csa => "the model of Cardwell, Savage & Anderson",
    }
}

/// Returns the bandwidth as `, 10 Mbit/s`, or an empty text.
fn bandwidth(method: &Method) -> String {
    format_or(
        method.bandwidth_bps,
        |bps| format!(", {}", BitsPerSecond(bps)),
        "",
    )
}
