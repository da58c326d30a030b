//! Ways around links that fail.

use crate::routing::Router;
use crate::scheduling::Expanded;
use crate::tables::{Class, NO_BRANCH, Tables, Way};
use crate::{Change, LinkId, Network, NetworkBuilder};

/// Which links are down, and where connections go then that cannot go where they went.
#[derive(Clone, Debug, Default)]
pub struct Rerouted {
    /// Of every link whether it is down.
    pub down: Vec<bool>,
    /// The classes whose ways are others, in order.
    pub detours: Vec<Detour>,
    /// How many of these are flows that took one of several paths of equal cost, as a whole.
    pub moved_whole: usize,
}

/// The way of a class of connections around what is down.
#[derive(Clone, Debug)]
pub struct Detour {
    /// Which class.
    pub class: u32,
    /// The links of its data and those of the way back; `None` if it has no route.
    pub links: Option<(Vec<u32>, Vec<u32>)>,
}

impl Rerouted {
    /// The network as its events have left it just before `at_s`.
    pub fn by_events(network: &Network, at_s: f64) -> Rerouted {
        let inner = &*network.inner;
        let mut down = vec![false; inner.links.len()];
        let begun = inner.events.iter().take_while(|event| event.at_s < at_s);
        for event in begun {
            match event.change {
                Change::Down => down[event.link as usize] = true,
                Change::Up => down[event.link as usize] = false,
                Change::Bandwidth(_) | Change::Loss(_) | Change::Delay(_) => {}
            }
        }
        Rerouted {
            down,
            detours: Vec::new(),
            moved_whole: 0,
        }
    }

    /// The way of a class, if by the network's own routes it is that of this branch. A path that its author
    /// gave is no way while a link of it is down.
    pub fn way<'a>(&'a self, inner: &'a Tables, class: u32, branch: u32) -> Option<Way<'a>> {
        let detour = self.detours.binary_search_by_key(&class, |it| it.class);
        let way = match detour.map(|i| &self.detours[i].links) {
            Ok(Some((data, back))) => Way::of(inner, class, data, back),
            Ok(None) => return None,
            Err(_) if branch == NO_BRANCH => return None,
            Err(_) => Way::new(inner, branch),
        };
        let answers = inner.spec_of_class(class).source.has_feedback();
        let back = if answers { way.back } else { way.acks };
        let mut links = way.data.iter().chain(back);
        links.all(|&l| !self.down[l as usize]).then_some(way)
    }
}

/// Looks for ways around failures, as the network's events do: the same router, with the same choice among
/// equal paths.
#[derive(Debug)]
pub struct Detours {
    network: Network,
    builder: NetworkBuilder,
    router: Router,
    before: Rerouted,
    /// The branch of every class before anything fails.
    branch_of: Vec<u32>,
}

impl Detours {
    /// For failures just before `at_s`: what the network's events have taken down by then stays down.
    pub fn new(network: &Network, at_s: f64) -> Detours {
        let mut builder = network.to_builder();
        // It was built once, and so is without errors.
        builder.expanded = Expanded::new(&mut builder.links, &builder.classed, &mut Vec::new());
        let epochs = &network.inner.epochs;
        let epoch = epochs.partition_point(|e| e.at_s < at_s).max(1) - 1;
        Detours {
            router: builder.router(),
            before: Rerouted::by_events(network, at_s),
            branch_of: epochs[epoch].branch_of.clone(),
            network: network.clone(),
            builder,
        }
    }

    /// Which links are down before anything fails.
    pub fn before(&self) -> &Rerouted {
        &self.before
    }

    /// Where connections go if these links fail together. Those that cross none of them stay where they are.
    ///
    /// # Panics
    /// If a link is of another network.
    pub fn around(&self, failed: &[LinkId]) -> Rerouted {
        let inner = &*self.network.inner;
        let mut down = self.before.down.clone();
        for link in failed {
            down[link.within(inner.owner)] = true;
        }
        // What happens to a link happens to all its queues.
        for (queue, parent, _) in self.builder.queues() {
            down[queue as usize] |= down[parent as usize];
        }
        let crosses = |branch: u32| {
            let mut links = inner
                .data_path(branch)
                .iter()
                .chain(inner.back_path(branch));
            links.any(|&l| down[l as usize])
        };
        let classes = (0..).zip(&self.branch_of);
        let (numbers, classes): (Vec<u32>, Vec<Class>) = classes
            .filter(|&(_, &branch)| branch != NO_BRANCH && crosses(branch))
            .map(|(class, _)| (class, inner.classes[class as usize]))
            .unzip();
        let ways = self.builder.ways_now(&self.router, &classes, &down).0;
        let moved_whole = self
            .builder
            .with_choices(&self.router, &classes, &ways, &down);
        let detours = numbers.into_iter().zip(ways).map(|(class, ways)| Detour {
            class,
            links: ways.map(|ways| (ways.data, ways.back)),
        });
        Rerouted {
            detours: detours.collect(),
            moved_whole,
            down,
        }
    }
}
