//! Tests that Parquet files, read by the library, contain every time, name and number at its place.
#![cfg(feature = "parquet")]

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{Array, RecordBatch};
use netflow_results::{CLASSES, Format, LINKS, Names, Table, export};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::collection::vec;
use proptest::prelude::*;

/// A row: its interval, its name indices and its numbers.
type Row = (usize, Vec<usize>, Vec<f64>);

fn time_s(interval: usize) -> f64 {
    0.25 * interval as f64
}

/// Writes rows and returns a reader of the library.
fn write_table(
    table: Table,
    names: &[&Names],
    rows: &[Row],
) -> ParquetRecordBatchReaderBuilder<File> {
    let place = tempfile::tempdir().unwrap();
    let mut exporter = export(place.path(), table, Format::Parquet, names).unwrap();
    let mut interval = usize::MAX;
    for (of, keys, values) in rows {
        if *of != interval {
            interval = *of;
            exporter.interval(time_s(interval));
        }
        exporter.row(keys, values).unwrap();
    }
    let file = exporter.finish().unwrap();
    let path = file.path().to_owned();
    netflow_files::publish(&[], [file]).unwrap();
    ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap()
}

/// Writes rows and reads them back. Returns the rows and the number of row groups.
fn write_and_read(table: Table, names: &[&Names], rows: &[Row]) -> (Vec<RecordBatch>, usize) {
    let reader = write_table(table, names, rows);
    let groups = reader.metadata().num_row_groups();
    for group in reader.metadata().row_groups() {
        let statistics = group.column(0).statistics().unwrap();
        assert!(statistics.min_bytes_opt().is_some() && statistics.max_bytes_opt().is_some());
    }
    let batches = reader.build().unwrap();
    (batches.map(Result::unwrap).collect(), groups)
}

fn compare(table: Table, names: &[&Names], rows: &[Row]) -> usize {
    let (batches, groups) = write_and_read(table, names, rows);
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(count, rows.len());
    let mut expected = rows.iter();
    for batch in &batches {
        let columns: Vec<&str> = batch
            .schema_ref()
            .fields()
            .iter()
            .map(|it| it.name().as_str())
            .collect();
        assert!(columns.iter().copied().eq(table.columns()));
        let times = batch.column(0).as_primitive::<Float64Type>();
        for (row, (of, keys, values)) in (0..batch.num_rows()).zip(&mut expected) {
            assert_eq!(times.value(row), time_s(*of));
            for (column, (&key, names)) in keys.iter().zip(names).enumerate() {
                let column = batch.column(1 + column).as_dictionary::<Int32Type>();
                let texts = column.values().as_string::<i32>();
                assert_eq!(texts.value(column.keys().value(row) as usize), names[key]);
            }
            for (column, &value) in values.iter().enumerate() {
                let column = batch
                    .column(1 + keys.len() + column)
                    .as_primitive::<Float32Type>();
                if value.is_nan() {
                    assert!(column.is_null(row))
                } else {
                    assert_eq!(column.value(row).to_bits(), (value as f32).to_bits())
                }
            }
        }
    }
    groups
}

fn names(count: usize, of: &str) -> Names {
    (0..count).map(|i| format!("{of} \"{i}\" ü")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_round_trip(
        (links, connections) in (1..300_usize, 1..70_usize),
        intervals in vec((0..40_usize, 0..400_usize), 0..8),
        gaps in 0..3_u32,
        seed in any::<u64>(),
    ) {
        let mut random = seed | 1;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let mut rows = Vec::new();
        for (i, &(step, count)) in intervals.iter().enumerate() {
            for _ in 0..count * 4 {
                let keys = vec![next() as usize % links, next() as usize % connections];
                let number = |it: u64| if gaps > 0 && it % 4 < u64::from(gaps) { f64::NAN } else { f64::from_bits(it >> 2 | 0x3000_0000_0000_0000) };
                let values = CLASSES.values.iter().map(|_| number(next())).collect();
                rows.push((100 * i + step, keys, values));
            }
        }
        compare(CLASSES, &[&names(links, "l"), &names(connections, "c")], &rows);
    }
}

/// A row group has 131 072 rows.
#[test]
fn row_groups_are_consecutive() {
    let links = names(1000, "l");
    let row = |i: usize| {
        let value = |column: usize| (i * (column + 1)) as f64;
        let values = (0..LINKS.values.len()).map(value).collect();
        (i / 1000, vec![i % 1000], values)
    };
    let rows: Vec<Row> = (0..300_000).map(row).collect();
    assert_eq!(compare(LINKS, &[&links], &rows), 3);
}

/// Names that do not compress have no influence on the compression of the indices, which repeat.
#[test]
fn name_indices_are_compressed() {
    let mut random = 1_u64;
    let mut name = |_| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{random:x}")
    };
    let links: Names = (0..1000).map(&mut name).collect();
    let row = |i: usize| (i / 1000, vec![i % 1000], vec![0.0; LINKS.values.len()]);
    let rows: Vec<Row> = (0..100_000).map(row).collect();
    let reader = write_table(LINKS, &[&links], &rows);
    let chunk = reader.metadata().row_group(0).column(1);
    // Ten bits per index are 125 000 bytes; the names are about 16 000 bytes.
    assert!(
        chunk.compressed_size() < 40_000,
        "{}",
        chunk.compressed_size()
    );
    assert_eq!(compare(LINKS, &[&links], &rows), 1);
}

#[test]
fn empty_table_is_valid_parquet() {
    assert_eq!(compare(LINKS, &[&Names::new()], &[]), 0);
}
