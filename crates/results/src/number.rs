//! Fast conversion of numbers to decimal text, which takes most of the time of writing series.

/// Buffer bytes that writing one value may touch, copies of fixed length included.
pub(crate) const MAX_NUMBER_BYTES: usize = 24;

/// Writes `value` at index `at` with seven significant digits and without trailing zeros. Writes nothing
/// if the value is not finite. Returns the index after the text.
///
/// [`MAX_NUMBER_BYTES`] bytes must be free there.
#[inline]
pub(crate) fn put_value(out: &mut [u8], at: usize, value: f64) -> usize {
    let size = value.abs();
    if size == 0.0 {
        out[at] = b'0';
        at + 1
    } else if (MIN_PLAIN..MAX_PLAIN).contains(&size) {
        out[at] = b'-';
        put_plain(out, at + usize::from(value < 0.0), size)
    } else {
        put_scientific(out, at, value)
    }
}

/// Range of absolute values that are written without an exponent.
const MIN_PLAIN: f64 = 1e-5;
const MAX_PLAIN: f64 = 1e7;

/// Powers of ten from 10^-5 to 10^7.
const POWERS: [f64; 13] = [
    1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7,
];
/// Factors that scale a number between a power and the next to seven digits before the point.
const SCALES: [f64; 13] = [
    1e11, 1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 1e-1,
];

/// 2^52. Adding it to a number below 2^32 leaves the nearest integer in the lowest bits.
const ROUNDING_OFFSET: f64 = (1_u64 << 52) as f64;

#[inline]
fn put_plain(out: &mut [u8], at: usize, value: f64) -> usize {
    // The estimate of the decimal magnitude from the binary one is exact or too small by one.
    let binary = (value.to_bits() >> 52) as i32 - 1023;
    let estimate = ((binary * 1233) >> 12) + 5;
    let mut place = estimate.clamp(0, 11) as usize;
    place += usize::from(value >= POWERS[place + 1]);
    // Rounding to seven digits; 9.9999999 becomes 10.
    let mut digits = (value * SCALES[place] + ROUNDING_OFFSET).to_bits() as u32;
    if digits >= 10_000_000 {
        digits = 1_000_000;
        place += 1;
    }
    let ascii = ascii(digits);
    let zeros = (ascii ^ ZEROS).leading_zeros() / 8;
    let kept = 8 - zeros as usize;
    match place.checked_sub(5) {
        // The point is between the digits, for example 12.5.
        Some(before) if before < 7 => {
            let before = before + 1;
            if kept <= before {
                return put_bytes(out, at, ascii, before);
            }
            let shift = 8 * before as u32;
            let whole = ascii & ((1 << shift) - 1);
            // The shift drops the last of the eight digits, which is always 0.
            let fraction = (ascii >> shift) << shift << 8;
            let point = u64::from(b'.') << shift;
            put_bytes(out, at, whole | point | fraction, kept + 1)
        }
        Some(_) => put_bytes(out, at, u64::from_le_bytes(*b"10000000"), 8),
        None => {
            let at = put_bytes(out, at, u64::from_le_bytes(*b"0.000000"), 6 - place);
            put_bytes(out, at, ascii, kept)
        }
    }
}

/// Writes the first `count` of eight bytes. A copy of fixed length is cheaper than one of variable
/// length.
#[inline]
fn put_bytes(out: &mut [u8], at: usize, bytes: u64, count: usize) -> usize {
    out[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
    at + count
}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// Returns the seven digits of a number below 10^7 and a zero, the first in the lowest byte.
#[inline]
fn ascii(number: u32) -> u64 {
    let thousands = number / 1000;
    let (first, middle, last) = (thousands / 1000, thousands % 1000, number % 1000);
    let digits = |three: u32| u64::from(THREE_DIGITS[three as usize]);
    u64::from(first + 0x30) | digits(middle) << 8 | digits(last) << 32 | 0x30 << 56
}

/// `000` to `999`, the first digit in the lowest byte.
static THREE_DIGITS: [u32; 1000] = {
    let mut table = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (first, second, third) = (number / 100, number / 10 % 10, number % 10);
        table[number as usize] = 0x30_3030 + (first | second << 8 | third << 16);
        number += 1;
    }
    table
};

/// Writes a very small or very large value as the nearest single-precision number.
#[inline(never)]
fn put_scientific(out: &mut [u8], at: usize, value: f64) -> usize {
    let value = value as f32;
    if !value.is_finite() {
        return at;
    }
    let mut buffer = zmij::Buffer::new();
    let digits = short(if value == 0.0 {
        "0"
    } else {
        buffer.format_finite(value)
    });
    out[at..at + digits.len()].copy_from_slice(digits.as_bytes());
    at + digits.len()
}

/// Appends a time in seconds, exact to the nanosecond: 0.3, not 0.30000000000000004.
pub(crate) fn push_time(buffer: &mut Vec<u8>, time_s: f64) {
    let rounded = (time_s * 1e9).round() / 1e9;
    let time_s = if rounded.is_finite() { rounded } else { time_s };
    let mut digits = zmij::Buffer::new();
    buffer.extend_from_slice(short(digits.format(time_s)).as_bytes());
}

/// Returns digits without a trailing `.0`.
fn short(digits: &str) -> &str {
    digits.strip_suffix(".0").unwrap_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = [b'#'; MAX_NUMBER_BYTES];
        let end = put_value(&mut out, 0, value);
        String::from_utf8(out[..end].to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (10.0, "10"),
            (0.1, "0.1"),
            (-12.5, "-12.5"),
            (1.0 / 3.0, "0.3333333"),
            (2.0 / 3.0, "0.6666667"),
            (1e-5, "0.00001"),
            (0.012345678, "0.01234568"),
            (9.99999949, "9.999999"),
            (9.99999951, "10"),
            (99.9999999, "100"),
            (0.99999999, "1"),
            (0.099999999, "0.1"),
            (125.0, "125"),
            (1_234_567.4, "1234567"),
            (9_999_999.4, "9999999"),
            (9_999_999.7, "10000000"),
            (1_000_000.0, "1000000"),
            (2e7, "20000000"),
            (1e-9, "1e-9"),
            (1e-60, "0"),
            (f64::NAN, ""),
            (f64::INFINITY, ""),
        ];
        for (value, expected) in cases {
            assert_eq!(text(value), expected, "{value:e}");
        }
    }

    /// Returns the expected text, built from strings.
    fn expected(value: f64) -> String {
        let size = value.abs();
        if size == 0.0 {
            return "0".to_owned();
        }
        if !(MIN_PLAIN..MAX_PLAIN).contains(&size) {
            let single = value as f32;
            return match single.is_finite() {
                true if single == 0.0 => "0".to_owned(),
                true => short(zmij::Buffer::new().format(single)).to_owned(),
                false => String::new(),
            };
        }
        let place = POWERS.iter().rposition(|&power| power <= size).unwrap();
        let digits = (size * SCALES[place]).round_ties_even() as u64;
        let sign = if value < 0.0 { "-" } else { "" };
        let after = 11_usize.saturating_sub(place);
        let one = 10_u64.pow(after as u32);
        let fixed = format!("{sign}{}.{:02$}", digits / one, digits % one, after);
        fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// Tests every magnitude, values around every power of ten, whole numbers and random bit patterns.
    #[test]
    fn texts_match_standard_formatting() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let check = |value: f64| {
            for value in [value, -value] {
                assert_eq!(text(value), expected(value), "{value:e}");
            }
        };
        for power in POWERS {
            for step in -40_i32..=40 {
                check(power * (1.0 + f64::from(step) * 2e-8));
                check(f64::from_bits(
                    power.to_bits().wrapping_add_signed(step.into()),
                ));
            }
        }
        for _ in 0..100_000 {
            let share = random() as f64 / (1_u64 << 53) as f64;
            check(10_f64.powf(20.0 * share - 10.0));
            check((share * 2e7).floor());
            check((share * 1e6).floor() / 1000.0);
            check(f64::from_bits(random() << 11 | random() >> 42));
        }
    }

    #[test]
    fn times_have_no_rounding_noise() {
        let mut buffer = Vec::new();
        push_time(&mut buffer, 0.1 + 0.2);
        buffer.push(b' ');
        push_time(&mut buffer, 60.0);
        assert_eq!(buffer, b"0.3 60");
    }

    /// Returns whether the error is at most half a unit of the seventh digit, plus rounding of the
    /// scaling.
    fn close(text: &str, value: f64) -> bool {
        let read: f64 = text.parse().unwrap();
        (read - value).abs() <= 5.000_01e-7 * value.abs()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn seven_digits_are_kept(exponent in -12.0..12.0_f64, negative: bool) {
            let value = if negative { -(10_f64.powf(exponent)) } else { 10_f64.powf(exponent) };
            let text = text(value);
            prop_assert!(close(&text, value), "{} for {}", text, value);
            let trailing = text.contains('.') && !text.contains('e') && text.ends_with(['0', '.']);
            prop_assert!(!trailing, "{}", text);
        }

        #[test]
        fn short_decimals_are_exact(digits in 1_u32..10_000_000, places in 0_i32..5) {
            let value = f64::from(digits) / 10_f64.powi(places);
            prop_assert_eq!(text(value).parse::<f64>().unwrap(), value);
        }

        #[test]
        fn arbitrary_bits_give_number_or_empty(bits: u64) {
            let value = f64::from_bits(bits);
            let text = text(value);
            if (value as f32).is_finite() {
                prop_assert!(text.parse::<f64>().is_ok(), "{}", text);
            } else {
                prop_assert_eq!(text, "");
            }
        }
    }
}
