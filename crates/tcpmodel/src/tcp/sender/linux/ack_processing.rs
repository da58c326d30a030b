//! Processing of the cumulative and selective acknowledgement of each segment.

use super::super::super::Ack;
use super::super::retransmission_queue::{EVER_RETRANSMITTED, SACKED, Segment};
use super::{AckInfo, LinuxSender};

impl LinuxSender {
    /// Returns the information in an acknowledgement before its segments are marked.
    pub(super) fn ack_info(&self, ack: &Ack) -> AckInfo {
        AckInfo {
            prior_acknowledged: self.acknowledged(),
            echo_ns: ack.echo_ns,
            echo_odd_episode: ack.echo_odd_episode,
            ..AckInfo::default()
        }
    }

    /// Marks each segment that the acknowledgement reports.
    pub(super) fn mark_reported(&mut self, now_ns: u64, ack: &Ack) -> AckInfo {
        let mut info = self.ack_info(ack);
        self.mark_duplicate(ack, &mut info);
        let mut measured = None;
        let mut sent_again = false;
        let before = self.acknowledged();
        let out_before = self.segments.packets_out();
        let mut last_ns = None;
        let highest_before = self.highest_arrived();
        // The first segment sent only once that was not reported before.
        let mut first_original = None;
        while self.segments.first() < ack.cumulative {
            let segment = self.segments.first();
            let Some(it) = self.segments.acknowledge() else {
                break;
            };
            info.advanced = true;
            if it.marks & SACKED == 0 {
                info.delivered += 1;
                sent_again |= it.marks & EVER_RETRANSMITTED != 0;
                if it.marks & EVER_RETRANSMITTED == 0 {
                    info.original |= segment < self.recovery_point;
                    measured.get_or_insert(it.sent_ns);
                    first_original.get_or_insert(segment);
                    last_ns = Some(it.sent_ns);
                }
                self.record_delivery(now_ns, &it);
            }
        }
        if info.advanced {
            self.scoreboard.remove_before(ack.cumulative);
            self.segments.pop_obsolete();
            if let Some(segment) = first_original.filter(|it| *it < highest_before) {
                self.reordering.record(segment, self.highest_arrived());
            }
            let first = self.acknowledged() > self.round_end;
            if first {
                self.round_end = self.segments.next();
            }
            if !self.rules.sack {
                self.ack_counted(ack.cumulative - before, &mut info);
                if sent_again {
                    // Either the first transmission or the retransmission has arrived.
                    info.original = false;
                    measured = None;
                }
            }
            if sent_again {
                last_ns = None;
            }
            if self.rtt.has_timestamps() {
                let echo_ns = ack.echo_ns.or(self.probable_echo_ns.take());
                measured = measured.or(echo_ns);
            }
            if let Some(sent_ns) = measured {
                self.rtt.measure(now_ns, sent_ns, first);
            }
            self.rtt.reset_backoff(measured.is_some());
            info.set_timer = true;
        }
        info.may_be_delayed = out_before == 1 && info.advanced;
        if self.rules.sack {
            let first_ns = self.mark_sack_blocks(now_ns, ack, &mut info, &mut last_ns);
            if let Some(sent_ns) = first_ns
                && !info.advanced
            {
                self.rtt.measure(now_ns, sent_ns, false);
                self.rtt.reset_backoff(true);
                // The timer restarts only if the oldest segment was retransmitted since.
                let oldest = self.segments.get(self.acknowledged());
                info.set_timer = oldest.is_some_and(|oldest| sent_ns < oldest.sent_ns);
            }
        }
        info.rtt_ns = last_ns.map(|sent_ns| now_ns - sent_ns);
        info
    }

    /// Marks the segments of SACK blocks. Returns the send time of the first one that was sent only once, and
    /// updates `last_ns` with that of the last one.
    pub(super) fn mark_sack_blocks(
        &mut self,
        now_ns: u64,
        ack: &Ack,
        info: &mut AckInfo,
        last_ns: &mut Option<u64>,
    ) -> Option<u64> {
        let mut new = std::mem::take(&mut self.newly_sacked);
        let highest_before = self.highest_arrived();
        for &(first, end) in ack.sacks.blocks() {
            let first = first.max(self.segments.first());
            let end = end.min(self.segments.next());
            self.scoreboard.add(first, end, |run| new.push(run));
        }
        new.sort_unstable();
        let (mut first_ns, mut first_late) = (None, None);
        for segment in new.drain(..).flat_map(|(first, end)| first..end) {
            let Some(it) = self.segments.sack(segment) else {
                continue;
            };
            info.delivered += 1;
            info.sacked = true;
            if it.marks & EVER_RETRANSMITTED == 0 {
                info.original |= segment < self.recovery_point;
                first_ns.get_or_insert(it.sent_ns);
                if segment < highest_before {
                    first_late.get_or_insert(segment);
                }
                *last_ns = Some(it.sent_ns);
            }
            self.record_delivery(now_ns, &it);
        }
        self.newly_sacked = new;
        if let Some(segment) = first_late {
            self.reordering.record(segment, self.highest_arrived());
        }
        first_ns
    }

    /// Records a delivered segment, and updates the latest sent among those delivered.
    fn record_delivery(&mut self, now_ns: u64, segment: &Segment) {
        self.rate.on_delivered(segment);
        let rtt_ns = now_ns - segment.sent_ns;
        if segment.marks & EVER_RETRANSMITTED != 0 && rtt_ns < self.min_rtt_ns {
            // The earlier transmission has arrived.
            return;
        }
        self.probable_echo_ns.get_or_insert(segment.sent_ns);
        if segment.marks & EVER_RETRANSMITTED == 0 {
            self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
        }
        self.latest_is_new = true;
        self.latest_rtt_ns = rtt_ns;
        self.latest_order = self.latest_order.max(Some(segment.order));
    }
}
