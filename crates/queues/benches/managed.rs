//! Cost per packet of a queue with active queue management. Packets of 1000 B arrive at a link with a service
//! time of 1 ms, at loads of 3/4 and 4/3.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netflow_queues::{Aqm, AqmQueue, Buffer, PacketDetails, PacketInfo};

const PACKETS: u64 = 20_000;
const SERVICE_NS: u64 = 1_000_000;

/// Enqueues [`PACKETS`] packets of 100 flows in turn, one every `gap_ns`, and returns the number sent.
fn play(aqm: Aqm, gap_ns: u64) -> u64 {
    let mut queue = AqmQueue::new(aqm, Buffer::Packets(1000), 1);
    let (mut dropped, mut free_ns, mut sent) = (Vec::new(), 0, 0);
    for number in 0..PACKETS {
        let now_ns = number * gap_ns;
        while free_ns < now_ns && queue.dequeue(free_ns, &mut dropped).is_some() {
            free_ns += SERVICE_NS;
            sent += 1;
        }
        free_ns = free_ns.max(now_ns);
        let info = PacketInfo {
            bytes: 1000,
            flow: number % 100,
            ..PacketInfo::default()
        };
        queue.enqueue(now_ns, number, info, PacketDetails::default, &mut dropped);
        dropped.clear();
    }
    sent
}

fn managed(c: &mut Criterion) {
    let mut group = c.benchmark_group("managed");
    group.throughput(Throughput::Elements(PACKETS));
    for aqm in Aqm::all() {
        let name = aqm.name();
        for (load, gap_ns) in [("light", SERVICE_NS * 4 / 3), ("heavy", SERVICE_NS * 3 / 4)] {
            group.bench_function(format!("{name}/{load}"), |b| {
                b.iter(|| play(black_box(aqm), gap_ns))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, managed);
criterion_main!(benches);
