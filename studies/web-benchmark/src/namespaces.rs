//! Cells measured: the benchmark between two network namespaces.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netflow_ipb::{Measured, RunOptions, Server, ServerOptions, Until};
use netflow_testbed::{End, Testbed, Urgency, hurry};
use netflow_workload::{Times, Waits};

use crate::cell::{Cell, Users, web};
use crate::measure::Unmeasured;

/// Connections at a time: with many more, they wait for this machine rather than for the link.
const CONNECTIONS: usize = 20;
/// A run that was not conclusive is made again, so many times in all.
const TRIES: u32 = 3;

/// Measures cells for a seed, all at once.
pub(crate) fn measure(cells: &[Cell], seed: u64) -> Vec<Result<Waits, Unmeasured>> {
    thread::scope(|scope| {
        let running: Vec<_> = cells
            .iter()
            .map(|cell| scope.spawn(move || measure_until_conclusive(cell, seed)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join();
        let died = |_| Err(Unmeasured::Failed("the measurement died".to_owned()));
        running
            .into_iter()
            .map(|thread| join(thread).unwrap_or_else(died))
            .collect()
    })
}

fn measure_until_conclusive(cell: &Cell, seed: u64) -> Result<Waits, Unmeasured> {
    let mut tries = 1;
    loop {
        match measure_once(cell, seed) {
            Err(Unmeasured::Inconclusive(_)) if tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

fn measure_once(cell: &Cell, seed: u64) -> Result<Waits, Unmeasured> {
    let link = cell.link(seed).map_err(Unmeasured::failed)?;
    let testbed = Testbed::new(&link, &cell.settings())?;
    let server = ServerOptions {
        address: IpAddr::V4(testbed.address(End::B)),
        ..ServerOptions::default()
    };
    let server = testbed.run_in(End::B, || Server::bind(server))?;
    let server = server.map_err(Unmeasured::failed)?;
    let measured = testbed.run_in(End::A, || play(cell, seed, server))??;
    let report = testbed.stop()?;
    match report.doubt().or_else(|| uneven(&measured)) {
        Some(doubt) => Err(Unmeasured::Inconclusive(doubt)),
        None => Ok(measured.waits()),
    }
}

/// Plays a cell's users against a server, from this thread's namespace.
fn play(cell: &Cell, seed: u64, server: Server) -> Result<Measured, Unmeasured> {
    let address = server.address();
    let over = AtomicBool::new(false);
    // Whatever else this machine does is not to be measured; where it may not be kept away, the
    // timers' lateness tells.
    hurry(Urgency::Measuring);
    let measured = thread::scope(|scope| {
        let serving = scope.spawn(|| {
            hurry(Urgency::Measuring);
            server.run(&|| over.load(Ordering::Relaxed))
        });
        let run = RunOptions {
            until: Until::Users(cell.users),
            think_scale: cell.think_scale(),
            connections: CONNECTIONS,
            // Timeouts double up to two minutes.
            timeout_s: 600.0,
            ..RunOptions::new(address, vec![cell.load(seed)])
        };
        let measured = netflow_ipb::run(&run, &mut |_| true);
        over.store(true, Ordering::Relaxed);
        // What the server counted is the same, seen from the other end.
        let _ = serving.join();
        measured
    });
    let measured = measured.map_err(Unmeasured::failed)?;
    if let Some((failure, users)) = measured
        .users
        .iter()
        .flat_map(|users| users.failures())
        .next()
    {
        let failure = format!("{users} users failed: {}", failure.name());
        return Err(Unmeasured::Failed(failure));
    }
    if !measured.is_conclusive() {
        let late = Times::new(measured.late_s.clone());
        let late_ms = 1e3 * late.quantile(0.99);
        let doubt = format!("users were {late_ms:.1} ms late at p99");
        return Err(Unmeasured::Inconclusive(doubt));
    }
    Ok(measured)
}

/// Connections that open without a loss take a round trip, all of them, and most do here. Where a
/// quarter takes noticeably longer than half of them, this machine was busy with something else.
fn uneven(measured: &Measured) -> Option<String> {
    const MOST: f64 = 0.05;
    let connects = Times::new(measured.waits().connect_s);
    let over = connects.quantile(0.75) / connects.quantile(0.5) - 1.0;
    (over > MOST).then(|| {
        let percent = 100.0 * over;
        format!("a quarter of the connections took {percent:.0} % longer to open than half of them")
    })
}

/// The median wait for a file over loopback, in seconds.
pub(crate) fn service_s() -> Result<f64, Unmeasured> {
    let cell = Cell {
        what: Users::Fetch(1000),
        ..web(200, 1)[0]
    };
    let options = ServerOptions {
        port: 0,
        ..ServerOptions::default()
    };
    let server = Server::bind(options).map_err(Unmeasured::failed)?;
    // In a thread of its own, whose priority ends with it.
    let played = thread::scope(|scope| scope.spawn(|| play(&cell, 1, server)).join());
    let died = |_| Unmeasured::Failed("the measurement died".to_owned());
    let waits = played.map_err(died)??.waits();
    Ok(Times::new(waits.file_s).quantile(0.5))
}
