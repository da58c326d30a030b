//! Server side of one connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use netflow_workload::UserKind;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::connection_slots::ConnectionSlot;
use crate::counts::{DropReason, Served, Traffic, lock};
use crate::protocol::{Parser, Request, filler, reply_head};
use crate::send_buffer::SendBuffer;
use crate::server::{Limits, UNSENT_BYTES, seconds};

/// Serves one connection until it ends.
pub async fn serve(
    mut stream: TcpStream,
    slot: ConnectionSlot,
    limits: Limits,
    served: Arc<Mutex<Served>>,
) -> Result<(), DropReason> {
    stream.set_nodelay(true).map_err(|e| drop_reason(&e))?;
    // A whole reply may be in the kernel's send buffer, where no write times out.
    #[cfg(target_os = "linux")]
    SockRef::from(&stream)
        .set_tcp_user_timeout(Some(seconds(limits.reply_s)))
        .map_err(|e| drop_reason(&e))?;
    let mut connection = Connection {
        parser: Parser::new(limits.message_bytes),
        send_buffer: SendBuffer::default(),
        kind: None,
        unsent: Traffic::default(),
        slot: &slot,
        has_sent: false,
        limits,
        served,
    };
    let end = Instant::now() + seconds(limits.lifetime_s);
    let ended = tokio::select! {
        biased;
        () = slot.evicted() => Err(DropReason::Evicted),
        talk = timeout_at(end, connection.serve_requests(&mut stream)) => talk.unwrap_or(Err(DropReason::Lifetime)),
    };
    if ended.is_err() {
        // Unread data is discarded: the connection is reset.
        let _ = stream.set_zero_linger();
    }
    ended
}

struct Connection<'a> {
    parser: Parser,
    send_buffer: SendBuffer,
    /// Kind of user, once a request is complete.
    kind: Option<UserKind>,
    /// Traffic of the replies in the outbox, counted once they are sent.
    unsent: Traffic,
    slot: &'a ConnectionSlot,
    /// True if the peer has sent anything.
    has_sent: bool,
    limits: Limits,
    served: Arc<Mutex<Served>>,
}

impl Connection<'_> {
    async fn serve_requests(&mut self, stream: &mut TcpStream) -> Result<(), DropReason> {
        /// Bytes of pending replies beyond which they are sent before more requests are parsed.
        const FLUSH_THRESHOLD_BYTES: u64 = 32 << 10;
        let mut buffer = vec![0; 16 << 10];
        let mut request = None;
        loop {
            let (until, late) = self.read_deadline(&mut request);
            let read = timeout_at(until, stream.read(&mut buffer)).await;
            let length = read.map_err(|_| late)?.map_err(|e| drop_reason(&e))?;
            if length == 0 {
                let between = self.parser.remaining_bytes().is_none();
                return between.then_some(()).ok_or(DropReason::ClosedEarly);
            }
            self.has_sent = true;
            self.slot.record_received();
            let mut input = buffer.get(..length).unwrap_or_default();
            while let Some(asked) = self.parser.next(&mut input)? {
                request = None;
                self.queue_reply(asked);
                if self.send_buffer.remaining_bytes() > FLUSH_THRESHOLD_BYTES {
                    self.send(stream).await?;
                }
            }
            self.send(stream).await?;
        }
    }

    /// Returns the deadline of the next read, and the reason for the drop if it passes. `request`
    /// contains the start and the deadline of an incomplete request; the deadline never moves earlier.
    fn read_deadline(&self, request: &mut Option<(Instant, Instant)>) -> (Instant, DropReason) {
        let now = Instant::now();
        let Some(left_bytes) = self.parser.remaining_bytes() else {
            *request = None;
            return if self.has_sent {
                (now + seconds(self.limits.idle_s), DropReason::Idle)
            } else {
                (now + seconds(self.limits.first_byte_s), DropReason::Silent)
            };
        };
        let (began, end) = request.unwrap_or((now, now));
        // The request's length may only now be known.
        let end = end.max(began + self.allowed_time(self.limits.request_s, left_bytes));
        *request = Some((began, end));
        (end, DropReason::SlowRequest)
    }

    fn allowed_time(&self, at_least_s: f64, bytes: u64) -> Duration {
        seconds(at_least_s + bytes as f64 / self.limits.min_bytes_per_s)
    }

    fn queue_reply(&mut self, asked: Request) {
        let (head, filler, filler_bytes) = match asked.kind {
            UserKind::Http | UserKind::Video => {
                let (head, body_bytes) = reply_head(asked.reply_bytes);
                (head, filler::BODY, body_bytes)
            }
            UserKind::Telnet => (Vec::new(), filler::ECHO, u64::from(asked.reply_bytes)),
        };
        self.unsent.connections += u64::from(self.kind.is_none());
        self.unsent.requests += 1;
        self.unsent.request_bytes += asked.request_bytes;
        self.unsent.reply_bytes += head.len() as u64 + filler_bytes;
        self.unsent.script_bytes += asked.script_bytes;
        self.kind = Some(asked.kind);
        self.send_buffer.push(head, filler, filler_bytes);
    }

    /// Sends all replies and counts them.
    async fn send(&mut self, stream: &mut TcpStream) -> Result<(), DropReason> {
        // The kernel accepts more only after it has sent half of its unsent data.
        let patience = self.allowed_time(self.limits.reply_s, UNSENT_BYTES.into());
        while !self.send_buffer.is_empty() {
            let end = Instant::now() + patience;
            let write = timeout_at(end, stream.write(self.send_buffer.chunk())).await;
            let written = write
                .map_err(|_| DropReason::NotReading)?
                .map_err(|e| drop_reason(&e))?;
            self.send_buffer.advance(written);
            self.slot.record_sent();
        }
        if let Some(kind) = self.kind {
            let sent = std::mem::take(&mut self.unsent);
            lock(&self.served).of(kind).add(sent);
        }
        Ok(())
    }
}

fn drop_reason(error: &std::io::Error) -> DropReason {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => DropReason::Reset,
        // The peer did not acknowledge the data (`TCP_USER_TIMEOUT`).
        ErrorKind::TimedOut => DropReason::NotReading,
        _ => DropReason::System,
    }
}
