//! PID namespace that ties the lifetime of all processes to one. A child runs as the first process of a
//! new PID namespace and dies with its parent, whatever the cause. The kernel then kills all processes of
//! the namespace.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Child, Command, exit};
use std::{env, fs, io};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Error;

/// Environment variable with the parent's process id.
const PARENT_PID_VAR: &str = "NETFLOW_CAGE_PARENT";

/// Starts a command as the first process of a new PID namespace. The command must call
/// [`is_pid_namespace_child`] before anything else. The calling process cannot start threads
/// afterwards.
///
/// # Errors
/// [`Error::Unavailable`] without the rights; an error if the command cannot be started.
pub fn spawn_in_pid_namespace(command: &mut Command) -> Result<Child, Error> {
    unshare(CloneFlags::CLONE_NEWPID)
        .map_err(|errno| Error::unavailable("process namespaces are", errno))?;
    command
        .env(PARENT_PID_VAR, std::process::id().to_string())
        .spawn()
        .map_err(|error| Error::system("start the init process of the namespace", error))
}

/// Returns whether this process was started by [`spawn_in_pid_namespace`]; if so, it dies with its
/// parent from now on. Must be called before other threads exist.
///
/// # Errors
/// If the kernel rejects the parent-death signal or `/proc` cannot be read.
pub fn is_pid_namespace_child() -> Result<bool, Error> {
    let Some(parent) = env::var_os(PARENT_PID_VAR) else {
        return Ok(false);
    };
    if std::process::id() != 1 {
        return Ok(false);
    }
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| Error::system("set the parent-death signal", errno))?;
    // The parent may have died before. `/proc` still belongs to the parent's namespace and shows its id
    // there.
    match parent_in_proc() {
        Ok(actual) if parent.to_str() == Some(&actual) => {}
        Ok(_) => exit(1),
        Err(error) => return Err(Error::system("read /proc/self/status", error)),
    }
    // A `/proc` of its own shows commands their own processes. It is optional; TCP does not depend on it.
    let _ = mount_own_proc();
    Ok(true)
}

fn parent_in_proc() -> io::Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    Ok(line.unwrap_or_default().trim().to_owned())
}

fn mount_own_proc() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, none)
}

/// Maps host names to addresses for the calling thread and its children, in a private `/etc/hosts`.
/// Characters that a host name cannot contain become `-`.
///
/// # Errors
/// If a mount namespace or its file is not available; then nothing has changed.
pub fn bind_etc_hosts<'n>(hosts: impl Iterator<Item = (&'n str, Ipv4Addr)>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::system("name the hosts", error);
    let word = |name: &str| name.replace(|c: char| c.is_whitespace() || c == '#', "-");
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (name, address) in hosts {
        text += &format!("{address} {}\n", word(name));
    }
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let errno = |errno: nix::Error| failed(errno.into());
    // Other processes keep their `/etc/hosts`.
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
