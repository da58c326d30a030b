//! The built-in stacks.

use super::{CongestionControl, Recovery, RtoRule, Stack};

/// Returns the names of the built-in stacks.
pub fn builtin_names() -> &'static [&'static str] {
    &["linux-2.0.34", "ns-2.35", "linux-6", "legacy", "rfc6298"]
}

pub(super) fn builtin(name: &str) -> Option<Stack> {
    match name {
        "linux-2.0.34" => Some(linux_2_0_34()),
        "ns-2.35" => Some(ns_2_35()),
        "linux-6" => Some(linux_6()),
        "legacy" => Some(legacy()),
        "rfc6298" => Some(rfc6298()),
        _ => None,
    }
}

/// Returns the stack as described in \[Short\]. The window of 2 is the initial window of 1, plus 1 for the
/// handshake's acknowledgement. A timeout in the handshake leaves 1.
fn linux_2_0_34() -> Stack {
    Stack {
        name: "linux-2.0.34".to_owned(),
        description: "Linux 2.0.34 of 1998, as described in [Short]".to_owned(),
        mss_bytes: 512,
        initial_window_pkts: 2,
        initial_rto_s: 3.0,
        min_rto_s: 0.2,
        max_rto_s: 120.0,
        rto_rule: RtoRule::Rfc6298,
        clock_s: 0.0,
        timestamps: false,
        linear_syn_timeouts: 0,
        syn_answered_again: true,
        rto_after_syn_timeout_s: None,
        handshake_timeouts_forgiven: 0,
        syn_timeout_ends_slow_start: false,
        recovery: Recovery::Reno,
        duplicate_acks: 3,
        limited_transmit: false,
        early_retransmit: false,
        tail_loss_probe: false,
        window_after_loss: 0.5,
        congestion: CongestionControl::Reno,
        ecn: false,
        receive_window_bytes: None,
        send_buffer_bytes: None,
        segments_per_ack: 2,
        ack_delay_s: 0.2,
        ack_delay_beats: false,
        quick_acks: 0,
        quick_while_growing: false,
        acks_compressed: false,
        hystart: true,
        rtt_independence: true,
        ecn_low: false,
        host_delay_s: 100e-6,
        l4s: false,
        segmentation_offload: false,
    }
}

/// Returns FullTcp with its defaults, except the initial window of 2, as elsewhere in ns-2.35.
fn ns_2_35() -> Stack {
    Stack {
        name: "ns-2.35".to_owned(),
        description: "FullTcp of ns-2.35: Reno, a clock of 10 ms".to_owned(),
        mss_bytes: 512,
        initial_window_pkts: 2,
        initial_rto_s: 3.0,
        min_rto_s: 0.2,
        max_rto_s: 60.0,
        rto_rule: RtoRule::Ticks,
        clock_s: 0.01,
        timestamps: false,
        linear_syn_timeouts: 0,
        syn_answered_again: false,
        rto_after_syn_timeout_s: None,
        handshake_timeouts_forgiven: u32::MAX,
        syn_timeout_ends_slow_start: true,
        recovery: Recovery::Reno,
        duplicate_acks: 3,
        limited_transmit: false,
        early_retransmit: false,
        tail_loss_probe: false,
        window_after_loss: 0.5,
        congestion: CongestionControl::Reno,
        ecn: false,
        receive_window_bytes: None,
        send_buffer_bytes: None,
        segments_per_ack: 1,
        ack_delay_s: 0.1,
        ack_delay_beats: true,
        quick_acks: 0,
        quick_while_growing: false,
        acks_compressed: false,
        hystart: true,
        rtt_independence: true,
        ecn_low: false,
        host_delay_s: 100e-6,
        l4s: false,
        segmentation_offload: false,
    }
}

/// Returns Linux 6 with its defaults. The clock of 4 ms is that of a kernel with 250 jiffies per second.
/// Acknowledgements are quick for 16 packets and while the receive window grows, as it does during a short
/// transfer.
pub(super) fn linux_6() -> Stack {
    Stack {
        name: "linux-6".to_owned(),
        description: "Linux 6 with its defaults: CUBIC, SACK, RACK, tail loss probes".to_owned(),
        mss_bytes: 1460,
        initial_window_pkts: 10,
        initial_rto_s: 1.0,
        min_rto_s: 0.2,
        max_rto_s: 120.0,
        rto_rule: RtoRule::Linux,
        clock_s: 0.004,
        timestamps: true,
        linear_syn_timeouts: 4,
        syn_answered_again: true,
        rto_after_syn_timeout_s: None,
        handshake_timeouts_forgiven: 1,
        syn_timeout_ends_slow_start: false,
        recovery: Recovery::Rack,
        duplicate_acks: 3,
        limited_transmit: false,
        early_retransmit: false,
        tail_loss_probe: true,
        window_after_loss: 0.7,
        congestion: CongestionControl::Cubic,
        ecn: false,
        receive_window_bytes: None,
        send_buffer_bytes: Some(4 << 20),
        segments_per_ack: 2,
        ack_delay_s: 0.04,
        ack_delay_beats: false,
        quick_acks: 16,
        quick_while_growing: true,
        acks_compressed: true,
        hystart: true,
        rtt_independence: true,
        ecn_low: false,
        host_delay_s: 100e-6,
        l4s: false,
        segmentation_offload: false,
    }
}

/// Returns Linux 6 without features added after 1998, as set by `netflow testbed --stack legacy`. Without
/// timestamps, a lost SYN leaves a timeout of 3 s.
fn legacy() -> Stack {
    Stack {
        name: "legacy".to_owned(),
        description: "Linux 6 without features added after 1998: Reno, initial window of 2 packets, no SACK, no RACK, \
                      no probes, a window of 16 KB"
            .to_owned(),
        initial_window_pkts: 2,
        timestamps: false,
        rto_after_syn_timeout_s: Some(3.0),
        recovery: Recovery::NewReno,
        limited_transmit: true,
        tail_loss_probe: false,
        window_after_loss: 0.5,
        congestion: CongestionControl::Reno,
        ecn: false,
        receive_window_bytes: Some(16_384),
        quick_while_growing: false,
        acks_compressed: false,
        ..linux_6()
    }
}

/// Returns the stack of the standards: RFC 6298 (timers), 5681 (windows, delayed acknowledgements), 6582
/// (NewReno), 3042 (limited transmit). They do not define the clock; 100 ms is the coarsest that RFC 6298
/// recommends.
fn rfc6298() -> Stack {
    Stack {
        name: "rfc6298".to_owned(),
        description: "TCP of the RFCs: RFC 6298 timers, RFC 5681 windows, NewReno".to_owned(),
        mss_bytes: 1460,
        initial_window_pkts: 3,
        initial_rto_s: 1.0,
        min_rto_s: 1.0,
        max_rto_s: 60.0,
        rto_rule: RtoRule::Rfc6298,
        clock_s: 0.1,
        timestamps: false,
        linear_syn_timeouts: 0,
        syn_answered_again: true,
        rto_after_syn_timeout_s: Some(3.0),
        handshake_timeouts_forgiven: 0,
        syn_timeout_ends_slow_start: false,
        recovery: Recovery::NewReno,
        duplicate_acks: 3,
        limited_transmit: true,
        early_retransmit: false,
        tail_loss_probe: false,
        window_after_loss: 0.5,
        congestion: CongestionControl::Reno,
        ecn: false,
        receive_window_bytes: None,
        send_buffer_bytes: None,
        segments_per_ack: 2,
        ack_delay_s: 0.2,
        ack_delay_beats: false,
        quick_acks: 0,
        quick_while_growing: false,
        acks_compressed: false,
        hystart: true,
        rtt_independence: true,
        ecn_low: false,
        host_delay_s: 100e-6,
        l4s: false,
        segmentation_offload: false,
    }
}
