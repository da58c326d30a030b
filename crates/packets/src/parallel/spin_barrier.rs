//! Threads that wait for each other, again and again, after less work than it takes to fall asleep.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Where so many threads meet.
#[derive(Debug)]
pub(crate) struct SpinBarrier {
    threads: usize,
    there: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    /// Whether one of them will not come.
    is_poisoned: AtomicBool,
}

/// After so many looks a thread lets others run.
const LOOKS: u32 = 2000;

impl SpinBarrier {
    pub fn new(threads: usize) -> SpinBarrier {
        SpinBarrier {
            threads,
            there: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            is_poisoned: AtomicBool::new(false),
        }
    }

    /// QueuedPacket until all have come, and sees then what each has written before; or until one will not:
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
            if self.is_poisoned() {
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
    pub fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Relaxed);
    }

    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Relaxed)
    }

    /// Whoever drops this while it panics keeps nobody waiting.
    pub fn poison_on_panic(&self) -> impl Drop {
        PoisonOnPanic(self)
    }
}

struct PoisonOnPanic<'a>(&'a SpinBarrier);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.poison();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_see_what_each_has_done() {
        let (barrier, sum) = (SpinBarrier::new(3), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=1000 {
                        sum.fetch_add(1, Ordering::Relaxed);
                        assert!(barrier.wait());
                        assert_eq!(sum.load(Ordering::Relaxed), 3 * round);
                        assert!(barrier.wait());
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_panicked() {
        let barrier = SpinBarrier::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _attendance = barrier.poison_on_panic();
                panic!("on purpose");
            });
            assert!(!barrier.wait());
            assert!(other.join().is_err());
        });
    }
}
