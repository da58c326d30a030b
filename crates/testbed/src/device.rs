//! TUN device at one end of a link, with the TCP settings of its namespace.

use std::net::Ipv4Addr;
use std::{fs, io};

use tun_rs::{DeviceBuilder, SyncDevice};

use crate::namespace::Namespace;
use crate::netlink::Metrics;
use crate::stack::StackOptions;
use crate::{End, Error, netlink};

/// Name of the device, at both ends.
pub(crate) const DEVICE_NAME: &str = "netflow0";

/// Queue of the device in packets, large enough that no loss occurs before the emulator reads them.
const DEVICE_QUEUE_PKTS: u32 = 10_000;

/// Returns the address of an end.
pub fn address(end: End) -> Ipv4Addr {
    match end {
        End::A => Ipv4Addr::new(10, 77, 0, 1),
        End::B => Ipv4Addr::new(10, 77, 0, 2),
    }
}

/// Creates the device of this end in its namespace. Applies the TCP settings of `stack` to the namespace,
/// if given.
pub(crate) fn open(
    namespace: &Namespace,
    end: End,
    mtu: u16,
    stack: Option<&StackOptions>,
) -> Result<SyncDevice, Error> {
    namespace.run(|| open_in_current_namespace(end, mtu, stack))?
}

fn open_in_current_namespace(
    end: End,
    mtu: u16,
    stack: Option<&StackOptions>,
) -> Result<SyncDevice, Error> {
    let who = format!("end {end}");
    let (device, index) = create(mtu, stack, &who)?;
    let failed = |doing: &str| {
        let doing = format!("{doing} of {who}");
        move |error: io::Error| Error::system(doing.clone(), error)
    };
    let (own, peer) = (address(end), address(end.other()));
    netlink::add_address(index, own).map_err(failed("set the address"))?;
    let metrics = Metrics {
        congestion: stack.map(|stack| &*stack.congestion_control),
        initial_window: stack.and_then(|stack| stack.initial_window),
        ..Metrics::default()
    };
    netlink::add_route(index, own, peer, &metrics).map_err(failed("set the route"))?;
    Ok(device)
}

/// Creates the device in the calling thread's namespace and brings it up. Applies the TCP settings of
/// `stack`, if given. Returns the device and its interface index.
pub(crate) fn create(
    mtu: u16,
    stack: Option<&StackOptions>,
    who: &str,
) -> Result<(SyncDevice, u32), Error> {
    if let Some(stack) = stack {
        prepare(stack)?;
    }
    let device = DeviceBuilder::new()
        .name(DEVICE_NAME)
        .mtu(mtu)
        .build_sync()
        .map_err(|error| Error::unavailable("TUN devices (/dev/net/tun) are", error))?;
    let failed = |doing: &str| {
        let doing = format!("{doing} of {who}");
        move |error: io::Error| Error::system(doing.clone(), error)
    };
    device
        .set_nonblocking(true)
        .map_err(failed("set up the device"))?;
    let index = device.if_index().map_err(failed("find the device"))?;
    netlink::bring_up(index, Some(DEVICE_QUEUE_PKTS)).map_err(failed("bring up the device"))?;
    Ok((device, index))
}

/// Prepares the namespace before the link comes up.
fn prepare(stack: &StackOptions) -> Result<(), Error> {
    for scope in ["all", "default"] {
        // Kernels without IPv6 lack this file.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    netlink::bring_up(1, None)
        .map_err(|error| Error::system("bring up the loopback device", error))?;
    check_congestion_control(&stack.congestion_control)?;
    for (name, value) in stack.settings() {
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(|error| {
            Error::unavailable(format!("the setting net.ipv4.{name} is"), error)
        })?;
    }
    // Routes over the link set it themselves; this covers other connections, if allowed.
    let _ = fs::write(
        "/proc/sys/net/ipv4/tcp_congestion_control",
        &stack.congestion_control,
    );
    Ok(())
}

/// Returns the congestion controls of this kernel.
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn congestion_controls() -> Result<Vec<String>, Error> {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = fs::read_to_string(file)
        .map_err(|error| Error::unavailable("a list of congestion controls is", error))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Checks that this kernel has a congestion control.
///
/// # Errors
/// [`Error::UnknownCongestionControl`] with the available ones.
pub fn check_congestion_control(name: &str) -> Result<(), Error> {
    let available = congestion_controls()?;
    if available.iter().any(|known| known == name) {
        return Ok(());
    }
    let names = available.iter().map(String::as_str);
    let nearest = netflow_units::nearest_name(name, names, &[]).map(str::to_owned);
    Err(Error::UnknownCongestionControl {
        name: name.to_owned(),
        nearest,
        available,
    })
}

/// Returns the packets that the calling thread's namespace dropped because the emulator did not read them
/// in time.
pub(crate) fn unread_drops() -> u64 {
    let read = || {
        let text = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        let line = text.lines().find_map(|line| {
            line.trim_start()
                .strip_prefix(DEVICE_NAME)?
                .strip_prefix(':')
        })?;
        // The first eight columns count receiving; drops are the fourth column of sending.
        line.split_whitespace().nth(11)?.parse().ok()
    };
    read().unwrap_or(0)
}
