//! What a program has written, and the segments it is cut into.

/// What a program at one end has written. It is cut into segments when they are sent for the first
/// time: what is written while segments wait joins the last of them.
#[derive(Clone, Debug)]
pub(super) struct Written {
    mss_bytes: u32,
    bytes: u64,
    /// So many bytes end with each segment sent.
    ends: Vec<u64>,
}

impl Written {
    /// Nothing yet.
    pub(super) fn new(mss_bytes: u32) -> Self {
        Self {
            mss_bytes: mss_bytes.max(1),
            bytes: 0,
            ends: Vec::new(),
        }
    }

    /// Adds `bytes`.
    pub(super) fn write(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn cut_bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// So many segments have been sent, or would be if nothing more were written.
    pub(super) fn segments(&self) -> u32 {
        let waiting = self.bytes - self.cut_bytes();
        self.ends.len() as u32 + waiting.div_ceil(u64::from(self.mss_bytes)) as u32
    }

    /// The next segment is sent for the first time.
    pub(super) fn cut(&mut self) {
        let end = (self.cut_bytes() + u64::from(self.mss_bytes)).min(self.bytes);
        self.ends.push(end);
    }

    /// Has this segment been sent?
    pub(super) fn is_cut(&self, segment: u32) -> bool {
        (segment as usize) < self.ends.len()
    }

    /// The payload of the segments before this one, in bytes.
    pub(super) fn bytes_before(&self, segment: u32) -> u64 {
        match segment.checked_sub(1) {
            None => 0,
            Some(last) => {
                let end = self.ends.get(last as usize).copied();
                end.unwrap_or_else(|| self.cut_bytes())
            }
        }
    }

    /// The payload of a segment, in bytes.
    pub(super) fn size(&self, segment: u32) -> u32 {
        // A segment has no more than a segment's size.
        (self.bytes_before(segment + 1) - self.bytes_before(segment)) as u32
    }

    /// Has a segment the full size?
    pub(super) fn is_full(&self, segment: u32) -> bool {
        self.size(segment) >= self.mss_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Written;

    /// 2500 B are two full segments and 500 B; once those are sent, 600 B and 1000 B more, written
    /// one after the other, are cut together.
    #[test]
    fn what_waits_is_cut_together() {
        let mut written = Written::new(1000);
        written.write(2500);
        assert_eq!(written.segments(), 3);
        (0..3).for_each(|_| written.cut());
        written.write(600);
        assert_eq!(written.segments(), 4);
        written.write(1000);
        assert_eq!(written.segments(), 5);
        (0..2).for_each(|_| written.cut());
        let sizes: Vec<u32> = (0..5).map(|segment| written.size(segment)).collect();
        assert_eq!(sizes, [1000, 1000, 500, 1000, 600]);
        assert_eq!(written.bytes_before(5), 4100);
        assert!(written.is_full(3) && !written.is_full(2) && !written.is_cut(5));
    }
}
