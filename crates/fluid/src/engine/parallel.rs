//! Parallel loops over blocks of hops or over cells, bit-identical for any number of threads.
//!
//! Blocks depend only on the network, one thread works on each block or cell, and sums over blocks are formed
//! in order afterwards.

use rayon::prelude::*;

use super::plan::Block;

/// Work that can be split between two blocks.
pub(crate) trait Divide: Sized + Send {
    /// Splits the work before `block`, which is number `index` of the blocks in progress.
    fn divide(self, block: &Block, index: usize) -> (Self, Self);
}

/// Runs `each` on all `blocks`; in parallel if `fork` is set.
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

/// Calls `each` with every cell and its index; in parallel if `fork` is set, with at least `fewest` cells per
/// thread.
pub(crate) fn for_cells<T: Send>(
    cells: &mut [T],
    fork: bool,
    fewest: usize,
    each: impl Fn(usize, &mut T) + Sync,
) {
    if fork {
        (cells.par_iter_mut().enumerate())
            .with_min_len(fewest)
            .for_each(|(i, cell)| each(i, cell))
    } else {
        (cells.iter_mut().enumerate()).for_each(|(i, cell)| each(i, cell))
    }
}
