//! Valid input that is a likely mistake: warned of, once for each file.

use netflow_scenario::{Problem, from_str};

const START: &str = "[simulation]\nduration = \"60 s\"\n";
const TRAFFIC: &str =
    "[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { constant = \"1 MB/s\" }\n";

fn link(to: &str, bandwidth: &str) -> String {
    format!("[[link]]\nfrom = \"A\"\nto = \"{to}\"\nbandwidth = \"{bandwidth}\"\n")
}

fn warnings(parts: &[&str], options: &[&str]) -> Vec<Problem> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let prepared = from_str("test.toml", &parts.concat(), "".as_ref(), &options);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    prepared.warnings
}

#[test]
fn bandwidth_in_bytes_causes_warning() {
    for (text, is, bits) in [
        ("10 MB/s", "80 Mbit/s", "10 Mbit/s"),
        ("1GB/s", "8 Gbit/s", "1Gbit/s"),
        ("125 KB/s", "1 Mbit/s", "125 kbit/s"),
        ("1000 B/s", "8 kbit/s", "1000 bit/s"),
    ] {
        // Several links with the same mistake.
        let links = [link("B", text), link("C", text)].concat();
        let found = warnings(&[START, &links, TRAFFIC], &[]);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        let message = format!("`bandwidth` is in bytes: \"{text}\" is {is}");
        assert_eq!((&one.message, one.line), (&message, Some(6)));
        let help = format!("write \"{is}\", or \"{bits}\" if you mean bits");
        assert_eq!(one.help.as_deref(), Some(&*help));
        for text in [is, bits] {
            assert!(warnings(&[START, &link("B", text), TRAFFIC], &[]).is_empty());
        }
    }
    let bits = link("B", "8 Mbit/s");
    let found = warnings(&[START, &bits, TRAFFIC], &["link.A->B.bandwidth=1 MB/s"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.starts_with("--set "), "{found:?}");
    let event = "[[event]]\nat = \"1 s\"\nlink = \"A->B\"\nset = { bandwidth = \"1 MB/s\" }\n";
    assert_eq!(warnings(&[START, &bits, TRAFFIC, event], &[]).len(), 1);
}

#[test]
fn voice_below_one_call_causes_warning() {
    let demand =
        |what: &str| format!("[[demand]]\nfrom = \"A\"\nto = \"B\"\nkind = \"voice\"\n{what}\n");
    let bits = link("B", "8 Mbit/s");
    let of = |what: &str| warnings(&[START, &bits, &demand(what)], &[]);
    for what in ["rate = \"64 kbit/s\"", "rate = \"64 kbit/s\"\nusers = 100"] {
        let found = of(what);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        let message = "`rate` is less than one voice call: 40 packets/s of 200 B instead of 50";
        assert_eq!(one.message, message);
        assert!(
            one.help
                .as_deref()
                .unwrap_or_default()
                .contains("\"80 kbit/s\"")
        );
    }
    for what in [
        "rate = \"80 kbit/s\"",
        "rate = \"1 Mbit/s\"",
        "rate = \"50 pkt/s\"",
        "users = 3",
        "rate = \"64 kbit/s\"\npacket-size = \"160 B\"",
    ] {
        assert_eq!(of(what).len(), 0, "{what}");
    }
}

#[test]
fn codel_that_drops_before_it_marks_causes_warning() {
    let of = |queue: &str| {
        let link = link("B", "8 Mbit/s") + &format!("queue = {{ {queue} }}\n");
        let packets = "model = \"packet\"\n";
        warnings(&[START, packets, &link, TRAFFIC], &[])
    };
    let found = of("discipline = \"codel\", ce-threshold = \"5 ms\"");
    let [one] = &found[..] else {
        panic!("{found:?}");
    };
    let message = "the queue drops before it marks, because `ce-threshold` is not below `target`";
    assert_eq!(one.message, message);
    for queue in [
        "discipline = \"codel\", ce-threshold = \"1 ms\"",
        "discipline = \"codel\", ce-threshold = \"5 ms\", target = \"10 ms\"",
        "discipline = \"codel\", ce-threshold = \"5 ms\", ecn = true",
        "discipline = \"fq-codel\", ce-threshold = \"5 ms\"",
    ] {
        assert_eq!(of(queue).len(), 0, "{queue}");
    }
}

#[test]
fn cubic_without_sack_causes_warning() {
    let of = |source: &str| {
        let traffic =
            format!("[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = {{ {source} }}\n");
        warnings(&[START, &link("B", "8 Mbit/s"), &traffic], &[])
    };
    let found = of("ns2-tcp = \"cubic\"");
    let [one] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(one.message.contains("no SACK"), "{}", one.message);
    assert!(
        one.help
            .as_deref()
            .is_some_and(|it| it.contains("tcp = \"linux-6\""))
    );
    assert!(of("ns2-tcp = \"reno\"").is_empty() && of("tcp = \"linux-6\"").is_empty());
}
