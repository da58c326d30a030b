//! Two network namespaces and the link between them.

use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command};

use crate::Error;
use crate::device::{self, address};
use crate::emulator::Emulator;
use crate::link_options::{End, LinkOptions};
use crate::namespace::Namespace;
use crate::report::LinkReport;
use crate::stack::StackOptions;

/// Two network namespaces joined by an emulated link. The link lasts until it is stopped or dropped;
/// processes in the namespaces then continue without a link.
///
/// ```no_run
/// use netflow_testbed::{End, LinkOptions, StackOptions, Testbed};
/// use netflow_units::Seconds;
/// use std::net::{TcpListener, TcpStream};
///
/// let link = LinkOptions::with_delay(Seconds(0.010));
/// let testbed = Testbed::new(&link, &StackOptions::linux_6())?;
/// let listener = testbed.run_in(End::B, || TcpListener::bind((testbed.address(End::B), 9)))?;
/// let stream = testbed.run_in(End::A, || TcpStream::connect((testbed.address(End::B), 9)))?;
/// // The sockets stay in their namespaces; any thread may use them.
/// let report = testbed.stop()?;
/// # drop((listener, stream, report));
/// # Ok::<(), netflow_testbed::Error>(())
/// ```
#[derive(Debug)]
pub struct Testbed {
    a: Namespace,
    b: Namespace,
    emulator: Emulator,
}

impl Testbed {
    /// Creates two namespaces, each with this stack.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights for namespaces or TUN devices. Also an unknown
    /// congestion control, or an option out of its range.
    pub fn new(link: &LinkOptions, stack: &StackOptions) -> Result<Testbed, Error> {
        Testbed::join(Namespace::new()?, Namespace::new()?, link, Some(stack))
    }

    /// Joins two existing namespaces; their TCP settings do not change.
    ///
    /// # Errors
    /// As [`Testbed::new`].
    pub fn from_namespaces(
        a: Namespace,
        b: Namespace,
        link: &LinkOptions,
    ) -> Result<Testbed, Error> {
        Testbed::join(a, b, link, None)
    }

    fn join(
        a: Namespace,
        b: Namespace,
        link: &LinkOptions,
        stack: Option<&StackOptions>,
    ) -> Result<Testbed, Error> {
        link.check()?;
        let devices = [
            device::open(&a, End::A, link.mtu, stack)?,
            device::open(&b, End::B, link.mtu, stack)?,
        ];
        let emulator = Emulator::start(devices, link)?;
        Ok(Testbed { a, b, emulator })
    }

    /// Returns the address of an end, the same in every testbed.
    pub fn address(&self, end: End) -> Ipv4Addr {
        address(end)
    }

    /// Returns the namespace of an end.
    pub fn namespace(&self, end: End) -> &Namespace {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// Runs a task on a thread in an end's namespace and returns its result. Sockets that it creates stay
    /// in the namespace; threads and processes that it starts are in the namespace too. The worker
    /// threads of an asynchronous runtime are in the namespace where it was built. A future in `block_on`
    /// runs in the namespace of its caller.
    ///
    /// # Errors
    /// If the namespace cannot be entered. A panic of the task is propagated.
    pub fn run_in<R: Send>(&self, end: End, task: impl FnOnce() -> R + Send) -> Result<R, Error> {
        self.namespace(end).run(task)
    }

    /// Starts a command in an end's namespace. Its environment contains `NETFLOW_END` (`a` or `b`),
    /// `NETFLOW_ADDRESS` and `NETFLOW_PEER`. The caller must end it, unless this process was started by
    /// [`spawn_in_pid_namespace`](crate::spawn_in_pid_namespace).
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn spawn(&self, end: End, command: &mut Command) -> Result<Child, Error> {
        command
            .env("NETFLOW_END", end.to_string())
            .env("NETFLOW_ADDRESS", address(end).to_string())
            .env("NETFLOW_PEER", address(end.other()).to_string());
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned: io::Result<Child> = self.run_in(end, || command.spawn())?;
        spawned.map_err(|error| Error::system(format!("start {name}"), error))
    }

    /// Returns the packets from this end that found the buffer full.
    pub fn refused_pkts(&self, from: End) -> u64 {
        self.emulator.refused_pkts(from)
    }

    /// Returns whether the link still works.
    pub fn is_alive(&self) -> bool {
        self.emulator.is_alive()
    }

    /// Stops the link; packets in flight are lost.
    ///
    /// # Errors
    /// If the link's thread died.
    pub fn stop(self) -> Result<LinkReport, Error> {
        let unread = |namespace: &Namespace| namespace.run(device::unread_drops);
        let (out, back) = (unread(&self.a)?, unread(&self.b)?);
        let mut report = self.emulator.stop()?;
        report.out.unread_drops = out;
        report.back.unread_drops = back;
        Ok(report)
    }
}
