//! Memory of reading a trace. A test binary of its own, because it measures the memory of its process.

use std::fs;
use std::io::Read;

use netflow_needs::{Need, skip};
use netflow_trace::from_reader;

/// The memory of a reader does not grow while it reads 200 MB: the resident memory stays within a few
/// megabytes of its size after the first tenth.
#[test]
fn memory_is_independent_of_trace_length() {
    let Some(_) = resident_bytes() else {
        skip(
            Need::System,
            "/proc/self/statm does not tell of memory here",
        );
        return;
    };
    let line = b"+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n";
    let block: Vec<u8> = line
        .iter()
        .copied()
        .cycle()
        .take(line.len() * 1000)
        .collect();
    let input = RepeatedTrace {
        block,
        at: 0,
        left: 200 << 20,
    };
    let mut reader = from_reader("repeated", input).unwrap();
    let (mut events, mut early) = (0_u64, 0);
    while reader.next().unwrap().is_some() {
        events += 1;
        if events == 500_000 {
            early = resident_bytes().unwrap();
        }
    }
    let grown = resident_bytes().unwrap().saturating_sub(early);
    assert!(events > 5_000_000, "{events}");
    assert!(grown < 16 << 20, "{grown} bytes more");
}

fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Reader of a repeated block of bytes.
struct RepeatedTrace {
    block: Vec<u8>,
    at: usize,
    left: usize,
}

impl Read for RepeatedTrace {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.block[self.at..];
        let count = rest.len().min(out.len()).min(self.left);
        out[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.block.len();
        self.left -= count;
        Ok(count)
    }
}
