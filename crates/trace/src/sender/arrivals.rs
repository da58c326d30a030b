//! How many resends were needless, from what acknowledgements there were.

/// Counts packets that arrived although they had arrived before.
///
/// A receiver acknowledges at once what arrives out of order or twice (RFC 5681 §4.2), so every
/// such arrival is a duplicate acknowledgement, while every packet is acknowledged for the first
/// time once. At a moment when the receiver holds nothing beyond a hole, arrivals − packets
/// acknowledged is the number that arrived twice, which no loss had made necessary: after a
/// timeout, go-back-N resends what had arrived.
///
/// Receivers with SACK say it themselves (DSACK, RFC 2883), and then only that counts.
#[derive(Debug, Default)]
pub(super) struct Needless {
    /// Arrivals − packets acknowledged since the last moment without a hole.
    surplus: i64,
    holes: bool,
    /// Packets resent that were not found to be needless.
    resent: u64,
}

impl Needless {
    pub(super) fn resent(&mut self, pkts: u32) {
        self.resent += u64::from(pkts);
    }

    /// An acknowledgement of nothing new. Gives how many needless resends it shows.
    pub(super) fn duplicate(&mut self, all_acknowledged: bool) -> u32 {
        self.surplus += 1;
        if all_acknowledged {
            return self.settle();
        }
        self.holes = true;
        0
    }

    /// An acknowledgement of `pkts` packets, one of them `resent` or none. Gives how many needless
    /// resends it shows.
    pub(super) fn advanced(&mut self, pkts: u32, resent: bool, all_acknowledged: bool) -> u32 {
        let repair = resent || self.holes;
        self.holes = false;
        // What fills a hole is one packet; the others it covers came before, and were counted as
        // duplicate acknowledgements. Without a hole all of them have just come.
        if repair {
            self.surplus += 1 - i64::from(pkts);
        }
        if repair && !all_acknowledged {
            return 0;
        }
        self.settle()
    }

    /// The receiver said that these came twice.
    pub(super) fn reported(&mut self, pkts: u32) -> u32 {
        self.count(u64::from(pkts))
    }

    fn settle(&mut self) -> u32 {
        // Below zero when acknowledgements were lost: then nothing is known.
        let twice = std::mem::take(&mut self.surplus).max(0);
        self.count(twice.unsigned_abs())
    }

    fn count(&mut self, pkts: u64) -> u32 {
        let pkts = pkts.min(self.resent);
        self.resent -= pkts;
        u32::try_from(pkts).unwrap_or(u32::MAX)
    }
}
