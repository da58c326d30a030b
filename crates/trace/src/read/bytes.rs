//! Integers from bytes; `None` beyond the end.

pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Byte order of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let value = be16(bytes, at)?;
        Some(if self == ByteOrder::Big {
            value
        } else {
            value.swap_bytes()
        })
    }

    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let value = be32(bytes, at)?;
        Some(if self == ByteOrder::Big {
            value
        } else {
            value.swap_bytes()
        })
    }
}
