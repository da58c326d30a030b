//! Links between real TCP stacks. Every test is skipped if namespaces or TUN devices are unavailable.
#![cfg(target_os = "linux")]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use netflow_needs::{Need, skip};
use netflow_testbed::{
    Capture, DirectionOptions, End, Error, ExtraPathDelay, LinkOptions, LinkReport, StackOptions,
    Testbed, transfer,
};
use netflow_units::{Packets, Seconds, Size};

/// Returns the testbed; `None`, with a message, if the test must be skipped.
fn testbed(link: &LinkOptions, stack: &StackOptions) -> Option<Testbed> {
    match Testbed::new(link, stack) {
        Ok(testbed) => Some(testbed),
        Err(error @ Error::Unavailable { .. }) => {
            skip(Need::Namespaces, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn delay(seconds: f64) -> LinkOptions {
    LinkOptions::with_delay(Seconds(seconds))
}

/// Checks that every packet is accounted for.
fn assert_packets_conserved(report: &LinkReport) {
    for direction in [&report.out, &report.back] {
        let gone = direction.delivered.pkts
            + direction.drops.total()
            + direction.in_flight_pkts
            + direction.write_failures;
        assert_eq!(direction.offered.pkts, gone, "{report:?}");
    }
}

/// Sends numbered datagrams with these sizes in turn. Returns the numbers that arrive.
fn datagrams(link: &LinkOptions, pkts: u32, sizes: &[usize]) -> Option<(LinkReport, Vec<u32>)> {
    let testbed = testbed(link, &StackOptions::linux_6())?;
    let at = |end: End| (testbed.address(end), 5000);
    let bind = |end: End| {
        testbed
            .run_in(end, || UdpSocket::bind(at(end)))
            .unwrap()
            .unwrap()
    };
    let (sender, receiver) = (bind(End::A), bind(End::B));
    receiver
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let numbers = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut numbers, mut packet) = (Vec::new(), [0; 2000]);
            while receiver.recv(&mut packet).is_ok() {
                numbers.push(u32::from_be_bytes(*packet.first_chunk().unwrap()));
            }
            numbers
        });
        for (number, &size) in (0..pkts).zip(sizes.iter().cycle()) {
            let mut packet = vec![0; size];
            packet[..4].copy_from_slice(&number.to_be_bytes());
            sender.send_to(&packet, at(End::B)).unwrap();
            if number % 20 == 19 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        reader.join().unwrap()
    });
    Some((testbed.stop().unwrap(), numbers))
}

#[test]
fn a_handshake_takes_a_round_trip() {
    let Some(testbed) = testbed(&delay(0.030), &StackOptions::linux_6()) else {
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
    assert_packets_conserved(&testbed.stop().unwrap());
    // The best of five, because the machine may be busy, but no handshake is faster than the link.
    assert!((0.060..0.065).contains(&best_s), "{best_s} s");
}

#[test]
fn extra_path_delay_applies_to_its_port() {
    let link = LinkOptions {
        extra_path_delay: Some(ExtraPathDelay {
            port: 10,
            delay: Seconds(0.040),
        }),
        ..delay(0.010)
    };
    let Some(testbed) = testbed(&link, &StackOptions::linux_6()) else {
        return;
    };
    let handshake_s = |port: u16| {
        let place = (testbed.address(End::B), port);
        let listener = testbed.run_in(End::B, || TcpListener::bind(place));
        let listener = listener.unwrap().unwrap();
        let mut best_s = f64::INFINITY;
        for _ in 0..5 {
            let begin = Instant::now();
            let stream = testbed.run_in(End::A, || TcpStream::connect(place));
            best_s = best_s.min(begin.elapsed().as_secs_f64());
            drop((stream.unwrap().unwrap(), listener.accept().unwrap()));
        }
        best_s
    };
    let (near_s, far_s) = (handshake_s(9), handshake_s(10));
    assert_packets_conserved(&testbed.stop().unwrap());
    assert!((0.020..0.025).contains(&near_s), "{near_s} s");
    assert!((0.060..0.065).contains(&far_s), "{far_s} s");
}

#[test]
fn same_seed_drops_same_packets_in_order() {
    let link = LinkOptions {
        out: DirectionOptions {
            loss: 0.1.into(),
            ..delay(0.005).out
        },
        seed: 3,
        ..delay(0.005)
    };
    let Some((report, numbers)) = datagrams(&link, 2000, &[20, 1000, 1472]) else {
        return;
    };
    assert_packets_conserved(&report);
    assert_eq!(report.out.offered.pkts, 2000);
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    // 4 standard deviations of 2000 draws at 0.1.
    let lost = report.out.drops.loss as f64;
    assert!((lost - 200.0).abs() < 54.0, "{lost}");
    let (again, same) = datagrams(&link, 2000, &[1000]).unwrap();
    assert_eq!(again.out.drops, report.out.drops);
    // The receiving sockets of a busy machine may overflow.
    let all =
        |report: &LinkReport, numbers: &[u32]| report.out.delivered.pkts == numbers.len() as u64;
    if all(&report, &numbers) && all(&again, &same) {
        assert_eq!(numbers, same);
    } else {
        skip(Need::Quiet, "the receiving socket overflowed");
    }
}

/// The buffer accepts 50 of 60 packets of a burst, and they leave 10 ms apart.
#[test]
fn rate_and_buffer_are_enforced() {
    let link = LinkOptions {
        out: DirectionOptions {
            rate: Some("100 pkt/s".parse().unwrap()),
            buffer: Size::Packets(Packets(50.0)),
            ..DirectionOptions::default()
        },
        ..LinkOptions::default()
    };
    let Some(testbed) = testbed(&link, &StackOptions::linux_6()) else {
        return;
    };
    let sender = testbed
        .run_in(End::A, || UdpSocket::bind("0.0.0.0:0"))
        .unwrap()
        .unwrap();
    for _ in 0..60 {
        sender
            .send_to(&[0; 100], (testbed.address(End::B), 9))
            .unwrap();
    }
    thread::sleep(Duration::from_millis(255));
    let report = testbed.stop().unwrap();
    assert_packets_conserved(&report);
    assert_eq!(report.out.drops.buffer, 10);
    // 10 ms each; on a busy machine some more may have left.
    assert!((25..40).contains(&report.out.delivered.pkts), "{report:?}");
}

/// Properties visible only in packets: the options of the first segment, and the size of the initial
/// flight.
#[test]
fn stack_presets_set_syn_options_and_window() {
    let place = tempfile::tempdir().unwrap();
    let first_flight = |name: &str| {
        let path = place.path().join(name);
        let link = LinkOptions {
            capture: Some(Capture {
                path: path.clone(),
                end: End::A,
                snap_bytes: 96,
            }),
            ..delay(0.050)
        };
        let stack = StackOptions::preset(name).unwrap();
        let testbed = testbed(&link, &stack)?;
        let at = (testbed.address(End::B), 9);
        let listener = testbed
            .run_in(End::B, || TcpListener::bind(at))
            .unwrap()
            .unwrap();
        let mut stream = testbed
            .run_in(End::A, || TcpStream::connect(at))
            .unwrap()
            .unwrap();
        stream.write_all(&[0; 30_000]).unwrap();
        // The first acknowledgement of data arrives at 0.1 s.
        thread::sleep(Duration::from_millis(60));
        let report = testbed.stop().unwrap();
        assert_eq!(report.capture.missing_pkts, 0);
        drop(listener);
        Some(packets(&path))
    };
    let (Some(today), Some(legacy)) = (first_flight("linux-6"), first_flight("legacy")) else {
        return;
    };
    // Segments without data have at most 60 bytes.
    let data = |packets: &[Vec<u8>]| {
        let total = |packet: &&Vec<u8>| u16::from_be_bytes([packet[2], packet[3]]) > 60;
        packets.iter().filter(total).count()
    };
    assert_eq!((data(&today), data(&legacy)), (10, 2));
    // Kinds of TCP options: 4 SACK permitted, 8 timestamps, 3 window scale.
    let kinds = |packets: &[Vec<u8>]| options(&packets[0][20..]);
    for kind in [4, 8, 3] {
        assert!(kinds(&today).contains(&kind) && !kinds(&legacy).contains(&kind));
    }
}

/// Returns the kinds of options in a TCP header.
fn options(segment: &[u8]) -> Vec<u8> {
    let end = usize::from(segment[12] >> 4) * 4;
    let (mut at, mut kinds) = (20, Vec::new());
    while at < end {
        kinds.push(segment[at]);
        at += match segment[at] {
            0 => break,
            1 => 1,
            _ => usize::from(segment[at + 1]),
        };
    }
    kinds
}

/// Returns the packets of a little-endian pcap file with nanoseconds.
fn packets(path: &std::path::Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    assert_eq!(word(20), 101, "raw IP");
    let (mut at, mut found) = (24, Vec::new());
    while at < bytes.len() {
        let len = word(at + 8) as usize;
        found.push(bytes[at + 16..at + 16 + len].to_vec());
        at += 16 + len;
    }
    found
}

/// The kernel reports the congestion control of a connection's route.
#[test]
fn congestion_control_is_set_or_rejected() {
    let stack = |name: &str| StackOptions {
        congestion_control: name.to_owned(),
        ..StackOptions::linux_6()
    };
    let Some(testbed) = testbed(&delay(0.0), &stack("reno")) else {
        return;
    };
    if let Ok(said) = testbed
        .run_in(End::B, || Command::new("ip").arg("route").output())
        .unwrap()
    {
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("congctl reno"), "{said}");
    }
    let error = Testbed::new(&delay(0.0), &stack("rano")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown congestion control `rano` in this kernel"
    );
    let help = error.help().unwrap();
    assert!(
        help.starts_with("did you mean `reno`? available: "),
        "{help}"
    );
}

/// At 2 Mbit/s of IP packets, TCP fills the link except for headers of 40 (or 52) of 1500 bytes.
#[test]
fn a_transfer_fills_the_link() {
    let direction = DirectionOptions {
        rate: Some("2 Mbit/s".parse().unwrap()),
        ..delay(0.005).out
    };
    let link = LinkOptions {
        out: direction,
        ..delay(0.005)
    };
    let Some(testbed) = testbed(&link, &StackOptions::linux_6()) else {
        return;
    };
    let time = Duration::from_secs(2);
    let rate = 8.0 * transfer(&testbed, time).unwrap() as f64 / time.as_secs_f64();
    let report = testbed.stop().unwrap();
    assert_packets_conserved(&report);
    assert!((1.7e6..1.95e6).contains(&rate), "{rate}");
}

/// The sockets of a runtime or a child are in the namespace of the thread that started them.
#[test]
fn commands_run_in_namespace_of_their_thread() {
    let Some(testbed) = testbed(&delay(0.0), &StackOptions::linux_6()) else {
        return;
    };
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "echo $NETFLOW_END $NETFLOW_ADDRESS $NETFLOW_PEER; readlink /proc/self/ns/net",
        ])
        .stdout(Stdio::piped());
    let said = testbed
        .spawn(End::B, &mut command)
        .unwrap()
        .wait_with_output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let (place, namespace) = said.trim().split_once('\n').unwrap();
    assert_eq!(place, "b 10.77.0.2 10.77.0.1");
    let here = fs::read_link("/proc/self/ns/net").unwrap();
    assert_ne!(here.to_str().unwrap(), namespace);
}

/// Removing a device under a connection ends the link's part in it, and nothing else.
#[test]
fn stopped_link_carries_no_packets() {
    let Some(testbed) = testbed(&delay(0.001), &StackOptions::linux_6()) else {
        return;
    };
    let at = (testbed.address(End::B), 9);
    let listener = testbed
        .run_in(End::B, || TcpListener::bind(at))
        .unwrap()
        .unwrap();
    let mut stream = testbed
        .run_in(End::A, || TcpStream::connect(at))
        .unwrap()
        .unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    stream.write_all(b"before").unwrap();
    let mut said = [0; 6];
    peer.read_exact(&mut said).unwrap();
    testbed.stop().unwrap();
    let _: io::Result<()> = stream.write_all(b"after");
    peer.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let kind = peer.read(&mut said).unwrap_err().kind();
    assert!(
        matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{kind:?}"
    );
}
