//! The subcommand `netflow link`.

mod options;
pub mod report;
mod self_test;

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use netflow_testbed::{End, Namespace, StackOptions, Testbed, become_root};

pub use options::LinkArguments;

use crate::failure::Failure;
use crate::interrupt;
use crate::output::format::{Format, HELP};

/// Emulate a link between two network namespaces until interrupted
///
/// Each end has a TUN device netflow0; end a has the address 10.77.0.1, and end b has 10.77.0.2.
/// Without --a and --b, netflow creates two namespaces with a current TCP and prints how to enter
/// them. At the end, it prints packet counts, drops by cause and lateness. Results are valid only
/// if 99 % of the packets are less than 1 ms late.
///
/// Packets pass a drop-tail queue at the given rate, may be lost, and arrive after the delay. Each
/// cause of loss has its own random stream with one number per packet: equal seeds lose the same
/// packets, whatever their timing.
#[derive(Args)]
pub struct LinkCommand {
    /// Namespace of end a: a process in it, or a path such as /run/netns/NAME
    #[arg(long, value_name = "PID|PATH", requires = "b")]
    a: Option<String>,

    /// Namespace of end b
    #[arg(long, value_name = "PID|PATH", requires = "a")]
    b: Option<String>,

    /// Test delays, losses, order and rates of emulated links on this machine: passed, failed,
    /// inconclusive (the machine was too busy) or skipped (no namespaces)
    #[arg(long, conflicts_with_all = ["a", "b"])]
    self_test: bool,

    /// Treat skipped tests as failures
    #[arg(long, alias = "need", requires = "self_test")]
    fail_on_skip: bool,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    #[command(flatten)]
    link: LinkArguments,
}

pub fn link(arguments: &LinkCommand, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.self_test {
        return self_test::self_test(arguments.fail_on_skip, arguments.format, out);
    }
    let options = arguments.link.options()?;
    let testbed = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => {
            Testbed::from_namespaces(Namespace::at(&path(a))?, Namespace::at(&path(b))?, &options)?
        }
        _ => {
            let as_user = become_root()?;
            let testbed = Testbed::new(&options, &StackOptions::default())?;
            print_namespaces(&testbed, as_user);
            testbed
        }
    };
    interrupt::install_handler_with(|_| ());
    while !interrupt::requested() && testbed.is_alive() {
        thread::sleep(Duration::from_millis(50));
    }
    report::print(&testbed.stop()?, arguments.format, out)?;
    Ok(())
}

/// Returns the path of a namespace, given as a process or a path.
fn path(namespace: &str) -> PathBuf {
    match namespace.parse::<u32>() {
        Ok(process) => Path::new("/proc").join(process.to_string()).join("ns/net"),
        Err(_) => PathBuf::from(namespace),
    }
}

/// Prints how to enter the namespaces. Users without root privileges enter through the user namespace.
fn print_namespaces(testbed: &Testbed, as_user: bool) {
    let process = std::process::id();
    let user = if as_user {
        format!("-t {process} -U --preserve-credentials ")
    } else {
        String::new()
    };
    for end in [End::A, End::B] {
        let file = testbed.namespace(end).file().as_raw_fd();
        eprintln!(
            "end {end}, {}: nsenter {user}--net=/proc/{process}/fd/{file}",
            testbed.address(end)
        );
    }
}
