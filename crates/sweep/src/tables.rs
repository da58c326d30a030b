//! Columns and rows of the three tables of a sweep.

use std::io::{self, Write};

use netflow_network::Network;
use netflow_results::{
    ConnectionSummary, FAILED, Format, LinkSummary, SEED, Summary, SweepColumns, TotalsSummary,
};
use netflow_steady::{Steady, TotalsSteady, rows};
use serde::Serialize;

use crate::table_writer::TableWriter;
use crate::{Axis, Model};
use netflow_results::columns::{Cell, Column, ColumnType};

/// Column of the case index.
pub(crate) const CASE: &str = "case";

/// Row of a network in steady state.
#[derive(Default, Serialize)]
struct SteadyRow {
    residual: f64,
    newton_steps: u64,
    #[serde(flatten)]
    totals: TotalsSteady,
}

/// Row of a network after a run.
#[derive(Serialize)]
struct RunRow<'a> {
    from_s: f64,
    duration_s: f64,
    #[serde(flatten)]
    totals: &'a TotalsSummary,
    acks: &'a TotalsSummary,
}

/// Row of a network without a result.
#[derive(Serialize)]
struct EmptyRow {}

/// Result of a case.
pub(crate) enum CaseResult {
    Steady(Network, Box<Steady>),
    Run(Box<Summary>),
}

/// Returns the table columns of a model, with one column per axis.
pub(crate) fn columns(model: Model, axes: &[Axis]) -> SweepColumns {
    let mut case_columns = vec![Column::new(CASE, ColumnType::Whole)];
    case_columns.extend(axes.iter().map(|axis| Column {
        name: axis.key.clone(),
        kind: match axis.numbers {
            Some(_) if axis.is_integer() => ColumnType::Whole,
            Some(_) => ColumnType::Number,
            None => ColumnType::Text,
        },
        unit: axis.unit.clone().filter(|unit| !unit.is_empty()),
    }));
    case_columns.push(Column::new(FAILED, ColumnType::Text));
    case_columns.push(Column::new(SEED, ColumnType::Whole));
    let with = |own: Vec<Column>| case_columns.iter().cloned().chain(own).collect();
    let status = Column::new("status", ColumnType::Text);
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

/// Writers of the three tables.
pub(crate) struct TableWriters<W> {
    links: TableWriter<W>,
    connections: TableWriter<W>,
    network: TableWriter<W>,
}

impl<W: Write + Send + 'static> TableWriters<W> {
    /// Returns writers to three outputs, for cases with `axes` axes.
    pub(crate) fn new(
        to: [W; 3],
        format: Format,
        tables: &SweepColumns,
        axes: usize,
    ) -> io::Result<TableWriters<W>> {
        let case_columns = axes + 3;
        let [links, connections, network] = to;
        Ok(TableWriters {
            links: TableWriter::new(links, format, &tables.links, case_columns)?,
            connections: TableWriter::new(connections, format, &tables.connections, case_columns)?,
            network: TableWriter::new(network, format, &tables.network, case_columns + 1)?,
        })
    }

    /// Adds a case: its case columns, and its result or the reason why there is none.
    pub(crate) fn add(
        &mut self,
        case: &[Cell<'_>],
        result: &Result<CaseResult, String>,
    ) -> io::Result<()> {
        let status = result.as_ref().err().map_or("ok", String::as_str);
        let mut with_status = case.to_vec();
        with_status.push(Cell::Text(status));
        match result {
            Ok(CaseResult::Steady(network, steady)) => {
                self.links.add(case, &rows::links(network, steady))?;
                self.connections
                    .add(case, &rows::connections(network, steady))?;
                let row = SteadyRow {
                    residual: steady.residual,
                    newton_steps: steady.newton_steps as u64,
                    totals: steady.totals,
                };
                self.network.add(&with_status, &[row])
            }
            Ok(CaseResult::Run(summary)) => {
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
            Err(_) => self.network.add(&with_status, &[EmptyRow {}]),
        }
    }

    /// Returns the number of rows so far.
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
