//! What packets are to tell a fluid before it begins.

use std::sync::Arc;

use netflow_document::ProblemKind;
use netflow_network::{
    CalibrationPlan, Coupling, FluidOptions, HEADER_BYTES, Model, Source, TcpVariant, WindowSource,
};
use netflow_profile::{Profile, builtin};
use netflow_tcpmodel::{CongestionControl, Stack};
use netflow_units::Seconds;

use super::Assembly;
use super::stacks::STACK;
use crate::file::Simulation;

/// Which TCP of packets a built-in profile was measured of.
#[derive(Clone, Copy)]
enum Measured {
    /// An agent of ns-2.
    Agent(TcpVariant),
    /// Linux.
    Linux(CongestionControl),
}

/// Profiles of windows of 64 packets (`…-w64`) are of the same TCP.
const MEASURED: [(&str, Measured); 6] = [
    ("ns-tahoe", Measured::Agent(TcpVariant::Tahoe)),
    ("ns-reno", Measured::Agent(TcpVariant::Reno)),
    ("ns-newreno", Measured::Agent(TcpVariant::NewReno)),
    ("ns-vegas", Measured::Agent(TcpVariant::Vegas)),
    ("linux-reno", Measured::Linux(CongestionControl::Reno)),
    ("linux-cubic", Measured::Linux(CongestionControl::Cubic)),
];

/// The TCP of packets that a profile was measured of, if there is one.
fn played(profile: &Arc<dyn Profile>, packet_bytes: f64) -> Option<Source> {
    let name = profile.name();
    let is_built_in = builtin(name).is_some_and(|known| Arc::ptr_eq(&known, profile));
    let agent = name.strip_suffix("-w64").unwrap_or(name);
    let (_, measured) = MEASURED
        .iter()
        .find(|(known, _)| is_built_in && *known == agent)?;
    Some(match *measured {
        Measured::Agent(variant) => Source::Window(WindowSource {
            variant,
            ..WindowSource::default()
        }),
        Measured::Linux(congestion) => {
            let mut stack = Stack::builtin(STACK)?;
            stack.set_congestion(congestion);
            stack.mss_bytes = (packet_bytes - HEADER_BYTES).clamp(1.0, 65_535.0) as u32;
            Source::Stack(Arc::new(stack))
        }
    })
}

impl Assembly<'_> {
    /// Whether the calibration that is asked for goes with the model, and with what happens to links.
    pub(super) fn check_calibration(&mut self, simulation: &Simulation) {
        let Some(calibrate) = &simulation.calibrate else {
            return;
        };
        let learns = match self.settings.options.model {
            Model::Packets(_) => {
                let message =
                    "`calibrate` has no effect: in the window model packets are what travels";
                return self.warning(ProblemKind::WithoutEffect, calibrate.place(), message, "");
            }
            Model::Fluid(FluidOptions::Fifo { .. }) => true,
            Model::Fluid(FluidOptions::WellMixed { coupling, .. }) => coupling == Coupling::Learned,
            Model::Fluid(FluidOptions::Adaptive { .. } | FluidOptions::Literal { .. }) => false,
        };
        if !learns {
            let message = "only a fluid whose sources learn is calibrated".to_owned();
            let help = "leave `calibrate` out, or `step`, `coupling` and `model`, which say that they do not";
            return self.error(ProblemKind::Conflict, calibrate.place(), message, help);
        }
        let plan = CalibrationPlan::new(calibrate.get());
        let (watched, followed) = (Seconds(plan.watched_s), Seconds(plan.followed_s()));
        let duration = Seconds(self.settings.options.duration_s);
        if followed > duration {
            let message = format!(
                "packets are followed for twice as long, {followed}, but the run takes {duration}"
            );
            let help = "make `calibrate` at most half of `duration`";
            return self.error(ProblemKind::OutOfRange, calibrate.place(), message, help);
        }
        if let Some(at_s) = self.change_within(&(watched.get()..followed.get())) {
            let message = format!(
                "packets are watched from {watched} to {followed}, but an event happens at {}",
                Seconds(at_s)
            );
            let help = "choose a time in which nothing happens to links";
            self.error(ProblemKind::Conflict, calibrate.place(), message, help);
        }
    }

    /// Plans it, once all connections are there.
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
                    let source = played(profile, spec.packet_size_bytes);
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
                "connection `{connection}` cannot be followed as packets: profile `{profile}` is of no TCP that they know"
            );
            let names: Vec<&str> = MEASURED.iter().map(|(name, _)| *name).collect();
            let help = format!(
                "leave `calibrate` out, or choose among {}",
                names.join(", ")
            );
            return self.error(ProblemKind::Conflict, calibrate.place(), message, &help);
        }
        self.builder.calibrate(Some(plan));
    }
}
