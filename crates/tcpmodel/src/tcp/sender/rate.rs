//! Delivery rate samples, as in Linux's `tcp_rate.c` (draft-cheng-iccrg-delivery-rate-estimation).

use super::retransmission_queue::Segment;

/// The delivery state recorded with each segment at its transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    delivered: u64,
    delivered_at_ns: u64,
    first_sent_ns: u64,
    /// The packets in flight after the transmission, the segment included.
    in_flight: u32,
    /// The lower 32 bits of the numbers of lost and marked segments.
    lost: u32,
    marked: u32,
    is_app_limited: bool,
}

/// The delivery state of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliveryRate {
    pub delivered: u64,
    /// The number of segments marked lost.
    pub lost: u64,
    /// The number of segments delivered with an ECN mark (CE).
    pub marked: u64,
    delivered_at_ns: u64,
    /// The send time of the first segment of the current sampling interval.
    first_sent_ns: u64,
    /// Samples are application-limited until this number of segments is delivered; 0 otherwise.
    limited_until: u64,
    /// The latest sent segment delivered by the current acknowledgement: its packet number, its stamp, and
    /// its send time.
    latest: Option<(u64, Stamp, u64)>,
}

/// The delivery rate sample of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateSample {
    /// The segments delivered and marked lost until now, and the time of the last delivery.
    pub delivered: u64,
    pub lost: u64,
    pub at_ns: u64,
    /// True if only one segment was in flight, so that its acknowledgement may have been delayed.
    pub may_be_delayed: bool,
    pub measured: Option<Measured>,
    /// The segments delivered with an ECN mark (CE) until now.
    pub marked: u64,
    /// The flight of the latest sent segment delivered.
    pub flight: Option<Flight>,
}

/// The flight of a segment, from its last transmission until now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// The packets in flight after the transmission, the segment included.
    pub in_flight: u32,
    /// The segments delivered, delivered with an ECN mark (CE), and marked lost during it.
    pub delivered: u64,
    pub marked: u32,
    pub lost: u32,
    pub is_app_limited: bool,
}

/// The segments delivered in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The number of segments delivered before the interval.
    pub prior_delivered: u64,
    pub delivered: u64,
    pub interval_ns: u64,
    pub is_app_limited: bool,
}

impl DeliveryRate {
    /// Returns the stamp of a segment sent now. `nothing_out` is true if nothing was unacknowledged before it.
    /// `in_flight` includes the segment.
    pub(super) fn stamp(&mut self, now_ns: u64, nothing_out: bool, in_flight: u32) -> Stamp {
        if nothing_out {
            (self.first_sent_ns, self.delivered_at_ns) = (now_ns, now_ns);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at_ns: self.delivered_at_ns,
            first_sent_ns: self.first_sent_ns,
            in_flight,
            lost: self.lost as u32,
            marked: self.marked as u32,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// Returns the flight of a segment with this stamp.
    pub(super) fn flight(&self, stamp: &Stamp) -> Flight {
        Flight {
            in_flight: stamp.in_flight,
            delivered: self.delivered - stamp.delivered,
            marked: (self.marked as u32).wrapping_sub(stamp.marked),
            lost: (self.lost as u32).wrapping_sub(stamp.lost),
            is_app_limited: stamp.is_app_limited,
        }
    }

    /// Marks the connection as application-limited: the window allows more than is available to send.
    pub(super) fn mark_app_limited(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Returns true if samples are application-limited.
    pub(super) fn is_app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Returns the number of segments delivered before the latest sent segment that the current acknowledgement delivers
    /// was sent.
    pub(super) fn prior_delivered(&self) -> Option<u64> {
        self.latest.map(|(_, stamp, _)| stamp.delivered)
    }

    /// Records the delivery of a segment.
    pub(super) fn on_delivered(&mut self, segment: &Segment) {
        self.delivered += 1;
        if self.latest.is_none_or(|latest| latest.0 < segment.order) {
            self.first_sent_ns = segment.sent_ns;
            self.latest = Some((segment.order, segment.stamp, segment.sent_ns));
        }
    }

    /// Discards the deliveries of the current acknowledgement, before which `delivered` segments had been delivered.
    pub(super) fn discard_deliveries(&mut self, delivered: u64) {
        self.delivered = delivered;
        self.latest = None;
    }

    /// Returns the sample of an acknowledgement after all its deliveries are recorded.
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
            // An interval shorter than a round trip results from a retransmitted segment.
            measured: measured.filter(|it| it.interval_ns >= min_rtt_ns.max(1)),
            marked: self.marked,
            flight: latest.map(|(_, stamp, _)| self.flight(&stamp)),
        }
    }
}
