//! Interface of the packet simulation: time in seconds, events and counters.

#[cfg(test)]
mod control_tests;
mod controls;
mod readout;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use netflow_network::engine::Engine as _;
use netflow_network::{
    ClassInterval, ClassNumbers, ConnectionId, ControlState, LinkId, Network, PacketOptions,
    RunError, Source, TcpVariant, UserStats,
};

use crate::endpoint::delay_histograms::Delays;
use crate::endpoint::sender::window_limit;
use crate::endpoint::transfer::Transfer;
use crate::engine::Engine;
use crate::link::edge_marker::UPDATE_NS;
use crate::ns;
use crate::topology::HopSpec;

/// Packet simulation of a network.
#[derive(Clone)]
pub struct Packets {
    duration_s: f64,
    options: PacketOptions,
    engine: Engine,
    /// First transfer of each connection.
    first_transfer: Vec<u32>,
    /// Data packets of each transfer in queues and in flight at present, once computed.
    in_network: OnceLock<Vec<(u32, u32)>>,
}

/// State at the start of a period, of quantities that only the packet model has.
#[derive(Debug, Default)]
pub struct PeriodStart {
    /// Number of intervals of arrival counts that had ended.
    intervals: u64,
    /// By link: number of packets in these intervals, and sum of the squares of the numbers.
    arrivals: Vec<(u64, u128)>,
    delays: Vec<Delays>,
    /// By workload: numbers of sessions that had arrived and left, and of completed waits.
    users: Vec<(u64, u64, usize)>,
}

impl Packets {
    /// Returns a network at time 0 with empty queues.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options out of range, [`RunError::TooLarge`] if it needs more memory than
    /// the network's builder allowed.
    pub fn new(
        network: Network,
        duration_s: f64,
        seed: u64,
        options: PacketOptions,
    ) -> Result<Packets, RunError> {
        let bad = |option, reason: String| Err(RunError::BadOption { option, reason });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(duration_s) || duration_s > 1e9 {
            let is = duration_s;
            return bad("duration", format!("it is {is} s, but must be positive"));
        }
        let moments = [
            ("duration", duration_s),
            ("burstiness-interval", options.burstiness_interval_s),
        ];
        for (option, time_s) in moments {
            if positive(time_s) && ns(time_s) == 0 {
                return bad(option, invalid_time_message(time_s));
            }
        }
        if !positive(options.step_s) {
            let is = options.step_s;
            return bad("step", format!("it is {is} s, but must be positive"));
        }
        if !positive(options.burstiness_interval_s) {
            let is = options.burstiness_interval_s;
            return bad(
                "burstiness-interval",
                format!("it is {is} s, but must be positive"),
            );
        }
        let needed = needed_bytes(&network);
        let allowed_bytes = network.tables().memory_limit_bytes;
        check_memory(needed, allowed_bytes)?;
        let mut first_transfer = vec![0; network.connection_count()];
        let set = vec![ControlState::default(); network.tables().controllable.len()];
        let engine = Engine::new(network, seed, ns(options.burstiness_interval_s), set);
        let mut next = 0;
        for &connection in &engine.tie_break.connections {
            first_transfer[connection as usize] = next;
            next += engine.network.tables().connections[connection as usize].count;
        }
        Ok(Packets {
            engine,
            duration_s,
            options,
            first_transfer,
            in_network: OnceLock::new(),
        })
    }

    /// Sets the maximum number of threads, which is limited by memory. Fewer are used if that is faster. The
    /// result is the same.
    pub fn set_threads(&mut self, threads: usize) {
        let network = self.network();
        let most = max_threads(needed_bytes(network), network.tables().memory_limit_bytes);
        let threads = threads.clamp(1, most);
        if std::mem::replace(&mut self.engine.partitions.threads, threads) > threads {
            self.engine.discard_partitions();
        }
    }

    /// Applies the events of the current time now, and not at the next step.
    pub fn apply_events(&mut self) {
        self.engine.apply_events();
        self.in_network = OnceLock::new();
    }

    /// Runs one step of the configured length.
    pub fn step(&mut self) -> Result<(), RunError> {
        self.run_until(self.engine.now_ns() + ns(self.options.step_s).max(1))
    }

    /// Advances to `time_s`, to the nanosecond, but at most to the end of the run. Events at that time are
    /// not applied yet.
    pub fn reach(&mut self, time_s: f64) -> Result<(), RunError> {
        self.run_until(ns(time_s))
    }

    /// Returns true if the simulation has reached `time_s`, to the nanosecond.
    pub fn has_reached(&self, time_s: f64) -> bool {
        self.engine.now_ns() >= ns(time_s)
    }

    fn run_until(&mut self, end_ns: u64) -> Result<(), RunError> {
        let end_ns = end_ns.min(ns(self.duration_s));
        self.in_network = OnceLock::new();
        while self.engine.now_ns() < end_ns {
            self.engine.apply_events();
            let event_ns = self.engine.next_event_ns().unwrap_or(u64::MAX);
            let told_ns = if self.network().tables().aggregates.is_empty() {
                u64::MAX
            } else {
                (self.engine.now_ns() / UPDATE_NS + 1) * UPDATE_NS
            };
            let until_ns = end_ns.min(event_ns).min(told_ns);
            self.engine.run_until(until_ns);
            if self.engine.now_ns() == told_ns {
                self.engine.exchange_rtts();
            }
        }
        // The number of simultaneous sessions is not known in advance.
        let sessions = self.engine.slots() as f64 * SESSION_BYTES;
        let allowed_bytes = self.network().tables().memory_limit_bytes;
        check_memory(sessions, allowed_bytes)
    }

    /// Returns the number of intervals that have ended.
    fn intervals(&self) -> u64 {
        self.engine.now_ns() / ns(self.options.burstiness_interval_s)
    }

    /// Returns the number of packets that have arrived at a link in intervals that have ended, and the sum of
    /// the squares of these numbers.
    fn arrivals(&self, l: usize) -> (u64, u128) {
        let all = self.engine.link_counts(l).offered();
        self.engine.links[l]
            .arrivals
            .completed_intervals(self.engine.now_ns(), all)
    }

    /// Returns the fraction of each precedence in the data of a connection; DP2 without an aggregate.
    pub fn marking_of(&self, id: ConnectionId) -> [f64; 3] {
        match self.network().tables().aggregate_of(id.index() as u32) {
            Some(aggregate) => self.engine.edge_markers[aggregate as usize].marking(),
            None => [0.0, 0.0, 1.0],
        }
    }

    /// Returns the present state, for a period that starts now.
    pub fn period_start(&self) -> PeriodStart {
        let classes = self.engine.sessions.classes.iter();
        PeriodStart {
            intervals: self.intervals(),
            arrivals: (0..self.engine.links.len())
                .map(|l| self.arrivals(l))
                .collect(),
            delays: self.engine.delays.clone(),
            users: classes
                .map(|class| (class.arrived, class.finished, class.response_times.len()))
                .collect(),
        }
    }

    /// Returns the coefficient of variation of the number of packets in an interval, over the intervals since
    /// `start`.
    pub fn arrival_cov(&self, id: LinkId, start: &PeriodStart) -> Option<f64> {
        let (pkts, squares) = self.arrivals(id.index());
        let before = start.arrivals.get(id.index()).copied().unwrap_or_default();
        let intervals = u128::from(self.intervals() - start.intervals);
        let pkts = u128::from(pkts - before.0);
        let off_squares = intervals * (squares - before.1) - pkts * pkts;
        (pkts > 0).then(|| (off_squares as f64).sqrt() / pkts as f64)
    }

    /// Returns the delays of a connection's packets since `start`.
    pub fn delays_since(&self, id: ConnectionId, start: &PeriodStart) -> Delays {
        let now = &self.engine.delays[id.index()];
        match start.delays.get(id.index()) {
            Some(before) => now.since(before),
            None => now.clone(),
        }
    }

    /// Returns the number of packets that the applications made. For a profiled source, it is the mean
    /// number.
    fn generated_pkts(&self, id: ConnectionId) -> Option<f64> {
        let spec = self.network().connection_spec(id);
        let on_average = spec.generated_pkts_until(self.time_s())?;
        let each: Option<u64> = self.transfers(id).map(Transfer::generated).sum();
        // Profiled sources do not count packets of their applications, which generate at least the delivered packets.
        let least: u64 = self.transfers(id).map(|t| t.receiver.delivered).sum();
        Some(each.map_or(on_average.max(least as f64), |pkts| pkts as f64))
    }

    /// Returns the numbers of losses found by retransmission timers and by duplicate acknowledgements.
    fn detected_losses(&self, id: ConnectionId) -> Option<[f64; 2]> {
        let each = self.transfers(id).map(Transfer::detected_losses);
        each.fold(None, |sum, found| {
            let [timeouts, fast] = sum.unwrap_or_default();
            found.map(|(t, f)| [timeouts + t as f64, fast + f as f64])
        })
    }

    /// Returns the times in seconds outside the profile's domain, too far outside to be usable, and active in
    /// total.
    fn outside_s(&self, id: ConnectionId) -> [f64; 3] {
        let each = self.transfers(id).map(Transfer::outside_ns);
        let sum = each.fold([0; 3], |sum: [u64; 3], more| {
            std::array::from_fn(|i| sum[i] + more[i])
        });
        sum.map(|ns| ns as f64 * 1e-9)
    }

    /// Returns the mean and the last completion time of the transfers in seconds; `None` while one is not
    /// complete.
    fn finished_s(&self, id: ConnectionId) -> Option<[f64; 2]> {
        let ends = self.transfers(id).map(|t| t.receiver.finished_ns);
        let ends = ends.collect::<Option<Vec<u64>>>()?;
        let sum: u128 = ends.iter().map(|&ns| u128::from(ns)).sum();
        let last = *ends.iter().max()?;
        Some([sum as f64 / ends.len() as f64, last as f64].map(|ns| ns / 1e9))
    }

    /// Returns the experience of users since `start`, by workload.
    pub fn user_stats(&self, start: &PeriodStart) -> Vec<UserStats> {
        let classes = self.engine.sessions.classes.iter().enumerate();
        classes
            .map(|(w, class)| {
                let (came, gone, over) = start.users.get(w).copied().unwrap_or_default();
                let mut waits = class
                    .response_times
                    .get(over..)
                    .unwrap_or_default()
                    .to_vec();
                // In order of arrival, and for each user in order of completion.
                waits.sort_by_key(|wait| wait.user);
                UserStats {
                    arrived: class.arrived - came,
                    finished: class.finished - gone,
                    waits,
                }
            })
            .collect()
    }

    /// Returns the number of data packets that have arrived at every hop of every path.
    pub fn arrivals_at_hops(&self) -> Vec<u64> {
        self.engine
            .data_hops()
            .map(|(_, arrived)| arrived)
            .collect()
    }

    /// Returns for every link the connections whose data crosses it. `before` has the arrivals at hops
    /// `length_s` seconds ago.
    pub fn classes(&self, before: &[u64], length_s: f64) -> Vec<ClassInterval> {
        let mut classes: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        let connection =
            |hop: &HopSpec| self.engine.transfer(hop.transfer as usize).ends.connection;
        for (i, (hop, arrived)) in self.engine.data_hops().enumerate() {
            let arrived = arrived - before.get(i).copied().unwrap_or(0);
            let class = classes.entry((hop.link, connection(hop))).or_default();
            class.0 += arrived as f64;
        }
        self.engine.for_each_in_network(|hop, queued| {
            if let Some(class) = classes.get_mut(&(hop.link, connection(hop)))
                && queued
                && !hop.is_ack
            {
                class.1 += 1.0;
            }
        });
        let owner = self.network().tables().owner;
        let interval = |((link, connection), (arrived, queue_pkts))| ClassInterval {
            link: LinkId::new(link, owner),
            connection: ConnectionId::new(connection, owner),
            numbers: ClassNumbers {
                queue_pkts,
                arrival_pps: arrived / length_s,
            },
        };
        classes.into_iter().map(interval).collect()
    }

    /// Returns the numbers of a connection's transfers.
    fn transfer_indices(&self, id: ConnectionId) -> impl Iterator<Item = usize> {
        let i = id.index();
        let first = self.first_transfer[i];
        let count = self.network().tables().connections[i].count;
        let first = first as usize..(first + count) as usize;
        let more = self
            .engine
            .sessions
            .added_transfers
            .get(i)
            .into_iter()
            .flatten();
        first.chain(more.map(|&t| t as usize))
    }

    fn transfers(&self, id: ConnectionId) -> impl Iterator<Item = &Transfer> {
        self.transfer_indices(id).map(|i| self.engine.transfer(i))
    }
}

fn check_memory(needed: f64, allowed_bytes: u64) -> Result<(), RunError> {
    if needed > allowed_bytes as f64 {
        Err(RunError::TooLarge {
            needed_bytes: needed as u64,
            allowed_bytes,
        })
    } else {
        Ok(())
    }
}

/// Returns the approximate memory of transfers and their paths in bytes. Packets in flight need more.
fn needed_bytes(network: &Network) -> f64 {
    const TRANSFER_BYTES: f64 = 1500.0;
    const HOP_BYTES: f64 = 200.0;
    // Two histograms; usually they take 20 % of this.
    const CONNECTION_BYTES: f64 = 30_000.0;
    let each = network.connections().map(|id| {
        let spec = network.connection_spec(id);
        let paths = network.paths(id).iter();
        // Both directions. The present path is one of the paths that may be set.
        let set: usize = paths.map(|nodes| 2 * nodes.len()).sum();
        let hops = set.max(network.path(id).len() + network.return_path(id).len());
        let window = window_limit(spec).min(1e7);
        // The receiver has a bit for every packet of two windows; Vegas has two numbers.
        let of_window = match spec.source {
            Source::Ns2Tcp(w) if w.variant == TcpVariant::Vegas => 13.0 * window,
            Source::Ns2Tcp(_) | Source::Users(_) => 0.5 * window,
            // State of every packet in flight, rarely as many.
            Source::Tcp(_) => 80.0 * window.min(1000.0),
            _ => 0.0,
        };
        CONNECTION_BYTES
            + f64::from(spec.count) * (TRANSFER_BYTES + HOP_BYTES * hops as f64 + of_window)
    });
    each.sum()
}

/// Fractions of the precedences of acknowledgements: all are DP0.
pub const ACK_PRECEDENCES: [f64; 3] = [1.0, 0.0, 0.0];

/// Maximum memory of a partition, as a fraction of the whole network.
const PARTITION_MEMORY_FRACTION: f64 = 0.5;

/// Returns the number of threads for which there is memory, each with its partition.
fn max_threads(needed: f64, allowed_bytes: u64) -> usize {
    let spare = (allowed_bytes as f64 / needed.max(1.0) - 1.0).max(0.0);
    (1.0 + spare / PARTITION_MEMORY_FRACTION) as usize
}

/// Approximate memory of a session slot in bytes.
const SESSION_BYTES: f64 = 20_000.0;

fn invalid_time_message(time_s: f64) -> String {
    format!("it is {time_s} s, but the packet model uses whole nanoseconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fit_into_memory() {
        assert_eq!(max_threads(100.0, 100), 1);
        assert_eq!(max_threads(100.0, 151), 2);
        assert_eq!(max_threads(0.0, u64::MAX).clamp(1, 8), 8);
    }
}
