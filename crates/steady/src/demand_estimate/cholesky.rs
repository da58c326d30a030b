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
        // Only the last block is smaller, and nothing is below it.
        let rest = n - end;
        let mut panel = vec![0.0; BLOCK * rest];
        for (i, row) in below.chunks(n).enumerate() {
            for (k, value) in row[begin..end].iter().enumerate() {
                panel[k * rest + i] = *value;
            }
        }
        below
            .par_chunks_mut(n)
            .enumerate()
            .for_each(|(i, row)| subtract_products(row, begin, end, i + 1, &panel, rest));
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

/// Subtracts from the first `count` entries after `end` the products of a row's block with the columns of a panel,
/// four rows of the panel at a time.
fn subtract_products(
    row: &mut [f64],
    begin: usize,
    end: usize,
    count: usize,
    panel: &[f64],
    rest: usize,
) {
    let (block, entries) = row[begin..].split_at_mut(end - begin);
    let entries = &mut entries[..count];
    for (factors, four) in block.chunks_exact(4).zip(panel.chunks_exact(4 * rest)) {
        let (a, b) = (&four[..count], &four[rest..][..count]);
        let (c, d) = (&four[2 * rest..][..count], &four[3 * rest..][..count]);
        for (i, entry) in entries.iter_mut().enumerate() {
            let sum =
                (factors[0] * a[i] + factors[1] * b[i]) + (factors[2] * c[i] + factors[3] * d[i]);
            *entry -= sum;
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
