//! Requests of the Internet Protocol Benchmark.

use std::iter;

use netflow_ipb::DropReason;
use netflow_ipb::protocol::{Parser, Request};

pub(super) const DICTIONARY: &[&str] = &[
    "GET /",
    "POST /",
    " HTTP/1.1\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked",
    "\r\n",
    "\r\n\r\n",
    "T\u{1}\u{1}\u{1}",
];

/// Reads the bytes after the first one as requests, up to their end or an error. Cut into pieces
/// whose length is the first byte, they must give the same requests.
///
/// # Panics
/// On an error in netflow.
pub fn ipb(bytes: &[u8]) {
    let Some((&cut, bytes)) = bytes.split_first() else {
        return;
    };
    let (whole, refused) = read(iter::once(bytes));
    let sizes = whole
        .iter()
        .map(|asked| asked.request_bytes + asked.script_bytes);
    assert!(sizes.sum::<u64>() <= bytes.len() as u64);
    let (cut_up, refused_cut_up) = read(bytes.chunks(usize::from(cut).max(1)));
    assert_eq!(whole, cut_up);
    // Cut up, an invalid request may be detected earlier or later.
    assert_eq!(refused.is_some(), refused_cut_up.is_some());
}

fn read<'a>(portions: impl Iterator<Item = &'a [u8]>) -> (Vec<Request>, Option<DropReason>) {
    let mut parser = Parser::new(1 << 20);
    let mut found = Vec::new();
    for mut portion in portions {
        loop {
            match parser.next(&mut portion) {
                Ok(Some(asked)) => found.push(asked),
                Ok(None) => break assert!(portion.is_empty()),
                Err(reason) => {
                    assert_eq!(parser.next(&mut portion), Err(reason));
                    return (found, Some(reason));
                }
            }
        }
    }
    (found, None)
}
