//! Dense ids: the place of a thing in the network's arrays.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The place in the network's arrays, from 0 in the order of addition.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A node of a network.
    NodeId
}
id! {
    /// A directed link of a network, with its queue.
    LinkId
}
id! {
    /// A connection of a network (with `count = n`, the n identical connections of one row).
    ConnectionId
}
