//! Differentiated services: conditioned aggregates and queues with drop precedences, as input and in results.

use std::collections::{HashMap, HashSet};

use netflow_diffserv::{
    Conditioner, Counting, Curve, Discipline, DropSpacing, Dropper, DropperSpec, Error, Fractions,
    SrTcm, TrTcm,
};

use serde::{Deserialize, Serialize};

use crate::engine::fraction;
use crate::{AggregateId, BuildError, ConnectionId, ConnectionSpec, DropPolicy, LinkSpec, Network};

/// Marker of an aggregate's packets.
#[derive(Clone, Debug)]
pub enum Edge {
    /// Conditioner of \[Cond\], or the marker of RFC 2859.
    Conditioner(Conditioner),
    /// Single-rate three-colour marker (RFC 2697); the fluid model ignores its burst sizes.
    SrTcm(SrTcm),
    /// Two-rate three-colour marker (RFC 2698); the fluid model ignores its burst sizes.
    TrTcm(TrTcm),
}

impl Edge {
    /// Returns the rate up to which packets are DP0, in bit/s.
    pub fn committed_bps(&self) -> f64 {
        match self {
            Edge::Conditioner(conditioner) => conditioner.spec().committed_bps,
            Edge::SrTcm(marker) => marker.committed_bps(),
            Edge::TrTcm(marker) => marker.committed_bps(),
        }
    }

    /// Returns the rate above which packets are DP2, in bit/s; `None` for markers without a peak rate.
    pub fn peak_bps(&self) -> Option<f64> {
        match self {
            Edge::Conditioner(conditioner) => {
                let spec = conditioner.spec();
                spec.peak_bps.filter(|_| !spec.kind.follows_rtt())
            }
            Edge::SrTcm(_) => None,
            Edge::TrTcm(marker) => Some(marker.peak_bps()),
        }
    }

    /// Returns both rates.
    pub fn rates(&self) -> MarkerRates {
        MarkerRates {
            committed_bps: self.committed_bps(),
            peak_bps: self.peak_bps(),
        }
    }

    /// Returns the marker with these rates from `now_ns` on. Token buckets round rates to whole bit/s and
    /// keep their tokens.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s, and for a peak rate of a marker without one;
    /// [`Error::PeakBelowCommitted`].
    pub fn with_rates(&self, rates: MarkerRates, now_ns: u64) -> Result<Edge, Error> {
        let MarkerRates {
            committed_bps,
            peak_bps,
        } = rates;
        let check = |what, value: f64, allowed, good: bool| {
            if good {
                Ok(())
            } else {
                Err(Error::OutOfRange {
                    what,
                    value,
                    allowed,
                })
            }
        };
        let is_rate = |bps: f64| (0.0..=1e18).contains(&bps);
        let rates = "0 to 1e18 bit/s";
        check(
            "the committed rate",
            committed_bps,
            rates,
            is_rate(committed_bps),
        )?;
        if let Some(peak_bps) = peak_bps {
            check("the peak rate", peak_bps, rates, is_rate(peak_bps))?;
            let none = "none: this marker does not use a peak rate";
            check("the peak rate", peak_bps, none, self.peak_bps().is_some())?;
        }
        let whole = |bps: f64| bps.round() as u64;
        Ok(match self {
            Edge::Conditioner(conditioner) => {
                let mut spec = conditioner.spec().clone();
                spec.committed_bps = committed_bps;
                if !spec.kind.follows_rtt() {
                    spec.peak_bps = peak_bps.or(spec.peak_bps);
                } else if spec.peak_bps < Some(committed_bps) {
                    // It has no effect, and must not cause an error.
                    spec.peak_bps = None;
                }
                Edge::Conditioner(Conditioner::new(spec)?)
            }
            Edge::SrTcm(marker) => Edge::SrTcm(marker.with_rate(now_ns, whole(committed_bps))?),
            Edge::TrTcm(marker) => {
                let peak_bps = peak_bps.unwrap_or(marker.peak_bps());
                Edge::TrTcm(marker.with_rates(now_ns, whole(committed_bps), whole(peak_bps))?)
            }
        })
    }
}

/// Rates of an aggregate's marker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkerRates {
    /// Rate up to which packets are DP0, in bit/s.
    pub committed_bps: f64,
    /// Rate above which they are DP2, in bit/s, for markers with a peak rate; `None`: unchanged.
    pub peak_bps: Option<f64>,
}

/// Connections whose packets are metered and marked together at the edge of the network.
#[derive(Clone, Debug)]
pub struct AggregateSpec {
    /// Unique name.
    pub name: String,
    /// Marker of its packets.
    pub edge: Edge,
    /// Its connections, at least one.
    pub members: Vec<ConnectionId>,
    /// Round-trip time that the conditioners assume, in seconds; `None`: the mean of its packets.
    pub rtt_s: Option<f64>,
    /// Retransmission timeout that the conditioners assume, in seconds; `None`: three round-trip times (RFC
    /// 6298 §2 after the first sample), at least 0.2 s.
    pub rto_s: Option<f64>,
}

/// Early drops by precedence: RIO or WRED. Packets outside any aggregate are DP2, because no profile covers
/// them; acknowledgements are DP0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rio {
    /// Rule that selects the packets in each precedence's average queue.
    pub discipline: Discipline,
    /// Drop probability of each precedence as a function of its average queue (waiting packets).
    pub curves: [Curve; 3],
    /// Weight of a packet in the averages, in (0, 1].
    pub weight: f64,
    /// True if the probabilities rise linearly to 1 at twice the upper thresholds; false if they jump to 1
    /// there.
    pub gentle: bool,
}

impl Rio {
    /// Checks the settings.
    ///
    /// # Errors
    /// Those of [`Dropper::new`].
    pub fn check(&self) -> Result<(), Error> {
        self.dropper(1.0, 1).map(|_| ())
    }

    /// Returns the dropper for a buffer of this size, with drops spread as in ns-2's DiffServ module.
    pub fn dropper(&self, service_pps: f64, buffer_pkts: u32) -> Result<Dropper, Error> {
        Dropper::new(DropperSpec {
            discipline: self.discipline,
            curves: self.curves,
            weight: self.weight,
            gentle: self.gentle,
            spread: DropSpacing::Uniform,
            counting: Counting::Packets,
            buffer_pkts,
            service_pps: service_pps.clamp(1e-9, 1e12),
        })
    }
}

/// Checks aggregates and queues; returns the aggregate of each connection that is in one.
pub(crate) fn check(
    links: &[LinkSpec],
    link_names: &[String],
    aggregates: &[AggregateSpec],
    connections: &[ConnectionSpec],
    errors: &mut Vec<BuildError>,
) -> HashMap<u32, u32> {
    for (link, name) in links.iter().zip(link_names) {
        if let DropPolicy::Rio(rio) = &link.queue
            && let Err(reason) = rio.dropper(1.0, 1)
        {
            let subject = format!("link {name}");
            errors.push(BuildError::DiffServ { subject, reason });
        }
    }
    let mut names = HashSet::new();
    let mut aggregate_of = HashMap::new();
    for (i, aggregate) in (0..).zip(aggregates) {
        if !names.insert(aggregate.name.as_str()) {
            errors.push(BuildError::DuplicateAggregate {
                aggregate: aggregate.name.clone(),
            });
        }
        if aggregate.members.is_empty() {
            errors.push(BuildError::EmptyAggregate {
                aggregate: aggregate.name.clone(),
            });
        }
        for (field, time_s) in [("rtt_s", aggregate.rtt_s), ("rto_s", aggregate.rto_s)] {
            if let Some(value) = time_s.filter(|t| !(*t > 0.0 && *t <= 1e9)) {
                errors.push(BuildError::OutOfRange {
                    subject: format!("aggregate {}", aggregate.name),
                    field,
                    value,
                    allowed: "above 0 and at most 1e9",
                });
            }
        }
        for &member in &aggregate.members {
            if aggregate_of.insert(member.0, i).is_some() {
                let connection = connections.get(member.index());
                errors.push(BuildError::TwoAggregates {
                    connection: connection.map_or_else(String::new, |c| c.name.clone()),
                });
            }
        }
    }
    aggregate_of
}

/// Packets of one drop precedence at a link in the period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrecedenceTotals {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets dropped early or at a full queue.
    pub lost_pkts: f64,
    /// Lost / offered, at most 1; 0 if no packets were offered.
    pub loss_probability: f64,
    /// Current average queue of this precedence, in packets.
    pub average_pkts: f64,
}

impl PrecedenceTotals {
    /// Returns the totals of each precedence from these counts.
    pub fn each(
        offered_pkts: [f64; 3],
        lost_pkts: [f64; 3],
        average_pkts: [f64; 3],
    ) -> [PrecedenceTotals; 3] {
        std::array::from_fn(|p| PrecedenceTotals {
            offered_pkts: offered_pkts[p],
            lost_pkts: lost_pkts[p],
            loss_probability: fraction(lost_pkts[p], offered_pkts[p]).min(1.0),
            average_pkts: average_pkts[p],
        })
    }

    /// Returns the counts since `before`.
    pub fn since(now: [Self; 3], before: [Self; 3]) -> [Self; 3] {
        let of =
            |count: fn(&Self) -> f64| std::array::from_fn(|p| count(&now[p]) - count(&before[p]));
        let average_pkts = now.map(|it| it.average_pkts);
        Self::each(
            of(|it| it.offered_pkts),
            of(|it| it.lost_pkts),
            average_pkts,
        )
    }

    /// Returns the loss probability of packets with this marking.
    pub fn lost_of(each: [Self; 3], marking: [f64; 3]) -> f64 {
        let parts = each.iter().zip(marking);
        parts.map(|(it, part)| part * it.loss_probability).sum()
    }
}

/// Totals of an aggregate's connections in the period; arrays are by drop precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AggregateTotals {
    /// Packets sent.
    pub sent_pkts: [f64; 3],
    /// Packets that reached their receivers.
    pub delivered_pkts: [f64; 3],
    /// Packets lost.
    pub lost_pkts: [f64; 3],
    /// Mean goodput in packets/s.
    pub mean_goodput_pps: f64,
    /// Mean goodput in bit/s.
    pub mean_goodput_bps: f64,
    /// Current rate that its edge measures, in bit/s.
    pub measured_bps: f64,
    /// Current fractions of each precedence that its edge marks.
    pub marking: [f64; 3],
    /// Current round-trip time at its edge, in seconds; `None` before it has sent.
    pub rtt_s: Option<f64>,
}

impl AggregateTotals {
    /// Returns the fractions of sent packets by precedence; all DP0 if none was sent.
    pub fn fractions(&self) -> Fractions {
        let sum: f64 = self.sent_pkts.iter().sum();
        if sum <= 0.0 {
            return Fractions::GREEN;
        }
        let [dp0, dp1, dp2] = self.sent_pkts.map(|sent| sent / sum);
        Fractions { dp0, dp1, dp2 }
    }

    /// Returns lost / sent over all precedences, at most 1; 0 if no packets were sent.
    pub fn loss_probability(&self) -> f64 {
        let sum = |parts: [f64; 3]| parts.iter().sum::<f64>();
        match sum(self.sent_pkts) {
            sent if sent > 0.0 => (sum(self.lost_pkts) / sent).min(1.0),
            _ => 0.0,
        }
    }
}

impl Network {
    /// Returns all aggregates, in the order they were added.
    pub fn aggregates(&self) -> impl Iterator<Item = AggregateId> + use<> {
        let owner = self.inner.owner;
        (0..self.inner.aggregates.len() as u32).map(move |a| AggregateId(a, owner))
    }

    /// Returns the aggregate of a connection, if it is in one.
    pub fn aggregate_of(&self, id: ConnectionId) -> Option<AggregateId> {
        let aggregate = self.inner.aggregate_of(id.within(self.inner.owner) as u32);
        aggregate.map(|a| AggregateId(a, self.inner.owner))
    }

    /// Returns the specification of the aggregate.
    ///
    /// # Panics
    /// If the id is of another network, as in all look-ups by id.
    pub fn aggregate_spec(&self, id: AggregateId) -> &AggregateSpec {
        &self.inner.aggregates[id.within(self.inner.owner)]
    }
}
