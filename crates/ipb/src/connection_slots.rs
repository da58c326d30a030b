//! Connection slots of a server, and the eviction of silent connections when all are taken.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::counts::{DropReason, lock};

/// Connection slots of a server.
#[derive(Clone, Debug)]
pub struct ConnectionSlots(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    capacity: usize,
    min_silence: Duration,
    taken: HashMap<u64, SlotState>,
    /// Number of slots by source address, without zero entries.
    slots_by_address: HashMap<IpAddr, usize>,
    next_number: u64,
}

#[derive(Debug)]
struct SlotState {
    /// Source address that counts against a share; `None` for loopback.
    from: Option<IpAddr>,
    /// True if the peer has sent anything.
    has_sent: bool,
    /// Time of the last activity, initially of the connection.
    last_activity: Instant,
    evicted: Arc<Notify>,
}

/// A connection slot, which is freed when this is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    slots: ConnectionSlots,
    number: u64,
    evicted: Arc<Notify>,
}

impl ConnectionSlots {
    /// Creates `all` slots. A connection that has sent data keeps its slot if it was silent for less than
    /// `quiet`.
    pub fn new(all: usize, quiet: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            capacity: all,
            min_silence: quiet,
            taken: HashMap::new(),
            slots_by_address: HashMap::new(),
            next_number: 0,
        })))
    }

    /// Takes a slot for a connection from `address`, if necessary by evicting a silent connection.
    ///
    /// # Errors
    /// The reason why no slot is available.
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<ConnectionSlot, DropReason> {
        let mut state = lock(&self.0);
        let from = share_key(address);
        if from.is_some_and(|from| state.taken_from(from) >= state.share())
            && !state.evict_silent(from, now)
        {
            return Err(DropReason::TooManyFromOne);
        }
        if state.taken.len() >= state.capacity && !state.evict_silent(None, now) {
            return Err(DropReason::TooMany);
        }
        if let Some(from) = from {
            *state.slots_by_address.entry(from).or_default() += 1;
        }
        let number = state.next_number;
        state.next_number += 1;
        let evicted = Arc::new(Notify::new());
        let taken = SlotState {
            from,
            has_sent: false,
            last_activity: now,
            evicted: evicted.clone(),
        };
        state.taken.insert(number, taken);
        drop(state);
        Ok(ConnectionSlot {
            slots: self.clone(),
            number,
            evicted,
        })
    }

    /// Evicts a silent connection when the system has no resources left. Returns whether there was one.
    pub fn evict_silent(&self, now: Instant) -> bool {
        lock(&self.0).evict_silent(None, now)
    }
}

impl State {
    /// Returns the maximum number of slots of one address.
    fn share(&self) -> usize {
        self.capacity.div_ceil(4)
    }

    fn taken_from(&self, from: IpAddr) -> usize {
        self.slots_by_address.get(&from).copied().unwrap_or(0)
    }

    /// Evicts the longest silent connection, first one on which the peer never sent anything. If `from`
    /// is given, only connections from that address are candidates.
    fn evict_silent(&mut self, from: Option<IpAddr>, now: Instant) -> bool {
        let silent = self
            .taken
            .iter()
            .filter(|(_, taken)| from.is_none() || taken.from == from)
            .filter(|(_, taken)| !taken.has_sent || now - taken.last_activity >= self.min_silence)
            .min_by_key(|(number, taken)| (taken.has_sent, taken.last_activity, **number));
        let Some(number) = silent.map(|(number, _)| *number) else {
            return false;
        };
        if let Some(taken) = self.free(number) {
            taken.evicted.notify_one();
        }
        true
    }

    fn free(&mut self, number: u64) -> Option<SlotState> {
        let taken = self.taken.remove(&number)?;
        if let Some(from) = taken.from
            && let Some(count) = self.slots_by_address.get_mut(&from)
        {
            *count -= 1;
            if *count == 0 {
                self.slots_by_address.remove(&from);
            }
        }
        Some(taken)
    }
}

impl ConnectionSlot {
    /// Records that data arrived.
    pub fn record_received(&self) {
        self.record_activity(true);
    }

    /// Records that the peer accepts data again.
    pub fn record_sent(&self) {
        self.record_activity(false);
    }

    fn record_activity(&self, has_sent: bool) {
        if let Some(taken) = lock(&self.slots.0).taken.get_mut(&self.number) {
            taken.has_sent |= has_sent;
            taken.last_activity = Instant::now();
        }
    }

    /// Returns once the slot is evicted.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.slots.0).free(self.number);
    }
}

/// Returns the address whose share a slot counts against. Loopback connections have no share, because all
/// users of this machine use that address. An IPv6 address counts as its /64 network, because one host
/// may use all of it.
fn share_key(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            Some(IpAddr::V6(Ipv6Addr::from_bits(network)))
        }
        address => Some(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(10);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        !lock(&slot.slots.0).taken.contains_key(&slot.number)
    }

    #[test]
    fn one_address_cannot_take_all_slots() {
        let now = Instant::now();
        let slots = ConnectionSlots::new(8, QUIET);
        let spoken = |text| {
            let slot = slots.take(address(text), now)?;
            slot.record_received();
            Ok::<ConnectionSlot, DropReason>(slot)
        };
        let many =
            || -> Vec<ConnectionSlot> { (0..2).map(|_| spoken("192.0.2.1").unwrap()).collect() };
        let first = many();
        let refused = || spoken("192.0.2.1").unwrap_err();
        assert_eq!(refused(), DropReason::TooManyFromOne);
        // The same address, mapped to IPv6.
        let mapped = spoken("::ffff:192.0.2.1").unwrap_err();
        assert_eq!(mapped, DropReason::TooManyFromOne);
        // Other addresses still get slots; an IPv6 /64 network has one share.
        let _others = [spoken("192.0.2.2").unwrap(), spoken("2001:db8::1").unwrap()];
        let _same = spoken("2001:db8::ffff:1").unwrap();
        let network = spoken("2001:db8::2").unwrap_err();
        assert_eq!(network, DropReason::TooManyFromOne);
        let _next = spoken("2001:db8:0:1::2").unwrap();
        // A closed connection frees its slot.
        drop(first);
        let _again = many();
        assert_eq!(refused(), DropReason::TooManyFromOne);
    }

    #[test]
    fn loopback_may_take_all_slots() {
        let now = Instant::now();
        let slots = ConnectionSlots::new(8, QUIET);
        let take = |text| {
            slots
                .take(address(text), now)
                .inspect(ConnectionSlot::record_received)
        };
        let _taken: Vec<ConnectionSlot> = ["127.0.0.1", "::1"]
            .iter()
            .flat_map(|text| (0..4).map(|_| take(text).unwrap()))
            .collect();
        assert_eq!(take("127.0.0.1").unwrap_err(), DropReason::TooMany);
        assert_eq!(take("192.0.2.1").unwrap_err(), DropReason::TooMany);
    }

    #[test]
    fn longest_silent_connection_is_evicted_first_those_without_data() {
        let slots = ConnectionSlots::new(4, QUIET);
        let took = Instant::now();
        let here = address("127.0.0.1");
        let mut kept: Vec<ConnectionSlot> =
            (0..4).map(|_| slots.take(here, took).unwrap()).collect();
        let has_sent = |slot: &ConnectionSlot| {
            slot.record_received();
            lock(&slot.slots.0).taken[&slot.number].last_activity
        };
        has_sent(&kept[0]);
        let last = has_sent(&kept[2]).max(has_sent(&kept[0]));
        let evicted = |kept: &[ConnectionSlot]| kept.iter().map(is_evicted).collect::<Vec<bool>>();
        // Of the connections that never sent anything, the oldest is evicted.
        let new = slots.take(here, last).unwrap();
        assert_eq!(evicted(&kept), [false, true, false, false]);
        new.record_received();
        kept.push(new);
        let new = slots.take(here, last).unwrap();
        assert_eq!(evicted(&kept), [false, true, false, true, false]);
        new.record_received();
        kept.push(new);
        // All connections were active just before.
        assert_eq!(slots.take(here, last).unwrap_err(), DropReason::TooMany);
        // Later, the longest silent connection is evicted.
        let later = Instant::now() + QUIET;
        let _come = slots.take(here, later).unwrap();
        let expected = [false, true, true, true, false, false];
        assert_eq!(evicted(&kept), expected);
        drop(kept);
        assert_eq!(lock(&slots.0).taken.len(), 1);
    }

    #[test]
    fn address_over_its_share_evicts_only_its_own_connections() {
        let now = Instant::now();
        let slots = ConnectionSlots::new(8, QUIET);
        let other = slots.take(address("192.0.2.2"), now).unwrap();
        let first = slots.take(address("192.0.2.1"), now).unwrap();
        let second = slots.take(address("192.0.2.1"), now).unwrap();
        let _third = slots.take(address("192.0.2.1"), now).unwrap();
        let evicted = [&other, &first, &second].map(is_evicted);
        assert_eq!(evicted, [false, true, false]);
    }
}
