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
}

impl Csr<u32> {
    /// Returns, for each of `lists` groups, the ascending indices of its members.
    pub fn grouped(lists: usize, group_of: impl Iterator<Item = u32> + Clone) -> Csr<u32> {
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
        Csr { offsets, items }
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
}
