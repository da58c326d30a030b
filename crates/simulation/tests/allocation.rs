//! A step allocates no memory.

// A global allocator is an unsafe trait; this one forwards to the system's and counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use netflow_problems::{RandomNetwork, random_network};
use netflow_simulation::{FluidOptions, Options, Run, Simulation, Step};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method passes its arguments, and their obligations, to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the allocations in 200 steps after a warm-up, with all kinds of sources, queues and
/// packets. Connections start and events occur during the warm-up (they may allocate); transfers of
/// limited size end at any time.
fn allocations(fluid: FluidOptions) -> u64 {
    let network = random_network(RandomNetwork {
        nodes: 20,
        links: 40,
        connections: 300,
        events: 10,
        duration_s: 4.0,
        seed: 3,
        plain: false,
        windows: false,
    });
    let options = Options {
        duration_s: 1000.0,
        model: fluid.into(),
        ..Options::default()
    };
    let mut sim = Simulation::new(network, options).unwrap();
    // During the warm-up new delays occur, which need separate records.
    while sim.time_s() < 40.0 {
        sim.step().unwrap();
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let steps = sim.steps();
    while sim.steps() < steps + 200 {
        sim.step().unwrap();
    }
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(sim.totals().offered_pkts > 1000.0 && !sim.is_done());
    after - before
}

// A single test, because parallel tests would be counted, too.
#[test]
fn step_does_not_allocate() {
    let kept = Box::new(1_u8);
    assert!(
        ALLOCATIONS.load(Ordering::Relaxed) > u64::from(*kept),
        "the counter does not count"
    );
    for fluid in [
        FluidOptions::Standard {
            step: Step::Fixed { step_s: 0.05 },
        },
        FluidOptions::Standard {
            step: Step::default(),
        },
        FluidOptions::Literal { step_s: 0.05 },
    ] {
        let n = allocations(fluid);
        assert_eq!(n, 0, "{fluid:?}: {n} allocations in 200 steps");
    }
}
