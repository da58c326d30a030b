//! Comparison of two runs.

use std::convert::Infallible;

use netflow_simulation::{Interval, Model, Recorder, Run, Simulation};

/// Recorder that ignores all intervals.
pub struct NullRecorder;

impl Recorder for NullRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the differences that exceed their tolerances: the utilization of a link by 2 points,
/// delivered packets by 2 % (or `few_pkts`), lost packets by 15 % or 20 packets. In the fluid model,
/// also the queues by 10 % or one packet.
pub fn differences(one: &Simulation, two: &Simulation, few_pkts: f64) -> Vec<String> {
    compare(one, two, few_pkts).0
}

/// Returns the same, with the largest difference relative to its tolerance.
pub fn compare(one: &Simulation, two: &Simulation, few_pkts: f64) -> (Vec<String>, f64) {
    let (mut found, mut largest) = (Vec::new(), 0.0_f64);
    let mut check = |what: &str, a: f64, b: f64, allowed: f64| {
        let difference = (a - b).abs() / allowed;
        largest = largest.max(difference);
        if difference > 1.0 {
            found.push(format!("{what}: {a:.4} instead of {b:.4}"));
        }
    };
    let (mut a_lost, mut b_lost) = (0.0, 0.0);
    for (a, b) in one.network().links().zip(two.network().links()) {
        let (a, b) = (one.link_totals(a), two.link_totals(b));
        check("utilization", a.utilization, b.utilization, 0.02);
        if matches!(one.options().model, Model::Fluid(_)) {
            let allowed = (0.1 * b.mean_queue_pkts).max(1.0);
            check("queue", a.mean_queue_pkts, b.mean_queue_pkts, allowed);
        }
        a_lost += a.lost_pkts;
        b_lost += b.lost_pkts;
    }
    let (a, b) = (one.totals().delivered_pkts, two.totals().delivered_pkts);
    check("delivered", a, b, (0.02 * b).max(few_pkts));
    check("lost", a_lost, b_lost, (0.15 * b_lost).max(20.0));
    (found, largest)
}

/// Returns the totals of links and connections.
pub fn totals_of(simulation: &Simulation) -> Vec<f64> {
    let network = simulation.network();
    let mut all = Vec::new();
    for id in network.links() {
        let totals = simulation.link_totals(id);
        all.extend([totals.offered_pkts, totals.lost_pkts, totals.departed_pkts]);
        all.extend([totals.mean_queue_pkts, simulation.queue_pkts(id)]);
    }
    for id in network.connections() {
        let totals = simulation.connection_totals(id);
        all.extend([totals.offered_pkts, totals.delivered_pkts]);
        all.push(totals.mean_rtt_s.unwrap_or_default());
    }
    all
}
