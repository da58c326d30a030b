//! Great-circle distance and propagation delay.

use crate::Position;

/// Mean radius of the earth (IUGG).
const RADIUS_KM: f64 = 6371.0088;
/// Speed of light in a vacuum.
const LIGHT_KM_PER_S: f64 = 299_792.458;
/// Speed of light in glass, as a fraction of that in a vacuum.
const FIBRE_VELOCITY_FACTOR: f64 = 2.0 / 3.0;

/// Returns the great-circle distance of two nodes; `None` if one has no geographic position.
pub fn great_circle_km(from: Position, to: Position) -> Option<f64> {
    let radians = |position| match position {
        Position::Degrees {
            longitude,
            latitude,
        } => Some((f64::to_radians(longitude), f64::to_radians(latitude))),
        Position::Plane { .. } => None,
    };
    let ((from_lon, from_lat), (to_lon, to_lat)) = (radians(from)?, radians(to)?);
    // The haversine formula is accurate for small distances.
    let half = |a: f64, b: f64| libm::sin((a - b) / 2.0).powi(2);
    let h =
        half(to_lat, from_lat) + libm::cos(from_lat) * libm::cos(to_lat) * half(to_lon, from_lon);
    Some(2.0 * RADIUS_KM * libm::asin(h.clamp(0.0, 1.0).sqrt()))
}

/// Returns the propagation delay of a fibre of this length.
pub fn fibre_delay_s(km: f64) -> f64 {
    km / (LIGHT_KM_PER_S * FIBRE_VELOCITY_FACTOR)
}

/// Returns the lower bound of the propagation delay: that of light in a vacuum.
pub(crate) fn min_delay_s(km: f64) -> f64 {
    km / LIGHT_KM_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(longitude: f64, latitude: f64) -> Position {
        Position::Degrees {
            longitude,
            latitude,
        }
    }

    /// On a great circle of radius R, an angle a has the length a R. A degree of the equator is R π /
    /// 180.
    #[test]
    fn great_circle_distances_are_correct() {
        let degree_km = RADIUS_KM * std::f64::consts::PI / 180.0;
        let km = |from, to| great_circle_km(from, to).unwrap();
        assert!((km(at(0.0, 0.0), at(1.0, 0.0)) - degree_km).abs() < 1e-9);
        assert!((km(at(10.0, 89.0), at(-170.0, 89.0)) - 2.0 * degree_km).abs() < 1e-6);
        assert!((km(at(179.5, 0.0), at(-179.5, 0.0)) - degree_km).abs() < 1e-9);
        assert!((km(at(0.0, 90.0), at(0.0, -90.0)) - 180.0 * degree_km).abs() < 1e-6);
        assert_eq!(km(at(8.5, 47.4), at(8.5, 47.4)), 0.0);
        assert_eq!(
            great_circle_km(at(0.0, 0.0), Position::Plane { x: 0.0, y: 0.0 }),
            None
        );
    }

    #[test]
    fn fibre_delay_is_five_ms_per_1000_km() {
        assert!((fibre_delay_s(1000.0) - 0.005_003_461_428).abs() < 1e-12);
    }
}
