//! What an acknowledgement says about each segment.

use super::super::super::path::Packet;
use super::{AGAIN, EVER, LOST, News, SACKED, Selective};

impl Selective {
    /// Takes in what the acknowledgement says about each segment.
    pub(super) fn mark(&mut self, now_s: f64, packet: &Packet, arrived: &[u32]) -> News {
        let mut news = News::default();
        let mut measured = None;
        let mut sent_again = false;
        let before = self.acknowledged;
        for segment in self.acknowledged..packet.ack {
            let i = segment as usize;
            let (Some(&mark), Some(&sent_s)) = (self.marks.get(i), self.sent_s.get(i)) else {
                continue;
            };
            news.advanced = true;
            if mark & SACKED == 0 {
                news.delivered += 1;
                sent_again |= mark & EVER != 0;
                if mark & EVER == 0 {
                    news.original |= segment < self.high;
                    measured.get_or_insert(sent_s);
                }
                self.take_latest(now_s, segment, sent_s, mark);
            } else {
                self.sacked -= 1;
            }
            self.lost -= u32::from(mark & LOST != 0);
            self.again -= u32::from(mark & AGAIN != 0);
        }
        if news.advanced {
            self.acknowledged = packet.ack;
            let first = self.acknowledged > self.round_end;
            if first {
                self.round_end = self.next;
            }
            if !self.selective {
                self.uncount(packet.ack - before, &mut news);
                if sent_again {
                    // It may be that one, or what was sent first, that has arrived.
                    news.original = false;
                    measured = None;
                }
            }
            if self.rto.has_timestamps() {
                measured.get_or_insert(packet.echo_s);
            }
            if let Some(sent_s) = measured {
                self.rto.measure(now_s, sent_s, first);
            }
            self.rto.forget_back_off(measured.is_some());
            news.set_timer = true;
        }
        if !self.selective || packet.arrivals == packet.ack {
            // Nothing beyond is told of.
            return news;
        }
        let mut sacked_sent_s = None;
        for segment in self.acknowledged..self.next {
            let i = segment as usize;
            let (Some(mark), Some(&place)) = (self.marks.get_mut(i), arrived.get(i)) else {
                continue;
            };
            if *mark & SACKED != 0 || place == 0 || place > packet.arrivals {
                continue;
            }
            let before = *mark;
            self.lost -= u32::from(before & LOST != 0);
            self.again -= u32::from(before & AGAIN != 0);
            *mark = (before | SACKED) & !(LOST | AGAIN);
            self.sacked += 1;
            news.delivered += 1;
            news.sacked = true;
            if before & EVER == 0 {
                news.original |= segment < self.high;
            }
            let sent_s = self.sent_s.get(i).copied().unwrap_or(now_s);
            if before & EVER == 0 {
                sacked_sent_s.get_or_insert(sent_s);
            }
            self.take_latest(now_s, segment, sent_s, before);
        }
        if let Some(sent_s) = sacked_sent_s
            && !news.advanced
        {
            self.rto.measure(now_s, sent_s, false);
            self.rto.forget_back_off(true);
            // The timer starts anew only if the oldest segment was sent again since.
            let oldest = self.sent_s.get(self.acknowledged as usize);
            news.set_timer = oldest.is_some_and(|&oldest_s| sent_s < oldest_s);
        }
        news
    }

    /// A segment was delivered: is it the latest sent?
    fn take_latest(&mut self, now_s: f64, segment: u32, sent_s: f64, mark: u8) {
        let rtt_s = now_s - sent_s;
        if mark & EVER != 0 && rtt_s < self.min_rtt_s - 1e-9 {
            // It is the one sent before that arrived.
            return;
        }
        if mark & EVER == 0 {
            self.min_rtt_s = self.min_rtt_s.min(rtt_s);
        }
        self.latest_is_new = true;
        self.latest_rtt_s = rtt_s;
        self.latest = self.latest.max(self.order.get(segment as usize).copied());
    }
}
