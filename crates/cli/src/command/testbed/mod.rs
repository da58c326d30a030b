//! The subcommands `netflow testbed -- COMMAND` and `netflow testbed SCENARIO`.

mod network;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use netflow_testbed::{
    End, Error, STACKS, StackOptions, Testbed, become_root, is_pid_namespace_child,
    spawn_in_pid_namespace,
};
use rustix::process::{Pid, Signal, kill_process};

use super::link::{LinkArguments, report};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::format::{Format, HELP};
use crate::parse::buffer_bytes;
use network::NetworkArguments;

/// Run real TCP over an emulated link or over the network of a scenario
///
/// Without SCENARIO, there are two hosts and one link: COMMAND runs at end a, --server at end b. In
/// their environment, NETFLOW_ADDRESS is the own address, NETFLOW_PEER the address of the other
/// end, and NETFLOW_END is a or b.
///
/// With SCENARIO, every node at which a connection begins or ends is a host. Every link has its
/// rate, delay, buffer and queue, and the connections use the kernel of this machine. COMMAND is
/// optional and runs at the node given by --at, from which all hosts can be reached by name.
/// --serve runs further commands at the same time.
///
/// When COMMAND ends, the testbed ends, too. The report is printed on the standard error, and the
/// exit code is that of COMMAND. No process and no namespace remains, even if netflow is killed.
#[derive(Args)]
pub struct TestbedArguments {
    /// Scenario file with the network that replaces the link
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["LinkArguments", "server", "stack", "congestion", "initial_window", "receive_buffer"])]
    scenario: Option<PathBuf>,

    /// Command that runs at end a, or at the node given by --at
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "scenario",
        last = true
    )]
    command: Vec<OsString>,

    #[command(flatten)]
    network: NetworkArguments,

    /// Shell command that runs at end b
    #[arg(long, value_name = "COMMAND")]
    server: Option<OsString>,

    /// TCP at both ends: linux-6, with current defaults; or legacy, similar to Linux of 1998: Reno,
    /// initial window 2, no SACK, RACK or tail loss probes, and a receive window of 16 KB
    #[arg(long, default_value = "linux-6", value_parser = PossibleValuesParser::new(STACKS))]
    stack: String,

    /// Congestion control of this kernel, instead of the default of the stack
    #[arg(long, alias = "cc", value_name = "NAME")]
    congestion: Option<String>,

    /// Initial congestion window in segments, instead of the default of the stack
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    initial_window: Option<u32>,

    /// Receive buffer of a connection, instead of the default of the stack; the window is about
    /// half of it
    #[arg(long, value_name = "SIZE", value_parser = buffer_bytes)]
    receive_buffer: Option<u32>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    #[command(flatten)]
    link: LinkArguments,
}

pub fn testbed(arguments: &TestbedArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(scenario) = &arguments.scenario {
        let options = &arguments.network;
        let command = &arguments.command;
        return network::testbed(scenario, options, command, arguments.format, out);
    }
    // Invalid options are reported before anything is created.
    let link = arguments.link.options()?;
    let mut stack = StackOptions::preset(&arguments.stack).unwrap_or_default();
    if let Some(name) = &arguments.congestion {
        netflow_testbed::check_congestion_control(name)?;
        stack.congestion_control.clone_from(name);
    }
    stack.initial_window = arguments.initial_window.or(stack.initial_window);
    if let Some(bytes) = arguments.receive_buffer {
        stack.receive_buffer_grows = false;
        stack.receive_buffer_bytes = [bytes.min(4096), bytes, bytes];
    }
    // Buffered output must precede the output of the commands.
    out.flush()?;
    if !is_pid_namespace_child()? {
        return run_in_pid_namespace();
    }
    interrupt::install_handler_with(|_| ());
    let testbed = Testbed::new(&link, &stack)?;
    let server = arguments.server.as_ref().map(|server| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(server);
        testbed.spawn(End::B, &mut shell)
    });
    let mut server = server.transpose()?;
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::usage("COMMAND is missing"));
    };
    let mut command = testbed.spawn(End::A, Command::new(program).args(rest))?;
    let status = wait(&mut command)?;
    if let Some(Ok(Some(status))) = server.as_mut().map(Child::try_wait)
        && !status.success()
    {
        eprintln!("warning: the server ended with {status}");
    }
    let report = testbed.stop()?;
    // If the report cannot be written, there still is the exit code.
    let _ = report::print(&report, arguments.format, &mut io::stderr().lock());
    report.capture.check()?;
    exit_result(status)
}

/// PID of the process inside the namespace.
static INNER_PID: AtomicI32 = AtomicI32::new(0);

/// Starts the process inside a PID namespace and waits for it. A separate process is needed so that all
/// others end with it, and with this one.
fn run_in_pid_namespace() -> Result<(), Failure> {
    become_root()?;
    interrupt::install_handler_with(forward_interrupt);
    let system = |source: io::Error| Error::System {
        doing: "run netflow inside".to_owned(),
        source,
    };
    let program = std::env::current_exe().map_err(system)?;
    let mut inside =
        spawn_in_pid_namespace(Command::new(program).args(std::env::args_os().skip(1)))?;
    INNER_PID.store(i32::try_from(inside.id()).unwrap_or(0), Ordering::Relaxed);
    if interrupt::requested() {
        forward_interrupt(interrupt::InterruptCount::First);
    }
    let status = inside.wait().map_err(system)?;
    match status.signal() {
        Some(_) if interrupt::requested() => exit_result(status),
        Some(signal) => Err(Failure::Evaluation(format!(
            "signal {signal} killed the testbed and all of its commands"
        ))),
        None => exit_result(status),
    }
}

/// Forwards an interrupt to the process inside. The second interrupt kills everything.
fn forward_interrupt(again: interrupt::InterruptCount) {
    let signal = match again {
        interrupt::InterruptCount::First => Signal::TERM,
        interrupt::InterruptCount::Later => Signal::KILL,
    };
    if let Some(inside) = Pid::from_raw(INNER_PID.load(Ordering::Relaxed)) {
        // The process may already have ended.
        let _ = kill_process(inside, signal);
    }
}

/// Time in which an interrupted command must end.
const TERMINATION_TIMEOUT: Duration = Duration::from_millis(500);

fn wait(command: &mut Child) -> Result<ExitStatus, Failure> {
    let system = |source: io::Error| Error::System {
        doing: "wait for the command".to_owned(),
        source,
    };
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = command.try_wait().map_err(system)? {
            return Ok(status);
        }
        match asked {
            None if interrupt::requested() => {
                asked = Some(Instant::now());
                let number = i32::try_from(command.id()).ok().and_then(Pid::from_raw);
                if let Some(number) = number {
                    let _ = kill_process(number, Signal::TERM);
                }
            }
            Some(asked) if asked.elapsed() > TERMINATION_TIMEOUT => {
                command.kill().map_err(system)?
            }
            _ => {}
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the exit code of the command by the convention of shells, or that of an interrupt.
fn exit_result(status: ExitStatus) -> Result<(), Failure> {
    let code = match (status.code(), status.signal()) {
        _ if interrupt::requested() => interrupt::CODE.into(),
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    match code {
        0 => Ok(()),
        code => Err(Failure::Status(u8::try_from(code).unwrap_or(1))),
    }
}
