//! Tests of the content of reports, and of invalid results.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{HOSTILE, run, run_text, scenario};
use netflow_report::{Error, MAX_ALL_CURVES, MAX_BUSIEST_CURVES, Report};
use netflow_results::Results;
use serde_json::Value;

fn html(directories: &[PathBuf]) -> String {
    Report::read(directories, None).unwrap().html()
}

/// Returns the data of a page, as its script reads them.
fn data(html: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = html.split_once(start).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap();
    values.iter().filter_map(Value::as_f64).collect()
}

#[test]
fn report_is_deterministic() {
    let place = tempfile::tempdir().unwrap();
    let results = [run(place.path(), &scenario("topology.toml"), "one", 0.5)];
    assert!(html(&results) == html(&results));
}

#[test]
fn page_is_self_contained() {
    let place = tempfile::tempdir().unwrap();
    let page = html(&[run_text(place.path(), HOSTILE, "hostile", 0.5)]);
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("content=\"default-src 'none'; script-src 'sha256-"));
    assert_eq!(
        page.matches("<script").count(),
        3,
        "data, µPlot and the page's own"
    );
    assert!(!page.contains("<img") && !page.contains("<link"));
    assert!(
        page.contains("Leon Sorokin, MIT licence") && page.contains("Permission is hereby granted")
    );
}

/// The downsampled curves have the largest and smallest values of the files.
#[test]
fn peaks_are_preserved() {
    let place = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(scenario("topology.toml")).unwrap();
    let directory = run_text(
        place.path(),
        &text.replacen("[simulation]", "[simulation]\nstep = \"10 ms\"", 1),
        "fine",
        0.01,
    );
    let rows = Results::open(&directory).unwrap().links().unwrap();
    let data = data(&html(&[directory]));
    let run = &data["runs"][0];
    assert_eq!(
        (&run["samples"], &run["thinned"]),
        (&6000.into(), &true.into())
    );
    let times = numbers(&run["x"]);
    assert_eq!(times.len(), 1200);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    for link in run["links"].as_array().unwrap() {
        let curve = numbers(&link["curves"]["queue"]["y"]);
        let own = || {
            let own = rows.iter().filter(|row| link["name"] == *row.link);
            own.map(|row| row.values.queue_pkts)
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 5e-4 * b.abs(), "{a} {b} {link}");
        let highest = |of: &mut dyn Iterator<Item = f64>| of.fold(f64::MIN, f64::max);
        let lowest = |of: &mut dyn Iterator<Item = f64>| of.fold(f64::MAX, f64::min);
        assert_eq!(own().count(), 6000);
        near(highest(&mut curve.iter().copied()), highest(&mut own()));
        near(lowest(&mut curve.iter().copied()), lowest(&mut own()));
    }
}

fn edit(path: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, change(&text)).unwrap();
}

#[test]
fn single_points_empty_series_and_nan_are_drawn() {
    let place = tempfile::tempdir().unwrap();
    let one = run(place.path(), &scenario("topology.toml"), "one", 100.0);
    let none = run(place.path(), &scenario("topology.toml"), "none", 0.5);
    for series in ["links.csv", "connections.csv"] {
        edit(&none.join(series), |text| {
            text.lines().next().unwrap().to_owned() + "\n"
        });
    }
    // Stopped before the end of the first interval.
    for file in ["summary.json", "manifest.json"] {
        edit(&none.join(file), |text| {
            text.replacen("\"duration_s\": 60.0", "\"duration_s\": 0.0", 1)
        });
    }
    edit(&one.join("links.csv"), |text| text.replacen(",0,", ",,", 1));
    let data = data(&html(&[one, none]));
    let link = |run: usize| &data["runs"][run]["links"][0]["curves"]["loss"]["y"];
    assert_eq!(link(0).to_string(), "[null]");
    assert_eq!(link(1).to_string(), "[]");
    assert_eq!(numbers(&data["runs"][0]["x"]), [60.0]);
    assert!(numbers(&data["runs"][1]["frames"]).is_empty());
}

#[test]
fn series_of_different_lengths_keep_their_times() {
    let place = tempfile::tempdir().unwrap();
    let directory = run(place.path(), &scenario("topology.toml"), "one", 10.0);
    // Without the first interval of the connections.
    edit(&directory.join("connections.csv"), |text| {
        let kept = text
            .lines()
            .enumerate()
            .filter(|(i, _)| !(1..=4).contains(i));
        kept.map(|(_, line)| line.to_owned() + "\n").collect()
    });
    let rows = Results::open(&directory).unwrap().connections().unwrap();
    let data = data(&html(&[directory]));
    let run = &data["runs"][0];
    assert_eq!(numbers(&run["x"]), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    let curve = &run["connections"][0]["curves"]["goodput"]["y"];
    assert_eq!(curve[0], Value::Null);
    let second = curve[1].as_f64().unwrap();
    assert!(
        (second - rows[0].values.goodput_pps).abs() < 1e-3 * second,
        "{curve}"
    );
}

/// Results directories of netflow versions without `network.json`.
#[test]
fn link_ends_come_from_names_without_network_json() {
    let place = tempfile::tempdir().unwrap();
    let directory = run(place.path(), &scenario("topology.toml"), "old", 0.5);
    fs::remove_file(directory.join("network.json")).unwrap();
    let data = data(&html(&[directory]));
    let map = &data["map"];
    assert_eq!(map["nodes"].as_array().unwrap().len(), 8);
    assert_eq!(map["links"].as_array().unwrap().len(), 14);
    assert_eq!(data["runs"][0]["links"][0]["from"], "N1");
    assert_eq!(data["runs"][0]["links"][0]["bps"], Value::Null);
}

/// Regression test: the queue of TCP by profiles was shown without a sign: 22 packets where ns-2 has 51.
#[test]
fn estimated_queue_has_its_sign_and_explanation() {
    let place = tempfile::tempdir().unwrap();
    let data = data(&html(&[run(
        place.path(),
        &scenario("topology.toml"),
        "one",
        0.5,
    )]));
    let run = &data["runs"][0];
    let signed = run["links"].as_array().unwrap().iter();
    let signed: Vec<&Value> = signed.filter(|link| link.get("sign").is_some()).collect();
    let names: Vec<&Value> = signed.iter().map(|link| &link["name"]).collect();
    assert!(names.contains(&&"N5->N7".into()), "{names:?}");
    // Its utilization is 0.2 %.
    assert!(!names.contains(&&"N5->N6".into()), "{names:?}");
    for link in &signed {
        assert_eq!([&link["sign"], &link["loss_sign"]], ["~", "~"]);
    }
    let note = run["estimate"][0].as_str().unwrap();
    assert!(
        note.starts_with("N5->N7 and 6 other links: queues"),
        "{note}"
    );
}

#[test]
fn scenario_positions_are_kept_with_y_upwards() {
    let place = tempfile::tempdir().unwrap();
    let text = HOSTILE.replace("x = 4\ny = 0", "x = 4\ny = 7");
    let data = data(&html(&[run_text(place.path(), &text, "placed", 0.5)]));
    let nodes = data["map"]["nodes"].as_array().unwrap();
    let sink = nodes.iter().find(|node| node["name"] == "S").unwrap();
    assert_eq!((&sink["x"], &sink["y"]), (&4.into(), &(-7).into()));
    assert_eq!(sink["label"], "<b>sink</b>");
}

#[test]
fn only_busiest_of_very_many_links_have_curves() {
    let place = tempfile::tempdir().unwrap();
    // A chain, of which only the first few links carry traffic.
    let mut text = "[simulation]\nduration = \"1 s\"\n".to_owned();
    for i in 0..MAX_ALL_CURVES / 2 + 1 {
        let to = i + 1;
        text += &format!(
            "[[link]]\nfrom = \"n{i}\"\nto = \"n{to}\"\nbandwidth = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 pkt\"\n"
        );
    }
    text += "[[connection]]\nname = \"c\"\nfrom = \"n0\"\nto = \"n3\"\nsource = { constant = \"500 kbit/s\" }\n";
    let data = data(&html(&[run_text(place.path(), &text, "chain", 0.5)]));
    let run = &data["runs"][0];
    let links = run["links"].as_array().unwrap();
    assert_eq!(links.len(), MAX_ALL_CURVES + 2);
    let with = links.iter().filter(|link| link.get("curves").is_some());
    assert_eq!(with.count(), MAX_BUSIEST_CURVES);
    assert!(links[0].get("curves").is_some());
    assert_eq!(
        data["map"]["left_out"],
        MAX_ALL_CURVES + 2 - MAX_BUSIEST_CURVES
    );
    let highest = numbers(&run["whole"]["highest"]["y"]);
    assert!(highest[1] > 0.4 && highest[1] < 0.6, "{highest:?}");
}

#[test]
fn bands_of_ns2_are_read() {
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("topology.toml"), "one", 0.5);
    let other = place.path().join("ns2");
    fs::create_dir(&other).unwrap();
    let links = "time_s,link,queue_pkts,queue_pkts_std,utilization,utilization_std,arrival_pps,arrival_pps_std,loss_probability\n\
                 0.5,N5->N7,10,12,0.5,,1,1,0\n1,N5->N7,20,4,0.75,,1,1,0\n1,X->Y,1,1,1,1,1,1,1\n";
    let connections =
        "time_s,connection,send_pps,send_pps_std,goodput_pps,goodput_pps_std\n0.5,c1,5,1,4,1\n";
    fs::write(other.join("ns2-links.csv"), links).unwrap();
    fs::write(other.join("ns2-connections.csv"), connections).unwrap();
    let read = || Report::read(std::slice::from_ref(&results), Some(&other));
    let page = data(&read().unwrap().html());
    let of = page["against"]["links"]["of"].as_array().unwrap();
    let link = of.iter().find(|it| it["name"] == "N5->N7").unwrap();
    let queue = &link["curves"][0];
    assert_eq!(numbers(&queue["y"]), [10.0, 20.0]);
    assert_eq!(numbers(&queue["band"]["low"]), [0.0, 16.0]);
    assert_eq!(numbers(&queue["band"]["high"]), [22.0, 24.0]);
    assert_eq!(numbers(&link["curves"][1]["y"]), [0.5, 0.75]);

    edit(&other.join("ns2-links.csv"), |text| {
        text.replace(",20,", ",twenty,")
    });
    let error = read().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("ns2-links.csv:3: `twenty` in queue_pkts is not a number"),
        "{error}"
    );
    edit(&other.join("ns2-links.csv"), |text| {
        text.replace("queue_pkts_std", "x")
    });
    let error = read().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("ns2-links.csv:1: missing column `queue_pkts_std`"),
        "{error}"
    );
    fs::remove_file(other.join("ns2-links.csv")).unwrap();
    assert!(matches!(
        read(),
        Err(Error::Results(netflow_results::Error::Read { .. }))
    ));
}

#[test]
fn missing_files_are_reported() {
    assert!(matches!(Report::read(&[], None), Err(Error::NoResults)));
    let place = tempfile::tempdir().unwrap();
    for missing in [
        "summary.json",
        "manifest.json",
        "links.csv",
        "connections.csv",
    ] {
        let directory = run(place.path(), &scenario("topology.toml"), "one", 0.5);
        fs::remove_file(directory.join(missing)).unwrap();
        let error = Report::read(&[directory], None).unwrap_err().to_string();
        assert!(error.contains(missing), "{missing}: {error}");
    }
}
