//! Users who come, ask, wait and go: what they do between the packets.
//!
//! A visit has two transfers, which lie side by side: requests from the client, replies from the
//! server. Both ends of one are at the same nodes as both ends of the other, so they are moved
//! together, moment by moment.

use std::collections::{BTreeSet, VecDeque};

use netflow_network::{Arrivals, Wait, WaitFor};
use netflow_tcpmodel::tcp::NEVER;
use netflow_workload::{Exchange, Session, SessionStateMachine};

use crate::endpoint::transfer::Transfer;
use crate::link::wire::Wires;
use crate::ns;

/// The users of one workload.
#[derive(Clone, Debug)]
pub(crate) struct SessionClass {
    arrivals: Arrivals,
    /// Who comes next.
    next: Option<Session>,
    /// Sessions that are over, by pair of nodes: from when on their slots may be used again.
    pub left: Vec<BTreeSet<(u64, u32)>>,
    pub came: u64,
    pub gone: u64,
    pub waits: Vec<Wait>,
    /// Of an empty network, by pair of nodes, in seconds.
    rtt_s: Vec<f64>,
}

impl SessionClass {
    pub fn new(arrivals: Arrivals, rtt_s: Vec<f64>) -> SessionClass {
        let mut crowd = SessionClass {
            arrivals,
            next: None,
            left: vec![BTreeSet::new(); rtt_s.len()],
            came: 0,
            gone: 0,
            waits: Vec::new(),
            rtt_s,
        };
        crowd.next = crowd.arrivals.next();
        crowd
    }

    /// When the next one comes.
    pub fn next_ns(&self) -> u64 {
        self.next.as_ref().map_or(NEVER, |next| ns(next.start_s))
    }

    /// Who comes before `end_ns`, if anybody does, and between which pair of nodes.
    pub fn come(&mut self, end_ns: u64) -> Option<(Session, usize)> {
        let next = self.next.as_ref()?;
        if ns(next.start_s) >= end_ns {
            return None;
        }
        let session = std::mem::replace(&mut self.next, self.arrivals.next())?;
        self.came += 1;
        let pair = (session.number % self.left.len().max(1) as u64) as usize;
        Some((session, pair))
    }

    fn waited(&mut self, visit: &ActiveSession, kind: WaitFor, since_ns: u64, now_ns: u64) {
        let session = visit.user.session();
        self.waits.push(Wait {
            user: session.number,
            came_s: session.start_s,
            kind,
            wait_s: (now_ns - since_ns) as f64 * 1e-9,
            rtt_s: self.rtt_s.get(visit.pair).copied().unwrap_or(f64::NAN),
        });
    }
}

/// Two transfers, the first of which has this number: for one visit after the other.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub first: u32,
    pub crowd: u32,
    pub pair: u32,
    pub visit: Option<ActiveSession>,
    /// When anything happened at its ends last.
    pub last_ns: u64,
}

pub(crate) const NO_SLOT: u32 = u32::MAX;

/// The users of all workloads.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    /// By workload.
    pub classes: Vec<SessionClass>,
    /// Where visits take place.
    pub slots: Vec<Slot>,
    /// By transfer, or [`NO_SLOT`].
    pub slot_of: Vec<u32>,
    /// By connection: transfers beside those it had at first.
    pub more_of: Vec<Vec<u32>>,
}

impl Sessions {
    /// Nobody is there.
    pub fn new(transfers: usize, connections: usize) -> Sessions {
        Sessions {
            classes: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![NO_SLOT; transfers],
            more_of: vec![Vec::new(); connections],
        }
    }
}

/// Somebody's visit, under way.
#[derive(Clone, Debug)]
pub(crate) struct ActiveSession {
    user: SessionStateMachine<u64>,
    pair: usize,
    came_ns: u64,
    connected: bool,
    /// When the connection's first packet reached the server.
    greeted_ns: u64,
    /// When the next turn begins; never while that is not known.
    turn_ns: u64,
    /// What has been asked for and is not complete, in order; the server has begun to answer so
    /// many of them.
    asked: VecDeque<Asked>,
    answered: usize,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    reply_bytes: u32,
    /// One past the last packet of the request, and of the reply.
    request_end: i32,
    reply_end: i32,
}

impl ActiveSession {
    pub fn new(session: Session, pair: usize) -> ActiveSession {
        ActiveSession {
            pair,
            came_ns: ns(session.start_s),
            connected: false,
            greeted_ns: NEVER,
            turn_ns: NEVER,
            asked: VecDeque::new(),
            answered: 0,
            user: SessionStateMachine::new(session),
        }
    }

    /// When the user comes.
    pub fn came_ns(&self) -> u64 {
        self.came_ns
    }

    /// When the user does something without having to wait for it.
    pub fn due_ns(&self) -> u64 {
        self.turn_ns
    }

    fn is_over(&self) -> bool {
        self.connected && self.user.is_over()
    }

    /// All that follows at this moment from what has arrived.
    fn look(
        &mut self,
        now_ns: u64,
        ends: &mut [Transfer; 2],
        wires: &mut Wires,
        crowd: &mut SessionClass,
    ) {
        let [requests, replies] = ends;
        self.serve(now_ns, requests, replies, wires);
        if !self.connected && requests.is_connected() {
            self.connected = true;
            crowd.waited(self, WaitFor::Connect, self.came_ns, now_ns);
            self.turn_ns = after(now_ns, self.user.on_connected());
        }
        let mut asks = self.take_replies(now_ns, requests, replies.receiving.heard(), crowd);
        if self.turn_ns <= now_ns {
            let act = self.user.begin_turn(now_ns);
            self.turn_ns = after(now_ns, act.pause_s);
            ask(act.requests, &mut self.asked, requests);
            asks = true;
        }
        if asks {
            requests.push(now_ns, wires);
        }
    }

    /// The server: answers requests that are complete.
    fn serve(
        &mut self,
        now_ns: u64,
        requests: &Transfer,
        replies: &mut Transfer,
        wires: &mut Wires,
    ) {
        let heard = requests.receiving.heard();
        if self.greeted_ns == NEVER && heard >= 1 {
            self.greeted_ns = now_ns;
        }
        if heard >= 2 && !replies.is_accepted() {
            // The handshake has told the server how long a round trip takes.
            replies.accept(self.greeted_ns, now_ns, requests.has_repeated());
        }
        // What is complete at the same moment is answered together.
        let mut bytes = 0;
        while let Some(asked) = self.asked.get_mut(self.answered)
            && heard >= asked.request_end
        {
            bytes += u64::from(asked.reply_bytes);
            asked.reply_end = replies.end_of(bytes);
            self.answered += 1;
        }
        if bytes > 0 {
            replies.say(bytes);
            replies.push(now_ns, wires);
        }
    }

    /// The client: replies that are complete; whether more was asked for.
    fn take_replies(
        &mut self,
        now_ns: u64,
        requests: &mut Transfer,
        heard: i32,
        crowd: &mut SessionClass,
    ) -> bool {
        let mut asks = false;
        while self.answered > 0
            && let Some(asked) = self.asked.front()
            && heard >= asked.reply_end
            && let Some(answered) = self.user.on_reply(now_ns)
        {
            self.asked.pop_front();
            self.answered -= 1;
            if answered.action.pause_s.is_some() {
                self.turn_ns = after(now_ns, answered.action.pause_s);
            }
            let waits = answered.waits;
            asks |= ask(answered.action.requests, &mut self.asked, requests);
            for (kind, since_ns) in waits.into_iter().flatten() {
                crowd.waited(self, kind, since_ns, now_ns);
            }
        }
        asks
    }
}

/// When a pause that begins now is over; never if there is none.
fn after(now_ns: u64, pause_s: Option<f64>) -> u64 {
    pause_s.map_or(NEVER, |pause_s| now_ns.saturating_add(ns(pause_s)))
}

/// Asks for these at once; whether there are any.
fn ask(exchanges: &[Exchange], asked: &mut VecDeque<Asked>, requests: &mut Transfer) -> bool {
    let mut bytes = 0;
    for exchange in exchanges {
        bytes += u64::from(exchange.request_bytes);
        asked.push_back(Asked {
            reply_bytes: exchange.reply_bytes,
            request_end: requests.end_of(bytes),
            reply_end: i32::MAX,
        });
    }
    if bytes > 0 {
        requests.say(bytes);
    }
    bytes > 0
}

/// What has happened at the ends of a visit.
pub(crate) struct Acted {
    /// When anything did last, if it did.
    pub last_ns: Option<u64>,
    /// When the visit was over, if it was.
    pub over_ns: Option<u64>,
}

/// All that happens before `until_ns` at both ends of the two transfers of a visit, which may be
/// over.
pub(crate) fn act(
    visit: &mut Option<ActiveSession>,
    ends: &mut [Transfer; 2],
    until_ns: u64,
    wires: &mut Wires,
    crowd: &mut SessionClass,
) -> Acted {
    let mut acted = Acted {
        last_ns: None,
        over_ns: None,
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
            transfer.act(now_ns + 1, wires);
        }
        if let Some(it) = visit {
            it.look(now_ns, ends, wires, crowd);
            if it.is_over() {
                crowd.gone += 1;
                *visit = None;
                acted.over_ns = Some(now_ns);
            }
        }
    }
}
