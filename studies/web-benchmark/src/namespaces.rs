//! Measurement of experiments between two network namespaces.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netflow_ipb::{Measured, RunOptions, Server, ServerOptions, StopCondition};
use netflow_testbed::{End, Testbed, ThreadRole, set_realtime_priority};
use netflow_workload::{ResponseTimes, TimeSample};

use crate::cell::{Cell, Users, web};
use crate::measure::MeasureError;

/// Number of concurrent connections. Many more would wait for the machine instead of the link.
const CONNECTIONS: usize = 20;
/// Maximum number of attempts of an inconclusive run.
const MAX_TRIES: u32 = 3;

/// Measures experiments in parallel for one seed.
pub(crate) fn measure(cells: &[Cell], seed: u64) -> Vec<Result<ResponseTimes, MeasureError>> {
    thread::scope(|scope| {
        let running: Vec<_> = cells
            .iter()
            .map(|cell| scope.spawn(move || measure_until_conclusive(cell, seed)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join();
        let died = |_| Err(MeasureError::Failed("the measurement died".to_owned()));
        running
            .into_iter()
            .map(|thread| join(thread).unwrap_or_else(died))
            .collect()
    })
}

fn measure_until_conclusive(cell: &Cell, seed: u64) -> Result<ResponseTimes, MeasureError> {
    let mut tries = 1;
    loop {
        match measure_once(cell, seed) {
            Err(MeasureError::Inconclusive(_)) if tries < MAX_TRIES => tries += 1,
            other => return other,
        }
    }
}

fn measure_once(cell: &Cell, seed: u64) -> Result<ResponseTimes, MeasureError> {
    let link = cell.link(seed).map_err(MeasureError::failed)?;
    let testbed = Testbed::new(&link, &cell.settings())?;
    let server = ServerOptions {
        address: IpAddr::V4(testbed.address(End::B)),
        ..ServerOptions::default()
    };
    let server = testbed.run_in(End::B, || Server::bind(server))?;
    let server = server.map_err(MeasureError::failed)?;
    let measured = testbed.run_in(End::A, || run_users(cell, seed, server))??;
    let report = testbed.stop()?;
    match report.unreliable_reason().or_else(|| uneven(&measured)) {
        Some(doubt) => Err(MeasureError::Inconclusive(doubt)),
        None => Ok(measured.waits()),
    }
}

/// Runs an experiment's users against a server, from this thread's namespace.
fn run_users(cell: &Cell, seed: u64, server: Server) -> Result<Measured, MeasureError> {
    let address = server.address();
    let over = AtomicBool::new(false);
    // Other load on the machine must not be measured; if priorities are not permitted, the lateness
    // of timers reveals it.
    set_realtime_priority(ThreadRole::Measuring);
    let measured = thread::scope(|scope| {
        let serving = scope.spawn(|| {
            set_realtime_priority(ThreadRole::Measuring);
            server.run(&|| over.load(Ordering::Relaxed))
        });
        let run = RunOptions {
            until: StopCondition::Users(cell.users),
            think_scale: cell.think_scale(),
            connections: CONNECTIONS,
            // Timeouts double up to two minutes.
            timeout_s: 600.0,
            ..RunOptions::new(address, vec![cell.load(seed)])
        };
        let measured = netflow_ipb::run(&run, &mut |_| true);
        over.store(true, Ordering::Relaxed);
        // The server's counts are the same from the other end.
        let _ = serving.join();
        measured
    });
    let measured = measured.map_err(MeasureError::failed)?;
    if let Some((failure, users)) = measured
        .users
        .iter()
        .flat_map(|users| users.failures())
        .next()
    {
        let failure = format!("{users} users failed: {}", failure.name());
        return Err(MeasureError::Failed(failure));
    }
    if !measured.is_conclusive() {
        let late = TimeSample::new(measured.late_s.clone());
        let late_ms = 1e3 * late.quantile(0.99);
        let doubt = format!("users were {late_ms:.1} ms late at p99");
        return Err(MeasureError::Inconclusive(doubt));
    }
    Ok(measured)
}

/// Returns a message if the machine was busy with something else. Loss-free handshakes take one
/// round trip, and most are loss-free. Then the third quartile must be close to the median.
fn uneven(measured: &Measured) -> Option<String> {
    const MAX_SHARE: f64 = 0.05;
    let connects = TimeSample::new(measured.waits().connect_s);
    let over = connects.quantile(0.75) / connects.quantile(0.5) - 1.0;
    (over > MAX_SHARE).then(|| {
        let percent = 100.0 * over;
        format!("a quarter of the connections took {percent:.0} % longer to open than half of them")
    })
}

/// Returns the median response time of a file over loopback, in seconds.
pub(crate) fn service_s() -> Result<f64, MeasureError> {
    let cell = Cell {
        what: Users::Fetch(1000),
        ..web(200, 1)[0]
    };
    let options = ServerOptions {
        port: 0,
        ..ServerOptions::default()
    };
    let server = Server::bind(options).map_err(MeasureError::failed)?;
    // A separate thread, because its priority is raised.
    let played = thread::scope(|scope| scope.spawn(|| run_users(&cell, 1, server)).join());
    let died = |_| MeasureError::Failed("the measurement died".to_owned());
    let waits = played.map_err(died)??.waits();
    Ok(TimeSample::new(waits.file_s).quantile(0.5))
}
