//! A process that takes everything with it when it goes: the first of a process namespace of its
//! own, which dies with its parent, whatever that dies of. The kernel then kills what it started, and
//! what that started.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Child, Command, exit};
use std::{env, fs, io};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Error;

/// Tells the process inside who its parent is.
const PARENT: &str = "NETFLOW_CAGE_PARENT";

/// Starts a command as the first process of a new process namespace. The command has to call
/// [`inside_cage`] before anything else, and the calling process cannot start threads any more.
///
/// # Errors
/// [`Error::Unavailable`] without the rights; the command cannot be started.
pub fn spawn_caged(command: &mut Command) -> Result<Child, Error> {
    unshare(CloneFlags::CLONE_NEWPID)
        .map_err(|errno| Error::unavailable("process namespaces are", errno))?;
    command
        .env(PARENT, std::process::id().to_string())
        .spawn()
        .map_err(|error| Error::system("start the process that all others die with", error))
}

/// Whether this is the process that [`spawn_caged`] started; if so, it dies with its parent from now
/// on. To be called before there are other threads.
///
/// # Errors
/// The kernel refuses to promise that.
pub fn inside_cage() -> Result<bool, Error> {
    let Some(parent) = env::var_os(PARENT) else {
        return Ok(false);
    };
    if std::process::id() != 1 {
        return Ok(false);
    }
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| Error::system("die with the parent process", errno))?;
    // It may have died before. /proc still is the parent's, so it knows the parent's number there.
    match parent_in_proc() {
        Ok(actual) if parent.to_str() == Some(&actual) => {}
        Ok(_) => exit(1),
        Err(error) => return Err(Error::system("read /proc/self/status", error)),
    }
    // Commands find their own processes in /proc, where that may be had; TCP does not depend on it.
    let _ = own_proc();
    Ok(true)
}

fn parent_in_proc() -> io::Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    Ok(line.unwrap_or_default().trim().to_owned())
}

fn own_proc() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, none)
}

/// From now on the calling thread, and what it starts, finds these addresses by these names: in an
/// `/etc/hosts` of its own. What of a name cannot stand there is `-`.
///
/// # Errors
/// A mount namespace, or a file for it, cannot be had; then everything is as it was.
pub fn name_hosts<'n>(hosts: impl Iterator<Item = (&'n str, Ipv4Addr)>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::system("name the hosts", error);
    let word = |name: &str| name.replace(|c: char| c.is_whitespace() || c == '#', "-");
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (name, address) in hosts {
        text += &format!("{address} {}\n", word(name));
    }
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let errno = |errno: nix::Error| failed(errno.into());
    // Nobody else's files change.
    unshare(CloneFlags::CLONE_NEWNS).map_err(errno)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(errno)?;
    mount(
        Some(file.path()),
        "/etc/hosts",
        none,
        MsFlags::MS_BIND,
        none,
    )
    .map_err(errno)
}
