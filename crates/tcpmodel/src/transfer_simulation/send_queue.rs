//! The send queue of a program, and its segmentation.

/// The data that a program at one end has written. It is cut into segments at their first transmission, so
/// data written while segments wait joins the last of them.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    mss_bytes: u32,
    bytes: u64,
    /// The end of each segment sent, in bytes.
    ends: Vec<u64>,
}

impl SendQueue {
    /// Returns an empty queue.
    pub(super) fn new(mss_bytes: u32) -> Self {
        Self {
            mss_bytes: mss_bytes.max(1),
            bytes: 0,
            ends: Vec::new(),
        }
    }

    /// Appends data of the program.
    pub(super) fn write(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn segmented_bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of segments sent, plus those needed for the data written so far.
    pub(super) fn segments(&self) -> u32 {
        let waiting = self.bytes - self.segmented_bytes();
        self.ends.len() as u32 + waiting.div_ceil(u64::from(self.mss_bytes)) as u32
    }

    /// Cuts the next segment, which is sent for the first time.
    pub(super) fn cut_segment(&mut self) {
        let end = (self.segmented_bytes() + u64::from(self.mss_bytes)).min(self.bytes);
        self.ends.push(end);
    }

    /// Returns true if this segment has been sent.
    pub(super) fn is_segmented(&self, segment: u32) -> bool {
        (segment as usize) < self.ends.len()
    }

    /// Returns the payload of the segments before this one, in bytes.
    pub(super) fn bytes_before(&self, segment: u32) -> u64 {
        match segment.checked_sub(1) {
            None => 0,
            Some(last) => {
                let end = self.ends.get(last as usize).copied();
                end.unwrap_or_else(|| self.segmented_bytes())
            }
        }
    }

    /// Returns the payload of a segment, in bytes.
    pub(super) fn size(&self, segment: u32) -> u32 {
        // The difference is at most the size of a full segment.
        (self.bytes_before(segment + 1) - self.bytes_before(segment)) as u32
    }

    /// Returns true if a segment has the full size.
    pub(super) fn is_full(&self, segment: u32) -> bool {
        self.size(segment) >= self.mss_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::SendQueue;

    /// 2500 B are two full segments and 500 B. After those are sent, 600 B and 1000 B, written one after
    /// the other, are cut together.
    #[test]
    fn waiting_data_is_segmented_together() {
        let mut written = SendQueue::new(1000);
        written.write(2500);
        assert_eq!(written.segments(), 3);
        (0..3).for_each(|_| written.cut_segment());
        written.write(600);
        assert_eq!(written.segments(), 4);
        written.write(1000);
        assert_eq!(written.segments(), 5);
        (0..2).for_each(|_| written.cut_segment());
        let sizes: Vec<u32> = (0..5).map(|segment| written.size(segment)).collect();
        assert_eq!(sizes, [1000, 1000, 500, 1000, 600]);
        assert_eq!(written.bytes_before(5), 4100);
        assert!(written.is_full(3) && !written.is_full(2) && !written.is_segmented(5));
    }
}
