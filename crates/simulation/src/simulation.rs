//! A network on its way through time.

use std::sync::Arc;
use std::time::Instant;

use netflow_fluid::{Fluid, State};
use netflow_network::readout::Engine;
use netflow_network::{
    ConnectionId, Explanation, LinkId, Model, Network, NodeId, Options, Owner, Recorder, RunError,
};
use netflow_packets::Packets;

use crate::interval::{Between, Mark};
use crate::period::Start;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the end of its duration.
    Finished,
    /// Earlier, because it was asked to.
    Stopped,
}

/// A network, options, and the state that moves: stepped by hand or run to its end.
///
/// The result has the same bits for any number of threads. Ids are those of its network: whatever
/// takes one panics if it is of another.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) options: Options,
    pub(crate) stepper: Stepper,
    /// What had happened when the period began that totals are of.
    pub(crate) start: Arc<Start>,
    /// The longest queues of all links in each period until the next began; those since the last began
    /// are with the engine.
    pub(crate) longest: Vec<Vec<f64>>,
    /// For how long packets are followed next until somebody may stop them.
    stretch_s: f64,
}

/// The two ways to move a network.
#[derive(Clone)]
pub(crate) enum Stepper {
    Fluid(Box<Fluid>),
    Packets(Box<Packets>),
}

/// Whether a run with these options can be recorded at this interval.
///
/// # Errors
/// [`RunError::BadOption`]: it is not positive, shorter than packets can tell, or makes too many intervals.
pub fn check_interval<E>(options: &Options, every_s: f64) -> Result<(), RunError<E>> {
    let intervals = options.duration_s / every_s;
    let reason = if every_s.is_nan() || every_s <= 0.0 {
        format!("it is {every_s} s, but must be positive")
    } else if matches!(options.model, Model::Packets(_)) && every_s < 1e-9 {
        format!("it is {every_s} s, but packets take whole nanoseconds")
    } else if intervals > MOST_INTERVALS {
        let least_s = options.duration_s / MOST_INTERVALS;
        format!(
            "it is {every_s} s, which makes {intervals:.3e} intervals; of at least {least_s} s it makes \
             no more than {MOST_INTERVALS:e}"
        )
    } else {
        return Ok(());
    };
    let option = "every";
    Err(RunError::BadOption { option, reason })
}

/// More intervals than these are not recorded: each costs a row of every link and every connection.
const MOST_INTERVALS: f64 = 1e8;

/// Somebody may stop packets about so often, in seconds by the clock.
const STOPPED_WITHIN_S: f64 = 0.1;
/// For how long packets are followed in between, in seconds of network time: at first, and at least and at
/// most.
const FIRST_STRETCH_S: f64 = 0.01;
const STRETCHES_S: std::ops::RangeInclusive<f64> = 1e-4..=1.0;

impl Simulation {
    /// A network at time 0: all queues empty.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options out of range or that exclude each other, and for a model
    /// that knows nothing of what the network has (a [`Source::Window`](netflow_network::Source::Window) with
    /// a fluid, say); [`RunError::TooLarge`] if it needs more memory than the network's builder
    /// allowed.
    pub fn new(network: Network, options: Options) -> Result<Simulation, RunError> {
        let (duration_s, seed) = (options.duration_s, options.seed);
        let stepper = match options.model {
            Model::Packets(packets) => {
                Stepper::Packets(Box::new(Packets::new(network, duration_s, seed, packets)?))
            }
            Model::Fluid(fluid) => {
                Stepper::Fluid(Box::new(Fluid::new(network, duration_s, seed, fluid)?))
            }
        };
        Ok(Simulation::of(options, stepper))
    }

    /// As many threads as this may follow packets at the same time, where that is worth it; one unless this
    /// is said. What it comes to does not depend on them. (A fluid takes what rayon's pool has.)
    pub fn set_threads(&mut self, threads: usize) {
        if let Stepper::Packets(packets) = &mut self.stepper {
            packets.set_threads(threads);
        }
    }

    fn of(options: Options, stepper: Stepper) -> Simulation {
        Simulation {
            options,
            stepper,
            start: Arc::default(),
            longest: Vec::new(),
            stretch_s: FIRST_STRETCH_S,
        }
    }

    /// A network in a state saved earlier: it goes on with the same bits as if it had never
    /// stopped.
    ///
    /// # Errors
    /// As [`Simulation::new`]; and [`RunError::BadOption`] if the state is not one of this
    /// network with these options, or the model is [`Model::Packets`], which has no states: its runs
    /// are resumed from a clone of the simulation. (`duration_s` and `seed` may be others than
    /// before.)
    pub fn resume(
        network: Network,
        options: Options,
        state: State,
    ) -> Result<Simulation, RunError> {
        let Model::Fluid(fluid) = options.model else {
            return Err(RunError::BadOption {
                option: "model",
                reason: "runs of the window model have no states to be resumed from; clone the \
                         simulation instead"
                    .to_owned(),
            });
        };
        let (duration_s, seed) = (options.duration_s, options.seed);
        let fluid = Fluid::resume(network, duration_s, seed, fluid, state)?;
        Ok(Simulation::of(options, Stepper::Fluid(Box::new(fluid))))
    }

    /// What moves it.
    pub fn engine(&self) -> &dyn Engine {
        match &self.stepper {
            Stepper::Fluid(fluid) => &**fluid,
            Stepper::Packets(packets) => &**packets,
        }
    }

    pub(crate) fn engine_mut(&mut self) -> &mut dyn Engine {
        match &mut self.stepper {
            Stepper::Fluid(fluid) => &mut **fluid,
            Stepper::Packets(packets) => &mut **packets,
        }
    }

    /// The mark of its network's ids.
    pub(crate) fn owner(&self) -> Owner {
        self.engine().network().tables().owner
    }

    pub(crate) fn stepper(&self) -> &Stepper {
        &self.stepper
    }

    /// Moves the network over one step; does nothing at the end of the duration.
    ///
    /// # Errors
    /// [`RunError::NotFinite`] if a queue is no number any more.
    pub fn step(&mut self) -> Result<(), RunError> {
        match &mut self.stepper {
            Stepper::Fluid(fluid) => fluid.step_until(f64::INFINITY)?,
            Stepper::Packets(packets) => packets.step()?,
        }
        self.apply_events();
        Ok(())
    }

    /// What happens to packets at this moment happens now, and not once time goes on; to fluids it happens in the next
    /// step.
    fn apply_events(&mut self) {
        if let Stepper::Packets(packets) = &mut self.stepper {
            packets.apply_events();
        }
    }

    /// Goes on until `time_s`: packets to the nanosecond, fluids to the end of the step that it lies in, so that recording
    /// intervals do not change steps; but never
    /// beyond `limit_s`, nor when it is told to stop. Events of that time are still to come: what a failure loses counts
    /// in the next interval.
    fn reach(
        &mut self,
        time_s: f64,
        slack_s: f64,
        limit_s: f64,
        stop: &impl Fn() -> bool,
    ) -> Result<(), RunError> {
        let fluid = match &mut self.stepper {
            Stepper::Fluid(fluid) => fluid,
            Stepper::Packets(packets) => {
                let end_s = time_s.min(limit_s).min(self.options.duration_s);
                while !packets.has_reached(end_s) && !stop() {
                    let (from_s, began) = (packets.time_s(), Instant::now());
                    packets.reach((from_s + self.stretch_s).min(end_s))?;
                    // Whatever stretches are, what comes out is the same.
                    let ratio = STOPPED_WITHIN_S / began.elapsed().as_secs_f64().max(1e-9);
                    let stretch_s = (packets.time_s() - from_s) * ratio.min(2.0);
                    self.stretch_s = stretch_s.clamp(*STRETCHES_S.start(), *STRETCHES_S.end());
                }
                return Ok(());
            }
        };
        while fluid.time_s() < time_s.min(limit_s) - slack_s && !fluid.is_done() && !stop() {
            fluid.step_until(limit_s)?;
        }
        Ok(())
    }

    /// Runs to the end of the duration, and hands what happened to `recorder` every `every_s`
    /// seconds (at the first end of a step from then on). Steps end at the bounds that the recorder
    /// names. When `stop` says so, which is asked again and again, the interval ends there, and the
    /// run.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if there would be more than 10⁸ intervals,
    /// [`RunError::Record`] with the recorder's error, or an error of [`Simulation::step`];
    /// everything up to that time has been recorded.
    pub fn run<R: Recorder>(
        &mut self,
        every_s: f64,
        recorder: &mut R,
        stop: impl Fn() -> bool,
    ) -> Result<Outcome, RunError<R::Error>> {
        check_interval(&self.options, every_s)?;
        let mut before = Mark::of(self);
        // Where the piece began that is under way, if that is not `before`.
        let mut piece: Option<Mark> = None;
        let mut recordings = (self.engine().time_s() / every_s + 1e-6).floor() as u64;
        while !self.is_done() {
            recordings += 1;
            // Recorded times are whole nanoseconds: no interval at the end is shorter.
            let end_s = self.options.duration_s;
            let due_s = match recordings as f64 * every_s {
                due_s if due_s > end_s - 1e-9 => f64::INFINITY,
                due_s => due_s,
            };
            let slack_s = 1e-9 * every_s;
            while let Some(bound_s) = recorder.next_bound_s()
                && bound_s <= due_s
            {
                self.reach(bound_s, 0.0, bound_s, &stop)
                    .map_err(RunError::retype)?;
                if stop() {
                    break;
                }
                let now = Mark::of(self);
                let before = piece.as_ref().unwrap_or(&before);
                self.between(before, &now).hand_to(recorder);
                recorder.bound(self).map_err(RunError::retype)?;
                piece = Some(now);
            }
            let limit_s = recorder.next_bound_s().unwrap_or(f64::INFINITY);
            self.reach(due_s, slack_s, limit_s, &stop)
                .map_err(RunError::retype)?;
            // A step longer than the interval covers several.
            recordings = recordings.max((self.engine().time_s() / every_s + 1e-6).floor() as u64);
            let now = Mark::of(self);
            let begun = piece.take();
            let begun = begun.as_ref().unwrap_or(&before);
            self.between(begun, &now).hand_to(recorder);
            recorder
                .interval(&self.between(&before, &now).interval())
                .map_err(RunError::Record)?;
            before = now;
            if stop() && !self.is_done() {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Goes on until `time_s`, at most to the end of the duration, and hands what happened meanwhile to
    /// `recorder` as one interval; a step ends there. Events of that time have then happened to packets, which the
    /// interval does not count, and are still to come for fluids. When `stop` says so, which is asked again and again,
    /// the interval ends there. At a time that is over nothing happens.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn run_until<R: Recorder>(
        &mut self,
        time_s: f64,
        recorder: &mut R,
        stop: impl Fn() -> bool,
    ) -> Result<Outcome, RunError<R::Error>> {
        let before = Mark::of(self);
        let from_s = self.engine().time_s();
        self.reach(time_s, 1e-9 * (time_s - from_s).abs(), time_s, &stop)
            .map_err(RunError::retype)?;
        if self.engine().time_s() > from_s {
            let now = Mark::of(self);
            let between = self.between(&before, &now);
            between.hand_to(recorder);
            recorder
                .interval(&between.interval())
                .map_err(RunError::Record)?;
        }
        self.apply_events();
        match stop() && !self.is_done() {
            true => Ok(Outcome::Stopped),
            false => Ok(Outcome::Finished),
        }
    }

    fn between<'a>(&'a self, before: &'a Mark, now: &'a Mark) -> Between<'a> {
        Between {
            simulation: self,
            before,
            now,
        }
    }

    /// Whether the duration is over.
    pub fn is_done(&self) -> bool {
        self.engine().is_done()
    }

    /// Steps taken so far; of packets, how many have arrived at links.
    pub fn steps(&self) -> u64 {
        self.engine().steps()
    }

    /// The shortest and the longest step in seconds that was chosen so far; before the first, those
    /// between which steps will be. (Starts, stops and events end steps early.) `None` where steps
    /// adapt, and of the window model, which takes what it needs.
    pub fn chosen_steps_s(&self) -> Option<(f64, f64)> {
        match &self.stepper {
            Stepper::Fluid(fluid) => Some(fluid.chosen_s()),
            Stepper::Packets(_) => None,
        }
    }

    /// How often the whole network was evaluated: once a step, three times an adaptive one.
    pub fn evaluations(&self) -> u64 {
        match &self.stepper {
            Stepper::Fluid(fluid) => fluid.evaluations(),
            Stepper::Packets(packets) => packets.steps(),
        }
    }

    /// Everything that changes: to be cloned, saved, and resumed from. `None` with the window
    /// model, whose runs are resumed from a clone of the simulation.
    pub fn state(&self) -> Option<&State> {
        match &self.stepper {
            Stepper::Fluid(fluid) => Some(fluid.state()),
            Stepper::Packets(_) => None,
        }
    }

    /// Packets in the link's queue now, the one in service included.
    pub fn queue_pkts(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().queue_pkts(id)
    }

    /// Probability that a packet arriving at the link now is refused; where the queue tells drop
    /// precedences apart, that it finds it full ([`Run::precedence_totals`](netflow_network::Run::precedence_totals) has the drops).
    pub fn blocking(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().blocking(id)
    }

    /// Fraction of the last step for which the link was busy.
    pub fn utilization(&self, id: LinkId) -> f64 {
        id.within(self.owner());
        self.engine().utilization(id)
    }

    /// Packets/s that the connection (all `count` of it) sent during the last step. Where packets are followed: its window over the
    /// round-trip time, or what is on its way over that where there is no more to send.
    pub fn send_pps(&self, id: ConnectionId) -> f64 {
        id.within(self.owner());
        self.engine().send_pps(id)
    }

    /// The nodes along which the connection's data is sent from now on; none while failures leave no way. (What is under
    /// way keeps to the path that it was sent on.)
    pub fn path(&self, id: ConnectionId) -> Vec<NodeId> {
        id.within(self.owner());
        let network = self.engine().network();
        let links = self.engine().path(id);
        let specs = links.iter().map(|&link| network.link_spec(link));
        let first = specs.clone().next().map(|spec| spec.from);
        first.into_iter().chain(specs.map(|spec| spec.to)).collect()
    }

    /// The most packets that it has had under way at a time, of sources with a congestion window; the most of several.
    pub fn most_out_pkts(&self, id: ConnectionId) -> Option<u32> {
        id.within(self.owner());
        self.engine().most_out_pkts(id)
    }

    /// Why the connection sends as fast as it does, now.
    pub fn explain(&self, id: ConnectionId) -> Explanation {
        id.within(self.owner());
        self.engine().explain(id)
    }
}
