//! The server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::connection::serve;
use crate::counts::{Reason, Served, lock};
use crate::error::Error;
use crate::places::Places;

/// Where to listen, and what to allow.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address; by default loopback, so that nobody else's machine is served.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The congestion control of replies; the system's if not given.
    pub congestion: Option<String>,
    /// What peers are allowed.
    pub limits: Limits,
}

impl ServerOptions {
    /// The port unless another is given.
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

/// What peers are allowed.
///
/// # What a connection takes
///
/// Measured with Linux 6.18, 900 connections over loopback (100 where they read before) that ask for a
/// gigabyte and do not read it: memory of sockets at the server's end, as `ss -m` tells, and what the
/// process grows by (`VmRSS`).
///
/// | a connection that reads nothing | of the system | of the process |
/// |---|---|---|
/// | from its first request on | 115 KB | 51 KB |
/// | after having read 20 MB | 175 KB | 51 KB |
/// | and goes on asking | 110 KB more | 51 KB; 100 KB for the longest script, or the shortest replies |
///
/// So 1024 of them take 170 MB, and 400 MB at the worst. With Linux's own settings they took 2.4 MB of
/// the system each, and 4.1 MB after having read.
///
/// The system keeps at most 128 KB of replies that it has not sent (`TCP_NOTSENT_LOWAT`, and up to a
/// segment of 64 KB more), and 64 KB of requests that were not read (`SO_RCVBUF`, which Linux doubles
/// for what it needs itself). The send buffer (`SO_SNDBUF`) stays Linux's: to bound it is to bound
/// the window, and 128 KB every 400 ms are 2.6 Mbit/s, so that waits over long links would be other
/// than a model's of the same TCP. (20 MB over an emulated link of 200 ms each way and 155.52 Mbit/s
/// took 5.76 s with these bounds and without.) So what was sent and is not acknowledged comes on top,
/// up to the most of `tcp_wmem` (4 MB), while it is under way, and for `reply_s` if it is never
/// acknowledged. Requests do have a window of 64 KB, which is what Linux begins with; those of
/// workloads are shorter. Other systems keep of replies what they are set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Connections at a time. One address has at most a quarter of these places, a network of 64 bits
    /// counting as one address of version 6; all users of this machine come from loopback, which may
    /// have all of them.
    ///
    /// When there are no more, who has been silent for longest gives way: first who has never sent
    /// anything, then who was silent for `first_byte_s`. If nobody was, who comes is dropped.
    pub connections: usize,
    /// Length of a request or a reply, in bytes.
    pub message_bytes: u32,
    /// How long a request may take from its first byte to its last, in seconds; besides what
    /// `slowest_bytes_per_s` allows.
    pub request_s: f64,
    /// How long a peer may take nothing of what it is sent, in seconds. This is the system's to tell
    /// (`TCP_USER_TIMEOUT`). Where it does not, as on other systems than Linux, or where something is
    /// taken now and then, each 128 KB have to be taken in so long, besides what
    /// `slowest_bytes_per_s` allows.
    pub reply_s: f64,
    /// The slowest that a peer may send a long request, or read a long reply.
    pub slowest_bytes_per_s: f64,
    /// How long after connecting a first byte may take, in seconds.
    pub first_byte_s: f64,
    /// How long nothing may be asked for, in seconds.
    pub idle_s: f64,
    /// How long a connection may last, in seconds.
    pub lifetime_s: f64,
}

impl Default for Limits {
    /// Users send as soon as they are connected, which is to survive three losses in a row (1, 2 and
    /// 4 s), and think up to a quarter of an hour; messages are as long as workloads may make them.
    fn default() -> Self {
        Self {
            connections: 1024,
            message_bytes: 1 << 30,
            request_s: 60.0,
            reply_s: 120.0,
            slowest_bytes_per_s: 100.0,
            first_byte_s: 10.0,
            idle_s: 1200.0,
            lifetime_s: 86_400.0,
        }
    }
}

/// Looks this often whether to stop, and waits this long for users who are about to leave then.
const TICK: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_millis(200);
/// How long a connection that gives way takes to be closed.
const MOMENT: Duration = Duration::from_millis(1);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    limits: Limits,
}

impl Server {
    /// Listens; connections are accepted from now on, and served once it [runs](Self::run).
    ///
    /// # Errors
    /// If the address or port cannot be had, or the congestion control.
    pub fn bind(options: ServerOptions) -> Result<Server, Error> {
        let address = SocketAddr::new(options.address, options.port);
        let cannot_listen = |source| Error::Listen { address, source };
        let domain = Domain::for_address(address);
        let socket =
            Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).map_err(cannot_listen)?;
        // A server that was just stopped does not keep its port from the next one.
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

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves, in this thread, until `stop` says so: it is asked fifty times a second.
    ///
    /// # Errors
    /// If the system has no means left to wait for sockets.
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
        let places = Places::new(self.limits.connections, quiet);
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
                        match places.take(peer.ip(), Instant::now()) {
                            Ok(place) => {
                                let limits = self.limits;
                                connections.spawn(serve(stream, place, limits, served.clone()));
                            }
                            Err(reason) => lock(&served).drop_for(reason),
                        }
                    }
                    // Out of descriptors, most likely, and who comes waits for one: the system has
                    // fewer places than there were to be.
                    Err(_) => {
                        if places.make_room(Instant::now()) {
                            sleep(MOMENT).await;
                        } else {
                            lock(&served).drop_for(Reason::System);
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
                    (0..connections.len()).for_each(|_| lock(&served).drop_for(Reason::Stopped));
                    connections.shutdown().await;
                }
            }
        }
        let served = lock(&served).clone();
        Ok(served)
    }
}

fn count(served: &Mutex<Served>, ended: Result<Result<(), Reason>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => lock(served).drop_for(reason),
        Err(_) => lock(served).drop_for(Reason::System),
    }
}

/// Bytes that the system keeps of replies before it has sent them.
pub(crate) const UNSENT_BYTES: u32 = 128 << 10;

/// Bounds what the system keeps for each connection that a socket will accept.
///
/// What was sent and not acknowledged is not bounded here: that is the window, which on a long link
/// is to become as large as the stack lets it.
fn bound_buffers(socket: &Socket) -> std::io::Result<()> {
    /// What Linux begins with, when it doubles the number; so it does not grow.
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

/// At most a year, so that it can be added to now.
pub(crate) fn seconds(s: f64) -> Duration {
    const YEAR_S: f64 = 31_557_600.0;
    // The smaller is chosen where one is no number.
    Duration::try_from_secs_f64(s.min(YEAR_S)).unwrap_or_default()
}
