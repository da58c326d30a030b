//! Diurnal profiles: demands at an hour.

use netflow_network::{ConnectionSpec, Network, Source};
use netflow_scenario::{CompiledScenario, Problem, from_str};
use proptest::prelude::*;

/// Two paths of equal cost from A to D.
const SQUARE: &str = r#"
[[link]]
from = "A"
to = "B"
bandwidth = "10 Mbit/s"
metric = 1

[[link]]
from = "B"
to = "D"
bandwidth = "10 Mbit/s"
metric = 1

[[link]]
from = "A"
to = "C"
bandwidth = "10 Mbit/s"
metric = 1

[[link]]
from = "C"
to = "D"
bandwidth = "10 Mbit/s"
metric = 1
"#;

const DAYS: &str = r#"
[[day]]
name = "office"
factors = [0.25, 0.5, 1, 0.75]

[[day]]
name = "home"
factors = [1]
"#;

fn load(text: &str, options: &[&str]) -> CompiledScenario {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let prepared = from_str("test.toml", text, "".as_ref(), &options);
    prepared.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn start(settings: &str) -> String {
    format!("[simulation]\nduration = \"10 s\"\n{settings}\n{SQUARE}")
}

fn spec<'a>(prepared: &'a CompiledScenario, name: &str) -> &'a ConnectionSpec {
    let id = prepared.network.connection_by_name(name);
    let id = id.unwrap_or_else(|| panic!("no {name}"));
    prepared.network.connection_spec(id)
}

/// Returns the rate of a fixed-rate source, in packets per second.
fn rate_pps(prepared: &CompiledScenario, name: &str) -> f64 {
    match spec(prepared, name).source {
        Source::Constant { rate_pps } | Source::Poisson { rate_pps } => rate_pps,
        _ => panic!("{name}"),
    }
}

/// Returns the contents of a network as text.
fn describe_network(network: &Network) -> String {
    let links = network
        .links()
        .map(|id| format!("{:?}\n", network.link_spec(id)));
    let connections = network.connections();
    let connections = connections.map(|id| {
        let paths = [network.path(id), network.return_path(id)];
        format!("{:?} {paths:?}\n", network.connection_spec(id))
    });
    let workloads = network.workloads().map(|spec| format!("{spec:?}\n"));
    links.chain(connections).chain(workloads).collect()
}

/// Returns whether two texts differ only in the last digits of their numbers.
fn is_near(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !(c.is_alphanumeric() || "+-.".contains(c)));
        parts.map(ToOwned::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    let near = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => a == b || (x - y).abs() <= 1e-12 * x.abs(),
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(near)
}

/// Returns a demand without its rate and its day.
fn demand(i: usize, (kind, users): (&str, u64)) -> String {
    let [from, to] = [["A", "D"], ["B", "C"], ["D", "A"], ["C", "A"]][i % 4];
    let what = match kind {
        "flows" => format!("flows = {users}"),
        kind => format!("kind = \"{kind}\"\nusers = {users}"),
    };
    format!("\n[[demand]]\nname = \"d{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{what}\n")
}

const KINDS: [&str; 6] = ["tcp", "flows", "constant", "poisson", "voice", "video"];

fn demands() -> impl Strategy<Value = Vec<(&'static str, u64, f64, bool)>> {
    let kind = prop::sample::select(KINDS.to_vec());
    let one = (kind, 1..20_u64, 1e4..1e5_f64, any::<bool>());
    prop::collection::vec(one, 1..8)
}

fn factors() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.1..3.0_f64, 1..30)
}

/// Computes the factor at an hour by searching all pieces of the piecewise linear profile.
fn expected_factor(factors: &[f64], hour: f64) -> f64 {
    let apart = 24.0 / factors.len() as f64;
    let next = factors.iter().cycle().skip(1);
    let pieces = factors.iter().zip(next).enumerate();
    let mut found = f64::NAN;
    for (i, (a, b)) in pieces {
        let after = hour - i as f64 * apart;
        if after >= 0.0 {
            found = a * (1.0 - after / apart) + b * after / apart;
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The network equals one with rates multiplied by hand: for all kinds of demands, with and
    /// without equal-cost paths, in the fluid and the packet model.
    #[test]
    fn hour_equals_network_with_scaled_rates(
        demands in demands(), days in [factors(), factors()], hour in 0.0..24.0_f64, packets in any::<bool>(),
        ecmp in any::<bool>(), scale in 0.5..2.0_f64,
    ) {
        let model = if packets { "packets" } else { "fluid" };
        let settings = format!("model = \"{model}\"\necmp = {ecmp}\ndemand-scale = {scale}\n");
        let mut at_hour = start(&format!("{settings}hour = {hour}"));
        let mut multiplied = start(&settings);
        for (i, (kind, users, bps, is_second)) in demands.into_iter().enumerate() {
            let demand = demand(i, (kind, users));
            let of_day = expected_factor(&days[usize::from(is_second)], hour);
            let day = ["a", "b"][usize::from(is_second)];
            at_hour += &format!("{demand}rate = \"{bps} bit/s\"\nday = \"{day}\"\n");
            multiplied += &format!("{demand}rate = \"{} bit/s\"\n", bps * of_day);
        }
        for (name, factors) in ["a", "b"].iter().zip(&days) {
            at_hour += &format!("\n[[day]]\nname = \"{name}\"\nfactors = {factors:?}\n");
        }
        let (at_hour, multiplied) = (load(&at_hour, &[]), load(&multiplied, &[]));
        let [a, b] = [&at_hour, &multiplied].map(|it| describe_network(&it.network));
        prop_assert!(is_near(&a, &b), "{}\n{}", a, b);
    }
}

/// Every kind of demand with and without a rate; results are bit-identical.
#[test]
fn day_of_all_demands_equals_demand_scale() {
    for model in ["fluid", "packets"] {
        for factor in [0.1, 0.7, 1.9] {
            let settings = format!("model = \"{model}\"\necmp = true\n");
            let demands = |day: &str| -> String {
                let rates = KINDS
                    .iter()
                    .enumerate()
                    .map(|(i, kind)| demand(i, (kind, 7)) + "rate = \"90 kbit/s\"\n" + day);
                let without = ["voice", "video"].iter().enumerate();
                let without = without.map(|(i, kind)| demand(i + 10, (kind, 7)) + day);
                rates.chain(without).collect()
            };
            let gravity = |day: &str| {
                format!(
                    "\n[include]\ngravity = {{ total = \"1 Mbit/s\", weight = \"uniform\"{day} }}\n"
                )
            };
            let day = format!("\n[[day]]\nname = \"x\"\nfactors = [{factor}]\n");
            let at_hour = [
                start(&format!("{settings}hour = 13.37")),
                demands("day = \"x\"\n"),
                gravity(", day = \"x\""),
                day,
            ];
            let scaled = [
                start(&format!("{settings}demand-scale = {factor}")),
                demands(""),
                gravity(""),
            ];
            let [a, b] = [at_hour.concat(), scaled.concat()].map(|text| load(&text, &[]));
            assert_eq!(describe_network(&a.network), describe_network(&b.network));
        }
    }
}

const TRAFFIC: &str = "\n[[demand]]\nfrom = \"A\"\nto = \"B\"\nrate = \"1000 pkt/s\"\nkind = \"poisson\"\nday = \"office\"\n\
     \n[[demand]]\nfrom = \"A\"\nto = \"C\"\nrate = \"1000 pkt/s\"\nkind = \"poisson\"\nday = \"home\"\n";

#[test]
fn options_set_hour_and_day() {
    let text = [&start("hour = 6"), TRAFFIC, DAYS].concat();
    let pps = |options: &[&str]| {
        let prepared = load(&text, options);
        ["A->B/poisson", "A->C/poisson"].map(|name| rate_pps(&prepared, name))
    };
    assert_eq!(pps(&[]), [500.0, 1000.0]);
    assert_eq!(pps(&["simulation.hour=12"]), [1000.0, 1000.0]);
    assert_eq!(pps(&["simulation.hour=21"]), [500.0, 1000.0]);
    assert_eq!(pps(&["demand.*.day=office"]), [500.0, 500.0]);
    let set = "demand.A->C/poisson.day=office";
    assert_eq!(pps(&[set, "simulation.hour=12"]), [1000.0, 1000.0]);
    assert_eq!(pps(&[set, "simulation.hour=0"]), [250.0, 250.0]);
    let scaled = ["simulation.demand-scale=3", "simulation.hour=18"];
    assert_eq!(pps(&scaled), [2250.0, 3000.0]);
}

#[test]
fn tables_and_gravity_support_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = "from,to,rate,kind,day\nA,B,1000 pkt/s,poisson,office\nA,C,1000 pkt/s,poisson,\n";
    std::fs::write(folder.path().join("matrix.csv"), rows).expect("room");
    let include = "\n[include]\ndemands = \"matrix.csv\"\n\
        gravity = { total = \"1200 pkt/s\", weight = \"uniform\", kind = \"constant\", day = \"office\" }\n";
    let text = [&start("hour = 18"), include, DAYS].concat();
    let read = |options: &[&str]| {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let prepared = from_str("test.toml", &text, folder.path(), &options);
        prepared.unwrap_or_else(|problems| panic!("{problems}"))
    };
    let pps = |prepared: &CompiledScenario| {
        let names = ["A->B/poisson", "A->C/poisson", "A->B/constant"];
        names.map(|name| rate_pps(prepared, name))
    };
    // Twelve ordered pairs of four nodes.
    assert_eq!(pps(&read(&[])), [750.0, 1000.0, 75.0]);
    let other = read(&["demand.A->B/poisson.day=home", "include.gravity.day=home"]);
    assert_eq!(pps(&other), [1000.0, 1000.0, 100.0]);
}

/// Returns the warnings with their lines.
fn warnings(text: &str, options: &[&str]) -> Vec<Problem> {
    load(text, options).warnings
}

#[test]
fn ineffective_settings_are_reported_once() {
    let no_hour = [&start(""), TRAFFIC, DAYS].concat();
    let found = warnings(&no_hour, &[]);
    let [one] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        one.message,
        "`day` has no effect: [simulation] has no `hour`"
    );
    let help = one.help.as_deref().expect("help");
    assert!(help.contains("--set simulation.hour=20"), "{help}");
    let line = no_hour.lines().position(|line| line.contains("day = "));
    assert_eq!(one.line, line.map(|line| line + 1));
    assert!(warnings(&no_hour, &["simulation.hour=0"]).is_empty());

    let without = TRAFFIC.replace("day = \"office\"", "");
    let unused = warnings(&[&start("hour = 3"), &without, DAYS].concat(), &[]);
    let messages: Vec<&str> = unused.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        ["day `office` has no effect: no demand refers to it"]
    );

    let without = without.replace("day = \"home\"", "");
    let found = warnings(&(start("hour = 3") + &without), &[]);
    let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["`hour` has no effect: no demand has a `day`"]);
    assert_eq!(found[0].line, Some(3));
}

/// One unknown day in a gravity table with a hundred demands is one error.
#[test]
fn unknown_gravity_day_is_reported_once() {
    let include = "\n[include]\ngravity = { total = \"1 Mbit/s\", weight = \"uniform\", day = \"offfice\" }\n";
    let text = [&start("hour = 3"), include, DAYS].concat();
    let problems = from_str("test.toml", &text, "".as_ref(), &[]).expect_err("an unknown day");
    let messages: Vec<String> = problems.iter().map(|it| it.message.clone()).collect();
    assert_eq!(messages, ["unknown day `offfice`"]);
}
