//! Why a connection sends as fast as it does: loss → round-trip time → profile → rate.

use netflow_tcpmodel::tcp::TcpState;
use serde::{Deserialize, Serialize};

use crate::LinkId;

/// The chain from the path's queues to a connection's rate, at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// When, in seconds.
    pub time_s: f64,
    /// Whether it sends at this time: started, not stopped, not finished, and with a route.
    pub sending: bool,
    /// How many connections it is; rates below are of one of them.
    pub count: u32,
    /// The way of the data, then the way back. Empty without a route.
    pub hops: Vec<ExplainedHop>,
    /// 1 − Π(1 − B) over the way of the data.
    pub loss_probability: f64,
    /// Waiting, transmission and propagation over all hops, in seconds.
    pub rtt_s: f64,
    /// The loss probability that the source reckons with: with FIFO transport what it has learnt
    /// from its losses, else that of the path at the start of the last step; with the window model
    /// what it has lost. `None` if it was not sending in the last step.
    pub seen_loss_probability: Option<f64>,
    /// The round-trip time that it sees, in seconds: with FIFO transport that of the packets
    /// acknowledged in the last step, else that of the path at its start; with the window model what
    /// it has measured. `None` if it sees none.
    pub seen_rtt_s: Option<f64>,
    /// The propagation of both ways, in seconds.
    pub propagation_s: f64,
    /// Name of the profile, if the source has one.
    pub profile: Option<String>,
    /// The profile's throughput in packets/s at the loss and round-trip time seen.
    pub profile_pps: Option<f64>,
    /// Whether the profile was not measured there.
    pub outside: bool,
    /// Window limit / round-trip time seen, in packets/s.
    pub window_limit_pps: Option<f64>,
    /// What its application makes, in packets/s; `None` if there is always more to send.
    pub application_pps: Option<f64>,
    /// What its TCP can tell of itself, of sources that have a congestion window; the first of several.
    pub tcp: Option<TcpState>,
    /// As [`Engine::most_out_pkts`](crate::readout::Engine::most_out_pkts).
    pub most_out_pkts: Option<u32>,
    /// What limited it in the last step; `None` if it was not sending then.
    pub limit: Option<Limit>,
    /// What it sent in the last step, in packets/s; where packets are followed, its window, or what is on its way, over the
    /// round-trip time.
    pub rate_pps: f64,
}

/// What limits the rate of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The rate it was given.
    Own,
    /// What its profile gives for what it sees.
    Profile,
    /// The largest window that it may have.
    Window,
    /// The handshake is not over.
    Handshake,
    /// The receive window of the other end.
    ReceiveWindow,
    /// Its send buffer, which is full of data in flight.
    SendBuffer,
    /// Its congestion window.
    CongestionWindow,
    /// The rate at which it lets packets go.
    Pacing,
    /// It rises at most to twice in a round trip.
    Growth,
    /// It falls at most to half in a round trip.
    Decline,
    /// What its application has made.
    Application,
    /// What there is of it: all that is not delivered is on its way.
    Size,
}

/// What a source saw in a step, and which limit its rate came from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Where its rate came from.
    pub limit: Limit,
    /// The loss probability that it saw.
    pub loss: f64,
    /// The round-trip time that it saw, in seconds.
    pub rtt_s: f64,
    /// What its profile gives for them, in packets/s.
    pub profile_pps: Option<f64>,
    /// The end of the step, in seconds.
    pub until_s: f64,
}

/// One link of the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedHop {
    /// Which link.
    pub link: LinkId,
    /// Whether it is on the way back.
    pub back: bool,
    /// Its bandwidth at this time, in bit/s.
    pub bandwidth_bps: f64,
    /// Fraction of the last step for which it was busy; told with an interval
    /// ([`Interval::explain`](crate::Interval::explain)), of that, and with the window model
    /// otherwise of all the time since the start.
    pub utilization: f64,
    /// Packets in its queue.
    pub queue_pkts: f64,
    /// Packets/s it serves: of fluids of the mean size in the queue; where packets are followed, of those of the connection.
    pub service_pps: f64,
    /// Time to serve the queue, in seconds.
    pub waiting_s: f64,
    /// Transmission of the connection's own packet (or acknowledgement), in seconds.
    pub transmission_s: f64,
    /// Propagation, in seconds.
    pub propagation_s: f64,
    /// Probability that a packet of the connection that arrives now is lost; with the window model,
    /// the part of those that was lost: in the interval told with, or else since the start.
    pub loss_probability: f64,
    /// Probability that the link loses it on the way, after the queue; part of the former.
    pub link_loss_probability: f64,
}

impl Explanation {
    /// One with these hops, and nothing said of the source.
    pub fn of_way(time_s: f64, count: u32, hops: Vec<ExplainedHop>) -> Explanation {
        let parts = hops
            .iter()
            .map(|h| h.waiting_s + h.transmission_s + h.propagation_s);
        let mut explanation = Explanation {
            time_s,
            sending: false,
            count,
            loss_probability: 0.0,
            rtt_s: parts.sum(),
            seen_loss_probability: None,
            seen_rtt_s: None,
            propagation_s: hops.iter().map(|h| h.propagation_s).sum(),
            profile: None,
            profile_pps: None,
            outside: false,
            window_limit_pps: None,
            application_pps: None,
            tcp: None,
            most_out_pkts: None,
            limit: None,
            rate_pps: 0.0,
            hops,
        };
        explanation.sum_losses();
        explanation
    }

    /// Makes the loss of the way that of its hops.
    pub fn sum_losses(&mut self) {
        let there = self.hops.iter().filter(|hop| !hop.back);
        let through: f64 = there.map(|hop| 1.0 - hop.loss_probability).product();
        self.loss_probability = 1.0 - through;
    }

    /// Adds what the source saw and did.
    pub fn apply(&mut self, applied: &Applied, window_pkts: f64) {
        self.limit = Some(applied.limit);
        self.seen_loss_probability = Some(applied.loss);
        self.seen_rtt_s = Some(applied.rtt_s);
        self.profile_pps = applied.profile_pps;
        if window_pkts < f64::INFINITY {
            self.window_limit_pps = Some(window_pkts / applied.rtt_s);
        }
    }
}
