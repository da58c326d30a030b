//! Networks shared by tests.

use std::sync::Arc;

use netflow_network::{
    Application, Buffer, BufferTime, Calibration, Cells, ConnectionId, DropPolicy, LinkId,
    LinkSpec, Network, NetworkBuilder, NodeId, Overhead, Source,
};
use netflow_problems::{connection, link, one_way, wide_network};
use netflow_profile::{ScaledProfile, builtin};
use netflow_workload::{Distribution, TransferSizes};

/// Returns a random network of any scale with permanently active connections, and a duration that is long compared with its delays.
pub fn random_bulk_network(seed: u64) -> (Network, f64) {
    let mut wide = wide_network(seed);
    for (_, _, connection) in &mut wide.connections {
        connection.size_pkts = None;
        connection.stop_s = None;
        connection.start_s = 0.0;
    }
    (wide.build(), wide.duration_s)
}

/// Returns the network with alternating calibration factors of links and sources.
pub fn with_calibration_factors(network: &Network) -> Network {
    let mut builder = network.to_builder();
    let mut windows = vec![0.0; network.link_count()];
    for id in network.connections() {
        let spec = network.connection_spec(id);
        if matches!(spec.source, Source::Profile(_)) && spec.application == Application::Bulk {
            for link in network.path(id) {
                windows[link.index()] += f64::from(spec.count);
            }
        }
    }
    let factors = [(0.2, 3.0), (1.0, 1.0), (4.0, 0.1)].into_iter().cycle();
    let mut links = factors.zip(windows);
    builder.each_link(|link| {
        if let Some(((losses, waiting), windows)) = links.next() {
            link.calibration = Calibration {
                losses,
                waiting,
                windows,
            };
        }
    });
    let mut factors = [0.8, 1.3].into_iter().cycle();
    builder.each_connection(|spec| {
        if let (Source::Profile(profile), Some(factor)) = (&spec.source, factors.next()) {
            spec.source = Source::Profile(Arc::new(ScaledProfile::new(profile.clone(), factor)));
        }
    });
    builder.build().unwrap()
}

/// Returns the network with every other TCP replaced by Linux CUBIC, whose window oscillates less.
pub fn with_two_tcps(network: &Network) -> Network {
    let mut builder = network.to_builder();
    let mut others = [false, true].into_iter().cycle();
    builder.each_connection(|spec| {
        if let (Source::Profile(profile), Some(true)) = (&mut spec.source, others.next()) {
            *profile = builtin("linux-cubic").unwrap();
        }
    });
    builder.build().unwrap()
}

/// Returns the network with these TCPs in turn.
pub fn with_tcps(network: &Network, names: &[&str]) -> Network {
    let mut builder = network.to_builder();
    let mut names = names.iter().cycle();
    builder.each_connection(|spec| {
        if let Source::Profile(profile) = &mut spec.source {
            *profile = builtin(names.next().unwrap()).unwrap();
        }
    });
    builder.build().unwrap()
}

/// Returns the network with every other fixed-rate source replaced by the mean rate of transfers.
pub fn with_transfers(network: &Network) -> Network {
    let mut builder = network.to_builder();
    let mut i = 0_u32;
    builder.each_connection(|spec| {
        if let Source::Constant { .. } | Source::Poisson { .. } = spec.source {
            let mean = 1e4 * f64::from(1 + i * 7 % 40);
            let most = 20.0 * mean;
            let size = Distribution::Exponential { mean, most };
            let payload_bytes = spec.packet_size_bytes.max(41.0) - 40.0;
            let transfers = TransferSizes::new(size, payload_bytes, 10.0);
            spec.transfers = i.is_multiple_of(2).then(|| Arc::new(transfers));
            i += 1;
        }
    });
    builder.build().unwrap()
}

/// Returns the network with drop-tail buffers in bytes, 1000 for each packet.
pub fn with_buffers_in_bytes(network: &Network) -> Network {
    let mut builder = network.to_builder();
    builder.each_link(|link| {
        if let (Buffer::Packets(pkts), DropPolicy::DropTail) = (link.buffer, link.queue) {
            link.buffer = Buffer::Bytes(1000.0 * pkts);
        }
    });
    builder.build().unwrap()
}

/// Returns the network with each drop-tail buffer as its transmission time.
pub fn with_buffers_in_seconds(network: &Network) -> Network {
    let mut builder = with_buffers_in_bytes(network).to_builder();
    builder.each_link(|link| {
        if let Buffer::Bytes(bytes) = link.buffer {
            link.buffer = Buffer::Time(BufferTime {
                s: 8.0 * bytes / link.bandwidth_bps,
                least_bytes: 1.0,
            });
        }
    });
    builder.build().unwrap()
}

/// Returns the network with links in turn without overhead, with that of Ethernet and with that of
/// ADSL.
pub fn with_overhead(network: &Network) -> Network {
    let ethernet = Overhead {
        bytes: 38.0,
        minimum_bytes: 84.0,
        cells: Cells::None,
    };
    let adsl = Overhead {
        bytes: 10.0,
        minimum_bytes: 0.0,
        cells: Cells::Atm,
    };
    let mut builder = network.to_builder();
    let mut all = [Overhead::NONE, ethernet, adsl].into_iter().cycle();
    builder.each_link(|link| link.overhead = all.next().unwrap_or_default());
    builder.build().unwrap()
}

/// Two nodes with a link in each direction: 1000 packets/s of 1000 bytes, one-way delay 20 ms.
pub struct Pair {
    pub builder: NetworkBuilder,
    pub from: NodeId,
    pub to: NodeId,
    pub there: LinkId,
}

pub fn pair(room_pkts: f64) -> Pair {
    let mut builder = NetworkBuilder::new();
    let (from, to) = (builder.node("A"), builder.node("B"));
    let there = builder.link(link(from, to, 8e6, 0.02, room_pkts));
    builder.link(LinkSpec::new(to, from, 8e6));
    Pair {
        builder,
        from,
        to,
        there,
    }
}

impl Pair {
    /// Adds an unresponsive Poisson source.
    pub fn poisson(&mut self, name: &str, rate_pps: f64) -> ConnectionId {
        let source = Source::Poisson { rate_pps };
        self.builder
            .connection(one_way(name, self.from, self.to, source))
    }

    pub fn tcp(&mut self, name: &str, profile: &str, window_pkts: Option<f64>) -> ConnectionId {
        let source = Source::Profile(netflow_profile::builtin(profile).unwrap());
        let mut spec = connection(name, self.from, self.to, source);
        spec.max_window_pkts = window_pkts;
        self.builder.connection(spec)
    }

    pub fn build(self) -> Network {
        self.builder.build().unwrap()
    }
}
