//! Reader of stack descriptions in TOML.

use netflow_document::{
    Allowed, FileId, Findings, ProblemKind, Quantity, Read, Section, Spanned, Table, Value,
    Verbatim, parse, table,
};
use netflow_units::{Bytes, Packets, Seconds};

use super::{CongestionControl, Recovery, RtoRule, Stack, builtin_names};

type Time = Spanned<Quantity<Seconds>>;
type Size = Spanned<Quantity<Bytes>>;
type Count = Spanned<u64>;
type Flag = Spanned<bool>;

/// Description of a stack by its differences from a built-in one.
#[table(plain)]
struct StackFile {
    /// Name of the stack.
    #[key(example = "patient")]
    name: Spanned<Verbatim>,
    /// Description in one line.
    #[key(example = "long timeouts")]
    description: Option<Spanned<Verbatim>>,
    /// Built-in stack that supplies the keys that are not set.
    #[key(example = "linux-6")]
    like: Spanned<Like>,
    /// Payload of a full segment.
    #[key(allowed = WHOLE_BYTES, example = "1460 B")]
    mss: Option<Size>,
    /// Initial congestion window.
    #[key(allowed = WHOLE_PACKETS, example = "10 pkt")]
    initial_window: Option<Spanned<Quantity<Packets>>>,
    /// Retransmission timeout before a round-trip time is measured.
    #[key(example = "1 s")]
    initial_rto: Option<Time>,
    /// Minimum retransmission timeout.
    #[key(example = "200 ms")]
    min_rto: Option<Time>,
    /// Maximum retransmission timeout, where doubling ends.
    #[key(example = "120 s")]
    max_rto: Option<Time>,
    /// Rule that computes the timeout from measured round-trip times.
    #[key(example = "linux")]
    rto_rule: Option<Spanned<RtoRule>>,
    /// Granularity of the clock.
    #[key(example = "4 ms")]
    clock: Option<Time>,
    /// True if packets carry timestamps (RFC 7323).
    #[key(example = true)]
    timestamps: Option<Flag>,
    /// Number of consecutive timeouts of a SYN before their interval doubles.
    #[key(allowed = U32, example = 4)]
    linear_syn_timeouts: Option<Count>,
    /// True if a duplicate SYN is answered again.
    #[key(example = true)]
    syn_answered_again: Option<Flag>,
    /// Timeout of the data after a lost SYN.
    #[key(example = "3 s")]
    rto_after_syn_timeout: Option<Time>,
    /// Maximum number of handshake timeouts that keep the initial window; more leave a window of one packet.
    #[key(allowed = U32, example = 1)]
    handshake_timeouts_forgiven: Option<Count>,
    /// True if a timeout of a SYN ends slow start.
    #[key(example = false)]
    syn_timeout_ends_slow_start: Option<Flag>,
    /// Method of loss detection and repair before the timer expires.
    #[key(example = "rack")]
    recovery: Option<Spanned<Recovery>>,
    /// Number of duplicate acknowledgements that indicates a loss.
    #[key(allowed = U32, example = 3)]
    duplicate_acks: Option<Count>,
    /// True if the first duplicate acknowledgements send new packets (RFC 3042).
    #[key(example = true)]
    limited_transmit: Option<Flag>,
    /// True if fewer duplicate acknowledgements suffice with few packets in flight (RFC 5827).
    #[key(example = true)]
    early_retransmit: Option<Flag>,
    /// True if the last packet is sent again before the timer expires (RFC 8985).
    #[key(example = true)]
    tail_loss_probe: Option<Flag>,
    /// Share of the window left after a loss. Default: the share of `congestion`, if that is set.
    #[key(example = 0.7)]
    window_after_loss: Option<Spanned<f64>>,
    /// Congestion control.
    #[key(example = "cubic")]
    congestion: Option<Spanned<CongestionControl>>,
    /// True if queues may mark packets instead of dropping them (ECN, RFC 3168).
    #[key(example = true)]
    ecn: Option<Flag>,
    /// Maximum receive window.
    #[key(allowed = WHOLE_BYTES, example = "64 KiB")]
    receive_window: Option<Size>,
    /// Maximum send buffer, kernel overhead per packet included (the third number of `tcp_wmem`).
    #[key(allowed = WHOLE_BYTES, example = "4 MiB")]
    send_buffer: Option<Size>,
    /// Number of full segments per acknowledgement.
    #[key(allowed = U32, example = 2)]
    segments_per_ack: Option<Count>,
    /// Delay of acknowledgements for other segments.
    #[key(example = "40 ms")]
    ack_delay: Option<Time>,
    /// True if the delay ends at the next tick of a free-running clock.
    #[key(example = false)]
    ack_delay_beats: Option<Flag>,
    /// Number of first segments that are acknowledged at once.
    #[key(allowed = U32, example = 16)]
    quick_acks: Option<Count>,
    /// True with Linux receive-window autotuning: the window grows and limits the other end. Meanwhile segments are
    /// acknowledged at once.
    #[key(example = true)]
    quick_while_growing: Option<Flag>,
    /// True if acknowledgements after the third duplicate are compressed.
    #[key(example = true)]
    acks_compressed: Option<Flag>,
    /// True if CUBIC leaves slow start before losses (HyStart).
    #[key(example = false)]
    hystart: Option<Flag>,
    /// True if Prague behaves at round-trip times below 25 ms as at 25 ms.
    #[key(example = false)]
    rtt_independence: Option<Flag>,
    /// True if marks on the path are those of a shallow queue, so that BBRv3 uses ECN and responds to them.
    #[key(example = true)]
    ecn_low: Option<Flag>,
    /// Maximum random delay of an acknowledgement between link and sender, at most 1/16 of the round-trip time.
    #[key(example = "100 us")]
    host_delay: Option<Time>,
    /// True to send ECT(1), so that queues treat its data as L4S traffic; always the case with `"prague"`.
    #[key(example = true)]
    l4s: Option<Flag>,
    /// True if the host sends bursts of up to 64 KB, as with segmentation offload (TSO, GSO).
    #[key(example = true)]
    segmentation_offload: Option<Flag>,
}

const U32: Allowed<u64> = Allowed {
    test: |count| u32::try_from(*count).is_ok(),
    text: "0 to 4294967295",
};
const WHOLE_BYTES: Allowed<Quantity<Bytes>> = Allowed {
    test: |bytes| is_u32(bytes.get()),
    text: "a whole number of bytes",
};
const WHOLE_PACKETS: Allowed<Quantity<Packets>> = Allowed {
    test: |packets| is_u32(packets.get()),
    text: "a whole number of packets",
};

fn is_u32(number: f64) -> bool {
    number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)
}

/// The name of a built-in stack.
#[derive(Clone, Debug, PartialEq)]
struct Like(Stack);

impl Read for Like {
    const KIND: &'static str = "the name of a built-in stack";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Like> {
        let name = value.text(key, "the name of a built-in stack", findings)?;
        let found = Stack::builtin(name);
        if found.is_none() {
            let help = findings.allowed_names_help(
                name,
                "built-in stacks",
                builtin_names().iter().copied(),
            );
            findings
                .error(
                    ProblemKind::UnknownName,
                    value.place,
                    format!("unknown stack `{name}`"),
                )
                .set_help(help);
        }
        found.map(Like)
    }

    fn fallback() -> Like {
        Like(super::builtin::linux_6())
    }
}

/// Reads a stack. Returns `None` if it has errors, which are added to `findings`.
pub(super) fn read(text: &str, file: FileId, findings: &mut Findings) -> Option<Stack> {
    let before = findings.errors();
    let stack = parse(text, file, findings, |fields, findings| {
        let start = netflow_document::SourceSpan::new(file, 0..text.len().min(1));
        let mut s = Section::new(findings, "the stack", fields, start, &[StackFile::KEYS]);
        let stack = apply_file(StackFile::fields(&mut s));
        // Fallback values of fields that could not be read are not checked.
        if s.is_valid() {
            for error in stack.errors() {
                let place = s.value_place(error.what).unwrap_or(start);
                s.findings
                    .error(ProblemKind::OutOfRange, place, error.to_string());
            }
            let refused = [
                ("congestion", stack.congestion_error(stack.congestion)),
                ("ecn", stack.ecn_error().filter(|_| stack.ecn)),
                ("l4s", stack.l4s_error().filter(|_| stack.l4s)),
            ];
            for (key, why) in refused {
                if let Some(why) = why {
                    let place = s.value_place(key).unwrap_or(start);
                    s.findings.error(ProblemKind::Conflict, place, why);
                }
            }
        }
        s.finish();
        stack
    })?;
    (findings.errors() == before).then_some(stack)
}

/// Applies the values of the file to the stack that it names in `like`.
fn apply_file(file: StackFile) -> Stack {
    // The exhaustive pattern makes a new key without effect a compiler error.
    let StackFile {
        name,
        description,
        like,
        mss,
        initial_window,
        initial_rto,
        min_rto,
        max_rto,
        rto_rule,
        clock,
        timestamps,
        linear_syn_timeouts,
        syn_answered_again,
        rto_after_syn_timeout,
        handshake_timeouts_forgiven,
        syn_timeout_ends_slow_start,
        recovery,
        duplicate_acks,
        limited_transmit,
        early_retransmit,
        tail_loss_probe,
        window_after_loss,
        congestion,
        ecn,
        receive_window,
        send_buffer,
        segments_per_ack,
        ack_delay,
        ack_delay_beats,
        quick_acks,
        quick_while_growing,
        acks_compressed,
        hystart,
        rtt_independence,
        ecn_low,
        host_delay,
        l4s,
        segmentation_offload,
    } = file;
    let mut stack = like.into_inner().0;
    stack.name = name.into_inner().0;
    stack.description = description.map_or(String::new(), |text| text.into_inner().0);
    let seconds = |it: &Quantity<Seconds>| it.get();
    let bytes = |it: &Quantity<Bytes>| it.get() as u32;
    let count = |it: &u64| *it as u32;
    set(&mut stack.mss_bytes, mss, bytes);
    set(&mut stack.initial_window_pkts, initial_window, |it| {
        it.get() as u32
    });
    set(&mut stack.initial_rto_s, initial_rto, seconds);
    set(&mut stack.min_rto_s, min_rto, seconds);
    set(&mut stack.max_rto_s, max_rto, seconds);
    set(&mut stack.rto_rule, rto_rule, |it| *it);
    set(&mut stack.clock_s, clock, seconds);
    set(&mut stack.timestamps, timestamps, |it| *it);
    set(&mut stack.linear_syn_timeouts, linear_syn_timeouts, count);
    set(&mut stack.syn_answered_again, syn_answered_again, |it| *it);
    set(
        &mut stack.rto_after_syn_timeout_s,
        rto_after_syn_timeout,
        |it| Some(it.get()),
    );
    set(
        &mut stack.handshake_timeouts_forgiven,
        handshake_timeouts_forgiven,
        count,
    );
    set(
        &mut stack.syn_timeout_ends_slow_start,
        syn_timeout_ends_slow_start,
        |it| *it,
    );
    set(&mut stack.recovery, recovery, |it| *it);
    set(&mut stack.duplicate_acks, duplicate_acks, count);
    set(&mut stack.limited_transmit, limited_transmit, |it| *it);
    set(&mut stack.early_retransmit, early_retransmit, |it| *it);
    set(&mut stack.tail_loss_probe, tail_loss_probe, |it| *it);
    if let Some(congestion) = congestion {
        stack.set_congestion(*congestion);
    } else if stack.congestion_error(stack.congestion).is_some() {
        // The stack in `like` may have another congestion control.
        stack.set_congestion(CongestionControl::Reno);
    }
    set(&mut stack.window_after_loss, window_after_loss, |it| *it);
    set(&mut stack.ecn, ecn, |it| *it);
    set(&mut stack.receive_window_bytes, receive_window, |it| {
        Some(bytes(it))
    });
    set(&mut stack.send_buffer_bytes, send_buffer, |it| {
        Some(bytes(it))
    });
    set(&mut stack.segments_per_ack, segments_per_ack, count);
    set(&mut stack.ack_delay_s, ack_delay, seconds);
    set(&mut stack.ack_delay_beats, ack_delay_beats, |it| *it);
    set(&mut stack.quick_acks, quick_acks, count);
    set(&mut stack.quick_while_growing, quick_while_growing, |it| {
        *it
    });
    set(&mut stack.acks_compressed, acks_compressed, |it| *it);
    set(&mut stack.hystart, hystart, |it| *it);
    set(&mut stack.rtt_independence, rtt_independence, |it| *it);
    set(&mut stack.ecn_low, ecn_low, |it| *it);
    set(&mut stack.host_delay_s, host_delay, seconds);
    set(&mut stack.l4s, l4s, |it| *it);
    set(
        &mut stack.segmentation_offload,
        segmentation_offload,
        |it| *it,
    );
    stack
}

fn set<T, U>(to: &mut U, given: Option<Spanned<T>>, value: impl FnOnce(&T) -> U) {
    if let Some(given) = given {
        *to = value(&given);
    }
}
