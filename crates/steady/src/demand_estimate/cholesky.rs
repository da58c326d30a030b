//! Cholesky factorization of a dense symmetric matrix, by blocks of columns.
//!
//! Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed. (2013), section 4.2.9. Every sum has a fixed order,
//! so results do not depend on the number of threads.

use rayon::prelude::*;

/// Number of columns of a block; a block of a row is then short enough for the first cache.
const BLOCK: usize = 64;

/// Pivot, relative to the diagonal, below which it is rounding error.
const MIN_PIVOT: f64 = 1e-14;

/// Solves `matrix · x = right` for a symmetric positive definite matrix, given by its rows. Only the lower triangle is
/// read, and replaced by the factor. The solution replaces `right`.
pub(super) fn solve(matrix: &mut [f64], right: &mut [f64]) {
    let n = right.len();
    let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    for begin in (0..n).step_by(BLOCK) {
        let end = (begin + BLOCK).min(n);
        for i in begin..end {
            for j in begin..=i {
                let (row, other) = (i * n + begin, j * n + begin);
                let sum = dot(
                    &matrix[row..row + j - begin],
                    &matrix[other..other + j - begin],
                );
                let rest = matrix[i * n + j] - sum;
                matrix[i * n + j] = if i == j {
                    rest.max(MIN_PIVOT * diagonal[i]).sqrt()
                } else {
                    rest / matrix[j * n + j]
                };
            }
        }
        let (above, below) = matrix.split_at_mut(end * n);
        below.par_chunks_mut(n).for_each(|row| {
            for j in begin..end {
                let sum = dot(&row[begin..j], &above[j * n + begin..j * n + j]);
                row[j] = (row[j] - sum) / above[j * n + j];
            }
        });
        let panel: Vec<f64> = below
            .chunks(n)
            .flat_map(|row| &row[begin..end])
            .copied()
            .collect();
        let width = end - begin;
        below
            .par_chunks_mut(n)
            .zip(panel.par_chunks(width))
            .enumerate()
            .for_each(|(i, (row, own))| {
                let rest = row[end..=end + i].iter_mut();
                for (entry, other) in rest.zip(panel.chunks(width)) {
                    *entry -= dot(own, other);
                }
            });
    }
    for i in 0..n {
        let sum = dot(&matrix[i * n..i * n + i], &right[..i]);
        right[i] = (right[i] - sum) / matrix[i * n + i];
    }
    for i in (0..n).rev() {
        right[i] /= matrix[i * n + i];
        let (before, value) = right.split_at_mut(i);
        for (entry, factor) in before.iter_mut().zip(&matrix[i * n..i * n + i]) {
            *entry -= factor * value[0];
        }
    }
}

/// Returns the scalar product, as the sum of eight partial sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    for (sum, (x, y)) in sums.iter_mut().zip(rest) {
        *sum = x * y;
    }
    for (a, b) in a.zip(b) {
        for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += x * y;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn solutions_fulfil_their_equations() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in [1, 2, 9, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            let factor: Vec<f64> = (0..n * n).map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut matrix: Vec<f64> = (0..n * n)
                .map(|at| {
                    let (i, j) = (at / n, at % n);
                    let own = if i == j { 0.1 } else { 0.0 };
                    own + dot(&factor[i * n..(i + 1) * n], &factor[j * n..(j + 1) * n])
                })
                .collect();
            let expected: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut right: Vec<f64> = matrix.chunks(n).map(|row| dot(row, &expected)).collect();
            solve(&mut matrix, &mut right);
            for (found, expected) in right.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-8, "{n}: {found} {expected}");
            }
        }
    }
}
