//! Conditioned aggregates and queues with drop precedences, as a network's builder takes them and
//! as a run reports them.

use std::collections::{HashMap, HashSet};

use netflow_diffserv::{
    Conditioner, Counting, Curve, Discipline, Dropper, DropperSpec, Error, Fractions, Spread,
    SrTcm, TrTcm,
};

use serde::{Deserialize, Serialize};

use crate::readout::fraction;
use crate::{AggregateId, BuildError, ConnectionId, ConnectionSpec, DropPolicy, LinkSpec, Network};

/// What marks the packets of an aggregate.
#[derive(Clone, Debug)]
pub enum Edge {
    /// A conditioner of \[Cond\], or RFC 2859's marker.
    Conditioner(Conditioner),
    /// The single rate three colour marker; its bursts have no effect on a fluid.
    SrTcm(SrTcm),
    /// The two rate three colour marker; its bursts have no effect on a fluid.
    TrTcm(TrTcm),
}

impl Edge {
    /// The rate up to which packets are DP0, in bit/s.
    pub fn committed_bps(&self) -> f64 {
        match self {
            Edge::Conditioner(conditioner) => conditioner.spec().committed_bps,
            Edge::SrTcm(marker) => marker.committed_bps(),
            Edge::TrTcm(marker) => marker.committed_bps(),
        }
    }

    /// The rate above which packets are DP2, in bit/s, of markers that look at one.
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

    /// Both.
    pub fn rates(&self) -> MarkerRates {
        MarkerRates {
            committed_bps: self.committed_bps(),
            peak_bps: self.peak_bps(),
        }
    }

    /// The same with these rates from `now_ns` on; of token buckets in whole bit/s, and what has come into
    /// them stays.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rate that is not 0 to 1e18 bit/s, and for a peak rate of a marker that looks at
    /// none; [`Error::PeakBelowCommitted`].
    pub fn with_rates(&self, rates: MarkerRates, now_ns: u64) -> Result<Edge, Error> {
        let MarkerRates {
            committed_bps,
            peak_bps,
        } = rates;
        let check = |what, value: f64, allowed, good: bool| match good {
            true => Ok(()),
            false => Err(Error::OutOfRange {
                what,
                value,
                allowed,
            }),
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
            let none = "none: this marker looks at no peak rate";
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
                    // It has no effect, and may not stand in the way.
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

/// The rates of the marker of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkerRates {
    /// The rate up to which packets are DP0, in bit/s.
    pub committed_bps: f64,
    /// The rate above which they are DP2, in bit/s, of markers that look at one; `None`: as it is.
    pub peak_bps: Option<f64>,
}

/// Connections whose packets are metered and marked together, where they enter the network.
#[derive(Clone, Debug)]
pub struct AggregateSpec {
    /// Its name, unique.
    pub name: String,
    /// What marks its packets.
    pub edge: Edge,
    /// The connections that it consists of, at least one.
    pub members: Vec<ConnectionId>,
    /// What the conditioners take for its round-trip time in seconds; `None`: the mean of its
    /// packets.
    pub rtt_s: Option<f64>,
    /// What they take for its retransmission timeout in seconds; `None`: three round-trip times
    /// (RFC 6298 §2 after the first sample), at least 0.2 s.
    pub rto_s: Option<f64>,
}

/// Early drops by precedence: RIO or WRED. Packets of no aggregate are DP2, as they are within
/// nobody's profile; acknowledgements are DP0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rio {
    /// Which packets the average counts that a precedence looks at.
    pub discipline: Discipline,
    /// How the drop probability of each precedence rises with it (waiting packets).
    pub curves: [Curve; 3],
    /// Weight of a packet in the averages, in (0, 1].
    pub weight: f64,
    /// Whether the probabilities rise on to 1 at twice the upper thresholds instead of jumping
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

    /// Drops spread as by ns-2's DiffServ module, in front of so much room.
    pub fn dropper(&self, service_pps: f64, buffer_pkts: u32) -> Result<Dropper, Error> {
        Dropper::new(DropperSpec {
            discipline: self.discipline,
            curves: self.curves,
            weight: self.weight,
            gentle: self.gentle,
            spread: Spread::Uniform,
            counting: Counting::Packets,
            buffer_pkts,
            service_pps: service_pps.clamp(1e-9, 1e12),
        })
    }
}

/// Checks aggregates and queues; returns the aggregate of each connection that has one.
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

/// The packets of one drop precedence at a link since the period began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrecedenceTotals {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets that were dropped early, or found the queue full.
    pub lost_pkts: f64,
    /// Lost / offered; 0 if nothing was offered, and at most 1.
    pub loss_probability: f64,
    /// The average queue that this precedence looks at, now, in packets.
    pub average_pkts: f64,
}

impl PrecedenceTotals {
    /// Of what was counted for each.
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

    /// What was counted since then.
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

    /// The part lost of packets marked like this.
    pub fn lost_of(each: [Self; 3], marking: [f64; 3]) -> f64 {
        let parts = each.iter().zip(marking);
        parts.map(|(it, part)| part * it.loss_probability).sum()
    }
}

/// An aggregate since the period began, all its connections together; arrays are by drop precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AggregateTotals {
    /// Packets sent.
    pub sent_pkts: [f64; 3],
    /// Packets that reached their receivers.
    pub delivered_pkts: [f64; 3],
    /// Packets lost.
    pub lost_pkts: [f64; 3],
    /// Packets/s delivered.
    pub mean_goodput_pps: f64,
    /// Bits/s delivered.
    pub mean_goodput_bps: f64,
    /// What its edge measures now, in bit/s.
    pub measured_bps: f64,
    /// How its edge marks now.
    pub marking: [f64; 3],
    /// The round-trip time that its edge knows now, in seconds; `None` before it has sent.
    pub rtt_s: Option<f64>,
}

impl AggregateTotals {
    /// The parts of what was sent that had each precedence; all DP0 if nothing was sent.
    pub fn fractions(&self) -> Fractions {
        let sum: f64 = self.sent_pkts.iter().sum();
        if sum <= 0.0 {
            return Fractions::GREEN;
        }
        let [dp0, dp1, dp2] = self.sent_pkts.map(|sent| sent / sum);
        Fractions { dp0, dp1, dp2 }
    }

    /// Lost / sent over all precedences; 0 if nothing was sent, and at most 1.
    pub fn loss_probability(&self) -> f64 {
        let sum = |parts: [f64; 3]| parts.iter().sum::<f64>();
        match sum(self.sent_pkts) {
            sent if sent > 0.0 => (sum(self.lost_pkts) / sent).min(1.0),
            _ => 0.0,
        }
    }
}

impl Network {
    /// All aggregates, in the order they were added.
    pub fn aggregates(&self) -> impl Iterator<Item = AggregateId> + use<> {
        let owner = self.inner.owner;
        (0..self.inner.aggregates.len() as u32).map(move |a| AggregateId(a, owner))
    }

    /// The aggregate of a connection that is in one.
    pub fn aggregate_of(&self, id: ConnectionId) -> Option<AggregateId> {
        let aggregate = self.inner.aggregate_of(id.within(self.inner.owner) as u32);
        aggregate.map(|a| AggregateId(a, self.inner.owner))
    }

    /// What the aggregate was built from.
    ///
    /// # Panics
    /// Like all look-ups by id: if the id is of another network.
    pub fn aggregate_spec(&self, id: AggregateId) -> &AggregateSpec {
        &self.inner.aggregates[id.within(self.inner.owner)]
    }
}
