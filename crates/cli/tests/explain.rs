//! Tests of `netflow explain`.

mod common;

use common::{Workplace, text};

/// The product of the factors equals the total, except for the shift by a step and the return path.
#[test]
fn hop_values_add_up_to_totals() {
    let place = Workplace::new();
    let output = place.expect("explain dumbbell.toml first --at 15s --format json", 0);
    let it: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let hops = it["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 4, "two out, two back");
    let sum = |part: &str| hops.iter().map(|hop| number(&hop[part])).sum::<f64>();
    let rtt_s = sum("waiting_s") + sum("transmission_s") + sum("propagation_s");
    assert!((rtt_s / number(&it["rtt_s"]) - 1.0).abs() < 0.05, "{it:#}");
    let out = hops.iter().filter(|hop| hop["back"] == false);
    let through: f64 = out
        .map(|hop| 1.0 - number(&hop["loss_probability"]))
        .product();
    assert!(
        (1.0 - through - number(&it["loss_probability"])).abs() < 0.01,
        "{it:#}"
    );
    assert_eq!(it["profile"], "ns-reno");
    assert!(
        (number(&it["profile_pps"]) / number(&it["rate_pps"]) - 1.0).abs() < 0.05,
        "{it:#}"
    );
}

/// The rate is that of the send buffer, not of the larger congestion window.
#[test]
fn rate_of_a_full_send_buffer_is_printed() {
    let place = Workplace::new();
    let scenario = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/home-gateway.toml"
    );
    let options = "--at 15s --format json --set connection.download.source.send-buffer=64KiB";
    let output = place.expect(&format!("explain {scenario} download {options}"), 0);
    let it: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(it["limit"], "send-buffer", "{it:#}");
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (tcp, rate_pps) = (&it["tcp"], number(&it["rate_pps"]));
    let of_buffer_pps = number(&tcp["in_flight_pkts"]) / number(&tcp["srtt_s"]);
    assert!((rate_pps / of_buffer_pps - 1.0).abs() < 1e-9, "{it:#}");
    assert!(rate_pps < 1736.0, "{it:#}");
}

#[test]
fn unstarted_connection_is_reported() {
    let output = Workplace::new().expect("explain dumbbell.toml second --at 1s", 0);
    assert!(
        text(&output.stdout).contains("not sending"),
        "{}",
        text(&output.stdout)
    );
}

/// Paths of a demand over two ways of different capacity, and after a failure.
#[test]
fn paths_of_a_divided_demand_are_printed() {
    let place = Workplace::new();
    let scenario = r#"
        simulation = { duration = "10 s", ecmp = "weighted" }
        link = [
            { from = "A", to = "B", bandwidth = "30 Mbit/s", metric = 1 },
            { from = "B", to = "D", bandwidth = "30 Mbit/s", metric = 1 },
            { from = "A", to = "C", bandwidth = "10 Mbit/s", metric = 1 },
            { from = "C", to = "D", bandwidth = "10 Mbit/s", metric = 1 },
        ]
        demand = [{ name = "d", from = "A", to = "D", rate = "8 Mbit/s" }]
        event = [{ at = "5 s", link = "A<->C", down = true }]
    "#;
    std::fs::write(place.path("divided.toml"), scenario).unwrap();
    for (at, links) in [
        (
            "4s",
            [
                ("A->B", 0.75),
                ("B->D", 0.75),
                ("A->C", 0.25),
                ("C->D", 0.25),
            ]
            .as_slice(),
        ),
        ("6s", &[("A->B", 1.0), ("B->D", 1.0)]),
    ] {
        for model in ["fluid", "packet"] {
            let command = format!(
                "explain divided.toml d --at {at} --format json --set simulation.model={model}"
            );
            let it: serde_json::Value =
                serde_json::from_slice(&place.expect(&command, 0).stdout).unwrap();
            assert_eq!(it["parts"].as_array().unwrap().len(), 2, "{it:#}");
            let found = it["links"].as_array().unwrap();
            assert_eq!(found.len(), links.len(), "{it:#}");
            for (found, (link, share)) in found.iter().zip(links) {
                assert_eq!(found["link"], *link, "{it:#}");
                assert!(
                    (found["share"].as_f64().unwrap() - share).abs() < 1e-8,
                    "{it:#}"
                );
            }
        }
    }
    let output = place.expect("explain divided.toml d --at 4s", 0);
    let printed = text(&output.stdout);
    assert!(
        printed.contains("A->B, B->D") && printed.contains("75"),
        "{printed}"
    );
}
