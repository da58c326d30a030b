//! Simulation of a network with either engine.

use std::sync::Arc;
use std::time::Instant;

use netflow_fluid::{Fluid, State};
use netflow_network::engine::Engine;
use netflow_network::{
    ConnectionId, Explanation, LinkId, Model, Network, NodeId, Options, Owner, Recorder, RunError,
};
use netflow_packets::Packets;

use crate::interval::{IntervalDelta, Snapshot};
use crate::period_summary::PeriodStart;

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The duration has elapsed.
    Finished,
    /// `stop` became true before.
    Stopped,
}

/// Network, options and mutable state, advanced step by step or run to its end.
///
/// Results have the same bits for any number of threads. Methods that take an id panic if it
/// belongs to another network.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) options: Options,
    pub(crate) stepper: EngineKind,
    /// Counters at the start of the period that totals refer to.
    pub(crate) start: Arc<PeriodStart>,
    /// Longest queue of every link in each completed period. The engine has those of the current
    /// period.
    pub(crate) period_max_queues_pkts: Vec<Vec<f64>>,
    /// Simulated time in seconds until the packet model checks `stop` again.
    stop_check_interval_s: f64,
}

/// The two simulation engines.
#[derive(Clone)]
pub(crate) enum EngineKind {
    Fluid(Box<Fluid>),
    Packets(Box<Packets>),
}

/// Checks whether a run with these options can be recorded at this interval.
///
/// # Errors
/// [`RunError::BadOption`] if the interval is not positive, shorter than the packet clock resolves,
/// or makes too many intervals.
pub fn check_interval<E>(options: &Options, every_s: f64) -> Result<(), RunError<E>> {
    let intervals = options.duration_s / every_s;
    let reason = if every_s.is_nan() || every_s <= 0.0 {
        format!("it is {every_s} s, but must be positive")
    } else if matches!(options.model, Model::Packets(_)) && every_s < 1e-9 {
        format!("it is {every_s} s, but packets take whole nanoseconds")
    } else if intervals > MAX_INTERVALS {
        let least_s = options.duration_s / MAX_INTERVALS;
        format!(
            "it is {every_s} s, which makes {intervals:.3e} intervals; of at least {least_s} s it makes \
             no more than {MAX_INTERVALS:e}"
        )
    } else {
        return Ok(());
    };
    let option = "every";
    Err(RunError::BadOption { option, reason })
}

/// Maximum number of recording intervals, because each costs a row for every link and connection.
const MAX_INTERVALS: f64 = 1e8;

/// Target wall-clock time between checks of `stop` in the packet model, in seconds.
const STOP_LATENCY_S: f64 = 0.1;
/// Simulated time between these checks, in seconds: the initial value, and its range.
const INITIAL_STOP_CHECK_INTERVAL_S: f64 = 0.01;
const STOP_CHECK_RANGE_S: std::ops::RangeInclusive<f64> = 1e-4..=1.0;

impl Simulation {
    /// Creates a simulation of the network at time 0 with empty queues.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options that are out of range or exclude each other, or if the
    /// model does not support a part of the network (for example, a
    /// [`Source::Ns2Tcp`](netflow_network::Source::Ns2Tcp) in the fluid model).
    /// [`RunError::TooLarge`] if it needs more memory than the network's builder allowed.
    pub fn new(network: Network, options: Options) -> Result<Simulation, RunError> {
        let (duration_s, seed) = (options.duration_s, options.seed);
        let stepper = match options.model {
            Model::Packets(packets) => {
                EngineKind::Packets(Box::new(Packets::new(network, duration_s, seed, packets)?))
            }
            Model::Fluid(fluid) => {
                EngineKind::Fluid(Box::new(Fluid::new(network, duration_s, seed, fluid)?))
            }
        };
        Ok(Simulation::of(options, stepper))
    }

    /// Sets the maximum number of threads of the packet engine (default 1). It uses fewer when that
    /// is faster. Results do not depend on it. (The fluid engine uses rayon's pool.)
    pub fn set_threads(&mut self, threads: usize) {
        if let EngineKind::Packets(packets) = &mut self.stepper {
            packets.set_threads(threads);
        }
    }

    fn of(options: Options, stepper: EngineKind) -> Simulation {
        Simulation {
            options,
            stepper,
            start: Arc::default(),
            period_max_queues_pkts: Vec::new(),
            stop_check_interval_s: INITIAL_STOP_CHECK_INTERVAL_S,
        }
    }

    /// Resumes from a saved state, with the same bits as an uninterrupted run.
    ///
    /// # Errors
    /// As [`Simulation::new`]; and [`RunError::BadOption`] if the state does not fit this network
    /// with these options, or the model is [`Model::Packets`], which has no saved states: clone the
    /// simulation instead. (`duration_s` and `seed` may differ.)
    pub fn resume(
        network: Network,
        options: Options,
        state: State,
    ) -> Result<Simulation, RunError> {
        let Model::Fluid(fluid) = options.model else {
            return Err(RunError::BadOption {
                option: "model",
                reason: "runs of the packet model have no states to be resumed from; clone the \
                         simulation instead"
                    .to_owned(),
            });
        };
        let (duration_s, seed) = (options.duration_s, options.seed);
        let fluid = Fluid::resume(network, duration_s, seed, fluid, state)?;
        Ok(Simulation::of(options, EngineKind::Fluid(Box::new(fluid))))
    }

    /// Returns the engine that advances the network.
    pub fn engine(&self) -> &dyn Engine {
        match &self.stepper {
            EngineKind::Fluid(fluid) => &**fluid,
            EngineKind::Packets(packets) => &**packets,
        }
    }

    pub(crate) fn engine_mut(&mut self) -> &mut dyn Engine {
        match &mut self.stepper {
            EngineKind::Fluid(fluid) => &mut **fluid,
            EngineKind::Packets(packets) => &mut **packets,
        }
    }

    /// Returns the owner mark of the network's ids.
    pub(crate) fn owner(&self) -> Owner {
        self.engine().network().tables().owner
    }

    pub(crate) fn stepper(&self) -> &EngineKind {
        &self.stepper
    }

    /// Advances the network by one step; does nothing at the end of the duration.
    ///
    /// # Errors
    /// [`RunError::NotFinite`] if a queue is not a finite number.
    pub fn step(&mut self) -> Result<(), RunError> {
        match &mut self.stepper {
            EngineKind::Fluid(fluid) => fluid.step_until(f64::INFINITY)?,
            EngineKind::Packets(packets) => packets.step()?,
        }
        self.apply_events();
        Ok(())
    }

    /// Applies the pending events of the current time in the packet model; the fluid model applies
    /// them in the next step.
    fn apply_events(&mut self) {
        if let EngineKind::Packets(packets) = &mut self.stepper {
            packets.apply_events();
        }
    }

    /// Advances to `time_s`, but at most to `limit_s` and not after `stop`.
    ///
    /// The packet model stops at the nanosecond. The fluid model stops at the end of the step, so
    /// that recording intervals do not change steps. Events of that time are pending: packets that
    /// a failure loses count in the next interval.
    fn advance_to(
        &mut self,
        time_s: f64,
        slack_s: f64,
        limit_s: f64,
        stop: &impl Fn() -> bool,
    ) -> Result<(), RunError> {
        let fluid = match &mut self.stepper {
            EngineKind::Fluid(fluid) => fluid,
            EngineKind::Packets(packets) => {
                let end_s = time_s.min(limit_s).min(self.options.duration_s);
                while !packets.has_reached(end_s) && !stop() {
                    let (from_s, began) = (packets.time_s(), Instant::now());
                    packets.reach((from_s + self.stop_check_interval_s).min(end_s))?;
                    // Results do not depend on the stretches.
                    let ratio = STOP_LATENCY_S / began.elapsed().as_secs_f64().max(1e-9);
                    let stretch_s = (packets.time_s() - from_s) * ratio.min(2.0);
                    self.stop_check_interval_s =
                        stretch_s.clamp(*STOP_CHECK_RANGE_S.start(), *STOP_CHECK_RANGE_S.end());
                }
                return Ok(());
            }
        };
        while fluid.time_s() < time_s.min(limit_s) - slack_s && !fluid.is_done() && !stop() {
            fluid.step_until(limit_s)?;
        }
        Ok(())
    }

    /// Runs to the end of the duration and passes each interval of `every_s` seconds to `recorder`.
    ///
    /// An interval ends at the first end of a step that is not earlier. Steps also end at the
    /// bounds of the recorder. When `stop`, which is checked regularly, returns true, the interval
    /// and the run end.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if there would be more than 10⁸ intervals, [`RunError::Record`] with
    /// the recorder's error, or an error of [`Simulation::step`]; everything up to that time has
    /// been recorded.
    pub fn run<R: Recorder>(
        &mut self,
        every_s: f64,
        recorder: &mut R,
        stop: impl Fn() -> bool,
    ) -> Result<Outcome, RunError<R::Error>> {
        check_interval(&self.options, every_s)?;
        let mut before = Snapshot::of(self);
        // Start of the current piece, if it is not `before`.
        let mut piece: Option<Snapshot> = None;
        let mut recordings = (self.engine().time_s() / every_s + 1e-6).floor() as u64;
        while !self.is_done() {
            recordings += 1;
            // Recorded times are whole nanoseconds, so that a shorter interval at the end is
            // dropped.
            let end_s = self.options.duration_s;
            let due_s = match recordings as f64 * every_s {
                due_s if due_s > end_s - 1e-9 => f64::INFINITY,
                due_s => due_s,
            };
            let slack_s = 1e-9 * every_s;
            while let Some(bound_s) = recorder.next_checkpoint_s()
                && bound_s <= due_s
            {
                self.advance_to(bound_s, 0.0, bound_s, &stop)
                    .map_err(RunError::retype)?;
                if stop() {
                    break;
                }
                let now = Snapshot::of(self);
                let before = piece.as_ref().unwrap_or(&before);
                self.interval_delta(before, &now).emit(recorder);
                recorder.checkpoint(self).map_err(RunError::retype)?;
                piece = Some(now);
            }
            let limit_s = recorder.next_checkpoint_s().unwrap_or(f64::INFINITY);
            self.advance_to(due_s, slack_s, limit_s, &stop)
                .map_err(RunError::retype)?;
            // A step longer than the interval covers several intervals.
            recordings = recordings.max((self.engine().time_s() / every_s + 1e-6).floor() as u64);
            let now = Snapshot::of(self);
            let begun = piece.take();
            let begun = begun.as_ref().unwrap_or(&before);
            self.interval_delta(begun, &now).emit(recorder);
            recorder
                .interval(&self.interval_delta(&before, &now).interval())
                .map_err(RunError::Record)?;
            before = now;
            if stop() && !self.is_done() {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Runs until `time_s`, at most to the end of the duration, and passes the whole time to
    /// `recorder` as one interval. A step ends there.
    ///
    /// The packet model has then applied the events of that time, which the interval does not
    /// count; the fluid model has not. When `stop`, which is checked regularly, returns true, the
    /// interval ends. A time in the past has no effect.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn run_until<R: Recorder>(
        &mut self,
        time_s: f64,
        recorder: &mut R,
        stop: impl Fn() -> bool,
    ) -> Result<Outcome, RunError<R::Error>> {
        let before = Snapshot::of(self);
        let from_s = self.engine().time_s();
        self.advance_to(time_s, 1e-9 * (time_s - from_s).abs(), time_s, &stop)
            .map_err(RunError::retype)?;
        if self.engine().time_s() > from_s {
            let now = Snapshot::of(self);
            let between = self.interval_delta(&before, &now);
            between.emit(recorder);
            recorder
                .interval(&between.interval())
                .map_err(RunError::Record)?;
        }
        self.apply_events();
        if stop() && !self.is_done() {
            Ok(Outcome::Stopped)
        } else {
            Ok(Outcome::Finished)
        }
    }

    fn interval_delta<'a>(&'a self, before: &'a Snapshot, now: &'a Snapshot) -> IntervalDelta<'a> {
        IntervalDelta {
            simulation: self,
            before,
            now,
        }
    }

    /// Returns whether the duration has elapsed.
    pub fn is_done(&self) -> bool {
        self.engine().is_done()
    }

    /// Returns the number of steps so far; in the packet model, the number of arrivals at links.
    pub fn steps(&self) -> u64 {
        self.engine().steps()
    }

    /// Returns the shortest and longest chosen step so far in seconds; before the first step, the
    /// range of possible steps. (Starts, stops and events end steps early.) Returns `None` for
    /// the packet model, which is event-driven.
    pub fn step_range_s(&self) -> Option<(f64, f64)> {
        match &self.stepper {
            EngineKind::Fluid(fluid) => Some(fluid.step_range_s()),
            EngineKind::Packets(_) => None,
        }
    }

    /// Returns the shortest and longest possible step of a simulation in seconds, without its state; `None` for the packet
    /// model.
    ///
    /// # Errors
    /// As [`Simulation::new`] for the fluid model.
    pub fn possible_steps_s(
        network: Network,
        options: Options,
    ) -> Result<Option<(f64, f64)>, RunError> {
        match options.model {
            Model::Packets(_) => Ok(None),
            Model::Fluid(fluid) => {
                Fluid::possible_steps_s(network, options.duration_s, fluid).map(Some)
            }
        }
    }

    /// Returns the mutable state, which can be cloned, saved and resumed from. Returns `None` in
    /// the packet model: clone the simulation instead.
    pub fn state(&self) -> Option<&State> {
        match &self.stepper {
            EngineKind::Fluid(fluid) => Some(fluid.state()),
            EngineKind::Packets(_) => None,
        }
    }

    /// Returns the current number of packets in the link's queue, including the one in service.
    pub fn queue_pkts(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().queue_pkts(id)
    }

    /// Returns the probability that a packet arriving at the link now is dropped. If the queue has
    /// drop precedences, returns the probability that the packet finds it full; drops are in
    /// [`Run::precedence_totals`](netflow_network::Run::precedence_totals).
    pub fn blocking(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().blocking(id)
    }

    /// Returns the fraction of the last step for which the link was busy.
    pub fn utilization(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().utilization(id)
    }

    /// Returns the packets/s that the connection (all `count` of it) sent during the last step. In
    /// the packet model: the window divided by the round-trip time, or the packets in flight
    /// divided by it if there is nothing more to send.
    pub fn send_pps(&self, id: ConnectionId) -> f64 {
        id.within(self.owner());
        self.engine().send_pps(id)
    }

    /// Returns the nodes of the path that the connection's data takes from now on; empty while
    /// failures leave no path. (Packets in flight keep their path.)
    pub fn path(&self, id: ConnectionId) -> Vec<NodeId> {
        id.within(self.owner());
        let network = self.engine().network();
        let links = self.engine().path(id);
        let specs = links.iter().map(|&link| network.link_spec(link));
        let first = specs.clone().next().map(|spec| spec.from);
        first.into_iter().chain(specs.map(|spec| spec.to)).collect()
    }

    /// Returns the maximum number of packets in flight of a source with a congestion window; the
    /// largest of several.
    pub fn max_in_flight_pkts(&self, id: ConnectionId) -> Option<u32> {
        id.within(self.owner());
        self.engine().max_in_flight_pkts(id)
    }

    /// Explains the connection's current rate.
    pub fn explain(&self, id: ConnectionId) -> Explanation {
        id.within(self.owner());
        self.engine().explain(id)
    }
}
