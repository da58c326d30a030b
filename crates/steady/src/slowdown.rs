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
pub(crate) struct Shared {
    /// Unloaded time relative to that of slow start; above 1 if transfers lose packets even when
    /// alone.
    pub alone: f64,
    /// (T/T₀ − 1)(1 − ρ)/ρ at each load ρ, with T₀ the unloaded time.
    per_load: [f64; LOADS],
}

impl Shared {
    /// Ideal processor sharing.
    #[cfg(test)]
    pub const PROCESSOR: Shared = Shared {
        alone: 1.0,
        per_load: [1.0; LOADS],
    };

    /// Interpolates the profile for transfers of mean size `size_pkts`, a round-trip time `rtt_s`
    /// without queueing, a bandwidth-delay product `way_pkts` and a buffer `room_pkts`. Values
    /// outside the measured range are clamped.
    pub fn of(rtt_s: f64, way_pkts: f64, size_pkts: f64, room_pkts: f64) -> Shared {
        let table = table();
        let at = [
            1e3 * rtt_s,
            way_pkts,
            size_pkts / way_pkts,
            room_pkts / way_pkts,
        ];
        let places: [Place; AXES] =
            std::array::from_fn(|axis| Place::of(&table.axes[axis], at[axis]));
        let mut sums = [0.0; COLUMNS];
        for corner in 0..1_usize << AXES {
            let (mut row, mut weight) = (0, 1.0);
            for (axis, place) in places.iter().enumerate() {
                let upper = corner >> axis & 1;
                row = row * table.axes[axis].len() + place.below + upper;
                weight *= if upper == 1 {
                    place.part
                } else {
                    1.0 - place.part
                };
            }
            if weight > 0.0 {
                for (sum, value) in sums.iter_mut().zip(&table.rows[row]) {
                    *sum += weight * value;
                }
            }
        }
        let [alone, per_load @ ..] = sums;
        Shared { alone, per_load }
    }

    /// Returns the slowdown T/T₀ − 1 at this load of transfers, which must be below 1.
    pub fn longer(&self, load: f64) -> f64 {
        let place = Place::between(&table().loads, load);
        let [below, above] = [place.below, place.below + 1].map(|at| self.per_load[at]);
        load / (1.0 - load) * ((1.0 - place.part) * below + place.part * above)
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
struct Place {
    below: usize,
    /// Fraction of the distance to the next value.
    part: f64,
}

impl Place {
    fn of(axis: &[f64], value: f64) -> Place {
        Place::between(axis, libm::log(value))
    }

    fn between(axis: &[f64], value: f64) -> Place {
        let last = axis.len().saturating_sub(2);
        let below = axis.partition_point(|it| *it <= value);
        let below = below.saturating_sub(1).min(last);
        let part = (value - axis[below]) / (axis[below + 1] - axis[below]);
        Place {
            below,
            part: part.clamp(0.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_its_rows_are_where_they_are_looked_for() {
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
            let found = Shared::of(1e-3 * rtt_ms, *way, size * way, room * way);
            assert!((found.alone - alone).abs() < 1e-9, "{line}");
            assert_eq!(rest.len(), LOADS);
            for (load, told) in table.loads.iter().zip(rest) {
                let longer = found.longer(*load);
                assert!((longer - told * load / (1.0 - load)).abs() < 1e-9, "{line}");
            }
        }
        // Clamps outside the measured range and interpolates within it.
        let of = |way: f64| Shared::of(0.01, way, way, way);
        assert_eq!(of(1e-3), of(1.5));
        assert_eq!(of(1e9), of(5000.0));
        let (low, middle, high) = (of(50.0), of(80.0), of(150.0));
        for load in [0.05, 0.2, 0.6, 0.95] {
            let [low, middle, high] = [low, middle, high].map(|it| it.longer(load));
            assert!(middle >= low.min(high) && middle <= low.max(high));
        }
    }
}
