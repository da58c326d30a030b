//! Validation of the calibration of the fluid model by the packet model.

use std::sync::Arc;

use netflow_document::{FileId, ProblemKind, SourceSpan};
use netflow_network::{CalibrationPlan, FluidOptions, Model, Source, TcpVariant, WindowSource};
use netflow_profile::{Profile, builtin, builtin_names};
use netflow_tcpmodel::{CongestionControl, Stack};
use netflow_units::Seconds;

use super::Validator;
use super::stacks::DEFAULT_STACK;
use crate::export::Ns2Tcp;
use crate::file::Simulation;

/// Returns the packet-model TCP from which a built-in profile was measured, if there is one.
fn packet_source_of(profile: &Arc<dyn Profile>) -> Option<Source> {
    let name = profile.name();
    builtin(name).filter(|known| Arc::ptr_eq(known, profile))?;
    let (of, _) = name.split_once('-')?;
    let agent = |variant| {
        Some(Source::Ns2Tcp(WindowSource {
            variant,
            ..WindowSource::default()
        }))
    };
    let linux = |congestion| {
        let mut stack = Stack::builtin(DEFAULT_STACK)?;
        stack.set_congestion(congestion);
        Some(Source::Tcp(Arc::new(stack)))
    };
    match (of, Ns2Tcp::of_profile(name)?) {
        ("ns", Ns2Tcp::Tahoe) => agent(TcpVariant::Tahoe),
        ("ns", Ns2Tcp::Reno) => agent(TcpVariant::Reno),
        ("ns", Ns2Tcp::Newreno) => agent(TcpVariant::NewReno),
        ("ns", Ns2Tcp::Vegas) => agent(TcpVariant::Vegas),
        ("linux", Ns2Tcp::Reno) => linux(CongestionControl::Reno),
        ("linux", Ns2Tcp::Cubic) => linux(CongestionControl::Cubic),
        _ => None,
    }
}

impl Validator<'_> {
    /// Checks that the requested calibration is compatible with the model and with the events.
    pub(super) fn check_calibration_setting(&mut self, simulation: &Simulation) {
        let Some(calibrate) = &simulation.calibrate else {
            return;
        };
        match self.settings.options.model {
            Model::Packets(_) => {
                let message = "`calibrate` has no effect in the packet model";
                return self.warning(ProblemKind::WithoutEffect, calibrate.place(), message, "");
            }
            Model::Fluid(FluidOptions::Literal { .. }) => {
                let message = "model \"fluid-literal\" does not support `calibrate`".to_owned();
                let help = "leave out `calibrate` or `model`";
                return self.error(ProblemKind::Conflict, calibrate.place(), message, help);
            }
            Model::Fluid(FluidOptions::Standard { .. }) => {}
        }
        let plan = CalibrationPlan::new(calibrate.get());
        let (watched, followed) = (Seconds(plan.watched_s), Seconds(plan.simulated_s()));
        let duration = Seconds(self.settings.options.duration_s);
        if followed > duration {
            let message = format!(
                "the calibration simulates packets for {followed}, but `duration` is {duration}"
            );
            let help = "make `calibrate` at most half of `duration`";
            return self.error(ProblemKind::OutOfRange, calibrate.place(), message, help);
        }
        if let Some(at_s) = self.first_change_in(&(watched.get()..followed.get())) {
            let message = format!(
                "the calibration measures from {watched} to {followed}, but an event occurs at {}",
                Seconds(at_s)
            );
            let help =
                "choose a shorter or longer `calibrate`, without an event in its second half";
            self.error(ProblemKind::Conflict, calibrate.place(), message, help);
        }
    }

    /// In the packet model, replaces built-in profiles by the TCP from which they were measured, after all
    /// connections were added. TCP with another profile sends at the rate of the profile.
    pub(super) fn replace_profiles(&mut self, simulation: &Simulation) {
        if !matches!(self.settings.options.model, Model::Packets(_)) {
            return;
        }
        let mut rate_based: Option<(String, String)> = None;
        let mut others = 0;
        self.builder.each_connection(|spec| {
            let Source::Profile(profile) = &spec.source else {
                return;
            };
            if let Some(source) = packet_source_of(profile) {
                spec.max_window_pkts = spec.window_limit_pkts();
                spec.source = source;
            } else if rate_based.is_none() {
                rate_based = Some((spec.name.clone(), profile.name().to_owned()));
            } else {
                others += 1;
            }
        });
        let Some((connection, profile)) = rate_based else {
            return;
        };
        let others = match others {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        let start = SourceSpan::new(FileId::FIRST, 0..0);
        let place = simulation.model.as_ref().map_or(start, |it| it.place());
        let message = format!(
            "connection `{connection}`{others} sends at the rate of profile `{profile}`, because the packet model has no such TCP"
        );
        let help = "queues and losses of real TCP differ; `source = { tcp = \"linux-6\" }` simulates congestion windows";
        self.warning(ProblemKind::Suspicious, place, message, help);
    }

    /// Plans the calibration, after all connections were added.
    pub(super) fn plan_calibration(&mut self, simulation: &Simulation) {
        let is_fluid = matches!(self.settings.options.model, Model::Fluid(_));
        let Some(calibrate) = simulation.calibrate.as_ref().filter(|_| is_fluid) else {
            return;
        };
        let mut plan = CalibrationPlan::new(calibrate.get());
        let mut unknown = None;
        self.builder.each_connection(|spec| {
            let source = match &spec.source {
                Source::Profile(profile) => {
                    let source = packet_source_of(profile);
                    if source.is_none() {
                        let names = || (spec.name.clone(), profile.name().to_owned());
                        unknown.get_or_insert_with(names);
                    }
                    source
                }
                _ => None,
            };
            plan.tcp.push(source);
        });
        if let Some((connection, profile)) = unknown {
            let message = format!(
                "connection `{connection}` cannot be calibrated: the packet model does not support the TCP of profile `{profile}`"
            );
            let is_played =
                |name: &&str| builtin(name).is_some_and(|it| packet_source_of(&it).is_some());
            let names: Vec<&str> = builtin_names().iter().copied().filter(is_played).collect();
            let help = format!("leave out `calibrate`, or use one of {}", names.join(", "));
            return self.error(ProblemKind::Conflict, calibrate.place(), message, &help);
        }
        self.builder.calibrate(Some(plan));
    }
}
