//! Figures of parameter sweeps: a quantity as a function of a setting.

use std::collections::HashMap;
use std::path::Path;

use netflow_results::columns::{Cell, Column, ColumnType};
use netflow_results::{
    FAILED, RunningVariance, SEED, SweepAxis, SweepResults, SweepTable, present_name,
};

use super::draw::{Curve, CurveStyle, Panel, column_quantity, draw};
use super::names::{did_you_mean, select_matching};
use super::style::{Drawing, Style};
use crate::Error;
use crate::confidence_band::band_edges;

/// Maximum number of curves of a figure.
const CURVES: usize = 24;
/// Number of points up to which a curve has markers.
const MAX_MARKED_POINTS: usize = 50;

/// Returns the default columns of a table, for steady states and for runs.
fn default_columns(table: SweepTable) -> &'static [&'static str] {
    match table {
        SweepTable::Links => &[
            "utilization",
            "queue_pkts",
            "mean_queue_pkts",
            "loss_probability",
        ],
        SweepTable::Connections => &[
            "goodput_bps",
            "mean_goodput_pps",
            "delay_s",
            "mean_delay_s",
            "loss_probability",
        ],
        SweepTable::Network => &[
            "goodput_bps",
            "loss_probability",
            "delay_s",
            "delivered_pkts",
            "lost_pkts",
        ],
    }
}

/// Draws quantities of a sweep over one of its settings.
///
/// Each column in `style.panels` is a panel. The values are those of the network, or with `only` those of the
/// links or connections that match it (`*` matches any text, `?` any character). There is a curve for each of
/// them, and for each combination of the other settings and failures. Over seeds it is the mean, with its 95
/// % confidence interval as a band. The x axis is the setting `over`, or else the numeric setting with the
/// most values.
///
/// # Errors
/// The sweep is incomplete or cannot be read, lacks the requested data, or would have too many curves.
pub fn sweep_figure(
    directory: &Path,
    over: Option<&str>,
    only: &[String],
    style: &Style,
) -> Result<Drawing, Error> {
    let sweep = SweepResults::open(directory)?;
    let over = axis(sweep.varied(), over)?;
    let (table, names) = subjects(&sweep, only)?;
    let columns = selected_columns(&sweep, table, &style.panels)?;
    let curves = gather(&sweep, table, over, &names, &columns)?;
    if curves.is_empty() {
        return Err(no_data_error("no case of the sweep has results".to_owned()));
    }
    if curves.len() > CURVES {
        let curves = curves.len();
        return Err(no_data_error(format!(
            "the figure would have {curves} curves, more than the maximum of {CURVES}: choose links or connections with `--only`, or \
             use the tables of the sweep"
        )));
    }
    let panels: Vec<Panel> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| panel(over, column, place, &curves))
        .collect();
    // The panels are already selected and in order.
    let style = Style {
        panels: Vec::new(),
        ..style.clone()
    };
    draw(&panels, &style)
}

fn no_data_error(what: String) -> Error {
    Error::NothingToShow(what)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the setting of the x axis.
fn axis<'a>(varied: &'a [SweepAxis], over: Option<&str>) -> Result<&'a SweepAxis, Error> {
    let numbers = || varied.iter().filter(|it| it.unit.is_some());
    let all = || list(numbers().map(|it| it.key.as_str()));
    let Some(key) = over else {
        // The first of several with equal numbers of values.
        let most = numbers().rev().max_by_key(|it| it.values.len());
        return most
            .ok_or_else(|| no_data_error("the sweep does not vary a numeric setting".to_owned()));
    };
    match varied.iter().find(|it| it.key == key) {
        Some(it) if it.unit.is_some() => Ok(it),
        Some(_) => Err(no_data_error(format!(
            "the values of `{key}` are not numbers; possible axes: {}",
            all()
        ))),
        None => {
            let near = did_you_mean(key, varied.iter().map(|it| it.key.as_str()));
            let all = all();
            Err(no_data_error(format!(
                "the sweep does not vary `{key}`; it varies {all}{near}"
            )))
        }
    }
}

/// Returns the table of the requested subjects and their names; no names for the network.
fn subjects(sweep: &SweepResults, only: &[String]) -> Result<(SweepTable, Vec<String>), Error> {
    if only.is_empty() {
        return Ok((SweepTable::Network, Vec::new()));
    }
    let (links, connections) = (
        names(sweep, SweepTable::Links)?,
        names(sweep, SweepTable::Connections)?,
    );
    let all = links.iter().chain(&connections).map(String::as_str);
    let chosen = select_matching(all, only)?;
    let is_in = |of: &[String]| chosen.iter().all(|name| of.contains(name));
    match (is_in(&links), is_in(&connections)) {
        (true, _) => Ok((SweepTable::Links, chosen)),
        (_, true) => Ok((SweepTable::Connections, chosen)),
        _ => Err(no_data_error(
            "`--only` selects both links and connections; a figure of a sweep shows only one of them"
                .to_owned(),
        )),
    }
}

/// Returns the names in a table, in its order.
fn names(sweep: &SweepResults, table: SweepTable) -> Result<Vec<String>, Error> {
    let Some(key) = table.key() else {
        return Ok(Vec::new());
    };
    let mut names: Vec<String> = Vec::new();
    let mut next = 0;
    sweep.for_each_row(table, &[key], |row| {
        if let [Cell::Text(name)] = row {
            // Rows have the same order in every case.
            if names.get(next).is_none_or(|it| it != name) {
                next = match names.iter().position(|it| it == name) {
                    Some(place) => place,
                    None => {
                        names.push((*name).to_owned());
                        names.len() - 1
                    }
                };
            }
            next += 1;
        }
    })?;
    Ok(names)
}

/// Returns the columns to draw as panels.
fn selected_columns<'a>(
    sweep: &'a SweepResults,
    table: SweepTable,
    panels: &[String],
) -> Result<Vec<&'a Column>, Error> {
    let numbers = sweep.columns(table).iter().filter(|column| {
        let is_of_case = sweep.varied().iter().any(|it| it.key == column.name);
        let is_number = matches!(column.kind, ColumnType::Number | ColumnType::Whole);
        is_number && !is_of_case && ![SEED, "case"].contains(&column.name.as_str())
    });
    let numbers: Vec<&Column> = numbers.collect();
    if panels.is_empty() {
        let usual = default_columns(table);
        let drawn = numbers.into_iter();
        return Ok(drawn
            .filter(|it| usual.contains(&it.name.as_str()))
            .collect());
    }
    let find = |name: &String| {
        let column = |name: &str| numbers.iter().copied().find(|column| column.name == name);
        let of_panel = || {
            let is_quantity = |it: &&Column| column_quantity(&it.name) == column_quantity(name);
            numbers.iter().copied().find(is_quantity)
        };
        let found = column(name).or_else(|| column(&present_name(name)?));
        let found = found.or_else(of_panel);
        found.ok_or_else(|| {
            let all = || numbers.iter().map(|column| column.name.as_str());
            let near = did_you_mean(name, all());
            let all = list(all());
            let of_others = match table {
                SweepTable::Network => "; for links or connections, add `--only NAME`",
                _ => "",
            };
            no_data_error(format!(
                "the table has no numeric column `{name}`; allowed: {all}{near}{of_others}"
            ))
        })
    };
    panels.iter().map(find).collect()
}

/// A curve in all panels: the x value, and the mean of each column.
struct SweepCurve {
    label: String,
    points: Vec<(f64, Vec<RunningVariance>)>,
}

/// Collects the curves, in the order of the sweep.
fn gather(
    sweep: &SweepResults,
    table: SweepTable,
    over: &SweepAxis,
    names: &[String],
    columns: &[&Column],
) -> Result<Vec<SweepCurve>, Error> {
    let others: Vec<&SweepAxis> = sweep
        .varied()
        .iter()
        .filter(|it| it.key != over.key)
        .collect();
    let mut wanted: Vec<&str> = vec![&over.key, FAILED];
    wanted.extend(table.key());
    let first_other = wanted.len();
    wanted.extend(others.iter().map(|it| it.key.as_str()));
    let first_value = wanted.len();
    wanted.extend(columns.iter().map(|column| column.name.as_str()));

    let called: Vec<&str> = others.iter().map(|it| short_key(it, &others)).collect();
    // Curve index by label, and point index by curve and bits of x.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut points: HashMap<(usize, u64), usize> = HashMap::new();
    let mut curves: Vec<SweepCurve> = Vec::new();
    let mut label = String::new();
    sweep.for_each_row(table, &wanted, |row| {
        let Some(x) = number(row[0]) else { return };
        label.clear();
        let mut say = |part: &str| {
            label += if label.is_empty() { "" } else { ", " };
            label += part;
        };
        if let (Some(_), Cell::Text(name)) = (table.key(), row[2]) {
            if !names.iter().any(|it| it == name) {
                return;
            }
            // A single curve needs some label.
            if names.len() > 1 || others.is_empty() {
                say(name);
            }
        }
        let cells = others.iter().zip(&row[first_other..first_value]);
        for (name, (other, cell)) in called.iter().zip(cells) {
            let unit = other.unit.as_deref().unwrap_or_default();
            say(&setting(name, unit, *cell));
        }
        if let Cell::Text(link) = row[1] {
            say(&format!("without {link}"));
        }
        let place = match places.get(&label) {
            Some(&place) => place,
            None => {
                let place = curves.len();
                places.insert(label.clone(), place);
                curves.push(SweepCurve {
                    label: label.clone(),
                    points: Vec::new(),
                });
                place
            }
        };
        let curve = &mut curves[place].points;
        let at = *points.entry((place, x.to_bits())).or_insert_with(|| {
            curve.push((x, vec![RunningVariance::default(); columns.len()]));
            curve.len() - 1
        });
        for (moments, cell) in curve[at].1.iter_mut().zip(&row[first_value..]) {
            moments.add(number(*cell).unwrap_or(f64::NAN));
        }
    })?;
    // Cases without a result have a row without numbers in the network table.
    let has_numbers = |point: &(f64, Vec<RunningVariance>)| point.1.iter().any(|it| it.count() > 0);
    curves.retain(|curve| curve.points.iter().any(has_numbers));
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Ok(curves)
}

fn number(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Number(number) => Some(number),
        Cell::Whole(number) => Some(number as f64),
        _ => None,
    }
}

/// Returns the last part of the key of a setting if it is unique, otherwise the whole key.
fn short_key<'a>(varied: &'a SweepAxis, others: &[&SweepAxis]) -> &'a str {
    let last = |it: &'a SweepAxis| it.key.rsplit('.').next().unwrap_or(&it.key);
    let ends_so = |it: &&&SweepAxis| it.key.rsplit('.').next() == Some(last(varied));
    match others.iter().filter(ends_so).count() {
        0 | 1 => last(varied),
        _ => &varied.key,
    }
}

/// Formats a setting with its value.
fn setting(name: &str, unit: &str, cell: Cell<'_>) -> String {
    let value = match cell {
        Cell::Text(text) => text.trim_matches(['"', '\'']).to_owned(),
        Cell::Number(number) => format!("{number} {unit}"),
        Cell::Whole(number) => number.to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Nothing => "?".to_owned(),
    };
    format!("{name} {}", value.trim_end())
}

fn panel(over: &SweepAxis, column: &Column, place: usize, curves: &[SweepCurve]) -> Panel {
    let values = || {
        let points = curves.iter().flat_map(|curve| &curve.points);
        points.filter_map(|point| point.1[place].mean())
    };
    let (factor, unit) = scale(column, values().fold(0.0, f64::max));
    let name = match column.unit {
        Some(_) => column.name.rsplit_once('_').map_or("", |it| it.0),
        None => &column.name,
    };
    let of = |unit: &str| match unit {
        "" => String::new(),
        unit => format!(" in {unit}"),
    };
    let most = if unit == "%" { 100.0 } else { f64::INFINITY };
    let curve = |gathered: &SweepCurve| {
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for (x, moments) in &gathered.points {
            let mean = moments[place].mean().map_or(f64::NAN, |mean| factor * mean);
            let half = moments[place].ci95().map_or(f64::NAN, |half| factor * half);
            points.push((*x, mean));
            let (low, high) = band_edges(&[mean], &[half], most);
            band.extend(low.into_iter().zip(high));
        }
        let has_band = band.iter().any(|edges| edges.1.is_finite());
        Curve {
            label: gathered.label.clone(),
            curve_style: if points.len() <= MAX_MARKED_POINTS {
                CurveStyle::Marked
            } else {
                CurveStyle::Line
            },
            points,
            colour: None,
            band: has_band.then_some(band),
        }
    };
    Panel {
        name: column.name.clone().into(),
        x_title: format!(
            "{}{}",
            over.key,
            of(over.unit.as_deref().unwrap_or_default())
        )
        .into(),
        y_title: format!("{}{}", name.replace('_', " "), of(unit)).into(),
        log_x: is_geometric(curves),
        log_y: false,
        curves: curves.iter().map(curve).collect(),
    }
}

/// Returns the factor and the unit for a column: percent for fractions, otherwise by the largest value.
fn scale(column: &Column, most: f64) -> (f64, &str) {
    const FRACTIONS: [&str; 3] = ["utilization", "peak_utilization", "loss_probability"];
    match column.unit.as_deref() {
        Some("s") if most < 1.0 => (1e3, "ms"),
        Some("bit/s") if most >= 1e9 => (1e-9, "Gbit/s"),
        Some("bit/s") if most >= 1e6 => (1e-6, "Mbit/s"),
        Some("bit/s") if most >= 1e3 => (1e-3, "kbit/s"),
        Some(unit) => (1.0, unit),
        None if FRACTIONS.contains(&column.name.as_str()) => (100.0, "%"),
        None => (1.0, ""),
    }
}

/// Returns true if the x values grow by a factor rather than by a constant step.
fn is_geometric(curves: &[SweepCurve]) -> bool {
    let xs = curves
        .first()
        .map(|curve| curve.points.iter().map(|point| point.0));
    let xs: Vec<f64> = xs.into_iter().flatten().collect();
    let [first, second, .., before, last] = xs[..] else {
        return false;
    };
    first > 0.0 && last - before > 2.0 * (second - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varied(key: &str, unit: Option<&str>, values: usize) -> SweepAxis {
        SweepAxis {
            key: key.to_owned(),
            unit: unit.map(str::to_owned),
            values: vec![String::new(); values],
        }
    }

    #[test]
    fn axis_is_the_requested_or_longest_numeric_one() {
        let all = [
            varied("link.*.queue", None, 9),
            varied("link.*.buffer", Some("ms"), 3),
            varied("demand.scale", Some(""), 3),
        ];
        assert_eq!(axis(&all, None).unwrap().key, "link.*.buffer");
        assert_eq!(
            axis(&all, Some("demand.scale")).unwrap().key,
            "demand.scale"
        );
        let wrong = |key| axis(&all, Some(key)).unwrap_err().to_string();
        assert_eq!(
            wrong("link.*.queue"),
            "the values of `link.*.queue` are not numbers; possible axes: link.*.buffer, demand.scale"
        );
        assert_eq!(
            wrong("demands.scale"),
            "the sweep does not vary `demands.scale`; it varies link.*.buffer, demand.scale; did you mean `demand.scale`?"
        );
        assert_eq!(
            axis(&all[..1], None).unwrap_err().to_string(),
            "the sweep does not vary a numeric setting"
        );
    }

    #[test]
    fn curves_are_named_by_their_settings() {
        let [buffer, other] =
            ["link.A->B.buffer", "link.B->C.buffer"].map(|key| varied(key, Some("pkt"), 2));
        let queue = varied("link.*.queue", None, 2);
        assert_eq!(short_key(&buffer, &[&buffer, &queue]), "buffer");
        assert_eq!(short_key(&buffer, &[&buffer, &other]), "link.A->B.buffer");
        assert_eq!(
            setting("buffer", "pkt", Cell::Number(62.5)),
            "buffer 62.5 pkt"
        );
        assert_eq!(setting("scale", "", Cell::Number(2.0)), "scale 2");
        assert_eq!(setting("queue", "", Cell::Text("\"codel\"")), "queue codel");
    }

    #[test]
    fn numbers_are_shown_in_units_of_their_size() {
        let scaled =
            |name: &str, most: f64| scale(&Column::new(name, ColumnType::Number), most).0 * most;
        assert_eq!(scaled("utilization", 0.5), 50.0);
        assert_eq!(scaled("delay_s", 0.25), 250.0);
        assert_eq!(scaled("delay_s", 2.0), 2.0);
        assert_eq!(scaled("goodput_bps", 8e9), 8.0);
        assert_eq!(scaled("queue_pkts", 8e9), 8e9);
    }

    #[test]
    fn an_axis_of_factors_is_logarithmic() {
        let of = |xs: &[f64]| {
            let points = xs.iter().map(|&x| (x, Vec::new())).collect();
            let label = String::new();
            is_geometric(&[SweepCurve { label, points }])
        };
        assert!(of(&[4.0, 8.0, 16.0, 32.0]));
        assert!(!of(&[4.0, 8.0, 12.0, 16.0]) && !of(&[0.0, 1.0, 10.0, 100.0]) && !of(&[1.0]));
        assert!(!is_geometric(&[]));
    }
}
