//! Parser of profile files.

use std::sync::Arc;

use netflow_document::{
    Allowed, Fields, FileId, Findings, Key, List, ProblemKind, Quantity, Section,
    SourceSpan as Where, Spanned, Table, Verbatim, keyword_enum, parse, table,
};
use netflow_units::{Packets, Seconds};

use super::FORMAT;
use crate::{
    Analytic, Formula, FormulaParameters, Grid, GridRow, GridSpec, NumberLocation, PowerLaw,
    PowerLawRow, PowerLawSpec, Profile, ProfileError,
};

type Time = Spanned<Quantity<Seconds>>;
type Window = Spanned<Quantity<Packets>>;

/// Keys of every profile file.
#[table(plain)]
pub(super) struct Head {
    /// Version of the format.
    #[key(allowed = READ, example = FORMAT)]
    pub(super) format: Spanned<u64>,
    /// Kind of the profile.
    #[key(example = "grid")]
    pub(super) kind: Spanned<Kind>,
    /// Name of the profile in results.
    #[key(example = "lab")]
    name: Spanned<Verbatim>,
    /// Description in one line.
    #[key(example = "measured in the lab")]
    description: Option<Spanned<Verbatim>>,
}

const READ: Allowed<u64> = Allowed {
    test: |format| format.to_string() == FORMAT,
    text: FORMAT,
};

/// Kinds of profiles.
#[keyword_enum(plain)]
pub(super) enum Kind {
    Grid,
    PowerLaw,
    Mathis,
    PftkApproximate,
    PftkFull,
}

#[table(plain)]
struct GridFile {
    /// Limit of the congestion window.
    #[key(example = "64 pkt")]
    window: Option<Window>,
    /// Amplitude of the congestion window between losses relative to Reno of ns-2, for queues that TCP fills. Default: 1.
    #[key(example = 0.5)]
    swing: Option<Spanned<f64>>,
    /// Round-trip times of the columns.
    #[key(example = "[\"50 ms\", \"100 ms\"]")]
    rtt: Spanned<List<Quantity<Seconds>>>,
    /// Unit of the throughputs.
    #[key(example = "pkt/s")]
    throughput_unit: Spanned<ThroughputUnit>,
    /// Rows in order of increasing loss.
    rows: Vec<Row>,
}

#[keyword_enum(plain)]
enum ThroughputUnit {
    #[key(name = "pkt/s")]
    PerSecond,
    #[key(name = "pkt/ms")]
    PerMillisecond,
}

#[table(plain, name = "rows")]
struct Row {
    /// Loss probability.
    #[key(example = 0.01)]
    loss: Spanned<f64>,
    /// Throughput for every round-trip time.
    #[key(example = "[200, 120]")]
    throughput: Spanned<List<f64>>,
    /// Round-trip times with extrapolated throughput.
    #[key(example = "[\"100 ms\"]")]
    extended: Option<Spanned<List<Quantity<Seconds>>>>,
}

#[table(plain)]
struct PowerLawFile {
    /// Minimum round-trip time of the profile.
    #[key(example = "10 ms")]
    rtt_min: Time,
    /// Maximum round-trip time of the profile.
    #[key(example = "1 s")]
    rtt_max: Time,
    /// Coefficient of rtt·loss in the exponent. Default: 0.
    #[key(example = 0.5)]
    loss_rtt_exponent: Option<Spanned<f64>>,
    /// Rows in order of increasing loss.
    rows: Vec<PowerLawRowFile>,
}

#[table(plain, name = "rows")]
struct PowerLawRowFile {
    /// Loss probability.
    #[key(example = 0.01)]
    loss: Spanned<f64>,
    /// Exponent of the round-trip time.
    #[key(example = -0.9)]
    a: Spanned<f64>,
    /// Factor.
    #[key(example = 3.5)]
    b: Spanned<f64>,
}

#[table(plain)]
struct MathisFile {
    /// Number of segments per acknowledgement.
    #[key(example = 2)]
    segments_per_ack: Option<Spanned<f64>>,
    /// Limit of the congestion window.
    #[key(example = "64 pkt")]
    window: Option<Window>,
}

#[table(plain)]
struct PftkFile {
    /// Number of segments per acknowledgement.
    #[key(example = 2)]
    segments_per_ack: Option<Spanned<f64>>,
    /// Initial retransmission timeout.
    #[key(example = "200 ms")]
    timeout: Option<Time>,
    /// Limit of the congestion window.
    #[key(example = "64 pkt")]
    window: Option<Window>,
}

/// Keys of all kinds.
const ALL_KEYS: &[&[Key]] = &[
    Head::KEYS,
    GridFile::KEYS,
    PowerLawFile::KEYS,
    PftkFile::KEYS,
];

/// Reads a profile; `None` if it has a problem, which `findings` contains.
pub(super) fn read(text: &str, file: FileId, findings: &mut Findings) -> Option<Arc<dyn Profile>> {
    let before = findings.errors();
    let profile = parse(text, file, findings, |fields, findings| {
        let start = Where::new(file, 0..text.len().min(1));
        let mut section = Section::new(findings, "the profile", fields, start, ALL_KEYS);
        let head = Head::fields(&mut section);
        if !head.kind.is_valid() {
            section.finish();
            return None; // the allowed keys are unknown
        }
        of_kind(&head, fields, start, findings)
    })??;
    (findings.errors() == before).then_some(profile)
}

fn of_kind(
    head: &Head,
    fields: Fields<'_>,
    start: Where,
    findings: &mut Findings,
) -> Option<Arc<dyn Profile>> {
    let keys: &'static [&'static [Key]] = match *head.kind {
        Kind::Grid => const { &[Head::KEYS, GridFile::KEYS] },
        Kind::PowerLaw => const { &[Head::KEYS, PowerLawFile::KEYS] },
        Kind::Mathis => const { &[Head::KEYS, MathisFile::KEYS] },
        Kind::PftkApproximate | Kind::PftkFull => const { &[Head::KEYS, PftkFile::KEYS] },
    };
    let mut s = Section::new(findings, "the profile", fields, start, keys);
    let usual = FormulaParameters::default();
    match *head.kind {
        Kind::Grid => {
            let it = GridFile::fields(&mut s);
            grid(head, &it, s)
        }
        Kind::PowerLaw => {
            let it = PowerLawFile::fields(&mut s);
            power_law(head, &it, s)
        }
        Kind::Mathis => {
            let it = MathisFile::fields(&mut s);
            let parameters = FormulaParameters {
                segments_per_ack: it.segments_per_ack.map_or(usual.segments_per_ack, |b| *b),
                window_pkts: pkts(it.window.as_ref()),
                ..usual
            };
            analytic(head, Formula::Mathis, parameters, s)
        }
        Kind::PftkApproximate | Kind::PftkFull => {
            let it = PftkFile::fields(&mut s);
            let parameters = FormulaParameters {
                segments_per_ack: it.segments_per_ack.map_or(usual.segments_per_ack, |b| *b),
                timeout_s: it.timeout.map_or(usual.timeout_s, |timeout| timeout.get()),
                window_pkts: pkts(it.window.as_ref()),
            };
            let formula = match *head.kind {
                Kind::PftkFull => Formula::PftkFull,
                _ => Formula::PftkApproximate,
            };
            analytic(head, formula, parameters, s)
        }
    }
}

fn grid(head: &Head, it: &GridFile, s: Section<'_, '_>) -> Option<Arc<dyn Profile>> {
    let to_pps = match *it.throughput_unit {
        ThroughputUnit::PerSecond => 1.0,
        ThroughputUnit::PerMillisecond => 1000.0,
    };
    let rtts_s: Vec<f64> = it.rtt.iter().map(|rtt| rtt.get()).collect();
    let mut rows = Vec::with_capacity(it.rows.len());
    for row in &it.rows {
        let mut extended = Vec::new();
        for rtt in row.extended.iter().flat_map(|named| named.iter()) {
            match rtts_s.iter().position(|&it| it == rtt.get()) {
                Some(column) => extended.push(column),
                None => {
                    let message = "this is not one of the grid's round-trip times";
                    s.findings
                        .error(ProblemKind::UnknownName, rtt.place(), message);
                }
            }
        }
        rows.push(GridRow {
            loss: *row.loss,
            throughput_pps: row.throughput.iter().map(|pps| to_pps * **pps).collect(),
            extrapolated: extended,
        });
    }
    let place = |s: &Section<'_, '_>, place| match place {
        NumberLocation::Loss { row } => Some(it.rows.get(row)?.loss.place()),
        NumberLocation::Row { row } => Some(it.rows.get(row)?.throughput.place()),
        NumberLocation::Cell { row, column } => {
            Some(it.rows.get(row)?.throughput.get(column)?.place())
        }
        NumberLocation::Rtt { column } => Some(it.rtt.get(column)?.place()),
        place => s.value_place(key(place)),
    };
    let spec = GridSpec {
        name: head.name.to_string(),
        description: head.description(),
        window_pkts: pkts(it.window.as_ref()),
        sawtooth_amplitude: it.swing.map_or(1.0, |swing| *swing),
        rtts_s,
        rows,
    };
    finish(s, Grid::new(spec), place)
}

fn power_law(head: &Head, it: &PowerLawFile, s: Section<'_, '_>) -> Option<Arc<dyn Profile>> {
    let rows = it.rows.iter().map(|row| PowerLawRow {
        loss: *row.loss,
        a: *row.a,
        b: *row.b,
    });
    let spec = PowerLawSpec {
        name: head.name.to_string(),
        description: head.description(),
        rows: rows.collect(),
        loss_rtt_exponent: it.loss_rtt_exponent.map_or(0.0, |exponent| *exponent),
        rtt_min_s: it.rtt_min.get(),
        rtt_max_s: it.rtt_max.get(),
    };
    let place = |s: &Section<'_, '_>, place| match place {
        NumberLocation::Loss { row } => Some(it.rows.get(row)?.loss.place()),
        NumberLocation::Exponent { row } => Some(it.rows.get(row)?.a.place()),
        NumberLocation::Factor { row } => Some(it.rows.get(row)?.b.place()),
        place => s.value_place(key(place)),
    };
    finish(s, PowerLaw::new(spec), place)
}

fn analytic(
    head: &Head,
    formula: Formula,
    parameters: FormulaParameters,
    s: Section<'_, '_>,
) -> Option<Arc<dyn Profile>> {
    let made = Analytic::new(
        head.name.to_string(),
        head.description(),
        formula,
        parameters,
    );
    finish(s, made, |s, place| s.value_place(key(place)))
}

/// Returns the profile, or reports its invalid numbers at the location that `place` gives.
fn finish<P: Profile + 'static>(
    s: Section<'_, '_>,
    made: Result<P, ProfileError>,
    place: impl Fn(&Section<'_, '_>, NumberLocation) -> Option<Where>,
) -> Option<Arc<dyn Profile>> {
    // A placeholder for a value that could not be read must not be reported.
    let is_read = s.is_valid();
    let profile = match made {
        Ok(profile) => Some(Arc::new(profile) as Arc<dyn Profile>),
        Err(error) => {
            let place = place(&s, error.place()).unwrap_or(s.place());
            if is_read {
                s.findings
                    .error(ProblemKind::OutOfRange, place, error.to_string());
            }
            None
        }
    };
    s.finish();
    profile
}

impl Head {
    fn description(&self) -> String {
        let description = self.description.as_ref();
        description.map_or_else(String::new, |text| text.to_string())
    }
}

fn pkts(window: Option<&Window>) -> Option<f64> {
    window.map(|window| window.get())
}

/// Returns the key that contains a number.
fn key(place: NumberLocation) -> &'static str {
    match place {
        NumberLocation::Rtts | NumberLocation::Rtt { .. } => "rtt",
        NumberLocation::RttMin => "rtt-min",
        NumberLocation::RttMax => "rtt-max",
        NumberLocation::LossRttExponent => "loss-rtt-exponent",
        NumberLocation::Window => "window",
        NumberLocation::SawtoothAmplitude => "swing",
        NumberLocation::Timeout => "timeout",
        NumberLocation::SegmentsPerAck => "segments-per-ack",
        NumberLocation::Rows
        | NumberLocation::Loss { .. }
        | NumberLocation::Exponent { .. }
        | NumberLocation::Factor { .. }
        | NumberLocation::Row { .. }
        | NumberLocation::Cell { .. } => "rows",
    }
}
