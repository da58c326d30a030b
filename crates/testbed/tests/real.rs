//! Links between real TCP stacks. Where namespaces or TUN devices are not to be had, every test says
//! `skipped` and why.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use netflow_testbed::{
    DirectionOptions, End, Error, LinkOptions, LinkReport, StackOptions, Testbed,
};
use netflow_units::Seconds;

/// The testbed, or nothing and why.
fn testbed(link: &LinkOptions, stack: &StackOptions) -> Option<Testbed> {
    match Testbed::new(link, stack) {
        Ok(testbed) => Some(testbed),
        Err(error @ Error::Unavailable { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Everything that came in went somewhere.
fn balanced(report: &LinkReport) {
    for direction in [&report.out, &report.back] {
        let gone = direction.delivered.pkts
            + direction.drops.total()
            + direction.in_flight_pkts
            + direction.write_failures;
        assert_eq!(direction.offered.pkts, gone, "{report:?}");
    }
}

#[test]
fn a_handshake_takes_a_round_trip() {
    let link = LinkOptions::with_delay(Seconds(0.030));
    let Some(testbed) = testbed(&link, &StackOptions::linux_6()) else {
        return;
    };
    let place = (testbed.address(End::B), 9);
    let listener = testbed
        .run_in(End::B, || TcpListener::bind(place))
        .unwrap()
        .unwrap();
    let mut best_s = f64::INFINITY;
    for _ in 0..5 {
        let begin = Instant::now();
        let stream = testbed
            .run_in(End::A, || TcpStream::connect(place))
            .unwrap()
            .unwrap();
        best_s = best_s.min(begin.elapsed().as_secs_f64());
        drop((listener.accept().unwrap(), stream));
    }
    let report = testbed.stop().unwrap();
    balanced(&report);
    eprintln!("{best_s} s; {report:?}");
    // The best of five: the machine may be busy, but nothing is faster than the link.
    assert!((0.060..0.065).contains(&best_s), "{best_s} s");
}
