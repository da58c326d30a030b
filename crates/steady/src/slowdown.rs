//! Slowdown of TCP transfers that share a link: an empirical profile, measured with packets
//! (`studies/sharing`). Unlike formulas of processor sharing, it includes windows that leave
//! capacity unused, slow starts that end early because of cross traffic, and losses.

use std::sync::OnceLock;

/// Table with one row per combination of RTT, bandwidth-delay product, transfer size and buffer
/// size. The names of the last columns are loads.
const TABLE: &str = include_str!("../data/sharing.csv");
const AXES: usize = 4;
const LOADS: usize = 5;
const COLUMNS: usize = 1 + LOADS;

/// Measured slowdown of transfers over one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SharingSlowdown {
    /// Unloaded time relative to that of slow start; above 1 if transfers lose packets even when
    /// alone.
    pub solo_factor: f64,
    /// (T/T₀ − 1)(1 − ρ)/ρ at each load ρ, with T₀ the unloaded time.
    per_load: [f64; LOADS],
}

impl SharingSlowdown {
    /// Ideal processor sharing.
    #[cfg(test)]
    pub const PROCESSOR_SHARING: SharingSlowdown = SharingSlowdown {
        solo_factor: 1.0,
        per_load: [1.0; LOADS],
    };

    /// Interpolates the profile for transfers of mean size `size_pkts`, a round-trip time `rtt_s`
    /// without queueing, a bandwidth-delay product `bdp_pkts` and a buffer `buffer_pkts`. Values
    /// outside the measured range are clamped.
    pub fn of(rtt_s: f64, bdp_pkts: f64, size_pkts: f64, buffer_pkts: f64) -> SharingSlowdown {
        let table = table();
        let at = [
            1e3 * rtt_s,
            bdp_pkts,
            size_pkts / bdp_pkts,
            buffer_pkts / bdp_pkts,
        ];
        let places: [GridPosition; AXES] =
            std::array::from_fn(|axis| GridPosition::of(&table.axes[axis], at[axis]));
        let mut sums = [0.0; COLUMNS];
        for corner in 0..1_usize << AXES {
            let (mut row, mut weight) = (0, 1.0);
            for (axis, place) in places.iter().enumerate() {
                let upper = corner >> axis & 1;
                row = row * table.axes[axis].len() + place.below + upper;
                weight *= if upper == 1 {
                    place.fraction
                } else {
                    1.0 - place.fraction
                };
            }
            if weight > 0.0 {
                for (sum, value) in sums.iter_mut().zip(&table.rows[row]) {
                    *sum += weight * value;
                }
            }
        }
        let [alone, per_load @ ..] = sums;
        SharingSlowdown {
            solo_factor: alone,
            per_load,
        }
    }

    /// Returns the slowdown T/T₀ − 1 at this load of transfers, which must be below 1.
    pub fn slowdown(&self, load: f64) -> f64 {
        let place = GridPosition::between(&table().loads, load);
        let [below, above] = [place.below, place.below + 1].map(|at| self.per_load[at]);
        load / (1.0 - load) * ((1.0 - place.fraction) * below + place.fraction * above)
    }
}

struct Table {
    /// ln of: RTT in ms; bandwidth-delay product in packets; transfer size and buffer size, both in
    /// bandwidth-delay products.
    axes: [Vec<f64>; AXES],
    loads: [f64; LOADS],
    /// Rows in the order of the axes; the last axis varies fastest.
    rows: Vec<[f64; COLUMNS]>,
}

fn table() -> &'static Table {
    static ALL: OnceLock<Table> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut axes: [Vec<f64>; AXES] = Default::default();
        let mut rows = Vec::new();
        let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().unwrap_or_default();
        let mut told = head
            .split(',')
            .filter_map(|name| name.strip_prefix("at_")?.parse().ok());
        let loads = std::array::from_fn(|_| told.next().unwrap_or(f64::INFINITY));
        for line in lines {
            let mut cells = line.split(',').map_while(|cell| cell.parse::<f64>().ok());
            for axis in &mut axes {
                let value = cells.next().map_or(0.0, libm::log);
                if !axis.contains(&value) {
                    axis.push(value);
                }
            }
            rows.push(std::array::from_fn(|_| cells.next().unwrap_or(0.0)));
        }
        Table { axes, loads, rows }
    })
}

/// Position between two values of an axis.
struct GridPosition {
    below: usize,
    /// Fraction of the distance to the next value.
    fraction: f64,
}

impl GridPosition {
    fn of(axis: &[f64], value: f64) -> GridPosition {
        GridPosition::between(axis, libm::log(value))
    }

    fn between(axis: &[f64], value: f64) -> GridPosition {
        let last = axis.len().saturating_sub(2);
        let below = axis.partition_point(|it| *it <= value);
        let below = below.saturating_sub(1).min(last);
        let part = (value - axis[below]) / (axis[below + 1] - axis[below]);
        GridPosition {
            below,
            fraction: part.clamp(0.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_at_grid_points_match_table_rows() {
        let table = table();
        let count: usize = table.axes.iter().map(Vec::len).product();
        assert_eq!(table.rows.len(), count);
        let are_two = |axis: &Vec<f64>| axis.is_sorted() && axis.len() > 1;
        assert!(table.axes.iter().all(are_two) && table.loads.is_sorted());
        assert!(table.loads.iter().all(|load| (0.0..1.0).contains(load)));
        let sound =
            |row: &[f64; COLUMNS]| row[0] > 0.5 && row.iter().all(|it| (0.0..50.0).contains(it));
        assert!(table.rows.iter().all(sound));
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        for line in lines.skip(1) {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [rtt_ms, way, size, room, alone, rest @ ..] = &*cells else {
                panic!("{line}")
            };
            let found = SharingSlowdown::of(1e-3 * rtt_ms, *way, size * way, room * way);
            assert!((found.solo_factor - alone).abs() < 1e-9, "{line}");
            assert_eq!(rest.len(), LOADS);
            for (load, told) in table.loads.iter().zip(rest) {
                let longer = found.slowdown(*load);
                assert!((longer - told * load / (1.0 - load)).abs() < 1e-9, "{line}");
            }
        }
        // Clamps outside the measured range and interpolates within it.
        let of = |way: f64| SharingSlowdown::of(0.01, way, way, way);
        assert_eq!(of(1e-3), of(1.5));
        assert_eq!(of(1e9), of(5000.0));
        let (low, middle, high) = (of(50.0), of(80.0), of(150.0));
        for load in [0.05, 0.2, 0.6, 0.95] {
            let [low, middle, high] = [low, middle, high].map(|it| it.slowdown(load));
            assert!(middle >= low.min(high) && middle <= low.max(high));
        }
    }
}
