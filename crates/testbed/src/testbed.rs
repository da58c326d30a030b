//! Two network namespaces and the link between them.

use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command};

use crate::Error;
use crate::device::{self, address};
use crate::emulator::Emulator;
use crate::namespace::Namespace;
use crate::options::{End, LinkOptions};
use crate::report::LinkReport;
use crate::stack::StackOptions;

/// Two network namespaces joined by an emulated link. It lasts until it is stopped or dropped; what
/// runs in the namespaces then has no link any more.
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
    /// Two new namespaces, each with this stack.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights for namespaces or TUN devices; an unknown congestion
    /// control; an option that a link cannot have.
    pub fn new(link: &LinkOptions, stack: &StackOptions) -> Result<Testbed, Error> {
        Testbed::join(Namespace::new()?, Namespace::new()?, link, Some(stack))
    }

    /// Two namespaces that are there already; their TCP stays as it is.
    ///
    /// # Errors
    /// As [`Testbed::new`].
    pub fn between(a: Namespace, b: Namespace, link: &LinkOptions) -> Result<Testbed, Error> {
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

    /// The address of an end, the same in every testbed.
    pub fn address(&self, end: End) -> Ipv4Addr {
        address(end)
    }

    /// The namespace of an end.
    pub fn namespace(&self, end: End) -> &Namespace {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// Runs this on a thread in an end's namespace and gives its result. Sockets that it makes belong
    /// to the namespace for good; threads and processes that it starts are inside as well. Of an
    /// asynchronous runtime the worker threads are inside if it was built inside, and what
    /// `block_on` runs is if that was called inside.
    ///
    /// # Errors
    /// The namespace cannot be entered. A panic of the task goes on.
    pub fn run_in<R: Send>(&self, end: End, task: impl FnOnce() -> R + Send) -> Result<R, Error> {
        self.namespace(end).run(task)
    }

    /// Starts a command in an end's namespace. Its environment tells it where it is:
    /// `NETFLOW_END` (`a` or `b`), `NETFLOW_ADDRESS` and `NETFLOW_PEER`. It is the caller's to end, unless
    /// the process is one that [`spawn_caged`](crate::spawn_caged) started.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn spawn(&self, end: End, command: &mut Command) -> Result<Child, Error> {
        command
            .env("NETFLOW_END", end.to_string())
            .env("NETFLOW_ADDRESS", address(end).to_string())
            .env("NETFLOW_PEER", address(end.other()).to_string());
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned: io::Result<Child> = self.run_in(end, || command.spawn())?;
        spawned.map_err(|error| Error::system(format!("start {name}"), error))
    }

    /// Packets from this end that found the buffer full so far.
    pub fn refused_pkts(&self, from: End) -> u64 {
        self.emulator.refused_pkts(from)
    }

    /// Whether the link still works.
    pub fn alive(&self) -> bool {
        self.emulator.alive()
    }

    /// Stops the link; what is on its way is lost.
    ///
    /// # Errors
    /// The link's thread died.
    pub fn stop(self) -> Result<LinkReport, Error> {
        let unread = |namespace: &Namespace| namespace.run(device::unread_drops);
        let (out, back) = (unread(&self.a)?, unread(&self.b)?);
        let mut report = self.emulator.stop()?;
        report.out.unread_drops = out;
        report.back.unread_drops = back;
        Ok(report)
    }
}
