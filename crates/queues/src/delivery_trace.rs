//! Packet-delivery trace of a link, as mahimahi's `mm-link` plays it (Netravali et al., USENIX ATC 2015;
//! `src/frontend/link_queue.cc`).
//!
//! The trace lists times in whole ms. At each, the link delivers up to 1504 bytes of the packets that arrived before. A
//! packet leaves with its last byte. What no packet uses is lost.

use std::sync::Arc;

/// Bytes of one delivery opportunity: a packet of 1500 bytes and mahimahi's header.
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// Bytes that mahimahi adds to each packet, the header of a TUN device.
pub const HEADER_BYTES: u32 = 4;

const NS_PER_MS: u64 = 1_000_000;

/// Longest trace in ms: 100 days.
const MAX_MS: u64 = 100 * 86_400_000;

/// Delivery opportunities of a link. The trace repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryTrace {
    /// Times in ns, ascending; the last one is the length of the trace.
    times_ns: Vec<u64>,
}

/// Error in a line of a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct TraceError {
    /// Line, from 1; `None` for the whole trace.
    pub line: Option<usize>,
    /// Reason.
    pub reason: String,
}

impl DeliveryTrace {
    /// Reads a trace: a time in whole ms on each line, ascending.
    ///
    /// # Errors
    /// A line is no whole number or less than the one before, or the trace is empty, or lasts 0 ms or over 100 days.
    pub fn read(text: &str) -> Result<DeliveryTrace, TraceError> {
        let mut times_ns: Vec<u64> = Vec::new();
        for (line, word) in (1..).zip(text.lines()) {
            let error = |reason: String| TraceError {
                line: Some(line),
                reason,
            };
            let ms: u64 = word
                .trim()
                .parse()
                .map_err(|_| error(format!("`{}` is not a time in whole ms", word.trim())))?;
            if ms > MAX_MS {
                return Err(error(format!("{ms} ms is above 100 days")));
            }
            let at_ns = ms * NS_PER_MS;
            if let Some(&last_ns) = times_ns.last()
                && at_ns < last_ns
            {
                let last_ms = last_ns / NS_PER_MS;
                return Err(error(format!(
                    "{ms} ms is before {last_ms} ms in the line before"
                )));
            }
            times_ns.push(at_ns);
        }
        let whole = |reason: &str| TraceError {
            line: None,
            reason: reason.to_owned(),
        };
        match times_ns.last() {
            None => Err(whole("the trace is empty")),
            Some(0) => Err(whole("the trace lasts 0 ms")),
            Some(_) => Ok(DeliveryTrace { times_ns }),
        }
    }

    /// Returns the length of the trace in seconds.
    pub fn duration_s(&self) -> f64 {
        self.period_ns() as f64 * 1e-9
    }

    /// Returns the mean bandwidth in bit/s, for packets of 1500 bytes without their header.
    pub fn mean_bps(&self) -> f64 {
        let bits = 8.0 * f64::from(OPPORTUNITY_BYTES - HEADER_BYTES);
        self.times_ns.len() as f64 * bits / self.duration_s()
    }

    fn period_ns(&self) -> u64 {
        self.times_ns[self.times_ns.len() - 1]
    }

    /// Returns the time of an opportunity in ns. Its number counts through the repetitions.
    fn time_ns(&self, number: u64) -> u64 {
        let n = self.times_ns.len() as u64;
        (number / n) * self.period_ns() + self.times_ns[(number % n) as usize]
    }

    /// Returns the number of the first opportunity after `now_ns`.
    fn first_after(&self, now_ns: u64) -> u64 {
        let period = now_ns / self.period_ns();
        let within_ns = now_ns % self.period_ns();
        let before = self.times_ns.partition_point(|&at_ns| at_ns <= within_ns);
        period * self.times_ns.len() as u64 + before as u64
    }
}

/// Server that transmits packets at the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct TraceServer {
    trace: Arc<DeliveryTrace>,
    /// Position in the trace at time 0, in ns.
    offset_ns: u64,
    /// Opportunity after the current one.
    next: u64,
    /// Time of the current opportunity in ns, and its bytes that no packet has used.
    now_ns: u64,
    bytes_left: u32,
}

impl TraceServer {
    /// Returns a server whose time 0 is at `offset_ns` in the trace.
    pub fn new(trace: Arc<DeliveryTrace>, offset_ns: u64) -> TraceServer {
        let offset_ns = offset_ns % trace.period_ns();
        let next = trace.first_after(offset_ns);
        TraceServer {
            trace,
            offset_ns,
            next,
            now_ns: 0,
            bytes_left: 0,
        }
    }

    /// Returns the time in ns of the first opportunity after `now_ns`.
    pub fn first_after_ns(&self, now_ns: u64) -> u64 {
        let number = self.trace.first_after(now_ns + self.offset_ns);
        self.trace.time_ns(number) - self.offset_ns
    }

    /// Returns the time in ns at which the next packet may begin: now, if bytes of the current opportunity are left.
    pub fn next_ns(&self) -> u64 {
        if self.bytes_left > 0 {
            self.now_ns
        } else {
            self.trace.time_ns(self.next) - self.offset_ns
        }
    }

    /// Waits for the first opportunity after `now_ns`, because no packet waits: opportunities until then pass unused.
    /// Returns its time in ns.
    pub fn idle_until(&mut self, now_ns: u64) -> u64 {
        self.bytes_left = 0;
        let number = self.trace.first_after(now_ns + self.offset_ns);
        self.next = self.next.max(number);
        self.next_ns()
    }

    /// Transmits a packet of `bytes` bytes from `from_ns` on, which is not before [`next_ns`](TraceServer::next_ns).
    /// Returns the time in ns of its last opportunity.
    pub fn serve(&mut self, from_ns: u64, bytes: u32) -> u64 {
        if self.now_ns < from_ns {
            self.bytes_left = 0;
            let number = self
                .trace
                .first_after((from_ns + self.offset_ns).saturating_sub(1));
            self.next = self.next.max(number);
        }
        let mut bytes = bytes + HEADER_BYTES;
        loop {
            if self.bytes_left == 0 {
                self.now_ns = self.trace.time_ns(self.next) - self.offset_ns;
                self.next += 1;
                self.bytes_left = OPPORTUNITY_BYTES;
            }
            let used = bytes.min(self.bytes_left);
            bytes -= used;
            self.bytes_left -= used;
            if bytes == 0 {
                return self.now_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn trace(text: &str) -> Arc<DeliveryTrace> {
        Arc::new(DeliveryTrace::read(text).unwrap())
    }

    /// Plain transcription of mm-link's rule: at each opportunity, packets that have arrived before take up to 1504
    /// bytes. Returns the departures in ms of packets given by arrival in ms and bytes.
    fn mm_link(times_ms: &[u64], packets: &[(u64, u32)]) -> Vec<u64> {
        let (mut queue, mut departures) = (VecDeque::new(), Vec::new());
        let mut arriving = packets.iter().copied().peekable();
        let period_ms = times_ms[times_ms.len() - 1];
        for repetition in 0.. {
            for &at_ms in times_ms {
                let now_ms = repetition * period_ms + at_ms;
                while let Some(&(came_ms, bytes)) = arriving.peek()
                    && came_ms < now_ms
                {
                    queue.push_back(bytes + 4);
                    arriving.next();
                }
                let mut left = 1504;
                while left > 0
                    && let Some(first) = queue.front_mut()
                {
                    let used = left.min(*first);
                    left -= used;
                    *first -= used;
                    if *first == 0 {
                        queue.pop_front();
                        departures.push(now_ms);
                    }
                }
            }
            if departures.len() == packets.len() {
                break;
            }
        }
        departures
    }

    /// Returns the departures in ms from a FIFO queue with a server.
    fn served(trace: &Arc<DeliveryTrace>, packets: &[(u64, u32)]) -> Vec<u64> {
        let mut server = TraceServer::new(trace.clone(), 0);
        let mut free_ns = 0;
        let each = packets.iter().map(|&(came_ms, bytes)| {
            let came_ns = came_ms * NS_PER_MS;
            let from_ns = if free_ns <= came_ns {
                server.idle_until(came_ns)
            } else {
                server.next_ns()
            };
            free_ns = server.serve(from_ns, bytes);
            free_ns / NS_PER_MS
        });
        each.collect()
    }

    #[test]
    fn packets_leave_at_the_milliseconds_of_mm_link() {
        let trace = trace("1\n1\n5\n6\n10\n");
        // Two full packets, the second at the second opportunity of the same ms; two halves in one; one in two.
        let packets = [(0, 1500), (0, 1500), (1, 748), (2, 748), (5, 2000), (6, 40)];
        let wanted = mm_link(&[1, 1, 5, 6, 10], &packets);
        assert_eq!(wanted, [1, 1, 5, 5, 10, 10]);
        assert_eq!(served(&trace, &packets), wanted);
    }

    proptest! {
        #[test]
        fn random_packets_leave_as_with_mm_link(
            mut times_ms in prop::collection::vec(0_u64..40, 1..20),
            gaps in prop::collection::vec((0_u64..12, 40_u32..4000), 1..60),
        ) {
            times_ms.sort_unstable();
            times_ms.push(41);
            let lines: Vec<String> = times_ms.iter().map(u64::to_string).collect();
            let mut now_ms = 0;
            let packets: Vec<(u64, u32)> = gaps
                .iter()
                .map(|&(gap_ms, bytes)| {
                    now_ms += gap_ms;
                    (now_ms, bytes)
                })
                .collect();
            let trace = trace(&lines.join("\n"));
            prop_assert_eq!(served(&trace, &packets), mm_link(&times_ms, &packets));
        }
    }

    #[test]
    fn offset_starts_within_the_trace() {
        let trace = trace("2\n7\n10\n");
        let server = TraceServer::new(trace.clone(), 5 * NS_PER_MS);
        let times: Vec<u64> = [0, 2, 5, 7]
            .map(|ms| server.first_after_ns(ms * NS_PER_MS) / NS_PER_MS)
            .into();
        assert_eq!(times, [2, 5, 7, 12]);
        assert!((trace.mean_bps() - 3.6e6).abs() < 1e-3);
    }

    #[test]
    fn bad_traces_have_reasons() {
        for (text, line, reason) in [
            ("", None, "the trace is empty"),
            ("0\n0\n", None, "the trace lasts 0 ms"),
            ("1\n\n2\n", Some(2), "`` is not a time in whole ms"),
            ("1\n2.5\n", Some(2), "`2.5` is not a time in whole ms"),
            ("3\n2\n", Some(2), "2 ms is before 3 ms in the line before"),
            ("99999999999\n", Some(1), "99999999999 ms is above 100 days"),
        ] {
            let error = DeliveryTrace::read(text).unwrap_err();
            assert_eq!((error.line, error.reason.as_str()), (line, reason));
        }
    }
}
