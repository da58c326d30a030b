//! Explanation of a connection's rate: loss → round-trip time → profile → rate.

use netflow_tcpmodel::tcp::TcpState;
use serde::{Deserialize, Serialize};

use crate::LinkId;

/// Chain from the queues of the path to a connection's rate, at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Time in seconds.
    pub time_s: f64,
    /// True if it sends at this time: started, not stopped, not finished, and with a route.
    pub sending: bool,
    /// Number of identical connections; the rates below are those of one.
    pub count: u32,
    /// Links of the data path, then of the return path. Empty without a route.
    pub hops: Vec<ExplainedHop>,
    /// 1 − Π(1 − B) over the data path.
    pub loss_probability: f64,
    /// Waiting, transmission and propagation over all hops, in seconds.
    pub rtt_s: f64,
    /// Loss probability that the source uses: that of the path at the start of the last step. In the packet
    /// model it is its measured loss. `None` if it did not send in the last step.
    pub seen_loss_probability: Option<f64>,
    /// Round-trip time that the source uses, in seconds: that of the path at the start of the last step. In
    /// the packet model it is the measured value. `None` if there is none.
    pub seen_rtt_s: Option<f64>,
    /// Propagation delay of both directions, in seconds.
    pub propagation_s: f64,
    /// Name of the profile, if the source has one.
    pub profile: Option<String>,
    /// Throughput by the profile at this loss and round-trip time, in packets/s.
    pub profile_pps: Option<f64>,
    /// True if this point is outside the profile's measured range.
    pub outside: bool,
    /// Window limit divided by the round-trip time, in packets/s.
    pub window_limit_pps: Option<f64>,
    /// Rate of its application in packets/s; `None` for unlimited data.
    pub application_pps: Option<f64>,
    /// State of its TCP, for sources with a congestion window; the first of several connections.
    pub tcp: Option<TcpState>,
    /// Largest number of packets in flight, from
    /// [`Engine::max_in_flight_pkts`](crate::engine::Engine::max_in_flight_pkts).
    pub max_in_flight_pkts: Option<u32>,
    /// Limit of the rate in the last step; `None` if it did not send then.
    pub limit: Option<Limit>,
    /// Sending rate in the last step in packets/s. In the packet model it is the window, or the packets in
    /// flight, divided by the round-trip time.
    pub rate_pps: f64,
}

/// Limit of a source's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Its given rate.
    Own,
    /// Throughput by its profile.
    Profile,
    /// Its largest allowed window.
    Window,
    /// TCP handshake that is not complete.
    Handshake,
    /// Receive window of the other end.
    ReceiveWindow,
    /// Send buffer that is full of data in flight.
    SendBuffer,
    /// Congestion window.
    CongestionWindow,
    /// Pacing rate.
    Pacing,
    /// Increase to at most twice the rate per round trip.
    Growth,
    /// Data that its application has generated.
    Application,
    /// Transfer size: all undelivered data is in flight.
    Size,
}

/// Feedback that a source received in a step, and the limit of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppliedLimits {
    /// Limit of its rate.
    pub limit: Limit,
    /// Observed loss probability.
    pub loss: f64,
    /// Observed round-trip time in seconds.
    pub rtt_s: f64,
    /// Throughput by its profile at these values, in packets/s.
    pub profile_pps: Option<f64>,
    /// End of the step in seconds.
    pub until_s: f64,
}

/// HTB class that sends at its ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedCeiling {
    /// Name of the class.
    pub class: String,
    /// Its throughput in bit/s on the wire.
    pub throughput_bps: f64,
    /// Its ceiling in bit/s.
    pub ceil_bps: f64,
}

/// One link of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedHop {
    /// The link.
    pub link: LinkId,
    /// True on the return path.
    pub back: bool,
    /// Bandwidth at this time, in bit/s.
    pub bandwidth_bps: f64,
    /// Fraction of time for which the link was busy. With an interval
    /// ([`Interval::explain`](crate::Interval::explain)) it covers that interval, otherwise the last step. In
    /// the packet model without an interval it covers the time since the start.
    pub utilization: f64,
    /// Packets in its queue.
    pub queue_pkts: f64,
    /// Service rate in packets/s. The fluid model uses the mean packet size in the queue, the packet model
    /// that of the connection.
    pub service_pps: f64,
    /// Time to serve the queue, in seconds.
    pub waiting_s: f64,
    /// Transmission time of the connection's data packet or acknowledgement, in seconds.
    pub transmission_s: f64,
    /// Propagation delay in seconds.
    pub propagation_s: f64,
    /// Loss probability of a packet of the connection that arrives now. In the packet model it is the lost
    /// fraction, over the interval if there is one, otherwise since the start.
    pub loss_probability: f64,
    /// Probability that the link loses the packet in transit, after the queue; part of `loss_probability`.
    pub link_loss_probability: f64,
    /// Class of the queue, or ancestor of it, that sent at its ceiling in the interval, if there is an interval.
    pub reached_ceiling: Option<ReachedCeiling>,
}

impl Explanation {
    /// Returns an explanation with these hops and without source data.
    pub fn of_path(time_s: f64, count: u32, hops: Vec<ExplainedHop>) -> Explanation {
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
            max_in_flight_pkts: None,
            limit: None,
            rate_pps: 0.0,
            hops,
        };
        explanation.sum_losses();
        explanation
    }

    /// Computes the loss of the path from that of its hops.
    pub fn sum_losses(&mut self) {
        let there = self.hops.iter().filter(|hop| !hop.back);
        let through: f64 = there.map(|hop| 1.0 - hop.loss_probability).product();
        self.loss_probability = 1.0 - through;
    }

    /// Adds the observations and the limit of the source.
    pub fn apply(&mut self, applied: &AppliedLimits, window_pkts: f64) {
        self.limit = Some(applied.limit);
        self.seen_loss_probability = Some(applied.loss);
        self.seen_rtt_s = Some(applied.rtt_s);
        self.profile_pps = applied.profile_pps;
        if window_pkts < f64::INFINITY {
            self.window_limit_pps = Some(window_pkts / applied.rtt_s);
        }
    }
}
