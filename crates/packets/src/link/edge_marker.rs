//! Edges that mark the packets of aggregates, one by one.

use netflow_diffserv::{
    Aggregate, DropPrecedence, Error, Fractions, GivenInputs, Marker, Minima, SrTcm, TrTcm,
};
use netflow_network::{AggregateSpec, Edge, MarkerRates};
use rand::RngExt;

use crate::{Purpose, random};

/// Edges tell each other round-trip times this often.
pub(crate) const UPDATE_NS: u64 = 100_000_000;
const MIN_RTO_S: f64 = 0.2;

/// The edge of one aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Marking {
    marks: Marks,
    spec: Edge,
    /// Of the random numbers of a conditioner.
    seed: u64,
    known: GivenInputs,
    /// Packets of each precedence that it has marked.
    pub sent: [u64; 3],
    pub lost: [u64; 3],
}

#[derive(Clone, Debug)]
enum Marks {
    Conditioner(Box<Marker>),
    SrTcm(SrTcm),
    TrTcm(TrTcm),
    /// A conditioner that cannot be; the network's builder lets none pass.
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
        // Until something is measured, all aggregates count as alike.
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

    /// It has these rates from `now_ns` on. What is measured and what is in buckets goes on; where nothing has
    /// been marked yet, it is as if it had always had them.
    ///
    /// # Errors
    /// Those of [`Edge::with_rates`]; nothing is different then.
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

    /// The rates that it has.
    pub fn rates(&self) -> MarkerRates {
        self.spec.rates()
    }

    /// The precedence of a packet, whose connection has this window, if any.
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

    /// What other edges say.
    pub fn learn(&mut self, known: GivenInputs) {
        self.known = known;
        if let Marks::Conditioner(marker) = &mut self.marks {
            // Times that are of no use leave in force what was known.
            let _ = marker.set_inputs(&known);
        }
    }

    /// The measured rate in bit/s; token buckets measure none.
    pub fn measured_bps(&self) -> f64 {
        match &self.marks {
            Marks::Conditioner(marker) => marker.measured_bps(),
            _ => 0.0,
        }
    }

    /// How it marks now; of token buckets, how it has marked.
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

/// What an edge knows of its aggregate: given, or measured; nothing before that.
pub(crate) fn known(
    spec: &AggregateSpec,
    rtt_s: Option<f64>,
    rto_s: Option<f64>,
) -> Option<Aggregate> {
    let rtt_s = spec.rtt_s.or(rtt_s)?;
    let rto_s = spec.rto_s.or(rto_s).unwrap_or((3.0 * rtt_s).max(MIN_RTO_S));
    Some(Aggregate::new(rtt_s, rto_s))
}
