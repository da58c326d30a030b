//! The three tables of a sweep, and what a case has in each of them.

use std::io::{self, Write};

use netflow_network::Network;
use netflow_results::{
    ConnectionSummary, FAILED, Format, LinkSummary, SEED, Summary, SweepColumns, TotalsSummary,
};
use netflow_steady::{Steady, TotalsSteady, rows};
use serde::Serialize;

use crate::sheet::Sheet;
use crate::{Axis, Model};
use netflow_results::columns::{Cell, Column, Kind};

/// The column with the index of the case.
pub(crate) const CASE: &str = "case";

/// A network at rest.
#[derive(Default, Serialize)]
struct SteadyRow {
    residual: f64,
    newton_steps: u64,
    #[serde(flatten)]
    totals: TotalsSteady,
}

/// A network after a run.
#[derive(Serialize)]
struct RunRow<'a> {
    from_s: f64,
    duration_s: f64,
    #[serde(flatten)]
    totals: &'a TotalsSummary,
    acks: &'a TotalsSummary,
}

/// A network of which nothing is known.
#[derive(Serialize)]
struct NoRow {}

/// What a case came to.
pub(crate) enum Outcome {
    Steady(Network, Box<Steady>),
    Run(Box<Summary>),
}

/// The columns of a model's tables, with one for every axis.
pub(crate) fn columns(model: Model, axes: &[Axis]) -> SweepColumns {
    let mut of_case = vec![Column::new(CASE, Kind::Whole)];
    of_case.extend(axes.iter().map(|axis| Column {
        name: axis.key.clone(),
        kind: match axis.numbers {
            Some(_) if axis.is_whole() => Kind::Whole,
            Some(_) => Kind::Number,
            None => Kind::Text,
        },
        unit: axis.unit.clone().filter(|unit| !unit.is_empty()),
    }));
    of_case.push(Column::new(FAILED, Kind::Text));
    of_case.push(Column::new(SEED, Kind::Whole));
    let with = |own: Vec<Column>| of_case.iter().cloned().chain(own).collect();
    let status = Column::new("status", Kind::Text);
    let network = |own: Vec<Column>| with(std::iter::once(status).chain(own).collect());
    match model {
        Model::Solve => SweepColumns {
            links: with(Column::of(&rows::LinkRow::default())),
            connections: with(Column::of(&rows::ConnectionRow::with_all_columns())),
            network: network(Column::of(&SteadyRow::default())),
        },
        Model::Fluid | Model::Packets => SweepColumns {
            links: with(Column::of(&LinkSummary::with_all_columns())),
            connections: with(Column::of(&ConnectionSummary::with_all_columns())),
            network: network(Column::of(&RunRow {
                from_s: 0.0,
                duration_s: 0.0,
                totals: &TotalsSummary::default(),
                acks: &TotalsSummary::default(),
            })),
        },
    }
}

/// The three tables while they are written.
pub(crate) struct Sheets<W> {
    links: Sheet<W>,
    connections: Sheet<W>,
    network: Sheet<W>,
}

impl<W: Write + Send + 'static> Sheets<W> {
    /// To three places, for cases with so many columns of their own.
    pub(crate) fn new(
        to: [W; 3],
        format: Format,
        tables: &SweepColumns,
        axes: usize,
    ) -> io::Result<Sheets<W>> {
        let of_case = axes + 3;
        let [links, connections, network] = to;
        Ok(Sheets {
            links: Sheet::new(links, format, &tables.links, of_case)?,
            connections: Sheet::new(connections, format, &tables.connections, of_case)?,
            network: Sheet::new(network, format, &tables.network, of_case + 1)?,
        })
    }

    /// Adds a case: its own cells, and what it came to, or why it came to nothing.
    pub(crate) fn add(
        &mut self,
        case: &[Cell<'_>],
        outcome: &Result<Outcome, String>,
    ) -> io::Result<()> {
        let status = outcome.as_ref().err().map_or("ok", String::as_str);
        let mut with_status = case.to_vec();
        with_status.push(Cell::Text(status));
        match outcome {
            Ok(Outcome::Steady(network, steady)) => {
                self.links.add(case, &rows::links(network, steady))?;
                self.connections
                    .add(case, &rows::connections(network, steady))?;
                let row = SteadyRow {
                    residual: steady.residual,
                    newton_steps: steady.rounds as u64,
                    totals: steady.totals,
                };
                self.network.add(&with_status, &[row])
            }
            Ok(Outcome::Run(summary)) => {
                self.links.add(case, &summary.links)?;
                self.connections.add(case, &summary.connections)?;
                let row = RunRow {
                    from_s: summary.from_s,
                    duration_s: summary.duration_s,
                    totals: &summary.totals,
                    acks: &summary.acks,
                };
                self.network.add(&with_status, &[row])
            }
            Err(_) => self.network.add(&with_status, &[NoRow {}]),
        }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.links.rows + self.connections.rows + self.network.rows
    }

    pub(crate) fn finish(self) -> io::Result<[W; 3]> {
        Ok([
            self.links.finish()?,
            self.connections.finish()?,
            self.network.finish()?,
        ])
    }
}
