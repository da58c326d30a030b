//! The subcommand `netflow latency`.

mod print;
pub mod stack;

use std::io::Write;

use clap::Args;
use netflow::latency::{LatencyInput, Method, Model, latency_with_stop as answer};
use netflow::number::plain;
use netflow::tcpmodel::{Error, MAX_PACKETS};
use netflow::units::{Bytes, Size};

use stack::StackChanges;

use crate::failure::Failure;
use crate::interrupt;
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::progress::Progress;
use crate::parse::{
    Axis, axis, bandwidth, mss, one_of, positive_size, probability, time_from_zero,
};

/// Compute the latency of a short TCP transfer: mean, quantiles and components
///
/// Packets are lost independently, with the same probability in both directions.
#[derive(Args)]
pub struct LatencyArguments {
    /// Amount of data, such as 10KB or "20 pkt"
    #[arg(long, value_parser = positive_size, allow_hyphen_values = true)]
    #[arg(required_unless_present = "grid")]
    size: Option<Size>,

    /// One-way delay, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = time_from_zero, allow_hyphen_values = true)]
    #[arg(required_unless_present = "grid")]
    delay: Option<f64>,

    /// Loss probability in each direction
    #[arg(long, value_parser = probability, allow_hyphen_values = true, default_value = "0%")]
    loss: f64,

    /// Values of an axis: --grid size=3KB,10KB --grid loss=0%,1%,5% prints a table with one row for
    /// each combination; the axes are size, delay and loss
    #[arg(long, value_name = "AXIS=VALUE,…", value_parser = axis)]
    grid: Vec<Axis>,

    /// Latency model
    #[arg(long, default_value = Model::default().name())]
    #[arg(value_parser = one_of(&Model::ALL, Model::name, Model::description))]
    model: Model,

    #[arg(long, value_name = "NAME", help = stack::help() + " [default: linux-6; linux-2.0.34 for the published models]")]
    stack: Option<String>,

    #[command(flatten)]
    changes: StackChanges,

    /// Payload of a full packet in bytes [default: as in the stack]
    #[arg(long, value_name = "BYTES", value_parser = mss)]
    mss: Option<u32>,

    /// Bandwidth of the path in each direction; only --model rounds models transmission times
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    bandwidth: Option<f64>,

    /// Number of random transfers. By default, --model rounds simulates 4096 to 100000, until the
    /// mean has a precision of 1 %, but at most 30 million packets; --model short simulates none
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    samples: Option<u64>,

    /// Compute exact results, as --model short does without --samples
    #[arg(long, conflicts_with = "samples")]
    exact: bool,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

pub fn latency(arguments: &LatencyArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let method = method(arguments)?;
    let questions = latency_inputs(arguments, method.mss_bytes)?;
    let mut answers = Vec::with_capacity(questions.len());
    let mut progress = Progress::new("the transfers", true);
    for (done, question) in questions.iter().enumerate() {
        progress.set(done as f64 / questions.len() as f64);
        let answer = answer(&method, question, &interrupt::requested);
        if interrupt::requested() {
            return Err(Failure::Interrupted("no results".to_owned()));
        }
        answers.push(answer.map_err(|error| latency_failure(error, method.model, question))?);
    }
    progress.finish();
    let single = match answers.as_slice() {
        [answer] if arguments.grid.is_empty() => Some(answer),
        _ => None,
    };
    let csv = |out: &mut dyn Write| csv::write(&answers, out);
    let format = arguments.format;
    match single {
        Some(answer) => format.print(out, answer, csv, |out| {
            print::text(&method, answer, out)?;
            print::print_notes(&method, out)
        }),
        None => format.print(out, &answers, csv, |out| {
            print::table(&method, &answers, out)?;
            print::print_notes(&method, out)
        }),
    }?;
    Ok(())
}

fn latency_failure(error: Error, model: Model, input: &LatencyInput) -> Failure {
    Failure::Usage {
        help: match (model, error.what) {
            (Model::ModelC | Model::Csa, "loss probability") => Some(format!(
                "the probability that a packet or its acknowledgement is lost is {} %; \
                 --model short and --model rounds support higher loss",
                plain(100.0 * input.transfer().effective_loss())
            )),
            // `--samples` does not help for longer transfers.
            (Model::Short, "number of packets") if input.packets <= MAX_PACKETS => {
                Some("--samples 1000 simulates random transfers instead".to_owned())
            }
            _ => None,
        },
        message: error.to_string(),
    }
}

fn method(arguments: &LatencyArguments) -> Result<Method, Failure> {
    let model = arguments.model;
    let without_effect = |argument: &str, help: &str| Failure::Usage {
        message: format!("{argument} has no effect with --model {}", model.name()),
        help: Some(help.to_owned()),
    };
    if arguments.changes.congestion.is_some() && model != Model::Simulated {
        let help = "--model rounds simulates congestion windows";
        return Err(without_effect("--congestion", help));
    }
    let name = arguments.stack.as_deref();
    let stack = stack::find(name.unwrap_or(model.default_stack()), &arguments.changes)?;
    if arguments.exact && model == Model::Simulated {
        let help = "this model simulates random transfers; set their number with --samples";
        return Err(without_effect("--exact", help));
    }
    let method = Method {
        model,
        mss_bytes: arguments.mss.unwrap_or(stack.mss_bytes),
        stack,
        bandwidth_bps: arguments.bandwidth,
        samples: arguments.samples,
    };
    if let Some(message) = method.unsupported_stack_reason() {
        let help = "--model rounds supports any stack".to_owned();
        return Err(Failure::Usage {
            message,
            help: Some(help),
        });
    }
    match method.unused() {
        Some("bandwidth") => {
            let help = "--model rounds models transmission times";
            Err(without_effect("--bandwidth", help))
        }
        Some(setting) => {
            let help = "leave it out: this model is a formula";
            Err(without_effect(&format!("--{setting}"), help))
        }
        None => Ok(method),
    }
}

/// Returns every combination of the requested values.
fn latency_inputs(
    arguments: &LatencyArguments,
    mss_bytes: u32,
) -> Result<Vec<LatencyInput>, Failure> {
    let axes = Axes::new(&arguments.grid)?;
    let missing = |what: &str| Failure::usage(format!("--{what} or --grid {what}=… is missing"));
    let sizes = axes.sizes.or(arguments.size.map(|size| vec![size]));
    let delays_s = axes
        .delays_s
        .or(arguments.delay.map(|delay_s| vec![delay_s]));
    let losses = axes.losses.unwrap_or_else(|| vec![arguments.loss]);
    let sizes = sizes.ok_or_else(|| missing("size"))?;
    let delays_s = delays_s.ok_or_else(|| missing("delay"))?;
    let mut questions = Vec::with_capacity(sizes.len() * delays_s.len() * losses.len());
    for size in sizes {
        let size_bytes = size.bytes(Bytes(f64::from(mss_bytes))).get().ceil() as u64;
        for &delay_s in &delays_s {
            let of = |&loss| LatencyInput::of(size_bytes, mss_bytes, delay_s, loss);
            questions.extend(losses.iter().map(of));
        }
    }
    Ok(questions)
}

/// The axes given on the command line.
#[derive(Default)]
struct Axes {
    sizes: Option<Vec<Size>>,
    delays_s: Option<Vec<f64>>,
    losses: Option<Vec<f64>>,
}

impl Axes {
    fn new(given: &[Axis]) -> Result<Axes, Failure> {
        let mut axes = Axes::default();
        for axis in given.iter().cloned() {
            let (name, twice) = match axis {
                Axis::Sizes(sizes) => ("size", axes.sizes.replace(sizes).is_some()),
                Axis::DelaysS(delays_s) => ("delay", axes.delays_s.replace(delays_s).is_some()),
                Axis::Losses(losses) => ("loss", axes.losses.replace(losses).is_some()),
            };
            if twice {
                return Err(Failure::usage(format!("--grid {name}=… is given twice")));
            }
        }
        Ok(axes)
    }
}
