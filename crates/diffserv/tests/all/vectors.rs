//! Test vectors of the RFCs and of \[Cond\], packet by packet, from independent programs
//! (`tests/reference/math` in the repository root).

use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, Dp2Ratio, DropPrecedence, GivenInputs, GreenShare,
    Kind, Minima, SrTcm, TrTcm,
};

fn rows(name: &str) -> Vec<csv::StringRecord> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/math/");
    csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(format!("{folder}{name}"))
        .unwrap()
        .records()
        .map(Result::unwrap)
        .collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

fn colour(text: &str) -> DropPrecedence {
    match text {
        "G" => DropPrecedence::Dp0,
        "Y" => DropPrecedence::Dp1,
        "R" => DropPrecedence::Dp2,
        other => panic!("colour {other}"),
    }
}

/// Compares the rows: t, bytes, colour before, colour, tokens of both buckets after the packet.
fn assert_marker_matches(
    name: &str,
    mut mark: impl FnMut(u64, u32, DropPrecedence) -> (DropPrecedence, (f64, f64)),
) {
    let rows = rows(name);
    assert_eq!(rows.len(), 18, "{name}");
    for (i, row) in rows.iter().enumerate() {
        let now_ns = (number(&row[0]) * 1e9).round() as u64;
        let bytes = row[1].parse().unwrap();
        let (found, tokens) = mark(now_ns, bytes, colour(&row[2]));
        assert_eq!(found, colour(&row[3]), "{name}, row {i}");
        assert_eq!(
            tokens,
            (number(&row[4]), number(&row[5])),
            "{name}, row {i}"
        );
    }
}

/// RFC 2697 with CIR 1000 B/s, CBS and EBS 2000 B.
#[test]
fn single_rate_marker_matches_its_vectors() {
    let new = || SrTcm::new(8000, 2000, 2000).unwrap();
    let mut marker = new();
    assert_marker_matches("srtcm_blind.csv", |now, bytes, _| {
        (marker.mark(now, bytes), marker.tokens_bytes())
    });
    let mut marker = new();
    assert_marker_matches("srtcm_aware.csv", |now, bytes, before| {
        (marker.remark(now, bytes, before), marker.tokens_bytes())
    });
}

/// RFC 2698 with CIR 1000 B/s, CBS 2000 B, PIR 2000 B/s, PBS 3000 B.
#[test]
fn two_rate_marker_matches_its_vectors() {
    let new = || TrTcm::new(8000, 2000, 16_000, 3000).unwrap();
    let mut marker = new();
    assert_marker_matches("trtcm_blind.csv", |now, bytes, _| {
        (marker.mark(now, bytes), marker.tokens_bytes())
    });
    let mut marker = new();
    assert_marker_matches("trtcm_aware.csv", |now, bytes, before| {
        (marker.remark(now, bytes, before), marker.tokens_bytes())
    });
}

/// \[Cond\] Fig. 1 as printed, squared, and with the root of eq. 9.
#[test]
fn rtt_rto_marks_with_the_probabilities_of_the_figure() {
    let rows = rows("rttrto_marking.csv");
    assert_eq!(rows.len(), 42);
    for (i, row) in rows.iter().enumerate() {
        let n: Vec<f64> = row.iter().map(number).collect();
        let of = |in_profile, ratio| {
            let mut spec = ConditionerSpec::new(Kind::RttRto, n[1], None);
            (spec.in_profile, spec.ratio) = (in_profile, ratio);
            let (smallest, own) = (
                Aggregate::new(n[2] / 1e3, n[4] / 1e3),
                Aggregate::new(n[3] / 1e3, n[5] / 1e3),
            );
            let known = GivenInputs {
                aggregate: own,
                minima: Minima::over([&smallest, &own]),
            };
            let conditioner = Conditioner::new(spec).unwrap();
            conditioner.fractions(n[0], &known).unwrap().to_array()
        };
        let check = |found: f64, column: usize| {
            assert!(
                (found - n[column]).abs() < 1e-12,
                "row {i}, column {column}: {found}"
            );
        };
        let plain = of(GreenShare::Plain, Dp2Ratio::Printed);
        (0..3).for_each(|c| check(plain[c], 9 + c));
        let squared = of(GreenShare::Squared, Dp2Ratio::Printed);
        (0..3).for_each(|c| check(squared[c], 12 + c));
        let root = of(GreenShare::Plain, Dp2Ratio::Root);
        (1..3).for_each(|c| check(root[c], 14 + c));
    }
}
