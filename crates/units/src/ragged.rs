//! Lists of different lengths, one after the other.

/// Lists in one piece of memory: list i lies between the offsets i and i + 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ragged<T> {
    offsets: Vec<u32>,
    items: Vec<T>,
}

impl<T> Ragged<T> {
    /// The list of this number; empty if there is none.
    pub fn of(&self, list: usize) -> &[T] {
        match self.offsets.get(list..list + 2) {
            Some(&[from, to]) => &self.items[from as usize..to as usize],
            _ => &[],
        }
    }

    /// All lists, in order.
    pub fn lists(&self) -> impl Iterator<Item = &[T]> {
        (0..self.offsets.len().saturating_sub(1)).map(|list| self.of(list))
    }

    /// All lists as one.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

impl Ragged<u32> {
    /// For each of `lists` groups the places of what is of that group, in order.
    pub fn grouped(lists: usize, group_of: impl Iterator<Item = u32> + Clone) -> Ragged<u32> {
        let mut offsets = vec![0_u32; lists + 1];
        for group in group_of.clone() {
            offsets[group as usize + 1] += 1;
        }
        for list in 0..lists {
            offsets[list + 1] += offsets[list];
        }
        let mut next = offsets.clone();
        let mut items = vec![0; next[lists] as usize];
        for (i, group) in group_of.enumerate() {
            let place = &mut next[group as usize];
            items[*place as usize] = i as u32;
            *place += 1;
        }
        Ragged { offsets, items }
    }
}

impl<T, I: IntoIterator<Item = T>> FromIterator<I> for Ragged<T> {
    fn from_iter<L: IntoIterator<Item = I>>(lists: L) -> Ragged<T> {
        let (mut offsets, mut items) = (vec![0], Vec::new());
        for list in lists {
            items.extend(list);
            offsets.push(items.len() as u32);
        }
        Ragged { offsets, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_that_were_given() {
        let lists = vec![vec![3, 1], vec![], vec![4]];
        let ragged: Ragged<i32> = lists.iter().cloned().collect();
        assert!(ragged.lists().eq(lists.iter().map(Vec::as_slice)));
        assert_eq!(ragged.of(3), [0; 0]);
        let grouped = Ragged::grouped(3, [2, 0, 2, 2].into_iter());
        assert!(grouped.lists().eq([&[1][..], &[], &[0, 2, 3]]));
    }
}
