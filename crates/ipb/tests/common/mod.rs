//! Helper functions of the tests.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netflow_ipb::{Load, Served, Server, ServerOptions};
use netflow_workload::{Application, Http, Telnet, Workload};

/// Runs a server on a free port while `use_it` runs.
pub fn serve_while<T>(options: ServerOptions, use_it: impl FnOnce(SocketAddr) -> T) -> (T, Served) {
    let server = Server::bind(ServerOptions { port: 0, ..options }).unwrap();
    let address = server.address();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(&|| done.load(Ordering::Relaxed)).unwrap());
        // The server stops also if `use_it` panics.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| use_it(address)));
        done.store(true, Ordering::Relaxed);
        let served = serving.join().unwrap();
        match result {
            Ok(result) => (result, served),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

pub fn http(seed: u64, users_per_s: f64) -> Load {
    load(Application::Http(Http::default()), seed, users_per_s)
}

pub fn telnet(seed: u64, users_per_s: f64) -> Load {
    load(Application::Telnet(Telnet::default()), seed, users_per_s)
}

pub fn load(application: Application, seed: u64, users_per_s: f64) -> Load {
    Load {
        workload: Workload { application, seed },
        users_per_s,
    }
}
