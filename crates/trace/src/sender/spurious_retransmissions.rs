//! Estimator of spurious retransmissions from acknowledgements.

/// Counter of packets that arrived more than once.
///
/// A receiver acknowledges out-of-order and repeated packets at once (RFC 5681 §4.2). So every such
/// arrival causes a duplicate acknowledgement, while every packet is acknowledged for the first time
/// once. When the receiver has no hole, arrivals − acknowledged packets is the number of packets that
/// arrived twice. No loss made these retransmissions necessary; for example, go-back-N after a timeout
/// repeats packets that had arrived.
///
/// Receivers with SACK report repeated packets (DSACK, RFC 2883); then only these reports count.
#[derive(Debug, Default)]
pub(super) struct SpuriousRetransmissions {
    /// Arrivals − acknowledged packets since the receiver last had no hole.
    surplus: i64,
    holes: bool,
    /// Retransmissions not found to be spurious.
    resent: u64,
}

impl SpuriousRetransmissions {
    pub(super) fn on_retransmission(&mut self, pkts: u32) {
        self.resent += u64::from(pkts);
    }

    /// Processes an acknowledgement without new data. Returns the number of spurious retransmissions that
    /// it reveals.
    pub(super) fn on_duplicate_ack(&mut self, all_acknowledged: bool) -> u32 {
        self.surplus += 1;
        if all_acknowledged {
            return self.take_surplus();
        }
        self.holes = true;
        0
    }

    /// Processes an acknowledgement of `pkts` packets; `resent` if one of them was retransmitted. Returns
    /// the number of spurious retransmissions that it reveals.
    pub(super) fn on_new_ack(&mut self, pkts: u32, resent: bool, all_acknowledged: bool) -> u32 {
        let repair = resent || self.holes;
        self.holes = false;
        // One packet fills a hole; the other packets covered arrived before, and were counted as
        // duplicate acknowledgements. Without a hole, all of them have just arrived.
        if repair {
            self.surplus += 1 - i64::from(pkts);
        }
        if repair && !all_acknowledged {
            return 0;
        }
        self.take_surplus()
    }

    /// Processes the receiver's report of `pkts` repeated packets.
    pub(super) fn on_dsack(&mut self, pkts: u32) -> u32 {
        self.count_spurious(u64::from(pkts))
    }

    fn take_surplus(&mut self) -> u32 {
        // The surplus is negative if acknowledgements were lost; then nothing is known.
        let twice = std::mem::take(&mut self.surplus).max(0);
        self.count_spurious(twice.unsigned_abs())
    }

    fn count_spurious(&mut self, pkts: u64) -> u32 {
        let pkts = pkts.min(self.resent);
        self.resent -= pkts;
        u32::try_from(pkts).unwrap_or(u32::MAX)
    }
}
