//! Standard conditioner in ns-2, and the errors of netflow.

use std::error::Error;

use serde::Deserialize;

use crate::{Means, Sources, TwoAggregates, root};

/// Row of `tests/reference/ns2/diffserv/means.csv`.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    mred: String,
    n_per_aggr: u32,
    rtt2_ms: f64,
    f1_thr_mbps: f64,
    f2_thr_mbps: f64,
    f1_drop: f64,
    f2_drop: f64,
    f1_dp0: f64,
    f1_dp2: f64,
    f2_dp0: f64,
    f2_dp2: f64,
}

impl Row {
    /// Returns the first columns of the row on the page.
    pub fn label(&self) -> String {
        format!("| {} | {} | {} |", self.mred, self.n_per_aggr, self.rtt2_ms)
    }
}

/// Tolerances: throughput relative to ns-2, colour fractions absolute, drop ratio relative to ns-2.
pub const MAX_ERRORS: [f64; 3] = [0.10, 0.05, 0.25];

/// Row with netflow's results.
#[derive(Clone, Debug)]
pub struct RowComparison {
    /// `RIO-C` or `WRED`.
    pub dropper: String,
    /// Micro-flows of each aggregate.
    pub micro_flows: u32,
    /// Round-trip propagation of F2 in ms.
    pub rtt2_ms: f64,
    /// Throughput of F1 and F2 in netflow and ns-2, in Mbit/s.
    pub throughput_mbps: [(f64, f64); 2],
    /// Errors of F1 and F2: throughput relative to ns-2; largest absolute error of a colour
    /// fraction; drop ratio relative to ns-2.
    pub errors: [[f64; 3]; 2],
}

impl RowComparison {
    /// Returns the number of the six errors within tolerance.
    pub fn criteria_met(&self) -> usize {
        let each = |errors: &[f64; 3]| {
            let within = errors.iter().zip(MAX_ERRORS);
            within
                .filter(|(error, allowed)| error.abs() <= *allowed)
                .count()
        };
        self.errors.iter().map(each).sum()
    }
}

/// Reads the results of ns-2.
///
/// # Errors
/// If the file cannot be read.
pub fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    let path = root().join("tests/reference/ns2/diffserv/means.csv");
    let mut file = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(path)?;
    Ok(file.deserialize().collect::<Result<_, _>>()?)
}

/// Evaluates the network of a row.
///
/// # Errors
/// If the scenario cannot be read or run.
pub fn compare(row: &Row, sources: Sources) -> Result<RowComparison, Box<dyn Error>> {
    let network = TwoAggregates {
        discipline: match row.mred.as_str() {
            "WRED" => "wred",
            _ => "rio",
        },
        ..TwoAggregates::new("standard", row.n_per_aggr, row.rtt2_ms, sources)
    };
    let means = network.evaluate()?;
    let [f1, f2] = means.as_slice() else {
        return Err("two aggregates were expected".into());
    };
    let ns = [
        (row.f1_thr_mbps, row.f1_drop, row.f1_dp0, row.f1_dp2),
        (row.f2_thr_mbps, row.f2_drop, row.f2_dp0, row.f2_dp2),
    ];
    let errors = |means: &Means, (throughput, drop, dp0, dp2): (f64, f64, f64, f64)| {
        let theirs = [dp0, 1.0 - dp0 - dp2, dp2];
        let differences = means.fractions.iter().zip(theirs);
        let differences = differences.map(|(ours, theirs)| (ours - theirs).abs());
        [
            means.throughput_mbps / throughput - 1.0,
            differences.fold(0.0, f64::max),
            means.drop_ratio / drop - 1.0,
        ]
    };
    Ok(RowComparison {
        dropper: row.mred.clone(),
        micro_flows: row.n_per_aggr,
        rtt2_ms: row.rtt2_ms,
        throughput_mbps: [
            (f1.throughput_mbps, row.f1_thr_mbps),
            (f2.throughput_mbps, row.f2_thr_mbps),
        ],
        errors: [errors(f1, ns[0]), errors(f2, ns[1])],
    })
}
