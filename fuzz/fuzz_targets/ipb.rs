//! Any bytes are read to their end as requests of the benchmark, or refused; however they are cut, the
//! same requests are found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netflow_ipb::Reason;
use netflow_ipb::protocol::{Asked, Parser};

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

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let (whole, refused) = read(std::iter::once(bytes));
    let sizes = whole.iter().map(|asked| asked.request_bytes + asked.script_bytes);
    assert!(sizes.sum::<u64>() <= bytes.len() as u64);
    let (cut_up, refused_cut_up) = read(bytes.chunks(usize::from(cut).max(1)));
    assert_eq!(whole, cut_up);
    // What is no request is only seen sooner or later.
    assert_eq!(refused.is_some(), refused_cut_up.is_some());
});
