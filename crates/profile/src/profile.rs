//! Trait that every profile implements.

use std::fmt::Debug;

use crate::extrapolation::ExtrapolationLimit;
use crate::file::Definition;
use crate::log_derivatives::{LogDerivatives, finite_differences};
use crate::{Domain, Provenance};

/// Number of evaluations between two passes of the inner loops.
pub(crate) const BLOCK: usize = 64;

/// The same for short slices, where clearing larger buffers between passes would cost time.
pub(crate) const SMALL_BLOCK: usize = 8;

/// [Amplitude](Profile::sawtooth_amplitude) of CUBIC and of TCPs that back off as little.
pub const CUBIC_AMPLITUDE: f64 = 0.6;

/// TCP profile: the throughput F(loss, rtt) at which a source settles (\[Prof\] §2).
///
/// F counts sent packets, retransmissions included. It decreases with the round-trip time, but it
/// is *not* monotone in the loss everywhere, and no root finder may assume it. Exceptions are
/// NetBSD above 25 %, NT between 0 and 1 % at long round-trip times, and any measured grid within
/// its noise.
pub trait Profile: Send + Sync + Debug {
    /// Returns the name by which scenarios refer to it.
    fn name(&self) -> &str;

    /// Returns a one-line description: the TCP, and where it was measured.
    fn description(&self) -> &str;

    /// Returns the domain in which it was measured or is defined.
    fn domain(&self) -> Domain;

    /// Returns the throughput in packets/s at this loss probability and round-trip time (s).
    ///
    /// Outside the domain it is extrapolated from the nearest point of the domain: by a power of
    /// the loss, and with the same window at other round-trip times. Away from the domain it rises
    /// neither with the loss nor with the round-trip time. NaN counts as the lowest loss and the
    /// shortest round-trip time. A profile with a window limit W never exceeds W/rtt. The result is
    /// finite and positive for any arguments.
    fn throughput(&self, loss: f64, rtt_s: f64) -> f64;

    /// Writes the [`throughput`](Self::throughput) of each pair to `out`: the hot path, which
    /// allocates nothing and gives the same bits. The slices should have one length; otherwise only
    /// pairs within all three are evaluated.
    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        for ((out, &loss), &rtt_s) in out.iter_mut().zip(loss).zip(rtt_s) {
            *out = self.throughput(loss, rtt_s);
        }
    }

    /// Returns the derivatives of ln F at this point; at a kink, those of the region to its right.
    /// The default uses finite differences, which are accurate to nine digits.
    fn log_derivatives(&self, loss: f64, rtt_s: f64) -> LogDerivatives {
        finite_differences(self, loss, rtt_s)
    }

    /// Returns whether this point is outside the domain, so that the value there is extrapolated.
    fn is_outside_domain(&self, loss: f64, rtt_s: f64) -> bool {
        !self.domain().contains(loss, rtt_s)
    }

    /// Returns the provenance of the rate at this point.
    fn provenance(&self, loss: f64, rtt_s: f64) -> Provenance {
        ExtrapolationLimit::FIT.provenance(self.domain(), loss, rtt_s)
    }

    /// Returns the window limit in packets, if the profile has one.
    fn window_limit_pkts(&self) -> Option<f64> {
        None
    }

    /// Returns the amplitude of the window sawtooth between losses, relative to that of ns-2's
    /// Reno. For example, it is 0.5 if a window recovers quickly and shrinks by less. Rates include
    /// this already, but queues filled by windows depend on it, too.
    fn sawtooth_amplitude(&self) -> f64 {
        1.0
    }

    /// Returns the contents of a profile file; `None` for a type that files cannot describe.
    fn definition(&self) -> Option<Definition<'_>> {
        None
    }
}
