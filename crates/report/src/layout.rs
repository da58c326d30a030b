//! Force-directed layout of nodes without positions (Fruchterman and Reingold, 1991).
//!
//! It uses only additions, multiplications, divisions and square roots, which are identical on every
//! platform.

/// Cosine and sine of the golden angle.
const GOLDEN: (f64, f64) = (-0.737_368_878_078_320_1, 0.675_490_294_261_524);

/// Returns positions of `nodes` nodes, about 1 apart if a link (a pair of indices) joins them. Nodes with a
/// position in `fixed` keep it.
pub fn layout(
    nodes: usize,
    links: &[(usize, usize)],
    fixed: &[Option<(f64, f64)>],
) -> Vec<(f64, f64)> {
    let edges = edges(nodes, links);
    let mut places = start(nodes, &edges);
    let known = |i: usize| fixed.get(i).copied().flatten();
    for (i, place) in places.iter_mut().enumerate() {
        *place = known(i).unwrap_or(*place);
    }
    if (0..nodes).all(|i| known(i).is_some()) {
        return places;
    }
    let scale = scale(&edges, fixed);
    for (i, place) in places.iter_mut().enumerate() {
        if known(i).is_none() {
            *place = (place.0 * scale, place.1 * scale);
        }
    }
    // Keeps the total work about constant for any size.
    let rounds = (200_000_000 / (nodes * nodes).max(1)).clamp(30, 500);
    for round in 0..rounds {
        let heat = 1.0 - round as f64 / rounds as f64;
        step(&mut places, &edges, &known, scale, heat * heat);
    }
    if (0..nodes).all(|i| known(i).is_none()) {
        rotate(&mut places);
    }
    places
}

/// Rotates a layout so that its principal axis is horizontal and its first node is on the left.
fn rotate(places: &mut [(f64, f64)]) {
    let count = places.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>();
    let centre = (sum(|it| it.0) / count, sum(|it| it.1) / count);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for place in places.iter() {
        let (x, y) = difference(*place, centre);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    let elongation = length(((xx - yy) / 2.0, xy));
    if elongation <= 1e-6 * (xx + yy) {
        return;
    }
    // Half-angle formulas: the direction of ((xx - yy) / 2, xy) is twice the angle of the axis.
    let double_cos = (xx - yy) / 2.0 / elongation;
    let cos = ((1.0 + double_cos) / 2.0).max(0.0).sqrt();
    let sin = ((1.0 - double_cos) / 2.0).max(0.0).sqrt().copysign(xy);
    let rotated = |place: (f64, f64), cos: f64, sin: f64| {
        let (x, y) = difference(place, centre);
        (x * cos + y * sin, y * cos - x * sin)
    };
    let is_right = places
        .first()
        .is_some_and(|&first| rotated(first, cos, sin).0 > 0.0);
    let (cos, sin) = if is_right { (-cos, -sin) } else { (cos, sin) };
    for place in places.iter_mut() {
        *place = rotated(*place, cos, sin);
    }
}

/// Returns each pair once, independent of its direction.
fn edges(nodes: usize, links: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut edges: Vec<_> = links
        .iter()
        .map(|&(a, b)| (a.min(b), a.max(b)))
        .filter(|&(a, b)| a != b && b < nodes)
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns initial positions on a spiral, in breadth-first order from the node with the most links, so that
/// neighbours are close.
fn start(nodes: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let mut near = vec![Vec::new(); nodes];
    for &(a, b) in edges {
        near[a].push(b);
        near[b].push(a);
    }
    let mut roots: Vec<usize> = (0..nodes).collect();
    roots.sort_by_key(|&i| (std::cmp::Reverse(near[i].len()), i));
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    for root in roots {
        let mut next = order.len();
        if !std::mem::replace(&mut seen[root], true) {
            order.push(root);
        }
        while let Some(&node) = order.get(next) {
            next += 1;
            for &other in &near[node] {
                if !std::mem::replace(&mut seen[other], true) {
                    order.push(other);
                }
            }
        }
    }
    let mut places = vec![(0.0, 0.0); nodes];
    let mut turn = (1.0, 0.0);
    for (i, node) in order.into_iter().enumerate() {
        let radius = 0.7 * (i as f64).sqrt();
        places[node] = (radius * turn.0, radius * turn.1);
        let (x, y) = turn;
        turn = (x * GOLDEN.0 - y * GOLDEN.1, x * GOLDEN.1 + y * GOLDEN.0);
    }
    places
}

/// Returns the mean length of links between fixed nodes, or 1 if there are none.
fn scale(edges: &[(usize, usize)], fixed: &[Option<(f64, f64)>]) -> f64 {
    let at = |i: usize| fixed.get(i).copied().flatten();
    let lengths = edges
        .iter()
        .filter_map(|&(a, b)| Some(length(difference(at(a)?, at(b)?))));
    let (mut n, mut sum) = (0.0, 0.0);
    for length in lengths {
        n += 1.0;
        sum += length;
    }
    if sum > 0.0 { sum / n } else { 1.0 }
}

fn step(
    places: &mut [(f64, f64)],
    edges: &[(usize, usize)],
    known: &impl Fn(usize) -> Option<(f64, f64)>,
    scale: f64,
    heat: f64,
) {
    let mut forces = vec![(0.0, 0.0); places.len()];
    let mut push = |i: usize, (x, y): (f64, f64), by: f64| {
        if let Some(force) = forces.get_mut(i) {
            *force = (force.0 + x * by, force.1 + y * by);
        }
    };
    for (i, &a) in places.iter().enumerate() {
        // A weak force towards the centre keeps unconnected components together.
        push(i, a, -0.02);
        for (j, &b) in places.iter().enumerate().skip(i + 1) {
            let mut apart = difference(a, b);
            if apart == (0.0, 0.0) {
                apart = (1e-3 * scale * (i + 1) as f64, 1e-3 * scale * (j + 1) as f64);
            }
            let by = scale * scale / (apart.0 * apart.0 + apart.1 * apart.1);
            push(i, apart, by);
            push(j, apart, -by);
        }
    }
    for &(a, b) in edges {
        let apart = difference(places[a], places[b]);
        let by = length(apart) / scale;
        push(a, apart, -by);
        push(b, apart, by);
    }
    for (i, (place, force)) in places.iter_mut().zip(forces).enumerate() {
        let size = length(force);
        if known(i).is_none() && size > 0.0 {
            let by = size.min(heat * scale) / size;
            *place = (place.0 + force.0 * by, place.1 + force.1 * by);
        }
    }
}

fn difference(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 - b.0, a.1 - b.1)
}

fn length((x, y): (f64, f64)) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_nodes_are_close_together() {
        // A ring of eight: opposite nodes are about 1 / sin(π/8) times as far apart as neighbours.
        let links: Vec<_> = (0..8).map(|i| (i, (i + 1) % 8)).collect();
        let places = layout(8, &links, &[]);
        let gap = |a: usize, b: usize| length(difference(places[a], places[b]));
        for i in 0..8 {
            let ratio = gap(i, (i + 4) % 8) / gap(i, (i + 1) % 8);
            assert!((2.3..2.9).contains(&ratio), "{i}: {ratio}");
        }
        assert_eq!(places, layout(8, &links, &[]));
    }

    #[test]
    fn chain_is_horizontal_from_left_to_right() {
        let places = layout(4, &[(0, 1), (1, 2), (2, 3)], &[]);
        assert!(
            places.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{places:?}"
        );
        assert!(places.iter().all(|place| place.1.abs() < 0.1), "{places:?}");
    }

    #[test]
    fn scenario_positions_are_kept() {
        let fixed = [Some((10.0, 20.0)), None, Some((30.0, 20.0))];
        let places = layout(3, &[(0, 1), (1, 2)], &fixed);
        assert_eq!((places[0], places[2]), ((10.0, 20.0), (30.0, 20.0)));
        assert!(places[1].0 > 10.0 && places[1].0 < 30.0, "{places:?}");
    }

    #[test]
    fn degenerate_networks_are_laid_out() {
        assert!(layout(0, &[], &[]).is_empty());
        for (nodes, links) in [(1, vec![(0, 0)]), (4, vec![(0, 1)]), (2, vec![(0, 7)])] {
            let places = layout(nodes, &links, &[]);
            assert!(places.iter().all(|p| p.0.is_finite() && p.1.is_finite()));
            for (i, a) in places.iter().enumerate() {
                assert!(places[..i].iter().all(|b| length(difference(*a, *b)) > 0.3));
            }
        }
    }
}
