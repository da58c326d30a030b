//! Several queues at one link, and the scheduler that serves them.

use netflow_queues::{HtbClass, Scheduler};

use crate::{Buffer, BuildError, DropPolicy, LinkId, LinkSpec, Network, TokenBucketSpec};

/// Queue for a traffic class, for example an assured forwarding class.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueClass {
    /// Name of the class, for connections ([`crate::NetworkBuilder::classify`]).
    pub name: String,
    /// Weight with [`Scheduler::Wfq`], positive; the link's own queue has 1.
    pub weight: f64,
    /// Buffer size of the queue.
    pub buffer: Buffer,
    /// Drop policy of the queue.
    pub queue: DropPolicy,
    /// Token bucket in front of the queue, which drops the packets that do not conform.
    pub policer: Option<TokenBucketSpec>,
}

/// Class queues of one link, highest priority first. All other packets use the link's own queue, after them.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiQueueLink {
    /// The link.
    pub link: LinkId,
    /// Scheduler of the queues.
    pub scheduler: Scheduler,
    /// Class queues in addition to the link's own.
    pub classes: Vec<QueueClass>,
}

impl Network {
    /// Returns the queues of a link, each of which is a link to engines: the link itself, on which events
    /// act, then its class queues.
    pub fn queues_of(&self, link: LinkId) -> Vec<LinkId> {
        let shared = self
            .shared_link(link)
            .filter(|it| it.serving_link() == Some(link.0));
        let classes = shared.map_or(&[][..], |shared| &shared.links[..shared.links.len() - 1]);
        let classes = classes.iter().map(|&l| LinkId(l, self.inner.owner));
        std::iter::once(link).chain(classes).collect()
    }

    /// Returns whether it is the queue of a class, which another link serves.
    pub fn is_class_queue(&self, link: LinkId) -> bool {
        let shared = self.shared_link(link);
        shared.is_some_and(|it| it.serving_link() != Some(link.0))
    }

    /// Returns all queues that share a link with this one, itself included; `None` if there is only one.
    pub fn queues_sharing_with(&self, queue: LinkId) -> Option<impl Iterator<Item = LinkId> + '_> {
        let links = self.shared_link(queue)?.links.iter();
        Some(links.map(|&l| LinkId(l, self.inner.owner)))
    }

    fn shared_link(&self, link: LinkId) -> Option<&SharedLink> {
        let link = link.within(self.inner.owner) as u32;
        self.inner
            .shared_links
            .iter()
            .find(|it| it.links.contains(&link))
    }

    /// Returns the sum of a quantity over all queues of a link.
    pub fn sum_over_queues(&self, link: LinkId, of: impl Fn(LinkId) -> f64) -> f64 {
        if self.inner.shared_links.is_empty() {
            of(link)
        } else {
            self.queues_of(link).into_iter().map(of).sum()
        }
    }

    /// Returns whether one of a link's queues marks packets.
    pub fn marks(&self, link: LinkId) -> bool {
        let queues = self.queues_of(link);
        queues
            .iter()
            .any(|&queue| self.link_spec(queue).queue.marks())
    }

    /// Returns true if the queue of a link, or of one of its classes, drops packets before its buffer is full.
    pub fn drops_early(&self, link: LinkId) -> bool {
        let queues = self.queues_of(link);
        queues
            .iter()
            .any(|&queue| self.link_spec(queue).queue != DropPolicy::DropTail)
    }

    /// Returns the first link with HTB.
    pub(crate) fn first_link_with_htb(&self) -> Option<LinkId> {
        let mut shared = self.inner.shared_links.iter();
        let link = shared.find_map(|it| match it.scheduler {
            Scheduler::Htb(_) => it.serving_link(),
            Scheduler::Priority | Scheduler::Wfq => None,
        });
        link.map(|link| LinkId(link, self.inner.owner))
    }

    /// Returns the HTB class of a queue and the ancestors of this class, from the class upwards, with the queues below
    /// each.
    pub fn htb_path(&self, queue: LinkId) -> Vec<(&HtbClass, Vec<LinkId>)> {
        let Some(shared) = self.shared_link(queue) else {
            return Vec::new();
        };
        let (Scheduler::Htb(tree), Some(mine)) = (
            &shared.scheduler,
            shared.links.iter().position(|&l| l == queue.0),
        ) else {
            return Vec::new();
        };
        let with_queues = |class: usize| {
            let all = shared.links.iter().enumerate();
            let below = all.filter(|&(number, _)| tree.path(number).any(|it| it == class));
            let below = below.map(|(_, &l)| LinkId(l, self.inner.owner));
            (&tree.classes[class], below.collect())
        };
        tree.path(mine).map(with_queues).collect()
    }

    /// Returns the links with several queues; their class queues are links named `FROM->TO/CLASS`.
    pub fn classed_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        let own = self
            .inner
            .shared_links
            .iter()
            .filter_map(SharedLink::serving_link);
        own.map(|link| LinkId(link, self.inner.owner))
    }
}

/// Link with its queues: the classes as links of their own, then the link itself.
#[derive(Clone, Debug)]
pub struct SharedLink {
    /// Scheduler of the queues.
    pub scheduler: Scheduler,
    /// Queues as links; the link itself is the last.
    pub links: Vec<u32>,
    /// Weight of each queue.
    pub weights: Vec<f64>,
}

impl SharedLink {
    /// Returns the link that serves all queues.
    fn serving_link(&self) -> Option<u32> {
        self.links.last().copied()
    }
}

/// Class queues as links of their own, and their schedulers.
#[derive(Debug, Default)]
pub(crate) struct ClassQueues {
    /// Parent and class name of each link that is a class queue, from the first one on.
    pub queues: Vec<(u32, String)>,
    pub shared_links: Vec<SharedLink>,
}

impl ClassQueues {
    /// Adds a link for each class.
    pub fn new(
        links: &mut Vec<LinkSpec>,
        classed: &[MultiQueueLink],
        errors: &mut Vec<BuildError>,
    ) -> ClassQueues {
        let mut expanded = ClassQueues::default();
        for spec in classed {
            let Some(parent) = links.get(spec.link.index()).cloned() else {
                continue;
            };
            let mut shared = SharedLink {
                scheduler: spec.scheduler.clone(),
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
                    policer: class.policer,
                    shaper: None,
                    ..parent.clone()
                });
            }
            shared.links.push(spec.link.0);
            shared.weights.push(1.0);
            expanded.shared_links.push(shared);
        }
        expanded
    }
}
