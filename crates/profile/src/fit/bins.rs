//! Binning of conditions into rows or columns of the surface.

/// Bins along one axis.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// Bin of each value; bins are numbered in increasing order of their values.
    pub(super) bin_of: Vec<usize>,
    /// Number of bins.
    pub(super) count: usize,
}

/// Assigns values (logarithms) to bins. Each bin begins at the lowest remaining value and has the
/// width given for it, so that values that differ only by their errors share a bin.
pub(super) fn bins(values: &[f64], widths: &[f64]) -> Bins {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut of = vec![0; values.len()];
    let mut count: usize = 0;
    let mut end = f64::NEG_INFINITY;
    for i in order {
        if count == 0 || values[i] > end {
            count += 1;
            end = values[i] + widths[i];
        }
        of[i] = count - 1;
    }
    Bins { bin_of: of, count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_by_their_errors_share_a_bin() {
        let found = bins(&[1.0, 3.0, 1.1, 3.05, 2.0], &[0.2; 5]);
        assert_eq!((found.bin_of, found.count), (vec![0, 2, 0, 2, 1], 3));
        assert_eq!(bins(&[], &[]).count, 0);
    }
}
