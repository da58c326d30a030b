//! A script of packetdrill run against the sender of the stack `linux-6`.
//!
//! Times and packets are compared by the rules of packetdrill. The sender counts segments, so sequence numbers are
//! converted, and a packet of several segments (TSO) stands for its segments.

use std::collections::{BTreeMap, VecDeque};

use netflow_tcpmodel::tcp::{Ack, Handshake, NEVER, RecoveryState, Sacks, Sender};
use netflow_tcpmodel::{CongestionControl, Recovery, Stack};

use crate::assertion;
use crate::script::{Action, Call, Event, Packet, Script, Time};

/// Jiffies per second of the kernels for which scripts were written, the usual number first.
const JIFFIES_PER_S: [u32; 2] = [1000, 250];
/// The position of the start within a jiffy (packetdrill's `JIFFY_OFFSET_USECS`).
const JIFFY_OFFSET_NS: u64 = 250_000;
/// The tolerance is at least the time since the previous event divided by this number (packetdrill's
/// `tolerance_percent` of 12.5).
const TOLERANCE_DIVISOR: u64 = 8;
/// The largest shift of receive windows (RFC 7323, 2.3).
const MAX_WINDOW_SCALE: u32 = 14;
/// The slow-start threshold before the first loss in `tcp_info`.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything agrees, with this number of jiffies per second.
    Passes { jiffies_per_s: u32 },
    /// The first difference, with its line.
    Fails(String),
    /// The script needs what the sender does not model.
    DoesNotApply(String),
}

/// The number of comparisons until the end or the first difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub segments: usize,
    pub assertions: usize,
    /// Assertions on values that the model does not have.
    pub unknown: Vec<String>,
}

/// Why a script ends early.
enum Stop {
    Difference(String),
    NotModelled(String),
    /// The connection is closed.
    Closed,
}

/// The connection of a script.
struct Connection {
    sender: Sender,
    /// The bytes of data in a segment.
    data_bytes: u32,
    window_scale: u32,
}

/// A running script.
struct Replay<'a> {
    script: &'a Script,
    /// The stack, without options that the handshake determines.
    stack: Stack,
    restarts_after_idle: bool,
    is_paced: bool,
    /// SYN of the script, and transmission of the answer.
    syn: Option<Packet>,
    handshake: Option<Handshake>,
    connection: Option<Connection>,
    now_ns: u64,
    written_bytes: u32,
    /// The end of the receive window in segments, and the largest so far.
    window_edge: u32,
    max_window_edge: u32,
    /// Segments sent and not yet compared, with their times.
    sent: VecDeque<(u64, u32)>,
    out: Vec<u32>,
    /// Send times by the value of the timestamps option.
    sent_ns: BTreeMap<u32, u64>,
    variables: BTreeMap<String, i64>,
    counts: Counts,
}

/// Runs a script. If it fails, it runs with the other number of jiffies per second.
pub fn run(script: &Script) -> (Outcome, Counts) {
    let [usual, other] = JIFFIES_PER_S;
    let first = run_with(script, usual);
    match first.0 {
        Outcome::Fails(_) => Some(run_with(script, other))
            .filter(|it| matches!(it.0, Outcome::Passes { .. }))
            .unwrap_or(first),
        _ => first,
    }
}

fn run_with(script: &Script, jiffies_per_s: u32) -> (Outcome, Counts) {
    let mut replay = match Replay::new(script, jiffies_per_s) {
        Ok(replay) => replay,
        Err(reason) => return (Outcome::DoesNotApply(reason), Counts::default()),
    };
    for event in &script.events {
        let outcome = match replay.process(event) {
            Ok(()) => continue,
            Err(Stop::Closed) => break,
            Err(Stop::NotModelled(reason)) => Outcome::DoesNotApply(reason),
            Err(Stop::Difference(text)) => Outcome::Fails(format!("line {}: {text}", event.line)),
        };
        return (outcome, replay.counts);
    }
    let outcome = if replay.counts.segments + replay.counts.assertions == 0 {
        Outcome::DoesNotApply("nothing of the sender is compared".to_owned())
    } else {
        Outcome::Passes { jiffies_per_s }
    };
    (outcome, replay.counts)
}

/// Returns the value that the script gives to a kernel setting.
fn setting<'a>(setup: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = setup.rsplit_once(name)?;
    let value = rest.strip_prefix('=')?;
    value.split_whitespace().next()
}

fn congestion_control(name: &str) -> Result<CongestionControl, String> {
    match name {
        "cubic" => Ok(CongestionControl::Cubic),
        "reno" => Ok(CongestionControl::Reno),
        "bbr" => Ok(CongestionControl::Bbr),
        "dctcp" => Ok(CongestionControl::Dctcp),
        other => Err(format!("the congestion control `{other}` is not modelled")),
    }
}

impl<'a> Replay<'a> {
    /// Returns the state before the first event.
    ///
    /// # Errors
    /// The reason why the script does not apply.
    fn new(script: &'a Script, jiffies_per_s: u32) -> Result<Self, String> {
        let mut stack = Stack {
            clock_s: 1.0 / f64::from(jiffies_per_s),
            ..Stack::builtin("linux-6").ok_or("there is no stack `linux-6`")?
        };
        let setup = &script.setup;
        match setting(setup, "tcp_early_retrans") {
            Some("1" | "2") => {
                return Err(
                    "early retransmit (RFC 5827), which Linux replaced by RACK in 2017".to_owned(),
                );
            }
            Some("0") => stack.tail_loss_probe = false,
            _ => {}
        }
        if setting(setup, "tcp_recovery") == Some("0") {
            stack.recovery = Recovery::Sack;
        }
        if let Some(name) = setting(setup, "tcp_congestion_control") {
            stack.set_congestion(congestion_control(name)?);
        }
        for event in &script.events {
            let Action::Call(Call { name, arguments }) = &event.action else {
                continue;
            };
            let [_, _, option, value, ..] = arguments.as_slice() else {
                continue;
            };
            let value = value.trim_matches(['[', ']', '"']);
            match (name.as_str(), option.as_str()) {
                // Linux doubles the value.
                ("setsockopt", "SO_SNDBUF") => {
                    let bytes = value.parse::<u32>().ok().and_then(|it| it.checked_mul(2));
                    stack.send_buffer_bytes = Some(bytes.ok_or("SO_SNDBUF is not a size")?);
                }
                ("setsockopt", "TCP_CONGESTION") => {
                    stack.set_congestion(congestion_control(value)?);
                }
                _ => {}
            }
        }
        // `defaults.sh` of packetdrill turns slow start after idle off.
        let restarts_after_idle = match setting(setup, "tcp_slow_start_after_idle") {
            Some(value) => value != "0",
            None => !setup.contains("defaults.sh"),
        };
        Ok(Self {
            script,
            stack,
            restarts_after_idle,
            is_paced: has_fq(setup),
            syn: None,
            handshake: None,
            connection: None,
            now_ns: JIFFY_OFFSET_NS,
            written_bytes: 0,
            window_edge: 0,
            max_window_edge: 0,
            sent: VecDeque::new(),
            out: Vec::new(),
            sent_ns: BTreeMap::new(),
            variables: BTreeMap::new(),
            counts: Counts::default(),
        })
    }

    fn process(&mut self, event: &Event) -> Result<(), Stop> {
        let (first_ns, last_ns) = match event.time {
            Time::Any => (self.now_ns, NEVER),
            Time::Absolute(first, last) => (first + JIFFY_OFFSET_NS, last + JIFFY_OFFSET_NS),
            Time::Relative(first, last) => (self.now_ns + first, self.now_ns + last),
        };
        if let Action::Outbound(packet) = &event.action {
            let dynamic_ns = first_ns.saturating_sub(self.now_ns) / TOLERANCE_DIVISOR;
            let tolerance_ns = self.script.tolerance_ns.max(dynamic_ns);
            let earliest = match event.time {
                Time::Any => 0,
                _ => first_ns.saturating_sub(tolerance_ns),
            };
            return self.expect(packet, (earliest, last_ns.saturating_add(tolerance_ns)));
        }
        self.advance(first_ns);
        self.now_ns = self.now_ns.max(first_ns);
        match &event.action {
            Action::Inbound(packet) => self.receive(packet),
            Action::Outbound(_) => Ok(()),
            Action::Call(call) => self.call(call),
            Action::Code(block) => self.check(block),
            Action::Shell(command) => {
                self.is_paced |= has_fq(command);
                if command.contains("limit 0") {
                    let reason = "packets are dropped in the sender's own queue";
                    return Err(Stop::NotModelled(reason.to_owned()));
                }
                Ok(())
            }
        }
    }

    /// Processes the timers of the sender until `until_ns`.
    fn advance(&mut self, until_ns: u64) {
        while let Some(connection) = &mut self.connection
            && let due_ns = connection.sender.timer_ns()
            && due_ns <= until_ns
        {
            connection.sender.time_out(due_ns, &mut self.out);
            self.sent
                .extend(self.out.drain(..).map(|segment| (due_ns, segment)));
        }
    }

    /// Returns the segment that begins with this sequence number.
    fn segment(&self, sequence: u32) -> Result<u32, Stop> {
        let Some(connection) = &self.connection else {
            return Err(Stop::NotModelled(
                "data before the handshake ends".to_owned(),
            ));
        };
        let bytes = sequence.saturating_sub(1);
        if bytes.is_multiple_of(connection.data_bytes) || bytes == self.written_bytes {
            return Ok(bytes.div_ceil(connection.data_bytes));
        }
        if bytes == self.written_bytes + 1 {
            // The acknowledgement of a FIN.
            return Err(Stop::Closed);
        }
        Err(Stop::NotModelled(
            "sequence numbers within segments".to_owned(),
        ))
    }

    /// Compares a packet of the sender, which leaves at a time in this range.
    fn expect(
        &mut self,
        packet: &Packet,
        (earliest_ns, latest_ns): (u64, u64),
    ) -> Result<(), Stop> {
        if packet.has('S') {
            self.advance(earliest_ns);
            let mut handshake = Handshake::new(&self.stack, 0.0);
            handshake.send(&self.stack, self.now_ns, !packet.has('.'));
            self.handshake = Some(handshake);
            if let Some((value, _)) = packet.timestamps {
                self.sent_ns.insert(value, self.now_ns);
            }
            if !packet.has('.') {
                self.syn = Some(packet.clone());
            }
            return Ok(());
        }
        if packet.has('F') || packet.has('R') {
            return Err(Stop::Closed);
        }
        if packet.first == packet.end {
            // An acknowledgement of the receiver.
            return Ok(());
        }
        if self.is_paced {
            let reason = "pacing of CUBIC and Reno by the queue discipline fq";
            return Err(Stop::NotModelled(reason.to_owned()));
        }
        let range_s = |ns: u64| ns.saturating_sub(JIFFY_OFFSET_NS) as f64 * 1e-9;
        for segment in self.segment(packet.first)?..self.segment(packet.end)? {
            while self.sent.is_empty()
                && let Some(connection) = &self.connection
                && connection.sender.timer_ns() <= latest_ns
            {
                self.advance(connection.sender.timer_ns());
            }
            let Some((sent_ns, other)) = self.sent.pop_front() else {
                let until_s = range_s(latest_ns);
                return Err(Stop::Difference(format!(
                    "segment {segment} is not sent until {until_s:.3} s"
                )));
            };
            let sent_s = range_s(sent_ns);
            if other != segment {
                return Err(Stop::Difference(format!(
                    "segment {other} is sent at {sent_s:.3} s instead of segment {segment}"
                )));
            }
            if !(earliest_ns..=latest_ns).contains(&sent_ns) {
                return Err(Stop::Difference(format!(
                    "segment {segment} is sent at {sent_s:.3} s instead of {:.3} to {:.3} s",
                    range_s(earliest_ns),
                    range_s(latest_ns)
                )));
            }
            if let Some((value, _)) = packet.timestamps {
                self.sent_ns.insert(value, sent_ns);
            }
            self.now_ns = self.now_ns.max(sent_ns);
            self.counts.segments += 1;
        }
        Ok(())
    }

    /// Opens the connection: the script answers the SYN-ACK, or sends it.
    fn open(&mut self, packet: &Packet) -> Result<(), Stop> {
        let (Some(mine), Some(mut handshake)) = (self.syn.take(), self.handshake.take()) else {
            return Err(Stop::NotModelled("packets outside a connection".to_owned()));
        };
        let options = if packet.has('S') { packet } else { &mine };
        let offers_timestamps = options.timestamps.is_some();
        let has_sack =
            options.has_sack_permitted && setting(&self.script.setup, "tcp_sack") != Some("0");
        let segment_bytes = options.mss_bytes.unwrap_or(536);
        let stack = Stack {
            timestamps: offers_timestamps,
            ecn: mine.has('E') || packet.has('E'),
            recovery: if has_sack {
                self.stack.recovery
            } else {
                Recovery::NewReno
            },
            ..self.stack.clone()
        };
        let header_bytes = if offers_timestamps { 12 } else { 0 };
        let mut sender = Sender::new(&stack, segment_bytes, u32::MAX, [0.0, 0.0]);
        let echo_ns = packet
            .timestamps
            .and_then(|(_, echo)| self.sent_ns.get(&echo).copied());
        handshake.end(&stack, self.now_ns, echo_ns, &mut sender);
        let window_scale = options.window_scale.unwrap_or(0);
        self.connection = Some(Connection {
            sender,
            data_bytes: segment_bytes.saturating_sub(header_bytes).max(1),
            window_scale,
        });
        Ok(())
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Stop> {
        if packet.has('R') || packet.has('F') {
            return Err(Stop::Closed);
        }
        if packet.has('S') && !packet.has('.') {
            self.syn = Some(packet.clone());
            return Ok(());
        }
        if self.connection.is_none() {
            self.open(packet)?;
        }
        let cumulative = self.segment(packet.ack)?;
        let mut ack = Ack {
            cumulative,
            pure: packet.first == packet.end,
            congested: packet.has('E') && !packet.has('S'),
            echo_ns: (packet.timestamps).and_then(|(_, echo)| self.sent_ns.get(&echo).copied()),
            ..Ack::default()
        };
        let mut sacks = Sacks::default();
        for (number, &(first, end)) in packet.sacks.iter().enumerate() {
            let (first, end) = (self.segment(first)?, self.segment(end)?);
            // RFC 2883, 4: the first block reports a duplicate.
            let is_in_second = (packet.sacks.get(1))
                .is_some_and(|&(from, to)| packet.sacks[0].0 >= from && packet.sacks[0].1 <= to);
            if number == 0 && (end <= cumulative || is_in_second) {
                ack.duplicate = Some(first);
            } else {
                sacks.push(first, end);
            }
        }
        ack.sacks = sacks;
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        if let Some(window) = packet.window {
            let scale = if packet.has('S') {
                0
            } else {
                connection.window_scale
            };
            let bytes = u64::from(window) << scale.min(MAX_WINDOW_SCALE);
            let window = (bytes / u64::from(connection.data_bytes)) as u32;
            ack.window = Some(window);
            if cumulative >= connection.sender.acknowledged() {
                self.window_edge = cumulative + window;
                self.max_window_edge = self.max_window_edge.max(self.window_edge);
            }
        }
        connection.sender.receive(self.now_ns, &ack, &mut self.out);
        self.note_sent();
        self.check_window()
    }

    fn note_sent(&mut self) {
        let now_ns = self.now_ns;
        self.sent
            .extend(self.out.drain(..).map(|segment| (now_ns, segment)));
    }

    /// Rejects receive windows that shrink below the data written: the model ignores that.
    fn check_window(&self) -> Result<(), Stop> {
        let offered = self.connection.as_ref().map_or(0, |it| it.sender.offered());
        if self.window_edge < self.max_window_edge && self.window_edge < offered {
            return Err(Stop::NotModelled(
                "a receive window that shrinks".to_owned(),
            ));
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        match call.name.as_str() {
            "write" | "send" | "sendto" => {
                let bytes: u32 = (call.arguments.get(2).and_then(|it| it.parse().ok()))
                    .ok_or_else(|| {
                        Stop::NotModelled("writes without a number of bytes".to_owned())
                    })?;
                if call.arguments.iter().any(|it| it.contains("MSG_")) {
                    return Err(Stop::NotModelled("flags of system calls".to_owned()));
                }
                let Some(connection) = &mut self.connection else {
                    return Err(Stop::NotModelled(
                        "data before the handshake ends".to_owned(),
                    ));
                };
                if !self.written_bytes.is_multiple_of(connection.data_bytes) {
                    return Err(Stop::NotModelled("writes of parts of segments".to_owned()));
                }
                self.written_bytes += bytes;
                let sender = &mut connection.sender;
                if self.restarts_after_idle {
                    sender.restart_after_idle(self.now_ns);
                }
                sender.offer(self.written_bytes.div_ceil(connection.data_bytes));
                sender.send(self.now_ns, &mut self.out);
                self.note_sent();
                self.check_window()
            }
            "close" | "shutdown" => Err(Stop::Closed),
            "socket" | "bind" | "listen" | "accept" | "connect" | "fcntl" | "getsockopt"
            | "read" => Ok(()),
            "setsockopt" => {
                let option = call.arguments.get(2).map_or("", String::as_str);
                let is_known = ["SO_REUSEADDR", "SO_SNDBUF", "TCP_CONGESTION", "TCP_NODELAY"]
                    .contains(&option);
                let reason = || Stop::NotModelled(format!("the socket option `{option}`"));
                is_known.then_some(()).ok_or_else(reason)
            }
            other => Err(Stop::NotModelled(format!("the system call `{other}`"))),
        }
    }

    /// Compares the state of the sender with assertions.
    fn check(&mut self, block: &str) -> Result<(), Stop> {
        let sender = self.connection.as_ref().map(|it| &it.sender);
        let value = |name: &str| {
            let state = sender?.state();
            let recovery = sender?.loss_recovery()?;
            Some(match name {
                "tcpi_snd_cwnd" => state.cwnd_pkts as i64,
                "tcpi_snd_ssthresh" if state.ssthresh_pkts.is_infinite() => INFINITE_SSTHRESH,
                "tcpi_snd_ssthresh" => state.ssthresh_pkts as i64,
                "tcpi_unacked" => i64::from(sender?.sent() - sender?.acknowledged()),
                "tcpi_sacked" => recovery.sacked.into(),
                "tcpi_lost" => recovery.lost.into(),
                "tcpi_retrans" => recovery.retransmitted.into(),
                "tcpi_ca_state" => number(recovery.state),
                "TCP_CA_Open" => number(RecoveryState::Open),
                "TCP_CA_Disorder" => number(RecoveryState::Disorder),
                "TCP_CA_CWR" => number(RecoveryState::Reduced),
                "TCP_CA_Recovery" => number(RecoveryState::Recovery),
                "TCP_CA_Loss" => number(RecoveryState::Loss),
                _ => return None,
            })
        };
        let checked =
            assertion::run(block, &mut self.variables, value).map_err(Stop::Difference)?;
        self.counts.assertions += checked.compared;
        self.counts.unknown.extend(checked.unknown);
        Ok(())
    }
}

/// Returns the number of a state in Linux (`tcp_ca_state`).
fn number(state: RecoveryState) -> i64 {
    match state {
        RecoveryState::Open => 0,
        RecoveryState::Disorder => 1,
        RecoveryState::Reduced => 2,
        RecoveryState::Recovery => 3,
        RecoveryState::Loss => 4,
    }
}

/// Returns true if a command installs the queue discipline fq, which paces every connection.
fn has_fq(command: &str) -> bool {
    command
        .lines()
        .any(|line| line.contains("qdisc") && line.trim_end().ends_with(" fq"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;

    /// A handshake with a round-trip time of 100 ms, and the initial window.
    const START: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 < S 0:0(0) win 60000 <mss 1200,sackOK,nop,wscale 4>\n+0 > S. 0:0(0) ack 1 <mss 1460>\n\
        +.1 < . 1:1(0) ack 1 win 9000\n+0 write(4, ..., 24000) = 24000\n+0 > P. 1:12001(12000) ack 1\n";

    const PASSES: Outcome = Outcome::Passes {
        jiffies_per_s: 1000,
    };

    fn outcome(rest: &str) -> (Outcome, Counts) {
        run(&script::read(&format!("{START}{rest}")).unwrap())
    }

    /// Slow start passes; a wrong window, segment or time fails.
    #[test]
    fn differences_are_found() {
        let acked = "+.1 < . 1:1(0) ack 2401 win 9000\n";
        let good = outcome(&format!(
            "{acked}+0 > . 12001:16801(4800) ack 1\n+0 %{{ assert tcpi_snd_cwnd == 12; assert tcpi_rtt > 0 }}%\n"
        ));
        assert_eq!(good.0, PASSES);
        assert_eq!(
            (good.1.segments, good.1.assertions, good.1.unknown.len()),
            (14, 1, 1)
        );
        for (rest, text) in [
            (
                "+0 %{ assert tcpi_snd_cwnd == 13 }%\n",
                "line 8: `tcpi_snd_cwnd == 13`: it is 12",
            ),
            (
                "+0 > . 1:1201(1200) ack 1\n",
                "line 8: segment 10 is sent at 0.200 s instead of segment 0",
            ),
            (
                "+0 > . 12001:18001(6000) ack 1\n",
                "line 8: segment 14 is not sent until 0.204 s",
            ),
            (
                "+.02 > . 12001:13201(1200) ack 1\n",
                "line 8: segment 10 is sent at 0.200 s instead of 0.216 to 0.224 s",
            ),
        ] {
            let expected = Outcome::Fails(text.to_owned());
            assert_eq!(outcome(&format!("{acked}{rest}")).0, expected);
        }
    }

    /// A tail loss probe after two round-trip times, and duplicate acknowledgements without SACK.
    #[test]
    fn timers_and_repairs_are_compared() {
        let probe = "+.1 < . 1:1(0) ack 12001 win 9000\n+0 > . 12001:24001(12000) ack 1\n\
            +.2~+.204 > P. 22801:24001(1200) ack 1\n";
        assert_eq!(outcome(probe).0, PASSES);
        let repair = "+.1 < . 1:1(0) ack 1 win 9000 <sack 1201:4801,nop,nop>\n+0 > . 1:1201(1200) ack 1\n\
            +0 %{ assert tcpi_ca_state == TCP_CA_Recovery; assert tcpi_sacked == 3; assert tcpi_snd_ssthresh == 7 }%\n\
            +0 close(4) = 0\n+0 > R. 1:1(0)\n";
        assert_eq!(outcome(repair).0, PASSES);
    }

    /// What the sender does not model does not count as a difference.
    #[test]
    fn other_scripts_do_not_apply() {
        for (rest, reason) in [
            (
                "+.1 < . 1:1(0) ack 601 win 9000\n",
                "sequence numbers within segments",
            ),
            (
                "+.1 < . 1:1(0) ack 1201 win 0\n",
                "a receive window that shrinks",
            ),
            (
                "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n",
                "the socket option `TCP_CORK`",
            ),
            ("+0 splice(4) = 0\n", "the system call `splice`"),
        ] {
            assert_eq!(outcome(rest).0, Outcome::DoesNotApply(reason.to_owned()));
        }
    }
}
