//! Tables of samples and of packets.

use netflow_diffserv::packet_table::PacketReader;
use netflow_files::BoundedLines;
use netflow_profile::fit::{Method, ProfileLabel, fit};
use netflow_trace::sender::{SamplesWriter, read_samples};

pub(super) const DICTIONARY: &[&str] = &[
    "trace",
    "flow",
    "time_s",
    "rtt_s",
    "packets",
    "retransmitted",
    "needless",
    "duration_s",
    "bytes",
    "window_pkts",
    "precedence",
    ",",
    "\"",
    "\n",
    "0",
    "1e308",
    "-1",
    "nan",
    "inf",
    "4294967295",
];

/// Reads any bytes as a table of samples. A valid table must read back unchanged after it is
/// written. Fitting a profile to it succeeds or returns an error.
///
/// # Panics
/// On an error in netflow.
pub fn samples_table(bytes: &[u8]) {
    let Ok(flows) = read_samples(BoundedLines::new(bytes)) else {
        return;
    };
    let mut again = Vec::new();
    let mut writer = SamplesWriter::new(&mut again);
    for flow in &flows {
        writer.write(flow).expect("room in memory");
    }
    writer.flush().expect("room in memory");
    drop(writer);
    assert_eq!(
        read_samples(again.as_slice()).expect("our own table"),
        flows
    );
    let names = ProfileLabel {
        name: "fitted",
        description: "",
    };
    for method in [Method::LongRun, Method::Paper] {
        let Ok(found) = fit(&flows, method, &names) else {
            continue;
        };
        let (loss, rtt_s) = (0.01, 0.1);
        let profile = found.profile().expect("one of the two");
        let pps = profile.throughput(loss, rtt_s);
        assert!(pps.is_finite() && pps > 0.0, "{pps}");
    }
}

/// Reads any bytes as a table of packets. Packets must be in order and have possible values.
///
/// # Panics
/// On an error in netflow.
pub fn packets_table(bytes: &[u8]) {
    let Ok(packets) = PacketReader::new(BoundedLines::new(bytes)) else {
        return;
    };
    let mut before_s = 0.0;
    for packet in packets {
        let Ok(packet) = packet else { return };
        assert!(packet.time_s >= before_s, "{packet:?} after {before_s} s");
        assert!(packet.window_pkts.is_none_or(|pkts| pkts >= 0.0));
        before_s = packet.time_s;
    }
}
