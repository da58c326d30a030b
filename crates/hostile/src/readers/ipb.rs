//! Requests of the Internet Protocol Benchmark.

use std::iter;

use netflow_ipb::Reason;
use netflow_ipb::protocol::{Asked, Parser};

pub(super) const WORDS: &[&str] = &[
    "GET /",
    "POST /",
    " HTTP/1.1\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked",
    "\r\n",
    "\r\n\r\n",
    "T\u{1}\u{1}\u{1}",
];

/// Bytes behind the first are read to their end as requests, or refused; cut into pieces as long as the
/// first says, the same requests are found.
///
/// # Panics
/// Where netflow is wrong.
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
    // What is no request is only seen sooner or later.
    assert_eq!(refused.is_some(), refused_cut_up.is_some());
}

fn read<'a>(portions: impl Iterator<Item = &'a [u8]>) -> (Vec<Asked>, Option<Reason>) {
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
