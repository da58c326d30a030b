//! Validation of the simulation's settings, and their defaults.

use netflow_document::{Findings, ProblemKind, Spanned, Words};
use netflow_network::{
    Coupling, FluidOptions, Model, ModelName, Options, Overhead, PACKET_BYTES, PacketOptions, Step,
    Transport,
};
use netflow_units::{Bytes, Seconds};

use crate::file::{Adaptive, CouplingSetting, Scenario, Simulation, StepSetting, TransportSetting};

/// Default packet size on the wire.
const PACKET_SIZE: Bytes = Bytes(PACKET_BYTES);

/// Maximum number of steps; more would take days.
const MAX_STEPS: f64 = 1e10;

/// Settings inherited by connections and links.
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) warmup_s: f64,
    pub(super) packet_size: Bytes,
    /// Default overhead of links, and whether a link uses it.
    pub(super) overhead: Overhead,
    pub(super) overhead_used: bool,
    pub(super) acks: bool,
    pub(super) acks_used: bool,
    /// Factor of all demands.
    pub(super) demand_scale: f64,
    /// Hour at which demands with a day are evaluated.
    pub(super) hour: Option<f64>,
    /// True if traffic is split among equal-cost paths.
    pub(super) ecmp: bool,
}

pub(super) fn check(simulation: &Simulation, findings: &mut Findings) -> Settings {
    let duration_s = simulation.duration.get();
    let name = simulation.model.as_deref().copied();
    let name = name.map_or_else(ModelName::default, Into::into);
    check_steps(simulation, duration_s, findings);
    check_step_and_model(simulation, name, findings);
    let options = Options {
        duration_s,
        seed: simulation.seed.as_deref().copied().unwrap_or(1),
        model: model(name, simulation),
    };
    Settings {
        options,
        warmup_s: warmup_s(simulation, findings),
        packet_size: simulation
            .packet_size
            .as_ref()
            .map_or(PACKET_SIZE, |size| size.0),
        overhead: (simulation.overhead.as_ref())
            .map_or(Overhead::NONE, |overhead| overhead.to_overhead()),
        overhead_used: false,
        acks: simulation.acks.as_deref().copied().unwrap_or(true),
        acks_used: false,
        demand_scale: simulation.demand_scale.as_deref().copied().unwrap_or(1.0),
        hour: simulation.hour.as_deref().copied(),
        ecmp: simulation.ecmp.as_deref().copied().unwrap_or(false),
    }
}

fn warmup_s(simulation: &Simulation, findings: &mut Findings) -> f64 {
    let Some(warmup) = &simulation.warmup else {
        return 0.0;
    };
    let duration = &simulation.duration;
    if warmup.get() >= duration.get() && warmup.is_valid() && duration.is_valid() {
        let message = format!(
            "`warmup` is {}, not shorter than `duration`, which is {}",
            **warmup, **duration
        );
        let finding = findings.error(ProblemKind::OutOfRange, warmup.place(), message);
        finding.set_help("make `warmup` shorter than `duration`, or leave out `warmup`");
    }
    warmup.get()
}

/// Returns the model of this name with the file's settings; conflicts were reported.
pub(super) fn model(name: ModelName, simulation: &Simulation) -> Model {
    let duration_s = simulation.duration.get();
    let (mut longest_s, mut adaptive) = (Step::default().longest_s(), None);
    match simulation.step.as_deref() {
        None | Some(StepSetting::Auto(_)) => {}
        Some(StepSetting::Longest(step)) => longest_s = step.get(),
        Some(StepSetting::Adaptive(of)) => {
            let (min_s, max_s) = of.limits_s();
            adaptive = Some(netflow_network::Adaptive {
                tolerance: *of.tolerance,
                min_s: min_s.min(duration_s),
                max_s: max_s.min(duration_s),
            });
        }
    }
    let longest_s = longest_s.min(duration_s);
    let coupling = simulation.coupling.as_deref().copied();
    let coupling = coupling.map(Coupling::from);
    match (name, adaptive) {
        (ModelName::Fluid, Some(step)) => FluidOptions::Adaptive {
            step,
            coupling: coupling.unwrap_or(Coupling::Implicit),
        }
        .into(),
        (ModelName::Fluid, None) => {
            let transport = simulation.transport.as_deref().copied();
            let transport = match (transport, coupling) {
                (Some(transport), _) => transport.into(),
                (None, Some(Coupling::Windows)) => Transport::WellMixed,
                (None, _) => Transport::default(),
            };
            let coupling = coupling.unwrap_or_default();
            FluidOptions::new(transport, coupling, Step::auto(longest_s)).into()
        }
        (ModelName::FluidLiteral, _) => FluidOptions::Literal { step_s: longest_s }.into(),
        (ModelName::Packets, _) => {
            let default = PacketOptions::default();
            let interval = simulation.burstiness_interval.as_ref();
            Model::Packets(PacketOptions {
                step_s: longest_s,
                burstiness_interval_s: interval
                    .map_or(default.burstiness_interval_s, |interval| interval.get()),
            })
        }
    }
}

/// Checks for steps that are too long or too many.
fn check_steps(simulation: &Simulation, duration_s: f64, findings: &mut Findings) {
    let duration = *simulation.duration;
    let too_many_of = |longest_s: f64| {
        let steps = duration_s / longest_s;
        (steps > MAX_STEPS).then(|| {
            let longest = Seconds(longest_s);
            format!("the run would need {steps:.0e} steps of {longest}")
        })
    };
    match simulation.step.as_deref() {
        None | Some(StepSetting::Auto(_)) => {
            if let Some(message) = too_many_of(Step::default().longest_s()) {
                report_too_many_steps(&simulation.duration, message, findings);
            }
        }
        Some(StepSetting::Longest(step)) => {
            if step.get() > duration_s && simulation.duration.is_valid() {
                let message = format!(
                    "the step of {} is longer than the duration of {duration}",
                    **step
                );
                let finding = findings.error(ProblemKind::OutOfRange, step.place(), message);
                finding.set_help("make `step` at most `duration`, or leave it out");
            }
            if let Some(message) = too_many_of(step.get()) {
                report_too_many_steps(step, message, findings);
            }
        }
        Some(StepSetting::Adaptive(adaptive)) => {
            check_adaptive(adaptive, duration_s, &simulation.duration, findings);
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
        && duration.is_valid()
    {
        let message = format!(
            "the shortest step of {} is longer than the duration of {}",
            **min, **duration
        );
        let finding = findings.error(ProblemKind::OutOfRange, min.place(), message);
        finding.set_help("make `min` at most `duration`; 1 ms is the default");
    }
}

fn report_too_many_steps<T>(setting: &Spanned<T>, message: String, findings: &mut Findings) {
    let finding = findings.error(ProblemKind::TooLarge, setting.place(), message);
    finding.set_help(format!(
        "at most {MAX_STEPS:.0e} steps: make the step longer or the duration shorter"
    ));
}

/// Reports settings that conflict with the model.
fn check_step_and_model(simulation: &Simulation, model: ModelName, findings: &mut Findings) {
    let literal = model == ModelName::FluidLiteral;
    let adaptive = simulation
        .step
        .as_ref()
        .filter(|step| matches!(***step, StepSetting::Adaptive(_)));
    if literal && let Some(step) = adaptive {
        let message = "model \"fluid-literal\" does not support adaptive steps";
        let finding = findings.error(ProblemKind::Conflict, step.place(), message);
        finding.set_help("write `step = \"50 ms\"`, or use model \"fluid\"");
    }
    if model == ModelName::Packets
        && let Some(step) = adaptive
    {
        let message = "model \"packet\" does not support adaptive steps";
        let finding = findings.error(ProblemKind::Conflict, step.place(), message);
        finding.set_help("leave out `step`: the packet model has no time step");
    }
    let transport = simulation.transport.as_ref();
    if let Some(transport) = transport.filter(|transport| ***transport == TransportSetting::Fifo) {
        let (other, else_help) = match (literal, adaptive.is_some()) {
            (true, _) => ("model \"fluid-literal\"", "model \"fluid\""),
            (false, true) => ("adaptive steps", "a fixed step"),
            (false, false) => {
                let coupling = simulation.coupling.as_deref();
                if coupling != Some(&CouplingSetting::Windows) {
                    return check_coupling(simulation, literal, findings);
                }
                ("coupling \"windows\"", "coupling \"learned\"")
            }
        };
        let message = format!("transport \"fifo\" does not support {other}");
        let finding = findings.error(ProblemKind::Conflict, transport.place(), message);
        finding.set_help(format!(
            "write `transport = \"well-mixed\"`, or use {else_help}"
        ));
    }
    check_coupling(simulation, literal, findings);
    let needs_automatic_steps = |coupling: &&Spanned<CouplingSetting>| match ***coupling {
        CouplingSetting::Learned | CouplingSetting::Windows => true,
        CouplingSetting::Implicit | CouplingSetting::Lagged => false,
    };
    if let (Some(_), Some(coupling)) = (
        adaptive,
        simulation.coupling.as_ref().filter(needs_automatic_steps),
    ) {
        let word = coupling.name();
        let message = format!("coupling \"{word}\" does not support adaptive steps");
        let finding = findings.error(ProblemKind::Conflict, coupling.place(), message);
        finding.set_help("leave out `step`: automatic steps suit this coupling");
    }
}

fn check_coupling(simulation: &Simulation, literal: bool, findings: &mut Findings) {
    let coupling = simulation.coupling.as_ref();
    if let Some(coupling) =
        coupling.filter(|coupling| literal && ***coupling != CouplingSetting::Lagged)
    {
        let word = coupling.name();
        let message = format!("model \"fluid-literal\" does not support coupling \"{word}\"");
        let finding = findings.error(ProblemKind::Conflict, coupling.place(), message);
        finding.set_help("write `coupling = \"lagged\"`, or use model \"fluid\"");
    }
}

impl super::Validator<'_> {
    /// Warns of settings without effect in this scenario.
    pub(super) fn check_unused_settings(&mut self, scenario: &Scenario) {
        let simulation = &scenario.simulation;
        if self.findings.has_errors() {
            return; // something that would use them may not have been read
        }
        if let Some(overhead) = simulation
            .overhead
            .as_ref()
            .filter(|_| !self.settings.overhead_used)
        {
            let message = "`overhead` has no effect: every link has its own `overhead`";
            self.warning(ProblemKind::WithoutEffect, overhead.place(), message, "");
        }
        if let Some(acks) = simulation
            .acks
            .as_ref()
            .filter(|_| !self.settings.acks_used)
        {
            let message = "`acks` has no effect: no connection uses this default";
            self.warning(ProblemKind::WithoutEffect, acks.place(), message, "");
        }
    }
}
