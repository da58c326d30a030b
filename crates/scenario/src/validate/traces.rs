//! Traces of links: packet-delivery traces of mahimahi, and CSV tables of values over time.

use std::path::Path;
use std::sync::Arc;

use netflow_document::{Element, ProblemKind, Section, SourceSpan, Spanned, Table, read_header};
use netflow_files::{FileKind, read_text};
use netflow_network::{
    LinkElement, LinkSeries, Overhead, SeriesColumns, SeriesError, SeriesSpec, TraceSpec,
};
use netflow_queues::DeliveryTrace;
use netflow_units::ns;

use super::Validator;
use super::tables::report_unreadable;
use crate::file::{Link, TraceRow, TraceSettings};
use crate::former_names::FORMER_NAMES;
use crate::memory_limit;

/// Maximum number of rows of a trace over time.
const MAX_ROWS: usize = 10_000_000;

/// Trace that a link follows.
pub(super) enum LinkTrace {
    /// Times at which packets leave.
    Delivery(TraceSpec),
    /// Values over time.
    Series(SeriesSpec),
}

impl LinkTrace {
    /// Returns the mean bandwidth in bit/s.
    pub fn mean_bps(&self) -> f64 {
        match self {
            LinkTrace::Delivery(it) => it.trace.mean_bps(),
            LinkTrace::Series(it) => {
                let bandwidths_bps = it.series.columns().bandwidths_bps.as_ref();
                // The reader requires the column.
                bandwidths_bps.map_or(1e6, |all| it.series.mean(all))
            }
        }
    }
}

/// Columns that have been read.
#[derive(Default)]
struct Rows {
    times_s: Vec<f64>,
    places: Vec<SourceSpan>,
    bandwidths_bps: Vec<f64>,
    delays_s: Vec<f64>,
    losses: Vec<f64>,
    /// Time and place of the row that ends the trace.
    end: Option<(f64, SourceSpan)>,
}

impl Validator<'_> {
    /// Returns the trace that a link follows, if its file has one.
    pub(super) fn link_trace(
        &mut self,
        settings: &TraceSettings,
        overhead: Overhead,
    ) -> Option<LinkTrace> {
        let name = &settings.trace;
        let offset_ns = (settings.offset.as_ref()).map_or(0, |offset| ns(offset.get()));
        let is_csv = Path::new(name.as_str())
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_csv {
            // Rates in packets depend on the overhead.
            let key = (name.to_string(), format!("{overhead:?}"));
            let series = match self.series.get(&key) {
                Some(series) => series.clone(),
                None => {
                    let series = self.read_series(name, overhead).map(Arc::new);
                    self.series.insert(key, series.clone());
                    series
                }
            };
            return Some(LinkTrace::Series(SeriesSpec {
                series: series?,
                offset_ns,
            }));
        }
        let what = "a packet-delivery trace".to_owned();
        self.requires_packet_model.get_or_insert((
            name.place(),
            what,
            Some(LinkElement::DeliveryTrace),
        ));
        let trace = match self.traces.get(name.as_str()) {
            Some(trace) => trace.clone(),
            None => {
                let trace = self.read_trace(name);
                self.traces.insert(name.to_string(), trace.clone());
                trace
            }
        };
        Some(LinkTrace::Delivery(TraceSpec {
            trace: trace?,
            offset_ns,
        }))
    }

    /// Reports keys of a link whose values its trace has, too.
    pub(super) fn check_traced_keys(&mut self, link: &Link, series: &SeriesSpec) {
        let SeriesColumns {
            bandwidths_bps: _, // of the key that names the trace
            delays_s,
            losses,
        } = series.series.columns();
        let delay = link.delay.as_ref().map(Spanned::place);
        let loss = link.loss.as_ref().map(Spanned::place);
        for (key, place, column) in [("delay", delay, delays_s), ("loss", loss, losses)] {
            if let (Some(place), Some(_)) = (place, column) {
                let message = format!("`{key}` conflicts with the column `{key}` of the trace");
                let help = format!("remove `{key}`, or the column");
                self.error(ProblemKind::Conflict, place, message, &help);
            }
        }
    }

    fn read_text_of_trace(
        &mut self,
        name: &Spanned<String>,
    ) -> Option<(std::path::PathBuf, String)> {
        let path = self.resolve_path(name)?;
        match read_text(&path, FileKind::Table) {
            Ok(text) => Some((path, text)),
            Err(refusal) => {
                let place = name.place();
                let (sources, findings) = (&mut *self.sources, &mut *self.findings);
                report_unreadable(sources, findings, &path, place, "the trace", refusal);
                None
            }
        }
    }

    fn read_trace(&mut self, name: &Spanned<String>) -> Option<Arc<DeliveryTrace>> {
        let (path, text) = self.read_text_of_trace(name)?;
        match DeliveryTrace::read(&text) {
            Ok(trace) => Some(Arc::new(trace)),
            Err(error) => {
                let (file, text) = self.sources.add(&path, text);
                let lines = text.split_inclusive('\n');
                let before: usize = lines
                    .take(error.line.map_or(0, |line| line - 1))
                    .map(str::len)
                    .sum();
                let line = text[before..].lines().next().unwrap_or("");
                let place = SourceSpan::new(file, before..before + line.len());
                let help = "write a time in whole ms on each line, ascending, as traces of mahimahi have; \
                     the name of a table of values over time ends in `.csv`";
                self.error(ProblemKind::OutOfRange, place, error.reason, help);
                None
            }
        }
    }

    /// Returns the values of a CSV table over time.
    fn read_series(&mut self, name: &Spanned<String>, overhead: Overhead) -> Option<LinkSeries> {
        let (path, text) = self.read_text_of_trace(name)?;
        let (file, text) = self.sources.add(&path, text);
        let lines = memory_limit::line_count(&text);
        if lines > MAX_ROWS {
            let message = format!("the trace has {lines} lines, more than {MAX_ROWS}");
            let help = "shorten the trace, or average its values over longer times";
            self.error(ProblemKind::TooLarge, name.place(), message, help);
            return None;
        }
        let before = self.findings.errors();
        let (mut csv, mut row) = read_header::<TraceRow>(file, &text, FORMER_NAMES, self.findings)?;
        let start = SourceSpan::new(file, 0..text.lines().next().map_or(0, str::len));
        let mut rows = Rows::default();
        while self.findings.errors() == before && csv.next(&mut row, self.findings) {
            let place = row.place().unwrap_or(start);
            let keys = const { &[TraceRow::KEYS] };
            let section = Section::new(self.findings, "this row", row.fields(), place, keys);
            let row = TraceRow::read_section(section);
            self.add_row(&mut rows, &row, place, overhead);
        }
        if self.findings.errors() > before {
            return None;
        }
        let column = |values: Vec<f64>| (!values.is_empty()).then_some(values);
        let columns = SeriesColumns {
            bandwidths_bps: column(rows.bandwidths_bps),
            delays_s: column(rows.delays_s),
            losses: column(rows.losses),
        };
        let end_s = rows.end.map(|(end_s, _)| end_s);
        match LinkSeries::new(&rows.times_s, end_s, columns) {
            Ok(series) => Some(series),
            Err(SeriesError { row, reason }) => {
                let places = rows
                    .places
                    .iter()
                    .chain(rows.end.iter().map(|(_, place)| place));
                let place = row
                    .and_then(|row| places.copied().nth(row))
                    .unwrap_or(start);
                let help = match row {
                    Some(_) => {
                        "times must increase from row to row; the trace lasts at most 100 days"
                    }
                    None => {
                        "write a row for each change, for example `0 s,8 Mbit/s`, and at the end of the trace \
                         a row with its time only, for example `10 s,`"
                    }
                };
                self.error(ProblemKind::OutOfRange, place, reason, help);
                None
            }
        }
    }

    /// Adds a row. All rows but one at the end have the same columns.
    fn add_row(&mut self, rows: &mut Rows, row: &TraceRow, place: SourceSpan, overhead: Overhead) {
        let TraceRow {
            time,
            bandwidth,
            delay,
            loss,
        } = row;
        let is_first = rows.times_s.is_empty();
        let is_end = !is_first && bandwidth.is_none() && delay.is_none() && loss.is_none();
        if let Some((_, end)) = rows.end {
            let message = "this row has no values, but it is not the last one".to_owned();
            self.error(ProblemKind::Missing, end, message, "fill its cells");
            return;
        }
        if is_end {
            rows.end = Some((time.get(), place));
            return;
        }
        let Some(bandwidth) = bandwidth else {
            let message = "this row has no bandwidth".to_owned();
            let help = "fill the column `bandwidth` in every row, also if it is constant";
            self.error(ProblemKind::Missing, place, message, help);
            return;
        };
        for (name, is_filled, before) in [
            ("delay", delay.is_some(), rows.delays_s.len()),
            ("loss", loss.is_some(), rows.losses.len()),
        ] {
            if !is_first && is_filled != (before > 0) {
                let message = format!("`{name}` is filled in some rows and empty in others");
                let help = format!("fill the column `{name}` in every row");
                self.error(ProblemKind::Missing, place, message, &help);
                return;
            }
        }
        let bps = match bandwidth.0.get() {
            0.0 => 0.0,
            _ => self.link_bps(bandwidth.0, overhead),
        };
        if bps > 0.0 && bps < 1.0 {
            let message = format!("a bandwidth of {bps} bit/s is below 1 bit/s");
            let help = "write 0 for a link that pauses";
            self.error(ProblemKind::OutOfRange, bandwidth.place(), message, help);
            return;
        }
        rows.times_s.push(time.get());
        rows.places.push(place);
        rows.bandwidths_bps.push(bps);
        rows.delays_s.extend(delay.as_ref().map(|it| it.get()));
        rows.losses.extend(loss.as_deref());
    }
}
