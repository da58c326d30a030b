//! Dense ids: an index into the network's arrays, and the owner, which identifies the network.

use std::sync::atomic::{AtomicU32, Ordering};

/// Identity of a builder and of its network, which its ids carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u32);

impl Owner {
    /// Returns an owner that no other builder of this process has.
    pub(crate) fn new() -> Owner {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Owner(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// Ids are compared by their places. Those of another network's builder are refused: by a
        /// builder with [`BuildError::Foreign`](crate::BuildError::Foreign), and by look-ups with a
        /// panic that says so.
        #[derive(Clone, Copy)]
        pub struct $name(pub(crate) u32, pub(crate) Owner);

        impl $name {
            /// Returns the id with this index in the arrays of this owner's network.
            pub fn new(place: u32, owner: Owner) -> $name {
                $name(place, owner)
            }

            /// Returns the owner, which identifies the network.
            pub fn owner(self) -> Owner {
                self.1
            }

            /// Returns the index in the network's arrays, from 0 in the order of addition.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the index in the arrays of this owner's network.
            ///
            /// # Panics
            /// If the id is of another network.
            #[track_caller]
            #[inline]
            pub fn within(self, owner: Owner) -> usize {
                assert!(self.1 == owner, "{self:?} is {} of another network", $what);
                self.index()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.cmp(&other.0)
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
    };
}

id! {
    /// Id of a node of a network.
    NodeId, "a node"
}
id! {
    /// Id of a directed link of a network, with its queue.
    LinkId, "a link"
}
id! {
    /// Id of a connection of a network (with `count = n`, the n identical connections of one row).
    ConnectionId, "a connection"
}
id! {
    /// Id of a conditioned aggregate of a network.
    AggregateId, "an aggregate"
}
