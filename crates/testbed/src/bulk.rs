//! Bulk TCP transfers of a fixed duration.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::{End, Error, Testbed};

/// Discard port (RFC 863).
const PORT: u16 = 9;

/// Bytes per write.
const CHUNK_BYTES: usize = 64 << 10;

/// Sends from A to B over TCP for the duration `time`. Returns the bytes that B has received by then.
///
/// # Errors
/// The error of a socket; [`ErrorKind::TimedOut`] if no connection was established within `time`.
pub fn transfer(testbed: &Testbed, time: Duration) -> io::Result<u64> {
    let end = Instant::now() + time;
    let place = SocketAddr::from((testbed.address(End::B), PORT));
    let inside = |error: Error| io::Error::other(error);
    let listener = testbed
        .run_in(End::B, || TcpListener::bind(place))
        .map_err(inside)??;
    let mut sender = testbed
        .run_in(End::A, || TcpStream::connect_timeout(&place, time))
        .map_err(inside)??;
    let (mut receiver, _) = listener.accept()?;
    sender.set_write_timeout(Some(Duration::from_millis(100)))?;
    receiver.set_read_timeout(Some(Duration::from_millis(100)))?;
    thread::scope(|scope| {
        scope.spawn(|| {
            let piece = [0; CHUNK_BYTES];
            while Instant::now() < end {
                match sender.write(&piece) {
                    Err(error) if !would_block(&error) => break,
                    _ => {}
                }
            }
            // The link may already be removed.
            let _ = sender.shutdown(Shutdown::Both);
        });
        let mut piece = [0; CHUNK_BYTES];
        let mut received = 0;
        while Instant::now() < end {
            match receiver.read(&mut piece) {
                Ok(0) => break,
                Ok(bytes) => received += bytes as u64,
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(received)
    })
}

fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
