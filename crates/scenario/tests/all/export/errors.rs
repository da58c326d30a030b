//! Features without support in ns-2, which must be reported.

use netflow_scenario::export::{ExportError, Ns2Options, Ns2Trace, ns2};

use super::ns2::compile_scenario;

fn scenario(link: &str, connection: &str) -> String {
    format!(
        "[simulation]\nduration = \"10 s\"\npacket-size = \"1000 B\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\n\
         bandwidth = \"8 Mbit/s\"\n{link}\n[[connection]]\nname = \"c\"\nfrom = \"A\"\nto = \"B\"\n\
         {connection}\n"
    )
}

fn export_error(link: &str, connection: &str, options: &Ns2Options) -> String {
    let error: ExportError =
        ns2(&compile_scenario(&scenario(link, connection)), options).unwrap_err();
    error.to_string()
}

const RENO: &str = "source = { profile = \"ns-reno\" }";

#[test]
fn unsupported_features_are_rejected_with_reason() {
    let default = Ns2Options::default();
    for (link, connection, message) in [
        (
            "",
            "source = { profile = \"ns-reno\" }\n[[workload]]\nname = \"web\"\napplication = \"http\"\n\
             interarrival = \"1 s\"\nclients = \"A\"\nservers = \"B\"",
            "workload web: users cannot be exported to ns-2 yet",
        ),
        (
            "",
            "source = { profile = \"ns-reno\" }\n[[demand]]\nfrom = \"A\"\nto = \"B\"\nrate = \"1 Mbit/s\"\n\
             size = { constant = \"10 KB\" }",
            "demand A->B: finite transfers cannot be exported to ns-2 yet",
        ),
        (
            "buffer = \"1 pkt\"",
            RENO,
            "link A->B: its buffer is 1 pkt, but queues of ns-2 need at least 2 (the packet in service and one more)",
        ),
        (
            "buffer = \"1500 B\"",
            RENO,
            "link A->B: its buffer is 1.5 pkt, but queues of ns-2 need at least 2 (the packet in service and one more)",
        ),
        (
            "",
            "source = { profile = \"ns-reno\" }\npacket-size = \"40 B\"",
            "connection c: its packets have 40 B, but must have a whole number of bytes, at least 41 (40 are header)",
        ),
        (
            "",
            "source = { constant = \"1 Mbit/s\" }\npacket-size = \"100.5 B\"",
            "connection c: its packets have 100.5 B, but must have a whole number of bytes, at least 1",
        ),
        (
            "",
            "source = { poisson = \"1 Mbit/s\" }\nsize = \"1 MB\"",
            "connection c: Poisson sources of ns-2 do not support a `size`; use `stop` instead",
        ),
        (
            "",
            "source = { profile = \"ns-reno\" }\nsize = \"2000 GB\"",
            "connection c: it has 2000000000 packets, but ns-2 counts at most 1073741823",
        ),
    ] {
        assert_eq!(export_error(link, connection, &default), message);
    }
}

#[test]
fn unusually_large_packet_is_rejected() {
    // The mean packet has 192 B, so 2000 B contain ten of them and at most 1808 B wait.
    let small = "source = { constant = \"1 pkt/s\" }\npacket-size = \"100 B\"\ncount = 19\n\
                 [[connection]]\nname = \"large\"\nfrom = \"A\"\nto = \"B\"\n\
                 source = { constant = \"1 pkt/s\" }\npacket-size = \"1940 B\"";
    assert_eq!(
        export_error("buffer = \"2000 B\"", small, &Ns2Options::default()),
        "link A->B: packets of 1940 B (connection large) do not fit into its buffer with another packet in service, so ns-2 would drop all of them"
    );
}

#[test]
fn options_out_of_range_are_rejected() {
    let refused = |options| export_error("", RENO, &options);
    let default = Ns2Options::default;
    assert_eq!(
        refused(Ns2Options {
            every_s: 0.0,
            ..default()
        }),
        "interval (s) is 0, but must be above 0"
    );
    assert_eq!(
        refused(Ns2Options {
            start_jitter_s: f64::NAN,
            ..default()
        }),
        "start jitter (s) is NaN, but must be 0 or more"
    );
    assert_eq!(
        refused(Ns2Options {
            max_send_jitter_s: -1.0,
            ..default()
        }),
        "overhead (s) is -1, but must be 0 or more"
    );
    let trace = Ns2Trace::Links(vec!["A->C".to_owned()]);
    assert_eq!(
        refused(Ns2Options { trace, ..default() }),
        "unknown link `A->C` to trace"
    );
}

#[test]
fn byte_counter_overflow_is_rejected() {
    let text = scenario("", RENO).replace("8 Mbit/s", "100 Gbit/s");
    let error = ns2(&compile_scenario(&text), &Ns2Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an interval of 0.5 s is too long: ns-2 counts up to 4294967295 bytes, but more can cross link A->B in it"
    );
}

#[test]
fn profile_of_unknown_tcp_requires_option() {
    let place = tempfile::tempdir().unwrap();
    let profile = "format = 1\nkind = \"pftk-full\"\nname = \"lab\"\n";
    std::fs::write(place.path().join("lab.toml"), profile).unwrap();
    let text = scenario("", "source = { profile = \"lab.toml\" }");
    let prepared = netflow_scenario::from_str("x.toml", &text, place.path(), &[]).unwrap();
    let error = ns2(&prepared, &Ns2Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "connection c: no ns-2 TCP is known for profile `lab`; choose one for all connections (--tcp)"
    );
    let chosen = Ns2Options {
        tcp: Some(netflow_scenario::export::Ns2Tcp::Sack),
        ..Ns2Options::default()
    };
    assert!(ns2(&prepared, &chosen).unwrap().contains("Agent/TCP/Sack1"));
}

#[test]
fn script_header_lists_differences() {
    let text = scenario(
        "buffer = \"12.5 pkt\"",
        "source = { constant = \"1 Mbit/s\" }\nsize = \"1 MB\"",
    )
    .replace("[simulation]", "[simulation]\nseed = 0");
    let script = ns2(&compile_scenario(&text), &Ns2Options::default()).unwrap();
    let (top, _) = script.split_once("\nset seed").unwrap();
    assert!(
        top.ends_with(
            "# Differences from the scenario:\n\
         # - seed 0 is 1 here: ns-2 takes 1 to 2147483646\n\
         # - link A->B: its buffer is 12 pkt, not 12.5\n\
         # - link B->A: its buffer is 12 pkt, not 12.5\n\
         # - connection c: it ends when its size is sent, not when it is delivered\n"
        ),
        "{top}"
    );
}
