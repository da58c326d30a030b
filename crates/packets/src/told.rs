//! What acknowledgements of a stack say, in the 64 bits that a packet has for it: two blocks of segments
//! that have arrived behind one that has not (kernels send three), and two flags.

use netflow_tcpmodel::tcp::{Ack, Sacks};

/// Bits of where a block begins behind the first missing segment, and of its length.
const START: u32 = 17;
const LENGTH: u32 = 14;
const DUPLICATE: u64 = 1 << 62;
const CONGESTED: u64 = 1 << 63;

/// The sequence number of what answers a SYN.
pub(crate) const SYN_ANSWERED: i32 = -1;

/// As a packet carries it, with the segments before `cumulative` as its sequence number.
pub(crate) fn pack(ack: &Ack) -> u64 {
    let mut told = 0;
    let blocks = ack.sacks.blocks().iter().filter_map(|&(first, end)| {
        // Of a long block the end: what is before has been told of.
        let length = (end - first).min((1 << LENGTH) - 1);
        let start = end - length - ack.cumulative;
        (start < 1 << START).then_some(u64::from(start << LENGTH | length))
    });
    for (i, block) in blocks.take(2).enumerate() {
        told |= block << (i as u32 * (START + LENGTH));
    }
    let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
    told | flag(ack.duplicate, DUPLICATE) | flag(ack.congested, CONGESTED)
}

/// What such a packet says.
pub(crate) fn unpack(seq: i32, told: u64) -> Ack {
    let cumulative = seq.max(0) as u32;
    let mut sacks = Sacks::default();
    for i in 0..2 {
        let block = (told >> (i * (START + LENGTH))) as u32 & ((1 << (START + LENGTH)) - 1);
        let (start, length) = (block >> LENGTH, block & ((1 << LENGTH) - 1));
        if length > 0 {
            sacks.push(cumulative + start, cumulative + start + length);
        }
    }
    Ack {
        cumulative,
        sacks,
        duplicate: told & DUPLICATE != 0,
        pure: true,
        congested: told & CONGESTED != 0,
        echo_ns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(cumulative: u32, blocks: &[(u32, u32)], duplicate: bool, congested: bool) -> Ack {
        let mut sacks = Sacks::default();
        blocks
            .iter()
            .for_each(|&(first, end)| sacks.push(first, end));
        Ack {
            cumulative,
            sacks,
            duplicate,
            pure: true,
            congested,
            echo_ns: None,
        }
    }

    #[test]
    fn what_is_packed_comes_out() {
        for ack in [
            ack(0, &[], false, false),
            ack(7, &[(9, 10)], true, false),
            ack(7, &[(20, 31), (9, 10)], false, true),
            ack(1_000_000_000, &[(1_000_131_071, 1_000_131_072)], true, true),
        ] {
            assert_eq!(unpack(ack.cumulative as i32, pack(&ack)), ack);
        }
    }

    /// The end of what is too long, and nothing of what is too far.
    #[test]
    fn what_is_too_large_is_cut() {
        let long = unpack(5, pack(&ack(5, &[(6, 30_000)], false, false)));
        assert_eq!(long.sacks.blocks(), [(30_000 - 16_383, 30_000)]);
        let far = unpack(
            5,
            pack(&ack(5, &[(200_000, 200_001), (9, 10)], false, false)),
        );
        assert_eq!(far.sacks.blocks(), [(9, 10)]);
    }
}
