//! What the benchmark itself adds to every wait: the times of files, pages and echoes over loopback.

use std::sync::atomic::{AtomicBool, Ordering};

use netflow_ipb::{Load, RunOptions, Server, ServerOptions, Until};
use netflow_workload::{Application, Http, Telnet, Times, Workload};

fn main() -> Result<(), netflow_ipb::Error> {
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
        until: Until::Seconds(10.0),
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
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| server.run(&|| done.load(Ordering::Relaxed)));
        let measured = netflow_ipb::run(&options, &mut |_| true);
        done.store(true, Ordering::Relaxed);
        measured
    })?;
    let mut times = measured.waits().times();
    times.push(("own lateness", Times::new(measured.late_s.clone())));
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
