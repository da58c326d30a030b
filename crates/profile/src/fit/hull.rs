//! Convex hull of the measured points.

/// Convex hull of points in a plane.
pub(super) struct Hull {
    /// Corners, counter-clockwise.
    corners: Vec<[f64; 2]>,
}

/// Distance from an edge within which a point is on it.
const EDGE_TOLERANCE: f64 = 1e-9;

impl Hull {
    /// Computes the hull with Andrew's monotone chain.
    pub(super) fn new(points: &[[f64; 2]]) -> Hull {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        points.dedup();
        let mut corners = half_hull(points.iter());
        corners.pop();
        let mut back = half_hull(points.iter().rev());
        back.pop();
        corners.extend(back);
        if corners.is_empty() {
            corners = points;
        }
        Hull { corners }
    }

    /// Returns whether the point is inside or on the edge.
    pub(super) fn contains(&self, point: [f64; 2]) -> bool {
        match self.corners[..] {
            [] => false,
            [only] => (0..2).all(|axis| (only[axis] - point[axis]).abs() <= EDGE_TOLERANCE),
            [a, b] => {
                let within = |axis: usize| {
                    let (low, high) = (a[axis].min(b[axis]), a[axis].max(b[axis]));
                    (low - EDGE_TOLERANCE..=high + EDGE_TOLERANCE).contains(&point[axis])
                };
                cross_product(a, b, point).abs() <= EDGE_TOLERANCE && within(0) && within(1)
            }
            _ => {
                let next = self.corners.iter().cycle().skip(1);
                let mut edges = self.corners.iter().zip(next);
                edges.all(|(&a, &b)| cross_product(a, b, point) >= -EDGE_TOLERANCE)
            }
        }
    }
}

fn half_hull<'a>(points: impl Iterator<Item = &'a [f64; 2]>) -> Vec<[f64; 2]> {
    let mut corners: Vec<[f64; 2]> = Vec::new();
    for &point in points {
        while let [.., a, b] = corners[..]
            && cross_product(a, b, point) <= EDGE_TOLERANCE
        {
            corners.pop();
        }
        corners.push(point);
    }
    corners
}

/// Returns a positive value if the path from a over b to c turns left.
fn cross_product(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hull_contains_its_edges() {
        let triangle = Hull::new(&[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.5, 0.5], [1.0, 0.0]]);
        for inside in [[0.0, 0.0], [1.0, 1.0], [0.3, 0.2], [1.5, 0.0]] {
            assert!(triangle.contains(inside), "{inside:?}");
        }
        for outside in [[1.1, 1.0], [-0.1, 0.0], [2.0, 2.0], [1.0, -0.01]] {
            assert!(!triangle.contains(outside), "{outside:?}");
        }
    }

    #[test]
    fn hulls_of_lines_and_points() {
        let line = Hull::new(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]);
        assert!(line.contains([0.5, 0.5]) && !line.contains([3.0, 3.0]));
        assert!(!line.contains([0.5, 0.6]));
        let point = Hull::new(&[[1.0, 2.0]]);
        assert!(point.contains([1.0, 2.0]) && !point.contains([1.0, 2.1]));
        assert!(!Hull::new(&[]).contains([0.0, 0.0]));
    }
}
