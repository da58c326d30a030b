//! Samples of k consecutive packets of a sender.

use std::collections::VecDeque;

use netflow_profile::fit::{FlowSamples, Sample};

use super::{Observation, Options, Senders};
use crate::Event;

/// Splits the packets of one sender into samples of k consecutive packets (\[Prof\] §2.1).
///
/// A sample's throughput is k over the time until the next packet after it, so the samples of a flow
/// cover its time without gaps. Its round-trip time is the mean over its packets with a known one. A
/// sample is emitted when all its packets are acknowledged. Samples during which the clock was set back
/// are discarded.
#[derive(Debug)]
pub struct Sampler {
    k: u32,
    sent_pkts: u64,
    /// Index of the first window.
    first_window: u64,
    /// Complete windows with unacknowledged packets.
    windows: VecDeque<CompleteWindow>,
    /// Window that is being filled, after the complete ones.
    current_window: Option<Window>,
    last_rtt_s: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct CompleteWindow {
    window: Window,
    /// Time of the first packet after the window, and the highest position at that time.
    end_ns: i64,
    high: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start_ns: i64,
    resent_pkts: u32,
    spurious_pkts: u32,
    rtts: u32,
    rtt_sum_s: f64,
    /// True if the clock was set back within the window.
    clock_set_back: bool,
}

/// Maximum number of windows that wait for acknowledgements. In traces without acknowledgements, the
/// oldest are then emitted.
const MAX_PENDING_WINDOWS: usize = 4096;

impl Sampler {
    /// Creates a sampler of `k` packets per sample, at least 1.
    pub fn new(k: u32) -> Sampler {
        Sampler {
            k: k.max(1),
            sent_pkts: 0,
            first_window: 0,
            windows: VecDeque::new(),
            current_window: None,
            last_rtt_s: None,
        }
    }

    /// Processes an observation of the sender, and passes complete samples to `emit`.
    pub fn on_observation(&mut self, observation: &Observation, mut emit: impl FnMut(Sample)) {
        if observation.clock_set_back {
            let waiting = self.windows.iter_mut().map(|full| &mut full.window);
            (waiting.chain(&mut self.current_window))
                .for_each(|window| window.clock_set_back = true);
        }
        self.record_sent(observation);
        if let Some(rtt_s) = observation.rtt_s {
            let window =
                (observation.rtt_ordinal / u64::from(self.k)).checked_sub(self.first_window);
            if let Some(window) = window.and_then(|at| self.window(at)) {
                window.rtts += 1;
                window.rtt_sum_s += rtt_s;
            }
        }
        if let Some(window) = self.window(0) {
            window.spurious_pkts += observation.spurious_pkts;
        }
        while let Some(&full) = self.windows.front() {
            if observation.acked < full.high && self.windows.len() < MAX_PENDING_WINDOWS {
                return;
            }
            self.windows.pop_front();
            self.first_window += 1;
            if let Some(sample) = self.sample(&full.window, full.end_ns) {
                emit(sample);
            }
        }
    }

    /// Returns the window with offset `at` from the first.
    fn window(&mut self, at: u64) -> Option<&mut Window> {
        match usize::try_from(at).ok()? {
            at if at == self.windows.len() => self.current_window.as_mut(),
            at => self.windows.get_mut(at).map(|full| &mut full.window),
        }
    }

    fn record_sent(&mut self, observation: &Observation) {
        let mut resent_pkts = observation.resent_pkts;
        for _ in 0..observation.sent_pkts {
            if self.sent_pkts.is_multiple_of(u64::from(self.k)) {
                let next = Window {
                    start_ns: observation.time_ns,
                    ..Window::default()
                };
                if let Some(window) = self.current_window.replace(next) {
                    self.windows.push_back(CompleteWindow {
                        window,
                        end_ns: observation.time_ns,
                        high: observation.high,
                    });
                }
            }
            self.sent_pkts += 1;
            if let Some(window) = self.current_window.as_mut().filter(|_| resent_pkts > 0) {
                window.resent_pkts += 1;
                resent_pkts -= 1;
            }
        }
    }

    /// Returns the sample of a window; `None` if no round-trip time is known yet.
    fn sample(&mut self, window: &Window, end_ns: i64) -> Option<Sample> {
        if window.clock_set_back {
            return None;
        }
        if window.rtts > 0 {
            self.last_rtt_s = Some(window.rtt_sum_s / f64::from(window.rtts));
        }
        Some(Sample {
            time_s: end_ns as f64 * 1e-9,
            duration_s: (end_ns - window.start_ns) as f64 * 1e-9,
            pkts: self.k,
            resent_pkts: window.resent_pkts,
            spurious_pkts: window.spurious_pkts,
            rtt_s: self.last_rtt_s?,
        })
    }
}

/// Samples of every sender in a trace.
#[derive(Debug)]
pub struct Samplers {
    senders: Senders,
    k: u32,
    /// Samplers and their samples, in the order of the senders.
    flows: Vec<(Sampler, Vec<Sample>)>,
}

impl Samplers {
    /// Creates samplers of `k` packets per sample.
    pub fn new(options: Options, k: u32) -> Samplers {
        Samplers {
            senders: Senders::new(options),
            k,
            flows: Vec::new(),
        }
    }

    /// Processes the next event.
    pub fn on_event(&mut self, event: &Event) {
        let (flows, k) = (&mut self.flows, self.k);
        self.senders.on_event_with_index(event, |place, _, seen| {
            if place >= flows.len() {
                flows.resize_with(place + 1, || (Sampler::new(k), Vec::new()));
            }
            if let Some((sampler, samples)) = flows.get_mut(place) {
                sampler.on_observation(seen, |sample| samples.push(sample));
            }
        });
    }

    /// Returns the senders of the samples.
    pub fn senders(&self) -> &Senders {
        &self.senders
    }

    /// Returns the samples of every flow with the sender's view, in the order of their first packets.
    /// Flows without a sample are included.
    pub fn finish(self, trace: &str) -> Vec<FlowSamples> {
        let Samplers { senders, flows, .. } = self;
        let mut samples = flows.into_iter().map(|(_, samples)| samples);
        let mut found = Vec::new();
        for (flow, tracker) in senders.flows() {
            // A flow without observations has no sampler.
            let samples = samples.next().unwrap_or_default();
            if senders.is_sender(flow) {
                found.push(FlowSamples {
                    trace: trace.to_owned(),
                    flow: flow.to_string(),
                    rtt_method: tracker.rtt_method().name().to_owned(),
                    samples,
                });
            }
        }
        found
    }
}
