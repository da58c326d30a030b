//! The trait that every profile implements.

use std::fmt::Debug;

use crate::extension::Reach;
use crate::file::Definition;
use crate::slopes::{Slopes, by_differences};
use crate::{Domain, ProfileUse};

/// How many evaluations the tight loops keep between two passes.
pub(crate) const BLOCK: usize = 64;

/// The same for short slices, where clearing the room between the passes would be felt.
pub(crate) const SMALL_BLOCK: usize = 8;

/// A TCP profile: the throughput F(loss, rtt) that a source settles at (\[Prof\] §2).
///
/// F counts sent packets, retransmissions included. It falls with the round-trip time, but it is
/// *not* monotone in the loss everywhere (NetBSD above 25 %, NT between 0 and 1 % at long
/// round-trip times, and any measured grid within its noise): no root finder may assume it.
pub trait Profile: Send + Sync + Debug {
    /// The name by which scenarios refer to it.
    fn name(&self) -> &str;

    /// One line: what it is and where it was measured.
    fn description(&self) -> &str;

    /// Where it was measured or is defined.
    fn domain(&self) -> Domain;

    /// Throughput in packets/s at this loss probability and round-trip time (s).
    ///
    /// Outside the domain it is extended: from the nearest point of the domain by a power of the
    /// loss, and with the same window at other round-trip times. On the way out it rises neither
    /// with the loss nor with the round-trip time. NaN counts as the lowest loss and the shortest
    /// round-trip time. A profile with a window limit W never exceeds W/rtt. The result is finite
    /// and positive whatever the arguments are.
    fn throughput(&self, loss: f64, rtt_s: f64) -> f64;

    /// [`throughput`](Self::throughput) of each pair, written to `out`: the hot path, which
    /// allocates nothing and gives the same bits. The slices have one length; if they have not,
    /// only the pairs that all three have are evaluated.
    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        for ((out, &loss), &rtt_s) in out.iter_mut().zip(loss).zip(rtt_s) {
            *out = self.throughput(loss, rtt_s);
        }
    }

    /// How ln F changes at this point, where it may bend: in the region to its right. By differences
    /// where a profile does not know it, which is good to nine digits.
    fn slopes(&self, loss: f64, rtt_s: f64) -> Slopes {
        by_differences(self, loss, rtt_s)
    }

    /// Whether this point is outside the domain, so that the value there is extended.
    fn outside(&self, loss: f64, rtt_s: f64) -> bool {
        !self.domain().contains(loss, rtt_s)
    }

    /// What the rate at this point rests on.
    fn rests_on(&self, loss: f64, rtt_s: f64) -> ProfileUse {
        Reach::FIT.of(self.domain(), loss, rtt_s)
    }

    /// The largest window in packets, where the profile has one.
    fn window_limit_pkts(&self) -> Option<f64> {
        None
    }

    /// How far congestion windows swing between losses, beside those of ns-2's Reno: half as far (0.5), say, where a
    /// window grows quickly to what it was and shrinks by less. The rates have it all; queues that windows fill
    /// depend on it, too.
    fn swing(&self) -> f64 {
        1.0
    }

    /// What a profile file says about it; `None` for a type that files cannot describe.
    fn definition(&self) -> Option<Definition<'_>> {
        None
    }
}
