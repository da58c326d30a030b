//! Warnings of scenarios outside the validated range of the fluid model.

use netflow_network::Model;
use netflow_scenario::from_str;

/// Returns the warnings for a duplex link with these keys and these connections over it.
fn warnings_of(link: &str, connections: &[&str]) -> Vec<String> {
    let mut text = format!(
        "simulation = {{ duration = '10 s', model = 'fluid' }}
        link = [{{ from = 'A', to = 'B', bandwidth = '12 Mbit/s', delay = '50 ms', {link} }}]\n"
    );
    let each = |keys: &&str| format!("{{ from = 'A', to = 'B', {keys} }}");
    let all: Vec<String> = connections.iter().map(each).collect();
    text += &format!("connection = [{}]", all.join(", "));
    let loaded = from_str("untold.toml", &text, "".as_ref(), &[]);
    let mut prepared = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let told = prepared.model_warnings(false, 10.0);
    prepared.options.model = Model::PACKETS;
    let of_packets = prepared.model_warnings(false, 10.0);
    assert!(of_packets.is_empty(), "{text}: {of_packets:?}");
    told
}

const RENO: &str = "source = { profile = 'ns-reno' }";

#[test]
fn fluid_model_limits_are_reported() {
    let bursts = "loss = { gilbert = { p = 0.01, r = 0.1 } }";
    let constant = "source = { constant = '1 Mbit/s' }";
    // The bandwidth-delay product is 100 packets of 1500 B.
    for (link, connections, told) in [
        ("buffer = '26 pkt'", &[RENO][..], ""),
        (
            "buffer = '24 pkt'",
            &[RENO],
            "the buffer of A->B is below 25 %",
        ),
        (
            "buffer = '36 KB'",
            &[RENO],
            "the buffer of A->B is below 25 %",
        ),
        ("buffer = '24 pkt'", &[constant], ""),
        (
            "buffer = '24 pkt'",
            &["source = { profile = 'ns-reno' }, max-window = '20 pkt'"],
            "",
        ),
        (bursts, &[RENO], "burst losses at A->B"),
        (bursts, &[constant], ""),
        ("loss = 0.01", &[RENO], ""),
        (
            "",
            &[RENO, "source = { profile = 'ns-vegas' }"],
            "Vegas backs off",
        ),
        ("", &["source = { profile = 'ns-vegas' }"], ""),
        (
            "",
            &[
                "source = { profile = 'ns-reno' }, delayed-ack = true, application = { poisson = '5 pkt/s' }",
            ],
            "round-trip times of application-limited TCP",
        ),
        (
            "",
            &["source = { profile = 'ns-reno' }, delayed-ack = true"],
            "",
        ),
    ] {
        let found = warnings_of(link, connections);
        let is_right = match told {
            "" => found.is_empty(),
            told => found.len() == 1 && found[0].starts_with(told),
        };
        assert!(is_right, "{link} {connections:?}: {found:?}");
    }
}

/// The validated range of the study of present-day TCP, and values just outside.
#[test]
fn linux_paths_outside_validated_range_are_reported() {
    let warned = |bandwidth: &str, delay: &str, more: &str| {
        let text = format!(
            "simulation = {{ duration = '10 s', model = 'packet' }}
            link = [{{ from = 'A', to = 'B', bandwidth = '{bandwidth}', delay = '{delay}', buffer = '5000 pkt' }}]
            connection = [
                {{ name = 'c', from = 'A', to = 'B', source = {{ tcp = 'linux-6'{more} }},
                {{ from = 'A', to = 'B', source = {{ tcp = 'linux-6'{more} }} ]"
        );
        let loaded = from_str("compared.toml", &text, "".as_ref(), &[]);
        let prepared = loaded.unwrap_or_else(|problems| panic!("{problems}"));
        prepared.model_warnings(false, 10.0)
    };
    for (bandwidth, delay, more) in [
        ("100 Mbit/s", "20 ms", " }"),
        ("20 Mbit/s", "150 ms", ", congestion = 'bbr' }"),
        ("1 Gbit/s", "20 ms", " }, max-window = '300 pkt'"),
        ("20 Mbit/s", "5 ms", ", send-buffer = '1 MiB' }"),
    ] {
        assert_eq!(
            warned(bandwidth, delay, more),
            [""; 0],
            "{bandwidth} {delay} {more}"
        );
    }
    for (bandwidth, delay, more) in [
        ("1 Gbit/s", "20 ms", " }"),
        ("20 Mbit/s", "300 ms", " }"),
        ("100 Mbit/s", "1 ms", " }"),
        ("20 Mbit/s", "50 ms", ", send-buffer = '16 MiB' }"),
    ] {
        let told = warned(bandwidth, delay, more);
        let [only] = &told[..] else {
            panic!("{bandwidth} {delay} {more}: {told:?}")
        };
        assert!(
            only.starts_with("Linux TCP on `c` and 1 more is outside"),
            "{only}"
        );
    }
}
