//! Client side: one user over one connection.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_workload::{Exchange, ResponseEvent, Session, SessionStateMachine, Turn, UserKind};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep_until, timeout};

use crate::Failure;
use crate::protocol::{KeystrokeRun, MAX_RUNS, filler, reply_head, request_head, write_script};
use crate::reply_parser::{ExpectedReply, ReplyParser};
use crate::run::{Shared, Users};
use crate::send_buffer::SendBuffer;
use crate::server::{seconds, set_congestion};

/// End of a session that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The session is complete.
    Finished,
    /// The run ended before the session.
    Left,
}

/// Simulates a session.
pub async fn run_session(
    session: Session,
    shared: Arc<Shared>,
    load: usize,
) -> Result<End, Failure> {
    let asked = Instant::now();
    let stream = connect(&shared).await?;
    let took = asked.elapsed();
    shared.tally(load, |users| {
        users.waits.push(ResponseEvent::Connect, took.as_secs_f64())
    });
    let mut user = User {
        stream,
        send_buffer: SendBuffer::default(),
        replies: ReplyParser::default(),
        input: vec![0; 64 << 10],
        scripts: match session.kind {
            UserKind::Http | UserKind::Video => Vec::new(),
            UserKind::Telnet => scripts(&session.turns),
        }
        .into_iter(),
        scripted_keystrokes: 0,
        state_machine: SessionStateMachine::new(session),
        next: None,
        reply_bytes: VecDeque::new(),
        last_reply_at: Instant::now(),
        shared,
        load,
    };
    let end = user.run_session().await?;
    user.check_no_extra_data()?;
    Ok(end)
}

async fn connect(shared: &Shared) -> Result<TcpStream, Failure> {
    let options = &shared.options;
    let domain = Domain::for_address(options.server);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP));
    let socket = socket.map_err(|_| Failure::System)?;
    let congestion = options.congestion.as_deref();
    set_congestion(&socket, congestion).map_err(|_| Failure::System)?;
    socket.set_nonblocking(true).map_err(|_| Failure::System)?;
    socket.set_tcp_nodelay(true).map_err(|_| Failure::System)?;
    let connect = TcpSocket::from_std_stream(socket.into()).connect(options.server);
    match timeout(seconds(options.timeout_s), connect).await {
        Ok(connected) => connected.map_err(|error| Failure::of_connecting(&error)),
        Err(_) => Err(Failure::ConnectTimeout),
    }
}

struct User {
    stream: TcpStream,
    send_buffer: SendBuffer,
    replies: ReplyParser,
    input: Vec<u8>,
    /// Scripts still to be sent, each with its number of keystrokes, and the remaining keystrokes of the
    /// last sent script.
    scripts: std::vec::IntoIter<(Vec<u8>, u64)>,
    scripted_keystrokes: u64,
    state_machine: SessionStateMachine<std::time::Instant>,
    /// Start of the next turn, if known, and whether a pause precedes it.
    next: Option<(Instant, bool)>,
    /// Lengths of the pending replies.
    reply_bytes: VecDeque<u64>,
    /// Time at which the last reply was complete.
    last_reply_at: Instant,
    shared: Arc<Shared>,
    load: usize,
}

impl User {
    async fn run_session(&mut self) -> Result<End, Failure> {
        let pause_s = self.state_machine.on_connected();
        self.schedule_next_turn(self.last_reply_at, pause_s);
        while !self.state_machine.is_over() {
            let Some((next, paused)) = self.next else {
                self.process_io(None).await?;
                continue;
            };
            let over = self.shared.end_if_before(next);
            let until = over.unwrap_or(next);
            if Instant::now() < until {
                self.process_io(Some(until)).await?;
            } else if over.is_some() {
                self.await_replies().await?;
                return Ok(End::Left);
            } else {
                if paused {
                    self.shared.record_lateness(next);
                }
                self.next = None;
                let now = Instant::now();
                let act = self.state_machine.begin_turn(now.into_std());
                let (asks, pause_s) = (act.requests.to_vec(), act.pause_s);
                self.send_requests(&asks);
                // The next turn is scheduled from the due time, so that lateness does not accumulate.
                self.schedule_next_turn(next, pause_s);
            }
        }
        Ok(End::Finished)
    }

    /// Schedules the next turn if it begins after a pause, which starts at `from`.
    fn schedule_next_turn(&mut self, from: Instant, pause_s: Option<f64>) {
        if let Some(pause_s) = pause_s {
            let pause = self.shared.pause(pause_s);
            self.next = Some((from + pause, !pause.is_zero()));
        }
    }

    /// Sends the requests of all exchanges at once.
    fn send_requests(&mut self, exchanges: &[Exchange]) {
        let mut sums = Sums::default();
        let kind = self.state_machine.session().kind;
        for exchange in exchanges {
            let [request_bytes, reply_bytes] = match kind {
                UserKind::Http | UserKind::Video => {
                    let (head, body_bytes) =
                        request_head(exchange.request_bytes, exchange.reply_bytes);
                    let (reply_head, reply_body_bytes) = reply_head(exchange.reply_bytes);
                    let request_bytes = head.len() as u64 + body_bytes;
                    self.send_buffer.push(head, filler::BODY, body_bytes);
                    self.replies
                        .expect(ExpectedReply::File(exchange.reply_bytes));
                    [request_bytes, reply_head.len() as u64 + reply_body_bytes]
                }
                UserKind::Telnet => {
                    if self.scripted_keystrokes == 0 {
                        let (script, keystrokes) = self.scripts.next().unwrap_or_default();
                        self.scripted_keystrokes = keystrokes;
                        sums.script_bytes += script.len() as u64;
                        self.send_buffer.push(script, filler::KEYSTROKE, 0);
                    }
                    self.scripted_keystrokes = self.scripted_keystrokes.saturating_sub(1);
                    let key_bytes = u64::from(exchange.request_bytes);
                    self.send_buffer
                        .push(Vec::new(), filler::KEYSTROKE, key_bytes);
                    self.replies
                        .expect(ExpectedReply::Echo(exchange.reply_bytes));
                    [key_bytes, exchange.reply_bytes.into()]
                }
            };
            sums.add(exchange, request_bytes, reply_bytes);
            self.reply_bytes.push_back(reply_bytes);
        }
        self.shared.tally(self.load, |users| sums.add_to(users));
    }

    /// Sends pending data and waits for all replies.
    async fn await_replies(&mut self) -> Result<(), Failure> {
        while !self.replies.is_empty() {
            self.process_io(None).await?;
        }
        Ok(())
    }

    /// Sends or receives once, or waits until `until`, but at most for the timeout of a reply.
    async fn process_io(&mut self, until: Option<Instant>) -> Result<(), Failure> {
        let patience = seconds(self.shared.options.timeout_s);
        let give_up = self
            .state_machine
            .oldest_request_time()
            .map(Instant::from_std);
        let give_up = give_up.map(|asked| asked.max(self.last_reply_at) + patience);
        let wake = match (until, give_up) {
            (Some(until), Some(give_up)) => until.min(give_up),
            (Some(time), None) | (None, Some(time)) => time,
            (None, None) => return Ok(()),
        };
        let sending = !self.send_buffer.is_empty();
        let (mut reader, mut writer) = self.stream.split();
        tokio::select! {
            biased;
            read = reader.read(&mut self.input) => {
                let now = Instant::now();
                let length = read.map_err(|error| Failure::of_io(&error))?;
                self.received(length, now)
            }
            written = writer.write(self.send_buffer.chunk()), if sending => {
                let written = written.map_err(|error| Failure::of_io(&error))?;
                self.send_buffer.advance(written);
                Ok(())
            }
            () = sleep_until(wake) => match give_up {
                Some(give_up) if give_up <= wake => Err(Failure::Timeout),
                _ => Ok(()),
            },
        }
    }

    fn received(&mut self, length: usize, now: Instant) -> Result<(), Failure> {
        if length == 0 {
            return Err(Failure::CutShort);
        }
        let input = self.input.get(..length).unwrap_or_default();
        let complete = self.replies.feed(input)?;
        if complete == 0 {
            return Ok(());
        }
        self.last_reply_at = now;
        for _ in 0..complete {
            let Some(answered) = self.state_machine.on_reply(now.into_std()) else {
                break;
            };
            let (waits, pause_s) = (answered.waits, answered.action.pause_s);
            let asks = answered.action.requests.to_vec();
            let reply_bytes = self.reply_bytes.pop_front().unwrap_or_default();
            self.shared.tally(self.load, |users| {
                users.reply_bytes += reply_bytes;
                for (kind, since) in waits.into_iter().flatten() {
                    let wait_s = (now.into_std() - since).as_secs_f64();
                    users.waits.push(kind, wait_s);
                }
            });
            self.send_requests(&asks);
            self.schedule_next_turn(now, pause_s);
        }
        Ok(())
    }

    /// Checks that the server has not sent more than requested.
    fn check_no_extra_data(&mut self) -> Result<(), Failure> {
        match self.stream.try_read(&mut self.input) {
            Ok(length) if length > 0 => Err(Failure::Surplus),
            _ => Ok(()),
        }
    }
}

/// Totals of several exchanges.
#[derive(Default)]
struct Sums {
    requests: u64,
    request_bytes: u64,
    script_bytes: u64,
    lengthened: u64,
}

impl Sums {
    fn add(&mut self, exchange: &Exchange, request_bytes: u64, reply_bytes: u64) {
        let longer = request_bytes > u64::from(exchange.request_bytes)
            || reply_bytes > u64::from(exchange.reply_bytes);
        self.requests += 1;
        self.request_bytes += request_bytes;
        self.lengthened += u64::from(longer);
    }

    fn add_to(self, users: &mut Users) {
        users.requests += self.requests;
        users.request_bytes += self.request_bytes;
        users.script_bytes += self.script_bytes;
        users.padded_messages += self.lengthened;
    }
}

/// Returns the scripts of a session, each with its number of keystrokes.
fn scripts(turns: &[Turn]) -> Vec<(Vec<u8>, u64)> {
    let mut runs: Vec<KeystrokeRun> = Vec::new();
    for exchange in turns.iter().flat_map(|turn| &turn.exchanges) {
        match runs.last_mut() {
            Some(run)
                if run.keystroke_bytes == exchange.request_bytes
                    && run.echo_bytes == exchange.reply_bytes =>
            {
                run.keystrokes += 1;
            }
            _ => runs.push(KeystrokeRun {
                keystrokes: 1,
                keystroke_bytes: exchange.request_bytes,
                echo_bytes: exchange.reply_bytes,
            }),
        }
    }
    let script = |runs: &[KeystrokeRun]| {
        let mut script = Vec::new();
        write_script(runs, &mut script);
        (
            script,
            runs.iter().map(|run| u64::from(run.keystrokes)).sum(),
        )
    };
    runs.chunks(MAX_RUNS as usize).map(script).collect()
}
