//! Merge of the arrivals from several wires: a stable bucket sort by arrival time.

use crate::link::wire::Packet;

/// Packets of a batch, and scratch memory to sort them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// Packets in any order.
    pub packets: Vec<Packet>,
    sorted: Vec<Packet>,
    /// End of each bucket in `sorted`.
    ends: Vec<u32>,
}

/// Maximum number of packets that are sorted by insertion.
const MAX_INSERTION_SORT: usize = 16;

impl Batch {
    /// Returns the packets sorted by [`Packet::order`]. The sort is stable.
    ///
    /// Arrival times are spread over the batch. So packets are distributed to buckets of equal duration,
    /// about one packet each. Packets in the same bucket are sorted by comparison.
    pub fn sorted(&mut self) -> &[Packet] {
        let n = self.packets.len();
        if n <= MAX_INSERTION_SORT {
            insert(&mut self.packets);
            return &self.packets;
        }
        let times = || self.packets.iter().map(|p| p.time_ns);
        let first_ns = times().fold(u64::MAX, u64::min);
        let span_ns = times().fold(0, u64::max) - first_ns;
        // Buckets last 2^bits ns, so that there are at most two per packet.
        let bits = (span_ns / n as u64).checked_ilog2().unwrap_or(0);
        let bucket = |p: &Packet| ((p.time_ns - first_ns) >> bits) as usize;
        self.ends.clear();
        self.ends.resize((span_ns >> bits) as usize + 1, 0);
        for packet in &self.packets {
            self.ends[bucket(packet)] += 1;
        }
        let mut all = 0;
        for end in &mut self.ends {
            // For now, the start of the bucket.
            all += std::mem::replace(end, all);
        }
        self.sorted.resize(n, Packet::default());
        for packet in &self.packets {
            let place = &mut self.ends[bucket(packet)];
            self.sorted[*place as usize] = *packet;
            *place += 1;
        }
        let mut from = 0;
        for &end in &self.ends {
            match &mut self.sorted[from..end as usize] {
                [] | [_] => {}
                some if some.len() <= MAX_INSERTION_SORT => insert(some),
                many => many.sort_by_key(Packet::order),
            }
            from = end as usize;
        }
        &self.sorted
    }
}

/// Sorts packets by insertion (stable).
fn insert(packets: &mut [Packet]) {
    for i in 1..packets.len() {
        let packet = packets[i];
        let mut j = i;
        while j > 0 && packets[j - 1].order() > packet.order() {
            packets[j] = packets[j - 1];
            j -= 1;
        }
        packets[j] = packet;
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg32;

    use super::*;

    /// The result equals that of a stable sort: small and large batches, spread or simultaneous arrivals,
    /// outliers.
    #[test]
    fn batch_sort_is_stable() {
        let mut random = Pcg32::seed_from_u64(1);
        let mut next = |most: u64| random.random_range(0..most);
        let mut batch = Batch::default();
        for n in [0, 1, 2, 16, 17, 40, 300, 5000] {
            for span_ns in [1, 3, 1000, 1 << 30] {
                batch.packets = (0..n)
                    .map(|i| Packet {
                        time_ns: 7 + next(span_ns) + if next(50) == 0 { span_ns << 20 } else { 0 },
                        metadata: i,
                        hop: next(5) as u32,
                        seq: 0,
                    })
                    .collect();
                let mut wanted = batch.packets.clone();
                wanted.sort_by_key(Packet::order);
                assert_eq!(batch.sorted(), wanted, "{n} {span_ns}");
            }
        }
    }
}
