//! The `netflow` command.

mod args;
mod check;
mod compare;
mod completions;
mod explain;
mod export;
mod failure;
mod input;
mod interrupt;
mod ipb;
mod json;
mod latency;
#[cfg(target_os = "linux")]
mod link;
mod mark;
mod new;
mod number;
mod problems;
mod profile;
mod progress;
mod report;
mod run;
mod schema;
mod table;
#[cfg(target_os = "linux")]
mod testbed;
mod trace;
mod visible;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use failure::Failure;
use visible::Visible;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(said) => return answered(&said),
    };
    if !makes_namespaces(&arguments.command) {
        interrupt::listen();
    }
    let stdout = io::stdout().lock();
    let mut out: BufWriter<Box<dyn Write>> = BufWriter::new(match stdout.is_terminal() {
        true => Box::new(Visible::new(stdout)),
        false => Box::new(stdout),
    });
    let result = dispatch(&arguments.command, &mut out).and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // What was printed until then is still worth having; if it cannot be, so be it.
            let _ = out.flush();
            failure.report();
            failure.exit_code()
        }
    }
}

/// A user makes namespaces while the process has one thread; who made them listens, or dies at once.
fn makes_namespaces(command: &Command) -> bool {
    match command {
        #[cfg(target_os = "linux")]
        Command::Link(_) | Command::Testbed(_) => true,
        Command::Profile(arguments) => arguments.measures(),
        _ => false,
    }
}

/// Help, the version, or what is wrong with the arguments; help that could not be printed was not.
fn answered(said: &clap::Error) -> ExitCode {
    let printed = said.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !said.use_stderr() => {
            let failure = Failure::Output(error);
            failure.report();
            failure.exit_code()
        }
        _ => ExitCode::from(if said.use_stderr() { 2 } else { 0 }),
    }
}

fn dispatch(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments, out),
        Command::Check(arguments) => check::check(arguments, out),
        Command::Explain(arguments) => explain::explain(arguments, out),
        Command::New(arguments) => new::new(arguments, out),
        Command::Profile(arguments) => profile::profile(arguments, out),
        Command::Latency(arguments) => latency::latency(arguments, out),
        Command::Mark(arguments) => mark::mark(arguments, out),
        Command::Trace(arguments) => trace::trace(arguments, out),
        Command::Ipb(arguments) => ipb::ipb(arguments, out),
        Command::Export(arguments) => export::export(arguments, out),
        Command::Compare(arguments) => compare::compare(arguments, out),
        Command::Report(arguments) => report::report(arguments, out),
        #[cfg(target_os = "linux")]
        Command::Link(arguments) => link::link(arguments, out),
        #[cfg(target_os = "linux")]
        Command::Testbed(arguments) => testbed::testbed(arguments, out),
        Command::Completions(arguments) => completions::completions(arguments, out),
        Command::Schema => schema::schema(out),
    }
}
