//! Work on blocks of hops, or on cells, by one thread or several, with the same result to the last bit.
//!
//! Blocks are fixed by the network, each block, or cell, is worked on by one thread, and sums over blocks are
//! formed in order afterwards: nothing depends on who did what when.

use rayon::prelude::*;

use super::plan::Block;

/// Work that can be cut between two blocks.
pub(crate) trait Divide: Sized + Send {
    /// The part before `block`, which is number `index` of those at work, and the part from it on.
    fn divide(self, block: &Block, index: usize) -> (Self, Self);
}

/// Does `work` on all `blocks`; in parallel if `fork` is set.
pub(crate) fn for_blocks<W: Divide>(
    work: W,
    blocks: &[Block],
    fork: bool,
    each: &(impl Fn(W, &Block) + Sync),
) {
    match blocks {
        [] => {}
        [block] => each(work, block),
        _ => {
            let middle = blocks.len() / 2;
            let (left, right) = work.divide(&blocks[middle], middle);
            let (first, second) = blocks.split_at(middle);
            if fork {
                rayon::join(
                    || for_blocks(left, first, fork, each),
                    || for_blocks(right, second, fork, each),
                );
            } else {
                for_blocks(left, first, fork, each);
                for_blocks(right, second, fork, each);
            }
        }
    }
}

/// Does something with each cell and its place; if `fork` is set, in parallel, and each thread with at least so many.
pub(crate) fn for_cells<T: Send>(
    cells: &mut [T],
    fork: bool,
    fewest: usize,
    each: impl Fn(usize, &mut T) + Sync,
) {
    match fork {
        true => (cells.par_iter_mut().enumerate())
            .with_min_len(fewest)
            .for_each(|(i, cell)| each(i, cell)),
        false => (cells.iter_mut().enumerate()).for_each(|(i, cell)| each(i, cell)),
    }
}
