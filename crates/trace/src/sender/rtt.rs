//! How round-trip times are found.

/// How round-trip times are found. All three compare the time when a packet left with the time
/// when it was first reported to have arrived; they differ in which packet an acknowledgement is
/// about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RttMethod {
    /// The timestamp that an acknowledgement echoes names the packet, resends included (RFC 7323
    /// §4.1: only acknowledgements of new data count). Delayed acknowledgements echo the first of
    /// the packets that they cover, so the receiver's delay is in.
    Timestamps,
    /// The last-sent packet among those that the acknowledgement or one of its SACK blocks
    /// reports for the first time, if it was sent once; so recovery is seen, too.
    Sack,
    /// Only the cumulative acknowledgement: the last packet that it covers, if neither this nor
    /// any other that it covers was sent twice (Karn & Partridge 1987). Packets that waited at
    /// the receiver for an earlier one to be repaired would show the repair's time, not the
    /// path's; leaving them out means that nothing is known during recovery.
    Karn,
}

impl RttMethod {
    /// The best first.
    pub const ALL: [RttMethod; 3] = [RttMethod::Timestamps, RttMethod::Sack, RttMethod::Karn];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            RttMethod::Timestamps => "timestamps",
            RttMethod::Sack => "sack",
            RttMethod::Karn => "karn",
        }
    }
}
