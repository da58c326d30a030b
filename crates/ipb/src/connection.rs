//! Server side of one connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use netflow_workload::Kind;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::counts::{Reason, Served, Traffic, lock};
use crate::outbox::Outbox;
use crate::places::Place;
use crate::protocol::{Asked, Parser, filler, reply_head};
use crate::server::{Limits, UNSENT_BYTES, seconds};

/// Serves one connection until it ends.
pub async fn serve(
    mut stream: TcpStream,
    place: Place,
    limits: Limits,
    served: Arc<Mutex<Served>>,
) -> Result<(), Reason> {
    stream.set_nodelay(true).map_err(|e| reason(&e))?;
    // A whole reply may be in the kernel's send buffer, where no write times out.
    #[cfg(target_os = "linux")]
    SockRef::from(&stream)
        .set_tcp_user_timeout(Some(seconds(limits.reply_s)))
        .map_err(|e| reason(&e))?;
    let mut connection = Connection {
        parser: Parser::new(limits.message_bytes),
        outbox: Outbox::default(),
        kind: None,
        unsent: Traffic::default(),
        place: &place,
        spoke: false,
        limits,
        served,
    };
    let end = Instant::now() + seconds(limits.lifetime_s);
    let ended = tokio::select! {
        biased;
        () = place.given_away() => Err(Reason::GaveWay),
        talk = timeout_at(end, connection.talk(&mut stream)) => talk.unwrap_or(Err(Reason::Lifetime)),
    };
    if ended.is_err() {
        // Unread data is discarded: the connection is reset.
        let _ = stream.set_zero_linger();
    }
    ended
}

struct Connection<'a> {
    parser: Parser,
    outbox: Outbox,
    /// Kind of user, once a request is complete.
    kind: Option<Kind>,
    /// Traffic of the replies in the outbox, counted once they are sent.
    unsent: Traffic,
    place: &'a Place,
    /// True if the peer has sent anything.
    spoke: bool,
    limits: Limits,
    served: Arc<Mutex<Served>>,
}

impl Connection<'_> {
    async fn talk(&mut self, stream: &mut TcpStream) -> Result<(), Reason> {
        /// Bytes of pending replies beyond which they are sent before more requests are parsed.
        const ENOUGH: u64 = 32 << 10;
        let mut buffer = vec![0; 16 << 10];
        let mut request = None;
        loop {
            let (until, late) = self.patience(&mut request);
            let read = timeout_at(until, stream.read(&mut buffer)).await;
            let length = read.map_err(|_| late)?.map_err(|e| reason(&e))?;
            if length == 0 {
                let between = self.parser.left_bytes().is_none();
                return between.then_some(()).ok_or(Reason::CutShort);
            }
            self.spoke = true;
            self.place.heard();
            let mut input = buffer.get(..length).unwrap_or_default();
            while let Some(asked) = self.parser.next(&mut input)? {
                request = None;
                self.answer(asked);
                if self.outbox.left_bytes() > ENOUGH {
                    self.send(stream).await?;
                }
            }
            self.send(stream).await?;
        }
    }

    /// Returns the deadline of the next read, and the reason for the drop if it passes. `request`
    /// contains the start and the deadline of an incomplete request; the deadline never moves earlier.
    fn patience(&self, request: &mut Option<(Instant, Instant)>) -> (Instant, Reason) {
        let now = Instant::now();
        let Some(left_bytes) = self.parser.left_bytes() else {
            *request = None;
            return match self.spoke {
                true => (now + seconds(self.limits.idle_s), Reason::Idle),
                false => (now + seconds(self.limits.first_byte_s), Reason::Silent),
            };
        };
        let (began, end) = request.unwrap_or((now, now));
        // The request's length may only now be known.
        let end = end.max(began + self.allowed(self.limits.request_s, left_bytes));
        *request = Some((began, end));
        (end, Reason::SlowRequest)
    }

    fn allowed(&self, at_least_s: f64, bytes: u64) -> Duration {
        seconds(at_least_s + bytes as f64 / self.limits.slowest_bytes_per_s)
    }

    fn answer(&mut self, asked: Asked) {
        let (head, filler, filler_bytes) = match asked.kind {
            Kind::Http | Kind::Video => {
                let (head, body_bytes) = reply_head(asked.reply_bytes);
                (head, filler::BODY, body_bytes)
            }
            Kind::Telnet => (Vec::new(), filler::ECHO, u64::from(asked.reply_bytes)),
        };
        self.unsent.connections += u64::from(self.kind.is_none());
        self.unsent.requests += 1;
        self.unsent.request_bytes += asked.request_bytes;
        self.unsent.reply_bytes += head.len() as u64 + filler_bytes;
        self.unsent.script_bytes += asked.script_bytes;
        self.kind = Some(asked.kind);
        self.outbox.push(head, filler, filler_bytes);
    }

    /// Sends all replies and counts them.
    async fn send(&mut self, stream: &mut TcpStream) -> Result<(), Reason> {
        // The kernel accepts more only after it has sent half of its unsent data.
        let patience = self.allowed(self.limits.reply_s, UNSENT_BYTES.into());
        while !self.outbox.is_empty() {
            let end = Instant::now() + patience;
            let write = timeout_at(end, stream.write(self.outbox.chunk())).await;
            let written = write
                .map_err(|_| Reason::NotReading)?
                .map_err(|e| reason(&e))?;
            self.outbox.advance(written);
            self.place.sent();
        }
        if let Some(kind) = self.kind {
            let sent = std::mem::take(&mut self.unsent);
            lock(&self.served).of(kind).add(sent);
        }
        Ok(())
    }
}

fn reason(error: &std::io::Error) -> Reason {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => Reason::Reset,
        // The peer did not acknowledge the data (`TCP_USER_TIMEOUT`).
        ErrorKind::TimedOut => Reason::NotReading,
        _ => Reason::System,
    }
}
