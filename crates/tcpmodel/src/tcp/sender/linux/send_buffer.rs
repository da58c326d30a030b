//! The send buffer of a socket (Linux's `tcp_wmem`), which limits the data that a program can write before
//! it waits.
//!
//! The kernel charges a socket for whole socket buffers (`truesize`). It wakes a waiting program once a
//! third of the send buffer is free (`sk_stream_is_writeable`).

use super::super::super::congestion::Algorithm;
use super::LinuxSender;
use crate::Stack;

/// The bytes of a socket buffer without data: `struct sk_buff`, space for headers, `struct
/// skb_shared_info`. Measured on Linux 6.18.
const SKB_OVERHEAD_BYTES: f64 = 864.0;
/// The maximum data in a socket buffer, in bytes (`GSO_LEGACY_MAX_SIZE`).
pub(super) const GSO_MAX_BYTES: u32 = 65_536;
/// The time span of a socket buffer at the pacing rate, in seconds; at least two segments
/// (`tcp_tso_autosize`).
const GSO_TIME_S: f64 = 1.0 / 1024.0;
const MIN_GSO_SEGMENTS: f64 = 2.0;
/// The pacing rate relative to window per round-trip time, in slow start and after it
/// (`tcp_update_pacing_rate`).
const SLOW_START_PACING_RATIO: f64 = 2.0;
const PACING_RATIO: f64 = 1.2;

/// The send buffer, and the amount that the program has written.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// The maximum size of the send buffer in bytes; infinite without a limit.
    bytes: f64,
    /// The data in a segment, in bytes.
    data_bytes: f64,
    /// The number of segments in the largest socket buffer.
    max_gso_segments: u32,
    /// The number of segments that the program has written.
    written: u32,
    /// True if the program waits for space.
    is_waiting: bool,
}

impl SendBuffer {
    pub(super) fn new(stack: &Stack, segment_bytes: u32) -> Self {
        let data_bytes = stack.data_bytes(segment_bytes);
        Self {
            bytes: stack.send_buffer_bytes.map_or(f64::INFINITY, f64::from),
            data_bytes: f64::from(data_bytes),
            max_gso_segments: (GSO_MAX_BYTES / data_bytes).max(1),
            written: 0,
            is_waiting: false,
        }
    }

    /// Returns the data in a segment, in bytes.
    pub(super) fn data_bytes(&self) -> f64 {
        self.data_bytes
    }

    /// Returns the number of segments in the largest socket buffer.
    pub(super) fn max_gso_segments(&self) -> u32 {
        self.max_gso_segments
    }

    /// Returns the bytes charged for a segment in a socket buffer of `gso_segments` segments.
    fn charged_bytes(&self, gso_segments: f64) -> f64 {
        self.data_bytes + SKB_OVERHEAD_BYTES / gso_segments
    }
}

impl LinuxSender {
    /// Returns the number of segments written by the program.
    pub(super) fn written(&self) -> u32 {
        self.send_buffer.written
    }

    /// Returns true if the whole send buffer is in flight while the program waits for space.
    pub(in super::super) fn is_buffer_empty(&self) -> bool {
        self.send_buffer.is_waiting && self.segments.next() >= self.send_buffer.written
    }

    /// Writes the available segments, as far as the send buffer has space.
    pub(super) fn write(&mut self) {
        let buffer = &mut self.send_buffer;
        // A program that stops withdraws unsent segments.
        buffer.written = buffer.written.min(self.offered);
        buffer.is_waiting &= buffer.written < self.offered;
        if buffer.bytes == f64::INFINITY {
            buffer.written = self.offered;
        }
        if buffer.written == self.offered {
            return;
        }
        let buffer = &self.send_buffer;
        let most = f64::from(buffer.max_gso_segments);
        let unsent = buffer.written.saturating_sub(self.segments.next());
        // Socket buffers received out of order are merged again (`tcp_shift_skb_data`).
        let sacked = self.segments.sacked.min(self.segments.packets_out());
        let split = self.segments.packets_out() - sacked;
        let queued = f64::from(split) * buffer.charged_bytes(self.gso_segments())
            + f64::from(unsent + sacked) * buffer.charged_bytes(most);
        if buffer.is_waiting && 1.5 * queued > buffer.bytes {
            return;
        }
        let whole = buffer.charged_bytes(most) * most;
        let free = ((buffer.bytes - queued) / whole).ceil().max(0.0) as u32;
        let until = buffer
            .written
            .saturating_add(free.saturating_mul(buffer.max_gso_segments));
        self.send_buffer.written = until.min(self.offered);
        self.send_buffer.is_waiting = self.send_buffer.written < self.offered;
    }

    /// Returns the number of segments per socket buffer.
    pub(super) fn gso_segments(&self) -> f64 {
        let most = f64::from(self.send_buffer.max_gso_segments);
        if let Some((_, gso_segments)) = self.congestion.pacing() {
            return f64::from(gso_segments).min(most);
        }
        let srtt_s = 1e-9 * self.rtt.srtt_ns() as f64;
        if srtt_s <= 0.0 {
            return MIN_GSO_SEGMENTS.min(most);
        }
        let ratio = if self.window.cwnd < self.window.ssthresh / 2 {
            SLOW_START_PACING_RATIO
        } else {
            PACING_RATIO
        };
        let window = f64::from(self.window.cwnd.max(self.segments.packets_out()));
        (ratio * window / srtt_s * GSO_TIME_S)
            .floor()
            .max(MIN_GSO_SEGMENTS)
            .min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Sender;
    use super::*;
    use crate::tcp::Ack;

    /// Returns a sender with a window of 10 000 packets and this send buffer, and the segments that it
    /// sends at once.
    fn sent(send_buffer_bytes: Option<u32>) -> (Sender, Vec<u32>) {
        let stack = Stack {
            send_buffer_bytes,
            ..Stack::builtin("linux-6").unwrap()
        };
        let mut sender = Sender::new(&stack, 1460, 100_000, [0.0, 0.0]);
        sender.measure(500_000_000, 0);
        sender.open(500_000_000, 10_000, None);
        sender.offer(1_000_000);
        let mut out = Vec::new();
        let window = Ack {
            window: Some(50_000),
            ..Ack::default()
        };
        sender.receive(500_000_000, &window, &mut out);
        (sender, out)
    }

    /// 4 MiB hold 2800 packets of 1448 B, each with its share of a socket buffer; 1 GiB holds the window.
    #[test]
    fn send_buffer_limits_data_in_flight() {
        let (mut sender, mut out) = sent(Some(4 << 20));
        assert!((2_700..2_900).contains(&out.len()), "{}", out.len());
        assert!(sender.is_buffer_empty());
        // Nothing more is written until a third of the buffer is free; then that amount is written at once.
        let first = out.len() as u32;
        let mut acked = |cumulative| {
            out.clear();
            let ack = Ack {
                cumulative,
                window: Some(50_000),
                pure: true,
                ..Ack::default()
            };
            sender.receive(1_000_000_000, &ack, &mut out);
            out.len() as u32
        };
        assert_eq!(acked(first / 4), 0);
        assert!(acked(2 * first / 5) > 2 * first / 5 - 50);
        assert_eq!(sent(Some(1 << 30)).1.len(), 10_000);
        assert_eq!(sent(None).1.len(), 10_000);
    }
}
