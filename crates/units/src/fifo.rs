//! FIFO queue in contiguous memory.

use std::ops::{Deref, DerefMut};

/// FIFO queue whose items form one slice. Removed items stay before `head` until they are many, so
/// that the buffer stays small and in the cache.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    items: Vec<T>,
    head: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo {
            items: Vec::new(),
            head: 0,
        }
    }
}

/// Number of removed items before `head` from which the remaining ones are moved to the front.
const MAX_DEAD_ITEMS: usize = 32;

impl<T: Copy> Fifo<T> {
    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Inserts an item at `index` of the queue.
    pub fn insert(&mut self, index: usize, item: T) {
        self.items.insert(self.head + index, item);
    }

    /// Removes and returns the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first().copied()?;
        self.pop_n(1);
        Some(first)
    }

    /// Removes the first `n` items, or all if there are fewer.
    #[inline]
    pub fn pop_n(&mut self, n: usize) {
        self.head = (self.head + n).min(self.items.len());
        if self.head == self.items.len() {
            self.clear();
        } else if self.head >= MAX_DEAD_ITEMS && 2 * self.head >= self.items.len() {
            self.items.drain(..self.head);
            self.head = 0;
        }
    }

    /// Keeps only the items for which `which` returns true.
    pub fn retain(&mut self, which: impl FnMut(&T) -> bool) {
        self.items.drain(..self.head);
        self.head = 0;
        self.items.retain(which);
    }

    /// Removes all items.
    #[inline]
    pub fn clear(&mut self) {
        self.items.clear();
        self.head = 0;
    }
}

impl<T> Deref for Fifo<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items[self.head..]
    }
}

impl<T> DerefMut for Fifo<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[self.head..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn matches_vec_deque() {
        let (mut ours, mut theirs) = (Fifo::default(), VecDeque::new());
        let mut random = 1_u32;
        for i in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match random >> 29 {
                0..=3 => {
                    ours.push(i);
                    theirs.push_back(i);
                }
                4 => {
                    ours.insert(ours.len() / 2, i);
                    theirs.insert(theirs.len() / 2, i);
                }
                5 if random & 0x700_0000 == 0 => {
                    ours.retain(|i| i % 3 != 0);
                    theirs.retain(|i| i % 3 != 0);
                }
                _ => assert_eq!(ours.pop(), theirs.pop_front()),
            }
            assert_eq!(*ours, *theirs.make_contiguous());
        }
    }
}
