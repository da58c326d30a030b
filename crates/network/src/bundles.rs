//! Link bundles: parallel links that are one next hop (link aggregation, IEEE 802.1AX), with a minimum number of
//! working members.

use std::collections::HashSet;

use crate::compiled::LinkEvent;
use crate::{BuildError, Change, LinkId, Network, NetworkBuilder};

/// Parallel links in one direction that are one next hop.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Links of the bundle.
    pub members: Vec<u32>,
    /// Number of working members below which all members are down.
    pub min_links: u32,
}

impl Bundle {
    fn is_down(&self, down: &[bool]) -> bool {
        let working = self.members.iter().filter(|&&link| !down[link as usize]);
        working.count() < self.min_links as usize
    }
}

impl NetworkBuilder {
    /// Declares parallel links in one direction as a bundle. ECMP divides traffic among bundles, and that of a bundle
    /// among its members. If fewer than `min_links` members work, all are down.
    pub fn bundle(&mut self, members: &[LinkId], min_links: u32) {
        let ends: Vec<_> = members.iter().map(|link| ("members", link.1)).collect();
        self.check_owner(&ends, |_| "a bundle".to_owned());
        self.bundles.push(Bundle {
            members: members.iter().map(|link| link.0).collect(),
            min_links,
        });
    }

    pub(crate) fn check_bundles(&self, errors: &mut Vec<BuildError>) {
        let mut seen = HashSet::new();
        for bundle in &self.bundles {
            let links = bundle
                .members
                .iter()
                .map(|&link| &self.links[link as usize]);
            let ends = |link: &crate::LinkSpec| (link.from, link.to);
            let mut pairs = links.clone().zip(links.clone().skip(1));
            let reason = if pairs.any(|(a, b)| ends(a) != ends(b)) {
                "the members of a bundle must be parallel"
            } else if !bundle.members.iter().all(|&link| seen.insert(link)) {
                "a link can be in one bundle only"
            } else if !(1..=bundle.members.len()).contains(&(bundle.min_links as usize)) {
                "min_links of a bundle must be from 1 to the number of its members"
            } else {
                continue;
            };
            let first = links.clone().next();
            errors.push(BuildError::Class {
                subject: first.map_or("bundle".to_owned(), |it| {
                    format!("link {}", self.link_label(it))
                }),
                reason: reason.to_owned(),
            });
        }
    }
}

impl Network {
    /// Returns the bundles: their members and the least number of working ones.
    pub fn bundles(&self) -> impl ExactSizeIterator<Item = (Vec<LinkId>, u32)> {
        let owner = self.inner.owner;
        self.inner.bundles.iter().map(move |bundle| {
            let members = bundle.members.iter().map(|&link| LinkId(link, owner));
            (members.collect(), bundle.min_links)
        })
    }
}

/// Takes down all members of bundles with too few working ones.
pub(crate) fn close(bundles: &[Bundle], down: &mut [bool]) {
    for bundle in bundles {
        if bundle.is_down(down) {
            for &link in &bundle.members {
                down[link as usize] = true;
            }
        }
    }
}

/// Returns these events of `links` links, in order of time, with the events that bundles cause: if too few members of a
/// bundle work, the others fail, and all recover together. Until then no member recovers.
pub(crate) fn with_caused_events(
    bundles: &[Bundle],
    links: usize,
    events: Vec<LinkEvent>,
) -> Vec<LinkEvent> {
    if bundles.is_empty() {
        return events;
    }
    // By the given events, and including bundles.
    let (mut own, mut down) = (vec![false; links], vec![false; links]);
    let mut all = Vec::with_capacity(events.len());
    for at_once in events.chunk_by(|a, b| a.at_s == b.at_s) {
        for event in at_once.iter().filter(|it| it.change.reroutes()) {
            own[event.link as usize] = event.change == Change::Down;
        }
        let before = down.clone();
        down.clone_from(&own);
        close(bundles, &mut down);
        let is_held = |event: &&LinkEvent| event.change == Change::Up && down[event.link as usize];
        let given = at_once.iter().filter(|it| !is_held(it));
        all.extend(given.copied());
        let members = bundles.iter().flat_map(|bundle| &bundle.members);
        let is_given = |link: u32| {
            at_once
                .iter()
                .any(|it| it.link == link && it.change.reroutes())
        };
        for &link in members {
            let (was, is) = (before[link as usize], down[link as usize]);
            if was != is && (is != own[link as usize] || !is_given(link)) {
                all.push(LinkEvent {
                    at_s: at_once[0].at_s,
                    link,
                    change: if is { Change::Down } else { Change::Up },
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_s: f64, link: u32, change: Change) -> LinkEvent {
        LinkEvent { at_s, link, change }
    }

    /// Three members of which two must work: the failure of two takes the third down, until one of them recovers.
    #[test]
    fn bundle_goes_down_and_up_with_its_members() {
        let bundles = [Bundle {
            members: vec![1, 2, 3],
            min_links: 2,
        }];
        let given = vec![
            event(1.0, 1, Change::Down),
            event(2.0, 0, Change::Down),
            event(3.0, 2, Change::Down),
            event(4.0, 3, Change::Down),
            event(5.0, 2, Change::Up),
            event(6.0, 1, Change::Up),
            event(7.0, 3, Change::Up),
        ];
        let all = with_caused_events(&bundles, 4, given);
        let all: Vec<_> = all.iter().map(|it| (it.at_s, it.link, it.change)).collect();
        let should = [
            (1.0, 1, Change::Down),
            (2.0, 0, Change::Down),
            (3.0, 2, Change::Down),
            (3.0, 3, Change::Down), // caused
            (4.0, 3, Change::Down),
            // At 5 s only one member works; at 6 s two do.
            (6.0, 1, Change::Up),
            (6.0, 2, Change::Up), // held until now
            (7.0, 3, Change::Up),
        ];
        assert_eq!(all, should);
    }

    #[test]
    fn bundle_closes_below_its_minimum() {
        let bundles = [Bundle {
            members: vec![0, 1, 2],
            min_links: 2,
        }];
        for failed in 0..8_u32 {
            let mut down: Vec<bool> = (0..4).map(|i| failed >> i & 1 == 1).collect();
            let own = down.clone();
            close(&bundles, &mut down);
            let all = failed.count_ones() >= 2;
            let should: Vec<bool> = (0..4).map(|i| own[i] || (all && i < 3)).collect();
            assert_eq!(down, should);
        }
    }
}
