//! Congestion cost of a link: the piecewise linear function of Fortz and Thorup (INFOCOM 2000).

/// Loads at which the slope changes, and the slope from there on.
const PIECES: [(f64, f64); 6] = [
    (0.0, 1.0),
    (1.0 / 3.0, 3.0),
    (2.0 / 3.0, 10.0),
    (0.9, 70.0),
    (1.0, 500.0),
    (1.1, 5000.0),
];

/// Returns the cost of a load as a fraction of the capacity; convex, and 0 for no load.
pub(super) fn congestion_cost(load: f64) -> f64 {
    let mut cost = 0.0;
    let mut slope = 0.0;
    for (from, steeper) in PIECES {
        if load <= from {
            break;
        }
        cost += (steeper - slope) * (load - from);
        slope = steeper;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values follow from the published slopes by hand.
    #[test]
    fn cost_is_that_of_the_published_slopes() {
        let third = 1.0 / 3.0;
        let expected = [
            (0.0, 0.0),
            (third, third),
            (2.0 * third, third + 3.0 * third),
            (0.9, 4.0 * third + 10.0 * (0.9 - 2.0 * third)),
            (1.0, 4.0 * third + 10.0 * (0.9 - 2.0 * third) + 7.0),
            (1.1, 4.0 * third + 10.0 * (0.9 - 2.0 * third) + 57.0),
            (1.2, 4.0 * third + 10.0 * (0.9 - 2.0 * third) + 557.0),
        ];
        for (load, cost) in expected {
            assert!(
                (congestion_cost(load) - cost).abs() < 1e-9 * (1.0 + cost),
                "{load}"
            );
        }
    }
}
