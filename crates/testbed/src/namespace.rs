//! Network namespaces that only a descriptor holds: when its process dies, however it does, they are gone.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{panic, thread};

use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// A new one without a name.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the rights.
    pub fn new() -> Result<Namespace, Error> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| Error::unavailable("network namespaces are", errno))?;
            Namespace::at("/proc/thread-self/ns/net".as_ref())
        })?
    }

    /// One that is there: a path like `/proc/42/ns/net` or `/run/netns/name`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn at(path: &Path) -> Result<Namespace, Error> {
        let file = File::open(path)
            .map_err(|error| Error::system(format!("open namespace {}", path.display()), error))?;
        Ok(Namespace { file: file.into() })
    }

    /// Runs this on a thread inside; threads and processes that it starts are inside as well.
    ///
    /// # Errors
    /// The namespace cannot be entered, or there is no thread.
    pub fn run<R: Send>(&self, task: impl FnOnce() -> R + Send) -> Result<R, Error> {
        on_a_thread(|| {
            self.enter()?;
            Ok(task())
        })?
    }

    /// Moves the calling thread, for good.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Error::unavailable("entering network namespaces is", errno))
    }

    /// The descriptor that holds it.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }
}

/// A thread's namespace is its own; the caller's stays what it is.
fn on_a_thread<R: Send>(task: impl FnOnce() -> R + Send) -> Result<R, Error> {
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

/// Makes the process root of a user namespace of its own unless it may make network namespaces
/// already; whether it had to. To be called while the process has but one thread.
///
/// # Errors
/// [`Error::Unavailable`] where users may not have namespaces.
pub fn become_root() -> Result<bool, Error> {
    let may = on_a_thread(|| unshare(CloneFlags::CLONE_NEWNET).is_ok())?;
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
    // The group may be mapped only when groups cannot be dropped.
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("0 {user} 1"))?;
    map("gid_map", format!("0 {group} 1"))?;
    Ok(true)
}

/// Only a process with one thread may leave its user namespace, and a thread that was joined a moment
/// ago may still be on its way out of the kernel.
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
