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
pub(crate) struct Marking {
    marks: Marks,
    spec: Edge,
    /// Seed of the conditioner's random numbers.
    seed: u64,
    known: GivenInputs,
    /// Packets of each precedence that were marked, and of these the lost ones.
    pub sent: [u64; 3],
    pub lost: [u64; 3],
}

#[derive(Clone, Debug)]
enum Marks {
    Conditioner(Box<Marker>),
    SrTcm(SrTcm),
    TrTcm(TrTcm),
    /// Invalid conditioner. The network's builder rejects it.
    Nothing,
}

impl Marks {
    fn new(edge: &Edge, known: &GivenInputs, seed: u64) -> Marks {
        match edge {
            Edge::Conditioner(conditioner) => {
                let marker = Marker::new(conditioner.clone(), known, 0, seed);
                marker.map_or(Marks::Nothing, |m| Marks::Conditioner(Box::new(m)))
            }
            Edge::SrTcm(marker) => Marks::SrTcm(marker.clone()),
            Edge::TrTcm(marker) => Marks::TrTcm(marker.clone()),
        }
    }
}

impl Marking {
    pub fn new(spec: &AggregateSpec, seed: u64, number: u64) -> Marking {
        // Before the first measurement, all aggregates are equal.
        let known = GivenInputs {
            aggregate: Aggregate::new(1.0, 1.0),
            minima: Minima::over([&Aggregate::new(1.0, 1.0)]),
        };
        let seed = random(seed, Purpose::Edge, number).random();
        Marking {
            marks: Marks::new(&spec.edge, &known, seed),
            spec: spec.edge.clone(),
            seed,
            known,
            sent: [0; 3],
            lost: [0; 3],
        }
    }

    /// Sets the rates from `now_ns` on. Measurements and token buckets are kept. Before the first packet, the
    /// result is as if the rates had always been these.
    ///
    /// # Errors
    /// Those of [`Edge::with_rates`]; the state is unchanged then.
    pub fn set_rates(&mut self, now_ns: u64, rates: MarkerRates) -> Result<(), Error> {
        let now = match &self.marks {
            Marks::SrTcm(marker) => Edge::SrTcm(marker.clone()),
            Marks::TrTcm(marker) => Edge::TrTcm(marker.clone()),
            Marks::Conditioner(_) | Marks::Nothing => self.spec.clone(),
        };
        let next = now.with_rates(rates, now_ns)?;
        if next.rates() == now.rates() {
            return Ok(());
        }
        match (&mut self.marks, &next) {
            (Marks::Conditioner(marker), Edge::Conditioner(next)) if self.sent != [0; 3] => {
                marker.set_conditioner(next.clone(), &self.known)?;
            }
            _ => self.marks = Marks::new(&next, &self.known, self.seed),
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
            Marks::Conditioner(marker) => marker.mark(now_ns, bytes, window_pkts),
            Marks::SrTcm(marker) => marker.mark(now_ns, bytes),
            Marks::TrTcm(marker) => marker.mark(now_ns, bytes),
            Marks::Nothing => DropPrecedence::Dp0,
        };
        self.sent[precedence.index()] += 1;
        precedence.index()
    }

    /// Sets the values exchanged between edges.
    pub fn learn(&mut self, known: GivenInputs) {
        self.known = known;
        if let Marks::Conditioner(marker) = &mut self.marks {
            // Invalid values are ignored.
            let _ = marker.set_inputs(&known);
        }
    }

    /// Returns the measured rate in bit/s; 0 for token buckets.
    pub fn measured_bps(&self) -> f64 {
        match &self.marks {
            Marks::Conditioner(marker) => marker.measured_bps(),
            _ => 0.0,
        }
    }

    /// Returns the fraction of each precedence: at present for conditioners, so far for token buckets.
    pub fn marking(&self) -> [f64; 3] {
        let now = match &self.spec {
            Edge::Conditioner(conditioner) => {
                conditioner.fractions(self.measured_bps(), &self.known).ok()
            }
            _ => None,
        };
        let all = self.sent.iter().sum::<u64>().max(1) as f64;
        now.map_or(self.sent.map(|sent| sent as f64 / all), Fractions::to_array)
    }
}

/// Returns the round-trip time and timeout of an aggregate, configured or measured; `None` if neither is
/// known.
pub(crate) fn known(
    spec: &AggregateSpec,
    rtt_s: Option<f64>,
    rto_s: Option<f64>,
) -> Option<Aggregate> {
    let rtt_s = spec.rtt_s.or(rtt_s)?;
    let rto_s = spec.rto_s.or(rto_s).unwrap_or((3.0 * rtt_s).max(MIN_RTO_S));
    Some(Aggregate::new(rtt_s, rto_s))
}
