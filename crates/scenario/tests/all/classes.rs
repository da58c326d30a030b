//! `--set` of keys of a `[[link.class]]`.

use netflow_network::{Buffer, DropPolicy, Network, Scheduler};
use netflow_scenario::{CompiledScenario, from_str};

const TEXT: &str = r#"
[simulation]
duration = "10 s"
model = "packet"

[[link]]
from = "A"
to = "B"
bandwidth = "10 Mbit/s"
queue = "wfq"

[[link.class]]
name = "gold"
weight = 3
buffer = "50 pkt"

[[link.class]]
name = "v.1"
buffer = "20 pkt"

[[link]]
from = "B"
to = "C"
bandwidth = "10 Mbit/s"
queue = "wfq"

[[link.class]]
name = "gold"
buffer = "40 pkt"

[[connection]]
name = "c"
from = "A"
to = "C"
class = "gold"
source = { constant = "1 Mbit/s" }

[[connection]]
name = "d"
from = "C"
to = "A"
class = "v.1"
source = { constant = "1 Mbit/s" }
"#;

fn read(settings: &[&str]) -> Result<CompiledScenario, String> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    from_str("test.toml", TEXT, "".as_ref(), &settings).map_err(|problems| problems.to_string())
}

fn network(settings: &[&str]) -> Network {
    let read = read(settings).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(read.warnings.is_empty(), "{}", read.warnings[0]);
    read.network
}

/// Returns weight and buffer in packets of the queue with this name.
fn queue(network: &Network, name: &str) -> (f64, f64) {
    let classed = &network.tables().multi_queue_links;
    let mut queues = classed.iter().flat_map(|classed| {
        let names = network.queues_of(classed.link);
        names.into_iter().skip(1).zip(&classed.classes)
    });
    let found = queues.find(|(id, _)| network.link_name(*id) == name);
    let (_, class) = found.unwrap_or_else(|| panic!("no {name}"));
    let Buffer::Packets(pkts) = class.buffer else {
        panic!("{name}: {:?}", class.buffer)
    };
    (class.weight, pkts)
}

#[test]
fn options_set_link_classes_by_name() {
    let as_written = network(&[]);
    assert_eq!(queue(&as_written, "A->B/gold"), (3.0, 50.0));
    assert_eq!(queue(&as_written, "B->A/v.1"), (1.0, 20.0));
    // One name sets both directions of a link; the name of the other direction sets only that.
    let set = network(&[
        "link.A->B.class.gold.weight=5",
        "link.B->A.class.gold.weight=7",
        "link.B->A.class.v.1.buffer=9 pkt",
    ]);
    assert_eq!(queue(&set, "A->B/gold"), (5.0, 50.0));
    assert_eq!(queue(&set, "B->A/gold"), (7.0, 50.0));
    assert_eq!(queue(&set, "A->B/v.1"), (1.0, 20.0));
    assert_eq!(queue(&set, "B->A/v.1"), (1.0, 9.0));
    assert_eq!(queue(&set, "B->C/gold"), (1.0, 40.0));
    // The other direction may have another scheduler.
    let set = network(&["link.B->A.queue=priority"]);
    let schedulers = set
        .tables()
        .multi_queue_links
        .iter()
        .map(|it| it.scheduler.clone());
    let first: Vec<Scheduler> = schedulers.take(2).collect();
    assert_eq!(first, [Scheduler::Wfq, Scheduler::Priority]);
    // A wildcard sets all links, and one name both directions.
    let set = network(&[
        "link.*.class.gold.buffer=30 pkt",
        "link.B<->A.class.v.1.weight=2",
    ]);
    for name in ["A->B/gold", "B->A/gold", "B->C/gold", "C->B/gold"] {
        assert_eq!(queue(&set, name).1, 30.0, "{name}");
    }
    assert_eq!(queue(&set, "A->B/v.1"), (2.0, 20.0));
    assert_eq!(queue(&set, "B->A/v.1"), (2.0, 20.0));
    // A queue with its own settings, one of which differs in the other direction.
    let red =
        "link.A->B.class.gold.queue={ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\" }";
    network(&[red]);
    let text = TEXT.replacen(
        "buffer = \"50 pkt\"",
        "queue = { discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\" }",
        1,
    );
    let set = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let read = from_str("test.toml", &text, "".as_ref(), &settings);
        let network = read.unwrap_or_else(|problems| panic!("{problems}")).network;
        let classes =
            network.tables().multi_queue_links[..2]
                .iter()
                .map(|it| match it.classes[0].queue {
                    DropPolicy::Red(red) => red.min_pkts,
                    other => panic!("{other:?}"),
                });
        classes.collect::<Vec<f64>>()
    };
    assert_eq!(set(&["link.B->A.class.gold.queue.min=6 pkt"]), [5.0, 6.0]);
    assert_eq!(set(&["link.A<->B.class.gold.queue.min=7 pkt"]), [7.0, 7.0]);
    assert_eq!(
        set(&[
            "link.*A*.class.gold.queue.min=8 pkt",
            "link.A->B.class.gold.queue.min=9 pkt"
        ]),
        [9.0, 8.0]
    );
}

#[test]
fn unknown_class_keys_are_rejected() {
    for (setting, expected) in [
        ("link.A->B.class.silver.weight=2", "class.silver.weight"),
        (
            "link.A->B.class.gold.wieght=2",
            "write `class.NAME.KEY` with an existing name; keys: weight, parent, rate, ceil, burst, cburst, prio, quantum, buffer, queue, policer",
        ),
        ("link.B->C.class.v.1.weight=2", "class.v.1.weight"),
        ("link.A->B.class.gold.weight=0", "`weight` cannot be 0"),
        ("link.A->B.class=3", "class"),
        ("class.gold.weight=2", "unknown setting `class.gold.weight`"),
    ] {
        let error = read(&[setting]).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{setting}: {error}");
    }
}

const CUSTOMERS: &str = r#"
[simulation]
duration = "10 s"

[[link]]
from = "A"
to = "B"
bandwidth = "10 Mbit/s"
queue = "htb"

[[link.class]]
name = "web"
parent = "customer"
rate = "1 Mbit/s"
buffer = "100 ms"

[[link.class]]
name = "customer"
rate = "4 Mbit/s"
ceil = "6 Mbit/s"

[[link.class]]
name = "voice"
parent = "customer"
rate = "2 Mbit/s"
ceil = "6 Mbit/s"
burst = "15 KB"
cburst = "3 KB"
prio = 1
quantum = "3000 B"

[[connection]]
name = "c"
from = "A"
to = "B"
class = "web"
source = { constant = "1 Mbit/s" }
"#;

fn read_customers(old: &str, new: &str) -> Result<CompiledScenario, String> {
    assert!(CUSTOMERS.contains(old), "{old}");
    let text = CUSTOMERS.replacen(old, new, 1);
    from_str("test.toml", &text, "".as_ref(), &[]).map_err(|problems| problems.to_string())
}

/// Parents precede their children, queues have the order of the file, and keys have the defaults of Linux.
#[test]
fn htb_classes_form_a_tree() {
    let scenario = read_customers("", "").unwrap();
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
    let network = &scenario.network;
    let multi_queue_links = &network.tables().multi_queue_links;
    // Both directions.
    assert_eq!(multi_queue_links.len(), 2);
    let queues = multi_queue_links[0].classes.iter();
    let queues: Vec<(&str, Buffer)> = queues.map(|it| (it.name.as_str(), it.buffer)).collect();
    // 100 ms at a ceiling of 1 Mbit/s.
    assert_eq!(queues[0], ("web", Buffer::Bytes(12_500.0)));
    assert_eq!(queues[1].0, "voice");
    let Scheduler::Htb(tree) = &multi_queue_links[0].scheduler else {
        panic!("{:?}", multi_queue_links[0].scheduler);
    };
    let shown = tree.classes.iter().map(|it| {
        let rates = (it.rate_bps, it.ceil_bps, it.burst_bytes, it.cburst_bytes);
        (
            it.name.as_str(),
            it.parent,
            rates,
            it.prio,
            it.quantum_bytes,
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            (
                "customer",
                None,
                (4_000_000, 6_000_000, 1600, 1600),
                0,
                50_000
            ),
            (
                "web",
                Some(0),
                (1_000_000, 1_000_000, 1600, 1600),
                0,
                12_500
            ),
            (
                "voice",
                Some(0),
                (2_000_000, 6_000_000, 15_000, 3000),
                1,
                3000
            ),
        ]
    );
    assert_eq!(tree.class_of_queue, [1, 2]);
    let web = network
        .links()
        .find(|&id| network.link_name(id) == "A->B/web");
    let path = network.htb_path(web.unwrap());
    let path: Vec<(&str, usize)> = path
        .iter()
        .map(|(it, queues)| (it.name.as_str(), queues.len()))
        .collect();
    assert_eq!(path, [("web", 1), ("customer", 2)]);
}

#[test]
fn wrong_htb_classes_are_rejected() {
    for (old, new, expected) in [
        ("rate = \"1 Mbit/s\"\n", "", "class `web` needs a `rate`"),
        (
            "parent = \"customer\"",
            "parent = \"custommer\"",
            "unknown class `custommer`",
        ),
        (
            "ceil = \"6 Mbit/s\"",
            "ceil = \"3 Mbit/s\"",
            "`ceil` of class `customer` is below its `rate`",
        ),
        (
            "name = \"customer\"\n",
            "name = \"customer\"\nparent = \"web\"\n",
            "its own ancestor",
        ),
        (
            "parent = \"customer\"",
            "parent = \"web\"",
            "class `web` is its own ancestor",
        ),
        (
            "class = \"web\"",
            "class = \"customer\"",
            "class `customer` has classes of its own and no queue",
        ),
        (
            "queue = \"htb\"",
            "queue = \"wfq\"",
            "`parent` of a class needs `queue = \"htb\"` in the link",
        ),
        (
            "queue = \"htb\"",
            "queue = \"htb\"\nreverse = { queue = \"wfq\" }",
            "needs `queue = \"htb\"`",
        ),
        ("prio = 1", "prio = 8", "0 to 7"),
        (
            "prio = 1",
            "prio = 1\nqueue = \"htb\"",
            "a class cannot have classes of its own",
        ),
        (
            "duration = \"10 s\"",
            "duration = \"10 s\"\nmodel = \"fluid\"",
            "the queue discipline \"htb\" needs the packet model",
        ),
    ] {
        let error = read_customers(old, new).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{new}: {error}");
    }
}

#[test]
fn suspicious_htb_classes_are_reported() {
    for (old, new, expected) in [
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"4 Mbit/s\"",
            "guaranteed rates of 5 Mbit/s exceed the `rate` of class `customer`, 4 Mbit/s",
        ),
        (
            "bandwidth = \"10 Mbit/s\"",
            "bandwidth = \"3 Mbit/s\"",
            "guaranteed rates of 4 Mbit/s exceed the bandwidth of the link, 3 Mbit/s",
        ),
        (
            "ceil = \"6 Mbit/s\"",
            "ceil = \"6 Mbit/s\"\nbuffer = \"9 pkt\"",
            "`buffer` has no effect",
        ),
        (
            "prio = 1",
            "prio = 1\nweight = 2",
            "`weight` has no effect with \"htb\"",
        ),
    ] {
        let warnings = read_customers(old, new).unwrap().warnings;
        let is_there = warnings.iter().any(|it| it.to_string().contains(expected));
        assert!(is_there, "{new}: {warnings:?}");
    }
}
