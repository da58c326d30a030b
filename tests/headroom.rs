//! Headroom of demands and connections that are split into parts.

use netflow::scenario::CompiledScenario;
use netflow::steady::{Bounds, ConnectionSelection, Solver, Steady, SteadyError, SteadyOptions};

/// Two equal-cost paths from A to D, the second with less bandwidth, with other traffic on both;
/// from D to E there is one.
const NETWORK: &str = r#"
simulation = { duration = "10 s", ecmp = true }
link = [
    { from = "A", to = "B", bandwidth = "100 Mbit/s", delay = "1 ms", buffer = "200 pkt" },
    { from = "B", to = "D", bandwidth = "100 Mbit/s", delay = "2 ms", buffer = "200 pkt" },
    { from = "A", to = "C", bandwidth = "50 Mbit/s", delay = "1 ms", buffer = "200 pkt" },
    { from = "C", to = "D", bandwidth = "80 Mbit/s", delay = "2 ms", buffer = "200 pkt" },
    { from = "D", to = "E", bandwidth = "60 Mbit/s", delay = "1 ms", buffer = "200 pkt" },
]
"#;
const OTHERS: &str = r#"
    { name = "other", from = "A", to = "B", rate = "30 Mbit/s", kind = "poisson" },
    { name = "little", from = "A", to = "C", rate = "5 Mbit/s", kind = "poisson" },
"#;

fn load(kind: &str, settings: &[String]) -> CompiledScenario {
    let text = format!(
        "{NETWORK}demand = [{{ name = 'd', from = 'A', to = 'E', rate = '20 Mbit/s', {kind} }}, {OTHERS}]"
    );
    let prepared = netflow::scenario::from_str("test.toml", &text, "".as_ref(), settings);
    prepared.unwrap_or_else(|problems| panic!("{problems}"))
}

fn options() -> SteadyOptions {
    SteadyOptions {
        starts: 0,
        ..SteadyOptions::default()
    }
}

fn solver(prepared: &CompiledScenario) -> Solver {
    Solver::new(&prepared.network, f64::INFINITY).expect("a steady state")
}

/// Returns the headroom factor of the named demand or connection.
fn factor(prepared: &CompiledScenario, name: &str, bounds: &Bounds) -> f64 {
    let only = prepared.connections_by_name(name);
    let only = only.unwrap_or_else(|| panic!("no {name}"));
    let found = solver(prepared).headroom(bounds, ConnectionSelection::Only(&only), &options());
    found.expect("headroom").factor.expect("some")
}

fn is_within(prepared: &CompiledScenario, at: &Steady, bounds: &Bounds) -> bool {
    let links = prepared.network.links().zip(&at.links);
    let connections = at.connections.iter().filter(|it| it.sending);
    links.map(|(_, link)| link.utilization).fold(0.0, f64::max) <= bounds.utilization
        && connections.map(|it| it.delay_s).fold(0.0, f64::max) <= bounds.delay_s
}

/// Changing the rate in the file gives the same headroom, for any kind of demand.
#[test]
fn split_demand_has_headroom_of_its_rate() {
    let utilization = Bounds {
        utilization: 0.9,
        ..Bounds::default()
    };
    let delay = Bounds {
        delay_s: 0.006,
        ..Bounds::default()
    };
    for (kind, model, bounds) in [
        ("kind = 'constant'", "fluid", utilization),
        ("kind = 'poisson'", "fluid", delay),
        ("kind = 'tcp'", "fluid", utilization),
        ("flows = 9", "fluid", utilization),
        ("kind = 'video'", "fluid", utilization),
        ("size = { constant = '30 KB' }", "packets", delay),
    ] {
        let settings = |mbps: f64| {
            vec![
                format!("simulation.model={model}"),
                format!("demand.d.rate={mbps} Mbit/s"),
            ]
        };
        let prepared = load(kind, &settings(20.0));
        let found = factor(&prepared, "d", &bounds);
        let (mut low, mut high) = (1.0_f64, 10.0_f64);
        while high / low > 1.0 + 1e-8 {
            let middle = (low * high).sqrt();
            let more = load(kind, &settings(20.0 * middle));
            let at = solver(&more).solve(&options()).expect("rest");
            if is_within(&more, &at, &bounds) {
                low = middle
            } else {
                high = middle
            }
        }
        assert!((found / low - 1.0).abs() < 1e-6, "{kind}: {found} {low}");
        // Either part alone has more headroom, because they share a link.
        let parts = prepared.split.iter().find(|it| it.name == "d");
        let parts = &parts.expect("a divided demand").parts;
        let ways = if model == "packets" { 2 } else { 1 };
        assert_eq!(parts.len(), 2 * ways, "{kind}");
        if ways == 1 {
            let each = ["d/1", "d/2"].map(|name| factor(&prepared, name, &bounds));
            let least = each[0].min(each[1]);
            assert!(least > 1.2 * found, "{kind}: {each:?} {found}");
        }
    }
}

/// Flows of a connection with different paths have one name, too; elastic TCP has no demand in any
/// part.
#[test]
fn names_select_connections_flows_and_demands() {
    let connections = r#"connection = [
        { name = "c", from = "A", to = "D", source = { profile = "linux-cubic" }, application = { poisson = "1 Mbit/s" }, count = 20 },
        { name = "bulk", from = "A", to = "D", source = { profile = "linux-cubic" }, count = 20, start = "9 s", stop = "9.5 s" },
    ]"#;
    let text = format!("{NETWORK}{connections}");
    let prepared = netflow::scenario::from_str("test.toml", &text, "".as_ref(), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    let names: Vec<&str> = prepared.connection_names().collect();
    assert_eq!(names, ["c/1", "c/2", "bulk/1", "bulk/2", "c", "bulk"]);
    let called = |name: &str| prepared.connections_by_name(name);
    let [one, two] = ["c/1", "c/2"].map(|name| called(name).expect("a part")[0]);
    assert_eq!(called("c"), Some(vec![one, two]));
    assert_eq!(called("c/1"), Some(vec![one]));
    assert_eq!(called("d"), None);
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let all = solver(&prepared).headroom(&bounds, ConnectionSelection::All, &options());
    let all = all.expect("headroom").factor.expect("some");
    // No other source sends at the end.
    assert!((factor(&prepared, "c", &bounds) / all - 1.0).abs() < 1e-8);
    // With and without the other sources.
    let bulk = called("bulk").expect("parts");
    for at_s in [9.2, f64::INFINITY] {
        let mut solver = Solver::new(&prepared.network, at_s).expect("a steady state");
        let none = solver.headroom(&bounds, ConnectionSelection::Only(&bulk), &options());
        assert_eq!(none.unwrap_err(), SteadyError::NothingToScale);
    }
}
