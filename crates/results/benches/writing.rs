//! How fast the series are written: a hundred-node network's 200 intervals of 240 links and 180
//! connections, as many values as a real run has, none of them round.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netflow_results::{CONNECTIONS, Format, LINKS, Names, Table, export};

const INTERVALS: usize = 200;

fn write(directory: &std::path::Path, table: Table, format: Format, names: &Names) {
    let mut exporter = export(directory, table, format, &[names]).expect("a temporary directory");
    let mut state = 1_u64;
    let mut values = vec![0.0; table.values.len()];
    for interval in 1..=INTERVALS {
        exporter.interval(interval as f64 * 0.5);
        for key in 0..names.len() {
            for value in &mut values {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *value = (state >> 40) as f64 / 16_777_216.0 * 100.0;
            }
            exporter.row(&[key], &values).expect("room for a row");
        }
    }
    exporter.finish().expect("room for the file");
}

fn writing(c: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let links: Names = (0..240).map(|i| format!("N{i}->N{}", i + 1)).collect();
    let connections: Names = (0..180).map(|i| format!("c{i}")).collect();
    let values = INTERVALS
        * (links.len() * LINKS.values.len() + connections.len() * CONNECTIONS.values.len());

    let mut group = c.benchmark_group("writing");
    group.throughput(Throughput::Elements(values as u64));
    for format in Format::ALL
        .into_iter()
        .filter(|format| format.is_available())
    {
        group.bench_function(format.name(), |b| {
            b.iter(|| {
                write(directory.path(), LINKS, format, &links);
                write(directory.path(), CONNECTIONS, format, &connections);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, writing);
criterion_main!(benches);
