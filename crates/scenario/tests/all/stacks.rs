//! Features of TCP variants, and settings that they do not support.

use super::valid::{problem_of, with_options};

/// Regression: a Reno sender with 0.7 as the window factor was accepted, though no such TCP exists.
#[test]
fn unsupported_stack_settings_are_rejected() {
    let of = |source: &str| format!("connection.c1.source={source}");
    for stack in ["ns-2.35", "rfc6298", "linux-2.0.34"] {
        let said = problem_of(&[&of(&format!(
            "{{ tcp = \"{stack}\", congestion = \"cubic\" }}"
        ))]);
        assert!(
            said.contains("supports only the congestion control `reno`"),
            "{said}"
        );
        let said = problem_of(&[&of(&format!("{{ tcp = \"{stack}\", ecn = true }}"))]);
        assert!(said.contains("does not support ECN"), "{said}");
        let reno = of(&format!("{{ tcp = \"{stack}\", congestion = \"reno\" }}"));
        with_options(&[&reno]).unwrap_or_else(|problems| panic!("{problems}"));
    }
    let dctcp = of("{ tcp = \"linux-6\", congestion = \"dctcp\", ecn = false }");
    let said = problem_of(&[&dctcp]);
    assert!(said.contains("`dctcp` needs ECN marks"), "{said}");
}

/// BBR version 3 ignores marks without `ecn-low`, which no key of a scenario sets.
#[test]
fn bbr3_with_ecn_has_a_warning() {
    let warnings = |ecn: &str| {
        let source =
            format!("connection.c1.source={{ tcp = \"linux-6\", congestion = \"bbr3\"{ecn} }}");
        let prepared = with_options(&[&source]).unwrap_or_else(|problems| panic!("{problems}"));
        let all = prepared.warnings.iter().map(ToString::to_string);
        all.filter(|it| it.contains("`bbr3` does not respond to ECN marks"))
            .count()
    };
    assert_eq!(warnings(""), 0);
    assert_eq!(warnings(", ecn = true"), 1);
}

#[test]
fn dctcp_without_marks_is_reno() {
    let source = "connection.c1.source={ tcp = \"linux-6\", congestion = \"dctcp\" }";
    let warnings = |options: &[&str]| {
        let prepared = with_options(options).unwrap_or_else(|problems| panic!("{problems}"));
        let all = prepared.warnings.iter().map(ToString::to_string);
        all.filter(|it| it.contains("`dctcp` reacts only to losses: no queue marks packets"))
            .count()
    };
    assert_eq!(warnings(&[source]), 1);
    assert_eq!(warnings(&[source, "link.A->B.queue=fq-codel"]), 0);
}

/// DCTCP at DualPI2 is not L4S traffic.
#[test]
fn dctcp_at_dualpi2_has_a_warning() {
    let warnings = |congestion: &str, queue: &str| {
        let source =
            format!("connection.c1.source={{ tcp = \"linux-6\", congestion = \"{congestion}\" }}");
        let options = [source.as_str(), queue];
        let prepared = with_options(&options).unwrap_or_else(|problems| panic!("{problems}"));
        let all = prepared.warnings.iter().map(ToString::to_string);
        all.filter(|it| it.contains("into the classic queue"))
            .count()
    };
    assert_eq!(warnings("dctcp", "link.A->B.queue=dualpi2"), 1);
    assert_eq!(warnings("dctcp", "link.A->B.queue=fq-codel"), 0);
    assert_eq!(warnings("prague", "link.A->B.queue=dualpi2"), 0);
}

/// DCTCP may send ECT(1), Prague always does, and controls that react to each mark as to a loss may not.
#[test]
fn l4s_is_a_setting_of_scalable_controls() {
    let prepared = |congestion: &str, l4s: bool| {
        let source = format!(
            "connection.c1.source={{ tcp = \"linux-6\", congestion = \"{congestion}\", l4s = {l4s} }}"
        );
        with_options(&[&source, "link.A->B.queue=dualpi2"])
    };
    let dctcp = prepared("dctcp", true).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(
        dctcp
            .warnings
            .iter()
            .all(|it| !it.to_string().contains("classic queue"))
    );
    let network = dctcp.network;
    let is_l4s = |id| {
        let source = &network.connection_spec(id).source;
        matches!(source, netflow_network::Source::Tcp(stack) if stack.is_l4s())
    };
    assert!(network.connections().any(is_l4s));
    assert!(prepared("prague", true).is_ok() && prepared("dctcp", false).is_ok());
    for (congestion, l4s) in [("cubic", true), ("bbr3", true), ("prague", false)] {
        let problems = prepared(congestion, l4s).unwrap_err().to_string();
        assert!(problems.contains("leave out `l4s`"), "{problems}");
    }
}

#[test]
fn segmentation_offload_is_a_setting() {
    let prepared = |tcp: &str| {
        let source =
            format!("connection.c1.source={{ tcp = \"{tcp}\", segmentation-offload = true }}");
        with_options(&[&source]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let warns = |tcp: &str| {
        let prepared = prepared(tcp);
        let mut all = prepared.warnings.iter().map(ToString::to_string);
        all.any(|it| it.contains("`segmentation-offload` has no effect"))
    };
    assert!(!warns("linux-6") && warns("rfc6298"));
    let network = prepared("linux-6").network;
    let has_offload = |id| {
        let source = &network.connection_spec(id).source;
        matches!(source, netflow_network::Source::Tcp(stack) if stack.segmentation_offload)
    };
    assert!(network.connections().any(has_offload));
}
