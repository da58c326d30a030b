//! Numbers as text, fast.

/// Appends `value` rounded to single precision, with as few digits as tell it from its
/// neighbours; nothing at all where it is not finite. Says whether it wrote something.
#[inline]
pub(crate) fn push_single(buffer: &mut Vec<u8>, value: f64) -> bool {
    let value = value as f32;
    if value == 0.0 {
        buffer.push(b'0');
        return true;
    }
    if !value.is_finite() {
        return false;
    }
    let mut digits = zmij::Buffer::new();
    push_short(buffer, digits.format_finite(value));
    true
}

/// Appends a time in seconds, exact to the nanosecond: 0.3, not 0.30000000000000004.
pub(crate) fn push_time(buffer: &mut Vec<u8>, time_s: f64) {
    let rounded = (time_s * 1e9).round() / 1e9;
    let time_s = if rounded.is_finite() { rounded } else { time_s };
    push_short(buffer, zmij::Buffer::new().format(time_s));
}

/// Appends digits without a trailing `.0`.
#[inline]
fn push_short(buffer: &mut Vec<u8>, digits: &str) {
    let digits = digits.as_bytes();
    buffer.extend_from_slice(digits.strip_suffix(b".0").unwrap_or(digits));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single(value: f64) -> String {
        let mut buffer = Vec::new();
        push_single(&mut buffer, value);
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(single(0.0), "0");
        assert_eq!(single(-0.0), "0");
        assert_eq!(single(1.0), "1");
        assert_eq!(single(0.1), "0.1");
        assert_eq!(single(1.0 / 3.0), "0.33333334");
        assert_eq!(single(125.0), "125");
        assert_eq!(single(f64::NAN), "");
        assert_eq!(single(f64::INFINITY), "");
    }

    #[test]
    fn times_are_clean() {
        let mut buffer = Vec::new();
        push_time(&mut buffer, 0.1 + 0.2);
        buffer.push(b' ');
        push_time(&mut buffer, 60.0);
        assert_eq!(buffer, b"0.3 60");
    }

    proptest! {
        #[test]
        fn a_number_reads_back_as_the_nearest_single(value in any::<f64>()) {
            let nearest = value as f32;
            let text = single(value);
            if nearest.is_finite() {
                prop_assert_eq!(text.parse::<f32>().unwrap(), nearest);
            } else {
                prop_assert_eq!(text, "");
            }
        }
    }
}
