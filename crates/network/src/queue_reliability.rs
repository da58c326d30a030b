//! Composition of a link's data traffic, which determines how reliable the fluid model's queue is.

use crate::{
    ACK_BYTES, Application, ConnectionSpec, DropPolicy, Estimate, LinkId, LinkSpec, Source,
};

/// Kind of traffic, by its effect on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficKind {
    /// Bulk TCP by a profile.
    Bulk,
    /// Source at a constant rate.
    Constant,
    /// Finite transfers with Poisson arrivals, modelled by their mean rate.
    Transfers,
    /// Bursty traffic modelled by its mean rate: users of a workload, TCP with an on-off application, and TCP
    /// transfers of a few initial windows.
    Bursts,
    /// Poisson packets, or TCP limited by its application.
    Other,
}

/// Largest transfer in packets that ends within a few initial windows.
const MAX_SHORT_TRANSFER_PKTS: f64 = 100.0;

impl TrafficKind {
    /// Returns the kind of a connection; `has_more` is true for unlimited data.
    pub fn of(spec: &ConnectionSpec, has_more: bool) -> TrafficKind {
        match spec.source {
            Source::Profile(_) if has_more => TrafficKind::Bulk,
            Source::Constant { .. } => TrafficKind::Constant,
            _ if spec.transfers.is_some() => TrafficKind::Transfers,
            Source::Users(_) => TrafficKind::Bursts,
            _ if matches!(spec.application, Application::OnOff { .. }) => TrafficKind::Bursts,
            _ => TrafficKind::Other,
        }
    }

    /// Returns the kind in a run, where short TCP transfers end soon.
    pub fn in_run(spec: &ConnectionSpec, has_more: bool) -> TrafficKind {
        let is_short = spec
            .size_pkts
            .is_some_and(|size| size <= MAX_SHORT_TRANSFER_PKTS);
        match spec.source {
            Source::Profile(_) if is_short => TrafficKind::Bursts,
            _ => TrafficKind::of(spec, has_more),
        }
    }
}

/// Sums over the traffic of a link, total or per second. All fields except `acks_bits` count data.
#[derive(Clone, Debug, Default)]
pub struct TrafficMix {
    pkts: f64,
    bits: f64,
    /// Sum of squared packet sizes in bits².
    squared_bits_sum: f64,
    bulk_bits: f64,
    constant_bits: f64,
    transfers_bits: f64,
    bursts_bits: f64,
    acks_bits: f64,
    /// Bits that arrived from each preceding link that is not faster.
    after: Vec<(LinkId, f64)>,
}

impl TrafficMix {
    /// Adds packets of this size in bits. They arrived over the link `after` if that is not faster than this
    /// one.
    pub fn add(&mut self, kind: TrafficKind, pkts: f64, packet_bits: f64, after: Option<LinkId>) {
        let bits = pkts * packet_bits;
        self.pkts += pkts;
        self.bits += bits;
        self.squared_bits_sum += bits * packet_bits;
        match kind {
            TrafficKind::Bulk => self.bulk_bits += bits,
            TrafficKind::Constant => self.constant_bits += bits,
            TrafficKind::Transfers => self.transfers_bits += bits,
            TrafficKind::Bursts => self.bursts_bits += bits,
            TrafficKind::Other => {}
        }
        if let Some(link) = after {
            match self.after.iter_mut().find(|it| it.0 == link) {
                Some((_, sum)) => *sum += bits,
                None => self.after.push((link, bits)),
            }
        }
    }

    /// Adds acknowledgements.
    pub fn add_acks(&mut self, pkts: f64) {
        self.acks_bits += 8.0 * ACK_BYTES * pkts;
    }

    /// Returns the ratio of the queue to that of M/M/1 by Pollaczek–Khinchine: (1 + c²)/2, with c the
    /// coefficient of variation of packet sizes.
    fn size_variation_factor(&self) -> f64 {
        0.5 * self.squared_bits_sum * self.pkts / (self.bits * self.bits)
    }

    /// Returns whether loss depends on packet size at this link with this traffic and loss probability.
    pub fn loss_is_size_dependent(&self, link: &LinkSpec, loss: f64) -> bool {
        /// Ratio of nearly equal sizes, whose coefficient of variation is 0.25.
        const EQUAL_SIZES: f64 = 0.5 * (1.0 + 0.25 * 0.25);
        /// Loss probability below which its split by packet size does not matter.
        const MIN_LOSS: f64 = 1e-3;
        let by_room =
            link.queue == DropPolicy::DropTail && link.buffer.bytes(link.bandwidth_bps).is_some();
        by_room && loss > MIN_LOSS && self.size_variation_factor() > EQUAL_SIZES
    }

    /// Returns the reasons why the link's queue is an estimate, most important first. `busy` is the fraction
    /// of time for which the link is busy; bursts matter at any value.
    pub fn reasons(&self, queue: DropPolicy, busy: f64) -> impl Iterator<Item = Estimate> {
        /// Fraction of traffic that fills a queue.
        const MIN_FILLING_SHARE: f64 = 0.1;
        const MAIN_SHARE: f64 = 0.5;
        const FULL_SHARE: f64 = 1.0 - 1e-9;
        /// Ratio to the M/M/1 queue above which, or below whose inverse, packet sizes matter.
        const SIZE_FACTOR: f64 = 1.05;
        let fills = |bits: f64, part: f64| bits > 0.0 && bits >= part * self.bits;
        let mostly = |bits| fills(bits, MAIN_SHARE);
        let bulk = fills(self.bulk_bits, MIN_FILLING_SHARE);
        let drops_early = match queue {
            DropPolicy::DropTail => false,
            DropPolicy::Red(_) | DropPolicy::Rio(_) => bulk,
            DropPolicy::Managed(_) => self.bits > 0.0,
        };
        let in_order = self.after.iter().any(|&(_, bits)| mostly(bits));
        // Packets do not wait behind a single link that is not faster.
        let is_paced =
            self.acks_bits == 0.0 && self.after.iter().any(|&(_, bits)| fills(bits, FULL_SHARE));
        let is_busy = busy > Estimate::BUSY;
        let longer = self.size_variation_factor();
        let all = [
            (bulk && queue == DropPolicy::DropTail, Estimate::Profiles),
            (drops_early, Estimate::EarlyDrops),
            (
                fills(self.transfers_bits, MIN_FILLING_SHARE),
                Estimate::Transfers,
            ),
            (fills(self.bursts_bits, MIN_FILLING_SHARE), Estimate::Bursts),
            (self.acks_bits > self.bits, Estimate::Acks),
            (mostly(self.constant_bits) && !is_paced, Estimate::Constant),
            (in_order && !is_paced, Estimate::InOrder),
            (longer > SIZE_FACTOR && !is_paced, Estimate::Sizes),
            (longer < 1.0 / SIZE_FACTOR && !is_paced, Estimate::Alike),
        ];
        let of = all.into_iter().filter_map(|(is, of)| is.then_some(of));
        of.filter(move |&of| is_busy || of == Estimate::Bursts)
    }

    /// Returns the first of the [reasons](Self::reasons).
    pub fn estimate(&self, queue: DropPolicy, busy: f64) -> Option<Estimate> {
        self.reasons(queue, busy).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, NetworkBuilder, Red};

    #[test]
    fn the_first_reason_counts() {
        let mut builder = NetworkBuilder::new();
        let [a, b] = [builder.node("a"), builder.node("b")];
        let plain = LinkSpec::new(a, b, 1e6);
        let above = builder.link(plain.clone());
        let other = builder.link(LinkSpec::new(b, a, 1e6));
        let of = |all: &[(TrafficKind, f64, f64, Option<LinkId>)]| {
            let mut filled = TrafficMix::default();
            for &(kind, pkts, bits, after) in all {
                filled.add(kind, pkts, bits, after);
            }
            filled.estimate(DropPolicy::DropTail, 0.6)
        };
        // The sizes vary about as much as exponential ones.
        let of_sizes = |pkts| {
            [
                (TrafficKind::Other, pkts, 2e3, None),
                (TrafficKind::Other, 0.25 * pkts, 12e3, None),
            ]
        };
        let random = |pkts| (TrafficKind::Other, pkts, 1e4, None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&of_sizes(1.0)), None);
        assert_eq!(of(&[random(1.0)]), Some(Estimate::Alike));
        let alike = Some(Estimate::Alike);
        let with = |kind, pkts| of(&[random(9.0), (kind, pkts, 1e4, None)]);
        assert_eq!(with(TrafficKind::Bulk, 1.1), Some(Estimate::Profiles));
        assert_eq!(with(TrafficKind::Bulk, 0.9), alike);
        assert_eq!(with(TrafficKind::Transfers, 1.1), Some(Estimate::Transfers));
        assert_eq!(with(TrafficKind::Bursts, 1.1), Some(Estimate::Bursts));
        assert_eq!(with(TrafficKind::Constant, 8.0), alike);
        assert_eq!(with(TrafficKind::Constant, 9.1), Some(Estimate::Constant));
        // Half of the traffic from each of two links competes; all of it from one link does not.
        let from = |after| (TrafficKind::Other, 1.0, 1e4, Some(after));
        assert_eq!(of(&[from(above), from(other), random(0.1)]), alike);
        assert_eq!(
            of(&[from(above), from(above), random(0.1)]),
            Some(Estimate::InOrder)
        );
        // Ten small packets for each large one.
        let small = (TrafficKind::Other, 10.0, 800.0, None);
        assert_eq!(
            of(&[small, (TrafficKind::Other, 1.0, 12_000.0, None)]),
            Some(Estimate::Sizes)
        );
        let red = Red {
            min_pkts: 5.0,
            max_pkts: 15.0,
            max_p: 0.1,
            weight: 0.002,
            gentle: false,
            ecn: false,
            hard_drop: true,
        };
        let mut bulk = TrafficMix::default();
        bulk.add(TrafficKind::Bulk, 1.0, 1e4, None);
        assert_eq!(
            bulk.estimate(DropPolicy::Red(red), 0.6),
            Some(Estimate::EarlyDrops)
        );
        let mut some = TrafficMix::default();
        some.add(TrafficKind::Transfers, 1.0, 1e4, None);
        some.add(TrafficKind::Constant, 6.0, 1e4, None);
        let at = |busy| some.estimate(DropPolicy::DropTail, busy);
        assert_eq!([at(0.005), at(0.02)], [None, Some(Estimate::Transfers)]);
        // 32 acknowledgements have more bits than the data packet.
        let mut acked = TrafficMix::default();
        acked.add(TrafficKind::Other, 1.0, 1e4, None);
        acked.add_acks(31.0);
        assert_eq!(acked.estimate(DropPolicy::DropTail, 0.6), alike);
        acked.add_acks(1.0);
        let acks = acked.estimate(DropPolicy::DropTail, 0.6);
        assert_eq!(acks, Some(Estimate::Acks));
        // Equal numbers of packets of 6 and 12 kbit.
        let mut mixed = TrafficMix::default();
        mixed.add(TrafficKind::Other, 1.0, 6e3, None);
        mixed.add(TrafficKind::Other, 1.0, 12e3, None);
        let bytes = LinkSpec {
            buffer: Buffer::Bytes(1e4),
            ..plain.clone()
        };
        assert!(mixed.loss_is_size_dependent(&bytes, 0.01));
        assert!(!mixed.loss_is_size_dependent(&bytes, 1e-4));
        assert!(!mixed.loss_is_size_dependent(&plain, 0.01));
        assert!(!bulk.loss_is_size_dependent(&bytes, 0.01));
    }
}
