//! Stacks: the built-in ones, reference timeouts, and valid and invalid descriptions in TOML.

use netflow_document::{Problem, Words};
use netflow_tcpmodel::{CongestionControl, Recovery, RtoRule, Stack, builtin_names};

#[test]
fn every_built_in_stack_is_valid() {
    for name in builtin_names() {
        let stack = Stack::builtin(name).unwrap();
        assert_eq!(stack.name, *name);
        assert_eq!(stack.check(), Ok(()));
    }
    assert_eq!(Stack::builtin("linux"), None);
}

/// The first measurement sets srtt = R and rttvar = R/2 (RFC 6298, 2.2), so srtt + 4·rttvar = 3R.
#[test]
fn the_first_timeout_follows_the_rto_rule() {
    let rto_s = |name, rtt_s| Stack::builtin(name).unwrap().rto_s(rtt_s);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    // [Short]: max(6·delay, 200 ms).
    close(rto_s("linux-2.0.34", 0.02), 0.2);
    close(rto_s("linux-2.0.34", 0.1), 0.3);
    // Linux since 2.4: srtt + max(4·rttvar, 200 ms).
    close(rto_s("linux-6", 0.02), 0.22);
    close(rto_s("linux-6", 0.2), 0.6);
    // Whole ticks of 10 ms: 104 ms are 10 of them.
    close(rto_s("ns-2.35", 0.104), 0.3);
    close(rto_s("ns-2.35", 0.02), 0.2);
    // RFC 6298, 2.4: at least a second.
    close(rto_s("rfc6298", 0.1), 1.0);
    close(rto_s("rfc6298", 0.4), 1.2);
    // The maximum limits every stack.
    close(rto_s("linux-2.0.34", 100.0), 120.0);
}

#[test]
fn a_description_changes_only_its_settings() {
    let stack = Stack::from_toml(
        r#"
        name = "mine"
        like = "ns-2.35"
        mss = "1460 B"
        initial-window = "4 pkt"
        initial-rto = "1 s"
        rto-rule = "linux"
        timestamps = true
        rto-after-syn-timeout = "3 s"
        recovery = "newreno"
        limited-transmit = true
        duplicate-acks = 2
        window-after-loss = 0.7
        congestion = "cubic"
        receive-window = "64 KiB"
        "#,
    )
    .unwrap();
    let expected = Stack {
        name: "mine".to_owned(),
        description: String::new(),
        mss_bytes: 1460,
        initial_window_pkts: 4,
        initial_rto_s: 1.0,
        rto_rule: RtoRule::Linux,
        timestamps: true,
        rto_after_syn_timeout_s: Some(3.0),
        recovery: Recovery::NewReno,
        limited_transmit: true,
        duplicate_acks: 2,
        window_after_loss: 0.7,
        congestion: CongestionControl::Cubic,
        receive_window_bytes: Some(65_536),
        ..Stack::builtin("ns-2.35").unwrap()
    };
    assert_eq!(stack, expected);
}

fn error(line: &str) -> Problem {
    let text = format!("name = \"x\"\nlike = \"linux-6\"\n{line}\n");
    Stack::from_toml(&text)
        .unwrap_err()
        .into_vec()
        .swap_remove(0)
}

#[test]
fn invalid_description_is_reported_with_position() {
    let cases = [
        ("min-rto = ", "line 3, column 11: not valid TOML: "),
        (
            "minrto = \"1 s\"",
            "line 3, column 1: unknown key `minrto` in the stack",
        ),
        (
            "min-rto = 0.2",
            "line 3, column 11: `min-rto` has no unit: 0.2",
        ),
        (
            "min-rto = \"-1 s\"",
            "line 3, column 11: min-rto is -1, allowed is 1e-6 to 1e6 s",
        ),
        (
            "max-rto = \"100 ms\"",
            "line 3, column 11: max-rto is 0.1, allowed is at least initial-rto and min-rto",
        ),
        (
            "mss = \"0 B\"",
            "line 3, column 7: mss is 0, allowed is 1 to 65535 B",
        ),
        ("mss = \"0.5 B\"", "line 3, column 7: `mss` cannot be 0.5 B"),
        (
            "recovery = \"vegas\"",
            "line 3, column 12: unknown recovery `vegas`",
        ),
        (
            "window-after-loss = nan",
            "line 3, column 21: `window-after-loss` must be a finite number",
        ),
        (
            "quick-acks = -1",
            "line 3, column 14: `quick-acks` cannot be negative: -1",
        ),
        (
            "limited-transmit = \"yes\"",
            "line 3, column 20: `limited-transmit` must be true or false, not a string",
        ),
        (
            "clock = \"0 s\"\nrto-rule = \"ticks\"",
            "line 3, column 9: clock is 0, allowed is 1e-6 s or more with rto-rule = \"ticks\"",
        ),
    ];
    for (line, message) in cases {
        let problem = error(line);
        let said = format!("{}{}", problem.location(), problem.message);
        assert!(said.starts_with(message), "{said}\ninstead of\n{message}");
    }
    assert!(
        error("minrto = 1")
            .help
            .unwrap()
            .starts_with("did you mean `min-rto`? allowed here: name, ")
    );
    assert_eq!(
        error("recovery = \"vegas\"").help.unwrap(),
        "allowed: timeout, tahoe, reno, newreno, sack, rack"
    );
    assert!(error("min-rto = 0.2").help.unwrap().contains("0.2 s"));
}

#[test]
fn description_requires_name_and_base_stack() {
    let of = |text: &str| {
        Stack::from_toml(text)
            .unwrap_err()
            .into_vec()
            .swap_remove(0)
    };
    assert_eq!(of("name = \"x\"").message, "the stack has no `like`");
    assert_eq!(of("like = \"linux-6\"").message, "the stack has no `name`");
    let unknown = of("name = \"x\"\nlike = \"linux-7\"");
    assert_eq!((unknown.line, unknown.column), (Some(2), Some(8)));
    assert_eq!(unknown.message, "unknown stack `linux-7`");
    assert!(unknown.help.unwrap().contains("linux-2.0.34, ns-2.35"));
    assert!(Stack::from_toml("").is_err());
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "name = \"x\"\nlike = \"linux-6\"\nmss = \"0 B\"\nclock = \"1 h\"\n";
    let problems = Stack::from_toml(text).unwrap_err().into_vec();
    let lines: Vec<Option<usize>> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(3), Some(4)], "{problems:?}");
}

/// A congestion control set in a description gives the same stack as one set in a scenario.
#[test]
fn congestion_control_sets_its_multiplicative_decrease() {
    for congestion in CongestionControl::all() {
        let word = congestion.name();
        let text = |more: &str| {
            format!("name = 'linux-6'\nlike = 'linux-6'\ncongestion = '{word}'\n{more}")
        };
        let mut set = Stack::builtin("linux-6").unwrap();
        set.set_congestion(congestion);
        let read = Stack::from_toml(&text("")).unwrap();
        assert_eq!(read.window_after_loss, set.window_after_loss);
        assert_eq!(read.congestion, congestion);
        let window = Stack::from_toml(&text("window-after-loss = 0.6")).unwrap();
        assert_eq!(window.window_after_loss, 0.6);
    }
}
