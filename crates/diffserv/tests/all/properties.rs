//! Properties that hold for all settings and streams.

use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, Curve, DiffServQueue, Discipline, Dp2Ratio,
    DropPrecedence, Dropper, DropperSpec, GivenInputs, GreenShare, Kind, Marker, Minima, SrTcm,
    TokenBucket, TrTcm,
};
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop::sample::select(vec![
        Discipline::Red,
        Discipline::RioC,
        Discipline::RioD,
        Discipline::Wred,
    ])
}

fn precedence() -> impl Strategy<Value = DropPrecedence> {
    prop::sample::select(DropPrecedence::ALL.to_vec())
}

fn known(rtt_s: f64, rto_s: f64, window: f64) -> GivenInputs {
    let aggregate = Aggregate {
        window_pkts: Some(window),
        ..Aggregate::new(rtt_s, rto_s)
    };
    GivenInputs {
        aggregate,
        minima: Minima::over([&aggregate, &Aggregate::new(0.01, 0.2)]),
    }
}

proptest! {
    #[test]
    fn colours_sum_to_one_and_within_the_committed_rate_all_is_green(
        kind in kind(), rate in 0.0..1e9_f64, committed in 0.0..1e8_f64, above in 0.0..1e8_f64,
        rtt in 1e-3..1.0_f64, rto in 0.2..3.0_f64, window in 1.0..10.0_f64, squared: bool, root: bool,
    ) {
        let mut spec = ConditionerSpec::new(kind, committed, Some(committed + above));
        if squared { spec.in_profile = GreenShare::Squared; }
        if root { spec.ratio = Dp2Ratio::Root; }
        let f = Conditioner::new(spec).unwrap().fractions(rate, &known(rtt, rto, window)).unwrap();
        let parts = f.to_array();
        prop_assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{f:?}");
        prop_assert!(parts.iter().all(|p| (0.0..=1.0).contains(p)), "{f:?}");
        if rate <= committed {
            prop_assert_eq!(parts, [1.0, 0.0, 0.0]);
        }
    }

    /// Packets evenly spaced at most at the committed rate.
    #[test]
    fn a_conforming_stream_stays_green(
        kind in kind(), committed in 1_000_000..100_000_000_u64, part in 0.1..1.0_f64, bytes in 40..1500_u32,
    ) {
        let spec = ConditionerSpec::new(kind, committed as f64, Some(2.0 * committed as f64));
        let mut marker =
            Marker::new(Conditioner::new(spec).unwrap(), &known(0.1, 0.5, 5.0), 0, 1).unwrap();
        let mut srtcm = SrTcm::new(committed, 1500, 0).unwrap();
        let mut trtcm = TrTcm::new(committed, 1500, committed, 1500).unwrap();
        let mut bucket = TokenBucket::new(committed, 1500).unwrap();
        let gap_ns = (f64::from(bytes) * 8e9 / (part * committed as f64)).ceil() as u64 + 1;
        for i in 1..500 {
            let now = i * gap_ns;
            prop_assert_eq!(marker.mark(now, bytes, Some(5.0)), DropPrecedence::Dp0);
            prop_assert_eq!(srtcm.mark(now, bytes), DropPrecedence::Dp0);
            prop_assert_eq!(trtcm.mark(now, bytes), DropPrecedence::Dp0);
            prop_assert!(bucket.conforms(now, bytes));
        }
    }

    /// Green in any time t is at most CIR·t + CBS; green and yellow are at most PIR·t + PBS.
    #[test]
    fn buckets_conserve_tokens(
        packets in prop::collection::vec((0..5_000_000_u64, 1..3000_u32, precedence()), 1..300),
    ) {
        let mut srtcm = SrTcm::new(3_000_000, 4000, 2000).unwrap();
        let mut trtcm = TrTcm::new(1_000_000, 4000, 3_000_000, 5000).unwrap();
        let (mut now, mut sr, mut tr) = (0, [0_u64; 3], [0_u64; 3]);
        for (gap, bytes, before) in packets {
            now += gap;
            let (a, b) = (srtcm.remark(now, bytes, before), trtcm.remark(now, bytes, before));
            prop_assert!(a >= before && b >= before);
            sr[a.index()] += u64::from(bytes);
            tr[b.index()] += u64::from(bytes);
            let brought = |bps: u64| bps as f64 * now as f64 / 8e9;
            prop_assert!(sr[0] as f64 <= brought(3_000_000) + 4000.0);
            prop_assert!((sr[0] + sr[1]) as f64 <= brought(3_000_000) + 6000.0);
            prop_assert!(tr[0] as f64 <= brought(1_000_000) + 4000.0);
            prop_assert!((tr[0] + tr[1]) as f64 <= brought(3_000_000) + 5000.0);
        }
    }

    #[test]
    fn drops_rise_with_the_precedence_and_the_average(
        discipline in discipline(), gentle: bool, a in 0.0..120.0_f64, more in 0.0..50.0_f64,
    ) {
        let mut spec = DropperSpec::habib_2002(discipline, 1000.0, 100);
        spec.gentle = gentle;
        let dropper = Dropper::new(spec).unwrap();
        let (low, high) = (dropper.drop_probabilities([a; 3]), dropper.drop_probabilities([a + more; 3]));
        for i in 0..3 {
            prop_assert!((0.0..=1.0).contains(&low[i]));
            prop_assert!(low[i] <= high[i] + 1e-12);
            prop_assert!(i == 0 || low[i - 1] <= low[i] + 1e-12);
        }
    }

    /// For every colour, admitted = departed + queued, and the queue never exceeds its buffer.
    #[test]
    fn packets_are_conserved_colour_by_colour(
        discipline in discipline(), room in 1..40_u32,
        steps in prop::collection::vec((0..3_000_000_u64, precedence(), any::<bool>()), 1..400),
    ) {
        let mut spec = DropperSpec::habib_2002(discipline, 1000.0, room);
        spec.curves = [Curve::new(8.0, 30.0, 0.1), Curve::new(4.0, 20.0, 0.2), Curve::new(1.0, 10.0, 0.5)];
        spec.weight = 0.2;
        let mut queue = DiffServQueue::new(Dropper::new(spec).unwrap(), 0, 9);
        let (mut now, mut balance) = (0, [0_u32; 3]);
        for (gap, p, arrives) in steps {
            now += gap;
            if arrives {
                balance[p.index()] += u32::from(queue.admit(now, 1000, p));
            } else {
                queue.depart(now, 1000, p);
                balance[p.index()] = balance[p.index()].saturating_sub(1);
            }
            prop_assert_eq!(queue.queue_pkts(), balance);
            prop_assert!(balance.iter().sum::<u32>() <= room);
            prop_assert!(queue.average_pkts().iter().all(|a| (0.0..=f64::from(room)).contains(a)));
        }
    }
}
