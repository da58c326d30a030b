//! Events of sessions: requests, replies and departures of users.
//!
//! A session has two adjacent transfers: requests from the client, and replies from the server. Their
//! endpoints are at the same two nodes. Therefore both advance together, event by event.

use std::collections::{BTreeSet, VecDeque};

use netflow_network::{Arrivals, ResponseEvent, ResponseTime};
use netflow_tcpmodel::tcp::NEVER;
use netflow_units::NonMaxU32;
use netflow_workload::{Exchange, Session, SessionStateMachine};

use crate::endpoint::transfer::Transfer;
use crate::link::wire::Wires;
use crate::ns;

/// Users of one workload.
#[derive(Clone, Debug)]
pub(crate) struct SessionClass {
    arrivals: Arrivals,
    /// Next session to arrive.
    next: Option<Session>,
    /// Slots of finished sessions by pair of nodes, with the time in ns from which they may be used again.
    pub free_slots: Vec<BTreeSet<(u64, u32)>>,
    pub arrived: u64,
    pub finished: u64,
    pub response_times: Vec<ResponseTime>,
    /// Round-trip time of an empty network in seconds, by pair of nodes.
    rtt_s: Vec<f64>,
}

impl SessionClass {
    pub fn new(arrivals: Arrivals, rtt_s: Vec<f64>) -> SessionClass {
        let mut class = SessionClass {
            arrivals,
            next: None,
            free_slots: vec![BTreeSet::new(); rtt_s.len()],
            arrived: 0,
            finished: 0,
            response_times: Vec::new(),
            rtt_s,
        };
        class.next = class.arrivals.next();
        class
    }

    /// Returns the arrival time of the next session in ns.
    pub fn next_ns(&self) -> u64 {
        self.next.as_ref().map_or(NEVER, |next| ns(next.start_s))
    }

    /// Returns the next session that arrives before `end_ns`, if any, and its pair of nodes.
    pub fn next_arrival(&mut self, end_ns: u64) -> Option<(Session, usize)> {
        let next = self.next.as_ref()?;
        if ns(next.start_s) >= end_ns {
            return None;
        }
        let session = std::mem::replace(&mut self.next, self.arrivals.next())?;
        self.arrived += 1;
        let pair = (session.number % self.free_slots.len().max(1) as u64) as usize;
        Some((session, pair))
    }

    fn record_response_time(
        &mut self,
        visit: &ActiveSession,
        kind: ResponseEvent,
        since_ns: u64,
        now_ns: u64,
    ) {
        let session = visit.user.session();
        self.response_times.push(ResponseTime {
            user: session.number,
            arrival_s: session.start_s,
            kind,
            wait_s: (now_ns - since_ns) as f64 * 1e-9,
            rtt_s: self.rtt_s.get(visit.pair).copied().unwrap_or(f64::NAN),
        });
    }
}

/// Session slot: two transfers for one session after another. The first transfer is `first`.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub first: u32,
    pub class: u32,
    pub pair: u32,
    pub session: Option<ActiveSession>,
    /// Time of the last event at its endpoints in ns.
    pub last_ns: u64,
}

/// Users of all workloads.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    /// Users, by workload.
    pub classes: Vec<SessionClass>,
    /// Session slots.
    pub slots: Vec<Slot>,
    /// Session slot, by transfer.
    pub slot_of: Vec<Option<NonMaxU32>>,
    /// Transfers created during the run, by connection.
    pub added_transfers: Vec<Vec<u32>>,
}

impl Sessions {
    /// Returns an empty state without sessions.
    pub fn new(transfers: usize, connections: usize) -> Sessions {
        Sessions {
            classes: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![None; transfers],
            added_transfers: vec![Vec::new(); connections],
        }
    }
}

/// Session in progress.
#[derive(Clone, Debug)]
pub(crate) struct ActiveSession {
    user: SessionStateMachine<u64>,
    pair: usize,
    arrival_ns: u64,
    connected: bool,
    /// Arrival time of the connection's first packet at the server, in ns.
    syn_arrived_ns: u64,
    /// Start of the next turn in ns; [`NEVER`] while unknown.
    next_turn_ns: u64,
    /// Requests without a complete reply, in order. The server has started to answer the first `answered` of
    /// them.
    outstanding: VecDeque<PendingRequest>,
    replies_started: usize,
}

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    reply_bytes: u32,
    /// One past the last packet of the request, and of the reply.
    request_end: i32,
    reply_end: i32,
}

impl ActiveSession {
    pub fn new(session: Session, pair: usize) -> ActiveSession {
        ActiveSession {
            pair,
            arrival_ns: ns(session.start_s),
            connected: false,
            syn_arrived_ns: NEVER,
            next_turn_ns: NEVER,
            outstanding: VecDeque::new(),
            replies_started: 0,
            user: SessionStateMachine::new(session),
        }
    }

    /// Returns the arrival time of the session in ns.
    pub fn arrival_ns(&self) -> u64 {
        self.arrival_ns
    }

    /// Returns the time in ns of the user's next action that does not depend on an arrival.
    pub fn due_ns(&self) -> u64 {
        self.next_turn_ns
    }

    fn is_over(&self) -> bool {
        self.connected && self.user.is_over()
    }

    /// Runs all actions at this time that follow from arrivals.
    fn run_actions(
        &mut self,
        now_ns: u64,
        ends: &mut [Transfer; 2],
        wires: &mut Wires,
        class: &mut SessionClass,
    ) {
        let [requests, replies] = ends;
        self.serve(now_ns, requests, replies, wires);
        if !self.connected && requests.is_connected() {
            self.connected = true;
            class.record_response_time(self, ResponseEvent::Connect, self.arrival_ns, now_ns);
            self.next_turn_ns = pause_end_ns(now_ns, self.user.on_connected());
        }
        let mut asks = self.take_replies(now_ns, requests, replies.receiver.next_expected(), class);
        if self.next_turn_ns <= now_ns {
            let act = self.user.begin_turn(now_ns);
            self.next_turn_ns = pause_end_ns(now_ns, act.pause_s);
            send_requests(act.requests, &mut self.outstanding, requests);
            asks = true;
        }
        if asks {
            requests.push(now_ns, wires);
        }
    }

    /// Runs the server: answers complete requests.
    fn serve(
        &mut self,
        now_ns: u64,
        requests: &Transfer,
        replies: &mut Transfer,
        wires: &mut Wires,
    ) {
        let heard = requests.receiver.next_expected();
        if self.syn_arrived_ns == NEVER && heard >= 1 {
            self.syn_arrived_ns = now_ns;
        }
        if heard >= 2 && !replies.is_accepted() {
            // The handshake is a round-trip sample for the server.
            replies.accept(self.syn_arrived_ns, now_ns, requests.has_repeated());
        }
        // Requests that are completed together are answered together.
        let mut bytes = 0;
        while let Some(asked) = self.outstanding.get_mut(self.replies_started)
            && heard >= asked.request_end
        {
            bytes += u64::from(asked.reply_bytes);
            asked.reply_end = replies.message_end(bytes);
            self.replies_started += 1;
        }
        if bytes > 0 {
            replies.add_message(bytes);
            replies.push(now_ns, wires);
        }
    }

    /// Runs the client: processes complete replies. Returns true if it makes further requests.
    fn take_replies(
        &mut self,
        now_ns: u64,
        requests: &mut Transfer,
        next_expected: i32,
        class: &mut SessionClass,
    ) -> bool {
        let mut asks = false;
        while self.replies_started > 0
            && let Some(asked) = self.outstanding.front()
            && next_expected >= asked.reply_end
            && let Some(answered) = self.user.on_reply(now_ns)
        {
            self.outstanding.pop_front();
            self.replies_started -= 1;
            if answered.action.pause_s.is_some() {
                self.next_turn_ns = pause_end_ns(now_ns, answered.action.pause_s);
            }
            let waits = answered.waits;
            asks |= send_requests(answered.action.requests, &mut self.outstanding, requests);
            for (kind, since_ns) in waits.into_iter().flatten() {
                class.record_response_time(self, kind, since_ns, now_ns);
            }
        }
        asks
    }
}

/// Returns the end of a pause that begins now, in ns; [`NEVER`] without a pause.
fn pause_end_ns(now_ns: u64, pause_s: Option<f64>) -> u64 {
    pause_s.map_or(NEVER, |pause_s| now_ns.saturating_add(ns(pause_s)))
}

/// Makes all of these requests at once. Returns true if there are any.
fn send_requests(
    exchanges: &[Exchange],
    asked: &mut VecDeque<PendingRequest>,
    requests: &mut Transfer,
) -> bool {
    let mut bytes = 0;
    for exchange in exchanges {
        bytes += u64::from(exchange.request_bytes);
        asked.push_back(PendingRequest {
            reply_bytes: exchange.reply_bytes,
            request_end: requests.message_end(bytes),
            reply_end: i32::MAX,
        });
    }
    if bytes > 0 {
        requests.add_message(bytes);
    }
    bytes > 0
}

/// Result of the events at the endpoints of a session.
pub(crate) struct SlotOutcome {
    /// Time of the last event in ns, if any.
    pub last_ns: Option<u64>,
    /// End of the session in ns, if it has ended.
    pub ended_ns: Option<u64>,
}

/// Runs all events before `until_ns` at the endpoints of a slot's two transfers. The session may have ended
/// before.
pub(crate) fn run_slot(
    visit: &mut Option<ActiveSession>,
    ends: &mut [Transfer; 2],
    until_ns: u64,
    wires: &mut Wires,
    class: &mut SessionClass,
) -> SlotOutcome {
    let mut acted = SlotOutcome {
        last_ns: None,
        ended_ns: None,
    };
    loop {
        let own_ns = visit.as_ref().map_or(NEVER, ActiveSession::due_ns);
        let [a, b] = &*ends;
        let now_ns = a.next_ns(wires).min(b.next_ns(wires)).min(own_ns);
        if now_ns >= until_ns {
            return acted;
        }
        acted.last_ns = Some(now_ns);
        for transfer in &mut *ends {
            transfer.run(now_ns + 1, wires);
        }
        if let Some(it) = visit {
            it.run_actions(now_ns, ends, wires, class);
            if it.is_over() {
                class.finished += 1;
                *visit = None;
                acted.ended_ns = Some(now_ns);
            }
        }
    }
}
