//! Tests of the import of Linux queueing disciplines. Outputs are those of the printers of iproute2 6.1.

use netflow_document::Problem;
use netflow_import::scenario::{Defaults, Origin, write};
use netflow_import::{Reading, Topology, from_text};
use netflow_network::{Aqm, Buffer, DropPolicy, LinkSpec};
use netflow_queues::{GilbertElliott, Jitter, JitterDistribution, Reordering, Slots};
use netflow_scenario::CompiledScenario;
use netflow_scenario::export::tc_commands;

fn import(text: &str) -> Topology {
    from_text("eth0.tc", text, &Reading::default())
        .unwrap_or_else(|wrong| panic!("{text}\n{wrong}"))
}

fn refused(text: &str) -> Problem {
    let problems = from_text("eth0.tc", text, &Reading::default()).expect_err(text);
    problems.into_vec().remove(0)
}

fn scenario_of(topology: &Topology) -> CompiledScenario {
    let text = write(topology, &Defaults::default(), &Origin::default()).text;
    let scenario = netflow_scenario::from_str("written.toml", &text, "/nonexistent".as_ref(), &[]);
    scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn spec(text: &str) -> LinkSpec {
    let scenario = scenario_of(&import(text));
    let link = scenario.network.link_by_name("host->peer").unwrap();
    scenario.network.link_spec(link).clone()
}

fn assumed(text: &str) -> Vec<String> {
    let topology = import(text);
    let list = topology.assumptions.iter();
    list.map(|it| it.summary(&topology)).collect()
}

fn has(assumptions: &[String], part: &str) -> bool {
    assumptions.iter().any(|it| it.contains(part))
}

const NETEM: &str = "qdisc netem 8001: root refcnt 2 limit 500 delay 50ms  10ms loss gemodel p 1% r 10% 1-h 70% 1-k 0.1% \
                     duplicate 1% reorder 25% gap 5\n";

#[test]
fn netem_becomes_delay_line_and_loss() {
    let link = spec(NETEM);
    assert_eq!(link.delay_s, 0.05);
    assert_eq!(link.overhead.bytes, 14.0);
    let jitter = Jitter {
        deviation_ns: 10_000_000,
        distribution: JitterDistribution::Uniform,
        correlation: 0.0,
        reorders: true,
    };
    assert_eq!(link.delay_line.jitter, Some(jitter));
    let reordering = Reordering {
        probability: 0.25,
        gap: 5,
    };
    assert_eq!(link.delay_line.reordering, Some(reordering));
    assert_eq!(link.delay_line.duplication, 0.01);
    assert_eq!(link.delay_line.limit_pkts, Some(500));
    let gilbert = GilbertElliott::new(0.01, 0.1, 0.001, 0.7).unwrap();
    assert_eq!(link.loss.gilbert, Some(gilbert));
    let assumed = assumed(NETEM);
    assert!(
        has(&assumed, "does not print the distribution"),
        "{assumed:?}"
    );
    assert!(has(&assumed, "14 B of Ethernet header"), "{assumed:?}");
    // The only rate is that of the interface, which tc does not print.
    assert_eq!(link.bandwidth_bps, 1e9);
}

const SLOTS: &str = "qdisc netem 1: root limit 1000 slot 800us 1ms packets 16\n";

#[test]
fn slots_are_slots() {
    let link = spec(SLOTS);
    let slots = Slots {
        interval_ns: (800_000, 1_000_000),
        max_pkts: Some(16),
        max_bytes: None,
    };
    assert_eq!(link.delay_line.slots, Some(slots));
}

#[test]
fn json_describes_the_same_link() {
    let json = r#"[{"kind":"netem","handle":"8001:","root":true,"refcnt":2,"options":{"limit":500,
        "delay":{"delay":0.05,"jitter":0.01,"correlation":0},
        "loss-gemodel":{"p":0.01,"r":0.1,"1-h":0.7,"1-k":0.001},
        "duplicate":{"duplicate":0.01,"correlation":0},"reorder":{"reorder":0.25,"correlation":0},
        "ecn":false,"gap":5}}]"#;
    assert_eq!(spec(json), spec(NETEM));
    let json = r#"[{"kind":"netem","handle":"8001:","root":true,"options":{"limit":1000,
        "slot":{"min-delay":0.0008,"max-delay":0.001,"packets":16,"bytes":0},"ecn":false,"gap":0}}]"#;
    assert_eq!(spec(json), spec(SLOTS));
    let json = r#"[{"kind":"cake","handle":"8002:","root":true,"options":{"bandwidth":1125000,"diffserv":"diffserv4",
        "flowmode":"dual-srchost","nat":true,"wash":false,"ingress":false,"ack-filter":"enabled","split_gso":false,
        "rtt":50000,"raw":false,"atm":"atm","overhead":18,"mpu":64,"memlimit":4194304,"fwmark":"0"}}]"#;
    let text = "qdisc cake 8002: root bandwidth 9Mbit diffserv4 dual-srchost nat nowash ack-filter no-split-gso rtt 50ms \
                atm overhead 18 mpu 64 memlimit 4Mb \n";
    assert_eq!(spec(json), spec(text));
    let json = r#"[{"kind":"tbf","handle":"1:","root":true,"options":{"rate":1250000,"burst":15360,"lat":400000}},
        {"kind":"fq_codel","handle":"10:","parent":"1:1","options":{"limit":1000,"flows":64,"quantum":300,"target":2999,
        "ce_threshold":999,"interval":49999,"memory_limit":33554432,"ecn":true,"drop_batch":64}}]"#;
    let link = spec(json);
    assert!(matches!(link.queue, DropPolicy::Managed(Aqm::FqCoDel(_))));
    assert_eq!(
        link.shaper.map(|it| (it.rate_bps, it.burst_bytes)),
        Some((1e7, 15_360.0))
    );
}

#[test]
fn rate_of_netem_is_the_bandwidth() {
    let text = "qdisc netem 1: root limit 1000 delay 100ms  10ms rate 10Mbit packetoverhead 4\n";
    let link = spec(text);
    assert_eq!((link.bandwidth_bps, link.overhead.bytes), (1e7, 18.0));
    // 10 Mbit/s and 100 ms hold 82 frames of 1514 B.
    assert_eq!(link.buffer, Buffer::Packets(918.0));
    assert_eq!(link.delay_line.limit_pkts, None);
    assert!(!link.delay_line.jitter.unwrap().reorders);
    assert!(has(&assumed(text), "includes 82 delayed packets"));
    // The path holds 1651 frames, more than the limit: the limit bounds the rate.
    let text = "qdisc netem 1: root limit 1000 delay 200ms rate 100Mbit\n";
    let link = spec(text);
    assert_eq!(link.buffer, Buffer::Packets(1000.0));
    assert_eq!(link.delay_line.limit_pkts, Some(1000));
    assert!(has(&assumed(text), "is below the 1651 packets"));
    let atm =
        spec("qdisc netem 1: root limit 10 rate 1Mbit packetoverhead 8 cellsize 48 celloverhead 5");
    assert_eq!(atm.overhead.bytes, 22.0);
    assert_eq!(atm.buffer, Buffer::Packets(10.0));
}

#[test]
fn token_bucket_is_a_shaper_or_a_bandwidth() {
    let text = "qdisc tbf 1: root refcnt 2 rate 1Mbit burst 32Kb lat 400ms \n";
    let link = spec(text);
    assert_eq!(link.bandwidth_bps, 1e9);
    let shaper = link.shaper.unwrap();
    assert_eq!((shaper.rate_bps, shaper.burst_bytes), (1e6, 32_768.0));
    assert_eq!(link.buffer, Buffer::Bytes(50_000.0 + 32_768.0));
    // A burst of one frame is a link of this rate.
    let frame = "qdisc tbf 1: root rate 10Mbit burst 1540b limit 150Kb \n";
    let link = spec(frame);
    assert_eq!((link.bandwidth_bps, link.shaper), (1e7, None));
    assert_eq!(link.buffer, Buffer::Bytes(153_600.0));
    assert!(has(&assumed(frame), "less than two frames"));
    let peak = "qdisc tbf 1: root rate 10Mbit burst 15Kb/8 mpu 0b peakrate 20Mbit mtu 1540b/8 mpu 0b lat 69.6ms linklayer ethernet \n \
                linklayer atm overhead 10 mtu 2047 tsize 512 \n";
    let link = spec(peak);
    assert_eq!(link.bandwidth_bps, 2e7);
    assert_eq!(link.overhead.bytes, 24.0);
    // The inverse of tc: 10 Mbit/s over 69.6 ms and the burst, below 20 Mbit/s over it and 1540 B.
    assert_eq!(link.buffer, Buffer::Bytes(102_360.0));
}

#[test]
fn queues_keep_their_settings() {
    let link = spec(
        "qdisc codel 0: root refcnt 2 limit 500p target 3ms interval 50ms ecn ce_threshold 1ms\n",
    );
    assert_eq!(link.buffer, Buffer::Packets(500.0));
    let DropPolicy::Managed(Aqm::CoDel(codel)) = link.queue else {
        panic!("{:?}", link.queue);
    };
    assert_eq!(
        (codel.target_ns, codel.interval_ns, codel.ecn),
        (3_000_000, 50_000_000, true)
    );
    assert_eq!(codel.ce_threshold_ns, Some(1_000_000));
    let link =
        spec("qdisc pie 0: root limit 1000p target 20ms tupdate 30ms alpha 2 beta 20 ecn \n");
    let DropPolicy::Managed(Aqm::Pie(pie)) = link.queue else {
        panic!("{:?}", link.queue);
    };
    assert_eq!(
        (pie.target_ns, pie.update_ns, pie.ecn),
        (20_000_000, 30_000_000, true)
    );
    let text = "qdisc red 0: root limit 60Kb min 15Kb max 45Kb ecn harddrop ewma 3 probability 0.1 Scell_log 13\n";
    let DropPolicy::Red(red) = spec(text).queue else {
        panic!("{text}");
    };
    assert_eq!(
        (red.min_pkts, red.max_pkts),
        (15_360.0 / 1514.0, 46_080.0 / 1514.0)
    );
    assert_eq!(
        (red.max_p, red.weight, red.ecn, red.hard_drop),
        (0.1, 0.125, true, true)
    );
    // The command of the same queue: tc computes the weight from the burst.
    let command = "tc qdisc add dev eth0 root red limit 60kb min 15kb max 45kb avpkt 1000 burst 20 bandwidth 10mbit \
                   probability 0.1 ecn harddrop";
    assert_eq!(spec(command).queue, DropPolicy::Red(red));
    let undetailed = "qdisc red 0: root limit 60Kb min 15Kb max 45Kb \n";
    assert!(has(&assumed(undetailed), "only with -d"));
    assert_eq!(
        spec("qdisc pfifo 0: root limit 77p\n").buffer,
        Buffer::Packets(77.0)
    );
    assert_eq!(
        spec("qdisc bfifo 0: root limit 150000b\n").buffer,
        Buffer::Bytes(150_000.0)
    );
    let fast =
        "qdisc pfifo_fast 0: root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\n";
    assert_eq!(spec(fast).buffer, Buffer::Packets(1000.0));
    assert!(has(&assumed(fast), "txqueuelen"));
    let raw = spec(
        "qdisc cake 0: root bandwidth unlimited besteffort flows nonat nowash no-ack-filter no-split-gso raw overhead 0 \n",
    );
    assert_eq!(raw.overhead.bytes, 14.0);
    let mq = "qdisc mq 0: root\nqdisc fq_codel 0: parent :2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64\n\
              qdisc fq_codel 0: parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64\n";
    assert_eq!(spec(mq).buffer, Buffer::Packets(10_240.0));
}

const HTB: &str = "qdisc htb 1: root refcnt 2 r2q 10 default 0x30 direct_packets_stat 0 direct_qlen 1000
qdisc fq_codel 20: parent 1:20 limit 1000p flows 1024 quantum 300 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64
qdisc pfifo 10: parent 1:10 limit 50p
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:10 parent 1:1 leaf 10: prio 0 rate 5Mbit ceil 20Mbit burst 15Kb cburst 15Kb
class htb 1:1 root rate 50Mbit ceil 60Mbit burst 15Kb cburst 1600b
class htb 1:20 parent 1:2 leaf 20: prio 1 quantum 3000 rate 20Mbit ceil 50Mbit burst 1600b cburst 1600b
class htb 1:2 parent 1:1 rate 25Mbit ceil 50Mbit burst 1600b cburst 1600b
class htb 1:30 parent 1:2 prio 2 rate 5Mbit ceil 50Mbit burst 1600b cburst 1600b
 rate 0bit 0pps backlog 0b 0p requeues 0
";

#[test]
fn classes_of_htb_are_classes_of_the_link() {
    let topology = import(HTB);
    let scenario = scenario_of(&topology);
    let link = scenario.network.link_by_name("host->peer").unwrap();
    assert_eq!(scenario.network.link_spec(link).bandwidth_bps, 5e7);
    let settings = &topology.links[0].settings;
    assert_eq!(settings.leaves, ["1:10", "1:20", "1:30"]);
    let text = settings.as_toml();
    let class = |name: &str| {
        let start = text.find(&format!("\"{name}\"\n")).unwrap();
        text[start..].split("\n\n").next().unwrap().to_owned()
    };
    assert!(
        !class("1:2").contains("parent") && !class("1:2").contains("prio"),
        "{text}"
    );
    let calls = class("1:10");
    assert!(
        calls.contains("burst     = \"15.36 KB\"") && calls.contains("buffer    = \"50 pkt\""),
        "{calls}"
    );
    // The quantum of Linux: a tenth of the bytes of a second, from 1000 B to 200 000 B.
    assert!(calls.contains("quantum   = \"62.5 KB\""), "{calls}");
    let data = class("1:20");
    assert!(
        data.contains("parent    = \"1:2\"") && data.contains("quantum   = \"3 KB\""),
        "{data}"
    );
    assert!(data.contains("fq-codel"), "{data}");
    assert!(has(&assumed(HTB), "belong to class 1:30"));
    let written = write(&topology, &Defaults::default(), &Origin::default()).text;
    assert!(
        written.contains("one example connection in each"),
        "{written}"
    );
    let filter = "filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 flowid 1:10\n  match 0a000000/ff000000 at 16\n";
    assert!(has(
        &assumed(&format!("{HTB}{filter}")),
        "filters are not imported"
    ));
    let loopback = "qdisc noqueue 0: dev lo root refcnt 2\nqdisc pfifo 8001: dev eth0 root refcnt 2 limit 9p\n";
    assert_eq!(spec(loopback).buffer, Buffer::Packets(9.0));
    assert!(has(&assumed(HTB), "class 1:1 contains all others"));
    // One connection in each class makes the scenario run.
    assert_eq!(scenario.network.connections().count(), 3);
}

#[test]
fn netem_of_all_classes_is_that_of_the_link() {
    let text = "qdisc htb 1: root r2q 10 default 0x1 direct_packets_stat 0
class htb 1:1 root prio 0 rate 10Mbit ceil 10Mbit burst 15Kb cburst 15Kb
qdisc netem 10: parent 1:1 limit 100 delay 30ms\n";
    let link = spec(text);
    assert_eq!((link.delay_s, link.delay_line.limit_pkts), (0.03, None));
    let other = text.replace(
        "qdisc netem",
        "class htb 1:2 root prio 0 rate 1Mbit ceil 1Mbit burst 15Kb cburst 15Kb\nqdisc netem",
    );
    assert!(refused(&other).message.contains("different netem"));
}

#[test]
fn commands_describe_the_same_link_as_the_output() {
    let commands = "#!/bin/sh
set -e
DEV=eth0
tc qdisc del dev \"$DEV\" root
sudo tc qdisc add dev $DEV root handle 1: stab overhead -14 tbf rate 10mbit \\
    burst 15k limit 100k  # shaper
tc qdisc add dev $DEV parent 1:1 handle 10: netem delay 20ms 2ms distribution normal loss 0.5% limit 2000
";
    let output =
        "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 15Kb/8 mpu 0b limit 100Kb linklayer ethernet
 overhead -14
qdisc netem 10: parent 1:1 limit 2000 delay 20ms  2ms loss 0.5%\n";
    let (mut by_commands, by_output) = (spec(commands), spec(output));
    let jitter = by_commands.delay_line.jitter.as_mut().unwrap();
    assert_eq!(jitter.distribution, JitterDistribution::Normal);
    jitter.distribution = JitterDistribution::Uniform;
    assert_eq!(by_commands, by_output);
    assert!(by_commands.overhead.is_none());
    let reorder = "tc qdisc add dev eth0 root netem delay 10ms reorder 25% 50%";
    assert_eq!(
        spec(reorder).delay_line.reordering.map(|it| it.gap),
        Some(1)
    );
    assert!(has(&assumed(reorder), "correlation of `reorder`"));
}

#[test]
fn policers_limit_their_direction() {
    let text = "qdisc noqueue 0: root refcnt 2
qdisc ingress ffff: parent ffff:fff1 ----------------
filter protocol ip pref 1 u32 chain 0
filter protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw
  match 00000000/00000000 at 12
 police 0x1 rate 10Mbit burst 100Kb mtu 2Kb action drop overhead 0b
	ref 1 bind 1
";
    let scenario = scenario_of(&import(text));
    assert!(!has(&assumed(text), "filters are not imported"));
    let spec = |name: &str| {
        let link = scenario.network.link_by_name(name).unwrap();
        scenario.network.link_spec(link).policer
    };
    assert_eq!(spec("host->peer"), None);
    let policer = spec("peer->host").unwrap();
    assert_eq!((policer.rate_bps, policer.burst_bytes), (1e7, 102_400.0));
    let egress = "tc qdisc add dev eth0 root pfifo limit 100\ntc qdisc add dev eth0 clsact\n\
                  tc filter add dev eth0 egress matchall action police rate 5mbit burst 20k conform-exceed drop\n";
    assert_eq!(self::spec(egress).policer.map(|it| it.rate_bps), Some(5e6));
    assert!(
        refused(&egress.replace(" egress", ""))
            .message
            .contains("direction of this policer")
    );
    assert!(
        refused(&egress.replace("matchall", "flower ip_proto udp"))
            .message
            .contains("only to some packets")
    );
    assert!(
        refused(&egress.replace("conform-exceed drop", ""))
            .message
            .contains("only policers that drop")
    );
}

#[test]
fn what_links_cannot_do_is_refused() {
    let cases = [
        ("", "the file is empty"),
        (
            "class htb 1:1 root rate 1Mbit ceil 1Mbit burst 15Kb cburst 15Kb\n",
            "no root qdisc",
        ),
        (
            "qdisc fq 8001: root refcnt 2 limit 10000p flow_limit 100p buckets 1024\n",
            "no queue like fq",
        ),
        ("qdisc prio 1: root bands 3\n", "no queue like prio"),
        (
            "qdisc netem 1: root limit 1000 loss 1% 25%\n",
            "the correlation of `loss`",
        ),
        (
            "qdisc netem 1: root limit 1000 loss 1% ecn \n",
            "marks packets",
        ),
        (
            "qdisc netem 1: root limit 1000 loss state p13 1% p31 20% p32 5% p23 100% p14 0%\n",
            "more than two states",
        ),
        (
            "qdisc netem 1: root limit 1000 slot distribution 1ms 1ms\n",
            "slots with a distribution",
        ),
        (
            "[{\"kind\":\"netem\",\"handle\":\"1:\",\"root\":true,\"options\":{\"limit\":9,\"slot\":{\"distribution\":1}}}]",
            "slots with a distribution",
        ),
        (
            "qdisc netem 1: root limit 1000 wobble 3\n",
            "option `wobble` of netem",
        ),
        (
            "qdisc netem 1: root limit 1000 delay 5parsecs\n",
            "`5parsecs` is not a time",
        ),
        (
            "qdisc netem 1: root limit 1000 delay\n",
            "`delay` has no value",
        ),
        (
            "qdisc pie 0: root limit 1000p target 15ms tupdate 15ms alpha 4 beta 20 \n",
            "`alpha` of pie must be 2",
        ),
        (
            "qdisc red 0: root limit 60Kb min 15Kb max 45Kb adaptive \n",
            "option `adaptive` of red",
        ),
        (
            "qdisc htb 1: root r2q 10 default 0x30 direct_packets_stat 0\n",
            "classes of htb are missing",
        ),
        (
            "qdisc netem 1: dev eth0 root limit 5\nqdisc netem 1: dev eth1 root limit 5\n",
            "several interfaces",
        ),
        (
            "qdisc netem 1: root limit 9 rate 1Mbit\nqdisc fq_codel 2: parent 1:1 limit 5p\n",
            "stays empty",
        ),
        (
            "[{\"kind\":\"tbf\",\"handle\":\"1:\",\"root\":true,\"options\":{\"rate\":1250000,\"burst\":15360,\"minburst\":1540,\"lat\":69632}}]",
            "does not print `peakrate`",
        ),
        ("tc qdisc add dev eth0 root\n", "does not name a qdisc"),
        (
            "qdisc netem 1: root limit 5\nfi\n",
            "neither an output of tc nor a command",
        ),
        (
            "qdisc codel 0: root limit 5p target 200s interval 50ms\n",
            "cannot have these settings",
        ),
    ];
    for (text, message) in cases {
        let reading = Reading {
            format: Some(netflow_import::Format::Tc),
            ..Reading::default()
        };
        let problems = from_text("eth0.tc", text, &reading).expect_err(text);
        let problem = problems.into_vec().remove(0);
        assert!(
            problem.message.contains(message),
            "{text}: {}",
            problem.message
        );
    }
}

/// Returns the scenario of a link with these keys, and a connection over it.
fn scenario_with(keys: &str, connection: &str) -> CompiledScenario {
    let text = format!(
        "[simulation]\nduration = \"1 s\"\nmodel = \"packet\"\n\n[[link]]\nfrom = \"host\"\nto = \"peer\"\n{keys}\n\
         [[connection]]\nname = \"c\"\nfrom = \"host\"\nto = \"peer\"\nsource = {{ constant = \"1 Mbit/s\" }}\n{connection}"
    );
    let scenario = netflow_scenario::from_str("s.toml", &text, "/nonexistent".as_ref(), &[]);
    scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn exported(scenario: &CompiledScenario) -> Result<String, String> {
    let link = scenario.network.link_by_name("host->peer").unwrap();
    let commands = tc_commands(&scenario.network, link).map_err(|error| error.to_string())?;
    let lines = commands
        .iter()
        .map(|it| format!("tc {} dev eth0 {}\n", it.object, it.rest));
    Ok(lines.collect())
}

/// Returns a link whose buffer is a number of packets or bytes, and its classes.
fn comparable(scenario: &CompiledScenario) -> (Vec<LinkSpec>, Option<netflow_queues::Scheduler>) {
    let network = &scenario.network;
    let link = network.link_by_name("host->peer").unwrap();
    let specs = network.queues_of(link).into_iter().map(|queue| {
        let mut spec = network.link_spec(queue).clone();
        let is_cake = matches!(spec.queue, DropPolicy::Managed(Aqm::Cake(_)));
        spec.buffer = match spec.buffer.bytes(spec.sustained_bps()) {
            Some(bytes) => Buffer::Bytes(bytes.floor()),
            None if is_cake => spec.buffer,
            None => Buffer::Packets(network.buffer_pkts(queue).floor()),
        };
        spec
    });
    let scheduler = network.tables().multi_queue_links.first().map(|it| {
        let mut scheduler = it.scheduler.clone();
        if let netflow_queues::Scheduler::Htb(tree) = &mut scheduler {
            for (number, class) in tree.classes.iter_mut().enumerate() {
                class.name = number.to_string();
            }
        }
        scheduler
    });
    (specs.collect(), scheduler)
}

#[test]
fn exported_links_are_imported_unchanged() {
    let links = [
        "bandwidth = \"10 Mbit/s\"",
        "bandwidth = \"10 Mbit/s\"\ndelay = \"5.5 ms\"\nbuffer = \"77 pkt\"",
        "bandwidth = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"150 KB\"\nloss = \"7 %\"",
        "bandwidth = \"8 Mbit/s\"\nbuffer = \"50 ms\"\noverhead = \"38 B\"",
        "bandwidth = \"8 Mbit/s\"\nbuffer = \"50 pkt\"\noverhead = { bytes = \"18 B\", minimum = \"64 B\", cells = \"atm\" }",
        "bandwidth = \"100 Mbit/s\"\nshaper = { rate = \"20 Mbit/s\", burst = \"32 KB\" }\nbuffer = \"100 pkt\"\nqueue = \"codel\"",
        "bandwidth = \"100 Mbit/s\"\nshaper = { rate = \"20 Mbit/s\", burst = \"32 KB\" }\nbuffer = \"100 ms\"",
        "bandwidth = \"10 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"500 pkt\"\n\
         queue = { discipline = \"fq-codel\", target = \"3 ms\", interval = \"50 ms\", ecn = false, ce-threshold = \"1 ms\", flows = 64, quantum = \"300 B\" }",
        "bandwidth = \"10 Mbit/s\"\nbuffer = \"500 pkt\"\nqueue = { discipline = \"pie\", target = \"20 ms\", update = \"30 ms\", ecn = true }",
        "bandwidth = \"10 Mbit/s\"\nqueue = { discipline = \"cake\", bandwidth = \"9 Mbit/s\", rtt = \"50 ms\", isolation = \"dual-srchost\", \
         tins = \"besteffort\", ack-filter = \"aggressive\" }",
        "bandwidth = \"10 Mbit/s\"\nbuffer = \"1 MB\"\nqueue = \"cake\"",
        "bandwidth = \"10 Mbit/s\"\ndelay = \"20 ms\"\njitter = \"5 ms\"\nin-flight-limit = \"900 pkt\"",
        "bandwidth = \"10 Mbit/s\"\ndelay = \"20 ms\"\nduplication = \"0.3 %\"\nreordering = { probability = \"25 %\", gap = 3 }\n\
         jitter = { deviation = \"1.5 ms\", distribution = \"pareto-normal\", correlation = \"29 %\", reorders = true }\n\
         loss = { gilbert = { p = 0.013, r = 0.27, good = 0.001, bad = 0.7 } }",
        "bandwidth = \"10 Mbit/s\"\nslots = { interval = \"0.8 ms\", longest = \"1.2 ms\", packets = 16, bytes = \"9 KB\" }",
        "bandwidth = \"10 Mbit/s\"\noverhead = \"14 B\"\npolicer = { rate = \"5 Mbit/s\", burst = \"20 KB\" }",
        "bandwidth = \"50 Mbit/s\"\ndelay = \"10 ms\"\njitter = \"1 ms\"\nbuffer = \"60 pkt\"\nqueue = \"htb\"\n\
         [[link.class]]\nname = \"office\"\nrate = \"20 Mbit/s\"\nceil = \"30 Mbit/s\"\ncburst = \"15 KB\"\n\
         [[link.class]]\nname = \"home\"\nrate = \"10 Mbit/s\"\nbuffer = \"90 KB\"\n\
         [[link.class]]\nname = \"calls\"\nparent = \"office\"\nrate = \"2 Mbit/s\"\nceil = \"50 Mbit/s\"\nbuffer = \"50 pkt\"\n\
         [[link.class]]\nname = \"data\"\nparent = \"office\"\nrate = \"5 Mbit/s\"\nprio = 1\nquantum = \"3000 B\"\nqueue = \"fq-codel\"\nbuffer = \"900 pkt\"\n",
    ];
    for keys in links {
        let original = scenario_with(keys, "");
        let commands = exported(&original).unwrap_or_else(|wrong| panic!("{keys}: {wrong}"));
        let again = scenario_of(&import(&commands));
        let (mut first, mut second) = (comparable(&original), comparable(&again));
        for specs in [&mut first.0, &mut second.0] {
            for spec in specs {
                (spec.from, spec.to) = (second_node(&again), second_node(&again));
            }
        }
        assert_eq!(first, second, "{keys}\n{commands}");
    }
}

fn second_node(scenario: &CompiledScenario) -> netflow_network::NodeId {
    scenario.network.nodes().nth(1).unwrap()
}

#[test]
fn what_tc_cannot_make_is_not_exported() {
    let rate = "bandwidth = \"10 Mbit/s\"\n";
    let cases = [
        (
            "queue = { discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }",
            "red of Linux counts bytes",
        ),
        ("queue = \"dualpi2\"", "dualpi2 cannot be exported"),
        (
            "queue = \"pie\"\nbuffer = \"100 KB\"",
            "give the `buffer` in packets",
        ),
        (
            "queue = \"cake\"\nbuffer = \"100 pkt\"",
            "give the `buffer` in bytes",
        ),
        (
            "queue = \"priority\"\n[[link.class]]\nname = \"a\"",
            "use `queue = \"htb\"`",
        ),
        (
            "policer = { rate = \"1 Mbit/s\", burst = \"9 KB\" }",
            "give the link `overhead = \"14 B\"`",
        ),
        (
            "loss = { outages = { interval = \"30 s\", duration = \"200 ms\" } }",
            "no outages",
        ),
        (
            "jitter = { deviation = \"5 ms\", distribution = [-1.0, 1.0] }",
            "own `distribution`",
        ),
        (
            "overhead = { bytes = \"10 B\", cells = \"ptm\" }",
            "PTM cells",
        ),
        (
            "shaper = { rate = \"10 Mbit/s\", burst = \"9 KB\" }",
            "remove the shaper",
        ),
    ];
    for (keys, message) in cases {
        let error = exported(&scenario_with(&format!("{rate}{keys}"), "")).expect_err(keys);
        assert!(
            error.starts_with("link host->peer: ") && error.contains(message),
            "{error}"
        );
    }
    let event =
        "[[event]]\nat = \"0.5 s\"\nlink = \"host->peer\"\nset = { bandwidth = \"1 Mbit/s\" }\n";
    assert!(
        exported(&scenario_with(rate, event))
            .unwrap_err()
            .contains("events have no qdisc")
    );
}

/// The kernel of the machine makes the exported link, and its `tc` prints it.
#[test]
fn exported_link_in_the_kernel_is_imported() {
    let keys = "bandwidth = \"50 Mbit/s\"\noverhead = { bytes = \"14 B\", minimum = \"64 B\" }\nbuffer = \"77 pkt\"\n\
                shaper = { rate = \"20 Mbit/s\", burst = \"32 KB\" }";
    let original = scenario_with(keys, "");
    let commands = exported(&original).unwrap().replace("dev eth0", "dev lo");
    let script = format!("set -e; ip link set lo up\n{commands}tc -d qdisc show dev lo");
    let output = std::process::Command::new("unshare")
        .args(["-rn", "sh", "-c", &script])
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return netflow_needs::skip(
                netflow_needs::Need::System,
                &format!("no tc with tbf: {why}"),
            );
        }
        Err(error) => {
            return netflow_needs::skip(
                netflow_needs::Need::System,
                &format!("no unshare: {error}"),
            );
        }
    };
    let shown = String::from_utf8(output.stdout).unwrap();
    let (first, second) = (
        comparable(&original),
        comparable(&scenario_of(&import(&shown))),
    );
    let (first, second) = (&first.0[0], &second.0[0]);
    assert_eq!(
        (second.bandwidth_bps, second.overhead),
        (5e7, first.overhead),
        "{shown}"
    );
    assert_eq!(second.buffer, first.buffer);
    let [first, second] = [first, second].map(|it| it.shaper.unwrap());
    assert_eq!(second.rate_bps, first.rate_bps);
    // A microsecond at 20 Mbit/s.
    assert!(
        (second.burst_bytes - first.burst_bytes).abs() <= 2.5,
        "{shown}"
    );
}
