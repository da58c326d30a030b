//! The command line. The arguments of each subcommand are declared in its module.

use std::ffi::OsString;
use std::fmt::Write;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{command, help_examples};

/// Predict queues, packet loss and TCP throughput of networks
///
/// netflow is not related to the NetFlow protocol of Cisco. `netflow run scenario.toml` prints the
/// queue of every link, and the loss, delay and throughput of every connection.
#[derive(Parser)]
#[command(name = "netflow", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 the evaluation failed; 2 invalid input or command line;
3 a file could not be read or written; 130 interrupted.";

impl Arguments {
    /// Parses a command line, whose first argument is the name of the program.
    pub fn parse_line(line: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
        let matches = complete_command().try_get_matches_from(line)?;
        Arguments::from_arg_matches(&matches)
    }
}

/// Returns the command with the complete help.
pub fn complete_command() -> clap::Command {
    help_examples::add_to(with_command_groups(Arguments::command()))
}

/// Groups of subcommands by purpose, in the order of the help.
pub const GROUPS: [(&str, &[&str]); 6] = [
    ("Evaluate", &["demo", "run", "check", "explain", "compare"]),
    (
        "Output and tools",
        &["report", "export", "schema", "completions", "man"],
    ),
    (
        "Plan",
        &[
            "new",
            "import",
            "demands",
            "solve",
            "failures",
            "availability",
            "plan",
            "weights",
            "sweep",
        ],
    ),
    ("TCP and packets", &["profile", "latency", "mark"]),
    ("Traces", &["trace"]),
    ("Real networks", &["testbed", "link", "ipb"]),
];

/// Returns the command with its subcommands grouped by purpose.
fn with_command_groups(command: clap::Command) -> clap::Command {
    let mut groups = String::new();
    for (title, names) in GROUPS {
        // clap does not wrap custom text.
        let _ = writeln!(groups, "{title}:");
        let there = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        for subcommand in there {
            let about = subcommand.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(groups, "  {:<12} {about}", subcommand.get_name());
        }
        groups.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[derive(Subcommand)]
pub enum Command {
    Run(command::run::RunArguments),
    Check(command::check::CheckArguments),
    Explain(command::explain::ExplainArguments),
    Solve(command::solve::SolveArguments),
    Failures(command::failures::FailuresArguments),
    Plan(command::plan::PlanArguments),
    Weights(command::weights::WeightsArguments),
    Availability(command::availability::AvailabilityArguments),
    Sweep(command::sweep::SweepArguments),
    Demo(command::demo::DemoArguments),
    New(command::new::NewArguments),
    Import(command::import::ImportArguments),
    Demands(command::demands::DemandsArguments),
    Profile(command::profile::ProfileArguments),
    Latency(command::latency::LatencyArguments),
    Mark(command::mark::MarkArguments),
    Trace(command::trace::TraceArguments),
    Ipb(command::ipb::IpbArguments),
    Export(command::export::ExportArguments),
    Compare(command::compare::CompareArguments),
    Report(command::report::ReportArguments),
    #[cfg(target_os = "linux")]
    Link(command::link::LinkCommand),
    #[cfg(target_os = "linux")]
    Testbed(Box<command::testbed::TestbedArguments>),
    Completions(command::completions::CompletionsArguments),
    Man(command::man::ManArguments),
    /// Print the JSON schema of scenario files
    Schema,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_is_in_one_group() {
        let command = Arguments::command();
        for subcommand in command.get_subcommands() {
            let name = subcommand.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
    }
}
