//! Mutations of inputs.

use rand::RngExt;
use rand_pcg::Pcg64;

/// Maximum length of an input, in bytes.
pub const MAX_INPUT_BYTES: usize = 64 << 10;

/// Numbers at limits of number types and formats.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "-0",
    "0.5",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-400",
    "1e-300",
    "5e-324",
    "1e18",
    "1e19",
    "1e300",
    "1.7976931348623157e308",
    "1e999",
    "nan",
    "inf",
    "0.1",
    "99999999999999999999999999",
];

/// Mutates an input in a few places, occasionally in many. Pieces are taken from `others`, and
/// words of the format from `words`.
pub fn mutate_input(rng: &mut Pcg64, input: &[u8], others: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let most = *choose(rng, &[1, 2, 4, 16]).unwrap_or(&1);
    for _ in 0..rng.random_range(1..=most) {
        mutate_once(rng, &mut bytes, others, words);
    }
    bytes.truncate(MAX_INPUT_BYTES);
    bytes
}

fn mutate_once(rng: &mut Pcg64, bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[&str]) {
    let at = rng.random_range(0..=bytes.len());
    match rng.random_range(0..11) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.random_range(0..8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *choose(rng, &[0, 1, 0x7f, 0x80, 0xff, b'\n', b'"', b' ']).unwrap_or(&0);
            }
        }
        2 => binary_number(rng, bytes, at),
        3 => {
            let length = rng.random_range(1..=8);
            let new: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            replace_range(bytes, at, at, &new);
        }
        4 => {
            let end = piece_end(rng, bytes.len(), at);
            replace_range(bytes, at, end, b"");
        }
        5 => {
            // Repeats a piece, sometimes many times.
            let end = piece_end(rng, bytes.len(), at);
            let times = *choose(rng, &[1, 1, 1, 50]).unwrap_or(&1);
            let again = bytes.get(at..end).unwrap_or_default().repeat(times);
            replace_range(bytes, at, at, &again);
        }
        6 => {
            if let Some(other) = choose(rng, others) {
                let from = rng.random_range(0..=other.len());
                let piece = other.get(from..piece_end(rng, other.len(), from));
                replace_range(bytes, at, at, piece.unwrap_or_default());
            }
        }
        7 | 8 => text_number(rng, bytes, at),
        9 => {
            if let Some(word) = choose(rng, words) {
                let end = at + rng.random_range(0..2) * word.len();
                replace_range(bytes, at, end.min(bytes.len()), word.as_bytes());
            }
        }
        _ => {
            // Moves a line to another position.
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            if !lines.is_empty() {
                let line = lines.remove(rng.random_range(0..lines.len()));
                lines.insert(rng.random_range(0..=lines.len()), line);
                *bytes = lines.concat();
            }
        }
    }
}

fn choose<'a, T>(rng: &mut Pcg64, all: &'a [T]) -> Option<&'a T> {
    match all.len() {
        0 => None,
        count => all.get(rng.random_range(0..count)),
    }
}

/// Returns the end of a piece that begins at `at`. Pieces are mostly short.
fn piece_end(rng: &mut Pcg64, length: usize, at: usize) -> usize {
    let most = *choose(rng, &[4, 16, 64, 4096]).unwrap_or(&4);
    length.min(at + rng.random_range(1..=most))
}

fn replace_range(bytes: &mut Vec<u8>, from: usize, to: usize, new: &[u8]) {
    if bytes.len() + new.len() <= 2 * MAX_INPUT_BYTES {
        bytes.splice(from..to, new.iter().copied());
    }
}

/// Replaces a binary number of one to eight bytes, in either byte order.
fn binary_number(rng: &mut Pcg64, bytes: &mut [u8], at: usize) {
    let small = rng.random_range(0_u64..40);
    let number = *choose(
        rng,
        &[
            0,
            1,
            small,
            0x7fff_ffff,
            0x8000_0000,
            u64::MAX / 2,
            u64::MAX - small,
        ],
    )
    .unwrap_or(&0);
    let width = *choose(rng, &[1_usize, 2, 4, 8]).unwrap_or(&1);
    let little = number.to_le_bytes();
    let mut new = little.get(..width).unwrap_or_default().to_vec();
    if rng.random() {
        new.reverse();
    }
    if let Some(old) = bytes.get_mut(at..at + width) {
        old.copy_from_slice(&new);
    }
}

/// Replaces the next number of a text.
fn text_number(rng: &mut Pcg64, bytes: &mut Vec<u8>, at: usize) {
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(start) = rest.iter().position(is_number) else {
        return;
    };
    let length = rest
        .iter()
        .skip(start)
        .take_while(|byte| is_number(byte))
        .count();
    let random = rng.random::<u64>().to_string();
    let new = match rng.random_range(0..4) {
        0 => random
            .get(..rng.random_range(1..=random.len()))
            .unwrap_or_default(),
        _ => choose(rng, NUMBERS).copied().unwrap_or_default(),
    };
    replace_range(bytes, at + start, at + start + length, new.as_bytes());
}
