//! Fields of ns-2's trace lines. The lines are output of ns-2.35, unless stated otherwise.

use std::io::{Cursor, Read, Write};

use flate2::{Compression, write::GzEncoder};
use netflow_trace::{Event, Faults, Segment, Transport, from_reader};

/// Returns all events of a trace.
fn read(text: &str) -> (Vec<Event>, Faults) {
    let mut trace = from_reader("a test", Cursor::new(text.to_owned())).unwrap();
    let mut events = Vec::new();
    while let Some(event) = trace.next().unwrap() {
        events.push(event.clone());
    }
    (events, trace.faults().clone())
}

fn segment(line: &str) -> Segment {
    let (events, faults) = read(&format!("{line}\n"));
    assert_eq!(faults, Faults::default());
    events[0].packet.segment.unwrap()
}

/// `Agent/TCP/Sack1` with `Trace set show_tcphdr_ 1` leaves flags and header length 0; numbers still
/// count packets.
#[test]
fn one_way_agents_count_packets_despite_headers() {
    let data = Segment {
        seq: 12,
        len: 1,
        ..Segment::default()
    };
    let acknowledgement = Segment {
        ack: Some(12),
        ..Segment::default()
    };
    assert_eq!(
        segment("d 0.29624 0 1 tcp 1040 ------- 0 0.0 1.0 12 31 0 0x0 0 0"),
        data
    );
    assert_eq!(
        segment("+ 0.34752 1 0 ack 48 ------- 0 1.0 0.0 11 47 0 0x0 0 1"),
        acknowledgement
    );
}

/// `Agent/TCP/FullTcp/Sack`: a SYN, data of 840 - 40 bytes, and the receiver's FIN, which acknowledges
/// the sender's FIN.
#[test]
fn full_tcp_counts_bytes() {
    let syn = segment("+ 0.2 0 1 tcp 40 ------- 0 0.0 1.0 0 6 -1 0xa 40 0");
    assert_eq!((syn.syn, syn.ack, syn.len), (true, None, 0));
    let data = segment("+ 0.643488 0 1 tcp 840 ---A--- 0 0.0 1.0 19201 59 1 0x98 40 0");
    assert_eq!((data.seq, data.len, data.ack), (19201, 800, Some(1)));
    let fin = segment("+ 2.01032 1 0 ack 40 ------- 0 1.0 0.0 1 63 20002 0x19 40 0");
    assert_eq!((fin.fin, fin.len, fin.ack), (true, 0, Some(20002)));
    let sack = segment("+ 0.37632 1 0 ack 66 ------- 0 1.0 0.0 1 51 10561 0x18 66 3");
    assert_eq!((sack.len, sack.ack), (0, Some(10561)));
}

#[test]
fn udp_packet_with_tcp_header_is_not_tcp() {
    let (events, _) = read("+ 0.1 0 1 cbr 210 ------- 0 0.1 1.1 0 0 0 0x0 0 0\n");
    assert_eq!(events[0].packet.transport, Transport::Udp);
    assert_eq!(events[0].packet.segment, None);
}

/// Times with any number of digits. (Invented: all but the second and the third have more digits than
/// ns-2 writes.)
#[test]
fn times_are_exact() {
    for (time, time_ns) in [
        ("3", 3_000_000_000),
        ("0.357904", 357_904_000),
        ("1e-05", 10_000),
        ("0.123456789", 123_456_789),
        ("0.1234567899", 123_456_789),
        ("9000000.000000001", 9_000_000_000_000_001),
        ("0.0000000000000000001", 0),
    ] {
        let (events, faults) = read(&format!("r {time} 0 1 tcp 40 ------- 0 0.0 1.0 0 6\n"));
        assert_eq!(faults, Faults::default(), "{time}");
        assert_eq!(events[0].time_ns, time_ns, "{time}");
    }
}

/// Traced variables of agents, an annotation, blank lines and comments between the events.
#[test]
fn other_line_types_are_skipped() {
    let text = "0.00000  0  0  1  0  cwnd_ 1.000 \n\
                v 0 eval {set sim_annotation {hello there}}\n\
                \n\
                # a comment\n\
                r 0.21032 0 1 tcp 40 ------- 0 0.0 1.0 0 6\r\n\
                0.22064  0  0  1  0  rtt_ 0.020 ";
    let (events, faults) = read(text);
    assert_eq!(events.len(), 1);
    assert_eq!((faults.count, faults.skipped), (0, 3), "{faults:?}");
}

/// A line without its beginning is not mistaken for a variable.
#[test]
fn truncated_line_is_a_fault() {
    let (events, faults) = read(
        "r 0.21032 0 1 tcp 40 ------- 0 0.0 1.0 0 6\n032 0 1 tcp 40 ------- 0 0.0 1.0 0 7\nhello\n",
    );
    assert_eq!(events.len(), 1);
    assert_eq!((faults.count, faults.skipped), (2, 0), "{faults:?}");
}

#[test]
fn names_are_available_before_first_event() {
    let text = "# made by hand\n\
                # netflow node 0 [exec touch x] $a;b\n\
                # netflow node 7 Köln\\nDeutz\\\\\n\
                r 0.21032 0 7 tcp 40 ------- 0 0.0 7.0 0 6\n";
    let trace = from_reader("a test", Cursor::new(text.to_owned())).unwrap();
    assert_eq!(trace.names().name(0), "[exec touch x] $a;b");
    assert_eq!(trace.names().name(7), "Köln\nDeutz\\");
    assert_eq!(trace.names().name(1), "1");
}

/// 24 MB of names in comments are not all kept in memory.
#[test]
fn stored_node_names_are_limited() {
    let line = |node: usize| format!("# netflow node {node} {}\n", "n".repeat(60_000));
    let text: String = (0..400).map(line).collect();
    let trace = from_reader("a test", Cursor::new(text)).unwrap();
    let kept = (0..400).filter(|node| trace.names().name(*node).len() > 10);
    // 16 MiB of 60 kB each.
    assert_eq!(kept.count(), 279);
}

/// A trace whose valid lines are all filtered out is not rejected.
#[test]
fn trace_with_filtered_and_malformed_lines_is_valid() {
    let text = "r 0.21032 0 1 tcp 40 ------- 0 0.0 1.0 0 6\nd 0.3 0\n";
    let mut trace = from_reader("a test", Cursor::new(text)).unwrap();
    trace.retain_kinds(&[netflow_trace::EventKind::Dropped]);
    assert!(trace.next().unwrap().is_none());
    assert_eq!(trace.faults().count, 1);
}

/// A file like that of `cat a.tr.gz b.tr.gz`; a line may continue in the next member.
#[test]
fn all_members_of_a_gzip_file_are_read() {
    let mut file = Vec::new();
    for part in [
        "r 0.2 0 1 tcp 40 ------- 0 0.0 1.0 0 6\nr 0.3 0 ",
        "1 tcp 40 ------- 0 0.0 1.0 1 7\n",
    ] {
        let mut member = GzEncoder::new(Vec::new(), Compression::fast());
        member.write_all(part.as_bytes()).unwrap();
        file.extend(member.finish().unwrap());
    }
    let mut trace = from_reader("a test", Cursor::new(file)).unwrap();
    assert!(trace.is_compressed());
    let mut ids = Vec::new();
    while let Some(event) = trace.next().unwrap() {
        ids.push(event.packet.id);
    }
    assert_eq!(ids, [6, 7]);
    assert_eq!(trace.faults(), &Faults::default());
}

/// Reader that returns one byte at a time, as a pipe may.
struct OneByteReader(Cursor<String>);

impl Read for OneByteReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = out.len().min(1);
        self.0.read(&mut out[..most])
    }
}

/// Zeros that a crash leaves after a valid line are malformed, but do not reject the trace. The check of
/// the first line does not depend on the number of bytes per read.
#[test]
fn zero_bytes_after_valid_lines_are_malformed() {
    let line = "+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n";
    let (events, faults) = read(&format!("{line}\0\0\0\n{line}\0"));
    assert_eq!((events.len(), faults.count), (2, 2));
    let binary = format!("+ 0.5 0 1 tcp\0 1000\n{line}");
    let slow = OneByteReader(Cursor::new(binary.clone()));
    assert!(from_reader("a pipe", slow).is_err());
    assert!(from_reader("a file", Cursor::new(binary)).is_err());
}
