//! TCP server of the benchmark.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::connection_slots::ConnectionSlots;
use crate::counts::{DropReason, Served, lock};
use crate::error::Error;
use crate::server_connection::serve;

/// Address and limits of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen at. The default is loopback, so that only this machine is served.
    pub address: IpAddr,
    /// Port; 0 for any free port.
    pub port: u16,
    /// Congestion control of replies; `None` for the system's default.
    pub congestion: Option<String>,
    /// Limits for peers.
    pub limits: Limits,
}

impl ServerOptions {
    /// Default port.
    pub const PORT: u16 = 4050;
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: Self::PORT,
            congestion: None,
            limits: Limits::default(),
        }
    }
}

/// Limits for peers.
///
/// # Memory of a connection
///
/// Measured on Linux 6.18 with 900 connections over loopback (100 of those that read before). Each asks
/// for a gigabyte and does not read it. The columns are socket memory at the server's end (`ss -m`) and
/// the growth of the process (`VmRSS`).
///
/// | a connection that reads nothing | of the system | of the process |
/// |---|---|---|
/// | from its first request on | 115 KB | 51 KB |
/// | after having read 20 MB | 175 KB | 51 KB |
/// | and goes on asking | 110 KB more | 51 KB; 100 KB for the longest script, or the shortest replies |
///
/// So 1024 connections take 170 MB, and 400 MB in the worst case. With Linux's defaults each took 2.4 MB
/// of kernel memory, and 4.1 MB after having read.
///
/// The kernel keeps at most 128 KB of unsent replies (`TCP_NOTSENT_LOWAT`, plus up to one segment of 64
/// KB). It keeps 64 KB of unread requests (`SO_RCVBUF`, which Linux doubles for its own overhead). The
/// send buffer (`SO_SNDBUF`) keeps Linux's default, because its limit also limits the window. For
/// example, 128 KB every 400 ms are 2.6 Mbit/s, so response times over long links would differ from a
/// model of the same TCP. With and without these limits, 20 MB took 5.76 s over an emulated link with
/// 200 ms one-way delay and 155.52 Mbit/s. So data sent but not acknowledged is additional: up to the
/// maximum of `tcp_wmem` (4 MB) while it is in flight, and for `reply_s` if it is never acknowledged.
/// Requests have a window of 64 KB, which is Linux's initial window; requests of workloads are shorter.
/// On other systems the limit on unsent replies is the system's default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum number of simultaneous connections. One address has at most a quarter of the slots, where
    /// an IPv6 /64 network counts as one address. All users of this machine connect from loopback, which
    /// may use all slots.
    ///
    /// If all slots are taken, the longest silent connection is closed. First candidates are peers that
    /// never sent anything, then peers that were silent for `first_byte_s`. If there are none, the new
    /// connection is dropped.
    pub connections: usize,
    /// Maximum length of a request or a reply, in bytes.
    pub message_bytes: u32,
    /// Maximum time from the first byte of a request to its last, in seconds, in addition to the time
    /// that `min_bytes_per_s` allows.
    pub request_s: f64,
    /// Maximum time in which a peer accepts no data of a reply, in seconds. Linux enforces it
    /// (`TCP_USER_TIMEOUT`). On other systems, or if the peer accepts data now and then, the limit applies
    /// to each 128 KB. The time that `min_bytes_per_s` allows is then added.
    pub reply_s: f64,
    /// Minimum rate at which a peer sends a long request or reads a long reply, in bytes/s.
    pub min_bytes_per_s: f64,
    /// Maximum time from the connection to its first byte, in seconds.
    pub first_byte_s: f64,
    /// Maximum time without a request, in seconds.
    pub idle_s: f64,
    /// Maximum duration of a connection, in seconds.
    pub lifetime_s: f64,
}

impl Default for Limits {
    /// Returns limits that suit all workloads. Users send as soon as they are connected; the first byte
    /// may be lost three times in a row (1, 2 and 4 s). Users think for up to a quarter of an hour. The
    /// message length is the maximum of a workload.
    fn default() -> Self {
        Self {
            connections: 1024,
            message_bytes: 1 << 30,
            request_s: 60.0,
            reply_s: 120.0,
            min_bytes_per_s: 100.0,
            first_byte_s: 10.0,
            idle_s: 1200.0,
            lifetime_s: 86_400.0,
        }
    }
}

/// Interval of the checks whether to stop, and time for users who are about to leave at the end.
const TICK: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_millis(200);
/// Time for an evicted connection to close.
const MOMENT: Duration = Duration::from_millis(1);

/// A listening server.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    limits: Limits,
}

impl Server {
    /// Listens. Connections are accepted from now on, and served once the server [runs](Self::run).
    ///
    /// # Errors
    /// If the address, the port or the congestion control is not available.
    pub fn bind(options: ServerOptions) -> Result<Server, Error> {
        let address = SocketAddr::new(options.address, options.port);
        let cannot_listen = |source| Error::Listen { address, source };
        let domain = Domain::for_address(address);
        let socket =
            Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).map_err(cannot_listen)?;
        // A server can reuse the port of one that was just stopped.
        #[cfg(unix)]
        socket.set_reuse_address(true).map_err(cannot_listen)?;
        set_congestion(&socket, options.congestion.as_deref())?;
        bound_buffers(&socket).map_err(cannot_listen)?;
        socket.bind(&address.into()).map_err(cannot_listen)?;
        socket.listen(1024).map_err(cannot_listen)?;
        socket.set_nonblocking(true).map_err(cannot_listen)?;
        let listener = std::net::TcpListener::from(socket);
        let address = listener.local_addr().map_err(cannot_listen)?;
        Ok(Server {
            listener,
            address,
            limits: options.limits,
        })
    }

    /// Returns the address with the chosen port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves in this thread until `stop`, which is called 50 times a second, returns `true`.
    ///
    /// # Errors
    /// If sockets cannot be polled.
    pub fn run(self, stop: &dyn Fn() -> bool) -> Result<Served, Error> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::System)?;
        runtime.block_on(self.serve(stop)).map_err(Error::System)
    }

    async fn serve(self, stop: &dyn Fn() -> bool) -> std::io::Result<Served> {
        let listener = TcpListener::from_std(self.listener)?;
        let served = Arc::new(Mutex::new(Served::default()));
        let quiet = seconds(self.limits.first_byte_s);
        let slots = ConnectionSlots::new(self.limits.connections, quiet);
        let mut connections = JoinSet::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    if stop() {
                        break;
                    }
                }
                Some(ended) = connections.join_next(), if !connections.is_empty() => {
                    count(&served, ended);
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        lock(&served).accepted += 1;
                        match slots.take(peer.ip(), Instant::now()) {
                            Ok(slot) => {
                                let limits = self.limits;
                                connections.spawn(serve(stream, slot, limits, served.clone()));
                            }
                            Err(reason) => lock(&served).count_drop(reason),
                        }
                    }
                    // Most likely there are no free descriptors, and a new connection waits for one: the
                    // system allows fewer connections than the limit.
                    Err(_) => {
                        if slots.evict_silent(Instant::now()) {
                            sleep(MOMENT).await;
                        } else {
                            lock(&served).count_drop(DropReason::System);
                            sleep(TICK).await;
                        }
                    }
                },
            }
        }
        drop(listener);
        let mut grace = pin!(sleep(GRACE));
        while !connections.is_empty() {
            tokio::select! {
                Some(ended) = connections.join_next() => count(&served, ended),
                () = &mut grace => {
                    (0..connections.len()).for_each(|_| lock(&served).count_drop(DropReason::Stopped));
                    connections.shutdown().await;
                }
            }
        }
        let served = lock(&served).clone();
        Ok(served)
    }
}

fn count(served: &Mutex<Served>, ended: Result<Result<(), DropReason>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => lock(served).count_drop(reason),
        Err(_) => lock(served).count_drop(DropReason::System),
    }
}

/// Maximum bytes of unsent replies that the kernel keeps.
pub(crate) const UNSENT_BYTES: u32 = 128 << 10;

/// Limits the kernel memory of each connection that a socket will accept.
///
/// Data that is sent and not acknowledged is not limited, because that is the window, which must be able
/// to grow on a long link.
fn bound_buffers(socket: &Socket) -> std::io::Result<()> {
    /// Receive buffer in bytes. Linux starts with it once it doubles the number, so it does not grow.
    const UNREAD_BYTES: usize = 64 << 10;
    if socket.recv_buffer_size()? > UNREAD_BYTES {
        socket.set_recv_buffer_size(UNREAD_BYTES)?;
    }
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(())
}

/// Sets a socket's congestion control, if one is given.
pub(crate) fn set_congestion(socket: &Socket, name: Option<&str>) -> Result<(), Error> {
    let Some(name) = name else {
        return Ok(());
    };
    #[cfg(target_os = "linux")]
    let set = socket.set_tcp_congestion(name.as_bytes());
    #[cfg(not(target_os = "linux"))]
    let set = {
        let _ = socket;
        Err(std::io::ErrorKind::Unsupported.into())
    };
    set.map_err(|source| Error::Congestion {
        name: name.to_owned(),
        source,
    })
}

/// Converts seconds to a duration of at most a year, so that it can be added to the current time.
pub(crate) fn seconds(s: f64) -> Duration {
    const YEAR_S: f64 = 31_557_600.0;
    // `f64::min` returns the other operand for NaN.
    Duration::try_from_secs_f64(s.min(YEAR_S)).unwrap_or_default()
}
