//! Several queues in front of one link, and who of them sends.

use netflow_queues::Scheduler;

use crate::{Buffer, BuildError, DropPolicy, LinkId, LinkSpec, Network};

/// A queue of its own for a class of packets, an assured forwarding class for one.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueClass {
    /// What connections call it ([`crate::NetworkBuilder::classify`]).
    pub name: String,
    /// Weight with [`Scheduler::Wfq`], positive; the link's own queue has 1.
    pub weight: f64,
    /// Room of the queue.
    pub buffer: Buffer,
    /// Which packets are refused.
    pub queue: DropPolicy,
}

/// The classes of one link, first come first in priority; everything else waits in the link's own
/// queue, after them.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassedLink {
    /// Which link.
    pub link: LinkId,
    /// How bandwidth is shared.
    pub scheduler: Scheduler,
    /// The queues beside the link's own.
    pub classes: Vec<QueueClass>,
}

impl Network {
    /// The queues of a link, of which each is a link to the engines: itself, as events see it first, then those of its
    /// classes.
    pub fn queues_of(&self, link: LinkId) -> Vec<LinkId> {
        let shared = self.shared(link).filter(|it| it.sends() == Some(link.0));
        let classes = shared.map_or(&[][..], |shared| &shared.links[..shared.links.len() - 1]);
        let classes = classes.iter().map(|&l| LinkId(l, self.inner.owner));
        std::iter::once(link).chain(classes).collect()
    }

    /// Whether it is the queue of a class: then another link sends for it.
    pub fn is_of_class(&self, link: LinkId) -> bool {
        let shared = self.shared(link);
        shared.is_some_and(|it| it.sends() != Some(link.0))
    }

    /// All queues of the link that sends for this one, itself included, if there are several.
    pub fn sharing_with(&self, queue: LinkId) -> Option<impl Iterator<Item = LinkId> + '_> {
        let links = self.shared(queue)?.links.iter();
        Some(links.map(|&l| LinkId(l, self.inner.owner)))
    }

    fn shared(&self, link: LinkId) -> Option<&Shared> {
        let link = link.within(self.inner.owner) as u32;
        self.inner.shared.iter().find(|it| it.links.contains(&link))
    }

    /// Something of all queues of a link together.
    pub fn over_queues(&self, link: LinkId, of: impl Fn(LinkId) -> f64) -> f64 {
        match self.inner.shared.is_empty() {
            true => of(link),
            false => self.queues_of(link).into_iter().map(of).sum(),
        }
    }

    /// Whether one of a link's queues marks packets.
    pub fn marks(&self, link: LinkId) -> bool {
        let queues = self.queues_of(link);
        queues
            .iter()
            .any(|&queue| self.link_spec(queue).queue.marks())
    }

    /// The links with several queues; their other queues are links called `FROM->TO/CLASS`.
    pub fn classed_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        let own = self.inner.shared.iter().filter_map(Shared::sends);
        own.map(|link| LinkId(link, self.inner.owner))
    }
}

/// A link with its queues: the classes as links of their own, then the link itself.
#[derive(Clone, Debug)]
pub struct Shared {
    /// How they share.
    pub scheduler: Scheduler,
    /// The links, its own the last.
    pub links: Vec<u32>,
    /// Weight of each.
    pub weights: Vec<f64>,
}

impl Shared {
    /// The link that sends for all of them.
    fn sends(&self) -> Option<u32> {
        self.links.last().copied()
    }
}

/// The queues of classes as links of their own, and how they share.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// Parent and class name of each link that is the queue of a class, from the first on.
    pub queues: Vec<(u32, String)>,
    pub shared: Vec<Shared>,
}

impl Expanded {
    /// Adds a link for each class.
    pub fn new(
        links: &mut Vec<LinkSpec>,
        classed: &[ClassedLink],
        errors: &mut Vec<BuildError>,
    ) -> Expanded {
        let mut expanded = Expanded::default();
        for spec in classed {
            let Some(parent) = links.get(spec.link.index()).cloned() else {
                continue;
            };
            let mut shared = Shared {
                scheduler: spec.scheduler,
                links: Vec::new(),
                weights: Vec::new(),
            };
            for class in &spec.classes {
                if !(class.weight > 0.0 && class.weight.is_finite()) {
                    errors.push(BuildError::OutOfRange {
                        subject: format!("class {}", class.name),
                        field: "weight",
                        value: class.weight,
                        allowed: "a positive number",
                    });
                }
                shared.links.push(links.len() as u32);
                shared.weights.push(class.weight);
                expanded.queues.push((spec.link.0, class.name.clone()));
                links.push(LinkSpec {
                    buffer: class.buffer,
                    queue: class.queue,
                    ..parent.clone()
                });
            }
            shared.links.push(spec.link.0);
            shared.weights.push(1.0);
            expanded.shared.push(shared);
        }
        expanded
    }
}
