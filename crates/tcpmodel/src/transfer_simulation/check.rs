//! Range checks of the input.

use netflow_workload::Session;

use super::{Direction, Exchange, Options, Path, Transfer};
use netflow_units::Size;

use crate::{Error, MAX_PACKETS, error::ensure};

/// The maximum loss probability. At this value, a packet and its acknowledgement need a hundred tries on
/// average.
const MAX_LOSS: f64 = 0.9;
/// The maximum number of trials, because memory is kept for each.
const MAX_TRIALS: u64 = 10_000_000;

impl Transfer {
    pub(super) fn check(&self) -> Result<(), Error> {
        let mss_bytes = f64::from(self.mss_bytes);
        ensure(self.mss_bytes >= 1, "mss in B", mss_bytes, "1 or more")?;
        self.check_size("size in B", "size in segments", self.bytes)?;
        if let Exchange::Fetch { request_bytes } = self.exchange {
            self.check_size("request in B", "request in segments", request_bytes)?;
        }
        let delay = (0.0..=1e6).contains(&self.delay_s);
        ensure(delay, "delay in s", self.delay_s, "0 to 1e6")?;
        for (what, loss) in [
            ("loss with the data", self.loss_forward),
            ("loss against the data", self.loss_back),
        ] {
            let allowed = "a probability from 0 to 0.9";
            ensure((0.0..=MAX_LOSS).contains(&loss), what, loss, allowed)?;
        }
        let bps = self.bandwidth_bps.unwrap_or(1.0);
        let bandwidth = (1e-3..=1e18).contains(&bps);
        ensure(bandwidth, "bandwidth in bit/s", bps, "1e-3 to 1e18")
    }

    fn check_size(
        &self,
        what: &'static str,
        what_segments: &'static str,
        bytes: u64,
    ) -> Result<(), Error> {
        ensure(bytes >= 1, what, bytes as f64, "1 or more")?;
        let segments = bytes.div_ceil(u64::from(self.mss_bytes));
        let allowed = "10 million or less";
        ensure(
            segments <= MAX_PACKETS,
            what_segments,
            segments as f64,
            allowed,
        )
    }
}

/// Checks the sizes of all requests and replies of a session.
pub(super) fn check_session(session: &Session, mss_bytes: u32) -> Result<(), Error> {
    let exchanges = || session.turns.iter().flat_map(|turn| &turn.exchanges);
    let requests: u64 = exchanges().map(|it| u64::from(it.request_bytes)).sum();
    let replies: u64 = exchanges().map(|it| u64::from(it.reply_bytes)).sum();
    let allowed = "10 million or less";
    for (what, bytes) in [
        ("requests of a session in segments", requests),
        ("replies of a session in segments", replies),
    ] {
        let segments = bytes.div_ceil(u64::from(mss_bytes.max(1)));
        ensure(segments <= MAX_PACKETS, what, segments as f64, allowed)?;
    }
    Ok(())
}

impl Path {
    /// Checks every number; `full_bytes` is the size of the largest packets.
    pub(super) fn check(&self, full_bytes: f64) -> Result<(), Error> {
        for Direction {
            delay_s,
            loss,
            bit_error_rate,
            bandwidth_bps,
            buffer,
        } in [self.to_server, self.to_client]
        {
            let delay = (0.0..=1e6).contains(&delay_s);
            ensure(delay, "delay in s", delay_s, "0 to 1e6")?;
            let allowed = "a probability from 0 to 0.9";
            ensure((0.0..=MAX_LOSS).contains(&loss), "loss", loss, allowed)?;
            let full_loss = -libm::log1p(-loss) - 8.0 * full_bytes * libm::log1p(-bit_error_rate);
            let allowed = "0 up to a loss of 90 % of full packets";
            let rate = bit_error_rate >= 0.0 && -libm::expm1(-full_loss) <= MAX_LOSS + 1e-9;
            ensure(rate, "bit error rate", bit_error_rate, allowed)?;
            let bps = bandwidth_bps.unwrap_or(1.0);
            let bandwidth = (1e-3..=1e18).contains(&bps);
            ensure(bandwidth, "bandwidth in bit/s", bps, "1e-3 to 1e18")?;
            let (what, size) = match buffer {
                Some(Size::Packets(pkts)) => ("buffer in pkt", pkts.get()),
                Some(Size::Bytes(bytes)) => ("buffer in B", bytes.get()),
                None => continue,
            };
            ensure(size > 0.0, what, size, "above 0")?;
        }
        Ok(())
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<(), Error> {
        let trials = (2..=MAX_TRIALS).contains(&self.trials);
        ensure(trials, "trials", self.trials as f64, "2 to 10 million")
    }
}
