//! Overhead of the benchmark itself: response times of files, pages and echoes over loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netflow_ipb::{Load, RunOptions, Server, ServerOptions, StopCondition};
use netflow_workload::{Application, Http, Telnet, TimeSample, Workload};

/// Returns the median round trip of the same messages between two idle threads: a request of 200 bytes
/// and a reply of 1750 bytes.
fn floor_s() -> std::io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut user = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    user.set_nodelay(true)?;
    server.set_nodelay(true)?;
    thread::spawn(move || -> std::io::Result<()> {
        loop {
            server.read_exact(&mut [0; 200])?;
            server.write_all(&[0; 1750])?;
        }
    });
    let mut times_s = Vec::new();
    for _ in 0..2000 {
        let began = Instant::now();
        user.write_all(&[0; 200])?;
        user.read_exact(&mut [0; 1750])?;
        times_s.push(began.elapsed().as_secs_f64());
        thread::sleep(Duration::from_millis(1));
    }
    Ok(TimeSample::new(times_s).quantile(0.5))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("without the benchmark: median {:.1} us", 1e6 * floor_s()?);
    let server = Server::bind(ServerOptions {
        port: 0,
        ..ServerOptions::default()
    })?;
    let load = |application, users_per_s| Load {
        workload: Workload {
            application,
            seed: 1,
        },
        users_per_s,
    };
    let options = RunOptions {
        until: StopCondition::Seconds(10.0),
        think_scale: 0.01,
        ..RunOptions::new(
            server.address(),
            vec![
                load(Application::Http(Http::default()), 20.0),
                load(Application::Telnet(Telnet::default()), 5.0),
            ],
        )
    };
    let done = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        scope.spawn(|| server.run(&|| done.load(Ordering::Relaxed)));
        let measured = netflow_ipb::run(&options, &mut |_| true);
        done.store(true, Ordering::Relaxed);
        measured
    })?;
    let mut times = measured.waits().samples();
    times.push(("own lateness", TimeSample::new(measured.late_s.clone())));
    for (name, times) in times {
        if let Some(s) = times.summary() {
            println!(
                "{name:>12}: {:>6} times, mean {:.1} us, median {:.1}, p95 {:.1}, p99 {:.1}, max {:.1}",
                s.count,
                1e6 * s.mean_s,
                1e6 * s.median_s,
                1e6 * s.p95_s,
                1e6 * s.p99_s,
                1e6 * s.max_s
            );
        }
    }
    println!("conclusive: {}", measured.is_conclusive());
    Ok(())
}
