//! Encoding of a TCP stack's acknowledgement in the 64 bits of a packet's metadata.
//!
//! It has two SACK blocks (RFC 2018), a flag for a third one, and the receive window. Three more flags are for a
//! duplicate (D-SACK, RFC 2883), for congestion (ECN echo, RFC 3168), and for the episode of the echoed packet
//! (Eifel, RFC 3522). With a duplicate, its segment takes the place of one SACK block.

use netflow_queues::TcpAck;
use netflow_tcpmodel::tcp::{Ack, CE_COUNTER_MODULUS, FurtherBlock, Sacks};

/// Bits of the start of each SACK block, relative to the first missing segment, and of its length. A longer
/// block is cut at its front. That part was reported before, because a receiver acknowledges before 45
/// arrivals wait; an exception is the loss of many acknowledgements in a row.
const BLOCKS: [(u32, u32); 2] = [(17, 8), (17, 7)];
/// Bits of the blocks if the first one starts too far away for [`BLOCKS`]. The second start is then the
/// distance before the first.
const FAR_BLOCKS: [(u32, u32); 2] = [(26, 8), (9, 6)];
/// Bits of the blocks with Accurate ECN, and the same for far blocks. The [counter](CE_COUNTER_SHIFT) replaces
/// bits of the second length.
const BLOCKS_WITH_COUNTER: [(u32, u32); 2] = [(17, 8), (17, 4)];
const FAR_BLOCKS_WITH_COUNTER: [(u32, u32); 2] = [(26, 8), (9, 3)];
/// Bits of a duplicate segment relative to the first missing one, sign included, and of the block behind it, without and
/// with a counter.
const DUPLICATE_BITS: u32 = 20;
const DUPLICATE_BLOCK: (u32, u32) = (20, 9);
const DUPLICATE_BLOCK_WITH_COUNTER: (u32, u32) = (18, 8);
/// Position of the counter of marked packets (Accurate ECN, RFC 9768).
const CE_COUNTER_SHIFT: u32 = 46;
/// Flag of an odd episode of the echoed packet.
const ODD_EPISODE: u64 = 1 << 49;
/// Flag of far blocks, or of a third block with a duplicate; and flag of further blocks.
const FAR: u64 = 1 << 50;
const FURTHER_BLOCKS: u64 = 1 << 51;
/// Position of the receive window.
const WINDOW_SHIFT: u32 = 52;
/// Bits of its mantissa, and of its exponent.
const MANTISSA_BITS: u32 = 6;
const EXPONENT_BITS: u32 = 4;
const DUPLICATE: u64 = 1 << 62;
const CONGESTED: u64 = 1 << 63;

/// Sequence number of the answer to a SYN.
pub(crate) const SYN_ACK_SEQ: i32 = -1;

/// Encodes an acknowledgement. The number of segments before `cumulative` is the packet's sequence number.
pub(crate) fn pack(ack: &Ack) -> u64 {
    let blocks = ack.sacks.blocks();
    let counter = u64::from(ack.ce_counter.unwrap_or(0)) << CE_COUNTER_SHIFT;
    let (encoded, listed) = match ack.duplicate {
        None => (pack_blocks(ack), BLOCKS.len()),
        Some(segment) => (pack_duplicate(ack, segment), 1),
    };
    let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
    encoded
        | counter
        | u64::from(pack_number(ack.window)) << WINDOW_SHIFT
        | flag(ack.echo_odd_episode == Some(true), ODD_EPISODE)
        | flag(ack.congested, CONGESTED)
        | flag(blocks.len() > listed, FURTHER_BLOCKS)
}

/// Encodes a duplicate segment and the first SACK block.
fn pack_duplicate(ack: &Ack, segment: u32) -> u64 {
    let most = (1 << (DUPLICATE_BITS - 1)) - 1;
    let offset = (i64::from(segment) - i64::from(ack.cumulative)).clamp(-most, most);
    let blocks = ack.sacks.blocks();
    let (start_bits, length_bits) = duplicate_block(ack.ce_counter.is_some());
    let block = blocks.first().map_or(0, |&(first, end)| {
        let length = (end - first).min((1 << length_bits) - 1);
        let start = end - length - ack.cumulative;
        let fits = start < 1 << start_bits;
        if fits {
            u64::from(start << length_bits | length)
        } else {
            0
        }
    });
    let third = if blocks.len() > 2 { FAR } else { 0 };
    DUPLICATE | third | offset as u64 & ((1 << DUPLICATE_BITS) - 1) | block << DUPLICATE_BITS
}

fn duplicate_block(has_counter: bool) -> (u32, u32) {
    if has_counter {
        DUPLICATE_BLOCK_WITH_COUNTER
    } else {
        DUPLICATE_BLOCK
    }
}

/// Encodes two SACK blocks.
fn pack_blocks(ack: &Ack) -> u64 {
    let blocks = ack.sacks.blocks();
    let is_far = blocks
        .first()
        .is_some_and(|&(_, end)| end - ack.cumulative >= 1 << BLOCKS[0].0);
    let (mut told, mut at) = (if is_far { FAR } else { 0 }, 0);
    let mut blocks = blocks.iter();
    let mut first_start = None;
    for (start_bits, length_bits) in layout(is_far, ack.ce_counter.is_some()) {
        let block = blocks.find_map(|&(first, end)| {
            // A long block keeps its end. The part before was reported earlier.
            let length = (end - first).min((1 << length_bits) - 1);
            let begin = end - length;
            let start = match first_start {
                Some(after) if is_far => u32::checked_sub(after, begin)?,
                _ => begin - ack.cumulative,
            };
            first_start.get_or_insert(begin);
            (start < 1 << start_bits).then_some(u64::from(start << length_bits | length))
        });
        told |= block.unwrap_or(0) << at;
        at += start_bits + length_bits;
    }
    told
}

/// Returns true if one acknowledgement can list a further block next to the pending ones.
///
/// With a counter, the block that comes second is short.
pub(crate) fn can_encode_block(block: FurtherBlock, has_counter: bool) -> bool {
    let is_near = block.first.max(block.latest_end) < 1 << BLOCKS[0].0;
    let [_, (start_bits, length_bits)] = layout(true, has_counter);
    let [_, (_, near_length_bits)] = layout(false, has_counter);
    let most =
        (1 << if is_near {
            near_length_bits
        } else {
            length_bits
        }) - 1;
    let follows = |gap| gap < (1 << start_bits) - (1 << length_bits);
    let is_close = block
        .first
        .checked_sub(block.latest_end)
        .is_some_and(follows);
    let is_short = !has_counter || block.latest_segments <= most;
    block.waiting < BLOCKS.len() && (is_near || is_close) && is_short
}

fn layout(is_far: bool, has_counter: bool) -> [(u32, u32); 2] {
    match (is_far, has_counter) {
        (false, false) => BLOCKS,
        (true, false) => FAR_BLOCKS,
        (false, true) => BLOCKS_WITH_COUNTER,
        (true, true) => FAR_BLOCKS_WITH_COUNTER,
    }
}

/// Returns the number of SACK blocks in an acknowledgement, including the block of a duplicate (RFC 2883). At
/// most three others are counted.
pub(crate) fn listed_blocks(encoded: u64, has_counter: bool) -> u32 {
    let further = u32::from(encoded & FURTHER_BLOCKS != 0);
    if encoded & DUPLICATE != 0 {
        let (_, length_bits) = duplicate_block(has_counter);
        let length = encoded >> DUPLICATE_BITS & ((1 << length_bits) - 1);
        return 1 + u32::from(length > 0) + further + u32::from(encoded & FAR != 0);
    }
    let mut at = 0;
    let blocks = layout(encoded & FAR != 0, has_counter);
    let blocks = blocks.iter().filter(|&&(start_bits, length_bits)| {
        let length = encoded >> at & ((1 << length_bits) - 1);
        at += start_bits + length_bits;
        length > 0
    });
    blocks.count() as u32 + further
}

/// Encodes a number of at least 1 in ten bits, rounded down by at most 1/64; `None` becomes 0.
pub(crate) fn pack_number(number: Option<u32>) -> u32 {
    let Some(number) = number else { return 0 };
    let number = number.max(1);
    let doubled = number.ilog2().saturating_sub(MANTISSA_BITS);
    match doubled + 1 < 1 << EXPONENT_BITS {
        true if number >> MANTISSA_BITS == 0 => number,
        true => (doubled + 1) << MANTISSA_BITS | (number >> doubled) & ((1 << MANTISSA_BITS) - 1),
        false => (1 << (MANTISSA_BITS + EXPONENT_BITS)) - 1,
    }
}

pub(crate) fn unpack_number(packed: u32) -> Option<u32> {
    let (doubled, count) = (packed >> MANTISSA_BITS, packed & ((1 << MANTISSA_BITS) - 1));
    match doubled {
        0 => (count > 0).then_some(count),
        _ => Some((1 << MANTISSA_BITS | count) << (doubled - 1)),
    }
}

/// Decodes an acknowledgement, which has a counter of marked packets with `has_counter`.
pub(crate) fn unpack(seq: i32, encoded: u64, has_counter: bool) -> Ack {
    let cumulative = seq.max(0) as u32;
    let (duplicate, sacks) = if encoded & DUPLICATE == 0 {
        (None, unpack_blocks(cumulative, encoded, has_counter))
    } else {
        let (segment, sacks) = unpack_duplicate(cumulative, encoded, has_counter);
        (Some(segment), sacks)
    };
    let window = (encoded >> WINDOW_SHIFT) as u32 & ((1 << (MANTISSA_BITS + EXPONENT_BITS)) - 1);
    Ack {
        cumulative,
        sacks,
        duplicate,
        pure: true,
        congested: encoded & CONGESTED != 0,
        ce_counter: has_counter
            .then_some((encoded >> CE_COUNTER_SHIFT) as u8 % CE_COUNTER_MODULUS as u8),
        echo_ns: None,
        echo_odd_episode: Some(encoded & ODD_EPISODE != 0),
        window: unpack_number(window),
    }
}

/// Decodes a duplicate segment and a SACK block.
fn unpack_duplicate(cumulative: u32, encoded: u64, has_counter: bool) -> (u32, Sacks) {
    let (start_bits, length_bits) = duplicate_block(has_counter);
    let unused = i64::BITS - DUPLICATE_BITS;
    let offset = ((encoded << unused) as i64) >> unused;
    let segment = (i64::from(cumulative) + offset).max(0) as u32;
    let block = encoded >> DUPLICATE_BITS & ((1 << (start_bits + length_bits)) - 1);
    let begin = cumulative + (block >> length_bits) as u32;
    let length = (block & ((1 << length_bits) - 1)) as u32;
    let mut sacks = Sacks::default();
    if length > 0 {
        sacks.push(begin, begin + length);
    }
    (segment, sacks)
}

/// Decodes SACK blocks.
fn unpack_blocks(cumulative: u32, encoded: u64, has_counter: bool) -> Sacks {
    let (mut sacks, mut at) = (Sacks::default(), 0);
    let is_far = encoded & FAR != 0;
    let mut first_start = None;
    for (start_bits, length_bits) in layout(is_far, has_counter) {
        let block = encoded >> at & ((1 << (start_bits + length_bits)) - 1);
        let start = (block >> length_bits) as u32;
        let length = (block & ((1 << length_bits) - 1)) as u32;
        if length > 0 {
            let begin = match first_start {
                Some(after) if is_far => u32::saturating_sub(after, start),
                _ => cumulative + start,
            };
            first_start.get_or_insert(begin);
            sacks.push(begin, begin + length);
        }
        at += start_bits + length_bits;
    }
    sacks
}

/// Value of the ACE field before the first marked packet (RFC 9768, section 3.2.2.1).
const FIRST_ACE: u8 = 5;
/// Bits of ECE and CWR in the flags of a segment. The ACE field has AE in front of them.
const ECE: u8 = 1;
const ECE_AND_CWR: u8 = 3;

/// Returns the properties of an acknowledgement for queue disciplines. One that reports a duplicate or a third SACK
/// block, which the encoding does not contain, is not replaceable. Linux does not replace one with AE.
pub(crate) fn acknowledgement(seq: i32, encoded: u64, has_counter: bool) -> TcpAck {
    let ack = unpack(seq, encoded, has_counter);
    let mut sacks = [(0, 0); 4];
    for (to, &from) in sacks.iter_mut().zip(ack.sacks.blocks()) {
        *to = from;
    }
    let flags = match ack.ce_counter {
        Some(counter) => (counter + FIRST_ACE) % CE_COUNTER_MODULUS as u8,
        None => ECE * u8::from(ack.congested),
    };
    TcpAck {
        cumulative: ack.cumulative,
        sacks,
        ecn_flags: flags & ECE_AND_CWR,
        // Those of a flow do not decrease.
        timestamps: None,
        is_replaceable: ack.duplicate.is_none()
            && encoded & FURTHER_BLOCKS == 0
            && flags <= ECE_AND_CWR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(cumulative: u32, blocks: &[(u32, u32)], duplicate: Option<u32>, congested: bool) -> Ack {
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
            ce_counter: None,
            echo_ns: None,
            echo_odd_episode: Some(congested),
            window: None,
        }
    }

    #[test]
    fn acks_survive_encoding() {
        for ack in [
            ack(0, &[], None, false),
            ack(7, &[(9, 10)], Some(9), false),
            ack(7, &[(9, 10)], Some(0), true),
            ack(7, &[(20, 31), (9, 10)], None, true),
            ack(
                1_000_000_000,
                &[(1_000_131_071, 1_000_131_072)],
                Some(999_500_000),
                true,
            ),
            ack(7, &[(100_000, 100_045), (9, 10)], None, false),
            ack(7, &[(9, 54), (100_000, 100_045)], None, false),
            ack(7, &[(900_000, 900_045), (899_700, 899_745)], None, true),
            ack(7, &[(900_000, 900_045)], Some(500_000), false),
        ] {
            assert_eq!(unpack(ack.cumulative as i32, pack(&ack), false), ack);
        }
        // Of a duplicate and two blocks, the first block remains. Too far duplicates are nearer.
        let two = unpack(
            7,
            pack(&ack(7, &[(20, 31), (9, 10)], Some(3), false)),
            false,
        );
        assert_eq!(
            (two.duplicate, two.sacks.blocks()),
            (Some(3), &[(20, 31)][..])
        );
        let old = unpack(1_000_000, pack(&ack(1_000_000, &[], Some(1), false)), false);
        assert_eq!(old.duplicate, Some(1_000_000 - (1 << 19) + 1));
    }

    /// With Accurate ECN, the counter survives with and without blocks. The second block keeps its last segments.
    #[test]
    fn counters_survive_encoding() {
        let far = [(900_000, 900_045), (899_960, 899_963)];
        for blocks in [&[][..], &[(9, 10)], &[(20, 31), (9, 14)], &far] {
            for counter in 0..8 {
                let ack = Ack {
                    ce_counter: Some(counter),
                    ..ack(7, blocks, None, false)
                };
                assert_eq!(unpack(7, pack(&ack), true), ack);
                assert_eq!(listed_blocks(pack(&ack), true), blocks.len() as u32);
            }
        }
        let long = Ack {
            ce_counter: Some(7),
            ..ack(5, &[(2_000, 2_001), (9, 209)], None, false)
        };
        let received = unpack(5, pack(&long), true);
        assert_eq!(received.sacks.blocks(), [(2_000, 2_001), (194, 209)]);
    }

    #[test]
    fn blocks_are_counted() {
        let listed =
            |blocks: &[_], duplicate| listed_blocks(pack(&ack(7, blocks, duplicate, true)), false);
        let blocks = [(20, 31), (9, 10), (12, 13)];
        for n in 0..=3 {
            assert_eq!(listed(&blocks[..n], None), n as u32);
            assert_eq!(listed(&blocks[..n], Some(2)), n as u32 + 1);
        }
    }

    /// Long blocks keep their end. Blocks too far away are omitted.
    #[test]
    fn oversized_blocks_are_truncated() {
        let long = unpack(5, pack(&ack(5, &[(6, 30_000)], None, false)), false);
        assert_eq!(long.sacks.blocks(), [(30_000 - 255, 30_000)]);
        let far = unpack(
            5,
            pack(&ack(5, &[(200_000, 200_001), (9, 10)], None, false)),
            false,
        );
        assert_eq!(far.sacks.blocks(), [(200_000, 200_001)]);
        let later = &[(9, 10), (200_000, 200_001)];
        let far = unpack(5, pack(&ack(5, later, None, false)), false);
        assert_eq!(far.sacks.blocks(), [(9, 10)]);
        let second = unpack(
            5,
            pack(&ack(5, &[(2_000, 2_001), (9, 209)], None, false)),
            false,
        );
        assert_eq!(second.sacks.blocks(), [(2_000, 2_001), (82, 209)]);
    }

    /// Windows are never larger than offered, and smaller by at most 1/64.
    #[test]
    fn windows_are_encoded_within_one_64th() {
        let told = |window| {
            let ack = Ack {
                window,
                ..ack(7, &[(9, 10)], None, false)
            };
            let told = unpack(7, pack(&ack), false);
            assert_eq!(
                told,
                Ack {
                    window: told.window,
                    ..ack
                }
            );
            told.window
        };
        assert_eq!(told(None), None);
        for window in (1..5_000).chain((13..21).map(|power| (1 << power) + 12_345 % (1 << power))) {
            let told = told(Some(window)).unwrap();
            assert!(
                told <= window && window - told <= window / 64,
                "{window} {told}"
            );
        }
        assert_eq!(told(Some(u32::MAX)), Some(127 << 14));
    }
}
