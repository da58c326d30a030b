//! Errors for invalid settings, with the problem and the allowed range.

use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, Curve, Discipline, Dropper, DropperSpec, Error,
    GivenInputs, Kind, Marker, SrTcm, TokenBucket, TrTcm, Tsw,
};

fn error_message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_peak_below_the_committed_rate() {
    let message = "the peak rate, 1000000 bit/s, is below the committed rate, 2000000 bit/s";
    let spec = ConditionerSpec::new(Kind::Standard, 2e6, Some(1e6));
    assert_eq!(error_message(Conditioner::new(spec)), message);
    assert_eq!(
        error_message(TrTcm::new(2_000_000, 1000, 1_000_000, 1000)),
        message
    );
    let spec = ConditionerSpec::new(Kind::Standard, 2e6, None);
    assert_eq!(
        error_message(Conditioner::new(spec)),
        "conditioner `standard` needs a peak rate"
    );
}

#[test]
fn thresholds_out_of_order() {
    let with = |curves| {
        let mut spec = DropperSpec::habib_2002(Discipline::RioC, 1000.0, 100);
        spec.curves = curves;
        error_message(Dropper::new(spec))
    };
    let [a, b, c] = DropperSpec::habib_2002(Discipline::RioC, 1000.0, 100).curves;
    assert_eq!(with([a, b, c]), "accepted");
    assert_eq!(
        with([Curve::new(55.0, 40.0, 0.02), b, c]),
        "thresholds of DP0: the upper one, 40 packets, must be above the lower one, 55"
    );
    assert_eq!(
        with([a, c, b]),
        "DP2 must have at least the drop probability of DP1: the lower threshold of DP2 is 25, allowed is at most 10 as for DP1"
    );
    assert_eq!(
        with([a, b, Curve::new(10.0, 25.0, 1.5)]),
        "max_p is 1.5, allowed is above 0 to 1"
    );
}

#[test]
fn an_unknown_conditioner() {
    let error = "rtt_rto".parse::<Kind>().unwrap_err();
    assert_eq!(error.to_string(), "unknown conditioner `rtt_rto`");
    assert_eq!(
        error.help().unwrap(),
        "did you mean `rtt-rto`? allowed: standard, rtt, rtt-rto, sw, rtt-sw"
    );
    assert!("x".repeat(1_000_000).parse::<Kind>().is_err());
}

#[test]
fn a_missing_round_trip_time() {
    let of = |kind, known: &GivenInputs| {
        let conditioner = Conditioner::new(ConditionerSpec::new(kind, 1e6, Some(2e6))).unwrap();
        let fractions = error_message(conditioner.fractions(3e6, known));
        let marker = error_message(Marker::new(conditioner, known, 0, 1));
        (fractions, marker)
    };
    let nothing = GivenInputs::default();
    let missing = "conditioner `rtt` needs the RTT of the aggregate".to_owned();
    assert_eq!(of(Kind::Rtt, &nothing), (missing.clone(), missing));
    let own = GivenInputs {
        aggregate: Aggregate::new(0.1, 0.2),
        ..nothing
    };
    let missing = "conditioner `rtt-rto` needs the smallest RTT of all aggregates".to_owned();
    assert_eq!(of(Kind::RttRto, &own), (missing.clone(), missing));
    let windows = "conditioner `sw` needs the windows of the aggregate's connections";
    assert_eq!(of(Kind::SmallWindow, &nothing).0, windows);
}

#[test]
fn numbers_out_of_range() {
    assert_eq!(
        error_message(TokenBucket::new(1, 2_000_000_000)),
        "burst in B is 2000000000, allowed is 0 to 1e9"
    );
    assert_eq!(
        error_message(SrTcm::new(1, 0, 0)),
        "excess burst in B is 0, allowed is 1 to 1e9 if the committed burst is 0"
    );
    assert_eq!(
        error_message(Tsw::new(f64::NAN, 1.0, 0)),
        "initial rate in bit/s is NaN, allowed is 0 to 1e18"
    );
    assert_eq!(
        error_message(Tsw::new(1.0, 0.0, 0)),
        "averaging interval in s is 0, allowed is 1e-9 to 1e9"
    );
}
