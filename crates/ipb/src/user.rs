//! One user, over one connection.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_workload::{Exchange, Kind, Session, Turn};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep_until, timeout};

use crate::Failure;
use crate::outbox::Outbox;
use crate::protocol::{MOST_RUNS, Run, filler, reply_head, request_head, write_script};
use crate::reply::{Expected, Replies};
use crate::run::{Shared, Users};
use crate::server::{seconds, set_congestion};

/// How a session ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All was done.
    Finished,
    /// The run was over before.
    Left,
}

/// Plays a session.
pub async fn play(session: Session, shared: Arc<Shared>, load: usize) -> Result<End, Failure> {
    let asked = Instant::now();
    let stream = connect(&shared).await?;
    let took = asked.elapsed();
    shared.tally(load, |users| users.waits.connect_s.push(took.as_secs_f64()));
    let mut user = User {
        stream,
        outbox: Outbox::default(),
        replies: Replies::default(),
        input: vec![0; 64 << 10],
        asked: VecDeque::new(),
        heard: Instant::now(),
        shared,
        load,
    };
    let end = match session.kind {
        Kind::Http => user.read_pages(&session.turns).await,
        Kind::Telnet => user.type_keys(&session.turns).await,
    }?;
    user.nothing_more()?;
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
    outbox: Outbox,
    replies: Replies,
    input: Vec<u8>,
    /// The requests whose replies are to come.
    asked: VecDeque<Asked>,
    /// When the last reply was complete.
    heard: Instant,
    shared: Arc<Shared>,
    load: usize,
}

struct Asked {
    at: Instant,
    kind: Kind,
    reply_bytes: u64,
}

impl User {
    async fn read_pages(&mut self, turns: &[Turn]) -> Result<End, Failure> {
        for turn in turns {
            let next = self.heard + self.shared.pause(turn.pause_s);
            if let Some(over) = self.shared.is_over_before(next) {
                sleep_until(over).await;
                return Ok(End::Left);
            }
            if next > Instant::now() {
                sleep_until(next).await;
                self.shared.was_due(next);
            }
            let began = Instant::now();
            let (first, others) = turn.exchanges.split_at(turn.exchanges.len().min(1));
            for exchanges in [first, others] {
                self.ask(exchanges);
                self.hear_all().await?;
            }
            let page_s = self.heard.duration_since(began).as_secs_f64();
            let tally = |users: &mut Users| users.waits.page_s.push(page_s);
            self.shared.tally(self.load, tally);
        }
        Ok(End::Finished)
    }

    /// Asks for files, all at once.
    fn ask(&mut self, exchanges: &[Exchange]) {
        let mut sums = Sums::default();
        for exchange in exchanges {
            let (head, body_bytes) = request_head(exchange.request_bytes, exchange.reply_bytes);
            let (reply_head, reply_body_bytes) = reply_head(exchange.reply_bytes);
            let reply_bytes = reply_head.len() as u64 + reply_body_bytes;
            sums.add(exchange, head.len() as u64 + body_bytes, reply_bytes);
            self.outbox.push(head, filler::BODY, body_bytes);
            self.expect(Expected::File(exchange.reply_bytes), reply_bytes);
        }
        self.shared.tally(self.load, |users| sums.tell(users));
        let now = Instant::now();
        self.asked.iter_mut().for_each(|asked| asked.at = now);
    }

    fn expect(&mut self, reply: Expected, reply_bytes: u64) {
        self.replies.expect(reply);
        self.asked.push_back(Asked {
            at: Instant::now(),
            kind: match reply {
                Expected::File(_) => Kind::Http,
                Expected::Echo(_) => Kind::Telnet,
            },
            reply_bytes,
        });
    }

    async fn type_keys(&mut self, turns: &[Turn]) -> Result<End, Failure> {
        let mut scripts = scripts(turns).into_iter();
        let mut scripted = 0;
        let mut next = Instant::now();
        for turn in turns {
            let pause = self.shared.pause(turn.pause_s);
            next += pause;
            let over = self.shared.is_over_before(next);
            let until = over.unwrap_or(next);
            while Instant::now() < until {
                self.event(Some(until)).await?;
            }
            if over.is_some() {
                self.hear_all().await?;
                return Ok(End::Left);
            }
            if !pause.is_zero() {
                self.shared.was_due(next);
            }
            let mut sums = Sums::default();
            for exchange in &turn.exchanges {
                if scripted == 0 {
                    let (script, keystrokes) = scripts.next().unwrap_or_default();
                    scripted = keystrokes;
                    sums.script_bytes += script.len() as u64;
                    self.outbox.push(script, filler::KEYSTROKE, 0);
                }
                scripted = scripted.saturating_sub(1);
                let (key_bytes, echo_bytes) = (exchange.request_bytes, exchange.reply_bytes);
                sums.add(exchange, key_bytes.into(), echo_bytes.into());
                let key_bytes = u64::from(key_bytes);
                self.outbox.push(Vec::new(), filler::KEYSTROKE, key_bytes);
                self.expect(Expected::Echo(echo_bytes), echo_bytes.into());
            }
            self.shared.tally(self.load, |users| sums.tell(users));
        }
        self.hear_all().await?;
        Ok(End::Finished)
    }

    /// Sends what is to be sent, and waits for all replies.
    async fn hear_all(&mut self) -> Result<(), Failure> {
        while !self.replies.is_empty() {
            self.event(None).await?;
        }
        Ok(())
    }

    /// Sends or receives something, or waits until then; at most as long as users wait for replies.
    async fn event(&mut self, until: Option<Instant>) -> Result<(), Failure> {
        let patience = seconds(self.shared.options.timeout_s);
        let give_up = self
            .asked
            .front()
            .map(|asked| asked.at.max(self.heard) + patience);
        let wake = match (until, give_up) {
            (Some(until), Some(give_up)) => until.min(give_up),
            (Some(time), None) | (None, Some(time)) => time,
            (None, None) => return Ok(()),
        };
        let sending = !self.outbox.is_empty();
        let (mut reader, mut writer) = self.stream.split();
        tokio::select! {
            biased;
            read = reader.read(&mut self.input) => {
                let now = Instant::now();
                let length = read.map_err(|error| Failure::of_io(&error))?;
                self.received(length, now)
            }
            written = writer.write(self.outbox.chunk()), if sending => {
                let written = written.map_err(|error| Failure::of_io(&error))?;
                self.outbox.advance(written);
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
        let complete = self.replies.take(input)?;
        if complete == 0 {
            return Ok(());
        }
        self.heard = now;
        let done = self.asked.drain(..complete.min(self.asked.len()));
        self.shared.tally(self.load, |users| {
            for asked in done {
                let wait_s = now.duration_since(asked.at).as_secs_f64();
                users.reply_bytes += asked.reply_bytes;
                match asked.kind {
                    Kind::Http => users.waits.file_s.push(wait_s),
                    Kind::Telnet => users.waits.echo_s.push(wait_s),
                }
            }
        });
        Ok(())
    }

    /// Whether the server has sent more than was asked for.
    fn nothing_more(&mut self) -> Result<(), Failure> {
        match self.stream.try_read(&mut self.input) {
            Ok(length) if length > 0 => Err(Failure::Surplus),
            _ => Ok(()),
        }
    }
}

/// What some exchanges ask for.
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

    fn tell(self, users: &mut Users) {
        users.requests += self.requests;
        users.request_bytes += self.request_bytes;
        users.script_bytes += self.script_bytes;
        users.lengthened += self.lengthened;
    }
}

/// The scripts of a session, each with how many keystrokes it is for.
fn scripts(turns: &[Turn]) -> Vec<(Vec<u8>, u64)> {
    let mut runs: Vec<Run> = Vec::new();
    for exchange in turns.iter().flat_map(|turn| &turn.exchanges) {
        match runs.last_mut() {
            Some(run)
                if run.keystroke_bytes == exchange.request_bytes
                    && run.echo_bytes == exchange.reply_bytes =>
            {
                run.keystrokes += 1;
            }
            _ => runs.push(Run {
                keystrokes: 1,
                keystroke_bytes: exchange.request_bytes,
                echo_bytes: exchange.reply_bytes,
            }),
        }
    }
    let script = |runs: &[Run]| {
        let mut script = Vec::new();
        write_script(runs, &mut script);
        (
            script,
            runs.iter().map(|run| u64::from(run.keystrokes)).sum(),
        )
    };
    runs.chunks(MOST_RUNS as usize).map(script).collect()
}
