//! How long transfers take that come and go in a network at rest.

use netflow_network::{ConnectionId, HEADER_BYTES};
use netflow_workload::Distribution;

use crate::{Solver, Steady};

/// Sizes that a distribution is taken to have, each as often as the others.
const SIZES: usize = 128;

/// Transfers over a connection, as long as this distribution says.
#[derive(Clone, Copy, Debug)]
pub struct Transfers<'a> {
    /// Bytes of a transfer.
    pub size: &'a Distribution,
    /// Payload of a full packet, in bytes.
    pub payload_bytes: f64,
    /// Packets that a sender begins with.
    pub initial_window_pkts: f64,
}

/// Mean times of transfers, from asking for one to its last byte, the handshake aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferTimes {
    /// Where nobody else sends, in seconds.
    pub alone_s: f64,
    /// Beside all that the network carries, in seconds; infinite where a link is offered more than it
    /// carries, so that ever more of them are under way.
    pub mean_s: f64,
}

/// What a transfer's data meets at one link.
struct Hop {
    bandwidth_bps: f64,
    buffer_pkts: f64,
    /// What is offered over what it carries.
    load: f64,
}

impl Solver {
    /// How long transfers take over a connection whose mean rate they make, if it sends. They begin at random
    /// moments, and those at a link share it: the time that processor sharing adds to what a transfer takes
    /// alone is Σ size · ρ / (C (1 − ρ)) over the links, whatever the distribution of sizes (Kleinrock 1976;
    /// a bound on the safe side for several links, Bonald & Proutière 2003).
    ///
    /// Alone it takes the round trips of slow start, then its bits at the narrowest link's bandwidth. What a
    /// transfer sends beyond that link's bandwidth-delay product waits in the buffer, and prolongs the round
    /// trips of others for the part ρ of the time.
    pub fn transfer_times(
        &self,
        steady: &Steady,
        id: ConnectionId,
        transfers: &Transfers<'_>,
    ) -> Option<TransferTimes> {
        let problem = &self.problem;
        let flow = &problem.flows[problem.flow_of(&self.network, id)?];
        let hops: Vec<Hop> = problem.hop_link[flow.data_hops()]
            .iter()
            .map(|&l| {
                let link = &problem.links[l as usize];
                Hop {
                    bandwidth_bps: link.bandwidth_bps,
                    buffer_pkts: link.queue.buffer_pkts,
                    load: steady.links[l as usize].offered_bps / link.bandwidth_bps,
                }
            })
            .collect();
        let [there_s, back_s] = problem.fixed_s(flow);
        let rtt_s = there_s + back_s;
        let widths = hops.iter().map(|hop| hop.bandwidth_bps);
        let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
        let packet_bits = 8.0 * (transfers.payload_bytes + HEADER_BYTES);
        let quantiles: Vec<f64> = (0..SIZES)
            .map(|i| (i as f64 + 0.5) / SIZES as f64)
            .map(|u| (transfers.size.quantile(u) / transfers.payload_bytes).ceil())
            .collect();
        let bits = 8.0
            * (transfers.size.mean()
                + HEADER_BYTES * transfers.size.mean_packets(transfers.payload_bytes));
        let taken_s = |rtt_s: f64| {
            let most_pkts = narrowest_bps * rtt_s / packet_bits;
            let (mut all_rounds, mut all_pkts) = (0.0, 0.0);
            for &pkts in &quantiles {
                let (rounds, sent_pkts) =
                    slow_start(pkts, transfers.initial_window_pkts, most_pkts);
                all_rounds += rounds / SIZES as f64;
                all_pkts += sent_pkts / SIZES as f64;
            }
            let left_bits = (bits - all_pkts * packet_bits).max(0.0);
            rtt_s * (1.0 + all_rounds) + left_bits / narrowest_bps
        };
        let waiting_s: f64 = hops
            .iter()
            .map(|hop| {
                let held_pkts = hop.bandwidth_bps * rtt_s / packet_bits;
                let beyond = quantiles
                    .iter()
                    .map(|pkts| (pkts - held_pkts).clamp(0.0, hop.buffer_pkts));
                let mean_pkts = beyond.sum::<f64>() / SIZES as f64;
                hop.load.min(1.0) * mean_pkts * packet_bits / hop.bandwidth_bps
            })
            .sum();
        let shared_s: f64 = hops
            .iter()
            .map(|hop| match hop.load < 1.0 {
                true => bits / hop.bandwidth_bps * hop.load / (1.0 - hop.load),
                false => f64::INFINITY,
            })
            .sum();
        Some(TransferTimes {
            alone_s: taken_s(rtt_s),
            mean_s: taken_s(rtt_s + waiting_s) + shared_s,
        })
    }
}

/// Round trips in which a transfer of so many packets waits for acknowledgements, in slow start until its window
/// holds what the way does, or all that is left; and the packets that it sends in them.
fn slow_start(pkts: f64, mut window_pkts: f64, most_pkts: f64) -> (f64, f64) {
    let (mut rounds, mut sent_pkts) = (0.0, 0.0);
    while pkts - sent_pkts > window_pkts && window_pkts < most_pkts {
        sent_pkts += window_pkts;
        window_pkts *= 2.0;
        rounds += 1.0;
    }
    (rounds, sent_pkts)
}

#[cfg(test)]
mod tests {
    use super::slow_start;

    #[test]
    fn windows_double_until_the_way_is_full() {
        assert_eq!(slow_start(10.0, 10.0, 1e9), (0.0, 0.0));
        assert_eq!(slow_start(11.0, 10.0, 1e9), (1.0, 10.0));
        assert_eq!(slow_start(70.0, 10.0, 1e9), (2.0, 30.0));
        assert_eq!(slow_start(71.0, 10.0, 1e9), (3.0, 70.0));
        assert_eq!(slow_start(1e6, 10.0, 15.0), (1.0, 10.0));
        assert_eq!(slow_start(1e6, 10.0, 5.0), (0.0, 0.0));
    }
}
