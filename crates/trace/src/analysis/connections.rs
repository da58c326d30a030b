//! Packets sent, delivered and lost, and round-trip times, by connection.

use std::collections::{HashMap, VecDeque};

use indexmap::IndexMap;
use indexmap::map::Entry;
use netflow_network::ConnectionInterval;
use netflow_results::ConnectionRow;
use serde::Serialize;

use super::{exceeds_max_intervals, interval_ns, intervals, rows_in_time_order};
use crate::sender::{Flow, MAX_FLOWS, Options, RttMethod, Senders};
use crate::{Endpoint, Event, EventKind, NodeNames, Transport};

/// Analysis of all connections of a trace.
///
/// A trace of all links shows where packets are sent, dropped and delivered. A trace of the sender's side
/// (a capture, or a trace of the first link) does not. There, goodput counts packets acknowledged for the
/// first time, and losses are retransmissions except spurious ones.
#[derive(Debug)]
pub struct Connections {
    every_ns: i64,
    senders: Senders,
    table: ConnectionTable,
    end_ns: i64,
    start_ns: Option<i64>,
    left_out: u64,
}

#[derive(Debug)]
struct ConnectionTable {
    max_connections: usize,
    /// Connections in the order of their first packets.
    connections: IndexMap<ConnectionKey, ConnectionState>,
    left_out: u64,
}

impl ConnectionTable {
    /// Returns the record of a connection; `None` if the table is full.
    fn entry_or_insert(&mut self, key: ConnectionKey, tcp: bool) -> Option<&mut ConnectionState> {
        let full = self.connections.len() >= self.max_connections;
        match self.connections.entry(key) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(_) if full => {
                self.left_out += 1;
                None
            }
            Entry::Vacant(new) => Some(new.insert(ConnectionState {
                tcp,
                ..ConnectionState::default()
            })),
        }
    }
}

type ConnectionKey = (Flow, u32);

#[derive(Debug, Default)]
struct ConnectionState {
    tcp: bool,
    /// Counts by interval, from that of the first packet on.
    bins: VecDeque<Counts>,
    first_interval: usize,
    /// True if a packet was seen to arrive at its receiver.
    is_delivery_observed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: u64,
    delivered: u64,
    dropped: u64,
    /// Packets sent according to the sender's view.
    tracked: u64,
    acked: u64,
    resent: u64,
    spurious: u64,
    rtts: u64,
    rtt_sum_s: f64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.tracked += other.tracked;
        self.acked += other.acked;
        self.resent += other.resent;
        self.spurious += other.spurious;
        self.rtts += other.rtts;
        self.rtt_sum_s += other.rtt_sum_s;
    }
}

/// Values of one connection over one interval, or over the whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ConnectionTraceInterval {
    /// End of the interval, in seconds.
    pub time_s: f64,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Data packets that reached the receiver, or were acknowledged for the first time.
    pub delivered_pkts: u64,
    /// Data packets lost.
    pub lost_pkts: u64,
    /// Mean round-trip time in seconds, if any was measured.
    pub rtt_s: Option<f64>,
    /// Length of the interval, in seconds.
    pub length_s: f64,
}

/// Results of one connection.
#[derive(Clone, Debug)]
pub struct ConnectionSeries {
    /// Sender and receiver.
    pub flow: Flow,
    /// Flow id of ns-2; 0 in captures.
    pub flow_id: u32,
    /// True if packets were seen to arrive; otherwise the values are the sender's view.
    pub whole_network: bool,
    /// Method of the round-trip times; `None` without any.
    pub rtt_method: Option<RttMethod>,
    /// Values over the whole trace.
    pub totals: ConnectionTraceInterval,
    /// Values by interval.
    pub bins: Vec<ConnectionTraceInterval>,
}

impl Connections {
    /// Creates an analysis with intervals of `every_s` seconds. They begin at time 0 in ns-2 traces, and
    /// at the first packet in captures.
    pub fn new(every_s: f64, options: Options) -> Connections {
        Connections::with_max_flows(MAX_FLOWS, every_s, options)
    }

    pub(crate) fn with_max_flows(max_flows: usize, every_s: f64, options: Options) -> Connections {
        Connections {
            every_ns: interval_ns(every_s),
            senders: Senders::with_max_flows(max_flows, options),
            table: ConnectionTable {
                max_connections: max_flows,
                connections: IndexMap::new(),
                left_out: 0,
            },
            end_ns: 0,
            start_ns: None,
            left_out: 0,
        }
    }

    /// Returns the number of events left out because the intervals until then would exceed
    /// [`MAX_INTERVALS`](super::MAX_INTERVALS).
    pub fn omitted_events(&self) -> u64 {
        self.left_out
    }

    /// Returns the number of events left out because they belong to flows beyond the first
    /// [`MAX_FLOWS`](crate::sender::MAX_FLOWS).
    pub fn events_of_omitted_flows(&self) -> u64 {
        self.table
            .left_out
            .max(self.senders.events_of_omitted_flows())
    }

    /// Processes the next event.
    pub fn on_event(&mut self, event: &Event) {
        let start_ns = *self.start_ns.get_or_insert(match event.kind {
            EventKind::Captured => event.time_ns,
            _ => 0,
        });
        let now_ns = event.time_ns.saturating_sub(start_ns).max(0);
        if exceeds_max_intervals(now_ns, self.every_ns, self.table.connections.len()) {
            self.left_out += 1;
            return;
        }
        self.end_ns = self.end_ns.max(now_ns);
        let every_ns = self.every_ns;
        let flow_id = event.packet.flow;
        let table = &mut self.table;
        if let Some((flow, what)) = packet_location(event)
            && let Some(track) =
                table.entry_or_insert((flow, flow_id), event.packet.transport == Transport::Tcp)
        {
            track.is_delivery_observed |= what == PacketLocation::AtReceiver;
            let counts = track.bin(now_ns, every_ns);
            match what {
                PacketLocation::AtSender => counts.sent += 1,
                PacketLocation::AtReceiver => counts.delivered += 1,
                PacketLocation::Dropped => counts.dropped += 1,
            }
        }
        self.senders.on_event(event, |flow, seen| {
            let Some(track) = table.entry_or_insert((*flow, flow_id), true) else {
                return;
            };
            let counts = track.bin(now_ns, every_ns);
            counts.tracked += u64::from(seen.sent_pkts);
            counts.acked += u64::from(seen.acked_pkts);
            counts.resent += u64::from(seen.resent_pkts);
            counts.spurious += u64::from(seen.spurious_pkts);
            if let Some(rtt_s) = seen.rtt_s {
                counts.rtts += 1;
                counts.rtt_sum_s += rtt_s;
            }
        });
    }

    /// Returns the results in the order of the connections' first packets.
    pub fn finish(self) -> Vec<ConnectionSeries> {
        let Connections {
            every_ns,
            senders,
            table,
            end_ns,
            ..
        } = self;
        let mut found = Vec::new();
        for ((flow, flow_id), track) in table.connections {
            if track.tcp && !senders.is_sender(&flow) {
                continue;
            }
            let method = senders.get(&flow).map(|tracker| tracker.rtt_method());
            found.push(track.finish(flow, flow_id, method, every_ns, end_ns));
        }
        found
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketLocation {
    AtSender,
    AtReceiver,
    Dropped,
}

/// Returns the flow of a data packet of an ns-2 trace that leaves its sender, reaches its receiver or is
/// dropped.
fn packet_location(event: &Event) -> Option<(Flow, PacketLocation)> {
    let link = event.link?;
    let packet = &event.packet;
    let data = match packet.transport {
        Transport::Tcp => packet.segment.is_some_and(|segment| segment.len > 0),
        Transport::Udp | Transport::Other => true,
    };
    let node = |end: Endpoint| match end {
        Endpoint::Node { node, .. } => Some(node),
        _ => None,
    };
    let what = match event.kind {
        EventKind::Enqueued if node(packet.from) == Some(link.from) => PacketLocation::AtSender,
        EventKind::Received if node(packet.to) == Some(link.to) => PacketLocation::AtReceiver,
        EventKind::Dropped => PacketLocation::Dropped,
        _ => return None,
    };
    let flow = Flow {
        from: packet.from,
        to: packet.to,
    };
    data.then_some((flow, what))
}

impl ConnectionState {
    fn bin(&mut self, now_ns: i64, every_ns: i64) -> &mut Counts {
        let place = (now_ns / every_ns) as usize;
        if self.bins.is_empty() {
            // Of many connections, most are active in one interval only.
            self.bins = VecDeque::with_capacity(1);
            self.first_interval = place;
        }
        while place < self.first_interval {
            self.bins.push_front(Counts::default());
            self.first_interval -= 1;
        }
        if place - self.first_interval >= self.bins.len() {
            self.bins
                .resize(place - self.first_interval + 1, Counts::default());
        }
        &mut self.bins[place - self.first_interval]
    }

    fn finish(
        self,
        flow: Flow,
        flow_id: u32,
        rtt_method: Option<RttMethod>,
        every_ns: i64,
        end_ns: i64,
    ) -> ConnectionSeries {
        let whole_network = self.is_delivery_observed;
        let count = intervals(end_ns, every_ns).max(self.first_interval + self.bins.len());
        let mut sum = Counts::default();
        let mut bins = Vec::with_capacity(count);
        for i in 0..count {
            let counts = i
                .checked_sub(self.first_interval)
                .and_then(|i| self.bins.get(i));
            let counts = counts.copied().unwrap_or_default();
            sum.add(&counts);
            let begin_ns = i as i64 * every_ns;
            let finish_ns = begin_ns
                .saturating_add(every_ns)
                .min(end_ns.max(begin_ns + 1));
            bins.push(interval_values(&counts, begin_ns, finish_ns, whole_network));
        }
        ConnectionSeries {
            flow,
            flow_id,
            whole_network,
            rtt_method: rtt_method.filter(|_| sum.rtts > 0),
            totals: interval_values(&sum, 0, end_ns.max(1), whole_network),
            bins,
        }
    }
}

fn interval_values(
    counts: &Counts,
    begin_ns: i64,
    end_ns: i64,
    whole_network: bool,
) -> ConnectionTraceInterval {
    let (sent_pkts, delivered_pkts, lost_pkts) = if whole_network {
        (counts.sent, counts.delivered, counts.dropped)
    } else {
        (
            counts.tracked.max(counts.sent),
            counts.acked,
            counts.resent.saturating_sub(counts.spurious),
        )
    };
    ConnectionTraceInterval {
        time_s: end_ns as f64 * 1e-9,
        sent_pkts,
        delivered_pkts,
        lost_pkts,
        rtt_s: (counts.rtts > 0).then(|| counts.rtt_sum_s / counts.rtts as f64),
        length_s: (end_ns - begin_ns) as f64 * 1e-9,
    }
}

impl ConnectionTraceInterval {
    /// Returns a row of `connections.csv`; values that were not measured are empty.
    pub fn row(&self, connection: &std::sync::Arc<str>) -> ConnectionRow {
        ConnectionRow {
            time_s: self.time_s,
            connection: connection.clone(),
            values: ConnectionInterval {
                send_pps: self.sent_pkts as f64 / self.length_s,
                goodput_pps: self.delivered_pkts as f64 / self.length_s,
                rtt_s: self.rtt_s,
                delay_s: None,
                loss_probability: (self.sent_pkts > 0).then(|| self.loss_probability()),
            },
        }
    }

    /// Returns the lost fraction of the sent packets, 0 to 1.
    pub fn loss_probability(&self) -> f64 {
        match self.sent_pkts {
            0 => 0.0,
            sent => (self.lost_pkts as f64 / sent as f64).min(1.0),
        }
    }
}

impl ConnectionSeries {
    /// Returns `SENDER.PORT->RECEIVER.PORT` with the nodes' names, or with addresses and ports.
    pub fn name(&self, names: &NodeNames) -> String {
        let end = |end: Endpoint| match end {
            Endpoint::Node { node, port } => format!("{}.{port}", names.name(node)),
            Endpoint::V4(address, port) => format!("{address}:{port}"),
            Endpoint::V6(address, port) => format!("[{address}]:{port}"),
        };
        format!("{}->{}", end(self.flow.from), end(self.flow.to))
    }

    /// Returns a function that gives unique names: connections with equal names get ns-2's flow id as a
    /// suffix.
    pub fn unique_names(
        all: &[ConnectionSeries],
        names: &NodeNames,
    ) -> impl Fn(&ConnectionSeries) -> String {
        let mut seen: HashMap<&Flow, u32> = HashMap::new();
        for series in all {
            *seen.entry(&series.flow).or_insert(0) += 1;
        }
        move |series| {
            let name = series.name(names);
            match seen.get(&series.flow) {
                Some(2..) => format!("{name}#{}", series.flow_id),
                _ => name,
            }
        }
    }

    /// Returns the rows of `connections.csv` of all connections, in time order.
    pub fn rows(
        all: &[ConnectionSeries],
        names: &NodeNames,
    ) -> impl Iterator<Item = ConnectionRow> {
        let name = Self::unique_names(all, names);
        let named = all
            .iter()
            .map(|series| (&*series.bins, name(series).into()));
        rows_in_time_order(named.collect(), ConnectionTraceInterval::row)
    }
}
