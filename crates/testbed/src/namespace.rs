//! Network namespaces held by a descriptor alone: they disappear with their process, however it ends.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{panic, thread};

use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;

/// Network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Creates an unnamed namespace.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights.
    pub fn new() -> Result<Namespace, Error> {
        run_on_new_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| Error::unavailable("network namespaces are", errno))?;
            Namespace::at("/proc/thread-self/ns/net".as_ref())
        })?
    }

    /// Opens an existing namespace: a path like `/proc/42/ns/net` or `/run/netns/name`.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn at(path: &Path) -> Result<Namespace, Error> {
        let file = File::open(path)
            .map_err(|error| Error::system(format!("open namespace {}", path.display()), error))?;
        Ok(Namespace { file: file.into() })
    }

    /// Runs a task on a thread in the namespace. Threads and processes that it starts are in the
    /// namespace too.
    ///
    /// # Errors
    /// If the namespace cannot be entered, or no thread can be started.
    pub fn run<R: Send>(&self, task: impl FnOnce() -> R + Send) -> Result<R, Error> {
        run_on_new_thread(|| {
            self.enter()?;
            Ok(task())
        })?
    }

    /// Moves the calling thread into the namespace permanently.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Error::unavailable("entering network namespaces is", errno))
    }

    /// Returns the descriptor that holds the namespace.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }
}

/// Runs a task on a new thread, so that the caller's namespace does not change.
fn run_on_new_thread<R: Send>(task: impl FnOnce() -> R + Send) -> Result<R, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .spawn_scoped(scope, task)
            .map_err(|error| Error::system("start a thread", error))?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => panic::resume_unwind(panic),
        }
    })
}

/// Makes the process root of a new user namespace, unless it may already create network namespaces.
/// Returns whether it did. Must be called while the process has one thread.
///
/// # Errors
/// [`Error::Unavailable`] if user namespaces are not permitted.
pub fn become_root() -> Result<bool, Error> {
    let may = run_on_new_thread(|| unshare(CloneFlags::CLONE_NEWNET).is_ok())?;
    if may {
        return Ok(false);
    }
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare_user()
        .map_err(|errno| Error::unavailable("neither root nor user namespaces are", errno))?;
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| Error::unavailable(format!("user namespaces ({file}) are"), error))
    };
    // A group may be mapped only after `setgroups` is denied.
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("0 {user} 1"))?;
    map("gid_map", format!("0 {group} 1"))?;
    Ok(true)
}

/// Leaves the user namespace, which only a process with one thread may do. A joined thread may still be
/// exiting in the kernel, so this retries.
fn unshare_user() -> nix::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let begin = Instant::now();
    loop {
        match unshare(CloneFlags::CLONE_NEWUSER) {
            Err(nix::errno::Errno::EINVAL) if begin.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
