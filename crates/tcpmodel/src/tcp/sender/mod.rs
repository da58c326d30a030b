//! The sending half of an end.

mod classic;
mod pause;
mod rate;
mod segments;
mod selective;

use super::congestion::NO_SSTHRESH;
use super::{Ack, Clock};
use crate::Stack;
use classic::Classic;
pub(crate) use rate::RateSample;
use selective::Selective;

/// The sending half of an end of a connection: what it sends when acknowledgements arrive, timers fire or
/// there is more to send. Segments to send are appended to `out`, which nobody empties here.
#[derive(Clone, Debug)]
pub struct Sender(Kind);

/// By what it is told about losses.
#[derive(Clone, Debug)]
enum Kind {
    Classic(Box<Classic>),
    Selective(Box<Selective>),
}

/// What a sender can tell of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    /// The congestion window in packets.
    pub cwnd_pkts: f64,
    /// The slow start threshold in packets; infinite before a loss.
    pub ssthresh_pkts: f64,
    /// The receive window in packets that the other end has told of, if it told of any.
    pub receive_window_pkts: Option<u32>,
    /// Packets thought to be on their way.
    pub in_flight: u32,
    /// Packets per second at which it lets packets go; `None` for one that does not pace.
    pub pacing_pps: Option<f64>,
    /// The smoothed round-trip time in seconds; 0 before any.
    pub srtt_s: f64,
    /// The retransmission timeout in seconds, back-off included.
    pub rto_s: f64,
    /// Whether losses are being repaired.
    pub in_recovery: bool,
}

impl Sender {
    /// One by the rules of a stack, as the other end has them, too, with segments of so many bytes, no more than `most_out` of
    /// which are under way. `phases`, from 0 to 1, say where its two clocks stand at time 0: that of timers and that of
    /// round-trip times.
    pub fn new(stack: &Stack, segment_bytes: u32, most_out: u32, phases: [f64; 2]) -> Self {
        let [phase, ticks] = phases;
        let clock = Clock::new(stack, phase);
        let most_out = most_out.min(stack.most_out(segment_bytes));
        Self(match stack.has_congestion_controls() {
            true => Kind::Selective(Box::new(Selective::new(
                stack,
                segment_bytes,
                most_out,
                clock,
                ticks,
            ))),
            false => Kind::Classic(Box::new(Classic::new(stack, most_out, clock, ticks))),
        })
    }

    /// A program has written something, perhaps after a pause.
    pub fn wake(&mut self, now_ns: u64) {
        match &mut self.0 {
            Kind::Classic(sender) => sender.wake(now_ns),
            Kind::Selective(sender) => sender.wake(now_ns),
        }
    }

    /// There are so many segments to send, from the first on.
    pub fn offer(&mut self, segments: u32) {
        match &mut self.0 {
            Kind::Classic(sender) => sender.offer(segments),
            Kind::Selective(sender) => sender.offered = segments,
        }
    }

    /// How many there are.
    pub fn offered(&self) -> u32 {
        match &self.0 {
            Kind::Classic(sender) => sender.offered(),
            Kind::Selective(sender) => sender.offered,
        }
    }

    /// The connection is open: it may send `cwnd` packets, in slow start until `ssthresh`, if there is
    /// such a threshold.
    pub fn open(&mut self, now_ns: u64, cwnd: u32, ssthresh: Option<u32>) {
        match &mut self.0 {
            Kind::Classic(sender) => {
                sender.open(f64::from(cwnd), ssthresh.map_or(f64::INFINITY, f64::from));
            }
            Kind::Selective(sender) => {
                sender.open(now_ns, cwnd, ssthresh.unwrap_or(NO_SSTHRESH));
            }
        }
    }

    /// What was sent at `sent_ns`, and was not data, is answered.
    pub fn measure(&mut self, now_ns: u64, sent_ns: u64) {
        self.rtt_mut().measure(now_ns, sent_ns, false);
    }

    /// The timeout is at least so long, in seconds, until a round-trip time is known.
    pub fn begin_above(&mut self, least_s: f64) {
        self.rtt_mut().begin_above(least_s);
    }

    /// Does a packet that was sent again measure the round-trip time?
    pub fn has_timestamps(&self) -> bool {
        self.rtt().has_timestamps()
    }

    /// The retransmission timeout.
    pub fn rto_ns(&self) -> u64 {
        self.rtt().timeout_ns()
    }

    fn rtt(&self) -> &super::RttEstimator {
        match &self.0 {
            Kind::Classic(sender) => &sender.rtt,
            Kind::Selective(sender) => &sender.rtt,
        }
    }

    fn rtt_mut(&mut self) -> &mut super::RttEstimator {
        match &mut self.0 {
            Kind::Classic(sender) => &mut sender.rtt,
            Kind::Selective(sender) => &mut sender.rtt,
        }
    }

    /// Sends what it may.
    pub fn send(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        match &mut self.0 {
            Kind::Classic(sender) => sender.send(now_ns, out),
            Kind::Selective(sender) => sender.send(now_ns, out),
        }
    }

    /// An acknowledgement arrives, alone or with data.
    pub fn receive(&mut self, now_ns: u64, ack: &Ack, out: &mut Vec<u32>) {
        match &mut self.0 {
            Kind::Classic(sender) => {
                let echo_ns = ack.echo_ns.unwrap_or(now_ns);
                sender.receive(now_ns, ack.cumulative, ack.pure, echo_ns, out);
            }
            Kind::Selective(sender) => sender.receive(now_ns, ack, out),
        }
    }

    /// When it has something to do by itself: a timer fires, or a pause of pacing is over.
    pub fn timer_ns(&self) -> u64 {
        match &self.0 {
            Kind::Classic(sender) => sender.timer_ns,
            Kind::Selective(sender) => sender.timer_ns(),
        }
    }

    /// That time has come. Was it for want of acknowledgements?
    pub fn time_out(&mut self, now_ns: u64, out: &mut Vec<u32>) -> bool {
        match &mut self.0 {
            Kind::Classic(sender) => {
                sender.timeout(now_ns, out);
                true
            }
            Kind::Selective(sender) => sender.time_out(now_ns, out),
        }
    }

    /// All segments before this one are acknowledged.
    pub fn acknowledged(&self) -> u32 {
        match &self.0 {
            Kind::Classic(sender) => sender.acknowledged,
            Kind::Selective(sender) => sender.acknowledged(),
        }
    }

    /// All segments before this one have been sent.
    pub fn sent(&self) -> u32 {
        match &self.0 {
            Kind::Classic(sender) => sender.sent(),
            Kind::Selective(sender) => sender.next(),
        }
    }

    /// The congestion window in packets.
    #[inline]
    pub fn cwnd_pkts(&self) -> f64 {
        match &self.0 {
            Kind::Classic(sender) => sender.cwnd(),
            Kind::Selective(sender) => f64::from(sender.window.cwnd),
        }
    }

    /// The smoothed round-trip time in seconds; 0 before any.
    pub fn srtt_s(&self) -> f64 {
        1e-9 * self.rtt().srtt_ns() as f64
    }

    /// The sum of all round-trip times measured in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, u64) {
        let (sum_ns, count) = self.rtt().sum();
        (1e-9 * sum_ns as f64, count)
    }

    /// The most segments that the other end lets be under way.
    pub fn most_out(&self) -> u32 {
        match &self.0 {
            Kind::Classic(sender) => sender.most_out(),
            Kind::Selective(sender) => sender.most_out,
        }
    }

    /// The segments that the other end lets be under way now: by what it has told of its receive window, too.
    pub fn room(&self) -> u32 {
        match &self.0 {
            Kind::Classic(sender) => sender.most_out(),
            Kind::Selective(sender) => sender.room(),
        }
    }

    /// Whether as many segments are under way as the other end has room for.
    pub fn is_out_of_room(&self) -> bool {
        match &self.0 {
            Kind::Classic(_) => false,
            Kind::Selective(sender) => sender.is_out_of_room(),
        }
    }

    /// Whether all of its send buffer is in flight, while its program waits for space there.
    pub fn is_buffer_empty(&self) -> bool {
        match &self.0 {
            Kind::Classic(_) => false,
            Kind::Selective(sender) => sender.is_buffer_empty(),
        }
    }

    /// Retransmission timeouts, and losses found otherwise.
    pub fn losses_found(&self) -> (u64, u64) {
        match &self.0 {
            Kind::Classic(sender) => sender.losses_found(),
            Kind::Selective(sender) => (sender.timeouts, sender.fast_retransmits),
        }
    }

    /// What it can tell of itself.
    pub fn state(&self) -> TcpState {
        let rtt = self.rtt();
        let (srtt_s, rto_s) = (self.srtt_s(), 1e-9 * rtt.timeout_ns() as f64);
        match &self.0 {
            Kind::Classic(sender) => TcpState {
                srtt_s,
                rto_s,
                ..sender.state()
            },
            Kind::Selective(sender) => TcpState {
                cwnd_pkts: f64::from(sender.window.cwnd),
                ssthresh_pkts: match sender.window.ssthresh {
                    NO_SSTHRESH => f64::INFINITY,
                    ssthresh => f64::from(ssthresh),
                },
                receive_window_pkts: sender.receive_window(),
                in_flight: sender.in_flight(),
                pacing_pps: sender.pacing_pps(),
                srtt_s,
                rto_s,
                in_recovery: sender.is_repairing(),
            },
        }
    }
}
