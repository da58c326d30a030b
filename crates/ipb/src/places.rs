//! Connection slots of a server, and the eviction of silent connections when all are taken.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::counts::{Reason, lock};

/// Connection slots of a server.
#[derive(Clone, Debug)]
pub struct Places(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    all: usize,
    quiet: Duration,
    taken: HashMap<u64, Taken>,
    /// Number of slots by source address, without zero entries.
    from: HashMap<IpAddr, usize>,
    next: u64,
}

#[derive(Debug)]
struct Taken {
    /// Source address that counts against a share; `None` for loopback.
    from: Option<IpAddr>,
    /// True if the peer has sent anything.
    spoke: bool,
    /// Time of the last activity, initially of the connection.
    stirred: Instant,
    given_away: Arc<Notify>,
}

/// A connection slot, which is freed when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    number: u64,
    given_away: Arc<Notify>,
}

impl Places {
    /// Creates `all` slots. A connection that has sent data keeps its slot if it was silent for less than
    /// `quiet`.
    pub fn new(all: usize, quiet: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            all,
            quiet,
            taken: HashMap::new(),
            from: HashMap::new(),
            next: 0,
        })))
    }

    /// Takes a slot for a connection from `address`, if necessary by evicting a silent connection.
    ///
    /// # Errors
    /// The reason why no slot is available.
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<Place, Reason> {
        let mut state = lock(&self.0);
        let from = counted_as(address);
        if from.is_some_and(|from| state.taken_from(from) >= state.share())
            && !state.make_room(from, now)
        {
            return Err(Reason::TooManyFromOne);
        }
        if state.taken.len() >= state.all && !state.make_room(None, now) {
            return Err(Reason::TooMany);
        }
        if let Some(from) = from {
            *state.from.entry(from).or_default() += 1;
        }
        let number = state.next;
        state.next += 1;
        let given_away = Arc::new(Notify::new());
        let taken = Taken {
            from,
            spoke: false,
            stirred: now,
            given_away: given_away.clone(),
        };
        state.taken.insert(number, taken);
        drop(state);
        Ok(Place {
            places: self.clone(),
            number,
            given_away,
        })
    }

    /// Evicts a silent connection when the system has no resources left. Returns whether there was one.
    pub fn make_room(&self, now: Instant) -> bool {
        lock(&self.0).make_room(None, now)
    }
}

impl State {
    /// Returns the maximum number of slots of one address.
    fn share(&self) -> usize {
        self.all.div_ceil(4)
    }

    fn taken_from(&self, from: IpAddr) -> usize {
        self.from.get(&from).copied().unwrap_or(0)
    }

    /// Evicts the longest silent connection, first one on which the peer never sent anything. If `from`
    /// is given, only connections from that address are candidates.
    fn make_room(&mut self, from: Option<IpAddr>, now: Instant) -> bool {
        let silent = self
            .taken
            .iter()
            .filter(|(_, taken)| from.is_none() || taken.from == from)
            .filter(|(_, taken)| !taken.spoke || now - taken.stirred >= self.quiet)
            .min_by_key(|(number, taken)| (taken.spoke, taken.stirred, **number));
        let Some(number) = silent.map(|(number, _)| *number) else {
            return false;
        };
        if let Some(taken) = self.free(number) {
            taken.given_away.notify_one();
        }
        true
    }

    fn free(&mut self, number: u64) -> Option<Taken> {
        let taken = self.taken.remove(&number)?;
        if let Some(from) = taken.from
            && let Some(count) = self.from.get_mut(&from)
        {
            *count -= 1;
            if *count == 0 {
                self.from.remove(&from);
            }
        }
        Some(taken)
    }
}

impl Place {
    /// Records that data arrived.
    pub fn heard(&self) {
        self.stirred(true);
    }

    /// Records that the peer accepts data again.
    pub fn sent(&self) {
        self.stirred(false);
    }

    fn stirred(&self, spoke: bool) {
        if let Some(taken) = lock(&self.places.0).taken.get_mut(&self.number) {
            taken.spoke |= spoke;
            taken.stirred = Instant::now();
        }
    }

    /// Returns once the slot is evicted.
    pub async fn given_away(&self) {
        self.given_away.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.0).free(self.number);
    }
}

/// Returns the address whose share a slot counts against. Loopback connections have no share, because all
/// users of this machine use that address. An IPv6 address counts as its /64 network, because one host
/// may use all of it.
fn counted_as(address: IpAddr) -> Option<IpAddr> {
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

    fn is_given_away(place: &Place) -> bool {
        !lock(&place.places.0).taken.contains_key(&place.number)
    }

    #[test]
    fn one_address_does_not_take_all_places() {
        let now = Instant::now();
        let places = Places::new(8, QUIET);
        let spoken = |text| {
            let place = places.take(address(text), now)?;
            place.heard();
            Ok::<Place, Reason>(place)
        };
        let many = || -> Vec<Place> { (0..2).map(|_| spoken("192.0.2.1").unwrap()).collect() };
        let first = many();
        let refused = || spoken("192.0.2.1").unwrap_err();
        assert_eq!(refused(), Reason::TooManyFromOne);
        // The same address, mapped to IPv6.
        let mapped = spoken("::ffff:192.0.2.1").unwrap_err();
        assert_eq!(mapped, Reason::TooManyFromOne);
        // Other addresses still get slots; an IPv6 /64 network has one share.
        let _others = [spoken("192.0.2.2").unwrap(), spoken("2001:db8::1").unwrap()];
        let _same = spoken("2001:db8::ffff:1").unwrap();
        let network = spoken("2001:db8::2").unwrap_err();
        assert_eq!(network, Reason::TooManyFromOne);
        let _next = spoken("2001:db8:0:1::2").unwrap();
        // A closed connection frees its slot.
        drop(first);
        let _again = many();
        assert_eq!(refused(), Reason::TooManyFromOne);
    }

    #[test]
    fn this_machine_may_take_all_places() {
        let now = Instant::now();
        let places = Places::new(8, QUIET);
        let take = |text| places.take(address(text), now).inspect(Place::heard);
        let _taken: Vec<Place> = ["127.0.0.1", "::1"]
            .iter()
            .flat_map(|text| (0..4).map(|_| take(text).unwrap()))
            .collect();
        assert_eq!(take("127.0.0.1").unwrap_err(), Reason::TooMany);
        assert_eq!(take("192.0.2.1").unwrap_err(), Reason::TooMany);
    }

    #[test]
    fn who_was_silent_for_longest_gives_way_and_first_who_never_spoke() {
        let places = Places::new(4, QUIET);
        let took = Instant::now();
        let here = address("127.0.0.1");
        let mut kept: Vec<Place> = (0..4).map(|_| places.take(here, took).unwrap()).collect();
        let spoke = |place: &Place| {
            place.heard();
            lock(&place.places.0).taken[&place.number].stirred
        };
        spoke(&kept[0]);
        let last = spoke(&kept[2]).max(spoke(&kept[0]));
        let given_away = |kept: &[Place]| kept.iter().map(is_given_away).collect::<Vec<bool>>();
        // Of the connections that never sent anything, the oldest is evicted.
        let come = places.take(here, last).unwrap();
        assert_eq!(given_away(&kept), [false, true, false, false]);
        come.heard();
        kept.push(come);
        let come = places.take(here, last).unwrap();
        assert_eq!(given_away(&kept), [false, true, false, true, false]);
        come.heard();
        kept.push(come);
        // All connections were active just before.
        assert_eq!(places.take(here, last).unwrap_err(), Reason::TooMany);
        // Later, the longest silent connection is evicted.
        let later = Instant::now() + QUIET;
        let _come = places.take(here, later).unwrap();
        let gave_way = [false, true, true, true, false, false];
        assert_eq!(given_away(&kept), gave_way);
        drop(kept);
        assert_eq!(lock(&places.0).taken.len(), 1);
    }

    #[test]
    fn who_has_too_many_gives_way_to_itself_only() {
        let now = Instant::now();
        let places = Places::new(8, QUIET);
        let other = places.take(address("192.0.2.2"), now).unwrap();
        let first = places.take(address("192.0.2.1"), now).unwrap();
        let second = places.take(address("192.0.2.1"), now).unwrap();
        let _third = places.take(address("192.0.2.1"), now).unwrap();
        let given_away = [&other, &first, &second].map(is_given_away);
        assert_eq!(given_away, [false, true, false]);
    }
}
