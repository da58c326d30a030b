//! GMRES (Saad & Schultz 1986) for a matrix given as a product, with a diagonal right
//! preconditioner, modified Gram–Schmidt orthogonalization and Givens rotations.

/// Number of Krylov directions after which it restarts.
const RESTART: usize = 120;

/// Work space, reused between solutions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gmres {
    basis: Vec<Vec<f64>>,
    /// Upper triangular factor, by columns.
    triangle: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    rhs: Vec<f64>,
    work: Vec<f64>,
}

/// Outcome of a solution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GmresOutcome {
    /// Residual norm relative to that of the right-hand side.
    pub relative_residual: f64,
    pub products: usize,
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Gmres {
    /// Solves A x = b from x = 0 until the relative residual is at most `tolerance` or
    /// `max_products` products were formed.
    pub fn solve(
        &mut self,
        mut apply: impl FnMut(&[f64], &mut [f64]),
        diagonal: &[f64],
        b: &[f64],
        tolerance: f64,
        max_products: usize,
        x: &mut [f64],
    ) -> GmresOutcome {
        let n = b.len();
        x.fill(0.0);
        self.work.resize(n, 0.0);
        let size = norm(b);
        let mut products = 0;
        let mut left = 1.0;
        if size == 0.0 || !size.is_finite() {
            let left = if size == 0.0 { 0.0 } else { f64::INFINITY };
            return GmresOutcome {
                relative_residual: left,
                products,
            };
        }
        let mut residual = b.to_vec();
        while left > tolerance && products < max_products {
            let before = left;
            let beta = norm(&residual);
            self.reserve_basis_vector(0, n);
            for (v, r) in self.basis[0].iter_mut().zip(&residual) {
                *v = r / beta;
            }
            self.rhs.clear();
            self.rhs.push(beta);
            self.rotations.clear();
            let mut columns = 0;
            while columns < RESTART && products < max_products {
                products += 1;
                let length = self.arnoldi_step(columns, diagonal, &mut apply);
                columns += 1;
                left = self.rhs[columns].abs() / size;
                if left <= tolerance || length <= 1e-300 || length.is_nan() {
                    break;
                }
            }
            self.add_solution(columns, diagonal, x);
            apply(x, &mut self.work);
            products += 1;
            for ((r, b), ax) in residual.iter_mut().zip(b).zip(&self.work) {
                *r = b - ax;
            }
            left = norm(&residual) / size;
            if left.is_nan() || left > 0.5 * before {
                break; // it does not get on
            }
        }
        GmresOutcome {
            relative_residual: left,
            products,
        }
    }

    fn reserve_basis_vector(&mut self, i: usize, n: usize) {
        while self.basis.len() <= i {
            self.basis.push(Vec::new());
        }
        self.basis[i].resize(n, 0.0);
    }

    /// Adds one Krylov direction, and returns its length before normalization.
    fn arnoldi_step(
        &mut self,
        j: usize,
        diagonal: &[f64],
        apply: &mut impl FnMut(&[f64], &mut [f64]),
    ) -> f64 {
        let n = diagonal.len();
        self.reserve_basis_vector(j + 1, n);
        for ((s, v), d) in self.work.iter_mut().zip(&self.basis[j]).zip(diagonal) {
            *s = v / d;
        }
        let mut next = std::mem::take(&mut self.basis[j + 1]);
        apply(&self.work, &mut next);
        let mut column = Vec::with_capacity(j + 2);
        for v in &self.basis[..=j] {
            let h = dot(&next, v);
            column.push(h);
            for (w, v) in next.iter_mut().zip(v) {
                *w -= h * v;
            }
        }
        let length = norm(&next);
        if length > 0.0 {
            for w in &mut next {
                *w /= length;
            }
        }
        self.basis[j + 1] = next;
        for (i, &(c, s)) in self.rotations.iter().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
        }
        let hypotenuse = libm::hypot(column[j], length);
        let (c, s) = if hypotenuse > 0.0 {
            (column[j] / hypotenuse, length / hypotenuse)
        } else {
            (1.0, 0.0)
        };
        column[j] = hypotenuse;
        self.rotations.push((c, s));
        let g = self.rhs[j];
        self.rhs[j] = c * g;
        self.rhs.push(-s * g);
        self.triangle.truncate(j);
        self.triangle.push(column);
        length
    }

    fn add_solution(&mut self, columns: usize, diagonal: &[f64], x: &mut [f64]) {
        let mut y = vec![0.0; columns];
        for i in (0..columns).rev() {
            let known: f64 = (i + 1..columns).map(|k| self.triangle[k][i] * y[k]).sum();
            let pivot = self.triangle[i][i];
            y[i] = if pivot == 0.0 {
                0.0
            } else {
                (self.rhs[i] - known) / pivot
            };
        }
        for (y, v) in y.iter().zip(&self.basis) {
            for ((x, v), d) in x.iter_mut().zip(v).zip(diagonal) {
                *x += y * v / d;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full matrix with a dominant diagonal of two scales; the solution is known.
    #[test]
    fn gmres_recovers_a_known_solution() {
        let n = 150;
        let entry = |i: usize, j: usize| {
            if i == j {
                1.0 + (i % 7) as f64 * 40.0
            } else {
                ((i * 31 + j * 17) % 11) as f64 * 0.02 - 0.1
            }
        };
        let apply = |x: &[f64], out: &mut [f64]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = (0..n).map(|j| entry(i, j) * x[j]).sum();
            }
        };
        let wanted: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut b = vec![0.0; n];
        apply(&wanted, &mut b);
        let diagonal: Vec<f64> = (0..n).map(|i| entry(i, i)).collect();
        let mut x = vec![0.0; n];
        let solved = Gmres::default().solve(apply, &diagonal, &b, 1e-12, 1000, &mut x);
        assert!(solved.relative_residual < 1e-11, "{solved:?}");
        for (x, wanted) in x.iter().zip(&wanted) {
            assert!((x - wanted).abs() < 1e-9, "{x} {wanted}");
        }
    }
}
