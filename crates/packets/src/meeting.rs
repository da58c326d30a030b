//! Threads that wait for each other, again and again, after less work than it takes to fall asleep.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Where so many threads meet.
#[derive(Debug)]
pub(crate) struct Meeting {
    threads: usize,
    there: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    /// Whether one of them will not come.
    is_off: AtomicBool,
}

/// After so many looks a thread lets others run.
const LOOKS: u32 = 2000;

impl Meeting {
    pub fn new(threads: usize) -> Meeting {
        Meeting {
            threads,
            there: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            is_off: AtomicBool::new(false),
        }
    }

    /// Waits until all have come, and sees then what each has written before; or until one will not:
    /// `false`.
    pub fn wait(&self) -> bool {
        let met = self.met.load(Ordering::Acquire);
        if self.there.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.there.store(0, Ordering::Relaxed);
            self.met.store(met + 1, Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.met.load(Ordering::Acquire) == met {
            if self.is_off() {
                return false;
            }
            looks += 1;
            match looks < LOOKS {
                true => hint::spin_loop(),
                false => thread::yield_now(),
            }
        }
        true
    }

    /// Somebody will not come.
    pub fn call_off(&self) {
        self.is_off.store(true, Ordering::Relaxed);
    }

    pub fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    /// Whoever drops this while it panics keeps nobody waiting.
    pub fn attend(&self) -> impl Drop {
        Attendance(self)
    }
}

struct Attendance<'a>(&'a Meeting);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.call_off();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_see_what_each_has_done() {
        let (meeting, sum) = (Meeting::new(3), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=1000 {
                        sum.fetch_add(1, Ordering::Relaxed);
                        assert!(meeting.wait());
                        assert_eq!(sum.load(Ordering::Relaxed), 3 * round);
                        assert!(meeting.wait());
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_panicked() {
        let meeting = Meeting::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _attendance = meeting.attend();
                panic!("on purpose");
            });
            assert!(!meeting.wait());
            assert!(other.join().is_err());
        });
    }
}
