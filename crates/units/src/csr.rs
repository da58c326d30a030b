//! Lists of different lengths in contiguous memory (compressed sparse rows, CSR).

/// Contiguous lists: list i lies between the offsets i and i + 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr<T> {
    offsets: Vec<u32>,
    items: Vec<T>,
}

impl<T> Csr<T> {
    /// Returns the list with this index; empty if there is none.
    pub fn row(&self, list: usize) -> &[T] {
        match self.offsets.get(list..list + 2) {
            Some(&[from, to]) => &self.items[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Appends a list.
    pub fn push_row(&mut self, items: impl IntoIterator<Item = T>) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.items.extend(items);
        self.offsets.push(self.items.len() as u32);
    }

    /// Returns the number of lists.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns the number of items of all lists.
    pub fn items(&self) -> usize {
        self.items.len()
    }
}

impl<T: Clone + Default> Csr<T> {
    /// Returns `lists` lists of items, each given with the index of its list. Items of a list keep their order.
    pub fn of_pairs(lists: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Csr<T> {
        let mut offsets = vec![0_u32; lists + 1];
        for (list, _) in pairs.clone() {
            offsets[list as usize + 1] += 1;
        }
        for list in 0..lists {
            offsets[list + 1] += offsets[list];
        }
        let mut next = offsets.clone();
        let mut items = vec![T::default(); next[lists] as usize];
        for (list, item) in pairs {
            let place = &mut next[list as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        Csr { offsets, items }
    }
}

impl Csr<u32> {
    /// Returns, for each of `lists` groups, the ascending indices of its members.
    pub fn grouped(lists: usize, group_of: impl Iterator<Item = u32> + Clone) -> Csr<u32> {
        Csr::of_pairs(lists, group_of.zip(0..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_contain_the_indices_of_their_members() {
        let grouped = Csr::grouped(3, [2, 0, 2, 2].into_iter());
        let lists: Vec<&[u32]> = (0..4).map(|list| grouped.row(list)).collect();
        assert_eq!(lists, [&[1][..], &[], &[0, 2, 3], &[]]);
    }

    #[test]
    fn lists_are_appended() {
        let mut lists = Csr::default();
        for list in [&[1, 2][..], &[], &[3]] {
            lists.push_row(list.iter().copied());
        }
        assert_eq!(
            lists,
            Csr::of_pairs(3, [(0, 1), (2, 3), (0, 2)].into_iter())
        );
        assert_eq!(
            (lists.row(1), lists.row(2), lists.rows(), lists.items()),
            (&[][..], &[3][..], 3, 3)
        );
    }
}
