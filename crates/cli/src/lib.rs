//! The `netflow` command, for the program of that name and for others that include it.
#![warn(missing_docs)]

mod args;
mod command;
mod failure;
mod help_examples;
mod input;
mod interrupt;
mod output;
mod parse;
mod problems;
#[cfg(test)]
mod reference;
mod threads;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use netflow::document::Table;
use netflow::scenario::file::Simulation;
use netflow::units::nearest_name;

use args::{Arguments, Command};
use failure::Failure;
use output::escape_control_characters::EscapingWriter;

/// Runs the command with these arguments, the first of which is the program name. Returns the exit code.
///
/// It handles interrupts, and may end the process because of one.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::parse_line(arguments) {
        Ok(arguments) => arguments,
        Err(said) => return print_clap_result(&said),
    };
    if !makes_namespaces(&arguments.command) {
        interrupt::listen();
    }
    let stdout = io::stdout().lock();
    let mut out: BufWriter<Box<dyn Write>> = BufWriter::new(if stdout.is_terminal() {
        Box::new(EscapingWriter::new(stdout))
    } else {
        Box::new(stdout)
    });
    let result = dispatch(&arguments.command, &mut out).and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => 0,
        Err(failure) => {
            // Output that was printed before is still useful. An error of writing it is ignored.
            let _ = out.flush();
            failure.report();
            failure.exit_code()
        }
    }
}

/// Returns whether the command creates namespaces. Without root privileges, this requires a single
/// thread, so the command installs its own interrupt handler later.
fn makes_namespaces(command: &Command) -> bool {
    match command {
        #[cfg(target_os = "linux")]
        Command::Link(_) | Command::Testbed(_) => true,
        Command::Profile(arguments) => arguments.runs_measurement(),
        Command::Compare(arguments) => arguments.makes_namespaces(),
        _ => false,
    }
}

/// Prints the help, the version or an error of the arguments. Returns the exit code, which is an error if
/// the help cannot be printed.
fn print_clap_result(said: &clap::Error) -> u8 {
    if let Some(failure) = improved_message(said) {
        failure.report();
        return failure.exit_code();
    }
    let printed = said.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !said.use_stderr() => {
            let failure = Failure::Output(error);
            failure.report();
            failure.exit_code()
        }
        _ if said.use_stderr() => 2,
        _ => 0,
    }
}

/// Returns a better message than that of clap for some errors: unknown commands, and `--seed` confused
/// with `--seeds`.
fn improved_message(said: &clap::Error) -> Option<Failure> {
    let of = |kind: ContextKind| match said.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (message, help) = match said.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = of(ContextKind::InvalidSubcommand)?;
            let all = Arguments::command();
            let names = all.get_subcommands().map(clap::Command::get_name);
            let names: Vec<&str> = names.collect();
            if netflow::profile::builtin(name).is_some() {
                return Some(Failure::Usage {
                    message: format!("unknown command `{name}`; it is a profile"),
                    help: Some(format!("write `netflow profile show {name}`")),
                });
            }
            let near = nearest_name(name, names.into_iter(), &[])?;
            let message = format!("unknown command `{name}`");
            (
                message,
                format!("did you mean `{near}`? `netflow --help` lists all commands"),
            )
        }
        ErrorKind::UnknownArgument => {
            let option = of(ContextKind::InvalidArg)?;
            let message = format!("unknown option `{option}`");
            (
                message,
                seed_option_help(option, said)
                    .or_else(|| similar_option(said))
                    .or_else(|| option_of_other_command(option, said))?,
            )
        }
        ErrorKind::ValueValidation if is_integer_error(said) => {
            let (value, option) = (of(ContextKind::InvalidValue)?, of(ContextKind::InvalidArg)?);
            (
                format!("`{value}` is not a whole number"),
                format!("`{option}` requires a whole number"),
            )
        }
        _ => return None,
    };
    Some(Failure::Usage {
        message,
        help: Some(help),
    })
}

/// Returns whether a value contains other characters than the digits of a number.
fn is_integer_error(said: &clap::Error) -> bool {
    use std::error::Error;
    use std::num::{IntErrorKind, ParseIntError};
    let source = said.source();
    let integer = source.and_then(|it| it.downcast_ref::<ParseIntError>());
    integer.is_some_and(|it| *it.kind() == IntErrorKind::InvalidDigit)
}

/// Returns help for `--seed` and `--seeds` if the command only has the other one.
fn seed_option_help(option: &str, said: &clap::Error) -> Option<String> {
    let help = match option {
        "--seed" => {
            "for a seed, write `--set simulation.seed=N`; `--seeds N` is the number of runs"
        }
        "--seeds" => {
            "for several runs, write `netflow run --seeds N` or `netflow sweep --seeds N`; `--seed N` is the random seed"
        }
        _ => return None,
    };
    let other =
        |it: &ContextValue| matches!(it, ContextValue::String(text) if text.starts_with("--seed"));
    said.get(ContextKind::SuggestedArg).filter(|it| other(it))?;
    Some(help.to_owned())
}

/// Suggests the most similar option of this command.
fn similar_option(said: &clap::Error) -> Option<String> {
    match said.get(ContextKind::SuggestedArg)? {
        ContextValue::String(near) => Some(format!("did you mean `{near}`?")),
        _ => None,
    }
}

/// Maximum number of commands that are named for an option. If more have it, naming them does not help.
const MAX_NAMED_COMMANDS: usize = 3;

/// Returns help for an option that is a setting of scenarios, or that other commands have.
fn option_of_other_command(option: &str, said: &clap::Error) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let Some(ContextValue::StyledStr(usage)) = said.get(ContextKind::Usage) else {
        return None;
    };
    let usage = usage.to_string();
    let all = Arguments::command();
    let has = |command: &clap::Command, name: &str| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_long() == Some(name))
    };
    let mut commands = all.get_subcommands();
    let here = commands.find(|it| usage.contains(&format!(" {} ", it.get_name())))?;
    if Simulation::KEYS.iter().any(|key| key.name == name) && has(here, "set") {
        return Some(format!(
            "it is a scenario setting: write `--set simulation.{name}=VALUE`"
        ));
    }
    let others = all.get_subcommands().filter(|command| has(command, name));
    let others: Vec<String> = others
        .map(|command| format!("`netflow {} {option}`", command.get_name()))
        .collect();
    match others.len() {
        1..=MAX_NAMED_COMMANDS => Some(format!("did you mean {}?", others.join(" or "))),
        _ => None,
    }
}

fn dispatch(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => command::run::run(arguments, out),
        Command::Check(arguments) => command::check::check(arguments, out),
        Command::Explain(arguments) => command::explain::explain(arguments, out),
        Command::Solve(arguments) => command::solve::solve(arguments, out),
        Command::Demands(arguments) => command::demands::demands(arguments, out),
        Command::Failures(arguments) => command::failures::failures(arguments, out),
        Command::Plan(arguments) => command::plan::plan(arguments, out),
        Command::Weights(arguments) => command::weights::weights(arguments, out),
        Command::Availability(arguments) => command::availability::availability(arguments, out),
        Command::Sweep(arguments) => command::sweep::sweep(arguments, out),
        Command::Demo(arguments) => command::demo::demo(arguments, out),
        Command::New(arguments) => command::new::new(arguments, out),
        Command::Import(arguments) => command::import::import(arguments, out),
        Command::Profile(arguments) => command::profile::profile(arguments, out),
        Command::Latency(arguments) => command::latency::latency(arguments, out),
        Command::Mark(arguments) => command::mark::mark(arguments, out),
        Command::Trace(arguments) => command::trace::trace(arguments, out),
        Command::Ipb(arguments) => command::ipb::ipb(arguments, out),
        Command::Export(arguments) => command::export::export(arguments, out),
        Command::Compare(arguments) => command::compare::compare(arguments, out),
        Command::Report(arguments) => command::report::report(arguments, out),
        #[cfg(target_os = "linux")]
        Command::Link(arguments) => command::link::link(arguments, out),
        #[cfg(target_os = "linux")]
        Command::Testbed(arguments) => command::testbed::testbed(arguments, out),
        Command::Completions(arguments) => {
            command::completions::completions(arguments, Arguments::command(), out)
        }
        Command::Man(arguments) => command::man::man(arguments, args::complete_command(), out),
        Command::Schema => command::schema::schema(out),
    }
}
