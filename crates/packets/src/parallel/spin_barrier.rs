//! Spin barrier for threads whose work between two barriers is shorter than a system call to sleep.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Barrier for a fixed number of threads.
#[derive(Debug)]
pub(crate) struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    /// Number of times that all threads have arrived.
    generation: AtomicUsize,
    /// True if a thread will not arrive any more.
    is_poisoned: AtomicBool,
}

/// Number of polls after which a thread yields.
const SPINS: u32 = 2000;

impl SpinBarrier {
    pub fn new(threads: usize) -> SpinBarrier {
        SpinBarrier {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            is_poisoned: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have arrived, and returns true. All of their earlier writes are visible then.
    /// Returns false if the barrier is poisoned.
    pub fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation + 1, Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            if self.is_poisoned() {
                return false;
            }
            looks += 1;
            if looks < SPINS {
                hint::spin_loop()
            } else {
                thread::yield_now()
            }
        }
        true
    }

    /// Poisons the barrier: the other threads return instead of waiting.
    pub fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Relaxed);
    }

    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Relaxed)
    }

    /// Returns a guard that poisons the barrier if its thread panics.
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
    fn threads_see_writes_before_the_barrier() {
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
    fn panic_releases_waiting_threads() {
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
