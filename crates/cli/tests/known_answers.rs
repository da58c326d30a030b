//! End-to-end tests of small scenarios with known answers from arithmetic, the packet model or a
//! reference.

mod common;

use std::fs;

use common::{Workplace, text};
use serde_json::Value;

/// Returns the answer of a command with `--format json` for this scenario.
fn answer(scenario: &str, command: &str, options: &str) -> Value {
    let place = Workplace::new();
    fs::write(place.path("case.toml"), scenario).expect("a scenario");
    let output = place.expect(&format!("{command} case.toml {options} --format json"), 0);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the warnings of a command.
fn warnings(scenario: &str, command: &str) -> String {
    let place = Workplace::new();
    fs::write(place.path("case.toml"), scenario).expect("a scenario");
    text(&place.expect(&format!("{command} case.toml"), 0).stderr)
}

fn row<'a>(answer: &'a Value, table: &str, key: &str, name: &str) -> &'a Value {
    let rows = answer[table].as_array().expect("rows");
    let found = rows.iter().find(|row| row[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[track_caller]
fn assert_near(value: &Value, should: f64, part: f64) {
    let is = value.as_f64().expect("a number");
    assert!(
        (is / should - 1.0).abs() <= part,
        "{is} instead of {should}"
    );
}

/// Loads: 12 Gbit/s over A->B->C, 1 Gbit/s over B->C, 5 Gbit/s over D->E with a bandwidth of 1 Gbit/s.
#[test]
fn load_includes_traffic_lost_upstream() {
    let scenario = r#"
        simulation = { duration = "10 s" }
        link = [
            { from = "A", to = "B", bandwidth = "10 Gbit/s", delay = "5 ms" },
            { from = "B", to = "C", bandwidth = "10 Gbit/s", delay = "5 ms" },
            { from = "D", to = "E", bandwidth = "1 Gbit/s", delay = "5 ms" },
        ]
        demand = [
            { from = "A", to = "C", rate = "12 Gbit/s", kind = "poisson" },
            { from = "B", to = "C", rate = "1 Gbit/s", kind = "poisson" },
            { from = "D", to = "E", rate = "5 Gbit/s", kind = "poisson" },
        ]
    "#;
    let solved = answer(scenario, "solve", "");
    for (link, load) in [("A->B", 1.2), ("B->C", 1.3), ("D->E", 5.0)] {
        assert_near(&row(&solved, "links", "link", link)["load"], load, 1e-9);
    }
    for command in ["solve", "failures"] {
        let said = warnings(scenario, command);
        assert!(
            said.contains("D->E 500 %, B->C 130 %, A->B 120 %"),
            "{said}"
        );
    }
}

/// A load of 9 of 10 Gbit/s. A small buffer, which causes loss, does not increase the headroom.
#[test]
fn small_buffer_does_not_increase_headroom() {
    let scenario = r#"
        simulation = { duration = "10 s" }
        link = [{ from = "A", to = "B", bandwidth = "10 Gbit/s", delay = "1 us" }]
        demand = [{ from = "A", to = "B", rate = "9 Gbit/s", kind = "poisson" }]
    "#;
    for (most, factor) in [("90%", 1.0), ("95%", 0.95 / 0.9)] {
        let found = answer(
            scenario,
            "solve",
            &format!("--headroom --max-utilization {most}"),
        );
        assert_near(&found["factor"], factor, 1e-6);
        assert!(found["loss_probability"].as_f64() > Some(0.01));
    }
}

/// Of two equal circuits, one is unused, so the failure of either changes nothing.
#[test]
fn backup_link_equals_replaced_link() {
    let scenario = r#"
        simulation = { duration = "10 s" }
        link = [
            { from = "A", to = "B", circuit = "1", bandwidth = "10 Gbit/s", delay = "10 us" },
            { from = "A", to = "B", circuit = "2", bandwidth = "10 Gbit/s", delay = "10 us" },
        ]
        demand = [{ from = "A", to = "B", rate = "9.6 Gbit/s", kind = "poisson" }]
    "#;
    let found = answer(scenario, "failures", "--links");
    for case in found["cases"].as_array().expect("cases") {
        assert!(
            case["lost_goodput"].as_f64() >= Some(0.0)
                && case["lost_goodput"].as_f64() < Some(1e-9)
        );
        assert_eq!(case["links_above_90_percent"], 1);
        assert_near(&case["max_delay_s"], 2.009e-5, 1e-3);
    }
}

/// Of eight links in a row with increasing bandwidths, only the first loses packets.
#[test]
fn downstream_link_has_no_second_loss() {
    let links: Vec<String> = (0..8)
        .map(|i| {
            format!(
                r#"{{ from = "N{i}", to = "N{}", bandwidth = "{} Mbit/s", delay = "2 ms", buffer = "10 pkt" }}"#,
                i + 1,
                5.0 + 0.1 * f64::from(i)
            )
        })
        .collect();
    let scenario = format!(
        r#"
        simulation = {{ duration = "60 s", warmup = "10 s", model = "fluid" }}
        link = [{}]
        connection = [{{ name = "c1", from = "N0", to = "N8", source = {{ profile = "ns-reno" }} }}]
        "#,
        links.join(", ")
    );
    for command in ["run", "solve"] {
        let found = answer(&scenario, command, "");
        let first = row(&found, "links", "link", "N0->N1");
        assert!(first["utilization"].as_f64() > Some(0.75), "{first}");
        let second = row(&found, "links", "link", "N1->N2");
        assert!(second["loss_probability"].as_f64() < Some(1e-9), "{second}");
        let queue = if command == "run" {
            "mean_queue_pkts"
        } else {
            "queue_pkts"
        };
        assert_near(
            &second[queue],
            second["utilization"].as_f64().expect("a number"),
            0.01,
        );
    }
}

/// Acknowledgements that do not count as traffic are not queued on the return path, in either model.
#[test]
fn acknowledgements_outside_traffic_have_no_queueing() {
    let scenario = r#"
        simulation = { duration = "60 s", warmup = "10 s", acks = false, model = "fluid" }
        link = [{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "5 ms", buffer = "100 pkt" }]
        connection = [
            { name = "up", from = "A", to = "B", source = { profile = "ns-reno" }, max-window = "20 pkt" },
            { name = "back", from = "B", to = "A", source = { poisson = "20 Mbit/s" } },
        ]
    "#;
    let packets = "--set simulation.model=packet --set connection.up.source={ns2-tcp='reno'}";
    for (command, options) in [("run", ""), ("solve", ""), ("run", packets)] {
        let found = answer(scenario, command, options);
        let up = row(&found, "connections", "connection", "up");
        let rtt = if command == "run" {
            &up["mean_rtt_s"]
        } else {
            &up["rtt_s"]
        };
        // 10 ms of propagation, plus the queueing of 20 packets.
        assert_near(rtt, 0.025, 0.08);
    }
}

#[test]
fn high_acknowledgement_loss_gives_a_warning() {
    let scenario = r#"
        simulation = { duration = "20 s", model = "fluid" }
        link = [{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "20 ms" }]
        connection = [
            { name = "up", from = "A", to = "B", source = { profile = "ns-reno" }, max-window = "4 pkt" },
            { name = "back", from = "B", to = "A", source = { poisson = "20 Mbit/s" } },
        ]
    "#;
    for command in ["run", "solve"] {
        let said = warnings(scenario, command);
        assert!(
            said.contains("up: ") && said.contains("of the acknowledgements are lost"),
            "{said}"
        );
    }
}

/// DCTCP with marking at K = 65 packets, by RED and by the threshold of CoDel: only marks, and a queue of
/// 62 packets.
#[test]
fn red_marks_above_its_thresholds_without_hard_drop() {
    let scenario = |queue: &str| {
        format!(
            r#"
            simulation = {{ duration = "0.6 s", warmup = "0.3 s", packet-size = "1500 B", model = "packet" }}
            link = [
                {{ from = "A", to = "R", bandwidth = "100 Gbit/s", delay = "0 us", buffer = "10000 pkt" }},
                {{ from = "R", to = "B", bandwidth = "10 Gbit/s", delay = "50 us", buffer = "1000 pkt", duplex = false, queue = {queue} }},
                {{ from = "B", to = "R", bandwidth = "10 Gbit/s", delay = "50 us", buffer = "1000 pkt", duplex = false }},
            ]
            connection = [{{ from = "A", to = "B", count = 2, source = {{ tcp = "linux-6", congestion = "dctcp" }} }}]
            "#
        )
    };
    let step = r#"{ discipline = "red", min = "65 pkt", max = "65 pkt", weight = 1, ecn = true, hard-drop = false }"#;
    let threshold = r#"{ discipline = "codel", ce-threshold = "78 us" }"#;
    for queue in [step, threshold] {
        let found = answer(&scenario(queue), "run", "");
        let link = row(&found, "links", "link", "R->B");
        assert_near(&link["mean_queue_pkts"], 62.0, 0.02);
        assert!(
            link["lost_pkts"] == 0.0 && link["marked_pkts"].as_f64() > Some(1e3),
            "{link}"
        );
    }
    let never = r#"{ discipline = "red", min = "65 pkt", max = "66 pkt", weight = 1, ecn = true }"#;
    let said = warnings(&scenario(never), "check");
    assert!(
        said.contains("`ecn` has no effect") && said.contains("hard-drop = false"),
        "{said}"
    );
}

/// Bit errors, and a queue with 90 % loss. Requests are smaller than full packets.
#[test]
fn users_with_bit_errors_are_simulated() {
    let scenario = r#"
        simulation = { duration = "5 s", model = "fluid" }
        link = [{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "5 ms", loss = { ber = 1e-6 } }]
        workload = [{ name = "w", application = "http", interarrival = "500 ms", clients = "A", servers = "B" }]
        connection = [{ name = "flood", from = "B", to = "A", source = { poisson = "120 Mbit/s" } }]
    "#;
    answer(scenario, "run", "");
}

/// Replies take C->B->A because A->C is unidirectional. Requests and acknowledgements take the reverse
/// path.
#[test]
fn requests_take_the_path_of_their_replies_reversed() {
    let scenario = r#"
        simulation = { duration = "5 s", model = "packet" }
        link = [
            { from = "A", to = "C", duplex = false, bandwidth = "10 Mbit/s", delay = "1 ms" },
            { from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "50 ms" },
            { from = "B", to = "C", bandwidth = "10 Mbit/s", delay = "50 ms" },
        ]
        demand = [{ name = "d", from = "C", to = "A", rate = "500 kbit/s", kind = "tcp", size = { constant = "20 KB" } }]
    "#;
    let found = answer(scenario, "run", "");
    let carried = |link| row(&found, "links", "link", link)["offered_pkts"].as_f64() > Some(0.0);
    assert_eq!(["A->C", "A->B", "B->C"].map(carried), [false, true, true]);
}

/// The order of rows and the recording interval do not change a single bit.
#[test]
fn results_are_independent_of_row_order_and_recording() {
    let rows = [
        r#"{ name = "c4", from = "N2", to = "N0", source = { profile = "pftk-approximate" } }"#,
        r#"{ name = "c5", from = "N1", to = "N2", source = { profile = "ns-vegas-w64" } }"#,
        r#"{ name = "c6", from = "N2", to = "N0", source = { profile = "mathis" } }"#,
    ];
    let run = |order: [usize; 3], every: &str| {
        let connections = order.map(|i| rows[i]).join(", ");
        let scenario = format!(
            r#"
            simulation = {{ duration = "3 s", model = "fluid" }}
            link = [
                {{ from = "N1", to = "N0", bandwidth = "21 KB/s" }},
                {{ from = "N2", to = "N1", bandwidth = "1.877e+05 bit/s" }},
            ]
            connection = [{connections}]
            "#
        );
        let found = answer(&scenario, "run", &format!("--interval {every}"));
        ["c4", "c5", "c6"].map(|name| {
            let mut row = row(&found, "connections", "connection", name).clone();
            row.as_object_mut()
                .expect("a row")
                .remove("goodput_is_estimate");
            row
        })
    };
    assert_eq!(run([0, 1, 2], "0.5s"), run([2, 0, 1], "0.5s"));
    assert_eq!(run([0, 1, 2], "0.1s"), run([0, 1, 2], "0.5s"));
}

/// A full buffer of 100 ms takes 100 ms to transmit, at any bandwidth after an event.
#[test]
fn time_buffer_scales_with_bandwidth() {
    for model in ["packets", "fluid"] {
        for queue in ["drop-tail", "priority"] {
            let (class, demand) = match queue {
                "priority" => (
                    r#"class = [{ name = "bulk", buffer = "100 ms" }]"#,
                    r#", class = "bulk""#,
                ),
                _ => ("", ""),
            };
            let scenario = format!(
                r#"
                simulation = {{ duration = "30 s", warmup = "20 s", model = "{model}" }}
                event = [{{ at = "10 s", link = "A->B", set = {{ bandwidth = "20 Mbit/s" }} }}]
                demand = [{{ from = "A", to = "B", rate = "120 Mbit/s", kind = "poisson", packet-size = "1500 B"{demand} }}]
                [[link]]
                from = "A"
                to = "B"
                bandwidth = "100 Mbit/s"
                delay = "20 ms"
                buffer = "100 ms"
                queue = "{queue}"
                {class}
                "#
            );
            let found = answer(&scenario, "run", "");
            let link = match queue {
                "priority" => "A->B/bulk",
                _ => "A->B",
            };
            let delay_s = &row(&found, "links", "link", link)["sojourn_time_s"];
            assert_near(delay_s, 0.1, 0.03);
        }
    }
    let scenario = r#"
        simulation = { duration = "30 s" }
        event = [{ at = "10 s", link = "A->B", set = { bandwidth = "20 Mbit/s" } }]
        link = [{ from = "A", to = "B", bandwidth = "100 Mbit/s", delay = "20 ms", buffer = "100 ms" }]
        demand = [{ from = "A", to = "B", rate = "120 Mbit/s", kind = "poisson", packet-size = "1500 B" }]
    "#;
    let solved = answer(scenario, "solve", "");
    assert_near(&row(&solved, "links", "link", "A->B")["delay_s"], 0.1, 0.03);
}

/// 128 KiB of payload in segments of 1448 B are 90 packets.
#[test]
fn byte_window_counts_payload() {
    let goodput = |window: &str| {
        let scenario = format!(
            r#"
            simulation = {{ duration = "20 s", warmup = "10 s", model = "packet" }}
            link = [{{ from = "A", to = "B", bandwidth = "1 Gbit/s", delay = "50 ms" }}]
            connection = [{{ name = "c", from = "A", to = "B", source = {{ tcp = "linux-6" }}, max-window = "{window}" }}]
            "#
        );
        let found = answer(&scenario, "run", "");
        row(&found, "connections", "connection", "c")["mean_goodput_pps"].clone()
    };
    assert_eq!(goodput("128 KiB"), goodput("90 pkt"));
    assert_near(&goodput("128 KiB"), 900.0, 0.01);
}

/// Regression: PIE alone selected the packet model without a message.
#[test]
fn check_names_the_setting_that_chooses_the_packet_model() {
    let scenario = |model: &str| {
        format!(
            r#"
            simulation = {{ duration = "5 s" {model} }}
            link = [{{ from = "A", to = "B", bandwidth = "10 Mbit/s", queue = "pie" }}]
            connection = [{{ from = "A", to = "B", source = {{ profile = "ns-reno" }} }}]
            "#
        )
    };
    let says = |model: &str| {
        let place = Workplace::new();
        fs::write(place.path("case.toml"), scenario(model)).expect("a scenario");
        text(&place.expect("check case.toml", 0).stdout)
    };
    let because = "packet model, because of the queue discipline \"pie\"; the fluid model is also possible: `model = \"fluid\"`";
    assert!(says("").contains(because));
    for model in ["packets", "fluid"] {
        assert!(!says(&format!(", model = \"{model}\"")).contains("because"));
    }
}

/// The published equations do not conserve packets at large steps. Regression: this was a success.
#[test]
fn packet_imbalance_exits_with_1() {
    let place = Workplace::new();
    let scenario = r#"
        simulation = { duration = "20 s", model = "fluid-literal" }
        link = [{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
        connection = [{ from = "A", to = "B", count = 3, source = { profile = "ns-reno" } }]
    "#;
    fs::write(place.path("case.toml"), scenario).expect("a scenario");
    let output = place.expect("run case.toml --format json", 1);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let warnings = found["warnings"].as_array().expect("warnings");
    let says = |text: &Value| {
        text.as_str()
            .is_some_and(|it| it.starts_with("packets do not balance"))
    };
    assert!(warnings.iter().any(says), "{warnings:?}");
}

/// A voice call sends 50 packets of 200 B a second, 80 kbit/s of IP: with 38 B of Ethernet framing each, 95.2 kbit/s.
#[test]
fn voice_over_ethernet_has_overhead_in_each_packet() {
    let factor = |overhead: &str| {
        let scenario = format!(
            r#"
            simulation = {{ duration = "10 s" {overhead} }}
            link = [{{ from = "A", to = "B", bandwidth = "1 Gbit/s", delay = "5 ms" }}]
            demand = [{{ from = "A", to = "B", kind = "voice", users = 10000 }}]
            "#
        );
        let found = answer(&scenario, "solve", "--headroom --max-utilization 99%");
        found["factor"].clone()
    };
    // 12 375 calls, and 0.99 Gbit/s / 95.2 kbit/s = 10 399.16.
    assert_near(&factor(""), 12_375.0 / 10_000.0, 1e-9);
    assert_near(
        &factor(", overhead = \"38 B\""),
        0.99e9 / 95.2e3 / 10_000.0,
        1e-9,
    );
}

/// An ADSL line of 1 Mbit/s and one of Ethernet behind it: the same load in `solve` and in runs of both models, and
/// throughput in IP bits.
#[test]
fn models_agree_on_what_a_link_with_overhead_carries() {
    let scenario = r#"
        simulation = { duration = "500 s", overhead = "38 B" }
        link = [
            { from = "A", to = "B", bandwidth = "1 Mbit/s", buffer = "1 MB", overhead = { bytes = "10 B", cells = "atm" } },
            { from = "B", to = "C", bandwidth = "4 Mbit/s", buffer = "1 MB" },
        ]
        connection = [{ name = "c", from = "A", to = "C", source = { poisson = "50 pkt/s" } }]
    "#;
    // 32 cells of 53 B on ADSL, 1538 B on Ethernet.
    let loads = [
        ("A->B", 50.0 * 8.0 * 1696.0 / 1e6),
        ("B->C", 50.0 * 8.0 * 1538.0 / 4e6),
    ];
    let solved = answer(scenario, "solve", "");
    let runs = ["fluid", "packets"].map(|model| {
        let options = format!("--set simulation.model={model}");
        (answer(scenario, "run", &options), model == "packets")
    });
    for (link, load) in loads {
        let at_rest = row(&solved, "links", "link", link);
        assert_near(&at_rest["load"], load, 1e-9);
        assert_near(&at_rest["utilization"], load, 1e-3);
        for (run, is_random) in &runs {
            let in_run = row(run, "links", "link", link);
            let tolerance = if *is_random { 0.03 } else { 2e-3 };
            assert_near(&in_run["utilization"], load, tolerance);
            assert_near(&in_run["offered_load"], load, 1e-9);
            assert_near(&in_run["throughput_bps"], 50.0 * 8.0 * 1500.0, tolerance);
        }
    }
}

/// Exports that do not support overhead name the key.
#[test]
fn exports_reject_overhead_by_name() {
    let scenario = r#"
        simulation = { duration = "10 s", model = "packet" }
        link = [{ from = "A", to = "B", bandwidth = "1 Mbit/s", overhead = "38 B" }]
        connection = [{ name = "c", from = "A", to = "B", source = { ns2-tcp = "reno" } }]
    "#;
    let place = Workplace::new();
    fs::write(place.path("case.toml"), scenario).expect("a scenario");
    for target in ["ns2", "ns3"] {
        let said = place.expect(&format!("export case.toml --to {target}"), 2);
        let said = text(&said.stderr);
        assert!(
            said.contains("A->B") && said.contains("`overhead`"),
            "{said}"
        );
    }
}

/// Three parallel links of 10 Gbit/s, like the motivating example of J. Bogle et al., "TeaVaR", ACM SIGCOMM 2019; each
/// fails for 0.1 % of the time. Two links carry 18 Gbit/s, and one carries 10 Gbit/s of them.
#[test]
fn parallel_links_have_the_availability_of_the_closed_form() {
    let link = |circuit| {
        format!(
            r#"{{ from = "A", to = "B", circuit = "{circuit}", bandwidth = "10 Gbit/s", delay = "1 ms", buffer = "2000 pkt",
                unavailability = "0.1 %" }}"#
        )
    };
    let links = [1, 2, 3].map(link).join(", ");
    let scenario = format!(
        r#"
        simulation = {{ duration = "10 s", ecmp = true }}
        link = [{links}]
        demand = [{{ from = "A", to = "B", rate = "18 Gbit/s", kind = "poisson" }}]
        "#
    );
    let found = answer(&scenario, "availability", "--rest=0");
    let p: f64 = 0.001;
    let (one, two) = (3.0 * p * (1.0 - p).powi(2), 3.0 * p * p * (1.0 - p));
    let served = (1.0 - p).powi(3) + one;
    let row = &found["demands"][0];
    assert_eq!(row["demand"], "A->B/poisson");
    for limit in ["min", "max"] {
        assert_near(&row[format!("availability_{limit}")], served, 1e-12);
        let delivered = served + two * 10.0 / 18.0;
        assert_near(&row[format!("delivered_{limit}")], delivered, 1e-9);
    }
    assert_near(&row["downtime_max_h"], 8760.0 * (1.0 - served), 1e-6);
    assert_eq!(found["network"]["states"], 8);
}
