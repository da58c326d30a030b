//! How far one side is from the other.

use serde::Serialize;

use crate::ensemble::LinkWhole;
use crate::{Ensemble, Side, Spread};

/// How many of the longest queues a comparison looks at by themselves.
pub const BUSIEST: usize = 12;

/// netflow's figure beside ns-2's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// What ns-2 says, over its runs.
    pub ns: Spread,
    /// What netflow says.
    pub netflow: f64,
}

impl Estimate {
    fn new(values: Vec<f64>, netflow: f64) -> Estimate {
        Estimate {
            ns: Spread::of(&values),
            netflow,
        }
    }

    /// netflow − ns.
    pub fn error(&self) -> f64 {
        self.netflow - self.ns.mean
    }

    /// netflow / ns − 1; `None` where ns has 0.
    pub fn relative_error(&self) -> Option<f64> {
        (self.ns.mean != 0.0).then(|| self.netflow / self.ns.mean - 1.0)
    }
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkComparison {
    /// `FROM->TO`.
    pub link: String,
    /// Mean queue in packets, the one in service included.
    pub queue_pkts: Estimate,
    /// Lost / arrived.
    pub loss_probability: Estimate,
    /// Packets lost.
    pub lost_pkts: Estimate,
    /// Packets that arrived.
    pub offered_pkts: Estimate,
    /// Fraction of the time the link was busy.
    pub utilization: Estimate,
    /// The queue over time: Σ|netflow − mean of ns| / Σ mean of ns, over the intervals; `None`
    /// where ns has no queue.
    pub trajectory_error: Option<f64>,
    /// The same in standard deviations of ns: the root mean square of (netflow − mean) / std over
    /// the intervals in which ns's runs differ; `None` of a single run.
    pub trajectory_sigmas: Option<f64>,
}

/// One connection, all `count` of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionComparison {
    /// Its name.
    pub connection: String,
    /// Packets/s sent, over the whole run.
    pub send_pps: Estimate,
    /// Packets/s delivered (in ns-2: acknowledged), over the whole run.
    pub goodput_pps: Estimate,
}

/// All together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Mean queues: Σ|netflow − ns| / Σ ns over all links.
    pub queue_error: f64,
    /// The same over the [`BUSIEST`] longest queues of ns.
    pub busiest_queue_error: f64,
    /// What that is for one run of ns against the mean of all: the mean over the runs.
    pub ns_busiest_queue_error: Option<f64>,
    /// Goodput of connections: Σ|netflow − ns| / Σ ns.
    pub goodput_error: f64,
    /// Median over the connections of |netflow / ns − 1|.
    pub median_goodput_error: f64,
    /// 90th percentile of the same.
    pub p90_goodput_error: f64,
    /// The median for one run of ns against the mean of all: the mean over the runs.
    pub ns_median_goodput_error: Option<f64>,
    /// Packets delivered: netflow / ns.
    pub goodput_ratio: f64,
    /// Packets lost: netflow / ns; `None` where ns loses none.
    pub lost_ratio: Option<f64>,
}

/// netflow beside ns-2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Runs of ns-2.
    pub runs: usize,
    /// Seconds that are compared.
    pub duration_s: f64,
    /// Every link, in the order of the scenario.
    pub links: Vec<LinkComparison>,
    /// Every connection, in the order of the scenario.
    pub connections: Vec<ConnectionComparison>,
    /// All together.
    pub totals: Totals,
}

impl Comparison {
    /// Puts both sides together by the names of links and connections. Intervals of `every_s` are
    /// what the ensemble has; netflow's series become means over them.
    pub fn new(side: &Side, ensemble: &Ensemble, every_s: f64) -> Comparison {
        let here = side.run.onto(&ensemble.grid);
        let links = links(side, &here, ensemble);
        let connections = connections(side, ensemble);
        let known: HashSet<&str> = ensemble.links.iter().map(|link| link.link.as_str()).collect();
        let used = side.summary.links.iter().filter(|link| link.offered_pkts > 0.0);
        let missing_links = used.filter(|link| !known.contains(link.link.as_str()));
        let known = ensemble.connections.iter().map(|connection| connection.connection.as_str());
        let known: HashSet<&str> = known.collect();
        let sending = side.summary.connections.iter().filter(|c| c.mean_send_pps > 0.0);
        let missing_connections = sending.filter(|c| !known.contains(c.connection.as_str()));
        Comparison {
            seeds: ensemble.seeds,
            duration_s: ensemble.grid.duration_s(),
            every_s,
            totals: totals(&links, &connections, &here, ensemble),
            links,
            connections,
            missing: Missing {
                links: missing_links.map(|link| link.link.clone()).collect(),
                connections: missing_connections.map(|c| c.connection.clone()).collect(),
                links_without_bandwidth: Vec::new(),
            },
            conditions: None,
            times: None,
        }
    }
}

fn links(side: &Side, here: &Run, ensemble: &Ensemble) -> Vec<LinkComparison> {
    let busiest = busiest(ensemble);
    let summaries: HashMap<&str, &LinkSummary> =
        side.summary.links.iter().map(|link| (link.link.as_str(), link)).collect();
    let queues = queues(here);
    let mut compared = Vec::new();
    for theirs in &ensemble.links {
        let name = theirs.link.as_str();
        let (Some(ours), Some(queue)) = (summaries.get(name), queues.get(name)) else {
            continue;
        };
        if theirs.whole.arrival_pps.mean <= 0.0 && ours.offered_pkts <= 0.0 {
            continue;
        }
        let duration_s = ensemble.grid.duration_s();
        compared.push(LinkComparison {
            link: theirs.link.clone(),
            busiest: busiest.contains(name),
            queue_pkts: Difference::of(theirs.whole.queue_pkts, ours.mean_queue_pkts),
            utilization: Difference::of(theirs.whole.utilization, ours.utilization),
            loss_probability: Difference::of(theirs.whole.loss_probability, ours.loss_probability),
            offered_pkts: Difference::of(theirs.whole.arrival_pps.times(duration_s), ours.offered_pkts),
            lost_pkts: Difference::of(theirs.whole.loss_pps.times(duration_s), ours.lost_pkts),
            queue_over_time: Trajectory::of(&ensemble.grid, theirs, queue).over_time(),
        });
    }
    compared
}

fn connections(side: &Side, ensemble: &Ensemble) -> Vec<ConnectionComparison> {
    let summaries: HashMap<&str, &ConnectionSummary> = side
        .summary
        .connections
        .iter()
        .map(|connection| (connection.connection.as_str(), connection))
        .collect();
    let mut compared = Vec::new();
    for theirs in &ensemble.connections {
        let Some(ours) = summaries.get(theirs.connection.as_str()) else {
            continue;
        };
        if theirs.whole.send_pps.mean <= 0.0 && ours.mean_send_pps <= 0.0 {
            continue;
        }
        compared.push(ConnectionComparison {
            connection: theirs.connection.clone(),
            goodput_pps: Difference::of(theirs.whole.goodput_pps, ours.mean_goodput_pps),
            send_pps: Difference::of(theirs.whole.send_pps, ours.mean_send_pps),
        });
    }
    compared
}

fn totals(
    links: &[LinkComparison],
    connections: &[ConnectionComparison],
    here: &Run,
    ensemble: &Ensemble,
) -> Totals {
    let queues = queues(here);
    let (mut all, mut of_busiest) = (Trajectory::default(), Trajectory::default());
    let theirs: HashMap<&str, &EnsembleLink> =
        ensemble.links.iter().map(|link| (link.link.as_str(), link)).collect();
    for link in links {
        let name = link.link.as_str();
        if let (Some(theirs), Some(queue)) = (theirs.get(name), queues.get(name)) {
            let trajectory = Trajectory::of(&ensemble.grid, theirs, queue);
            all.add(&trajectory);
            if link.busiest {
                of_busiest.add(&trajectory);
            }
        }
    }
    let busiest = links.iter().filter(|link| link.busiest);
    Totals {
        queue_pkts: Total::of(links.iter().map(|link| &link.queue_pkts)),
        queue_pkts_busiest: Total::of(busiest.map(|link| &link.queue_pkts)),
        queue_over_time: all.over_time(),
        queue_over_time_busiest: of_busiest.over_time(),
        utilization: Total::of(links.iter().map(|link| &link.utilization)),
        lost_pkts: Total::of(links.iter().map(|link| &link.lost_pkts)),
        goodput_pps: Total::of(connections.iter().map(|c| &c.goodput_pps)),
    }
}

fn queues(run: &Run) -> HashMap<&str, &[f64]> {
    let links = run.links.iter();
    links.map(|link| (link.link.as_str(), link.queue_pkts.as_slice())).collect()
}

/// The longest queues, until they hold their share of all packets; among equals the first.
fn busiest(ensemble: &Ensemble) -> HashSet<&str> {
    let queue_pkts = |link: &&EnsembleLink| link.whole.queue_pkts.mean;
    let mut order: Vec<&EnsembleLink> = ensemble.links.iter().collect();
    order.sort_by(|a, b| queue_pkts(b).total_cmp(&queue_pkts(a)));
    let all_pkts: f64 = order.iter().map(queue_pkts).sum();
    let mut held_pkts = 0.0;
    let mut busiest = HashSet::new();
    for link in order {
        if held_pkts >= BUSIEST_SHARE * all_pkts {
            break;
        }
        held_pkts += queue_pkts(&link);
        busiest.insert(link.link.as_str());
    }
    busiest
}

impl Difference {
    fn of(ns: Estimate, netflow: f64) -> Difference {
        let error = netflow - ns.mean;
        Difference {
            ns,
            netflow,
            error,
            relative_error: ratio(error, ns.mean),
            deviations: ns.std.and_then(|std| ratio(error, std)),
        }
    }
}

impl Total {
    fn of<'a>(differences: impl Iterator<Item = &'a Difference>) -> Total {
        let (mut count, mut off, mut ns, mut netflow) = (0, 0.0, 0.0, 0.0);
        let mut std = Some(0.0);
        let mut errors = Vec::new();
        for difference in differences {
            count += 1;
            off += difference.error.abs();
            ns += difference.ns.mean;
            netflow += difference.netflow;
            std = std.zip(difference.ns.std).map(|(sum, std)| sum + std);
            errors.extend(difference.relative_error.map(f64::abs));
        }
        errors.sort_by(f64::total_cmp);
        Total {
            count,
            error: ratio(off, ns),
            spread: std.and_then(|std| ratio(std, ns)),
            ratio: ratio(netflow, ns),
            median_error: quantile(&errors, 0.5),
            p90_error: quantile(&errors, 0.9),
        }
    }
}

/// The sums that a trajectory's measures are made of, in packets × seconds.
#[derive(Clone, Copy, Debug)]
struct Trajectory {
    /// Σ w |y − m|
    off: f64,
    /// Σ w m
    ns: f64,
    /// Σ w s
    std: Option<f64>,
}

impl Default for Trajectory {
    fn default() -> Trajectory {
        Trajectory {
            off: 0.0,
            ns: 0.0,
            std: Some(0.0),
        }
    }
}

impl Trajectory {
    fn of(grid: &Grid, theirs: &EnsembleLink, ours: &[f64]) -> Trajectory {
        let mut sums = Trajectory::default();
        for ((length_s, theirs), ours) in grid.lengths_s().zip(&theirs.series).zip(ours) {
            let queue = theirs.queue_pkts;
            sums.add(&Trajectory {
                off: length_s * (ours - queue.mean).abs(),
                ns: length_s * queue.mean,
                std: queue.std.map(|std| length_s * std),
            });
        }
        sums
    }

    fn add(&mut self, other: &Trajectory) {
        self.off += other.off;
        self.ns += other.ns;
        self.std = self.std.zip(other.std).map(|(sum, std)| sum + std);
    }

    fn over_time(&self) -> OverTime {
        OverTime {
            error: ratio(self.off, self.ns),
            spread: self.std.and_then(|std| ratio(std, self.ns)),
            deviations: self.std.and_then(|std| ratio(self.off, std)),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Of values in order, interpolated between neighbours; the ends are those of the values.
fn quantile(sorted: &[f64], fraction: f64) -> Option<f64> {
    let place = fraction * sorted.len().checked_sub(1)? as f64;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    Some(below + place.fract() * (above - below))
}

#[cfg(test)]
mod tests {
    use netflow_fluid::Model;
    use netflow_results::{Summary, TotalsSummary};

    use super::*;
    use crate::{ConnectionRun, LinkRun};

    /// Two intervals of 1 s and 3 s.
    fn run(queues: &[(&str, [f64; 2])], goodputs: &[(&str, [f64; 2])]) -> Run {
        let link = |(link, queue): &(&str, [f64; 2])| LinkRun {
            link: (*link).to_owned(),
            arrival_pps: vec![100.0; 2],
            loss_pps: vec![1.0; 2],
            departure_pps: vec![99.0; 2],
            queue_pkts: queue.to_vec(),
            utilization: vec![0.5; 2],
        };
        let connection = |(connection, goodput): &(&str, [f64; 2])| ConnectionRun {
            connection: (*connection).to_owned(),
            send_pps: goodput.to_vec(),
            goodput_pps: goodput.to_vec(),
        };
        Run {
            grid: Grid::new(vec![1.0, 4.0]),
            links: queues.iter().map(link).collect(),
            connections: goodputs.iter().map(connection).collect(),
        }
    }

    /// Everything of netflow from its series.
    fn side(run: Run) -> Side {
        let mean = |series: &[f64]| run.grid.mean(series);
        let link = |link: &LinkRun| LinkSummary {
            link: link.link.clone(),
            mean_queue_pkts: mean(&link.queue_pkts),
            max_queue_pkts: 0.0,
            loss_probability: 0.02,
            utilization: mean(&link.utilization),
            offered_pkts: 400.0,
            lost_pkts: 8.0,
        };
        let connection = |connection: &ConnectionRun| ConnectionSummary {
            connection: connection.connection.clone(),
            mean_send_pps: mean(&connection.send_pps),
            mean_goodput_pps: mean(&connection.goodput_pps),
            offered_pkts: 0.0,
            delivered_pkts: 0.0,
            lost_pkts: 0.0,
            mean_rtt_s: 0.0,
            loss_probability: 0.0,
            outside_profile_fraction: 0.0,
            finished_s: None,
        };
        Side {
            summary: Summary {
                duration_s: 4.0,
                model: Model::Fluid,
                seeds: 1,
                links: run.links.iter().map(link).collect(),
                connections: run.connections.iter().map(connection).collect(),
                totals: TotalsSummary::default(),
                acks: TotalsSummary::default(),
                warnings: Vec::new(),
            },
            run,
        }
    }

    fn close(found: Option<f64>, wanted: f64) {
        let found = found.unwrap();
        assert!((found - wanted).abs() < 1e-12, "{found} instead of {wanted}");
    }

    /// Two seeds. The long queue: means over time 10 and 14; the short one: 1 and 1.
    fn two_seeds() -> Ensemble {
        Ensemble::of(&[
            run(&[("long", [4.0, 12.0]), ("short", [1.0, 1.0])], &[("a", [8.0, 8.0]), ("b", [1.0, 5.0])]),
            run(&[("long", [8.0, 16.0]), ("short", [1.0, 1.0])], &[("a", [12.0, 12.0]), ("b", [1.0, 5.0])]),
        ])
    }

    #[test]
    fn numbers_are_compared_with_mean_and_spread() {
        // long: m = 12, s = sqrt(8); netflow (8 + 3 · 8) / 4 = 8.
        // Trajectory: m = 6 and 14, s = sqrt(8) and sqrt(8); |8 − 6| · 1 + |8 − 14| · 3 = 20,
        // Σ w m = 48, Σ w s = 4 sqrt(8).
        let ours = side(run(&[("long", [8.0, 8.0]), ("short", [2.0, 2.0])], &[("a", [11.0, 11.0]), ("b", [2.0, 2.0])]));
        let comparison = Comparison::new(&ours, &two_seeds(), 3.0);
        let root = 8.0_f64.sqrt();
        let [long, short] = comparison.links.as_slice() else { panic!() };
        assert_eq!((long.queue_pkts.ns.mean, long.queue_pkts.netflow), (12.0, 8.0));
        assert_eq!(long.queue_pkts.error, -4.0);
        close(long.queue_pkts.relative_error, -1.0 / 3.0);
        close(long.queue_pkts.deviations, -4.0 / root);
        close(long.queue_over_time.error, 20.0 / 48.0);
        close(long.queue_over_time.spread, 4.0 * root / 48.0);
        close(long.queue_over_time.deviations, 20.0 / (4.0 * root));
        // short: both seeds alike, so there is no deviation to measure by.
        assert_eq!((short.queue_pkts.error, short.queue_pkts.deviations), (1.0, None));
        assert_eq!(short.queue_over_time.deviations, None);
        // 4 s of 100 and 1 packets/s.
        assert_eq!(long.offered_pkts.ns.mean, 400.0);
        assert_eq!((long.lost_pkts.ns.mean, long.lost_pkts.error), (4.0, 4.0));
        close(Some(long.loss_probability.ns.mean), 0.01);

        // 12 of 13 packets are at the long queue.
        assert!(long.busiest && !short.busiest);
        let totals = comparison.totals;
        close(totals.queue_pkts.error, 5.0 / 13.0);
        close(totals.queue_pkts.spread, root / 13.0);
        close(totals.queue_pkts.ratio, 10.0 / 13.0);
        assert_eq!((totals.queue_pkts.count, totals.queue_pkts_busiest.count), (2, 1));
        close(totals.queue_pkts_busiest.error, 4.0 / 12.0);
        // The short trajectory: |2 − 1| · 4 of 4.
        close(totals.queue_over_time.error, 24.0 / 52.0);
        close(totals.queue_over_time.deviations, 24.0 / (4.0 * root));
        close(totals.queue_over_time_busiest.error, 20.0 / 48.0);
        close(totals.lost_pkts.ratio, 2.0);
        close(totals.utilization.error, 0.0);

        // a: 10 ± sqrt(8) and 11; b: 4 and 2. Relative errors 0.1 and 0.5.
        close(totals.goodput_pps.error, 3.0 / 14.0);
        close(totals.goodput_pps.ratio, 13.0 / 14.0);
        close(totals.goodput_pps.median_error, 0.3);
        close(totals.goodput_pps.p90_error, 0.1 + 0.9 * 0.4);
        close(comparison.connections[0].goodput_pps.deviations, 1.0 / root);
    }

    #[test]
    fn one_seed_has_no_spread_anywhere() {
        let one = run(&[("long", [4.0, 4.0])], &[("a", [8.0, 8.0])]);
        let comparison = Comparison::new(&side(one.clone()), &Ensemble::of(&[one]), 3.0);
        let link = &comparison.links[0];
        assert_eq!(link.queue_pkts.ns.std, None);
        assert_eq!((link.queue_pkts.relative_error, link.queue_pkts.deviations), (Some(0.0), None));
        assert_eq!(comparison.totals.queue_pkts.spread, None);
        assert_eq!(comparison.totals.queue_over_time.spread, None);
        assert_eq!(comparison.totals.queue_over_time.error, Some(0.0));
    }

    #[test]
    fn netflow_is_compared_on_the_intervals_of_ns() {
        // netflow: 8 for 2 s and 4 for 2 s; on 1 s and 3 s: 8 and (8 + 2 · 4) / 3.
        let mut ours = run(&[("long", [8.0, 4.0])], &[]);
        ours.grid = Grid::new(vec![2.0, 4.0]);
        let theirs = run(&[("long", [8.0, 16.0 / 3.0])], &[]);
        let comparison = Comparison::new(&side(ours), &Ensemble::of(&[theirs]), 3.0);
        close(comparison.links[0].queue_over_time.error, 0.0);
    }

    #[test]
    fn what_ns_does_not_have_is_told() {
        let ours = side(run(&[("long", [8.0, 8.0]), ("other", [1.0, 1.0])], &[("a", [1.0, 1.0]), ("c", [1.0, 1.0])]));
        let comparison = Comparison::new(&ours, &two_seeds(), 3.0);
        assert_eq!(comparison.links.len(), 1);
        assert_eq!(comparison.missing.links, ["other"]);
        assert_eq!(comparison.missing.connections, ["c"]);
    }

    #[test]
    fn idle_links_are_left_out_and_nothing_divides_by_0() {
        let mut idle = run(&[("idle", [0.0, 0.0])], &[("idle", [0.0, 0.0])]);
        idle.links[0].arrival_pps = vec![0.0; 2];
        let mut ours = side(idle.clone());
        ours.summary.links[0].offered_pkts = 0.0;
        let comparison = Comparison::new(&ours, &Ensemble::of(&[idle]), 3.0);
        assert!(comparison.links.is_empty() && comparison.connections.is_empty());
        assert_eq!(comparison.totals.queue_pkts.error, None);
        assert_eq!(comparison.totals.goodput_pps.median_error, None);
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 1.0), Some(8.0));
        // 2.7 places from the first: 4 + 0.7 · 4.
        close(quantile(&values, 0.9), 6.8);
        assert_eq!(quantile(&[], 0.5), None);
    }
}
