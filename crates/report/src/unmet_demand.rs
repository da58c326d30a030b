//! Unmet demand of connections.

use netflow_results::{ConnectionSummary, TopologyConnection};

/// Returns the unmet demand of a connection between two times (s) as a fraction. For TCP with a known solo
/// throughput, the reference is the smaller of that throughput and the data of its application. For other
/// sources, the result is the loss fraction combined with the time without a route. Returns `None` if the
/// connection was not active.
pub fn unmet_demand(
    connection: &ConnectionSummary,
    known: Option<&TopologyConnection>,
    (from_s, to_s): (f64, f64),
) -> Option<f64> {
    if connection.finished_s.is_some() {
        return Some(0.0);
    }
    let start_s = known.map_or(from_s, |it| it.start_s.max(from_s));
    let stop_s = known.and_then(|it| it.stop_s);
    let active_s = stop_s.map_or(to_s, |it| it.min(to_s)) - start_s;
    if active_s <= 0.0 || active_s.is_nan() {
        return None;
    }
    let share = match known.and_then(|it| it.uncontended_pps) {
        Some(alone_pps) => {
            let alone_pkts = alone_pps * active_s;
            match connection.generated_pkts {
                // The most recent data are still in flight.
                Some(generated_pkts) => {
                    let served_pkts = connection.delivered_pkts + connection.in_network_pkts;
                    1.0 - served_pkts / generated_pkts.min(alone_pkts)
                }
                None => 1.0 - connection.delivered_pkts / alone_pkts,
            }
        }
        None => {
            let wanted = connection.offered_pkts + connection.unrouted_pkts;
            let failed = connection.lost_pkts + connection.unrouted_pkts;
            let arrived = if wanted > 0.0 {
                1.0 - failed / wanted
            } else {
                1.0
            };
            // A source that counts packets without a route includes that time already.
            let without_s: f64 = if connection.unrouted_pkts > 0.0 {
                0.0
            } else {
                connection
                    .unrouted_intervals_s
                    .iter()
                    .map(|it| it.1 - it.0)
                    .sum()
            };
            1.0 - arrived * (1.0 - without_s / active_s)
        }
    };
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> ConnectionSummary {
        ConnectionSummary {
            offered_pkts: 100.0,
            delivered_pkts: 80.0,
            lost_pkts: 10.0,
            generated_pkts: None,
            finished_s: None,
            mean_finished_s: None,
            ..ConnectionSummary::with_all_columns()
        }
    }

    fn known(alone_pps: Option<f64>) -> TopologyConnection {
        TopologyConnection {
            connection: "c".to_owned(),
            from: String::new(),
            to: String::new(),
            source: String::new(),
            count: 1,
            packet_size_bytes: 1000.0,
            path: Vec::new(),
            return_path: Vec::new(),
            later_paths: Vec::new(),
            start_s: 5.0,
            stop_s: None,
            uncontended_pps: alone_pps,
        }
    }

    fn share(connection: &ConnectionSummary, alone_pps: Option<f64>) -> f64 {
        let share = unmet_demand(connection, Some(&known(alone_pps)), (0.0, 15.0)).unwrap();
        (1e9 * share).round() / 1e9
    }

    #[test]
    fn unmet_demand_is_relative_to_the_demand() {
        // Lost packets of sent packets; packets in flight are not lost.
        assert_eq!(share(&connection(), None), 0.1);
        // 20 packets/s for the remaining ten seconds.
        assert_eq!(share(&connection(), Some(20.0)), 0.6);
        assert_eq!(share(&connection(), Some(1.0)), 0.0);
        // The application made a given number of packets, of which 5 are in flight; of 1000, only 200 fit.
        let applied = |generated_pkts| ConnectionSummary {
            generated_pkts: Some(generated_pkts),
            in_network_pkts: 5.0,
            ..connection()
        };
        assert_eq!(share(&applied(85.0), Some(20.0)), 0.0);
        assert_eq!(share(&applied(100.0), Some(20.0)), 0.15);
        assert_eq!(share(&applied(1000.0), Some(20.0)), 0.575);
        // TCP that sends nothing while it has no route.
        let cut = ConnectionSummary {
            unrouted_intervals_s: vec![(5.0, 10.0)],
            ..connection()
        };
        assert_eq!(share(&cut, None), 0.55);
        // A source that continues to send counts its packets without a route.
        let blocked = ConnectionSummary {
            unrouted_pkts: 100.0,
            ..cut
        };
        assert_eq!(share(&blocked, None), 0.55);
    }

    #[test]
    fn finished_or_unstarted_connection_has_no_unmet_demand() {
        let done = ConnectionSummary {
            finished_s: Some(9.0),
            mean_finished_s: Some(9.0),
            ..connection()
        };
        assert_eq!(share(&done, Some(20.0)), 0.0);
        assert_eq!(
            unmet_demand(&connection(), Some(&known(None)), (0.0, 4.0)),
            None
        );
        assert!(unmet_demand(&connection(), None, (0.0, 4.0)).is_some());
    }
}
