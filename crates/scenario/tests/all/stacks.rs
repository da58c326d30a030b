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
