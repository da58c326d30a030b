//! TCP transfers over real sockets.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netflow_network::ConnectionSpec;
use netflow_testbed::network::EmulatedNetwork;
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep_until, timeout_at};

use crate::emulation::{ActivePeriod, Error};
use crate::feasibility::payload_bytes;

/// Discard port (RFC 863).
const PORT: u16 = 9;

/// Bytes per write and per read.
const CHUNK_BYTES: usize = 64 << 10;

/// All transfers of a scenario.
#[derive(Debug)]
pub(crate) struct TcpTransfers {
    runtime: Option<Runtime>,
    /// Index of the pair, the receive window that its receivers announce in bytes, and the socket.
    listeners: Vec<(usize, Option<u32>, TcpListener)>,
    transfers: Vec<Transfer>,
}

#[derive(Debug)]
struct Transfer {
    socket: Socket,
    to: SocketAddr,
    active_period: ActivePeriod,
    /// Bytes to send; `None` for an unlimited transfer.
    bytes: Option<u64>,
}

impl TcpTransfers {
    pub fn new() -> Result<TcpTransfers, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("transfers")
            .enable_all()
            .build()
            .map_err(Error::socket("start a thread for transfers"))?;
        Ok(TcpTransfers {
            runtime: Some(runtime),
            listeners: Vec::new(),
            transfers: Vec::new(),
        })
    }

    /// Adds a transfer of the connection with index `pair`.
    pub fn add(
        &mut self,
        network: &EmulatedNetwork,
        pair: usize,
        spec: &ConnectionSpec,
        active_period: ActivePeriod,
    ) -> Result<(), Error> {
        let doing = || format!("open a socket for connection {}", spec.name);
        let ends = &network.plan().pairs[pair];
        let [from, to] = ends
            .addresses
            .map(|address| SocketAddrV4::new(address, PORT));
        let [sender, receiver] = ends.hosts;
        if self.listeners.last().is_none_or(|&(last, ..)| last != pair) {
            let listener = network.run_in(receiver, || -> io::Result<TcpListener> {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
                socket.set_reuse_address(true)?;
                if let Some(window_bytes) = ends.tcp.receive_window_bytes {
                    fix_receive_buffer(&socket, window_bytes)?;
                }
                socket.bind(&SocketAddr::from(to).into())?;
                socket.listen(i32::try_from(spec.count).unwrap_or(i32::MAX).min(4096))?;
                socket.set_nonblocking(true)?;
                Ok(socket.into())
            })?;
            let listener = listener.map_err(Error::socket(doing()))?;
            let window_bytes = ends.tcp.receive_window_bytes;
            self.listeners.push((pair, window_bytes, listener));
        }
        let socket = network.run_in(sender, || -> io::Result<Socket> {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
            socket.bind(&SocketAddr::from((*from.ip(), 0)).into())?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        })?;
        self.transfers.push(Transfer {
            socket: socket.map_err(Error::socket(doing()))?,
            to: to.into(),
            active_period,
            bytes: spec
                .size_pkts
                .map(|pkts| (pkts * payload_bytes(spec)).round() as u64),
        });
        Ok(())
    }

    /// Accepts connections and adds the bytes that the receivers read to the counter of their pair.
    pub fn listen(&mut self, read_bytes: &Arc<[AtomicU64]>) -> Result<(), Error> {
        let Some(runtime) = &self.runtime else {
            return Ok(());
        };
        let _inside = runtime.enter();
        for (pair, window_bytes, listener) in self.listeners.drain(..) {
            let listener = tokio::net::TcpListener::from_std(listener)
                .map_err(Error::socket("wait for transfers"))?;
            let read_bytes = read_bytes.clone();
            runtime.spawn(async move {
                // A connection that fails before it is accepted does not end the loop.
                loop {
                    if let Ok((stream, _)) = listener.accept().await {
                        let read_bytes = read_bytes.clone();
                        tokio::spawn(receive(stream, window_bytes, pair, read_bytes));
                    }
                }
            });
        }
        Ok(())
    }

    /// Starts every transfer at its start time.
    pub fn start(&mut self, began: Instant) -> Result<(), Error> {
        if let Some(runtime) = &self.runtime {
            for transfer in self.transfers.drain(..) {
                runtime.spawn(send(transfer, began));
            }
        }
        Ok(())
    }
}

impl Drop for TcpTransfers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Transfers in progress are abandoned.
            runtime.shutdown_background();
        }
    }
}

// Socket option for the largest window that a socket announces, in bytes.
sockopt_impl!(
    WindowClamp,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    u32
);

/// Sets a fixed receive buffer that contains this window on a listening socket. With a buffer that grows,
/// the kernel would raise the window.
fn fix_receive_buffer(socket: &Socket, window_bytes: u32) -> io::Result<()> {
    // Small packets occupy several times their data bytes.
    let wanted = 65_536 + 4 * window_bytes as usize;
    if set_socket_recv_buffer_size_force(socket, wanted).is_err() {
        // Without root rights on the machine the limit is `net.core.rmem_max`.
        socket.set_recv_buffer_size(wanted)?;
    }
    let given = socket.recv_buffer_size()?;
    if given < wanted {
        return Err(io::Error::other(format!(
            "a window of {window_bytes} B needs a receive buffer of {wanted} B, but without root \
             the limit is {given} B (net.core.rmem_max)"
        )));
    }
    Ok(())
}

async fn receive(
    stream: TcpStream,
    window_bytes: Option<u32>,
    pair: usize,
    read_bytes: Arc<[AtomicU64]>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut chunk) {
            Ok(0) => return,
            Ok(bytes) => {
                read_bytes[pair].fetch_add(bytes as u64, Ordering::Relaxed);
                // The kernel resets the window whenever its estimate of the packet size changes (Linux
                // 6.18).
                if let Some(window_bytes) = window_bytes {
                    let _ = setsockopt(&stream, WindowClamp, &window_bytes);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Runs one transfer. A transfer that fails, for example by a reset or unanswered SYNs, ends silently.
async fn send(transfer: Transfer, began: Instant) {
    let at = |s: f64| tokio::time::Instant::from_std(began + Duration::from_secs_f64(s));
    sleep_until(at(transfer.active_period.start_s)).await;
    let socket = tokio::net::TcpSocket::from_std_stream(transfer.socket.into());
    let work = async {
        let stream = socket.connect(transfer.to).await?;
        write(&stream, transfer.bytes).await?;
        Ok::<TcpStream, io::Error>(stream)
    };
    match transfer.active_period.stop_s {
        None => {
            if let Ok(stream) = work.await {
                close(stream, transfer.bytes).await;
            }
        }
        // At the stop time, unsent data is discarded.
        Some(stop_s) => {
            if let Ok(Ok(stream)) = timeout_at(at(stop_s), work).await {
                close(stream, transfer.bytes).await;
            }
        }
    }
}

async fn write(stream: &TcpStream, bytes: Option<u64>) -> io::Result<()> {
    // A connection that is dropped before its end is reset, so that it sends nothing more.
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))?;
    let chunk = vec![0; CHUNK_BYTES];
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        stream.writable().await?;
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match stream.try_write(&chunk[..most]) {
            Ok(written) if bytes.is_some() => left -= written as u64,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes a finite transfer after its last write: the kernel sends the remaining data and then the FIN.
async fn close(stream: TcpStream, bytes: Option<u64>) {
    if bytes.is_some() {
        let _ = socket2::SockRef::from(&stream).set_linger(None);
        drop(stream);
    }
}
