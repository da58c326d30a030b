//! How fast segments are delivered: samples of the rate, as Linux's `tcp_rate.c` takes them
//! (draft-cheng-iccrg-delivery-rate-estimation).

use super::segments::Segment;

/// What was known when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    delivered: u64,
    delivered_at_ns: u64,
    first_sent_ns: u64,
    is_app_limited: bool,
}

/// What has been delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    pub delivered: u64,
    /// Segments taken for lost.
    pub lost: u64,
    delivered_at_ns: u64,
    /// When the first segment was sent of the interval that is measured now.
    first_sent_ns: u64,
    /// Until so many are delivered, too little was there to be sent.
    limited_until: u64,
    /// What the acknowledgement of now says: the stamp of the segment sent last of those delivered, its
    /// place in the order of all packets, and when it was sent.
    latest: Option<(u64, Stamp, u64)>,
}

/// What an acknowledgement says about the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateSample {
    /// All segments delivered, taken for lost until now; when the last was delivered.
    pub delivered: u64,
    pub lost: u64,
    pub at_ns: u64,
    /// Only one segment was under way: it may have waited for a delayed acknowledgement.
    pub may_be_delayed: bool,
    pub measured: Option<Measured>,
}

/// Segments in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// What had been delivered before.
    pub prior_delivered: u64,
    pub delivered: u64,
    pub interval_ns: u64,
    pub is_app_limited: bool,
}

impl Rate {
    /// A segment is sent, with nothing under way or not.
    pub(super) fn stamp(&mut self, now_ns: u64, nothing_out: bool) -> Stamp {
        if nothing_out {
            (self.first_sent_ns, self.delivered_at_ns) = (now_ns, now_ns);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at_ns: self.delivered_at_ns,
            first_sent_ns: self.first_sent_ns,
            is_app_limited: self.limited_until > 0,
        }
    }

    /// There is nothing more to send, and room for it.
    pub(super) fn limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// One is delivered.
    pub(super) fn deliver(&mut self, segment: &Segment) {
        self.delivered += 1;
        if self.latest.is_none_or(|latest| latest.0 < segment.order) {
            self.first_sent_ns = segment.sent_ns;
            self.latest = Some((segment.order, segment.stamp, segment.sent_ns));
        }
    }

    /// All that an acknowledgement tells of has been delivered.
    pub(super) fn sample(&mut self, now_ns: u64, min_rtt_ns: u64) -> RateSample {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let latest = self.latest.take();
        if latest.is_some() {
            self.delivered_at_ns = now_ns;
        }
        let measured = latest.map(|(_, stamp, sent_ns)| Measured {
            prior_delivered: stamp.delivered,
            delivered: self.delivered - stamp.delivered,
            interval_ns: (sent_ns - stamp.first_sent_ns).max(now_ns - stamp.delivered_at_ns),
            is_app_limited: stamp.is_app_limited,
        });
        RateSample {
            delivered: self.delivered,
            lost: self.lost,
            at_ns: self.delivered_at_ns,
            may_be_delayed: false,
            // Shorter than a round trip, it is that of a segment sent twice.
            measured: measured.filter(|it| it.interval_ns >= min_rtt_ns.max(1)),
        }
    }
}
