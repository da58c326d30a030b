//! Edges that mark the packets of aggregates: conditioners, srTCM (RFC 2697) and trTCM (RFC 2698).

use netflow_diffserv::{
    Aggregate, DropPrecedence, Error, Fractions, GivenInputs, Marker, Minima, SrTcm, TrTcm,
};
use netflow_network::{AggregateSpec, Edge, MarkerRates};
use rand::RngExt;

use crate::{Purpose, random};

/// Interval in ns at which edges exchange round-trip times.
pub(crate) const UPDATE_NS: u64 = 100_000_000;
const MIN_RTO_S: f64 = 0.2;

/// Edge of one aggregate.
#[derive(Clone, Debug)]
pub(crate) struct EdgeMarker {
    marks: MarkingAlgorithm,
    spec: Edge,
    /// Seed of the conditioner's random numbers.
    seed: u64,
    inputs: GivenInputs,
    /// Packets of each precedence that were marked, and of these the lost ones.
    pub sent: [u64; 3],
    pub lost: [u64; 3],
    pub copies: [u64; 3],
}

#[derive(Clone, Debug)]
enum MarkingAlgorithm {
    Conditioner(Box<Marker>),
    SrTcm(SrTcm),
    TrTcm(TrTcm),
    /// Invalid conditioner. The network's builder rejects it.
    Invalid,
}

impl MarkingAlgorithm {
    fn new(edge: &Edge, known: &GivenInputs, seed: u64) -> MarkingAlgorithm {
        match edge {
            Edge::Conditioner(conditioner) => {
                let marker = Marker::new(conditioner.clone(), known, 0, seed);
                marker.map_or(MarkingAlgorithm::Invalid, |m| {
                    MarkingAlgorithm::Conditioner(Box::new(m))
                })
            }
            Edge::SrTcm(marker) => MarkingAlgorithm::SrTcm(marker.clone()),
            Edge::TrTcm(marker) => MarkingAlgorithm::TrTcm(marker.clone()),
        }
    }
}

impl EdgeMarker {
    pub fn new(spec: &AggregateSpec, seed: u64, number: u64) -> EdgeMarker {
        // Before the first measurement, all aggregates are equal.
        let known = GivenInputs {
            aggregate: Aggregate::new(1.0, 1.0),
            minima: Minima::over([&Aggregate::new(1.0, 1.0)]),
        };
        let seed = random(seed, Purpose::Edge, number).random();
        EdgeMarker {
            marks: MarkingAlgorithm::new(&spec.edge, &known, seed),
            spec: spec.edge.clone(),
            seed,
            inputs: known,
            sent: [0; 3],
            lost: [0; 3],
            copies: [0; 3],
        }
    }

    /// Sets the rates from `now_ns` on. Measurements and token buckets are kept. Before the first packet, the
    /// result is as if the rates had always been these.
    ///
    /// # Errors
    /// Those of [`Edge::with_rates`]; the state is unchanged then.
    pub fn set_rates(&mut self, now_ns: u64, rates: MarkerRates) -> Result<(), Error> {
        let now = match &self.marks {
            MarkingAlgorithm::SrTcm(marker) => Edge::SrTcm(marker.clone()),
            MarkingAlgorithm::TrTcm(marker) => Edge::TrTcm(marker.clone()),
            MarkingAlgorithm::Conditioner(_) | MarkingAlgorithm::Invalid => self.spec.clone(),
        };
        let next = now.with_rates(rates, now_ns)?;
        if next.rates() == now.rates() {
            return Ok(());
        }
        match (&mut self.marks, &next) {
            (MarkingAlgorithm::Conditioner(marker), Edge::Conditioner(next))
                if self.sent != [0; 3] =>
            {
                marker.set_conditioner(next.clone(), &self.inputs)?;
            }
            _ => self.marks = MarkingAlgorithm::new(&next, &self.inputs, self.seed),
        }
        self.spec = next;
        Ok(())
    }

    /// Returns the current rates.
    pub fn rates(&self) -> MarkerRates {
        self.spec.rates()
    }

    /// Marks a packet, and returns its precedence. `window_pkts` is the window of its connection, if any.
    pub fn mark(&mut self, now_ns: u64, bytes: u32, window_pkts: Option<f64>) -> usize {
        let precedence = match &mut self.marks {
            MarkingAlgorithm::Conditioner(marker) => marker.mark(now_ns, bytes, window_pkts),
            MarkingAlgorithm::SrTcm(marker) => marker.mark(now_ns, bytes),
            MarkingAlgorithm::TrTcm(marker) => marker.mark(now_ns, bytes),
            MarkingAlgorithm::Invalid => DropPrecedence::Dp0,
        };
        self.sent[precedence.index()] += 1;
        precedence.index()
    }

    /// Sets the values exchanged between edges.
    pub fn set_inputs(&mut self, known: GivenInputs) {
        self.inputs = known;
        if let MarkingAlgorithm::Conditioner(marker) = &mut self.marks {
            // Invalid values are ignored.
            let _ = marker.set_inputs(&known);
        }
    }

    /// Returns the measured rate in bit/s; 0 for token buckets.
    pub fn measured_bps(&self) -> f64 {
        match &self.marks {
            MarkingAlgorithm::Conditioner(marker) => marker.measured_bps(),
            _ => 0.0,
        }
    }

    /// Returns the fraction of each precedence: at present for conditioners, so far for token buckets.
    pub fn marking(&self) -> [f64; 3] {
        let now = match &self.spec {
            Edge::Conditioner(conditioner) => conditioner
                .fractions(self.measured_bps(), &self.inputs)
                .ok(),
            _ => None,
        };
        let all = self.sent.iter().sum::<u64>().max(1) as f64;
        now.map_or(self.sent.map(|sent| sent as f64 / all), Fractions::to_array)
    }
}

/// Returns the round-trip time and timeout of an aggregate, configured or measured; `None` if neither is
/// known.
pub(crate) fn given_inputs(
    spec: &AggregateSpec,
    rtt_s: Option<f64>,
    rto_s: Option<f64>,
) -> Option<Aggregate> {
    let rtt_s = spec.rtt_s.or(rtt_s)?;
    let rto_s = spec.rto_s.or(rto_s).unwrap_or((3.0 * rtt_s).max(MIN_RTO_S));
    Some(Aggregate::new(rtt_s, rto_s))
}
