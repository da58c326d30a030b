//! Settings and their values in the network.

use netflow_scenario::{CompiledScenario, Problem, Problems, from_str};
use netflow_simulation::Run;
use netflow_simulation::{
    Acks, Application, Buffer, Cells, Change, DropPolicy, FluidOptions, LinkLoss, Model, ModelName,
    Overhead, Simulation, Source, Step,
};
use netflow_tcpmodel::CongestionControl;

const START: &str = "[simulation]\nduration = \"10 s\"\n";
const LINK: &str = "\n[[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"8 Mbit/s\"\n";
const CONNECTION: &str = "\n[[connection]]\nname = \"c1\"\nfrom = \"A\"\nto = \"B\"\nsource = { profile = \"ns-reno\" }\n";

fn read(text: &str) -> Result<CompiledScenario, Problems> {
    from_str("test.toml", text, "".as_ref(), &[])
}

fn good(text: &str) -> CompiledScenario {
    let prepared = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
    prepared
}

pub fn with_options(options: &[&str]) -> Result<CompiledScenario, Problems> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    from_str(
        "test.toml",
        &[START, LINK, CONNECTION].concat(),
        "".as_ref(),
        &options,
    )
}

/// Returns the only warning of a scenario of these parts.
fn warning(parts: &[&str]) -> String {
    let prepared = read(&parts.concat()).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings: Vec<Problem> = prepared.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].line.is_some());
    warnings[0].message.clone()
}

#[test]
fn defaults_match_reference() {
    let prepared = good(&[START, LINK, CONNECTION].concat());
    let options = prepared.options;
    assert_eq!(options.duration_s, 10.0);
    assert_eq!(options.model, Model::FLUID);
    assert_eq!(prepared.seed, 1);
    let network = &prepared.network;
    assert_eq!(
        (
            network.node_count(),
            network.link_count(),
            network.connection_count()
        ),
        (2, 2, 1)
    );
    let link = network.link_spec(network.link_by_name("B->A").unwrap());
    assert_eq!((link.bandwidth_bps, link.delay_s), (8e6, 0.0));
    assert_eq!(
        (link.buffer, link.queue),
        (Buffer::BandwidthDelay, DropPolicy::DropTail)
    );
    let connection = network.connection_spec(network.connection_by_name("c1").unwrap());
    assert!(matches!(&connection.source, Source::Profile(profile) if profile.name() == "ns-reno"));
    assert_eq!(
        (connection.start_s, connection.stop_s, connection.size_pkts),
        (0.0, None, None)
    );
    assert_eq!((connection.count, connection.max_window_pkts), (1, None));
    assert_eq!(
        (connection.packet_size_bytes, connection.acks),
        (1500.0, Acks::EveryPacket)
    );
}

#[test]
fn sizes_are_converted_by_packet_size() {
    let simulation = "[simulation]\nduration = \"10 s\"\npacket-size = \"500 B\"\n";
    let link = "\n[[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"1000 pkt/s\"\nbuffer = \"64 KB\"\nduplex = false\n\
        queue = { discipline = \"red\", min = \"5 KB\", max = \"40 pkt\", gentle = true }\n";
    let udp = "\n[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { constant = \"1 Mbit/s\" }\npacket-size = \"1250 B\"\nsize = \"1 MB\"\n\
        \n[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { poisson = \"30 pkt/s\" }\n";
    let network = good(&[simulation, link, udp].concat()).network;
    let spec = network.link_spec(network.link_by_name("A->B").unwrap());
    assert_eq!(spec.bandwidth_bps, 4e6);
    assert_eq!(spec.buffer, Buffer::Bytes(64_000.0));
    let DropPolicy::Red(red) = spec.queue else {
        panic!("{:?}", spec.queue)
    };
    assert_eq!(
        (
            red.min_pkts,
            red.max_pkts,
            red.max_p,
            red.weight,
            red.gentle
        ),
        (10.0, 40.0, 0.1, 0.002, true)
    );
    assert_eq!(network.link_by_name("B->A"), None);
    let constant = network.connection_spec(network.connection_by_name("c1").unwrap());
    assert!(matches!(
        constant.source,
        Source::Constant { rate_pps: 100.0 }
    ));
    assert_eq!(
        (constant.size_pkts, constant.acks),
        (Some(800.0), Acks::None)
    );
    let poisson = network.connection_spec(network.connection_by_name("c2").unwrap());
    assert!(matches!(poisson.source, Source::Poisson { rate_pps: 30.0 }));
    assert_eq!(poisson.packet_size_bytes, 500.0);
}

#[test]
fn connections_inherit_acks_unless_set() {
    let acks = |simulation: &str, connection: &str| {
        let network = good(&[START, simulation, LINK, CONNECTION, connection].concat()).network;
        network
            .connection_spec(network.connection_by_name("c1").unwrap())
            .acks
    };
    assert_eq!(acks("", ""), Acks::EveryPacket);
    assert_eq!(acks("acks = false\n", ""), Acks::None);
    assert_eq!(acks("acks = true\n", ""), Acks::EveryPacket);
    assert_eq!(acks("", "acks = false\n"), Acks::None);
    assert_eq!(acks("", "delayed-ack = true\n"), Acks::EverySecond);
}

#[test]
fn model_and_step_determine_options() {
    let options = |settings: &str| good(&[START, settings, LINK, CONNECTION].concat()).options;
    let warned = |settings: &str| {
        let prepared = read(&[START, settings, LINK, CONNECTION].concat()).unwrap();
        assert_eq!(prepared.warnings.len(), 1);
        assert!(prepared.warnings[0].to_string().contains("may oscillate"));
        prepared.options
    };
    let literal = warned("model = \"fluid-literal\"\n");
    assert_eq!(literal.model, FluidOptions::Literal { step_s: 0.05 }.into());
    let short = good(&["[simulation]\nduration = \"20 ms\"\n", LINK, CONNECTION].concat());
    let step = Step::auto(0.02);
    assert_eq!(short.options.model, FluidOptions::Standard { step }.into());
    let packets = options("model = \"packet\"\n");
    assert_eq!(packets.model.name(), ModelName::Packets);
}

#[test]
fn events_apply_to_one_or_both_directions() {
    let events = "\n[[event]]\nat = \"2 s\"\nlink = \"A<->B\"\ndown = true\n\
        \n[[event]]\nat = \"4 s\"\nlink = \"A -> B\"\nup = true\n\
        \n[[event]]\nat = \"4 s\"\nlink = \"B->A\"\nup = true\n\
        \n[[event]]\nat = \"5 s\"\nlink = \"A->B\"\nset = { bandwidth = \"500 pkt/s\" }\n";
    good(&[START, LINK, CONNECTION, events].concat());

    let delivers = |link: &str| {
        let constant = CONNECTION.replace("profile = \"ns-reno\"", "constant = \"1 Mbit/s\"");
        let event = format!("\n[[event]]\nat = \"0 s\"\nlink = \"{link}\"\ndown = true\n");
        let prepared = good(&[START, LINK, &constant, &event].concat());
        let mut simulation = Simulation::new(prepared.network, prepared.options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        simulation.totals().delivered_pkts > 0.0
    };
    assert!(!delivers("A<->B"));
    assert!(!delivers("B<->A"));
    assert!(!delivers("A->B"));
    assert!(delivers("B->A"));
}

/// Events support the same losses as links.
#[test]
fn events_set_link_loss() {
    for loss in [
        "0.02",
        "\"2 %\"",
        "0",
        "{ random = 0.01, gilbert = { p = 0.01, r = 0.25, good = 0.001, bad = 0.5 } }",
        "{ ber = 1e-6 }",
        "{ ber = 1e-6, burst = 16 }",
    ] {
        let link = LINK.replace("bandwidth", &format!("loss = {loss}\nbandwidth"));
        let network = good(&[START, &link, CONNECTION].concat()).network;
        let of_link = network.link_spec(network.links().next().unwrap()).loss;
        for (set, changes) in [
            (format!("loss = {loss}"), vec![Change::Loss(of_link)]),
            (
                format!("loss = {loss}, bandwidth = \"1 Mbit/s\""),
                vec![Change::Bandwidth(1e6), Change::Loss(of_link)],
            ),
        ] {
            let event = format!("\n[[event]]\nat = \"2 s\"\nlink = \"A->B\"\nset = {{ {set} }}\n");
            let network = good(&[START, LINK, CONNECTION, &event].concat()).network;
            let found: Vec<Change> = network.events().map(|event| event.change).collect();
            assert_eq!(found, changes);
            let last = *network.losses_at(2.0).first().unwrap();
            assert_eq!((network.losses_at(1.9)[0], last), (LinkLoss::NONE, of_link));
        }
    }
}

#[test]
fn events_set_link_delays() {
    let ms = |delay_ms: f64| Change::Delay(delay_ms / 1e3);
    for (set, changes) in [
        ("delay = \"80 ms\"", vec![ms(80.0)]),
        ("delay = \"0 s\"", vec![ms(0.0)]),
        (
            "delay = \"5 ms\", loss = 0.1, bandwidth = \"1 Mbit/s\"",
            vec![Change::Bandwidth(1e6), Change::Loss(0.1.into()), ms(5.0)],
        ),
    ] {
        let event = format!("\n[[event]]\nat = \"2 s\"\nlink = \"A->B\"\nset = {{ {set} }}\n");
        let network = good(&[START, LINK, CONNECTION, &event].concat()).network;
        let found: Vec<Change> = network.events().map(|event| event.change).collect();
        assert_eq!(found, changes);
        let Some(Change::Delay(delay_s)) = changes.last() else {
            unreachable!()
        };
        assert_eq!(network.delays_at_s(2.0)[0], *delay_s);
        let first = network.links().next().unwrap();
        assert_eq!(
            network.delays_at_s(1.9)[0],
            network.link_spec(first).delay_s
        );
    }
}

#[test]
fn nodes_have_labels_and_positions() {
    let nodes = "\n[[node]]\nname = \"A\"\nlabel = \"Amsterdam\"\nx = 1\ny = 2.5\n\n[[node]]\nname = \"B\"\n";
    let prepared = good(&[START, nodes, LINK, CONNECTION].concat());
    assert_eq!(prepared.node_annotations.len(), 2);
    assert_eq!(
        prepared.node_annotations[0].label.as_deref(),
        Some("Amsterdam")
    );
    assert_eq!(prepared.node_annotations[0].position, Some((1.0, 2.5)));
    assert_eq!(
        prepared
            .network
            .node_name(prepared.node_annotations[1].node),
        "B"
    );
    assert_eq!(prepared.node_annotations[1].position, None);
}

#[test]
fn byte_order_mark_and_crlf_are_accepted() {
    let text = format!("\u{feff}{START}{LINK}{CONNECTION}").replace('\n', "\r\n");
    assert_eq!(good(&text).network.link_count(), 2);
    let problem = read(&text.replace("8 Mbit/s", "8 Mbq"))
        .unwrap_err()
        .into_vec()
        .remove(0);
    assert_eq!((problem.line, problem.column), (Some(7), Some(16)));
    let problem = read("\u{feff}duration = 1")
        .unwrap_err()
        .into_vec()
        .pop()
        .unwrap();
    assert_eq!((problem.line, problem.column), (Some(1), Some(1)));
}

#[test]
fn ineffective_settings_are_reported() {
    let constant = CONNECTION.replace("profile = \"ns-reno\"", "constant = \"1 Mbit/s\"");
    let event =
        |at: &str, what: &str| format!("\n[[event]]\nat = \"{at}\"\nlink = \"A->B\"\n{what}\n");
    let cases: &[(&[&str], &str)] = &[
        (
            &[START, LINK, &constant, "max-window = \"64 pkt\"\n"],
            "`max-window` has no effect: only a TCP source has a window",
        ),
        (
            &[START, LINK, &constant, "acks = true\n"],
            "`acks` has no effect: only TCP sources receive acknowledgements",
        ),
        (
            &[START, LINK, &constant, "delayed-ack = true\n"],
            "`delayed-ack` has no effect: only TCP sources receive acknowledgements",
        ),
        (
            &[START, LINK, &constant, "return-path = [\"B\", \"A\"]\n"],
            "`return-path` has no effect: this source receives no acknowledgements",
        ),
        (
            &[
                START,
                LINK,
                CONNECTION,
                "acks = false\ndelayed-ack = true\n",
            ],
            "`delayed-ack` has no effect: the acknowledgements of this connection are not traffic",
        ),
        (
            &[
                START,
                "burstiness-interval = \"100 ms\"\n",
                LINK,
                CONNECTION,
            ],
            "`burstiness-interval` has no effect: only the packet model uses it",
        ),
        (
            &[START, "acks = false\n", LINK, &constant],
            "`acks` has no effect: no connection uses this default",
        ),
        (
            &[START, LINK, CONNECTION, "start = \"10 s\"\n"],
            "starts at 10 s, after the end of the run: it never sends",
        ),
        (
            &[START, LINK, CONNECTION, "stop = \"11 s\"\n"],
            "stops at 11 s, after the end of the run",
        ),
        (
            &[START, LINK, CONNECTION, &event("10 s", "down = true")],
            "occurs at 10 s, after the end of the run",
        ),
        (
            &[START, LINK, CONNECTION, &event("1 s", "up = true")],
            "this event has no effect: link `A->B` is already up",
        ),
        (
            &[
                START,
                LINK,
                CONNECTION,
                &event("2 s", "down = true"),
                &event("1 s", "down = true"),
            ],
            "this event has no effect: link `A->B` has already failed",
        ),
        (
            &[START, "\n[[node]]\nname = \"C\"\n", LINK, CONNECTION],
            "node `C` has no links",
        ),
        (
            &[
                START,
                LINK,
                "buffer = \"100 pkt\"\nqueue = { discipline = \"red\", min = \"10 pkt\", max = \"400 pkt\" }\n",
                CONNECTION,
            ],
            "`max` is 400 pkt, above the buffer, 100 pkt",
        ),
    ];
    for (parts, message) in cases {
        assert_eq!(warning(parts), *message);
    }
}

/// An option for a part of a source keeps the rest from the file, unless it changes the kind.
#[test]
fn options_change_source_keys_or_source() {
    let stack = CONNECTION.replace(
        "profile = \"ns-reno\"",
        "stack = \"linux-6\", congestion = \"cubic\", ecn = true",
    );
    let text = [START, "model = \"packet\"\n", LINK, &stack].concat();
    let source = |option: &str| {
        let options = [format!("connection.c1.source.{option}")];
        let prepared = from_str("test.toml", &text, "".as_ref(), &options);
        let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
        let network = &prepared.network;
        let connection = network.connection_by_name("c1").unwrap();
        network.connection_spec(connection).source.clone()
    };
    let Source::Tcp(stack) = source("congestion=bbr") else {
        panic!("another kind of source");
    };
    assert_eq!(stack.congestion, CongestionControl::Bbr);
    assert!(stack.ecn);
    assert!(matches!(source("window=reno"), Source::Ns2Tcp(_)));
    assert!(matches!(
        source("constant=1 Mbit/s"),
        Source::Constant { .. }
    ));
}

#[test]
fn options_change_application_keys_or_application() {
    let on_off =
        "application = { on-off = { rate = \"100 pkt/s\", on = \"1 s\", off = \"1 s\" } }\n";
    let text = [START, LINK, CONNECTION, on_off].concat();
    let application = |option: &str| {
        let options = [format!("connection.c1.application.{option}")];
        let prepared = from_str("test.toml", &text, "".as_ref(), &options);
        let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
        let network = &prepared.network;
        let connection = network.connection_by_name("c1").unwrap();
        network.connection_spec(connection).application
    };
    let longer_off = Application::OnOff {
        rate_pps: 100.0,
        on_s: 1.0,
        off_s: 3.0,
    };
    assert_eq!(application("on-off.off=3 s"), longer_off);
    let rate_pps = 10.0;
    let poisson = Application::Poisson { rate_pps };
    assert_eq!(application("poisson=10 pkt/s"), poisson);
}

#[test]
fn options_change_settings() {
    let prepared = with_options(&["simulation.duration=20 s", "simulation.step = { max"]);
    assert!(prepared.is_err());
    let prepared = with_options(&[
        "simulation.duration = 20 s",
        "simulation.duration=30 s",
        "simulation.step=20 ms",
        "simulation.seed=7",
        "link.A->B.bandwidth=\"4 Mbit/s\"",
        "link.A->B.queue.discipline=red",
        "link.A->B.queue.min=10 pkt",
        "link.A->B.queue.max=20 pkt",
        "connection.c1.max-window=20 pkt",
        "connection.c1.source.poisson=10 pkt/s",
        "connection.c1.path=A > B",
    ]);
    // A Poisson source has no window.
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(prepared.warnings.len(), 1);
    assert!(
        prepared.warnings[0]
            .message
            .starts_with("--set `connection.c1.max-window=20 pkt`: `max-window`")
    );
    assert_eq!(prepared.warnings[0].file, None);
    assert_eq!((prepared.options.duration_s, prepared.seed), (30.0, 7));
    assert!(matches!(
        prepared.options.model,
        Model::Fluid(FluidOptions::Standard { step }) if step.longest_s() == 0.02
    ));
    let network = &prepared.network;
    let link = network.link_spec(network.link_by_name("A->B").unwrap());
    assert_eq!(link.bandwidth_bps, 4e6);
    assert!(matches!(link.queue, DropPolicy::Red(_)));
    let connection = network.connection_spec(network.connection_by_name("c1").unwrap());
    assert!(matches!(
        connection.source,
        Source::Poisson { rate_pps: 10.0 }
    ));
    assert_eq!(connection.path.as_ref().map(Vec::len), Some(2));
}

#[test]
fn array_of_tables_may_be_inline() {
    let text = "link = [{ from = \"A\", to = \"B\", bandwidth = \"1 Mbit/s\" }]\n\
        connection = [{ from = \"A\", to = \"B\", source.profile = \"nt\" }]\n[simulation]\nduration = \"1 s\"\n";
    let network = good(text).network;
    let first = network.connections().next().unwrap();
    assert_eq!(network.connection_name(first), "c1");
}

pub fn problem_of(options: &[&str]) -> String {
    match with_options(options) {
        Ok(_) => panic!("{options:?} is good"),
        Err(problems) => problems.to_string(),
    }
}

/// One name sets two links that are separate in the file, or a duplex link.
#[test]
fn bidirectional_option_sets_both_directions() {
    let one = |from: &str, to: &str| {
        format!(
            "\n[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nduplex = false\nbandwidth = \"8 Mbit/s\"\n"
        )
    };
    let two = [START, &one("A", "B"), &one("B", "A"), CONNECTION].concat();
    for text in [two, [START, LINK, CONNECTION].concat()] {
        let option = "link.B<->A.bandwidth=4 Mbit/s".to_owned();
        let read = from_str("test.toml", &text, "".as_ref(), &[option]);
        let network = read.unwrap_or_else(|problems| panic!("{problems}")).network;
        let all = network
            .links()
            .map(|id| network.link_spec(id).bandwidth_bps);
        assert_eq!(all.collect::<Vec<_>>(), [4e6, 4e6], "{text}");
    }
    assert!(problem_of(&["link.A<->C.bandwidth=4 Mbit/s"]).contains("unknown link `A<->C`"));
    // Regression: the message named `A->B` as missing, although it exists and only the key is
    // missing.
    let no_key = problem_of(&["link.A->B=4 Mbit/s"]);
    assert!(
        no_key.contains("missing key of link `A->B`") && no_key.contains("bandwidth"),
        "{no_key}"
    );
}

/// Results name both directions of a duplex link. Regression: `--set` accepted only one of the
/// names, and suggested it for the other, which changes another queue.
#[test]
fn option_for_reverse_direction_sets_only_that() {
    let prepared = with_options(&[
        "link.A->B.bandwidth=4 Mbit/s",
        "link.B->A.buffer=7 pkt",
        "link.B->A.queue={ discipline = \"red\", min = \"2 pkt\", max = \"5 pkt\" }",
    ]);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    let spec = |name: &str| {
        network
            .link_spec(network.link_by_name(name).unwrap())
            .clone()
    };
    let (there, back) = (spec("A->B"), spec("B->A"));
    // The name of the row sets both directions, as the row defines both.
    assert_eq!((there.bandwidth_bps, back.bandwidth_bps), (4e6, 4e6));
    assert_eq!(back.buffer, Buffer::Packets(7.0));
    assert_ne!(there.buffer, back.buffer);
    assert!(matches!(back.queue, DropPolicy::Red(_)) && !matches!(there.queue, DropPolicy::Red(_)));
    assert_eq!(there.delay_s, back.delay_s);
    let said = problem_of(&["link.B->A.duplex=false"]);
    assert!(
        said.contains("link `B->A` has no key `duplex` that can be set"),
        "{said}"
    );
}

/// Regression: with packets that only fit the headers, a stack sent one byte in each.
#[test]
fn stack_packet_size_must_exceed_headers() {
    let source = "connection.c1.source={ tcp = \"linux-6\" }";
    let said = problem_of(&[source, "connection.c1.packet-size=20 B"]);
    assert!(said.contains("packets of 20 B are too small"), "{said}");
    with_options(&[source, "connection.c1.packet-size=41 B"]).expect("it fits");
}

#[test]
fn ecn_without_marking_queue_causes_warning() {
    let source = "connection.c1.source={ tcp = \"linux-6\", ecn = true }";
    let prepared = with_options(&[source]).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings = prepared.warnings.iter().map(ToString::to_string);
    let no_effect = warnings.filter(|it| it.contains("no queue marks packets"));
    assert_eq!(no_effect.count(), 1);
    for queue in ["fq-codel", "{ discipline = \"codel\", ecn = true }"] {
        let prepared = with_options(&[source, &format!("link.A->B.queue={queue}")]);
        let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
        assert!(
            prepared.warnings.is_empty(),
            "{queue}: {}",
            prepared.warnings[0]
        );
    }
}

/// The text in the help.
#[test]
fn option_value_may_be_inline_table() {
    let prepared = with_options(&[
        "link.A->B.queue.weight=0.5",
        "link.A->B.queue={ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\", max-p = 0.2 }",
        "connection.c1.source={ poisson = \"10 pkt/s\" }",
    ]);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    let link = network.link_spec(network.link_by_name("A->B").unwrap());
    let DropPolicy::Red(red) = &link.queue else {
        panic!("{:?}", link.queue)
    };
    // A table replaces all keys, including those of earlier options.
    assert_eq!((red.min_pkts, red.max_pkts, red.max_p), (5.0, 15.0, 0.2));
    assert_ne!(red.weight, 0.5);
    let connection = network.connection_spec(network.connection_by_name("c1").unwrap());
    assert!(matches!(
        connection.source,
        Source::Poisson { rate_pps: 10.0 }
    ));

    let said = problem_of(&["link.A->B.queue={ discipline = \"red\", minn = \"5 pkt\" }"]);
    assert!(
        said.contains("link `A->B` has no key `queue.minn` that can be set"),
        "{said}"
    );
    assert!(said.contains("did you mean `queue.min`?"), "{said}");
    let said = problem_of(&["link.A->B.queue={ discipline = red }"]);
    assert!(said.contains("not a table: "), "{said}");
    for option in [
        "connection.c1.path=[\"A\", \"B\"]",
        "connection.c1.source={ list = [1] }",
    ] {
        let said = problem_of(&[option]);
        assert!(said.contains("--set does not support arrays"), "{said}");
        assert!(said.contains("\"A>B>C\""), "{said}");
    }
}

#[test]
fn wildcard_option_must_match_an_element() {
    let prepared = with_options(&["link.*.buffer=9 pkt", "connection.c*.count=3"]);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    for link in network.links() {
        assert_eq!(network.link_spec(link).buffer, Buffer::Packets(9.0));
    }
    for connection in network.connections() {
        assert_eq!(network.connection_spec(connection).count, 3);
    }
    let said = problem_of(&["link.R*.buffer=9 pkt"]);
    assert!(said.contains("no link matches `R*`"), "{said}");
    let said = problem_of(&["connection.*.cuont=3"]);
    assert!(said.contains("connection `*` has no key `cuont`"), "{said}");
    assert!(said.contains("did you mean `count`?"), "{said}");
}

/// Regression: options for aggregates, and for includes missing in the file, were rejected as
/// unknown names.
#[test]
fn options_set_aggregates_and_includes() {
    let said = problem_of(&["aggregate.gold.rtt=1 s"]);
    assert!(said.contains("unknown aggregate `gold`"), "{said}");
    let said = problem_of(&["include.links=none.csv"]);
    assert!(said.contains("none.csv: there is no such file"), "{said}");
    let said = problem_of(&["include.link=none.csv"]);
    assert!(said.contains("did you mean `links`?"), "{said}");
    let said = problem_of(&["conection.c1.count=2"]);
    assert!(said.contains("did you mean `connection`?"), "{said}");
}

/// Nodes, events and classes of links have no names for options: `node.x` would be the place of
/// all.
#[test]
fn elements_without_name_cannot_be_set() {
    let text = "node = [{ name = \"A\", x = 1 }]\n\
        link = [{ from = \"A\", to = \"B\", bandwidth = \"1 Mbit/s\", queue = \"wfq\", class = [{ name = \"gold\" }] }]\n\
        connection = [{ from = \"A\", to = \"B\", source.profile = \"nt\" }]\n\
        event = [{ at = \"1 s\", link = \"A->B\", down = true }]\n[simulation]\nduration = \"2 s\"\n";
    for option in ["node.x=2", "class.weight=3", "event.at=0.5 s"] {
        let options = [option.to_owned()];
        let read = netflow_scenario::from_str("test", text, std::path::Path::new(""), &options);
        let said = read.expect_err(option).to_string();
        assert!(said.contains("unknown setting"), "{said}");
    }
}

/// The name that tables print for a connection without a name.
#[test]
fn unnamed_connection_is_set_by_default_name() {
    let text = "link = [{ from = \"A\", to = \"B\", bandwidth = \"1 Mbit/s\" }]\n\
        connection = [{ from = \"A\", to = \"B\", source.profile = \"nt\" }]\n[simulation]\nduration = \"1 s\"\n";
    let options = ["connection.c1.count=5".to_owned()];
    let prepared = netflow_scenario::from_str("test", text, std::path::Path::new(""), &options);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    assert_eq!(
        network
            .connection_spec(network.connection_by_name("c1").unwrap())
            .count,
        5
    );
}

/// Results of an old scenario change with a default that it does not set.
#[test]
fn changed_defaults_are_reported_for_older_scenarios() {
    let written = |version: &str, more: &str| {
        let start =
            format!("[simulation]\nduration = \"10 s\"\nwritten-for = \"{version}\"\n{more}");
        let prepared = read(&[&start, LINK, CONNECTION].concat());
        let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
        let said = prepared
            .warnings
            .iter()
            .map(|warning| warning.message.clone());
        said.collect::<Vec<_>>()
    };
    let said = written("0.1", "");
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(
        said[0].contains("`simulation.packet-size` changed in 0.2: it was 1000 B, it is 1500 B")
    );
    assert!(said[1].contains("`link.buffer` changed in 0.2: it was 100 pkt"));
    assert_eq!(
        said[2],
        "the default of `simulation.step` changed in 0.2: it was 50 ms, it is chosen from the network"
    );
    assert!(said[3].starts_with("the default of `simulation.model` changed in 0.2"));
    assert!(said[4].starts_with("the default of `connection.source.profile` changed in 0.2"));
    assert_eq!(
        written("0.1.0", "step = \"20 ms\"\npacket-size = \"1000 B\"\n").len(),
        3
    );
    assert!(written("0.2", "").is_empty());
    let said = written("99.0", "");
    assert!(
        said[0].starts_with("written for netflow 99.0; this is "),
        "{said:?}"
    );
    let start = "[simulation]\nduration = \"10 s\"\nwritten-for = \"last year\"\n";
    let problems = read(&[start, LINK, CONNECTION].concat())
        .err()
        .unwrap()
        .to_string();
    assert!(
        problems.contains("`written-for` cannot be \"last year\""),
        "{problems}"
    );
}

/// The path over C has the longer delay and the smaller metric.
#[test]
fn routing_uses_metric_if_set() {
    let link = |from: &str, to: &str, delay: &str, metric: &str| {
        format!(
            "\n[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nbandwidth = \"8 Mbit/s\"\ndelay = \"{delay}\"\n{metric}\n"
        )
    };
    for (metrics, hops) in [
        (["", "", ""], 1),
        (["metric = 30", "metric = 10", "metric = 10"], 2),
    ] {
        let text = [
            START,
            &link("A", "B", "1 ms", metrics[0]),
            &link("A", "C", "5 ms", metrics[1]),
            &link("C", "B", "5 ms", metrics[2]),
            CONNECTION,
        ];
        let network = good(&text.concat()).network;
        let id = network.connection_by_name("c1").unwrap();
        assert_eq!(network.path(id).len(), hops);
        assert_eq!(network.return_path(id).len(), hops);
    }
}

/// An option adds a key to a queue given by a word, in the file or in another option.
#[test]
fn option_extends_keyword_to_table() {
    let queue = |options: &[&str]| {
        let prepared = with_options(options).unwrap_or_else(|problems| panic!("{problems}"));
        let link = prepared.network.link_by_name("A->B").unwrap();
        prepared.network.link_spec(link).queue
    };
    let whole = queue(&["link.A->B.queue={ discipline = \"codel\", ecn = true }"]);
    assert_ne!(whole, queue(&["link.A->B.queue=codel"]));
    assert_eq!(
        whole,
        queue(&["link.A->B.queue=codel", "link.A->B.queue.ecn=true"])
    );
    let text = [START, LINK, "queue = \"codel\"\n", CONNECTION].concat();
    let options = ["link.A->B.queue.ecn=true".to_owned()];
    let prepared = from_str("test.toml", &text, "".as_ref(), &options)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let link = prepared.network.link_by_name("A->B").unwrap();
    assert_eq!(whole, prepared.network.link_spec(link).queue);
    // A later word replaces it completely.
    let later = queue(&["link.A->B.queue.ecn=true", "link.A->B.queue=codel"]);
    assert_eq!(later, queue(&["link.A->B.queue=codel"]));
    for all in ["link.*.queue=codel", "link.A<->B.queue=codel"] {
        assert_eq!(later, queue(&["link.A->B.queue.ecn=true", all]), "{all}");
        assert_eq!(whole, queue(&[all, "link.A->B.queue.ecn=true"]), "{all}");
    }
    // It replaces any earlier setting.
    let red = "link.A->B.queue={ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\" }";
    assert_eq!(later, queue(&[red, "link.A->B.queue=codel"]));
    assert_eq!(queue(&[red]), queue(&["link.A->B.queue=codel", red]));
    let (target, word) = ("link.A->B.queue.target=1 ms", "link.A->B.queue=codel");
    assert_eq!(whole, queue(&[target, word, "link.A->B.queue.ecn=true"]));
    assert_eq!(queue(&[red]), queue(&[target, red]));
    let said = problem_of(&["link.A->B.queue=codel", "link.A->B.queue.ecm=true"]);
    assert!(said.contains("did you mean `queue.ecn`?"), "{said}");
}

/// The message about a setting of all demands names its place if it is set on one of them.
#[test]
fn global_key_is_suggested() {
    let said = problem_of(&["demand.scale=2"]);
    assert!(
        said.contains("did you mean `simulation.demand-scale`?"),
        "{said}"
    );
}

/// The overhead of a link: its own, that of `reverse`, that of the simulation, or none.
#[test]
fn overhead_is_inherited_from_link_or_simulation() {
    let overhead = |bytes, minimum_bytes, cells| Overhead {
        bytes,
        minimum_bytes,
        cells,
    };
    let adsl = overhead(10.0, 0.0, Cells::Atm);
    let ethernet = overhead(38.0, 84.0, Cells::None);
    for (simulation, link, there, back) in [
        ("", "", Overhead::NONE, Overhead::NONE),
        (
            "overhead = \"38 B\"\n",
            "",
            Overhead::of(38.0),
            Overhead::of(38.0),
        ),
        (
            "overhead = \"38 B\"\n",
            "overhead = { bytes = \"10 B\", cells = \"atm\" }\nreverse = { overhead = \"0 B\" }\n",
            adsl,
            Overhead::NONE,
        ),
        (
            "",
            "overhead = { bytes = \"38 B\", minimum = \"84 B\" }\n",
            ethernet,
            ethernet,
        ),
        (
            "",
            "reverse = { overhead = { cells = \"ptm\" } }\n",
            Overhead::NONE,
            overhead(0.0, 0.0, Cells::Ptm),
        ),
    ] {
        let text = [START, simulation, LINK, link, CONNECTION].concat();
        let read = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
        let of = |name| {
            let network = &read.network;
            network
                .link_spec(network.link_by_name(name).unwrap())
                .overhead
        };
        assert_eq!((of("A->B"), of("B->A")), (there, back), "{text}");
    }
    let said = warning(&[
        START,
        "overhead = \"38 B\"\n",
        LINK,
        "overhead = \"0 B\"\n",
        CONNECTION,
    ]);
    assert_eq!(
        said,
        "`overhead` has no effect: every link has its own `overhead`"
    );
    let read = with_options(&["link.A->B.overhead=38 B", "link.B->A.overhead.cells=atm"]);
    let network = read.unwrap().network;
    let of = |name| {
        network
            .link_spec(network.link_by_name(name).unwrap())
            .overhead
    };
    assert_eq!(of("A->B"), Overhead::of(38.0));
    assert_eq!(of("B->A").cells, Cells::Atm);
}

/// Packets per second of a link are those of the default size with overhead; bytes of its queue are
/// bytes on the wire.
#[test]
fn link_sizes_include_overhead() {
    let link = LINK.replace("8 Mbit/s", "1000 pkt/s");
    let rest = "overhead = \"500 B\"\nbuffer = \"40 KB\"\nqueue = { discipline = \"red\", min = \"10 KB\", max = \"30 KB\" }\n";
    let event = "\n[[event]]\nat = \"2 s\"\nlink = \"A->B\"\nset = { bandwidth = \"500 pkt/s\" }\n";
    let network = good(&[START, &link, rest, CONNECTION, event].concat()).network;
    let id = network.link_by_name("A->B").unwrap();
    let spec = network.link_spec(id);
    // 1500 + 500 B.
    assert_eq!(spec.bandwidth_bps, 16e6);
    assert_eq!(spec.buffer, Buffer::Bytes(40_000.0));
    assert_eq!(network.buffer_pkts(id), 20.0);
    let DropPolicy::Red(red) = spec.queue else {
        panic!("no RED");
    };
    assert_eq!((red.min_pkts, red.max_pkts), (5.0, 15.0));
    let change = network.events().next().unwrap().change;
    assert_eq!(change, Change::Bandwidth(8e6));
    let time = LINK.replace(
        "bandwidth",
        "overhead = \"500 B\"\nbuffer = \"100 ms\"\nbandwidth",
    );
    let network = good(&[START, &time, CONNECTION].concat()).network;
    let id = network.link_by_name("A->B").unwrap();
    // The bytes that the link sends in 100 ms.
    let spec = network.link_spec(id);
    assert_eq!(spec.buffer.bytes(spec.bandwidth_bps), Some(100_000.0));
    assert_eq!(network.buffer_pkts(id), 50.0);
}

/// The name of a managed queue gives it with the settings that the engine has by default.
#[test]
fn names_of_managed_queues_give_their_defaults() {
    for aqm in netflow_queues::Aqm::all() {
        let option = format!("link.A->B.queue={}", aqm.name());
        let prepared = with_options(&[&option]).unwrap_or_else(|problems| panic!("{problems}"));
        let network = &prepared.network;
        let link = network.link_by_name("A->B").unwrap();
        assert_eq!(network.link_spec(link).queue, DropPolicy::Managed(aqm));
    }
}
