//! Any bytes behind the beginning of a capture (pcap, pcapng) are read to their end; nothing panics
//! or loops.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use netflow_trace::from_reader;
use netflow_trace::sender::{Options, Samplers};

const PCAP: &[u8] = &[
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0,
];
const PCAPNG: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a];

fuzz_target!(|bytes: &[u8]| {
    for header in [PCAP, PCAPNG] {
        let input = [header, bytes].concat();
        let most = input.len();
        let Ok(mut reader) = from_reader("fuzz", Cursor::new(input)) else {
            continue;
        };
        let mut samplers = Samplers::new(Options::default(), 3);
        let mut events = 0;
        while let Ok(Some(event)) = reader.next() {
            samplers.on(event);
            events += 1;
            assert!(events <= most);
        }
        samplers.finish("fuzz");
    }
});
