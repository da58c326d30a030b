//! Validation of the simulation's settings, and their defaults.

use netflow_document::{Findings, ProblemKind, Spanned};
use netflow_network::{
    EcmpWeights, FluidOptions, Model, ModelName, Options, Overhead, PACKET_BYTES, PacketOptions,
    Step,
};
use netflow_units::{Bytes, Seconds};

use crate::file::{Scenario, Simulation, StepSetting};

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
    /// Weights of equal-cost links, if traffic is split among them.
    pub(super) ecmp: Option<EcmpWeights>,
}

pub(super) fn check(simulation: &Simulation, findings: &mut Findings) -> Settings {
    let duration_s = simulation.duration.get();
    let name = simulation.model.as_deref().copied();
    let name = name.map_or_else(ModelName::default, Into::into);
    check_steps(simulation, duration_s, findings);
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
        ecmp: simulation.ecmp.as_deref().and_then(|it| it.weights()),
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
    let longest_s = match simulation.step.as_deref() {
        None | Some(StepSetting::Auto(_)) => Step::default().longest_s(),
        Some(StepSetting::Longest(step)) => step.get(),
    };
    let longest_s = longest_s.min(duration_s);
    match name {
        ModelName::Fluid => FluidOptions::Standard {
            step: Step::auto(longest_s),
        }
        .into(),
        ModelName::FluidLiteral => FluidOptions::Literal { step_s: longest_s }.into(),
        ModelName::Packets => {
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
    }
}

fn report_too_many_steps<T>(setting: &Spanned<T>, message: String, findings: &mut Findings) {
    let finding = findings.error(ProblemKind::TooLarge, setting.place(), message);
    finding.set_help(format!(
        "at most {MAX_STEPS:.0e} steps: make the step longer or the duration shorter"
    ));
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
