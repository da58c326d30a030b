//! Playback of user sessions in the fluid models, over the recorded paths of the run.
//!
//! The mean traffic of users loads the network. Their response times are those of a TCP model over the
//! round-trip times and losses that the network had at the time.

use netflow_network::{
    ExplainedHop, Explanation, LinkId, LinkLoss, Network, ResponseEvent, ResponseTime, RunError,
    UserStats, WorkloadSpec, base_rtt_s, segment_bytes,
};
use netflow_tcpmodel::transfer_simulation::{Direction, Path, SessionRuns};
use netflow_units::{Bytes, Size};
use netflow_workload::Session;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Maximum number of paths kept, over all pairs of nodes and all times.
const MAX_PATH_SAMPLES: f64 = 1e6;
/// Sampling interval of the paths in seconds, at least.
const MIN_SAMPLING_INTERVAL_S: f64 = 0.1;
/// Number of sessions played in one batch.
const SESSIONS_PER_BATCH: usize = 1000;
/// Upper bound on the loss probability; above it, transfers do not finish in a relevant time.
const MAX_LOSS: f64 = 0.9;

/// Paths of all pairs of nodes at several times, in the order of workloads and pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathSamples {
    every_s: f64,
    next_s: f64,
    times_s: Vec<f64>,
    /// All pairs at the first time, then all at the second, and so on; each to the server and back.
    paths: Vec<Option<[PathDirection; 2]>>,
    pairs: usize,
}

/// One direction of a path, as packets experienced it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PathDirection {
    delay_s: f64,
    /// Loss probability that does not depend on the packet size.
    loss: f64,
    /// Bit error rate, which affects long packets more.
    #[serde(default)]
    bit_error_rate: f64,
    bandwidth_bps: f64,
    buffer_bytes: f64,
}

impl From<PathDirection> for Direction {
    fn from(way: PathDirection) -> Direction {
        Direction {
            delay_s: way.delay_s,
            loss: way.loss,
            bit_error_rate: way.bit_error_rate,
            bandwidth_bps: Some(way.bandwidth_bps),
            buffer: Some(Size::Bytes(Bytes(way.buffer_bytes))),
        }
    }
}

impl PathSamples {
    pub fn new(network: &Network, duration_s: f64) -> PathSamples {
        let pairs = network
            .tables()
            .workloads
            .iter()
            .map(|users| users.pairs.len());
        let pairs: usize = pairs.sum();
        PathSamples {
            every_s: MIN_SAMPLING_INTERVAL_S.max(duration_s * pairs as f64 / MAX_PATH_SAMPLES),
            next_s: 0.0,
            times_s: Vec::new(),
            paths: Vec::new(),
            pairs,
        }
    }

    /// Returns true if the next sample is due.
    pub fn is_due(&self, time_s: f64) -> bool {
        self.pairs > 0 && time_s >= self.next_s
    }

    /// Returns true if both have the same number of pairs.
    pub fn fits(&self, other: &PathSamples) -> bool {
        self.pairs == other.pairs && self.paths.len() == self.pairs * self.times_s.len()
    }

    /// Records the present paths of all pairs, with the random loss of links.
    pub fn record(
        &mut self,
        network: &Network,
        time_s: f64,
        explain: impl Fn(netflow_network::ConnectionId) -> Explanation,
        loss: impl Fn(LinkId) -> LinkLoss,
    ) {
        let users = network.tables().workloads.iter();
        let pairs = users.flat_map(|it| it.pairs.iter().map(|pair| (pair, &it.spec)));
        for (pair, workload) in pairs {
            let full_bits = 8.0 * workload.packet_size_bytes;
            let [to_server, to_client] = pair.map(|id| {
                let packet_bits = 8.0 * network.connection_spec(id).packet_size_bytes;
                direction(network, &explain(id), packet_bits, full_bits, &loss)
            });
            let path = to_server.zip(to_client);
            self.paths.push(path.map(|(there, back)| [there, back]));
        }
        self.times_s.push(time_s);
        self.next_s = time_s + self.every_s;
    }

    /// Returns the path of a pair at a time: the last sample until then. If failed links left no path, the
    /// next sample with a path is used, or else the last one.
    fn at(&self, pair: usize, time_s: f64) -> Option<Path> {
        let known = self.times_s.partition_point(|&t| t <= time_s).max(1);
        let at = |i: usize| self.paths.get(i * self.pairs + pair).copied().flatten();
        let later = (known - 1..self.times_s.len()).find_map(at);
        let [to_server, to_client] = later.or_else(|| (0..known - 1).rev().find_map(at))?;
        Some(Path {
            to_server: to_server.into(),
            to_client: to_client.into(),
        })
    }
}

/// Returns one direction of a path; `None` without a path. The slowest link is modelled with its transmission
/// time and its buffer. Other links add the delay of a packet of mean size.
fn direction(
    network: &Network,
    it: &Explanation,
    packet_bits: f64,
    full_bits: f64,
    loss: &impl Fn(LinkId) -> LinkLoss,
) -> Option<PathDirection> {
    let there = || it.hops.iter().filter(|hop| !hop.back);
    let overhead = |hop: &ExplainedHop| network.link_spec(hop.link).overhead;
    // In IP bits, because packet sizes are IP sizes.
    let carries_bps = |hop: &ExplainedHop| hop.bandwidth_bps / overhead(hop).factor(packet_bits);
    let slowest = there().min_by(|a, b| carries_bps(a).total_cmp(&carries_bps(b)))?;
    let slowest_bps = carries_bps(slowest);
    let transmissions_s: f64 = there().map(|hop| packet_bits / carries_bps(hop)).sum();
    let delays_s: f64 = there().map(|hop| hop.waiting_s + hop.propagation_s).sum();
    let onset = |hop: &ExplainedHop| loss(hop.link).error_onset();
    let ln_bits = there().map(|hop| overhead(hop).factor(packet_bits) * libm::log1p(-onset(hop)));
    let ln_bit: f64 = ln_bits.sum();
    let (loss, bit_error_rate) = split_loss(it.loss_probability, ln_bit, packet_bits, full_bits);
    Some(PathDirection {
        delay_s: delays_s + (transmissions_s - packet_bits / slowest_bps).max(0.0),
        loss,
        bit_error_rate,
        bandwidth_bps: slowest_bps,
        buffer_bytes: {
            let wire_bits = overhead(slowest).wire_bits(packet_bits);
            let room = network.buffer_limit(slowest.link).at(slowest_bps);
            room.pkts(wire_bits) * packet_bits / 8.0
        },
    })
}

/// Splits the loss probability `all` of packets of `packet_bits` into a part that does not depend on the size
/// and a bit error rate. `ln_bit` is ln(1 − bit error rate). Both parts are reduced so that at least 1 in 10
/// packets of `full_bits` arrive.
fn split_loss(all: f64, ln_bit: f64, packet_bits: f64, full_bits: f64) -> (f64, f64) {
    let least = libm::log1p(-MAX_LOSS);
    let ln_all = libm::log1p(-all).max(least);
    let ln_bit = ln_bit.max(ln_all / packet_bits);
    let ln_packet = (ln_all - packet_bits * ln_bit).min(0.0);
    let ln_full = ln_packet + full_bits * ln_bit;
    let most = if ln_full < least {
        least / ln_full
    } else {
        1.0
    };
    (-libm::expm1(most * ln_packet), -libm::expm1(most * ln_bit))
}

/// Returns the experience of users that arrive in a time interval (s), with their complete sessions. No
/// sessions begin after `interrupted` returns true.
pub(crate) fn experiences(
    network: &Network,
    paths: &PathSamples,
    seed: u64,
    (from_s, until_s): (f64, f64),
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<UserStats>, RunError> {
    let mut first_pair = 0;
    let mut all = Vec::new();
    let seeds = network.workload_seeds(seed);
    for (users, seed) in network.tables().workloads.iter().zip(seeds) {
        let rtts_s: Vec<f64> = users
            .pairs
            .iter()
            .map(|pair| base_rtt_s(network, pair[0]))
            .collect();
        let player = SessionPlayer {
            session_runs: new_session_runs(&users.spec),
            seed,
            paths,
            first_pair,
            rtts_s,
        };
        let mut arrivals = users
            .spec
            .arrivals(seed)
            .skip_while(|session| session.start_s < from_s)
            .take_while(|session| session.start_s < until_s);
        let mut experience = UserStats::default();
        loop {
            let sessions: Vec<Session> = arrivals.by_ref().take(SESSIONS_PER_BATCH).collect();
            if sessions.is_empty() {
                break;
            }
            let played: Result<Vec<Option<SessionResult>>, RunError> = sessions
                .par_iter()
                .map(|session| {
                    if interrupted() {
                        Ok(None)
                    } else {
                        player.play(session).map(Some)
                    }
                })
                .collect();
            experience.arrived += sessions.len() as u64;
            for visit in played?.into_iter().flatten() {
                experience.finished += u64::from(visit.is_complete);
                experience.waits.extend(visit.response_times);
            }
        }
        all.push(experience);
        first_pair += users.pairs.len();
    }
    Ok(all)
}

fn new_session_runs(spec: &WorkloadSpec) -> SessionRuns {
    SessionRuns {
        stack: spec.stack.clone(),
        mss_bytes: segment_bytes(spec.packet_size_bytes),
        service_s: 0.0,
    }
}

struct SessionPlayer<'a> {
    session_runs: SessionRuns,
    seed: u64,
    paths: &'a PathSamples,
    first_pair: usize,
    rtts_s: Vec<f64>,
}

/// Experience of the user of one session.
struct SessionResult {
    response_times: Vec<ResponseTime>,
    /// True if all requests were answered.
    is_complete: bool,
}

impl SessionPlayer<'_> {
    fn play(&self, session: &Session) -> Result<SessionResult, RunError> {
        let pair = (session.number % self.rtts_s.len().max(1) as u64) as usize;
        let nowhere = Direction {
            delay_s: 0.0,
            loss: 0.0,
            bit_error_rate: 0.0,
            bandwidth_bps: None,
            buffer: None,
        };
        let path_at = |time_s: f64| {
            let path = self.paths.at(self.first_pair + pair, time_s);
            path.unwrap_or(Path {
                to_server: nowhere,
                to_client: nowhere,
            })
        };
        let sessions = std::slice::from_ref(session);
        let played = self
            .session_runs
            .simulate(sessions, self.seed, path_at)
            .map_err(|error| RunError::BadOption {
                option: "workload",
                reason: error.to_string(),
            })?;
        let waits = played.response_times;
        let rtt_s = self.rtts_s.get(pair).copied().unwrap_or(f64::NAN);
        let rows = ResponseEvent::ALL.into_iter().flat_map(|kind| {
            waits.of(kind).iter().map(move |&wait_s| ResponseTime {
                user: session.number,
                arrival_s: session.start_s,
                kind,
                wait_s,
                rtt_s,
            })
        });
        Ok(SessionResult {
            response_times: rows.collect(),
            is_complete: played.given_up == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LOSS, split_loss};
    use netflow_network::HEADER_BYTES;

    /// Two links lose 2 % of all packets and, by bit errors, 8 % of full ones. An acknowledgement is exposed
    /// to the first loss and to its share of the second.
    #[test]
    fn bit_errors_affect_small_packets_less() {
        let ln_bit = (1.0_f64 - 0.08).ln() / 8000.0;
        let (loss, rate) = split_loss(1.0 - 0.98 * 0.92, ln_bit, 8000.0, 8000.0);
        assert!((loss - 0.02).abs() < 1e-12, "{loss}");
        let arrives = (1.0 - rate).powf(8.0 * HEADER_BYTES);
        assert!((arrives - 0.92_f64.powf(0.04)).abs() < 1e-12, "{arrives}");
    }

    #[test]
    fn one_in_ten_packets_always_arrives() {
        for (all, ln_bit) in [
            (1.0, f64::NEG_INFINITY),
            (1.0, -1e-4),
            (1.0, 0.0),
            (0.95, -1.0),
        ] {
            // Requests are smaller than full packets.
            for packet_bits in [3000.0, 8000.0] {
                let (loss, rate) = split_loss(all, ln_bit, packet_bits, 8000.0);
                let arrives = (1.0 - loss) * (1.0 - rate).powf(8000.0);
                assert!(
                    (arrives - (1.0 - MAX_LOSS)).abs() < 1e-9,
                    "{all} {ln_bit}: {arrives}"
                );
            }
        }
    }
}
