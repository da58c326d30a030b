//! Settings of the whole run, and their defaults.

use netflow_document::{Findings, ProblemKind, Spanned, Words};
use netflow_network::{Coupling, Model, Options, Step, Transport};
use netflow_units::{Bytes, Seconds};

use crate::file::{Adaptive, CouplingName, Scenario, Simulation, StepSetting, TransportName};

/// Packets on the wire unless somebody says otherwise.
const PACKET_SIZE: Bytes = Bytes(1000.0);

/// More steps than this take days.
const MOST_STEPS: f64 = 1e10;

/// What connections and links inherit.
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) warmup_s: f64,
    pub(super) seed: u64,
    pub(super) packet_size: Bytes,
    /// Whether anything has asked for the default packet size.
    pub(super) packet_size_used: bool,
    pub(super) acks: bool,
    pub(super) acks_used: bool,
}

pub(super) fn check(simulation: &Simulation, findings: &mut Findings) -> Settings {
    let duration_s = simulation.duration.get();
    let model = simulation.model.as_deref().copied();
    let model = model.map_or_else(Model::default, Into::into);
    let step = step(simulation, duration_s, findings);
    check_step_and_model(simulation, model, findings);
    let literal = model == Model::FluidLiteral;
    let mixed = literal || matches!(step, Step::Adaptive { .. });
    let default_transport = if mixed {
        Transport::WellMixed
    } else {
        Transport::default()
    };
    let default_coupling = match step {
        _ if literal => Coupling::Lagged,
        Step::Adaptive { .. } => Coupling::Implicit,
        _ => Coupling::default(),
    };
    let options = Options {
        duration_s,
        model,
        step,
        transport: simulation
            .transport
            .as_deref()
            .copied()
            .map_or(default_transport, Into::into),
        coupling: simulation
            .coupling
            .as_deref()
            .copied()
            .map_or(default_coupling, Into::into),
        seed: simulation.seed.as_deref().copied().unwrap_or(1),
        burstiness_interval_s: simulation
            .burstiness_interval
            .as_ref()
            .map_or(Options::default().burstiness_interval_s, |interval| {
                interval.get()
            }),
    };
    Settings {
        options,
        warmup_s: warmup_s(simulation, findings),
        seed: simulation.seed.as_deref().copied().unwrap_or(1),
        packet_size: simulation
            .packet_size
            .as_ref()
            .map_or(PACKET_SIZE, |size| size.0),
        packet_size_used: false,
        acks: simulation.acks.as_deref().copied().unwrap_or(true),
        acks_used: false,
    }
}

fn warmup_s(simulation: &Simulation, findings: &mut Findings) -> f64 {
    let Some(warmup) = &simulation.warmup else {
        return 0.0;
    };
    let duration = &simulation.duration;
    if warmup.get() >= duration.get() && warmup.is_sound() && duration.is_sound() {
        let message = format!(
            "the warmup of {} leaves nothing of the duration of {}",
            **warmup, **duration
        );
        let finding = findings.error(ProblemKind::OutOfRange, warmup.place(), message);
        finding.help("make `warmup` shorter than `duration`, or leave it out");
    }
    warmup.get()
}

fn step(simulation: &Simulation, duration_s: f64, findings: &mut Findings) -> Step {
    let duration = *simulation.duration;
    let (default_s, per_round_trip) = Step::DEFAULT_AUTO;
    let auto = |longest_s: f64| Step::Auto {
        longest_s: longest_s.min(duration_s),
        per_round_trip,
    };
    let too_many_of = |longest_s: f64| {
        let steps = duration_s / longest_s;
        (steps > MOST_STEPS).then(|| {
            let longest = Seconds(longest_s);
            format!("the run would take {steps:.0e} steps of {longest}")
        })
    };
    match simulation.step.as_deref() {
        None | Some(StepSetting::Auto(_)) => {
            if let Some(message) = too_many_of(default_s) {
                too_many(&simulation.duration, message, findings);
            }
            auto(default_s)
        }
        Some(StepSetting::Longest(step)) => {
            if step.get() > duration_s && simulation.duration.is_sound() {
                let message = format!(
                    "the step of {} is longer than the duration of {duration}",
                    **step
                );
                let finding = findings.error(ProblemKind::OutOfRange, step.place(), message);
                finding.help("make `step` at most `duration`, or leave it out");
            }
            if let Some(message) = too_many_of(step.get()) {
                too_many(step, message, findings);
            }
            auto(step.get())
        }
        Some(StepSetting::Adaptive(adaptive)) => {
            let (min_s, max_s) = adaptive.limits_s();
            check_adaptive(adaptive, duration_s, &simulation.duration, findings);
            Step::Adaptive {
                tolerance: *adaptive.tolerance,
                min_s: min_s.min(duration_s),
                max_s: max_s.min(duration_s),
            }
        }
    }
}

fn check_adaptive<T: std::fmt::Display>(
    adaptive: &Adaptive,
    duration_s: f64,
    duration: &Spanned<T>,
    findings: &mut Findings,
) {
    if let Some(min) = &adaptive.min
        && min.get() > duration_s
        && duration.is_sound()
    {
        let message = format!(
            "the shortest step of {} is longer than the duration of {}",
            **min, **duration
        );
        let finding = findings.error(ProblemKind::OutOfRange, min.place(), message);
        finding.help("make `min` at most `duration`; 1 ms is the default");
    }
}

fn too_many<T>(setting: &Spanned<T>, message: String, findings: &mut Findings) {
    let finding = findings.error(ProblemKind::TooLarge, setting.place(), message);
    finding.help(format!(
        "at most {MOST_STEPS:.0e} steps: make the step longer or the duration shorter"
    ));
}

/// What cannot go together.
fn check_step_and_model(simulation: &Simulation, model: Model, findings: &mut Findings) {
    let literal = model == Model::FluidLiteral;
    let adaptive = simulation
        .step
        .as_ref()
        .filter(|step| matches!(***step, StepSetting::Adaptive(_)));
    if literal && let Some(step) = adaptive {
        let message = "model \"fluid-literal\" has no adaptive steps";
        let finding = findings.error(ProblemKind::Conflict, step.place(), message);
        finding.help("write `step = \"50 ms\"`, or use model \"fluid\"");
    }
    if model == Model::Window
        && let Some(step) = adaptive
    {
        let message = "model \"window\" has no adaptive steps";
        let finding = findings.error(ProblemKind::Conflict, step.place(), message);
        finding.help("leave `step` out: it takes the steps that it needs");
    }
    let transport = simulation.transport.as_ref();
    if let Some(transport) = transport.filter(|transport| ***transport == TransportName::Fifo) {
        let (other, else_help) = match (literal, adaptive.is_some()) {
            (true, _) => ("model \"fluid-literal\"", "model \"fluid\""),
            (false, true) => ("an adaptive step", "a fixed step"),
            (false, false) => return check_coupling(simulation, literal, findings),
        };
        let message = format!("transport \"fifo\" does not go with {other}");
        let finding = findings.error(ProblemKind::Conflict, transport.place(), message);
        finding.help(format!(
            "write `transport = \"well-mixed\"`, or use {else_help}"
        ));
    }
    check_coupling(simulation, literal, findings);
    let learned = |coupling: &&Spanned<CouplingName>| ***coupling == CouplingName::Learned;
    if let (Some(_), Some(coupling)) = (adaptive, simulation.coupling.as_ref().filter(learned)) {
        let message = "coupling \"learned\" does not go with an adaptive step";
        let finding = findings.error(ProblemKind::Conflict, coupling.place(), message);
        finding.help("leave `step` out: steps are as long as is right for sources that learn");
    }
}

fn check_coupling(simulation: &Simulation, literal: bool, findings: &mut Findings) {
    let coupling = simulation.coupling.as_ref();
    if let Some(coupling) =
        coupling.filter(|coupling| literal && ***coupling != CouplingName::Lagged)
    {
        let word = coupling.name();
        let message = format!("coupling \"{word}\" does not go with model \"fluid-literal\"");
        let finding = findings.error(ProblemKind::Conflict, coupling.place(), message);
        finding.help("write `coupling = \"lagged\"`, or use model \"fluid\"");
    }
}

impl super::Assembly<'_> {
    /// Warns of settings that nothing in the scenario takes notice of.
    pub(super) fn check_unused_settings(&mut self, scenario: &Scenario) {
        let simulation = &scenario.simulation;
        if self.findings.has_errors() {
            return; // something that would use them may not have been read
        }
        if let Some(size) = simulation
            .packet_size
            .as_ref()
            .filter(|_| !self.settings.packet_size_used)
        {
            let message = "`packet-size` has no effect: every connection has its own";
            self.warning(ProblemKind::WithoutEffect, size.place(), message, "");
        }
        if let Some(acks) = simulation
            .acks
            .as_ref()
            .filter(|_| !self.settings.acks_used)
        {
            let message = "`acks` has no effect: no connection here takes it from the simulation";
            self.warning(ProblemKind::WithoutEffect, acks.place(), message, "");
        }
    }
}
