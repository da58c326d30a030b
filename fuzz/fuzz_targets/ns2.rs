//! Any bytes behind one good line are read to their end as an ns-2 trace; nothing panics or loops.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use netflow_trace::analysis::{Burstiness, Connections, Links};
use netflow_trace::from_reader;
use netflow_trace::sender::Options;

const LINE: &[u8] = b"+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n";

fuzz_target!(|bytes: &[u8]| {
    let input = [LINE, bytes].concat();
    let most = input.len();
    let mut reader = from_reader("fuzz", Cursor::new(input)).expect("it begins well");
    let mut events = 0;
    // Intervals so long that a time of centuries is a few of them.
    let every_s = 1e9;
    let mut links = Links::new(every_s);
    let mut connections = Connections::new(every_s, Options::default());
    let mut burstiness = Burstiness::new(every_s, 0.0, None);
    while let Ok(Some(event)) = reader.next() {
        links.on(event);
        connections.on(event);
        burstiness.on(event);
        events += 1;
        assert!(events <= most);
    }
    for series in links.finish() {
        let totals = series.totals;
        assert!(totals.lost_pkts <= totals.offered_pkts + totals.departed_pkts + events as u64);
    }
    connections.finish();
    burstiness.finish();
});
