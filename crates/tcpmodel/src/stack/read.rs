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

/// What a description may say: what differs from a built-in stack.
#[table(plain)]
struct StackFile {
    /// Its name.
    #[key(example = "patient")]
    name: Spanned<Verbatim>,
    /// What it is, in a line.
    #[key(example = "waits for long")]
    description: Option<Spanned<Verbatim>>,
    /// The built-in stack that everything else is taken from.
    #[key(example = "linux-6")]
    like: Spanned<Like>,
    /// Payload of a full segment.
    #[key(allowed = WHOLE_BYTES, example = "1460 B")]
    mss: Option<Size>,
    /// Window of the data's first round trip.
    #[key(allowed = WHOLE_PACKETS, example = "10 pkt")]
    initial_window: Option<Spanned<Quantity<Packets>>>,
    /// Retransmission timeout before a round-trip time is measured.
    #[key(example = "1 s")]
    initial_rto: Option<Time>,
    /// Least retransmission timeout.
    #[key(example = "200 ms")]
    min_rto: Option<Time>,
    /// Where doubling ends.
    #[key(example = "120 s")]
    max_rto: Option<Time>,
    /// How the timeout follows from measured round-trip times.
    #[key(example = "linux")]
    rto_rule: Option<Spanned<RtoRule>>,
    /// The clock's granularity.
    #[key(example = "4 ms")]
    clock: Option<Time>,
    /// Do packets carry timestamps?
    #[key(example = true)]
    timestamps: Option<Flag>,
    /// Timeouts of a SYN that follow one another before their interval doubles.
    #[key(allowed = U32, example = 4)]
    linear_syn_timeouts: Option<Count>,
    /// Is a SYN that comes a second time answered a second time?
    #[key(example = true)]
    syn_answered_again: Option<Flag>,
    /// Timeout of the data after a lost SYN.
    #[key(example = "3 s")]
    rto_after_syn_timeout: Option<Time>,
    /// More timeouts of the handshake than this leave a window of one packet.
    #[key(allowed = U32, example = 1)]
    handshake_timeouts_forgiven: Option<Count>,
    /// Does a timeout of a SYN end slow start?
    #[key(example = false)]
    syn_timeout_ends_slow_start: Option<Flag>,
    /// How losses are found and repaired before the timer expires.
    #[key(example = "rack")]
    recovery: Option<Spanned<Recovery>>,
    /// Duplicate acknowledgements that count as a loss.
    #[key(allowed = U32, example = 3)]
    duplicate_acks: Option<Count>,
    /// Do the first duplicate acknowledgements send new packets?
    #[key(example = true)]
    limited_transmit: Option<Flag>,
    /// Do fewer duplicate acknowledgements suffice with few packets in flight?
    #[key(example = true)]
    early_retransmit: Option<Flag>,
    /// Is the last packet sent again ahead of the timer?
    #[key(example = true)]
    tail_loss_probe: Option<Flag>,
    /// The share of the window that a loss leaves; that of the congestion control where this is given.
    #[key(example = 0.7)]
    window_after_loss: Option<Spanned<f64>>,
    /// How the congestion window moves.
    #[key(example = "cubic")]
    congestion: Option<Spanned<CongestionControl>>,
    /// Are packets marked that meet congestion, where queues do that?
    #[key(example = true)]
    ecn: Option<Flag>,
    /// The most that a receiver lets be under way.
    #[key(allowed = WHOLE_BYTES, example = "64 KiB")]
    receive_window: Option<Size>,
    /// The largest send buffer, with what the kernel keeps with each packet (the third number of `tcp_wmem`).
    #[key(allowed = WHOLE_BYTES, example = "4 MiB")]
    send_buffer: Option<Size>,
    /// Every so many full segments are acknowledged at once.
    #[key(allowed = U32, example = 2)]
    segments_per_ack: Option<Count>,
    /// Other segments are acknowledged after this.
    #[key(example = "40 ms")]
    ack_delay: Option<Time>,
    /// Does the delay end at the next beat of a clock?
    #[key(example = false)]
    ack_delay_beats: Option<Flag>,
    /// So many first segments are acknowledged at once.
    #[key(allowed = U32, example = 16)]
    quick_acks: Option<Count>,
    /// Is there a receive window, as Linux's, that grows and holds the other end, and are segments acknowledged at once
    /// while it does?
    #[key(example = true)]
    quick_while_growing: Option<Flag>,
    /// Are acknowledgements after the third duplicate put together?
    #[key(example = true)]
    acks_compressed: Option<Flag>,
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

/// Reads a stack. Returns `None` if it has mistakes, which are added to `findings`.
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
    stack
}

fn set<T, U>(to: &mut U, given: Option<Spanned<T>>, value: impl FnOnce(&T) -> U) {
    if let Some(given) = given {
        *to = value(&given);
    }
}
