//! Simulation of user sessions, each over one persistent connection, with requests, replies and pauses.
//!
//! The connection keeps window, slow-start threshold and measured round-trip times from one page to the
//! next. After a pause, the window shrinks by the rules of the stack (RFC 5681, 4.1; RFC 2861).

use std::collections::VecDeque;

use netflow_units::{Size, ns};
use netflow_workload::{Exchange, ResponseEvent, ResponseTimes, Session, SessionStateMachine};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{
    check::check_session,
    connection::{Connection, HEADER_BYTES, LISTENER, Notification, OPENER},
    loss_model::IndependentLosses,
    path::LinkDirection,
};
use crate::tcp::NEVER;
use crate::{Error, Stack, error::ensure};

/// A path between clients and servers, with both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The direction of requests.
    pub to_server: Direction,
    /// The direction of replies.
    pub to_client: Direction,
}

/// One direction of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// The propagation delay in seconds; at least 0.
    pub delay_s: f64,
    /// The loss probability of a packet, in [0, 0.9].
    pub loss: f64,
    /// The bit error rate, at least 0; a packet with a wrong bit is lost. Its maximum is the rate that
    /// loses 0.9 of full packets.
    pub bit_error_rate: f64,
    /// The bandwidth in bit/s; `None` without transmission times.
    pub bandwidth_bps: Option<f64>,
    /// The buffer size above 0, the packet in service included; `None` without a limit.
    pub buffer: Option<Size>,
}

/// The results of simulated sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionResults {
    /// The response times of the users.
    pub response_times: ResponseTimes,
    /// The number of incomplete sessions. Their connection was given up after 15 consecutive timeouts
    /// without an answer (RFC 1122, 4.2.3.5; as in Linux).
    pub given_up: u64,
}

/// The number of consecutive timeouts without an answer after which a connection is given up.
const MAX_UNACKED_TIMEOUTS: u32 = 15;

/// Sessions of users with the same stack at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRuns {
    /// The stack.
    pub stack: Stack,
    /// The maximum payload of a packet in bytes; at least 1.
    pub mss_bytes: u32,
    /// The service time of a request, from its last byte to the first byte of the reply, in seconds; at
    /// least 0.
    pub service_s: f64,
}

impl SessionRuns {
    /// Simulates sessions, each over its own connection and with its own random stream, so the result does
    /// not depend on the number of threads. `path_at` returns the path at a time in seconds. It is called
    /// at the beginning of each page or keystroke.
    ///
    /// # Errors
    ///
    /// A number of the stack or of the path is outside its allowed range, or a session needs more than
    /// 10 million segments.
    pub fn simulate(
        &self,
        sessions: &[Session],
        seed: u64,
        path_at: impl Fn(f64) -> Path + Sync,
    ) -> Result<SessionResults, Error> {
        self.stack.check()?;
        let mss_bytes = f64::from(self.mss_bytes);
        ensure(self.mss_bytes >= 1, "mss in B", mss_bytes, "1 or more")?;
        let service = (0.0..=1e6).contains(&self.service_s);
        ensure(service, "service time in s", self.service_s, "0 to 1e6")?;
        let of_each: Vec<Result<SessionResults, Error>> = sessions
            .par_iter()
            .map(|session| self.simulate_one(session, seed, &path_at))
            .collect();
        let mut all = SessionResults::default();
        for played in of_each {
            let played = played?;
            all.response_times.extend(played.response_times);
            all.given_up += played.given_up;
        }
        Ok(all)
    }

    fn simulate_one(
        &self,
        session: &Session,
        seed: u64,
        path_at: impl Fn(f64) -> Path,
    ) -> Result<SessionResults, Error> {
        check_session(session, self.mss_bytes)?;
        let path = path_at(session.start_s);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(session.number);
        let mut losses = IndependentLosses::new(rng, [0.0, 0.0]);
        let directions = [path.to_server, path.to_client]
            .map(|direction| LinkDirection::new(direction.delay_s, direction.bandwidth_bps));
        let connection = Connection::new(&self.stack, self.mss_bytes, directions, &mut losses);
        let mut run = SessionRun::new(session, connection, self);
        run.set_path(path)?;
        run.run(path_at)
    }
}

/// A running session. Times are in nanoseconds since its start.
struct SessionRun<'a, R: rand::Rng> {
    user: SessionStateMachine<u64>,
    connection: Connection<'a, IndependentLosses<R>>,
    /// The start of the next turn; `NEVER` if it is not determined yet.
    next_turn_ns: u64,
    /// Requests without complete replies, in order.
    outstanding: VecDeque<OutstandingRequest>,
    /// The number of requests that have completely arrived at the server.
    replies_started: usize,
    service_ns: u64,
    full_bytes: f64,
    /// Replies that the server will write: time and bytes.
    replies: VecDeque<(u64, u64)>,
    /// The total bytes of requests and of replies, all outstanding ones included.
    bytes: [u64; 2],
    response_times: ResponseTimes,
}

/// An outstanding request, and its reply.
struct OutstandingRequest {
    reply_bytes: u64,
    /// The end of the request, in bytes of all requests delivered.
    request_end: u64,
    /// The end of the reply, in bytes of all replies delivered.
    reply_end: u64,
}

impl<'a, R: rand::Rng> SessionRun<'a, R> {
    fn new(
        session: &Session,
        connection: Connection<'a, IndependentLosses<R>>,
        rules: &SessionRuns,
    ) -> Self {
        Self {
            user: SessionStateMachine::new(session.clone()),
            connection,
            next_turn_ns: NEVER,
            outstanding: VecDeque::new(),
            replies_started: 0,
            service_ns: ns(rules.service_s),
            full_bytes: HEADER_BYTES + f64::from(rules.mss_bytes),
            replies: VecDeque::new(),
            bytes: [0, 0],
            response_times: ResponseTimes::default(),
        }
    }

    fn run(mut self, path_at: impl Fn(f64) -> Path) -> Result<SessionResults, Error> {
        self.connection.open(0);
        loop {
            let next = self.connection.next_event();
            // At equal times, packets are processed first.
            let reply_ns = self.replies.front().map_or(NEVER, |reply| reply.0);
            if reply_ns < self.next_turn_ns.min(next.0) {
                self.reply();
                continue;
            }
            if self.next_turn_ns < next.0 {
                let since_s = 1e-9 * self.next_turn_ns as f64;
                self.set_path(path_at(self.user.session().start_s + since_s))?;
                self.begin_turn(self.next_turn_ns);
                continue;
            }
            let now_ns = next.0;
            let given_up = self.connection.unacked_timeouts() > MAX_UNACKED_TIMEOUTS;
            if now_ns == NEVER || self.user.is_over() || given_up {
                return Ok(SessionResults {
                    given_up: u64::from(!self.user.is_over()),
                    response_times: self.response_times,
                });
            }
            match self.connection.process(next) {
                None => {}
                Some(Notification::Opened) => {
                    self.response_times
                        .push(ResponseEvent::Connect, 1e-9 * now_ns as f64);
                    self.next_turn_ns = pause_end_ns(now_ns, self.user.on_connected());
                }
                Some(Notification::Delivered(LISTENER)) => self.serve(now_ns),
                Some(Notification::Delivered(_)) => self.complete(now_ns),
            }
        }
    }

    fn set_path(&mut self, path: Path) -> Result<(), Error> {
        path.check(self.full_bytes)?;
        for (who, direction) in [(OPENER, path.to_server), (LISTENER, path.to_client)] {
            self.connection
                .losses
                .set_loss(who, direction.loss, direction.bit_error_rate);
            self.connection.set_direction(who, &direction);
        }
        Ok(())
    }

    fn begin_turn(&mut self, now_ns: u64) {
        let action = self.user.begin_turn(now_ns);
        self.next_turn_ns = pause_end_ns(now_ns, action.pause_s);
        let bytes = send_requests(action.requests, &mut self.outstanding, &mut self.bytes);
        self.connection.write(OPENER, now_ns, bytes);
    }

    /// Processes requests that arrived at the server. Replies to requests that arrived together share
    /// segments.
    fn serve(&mut self, now_ns: u64) {
        let delivered = self.connection.delivered(LISTENER);
        let mut bytes = 0;
        while let Some(outstanding) = self.outstanding.get(self.replies_started)
            && outstanding.request_end <= delivered
        {
            self.replies_started += 1;
            bytes += outstanding.reply_bytes;
        }
        if bytes > 0 {
            self.replies.push_back((now_ns + self.service_ns, bytes));
        }
    }

    /// Writes the next due reply of the server.
    fn reply(&mut self) {
        if let Some((now_ns, bytes)) = self.replies.pop_front() {
            self.connection.write(LISTENER, now_ns, bytes);
        }
    }

    /// Records complete replies at the client, and continues the session.
    fn complete(&mut self, now_ns: u64) {
        let delivered = self.connection.delivered(OPENER);
        while let Some(outstanding) = self.outstanding.front()
            && outstanding.reply_end <= delivered
            && let Some(reply) = self.user.on_reply(now_ns)
        {
            self.outstanding.pop_front();
            self.replies_started -= 1;
            for (kind, since_ns) in reply.waits.into_iter().flatten() {
                self.response_times
                    .push(kind, 1e-9 * (now_ns - since_ns) as f64);
            }
            if reply.action.pause_s.is_some() {
                self.next_turn_ns = pause_end_ns(now_ns, reply.action.pause_s);
            }
            let bytes = send_requests(
                reply.action.requests,
                &mut self.outstanding,
                &mut self.bytes,
            );
            if bytes > 0 {
                self.connection.write(OPENER, now_ns, bytes);
            }
        }
    }
}

/// Returns the end of a pause that begins now; `NEVER` without a pause.
fn pause_end_ns(now_ns: u64, pause_s: Option<f64>) -> u64 {
    pause_s.map_or(NEVER, |pause_s| now_ns.saturating_add(ns(pause_s)))
}

/// Records the requests sent at once. Returns their bytes.
fn send_requests(
    exchanges: &[Exchange],
    outstanding: &mut VecDeque<OutstandingRequest>,
    bytes: &mut [u64; 2],
) -> u64 {
    let before = bytes[OPENER];
    for exchange in exchanges {
        bytes[OPENER] += u64::from(exchange.request_bytes);
        bytes[LISTENER] += u64::from(exchange.reply_bytes);
        outstanding.push_back(OutstandingRequest {
            reply_bytes: u64::from(exchange.reply_bytes),
            request_end: bytes[OPENER],
            reply_end: bytes[LISTENER],
        });
    }
    bytes[OPENER] - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use netflow_units::Packets;
    use netflow_workload::{Application, Distribution, Http, Telnet, Turn, UserKind, Workload};
    use rand::RngExt;

    const RTT_S: f64 = 0.1;

    fn symmetric_path(delay_s: f64, loss: f64) -> Path {
        let direction = Direction {
            delay_s,
            loss,
            bit_error_rate: 0.0,
            bandwidth_bps: None,
            buffer: None,
        };
        Path {
            to_server: direction,
            to_client: direction,
        }
    }

    fn linux() -> SessionRuns {
        SessionRuns {
            stack: Stack::builtin("linux-6").unwrap(),
            mss_bytes: 1000,
            service_s: 0.0,
        }
    }

    /// Returns a page requested after a pause, with one file per number of segments.
    fn page(pause_s: f64, segments: &[u32]) -> Turn {
        let exchange = |&segments: &u32| Exchange {
            request_bytes: 300,
            reply_bytes: 1000 * segments,
        };
        Turn {
            pause_s,
            exchanges: segments.iter().map(exchange).collect(),
        }
    }

    fn test_session(turns: Vec<Turn>) -> Session {
        Session {
            number: 0,
            kind: UserKind::Http,
            start_s: 5.0,
            turns,
            playback: None,
        }
    }

    fn round_trips(waits_s: &[f64]) -> Vec<f64> {
        waits_s
            .iter()
            .map(|wait_s| (wait_s / RTT_S * 1e6).round() / 1e6)
            .collect()
    }

    /// The initial window of 10 grows by every segment delivered while it is used: 10, 20, 40, and 111
    /// after 71 segments. The next 80 do not fill it, so it grows only to twice 80. After a pause of more
    /// than one timeout (300 ms) and less than two, it is halved to 80.
    #[test]
    fn without_loss_latency_is_whole_round_trips() {
        for (last, expected) in [(80, 1.0), (81, 2.0)] {
            let session = test_session(vec![
                page(0.0, &[10]),
                page(0.05, &[20]),
                page(0.05, &[71]),
                page(0.05, &[80]),
                page(0.45, &[last]),
            ]);
            let waits = linux()
                .simulate(&[session], 1, |_| symmetric_path(RTT_S / 2.0, 0.0))
                .unwrap()
                .response_times;
            assert_eq!(round_trips(&waits.connect_s), [1.0]);
            assert_eq!(round_trips(&waits.file_s), [1.0, 1.0, 2.0, 1.0, expected]);
            assert_eq!(waits.file_s, waits.page_s);
        }
    }

    /// The files after the first are requested together and arrive in sequence: 9 segments at once, and 1 +
    /// 9 more one round trip later, because the window is 10.
    #[test]
    fn pipelined_files_share_the_window() {
        let session = test_session(vec![page(0.0, &[1, 9, 1, 10])]);
        let waits = linux()
            .simulate(&[session], 1, |_| symmetric_path(RTT_S / 2.0, 0.0))
            .unwrap()
            .response_times;
        assert_eq!(round_trips(&waits.file_s), [1.0, 1.0, 1.0, 2.0]);
        assert_eq!(round_trips(&waits.page_s), [3.0]);
    }

    /// At most 16 segments at a time: 10, 16, 16, 16 and 12 instead of 10, 20 and 40.
    #[test]
    fn receive_windows_limit() {
        for (bytes, expected) in [(None, 3.0), (Some(16_384), 5.0)] {
            let mut conversations = linux();
            conversations.stack.receive_window_bytes = bytes;
            let session = test_session(vec![page(0.0, &[70])]);
            let waits = conversations.simulate(&[session], 1, |_| symmetric_path(RTT_S / 2.0, 0.0));
            assert_eq!(
                round_trips(&waits.unwrap().response_times.file_s),
                [expected]
            );
        }
    }

    /// A bit error rate of 1e-4 loses 1 - (1 - 1e-4)^(8·1040) = 56.5 % of full packets and 3.2 % of packets
    /// of 40 B. For the SYN and SYN-ACK of 4000 users, that is 1 - 0.968² = 6.2 %; five standard
    /// errors are 1.9 %.
    #[test]
    fn bit_errors_lose_long_packets() {
        let sessions: Vec<Session> = (0..4000)
            .map(|number| Session {
                number,
                ..test_session(vec![page(0.0, &[1])])
            })
            .collect();
        let mut path = symmetric_path(RTT_S / 2.0, 0.0);
        path.to_server.bit_error_rate = 1e-4;
        path.to_client.bit_error_rate = 1e-4;
        let waits = linux()
            .simulate(&sessions, 1, |_| path)
            .unwrap()
            .response_times;
        let share = |waits_s: &[f64]| {
            let late = waits_s.iter().filter(|&&wait_s| wait_s > 1.01 * RTT_S);
            late.count() as f64 / waits_s.len() as f64
        };
        assert!((share(&waits.connect_s) - 0.062).abs() < 0.019);
        // 23.8 % of requests, 340 B with headers, are lost: 1 - 0.762 · 0.435 = 66.9 %; ± 3.8 %.
        assert!((share(&waits.file_s) - 0.669).abs() < 0.038);
    }

    /// The service time is 0.1 round trips: once for the first file, once for the others.
    #[test]
    fn service_time_delays_replies() {
        let session = test_session(vec![page(0.0, &[1, 2, 3])]);
        let conversations = SessionRuns {
            service_s: 0.1 * RTT_S,
            ..linux()
        };
        let waits = conversations.simulate(&[session], 1, |_| symmetric_path(RTT_S / 2.0, 0.0));
        let waits = waits.unwrap().response_times;
        assert_eq!(round_trips(&waits.file_s), [1.1, 1.1, 1.1]);
        assert_eq!(round_trips(&waits.page_s), [2.2]);
    }

    /// The delay of the path increases while the user thinks.
    #[test]
    fn path_changes_take_effect_at_their_time() {
        let session = test_session(vec![page(0.0, &[1]), page(10.0, &[1])]);
        let path_at = |time_s| symmetric_path(if time_s < 10.0 { 0.05 } else { 0.1 }, 0.0);
        let waits = linux()
            .simulate(&[session], 1, path_at)
            .unwrap()
            .response_times;
        assert_eq!(round_trips(&waits.file_s), [1.0, 2.0]);
    }

    /// Keystrokes do not wait for echoes: 20 per second over a path of 100 ms.
    #[test]
    fn keystrokes_do_not_wait() {
        let telnet = Telnet {
            keystrokes: Distribution::Constant(50.0),
            gap_s: Distribution::Constant(0.05),
            ..Telnet::default()
        };
        let workload = Workload {
            application: Application::Telnet(telnet),
            seed: 1,
        };
        let sessions: Vec<Session> = workload.sessions(1.0).unwrap().take(2).collect();
        let waits = linux()
            .simulate(&sessions, 1, |_| symmetric_path(RTT_S / 2.0, 0.0))
            .unwrap()
            .response_times;
        assert_eq!(round_trips(&waits.echo_s), [1.0; 100]);
        assert!(waits.page_s.is_empty());
    }

    /// Regression test: keystrokes at the same time are all sent together, after the pause before them.
    /// Formerly only the first was sent.
    #[test]
    fn simultaneous_keystrokes_are_all_sent() {
        let session = Session {
            kind: UserKind::Telnet,
            ..test_session(vec![page(0.5, &[1, 1, 1]), page(0.05, &[1])])
        };
        let waits = linux()
            .simulate(&[session], 1, |_| symmetric_path(RTT_S / 2.0, 0.0))
            .unwrap()
            .response_times;
        assert_eq!(round_trips(&waits.echo_s), [1.0; 4]);
    }

    /// Everything in random sessions is requested once and answered once, over any path.
    #[test]
    fn random_sessions_complete() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for number in 0..300 {
            let kind = [UserKind::Http, UserKind::Telnet, UserKind::Video][rng.random_range(0..3)];
            let turns: Vec<Turn> = (0..rng.random_range(1..6))
                .map(|_| {
                    let files: Vec<u32> = (0..rng.random_range(1..5))
                        .map(|_| rng.random_range(1..30))
                        .collect();
                    page(rng.random_range(0.0..0.3), &files)
                })
                .collect();
            let exchanges: usize = turns.iter().map(|turn| turn.exchanges.len()).sum();
            let (pages, loss) = (turns.len(), rng.random_range(0.0..0.1));
            let session = Session {
                number,
                kind,
                ..test_session(turns)
            };
            let played = linux()
                .simulate(&[session], 1, |_| symmetric_path(0.02, loss))
                .unwrap();
            let waits = played.response_times;
            let found = [
                waits.connect_s,
                waits.file_s,
                waits.page_s,
                waits.echo_s,
                waits.play_s,
            ];
            let wanted = match kind {
                UserKind::Http => [1, exchanges, pages, 0, 0],
                UserKind::Telnet => [1, 0, 0, exchanges, 0],
                UserKind::Video => [1, exchanges, 0, 0, 1],
            };
            assert_eq!((found.map(|w| w.len()), played.given_up), (wanted, 0));
        }
    }

    /// Every file and page of the workload has a response time, in spite of losses. The number of threads
    /// has no effect.
    #[test]
    fn every_request_is_answered_under_loss() {
        let workload = Workload {
            application: Application::Http(Http::default()),
            seed: 7,
        };
        let sessions: Vec<Session> = workload.sessions(1.0).unwrap().take(200).collect();
        let play = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                linux()
                    .simulate(&sessions, 3, |_| symmetric_path(0.01, 0.05))
                    .unwrap()
                    .response_times
            })
        };
        let waits = play(1);
        let turns = || sessions.iter().flat_map(|session| &session.turns);
        assert_eq!(waits.connect_s.len(), 200);
        assert_eq!(waits.page_s.len(), turns().count());
        let files: usize = turns().map(|turn| turn.exchanges.len()).sum();
        assert_eq!(waits.file_s.len(), files);
        assert!(waits.file_s.iter().all(|&wait_s| wait_s > 0.02 - 1e-9));
        assert_eq!(play(3), waits);
    }

    /// Regression test: for 300 files of 3 MB over one connection, the segments in flight are not searched
    /// for each of a million acknowledgements. That took minutes.
    #[test]
    fn long_sessions_last_their_duration() {
        let session = test_session((0..300).map(|_| page(0.0, &[3000])).collect());
        let began = std::time::Instant::now();
        let waits = linux()
            .simulate(&[session], 1, |_| symmetric_path(0.01, 0.0))
            .unwrap()
            .response_times;
        assert_eq!(waits.file_s.len(), 300);
        assert!(began.elapsed().as_secs() < 20);
    }

    /// 20 segments of 1040 B at 1.04 Mbit/s, 8 ms each, with a buffer of four. The first and three that
    /// wait are delivered at once. The others are lost and sent again.
    #[test]
    fn buffers_overflow() {
        let session = test_session(vec![page(0.0, &[20]), page(0.0, &[2000])]);
        let mut path = symmetric_path(RTT_S / 2.0, 0.0);
        path.to_client.bandwidth_bps = Some(1.04e6);
        let free = linux().simulate(std::slice::from_ref(&session), 1, |_| path);
        path.to_client.buffer = Some(Size::Packets(Packets(4.0)));
        let tight = linux()
            .simulate(&[session], 1, |_| path)
            .unwrap()
            .response_times;
        assert!(tight.file_s[0] > free.unwrap().response_times.file_s[0] + RTT_S);
        // The rate is at most that of the link, and at least half of it.
        assert!(tight.file_s[1] > 2000.0 * 0.008 && tight.file_s[1] < 2.0 * 2000.0 * 0.008);
    }

    /// With 90 % loss in each direction, a segment needs a hundred tries on average, and gets 16. Few
    /// connections open, and no transfer of a megabyte completes. Formerly the simulation did not end for
    /// days.
    #[test]
    fn connections_without_answers_are_given_up() {
        let sessions: Vec<Session> = (0..100)
            .map(|number| Session {
                number,
                ..test_session(vec![page(0.0, &[1000])])
            })
            .collect();
        let played = linux()
            .simulate(&sessions, 1, |_| symmetric_path(0.01, 0.9))
            .unwrap();
        assert_eq!(played.given_up, 100);
        assert!(played.response_times.file_s.is_empty());
    }

    #[test]
    fn endless_sessions_are_rejected() {
        let session = test_session(vec![page(0.0, &[4_000_000; 3])]);
        let error = linux().simulate(&[session], 1, |_| symmetric_path(0.01, 0.0));
        assert_eq!(
            error.unwrap_err().to_string(),
            "replies of a session in segments is 12000000, allowed is 10 million or less"
        );
    }

    #[test]
    fn invalid_path_is_rejected() {
        let session = test_session(vec![page(0.0, &[1])]);
        let error = |path: Path| {
            let error = linux().simulate(std::slice::from_ref(&session), 1, |_| path);
            error.unwrap_err().to_string()
        };
        assert_eq!(
            error(symmetric_path(0.1, 1.0)),
            "loss is 1, allowed is a probability from 0 to 0.9"
        );
        let mut path = symmetric_path(0.1, 0.0);
        path.to_client.bit_error_rate = 1e-3;
        assert_eq!(
            error(path),
            "bit error rate is 0.001, allowed is 0 up to a loss of 90 % of full packets"
        );
    }
}
