//! Tests of figures against the reviewed ones in `tests/figures`. `NETFLOW_BLESS=1` redraws them for review.

mod common;

use std::fs;
use std::path::Path;

use common::{HOSTILE, run, run_text, scenario};
use netflow_profile::builtin;
use netflow_report::{
    Drawing, Error, Figure, ProfileSample, Style, map_figure, profile_figure, results_figure,
};

fn assert_unchanged(name: &str, svg: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/figures/{name}.svg"));
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        fs::write(&file, svg).unwrap();
    }
    let known = fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    assert!(
        known == svg,
        "{name}.svg is another: bless it and look at the difference"
    );
}

#[test]
fn result_figures_are_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let one = run(place.path(), &scenario("topology.toml"), "one", 2.0);
    let two = run(place.path(), &scenario("link-halved.toml"), "two", 2.0);
    let of = |figure, all: &[_], only: &[&str]| {
        let only: Vec<String> = only.iter().map(|it| (*it).to_owned()).collect();
        let drawn = || results_figure(figure, all, &only, &Style::default()).unwrap();
        assert_eq!(drawn(), drawn());
        drawn().svg
    };
    assert_unchanged(
        "links",
        &of(
            Figure::Links,
            std::slice::from_ref(&one),
            &["N5->N7", "N1->N2"],
        ),
    );
    assert_unchanged(
        "connections",
        &of(Figure::Connections, std::slice::from_ref(&one), &[]),
    );
    let scenario_map = run(place.path(), &scenario("abilene.toml"), "map", 20.0);
    assert_unchanged(
        "delay",
        &of(
            Figure::Delay,
            &[one.clone(), two.clone()],
            &["c1", "trans*"],
        ),
    );
    let both = of(Figure::Throughput, &[one, two], &[]);
    assert_unchanged("throughput", &both);
    let map = map_figure(&[scenario_map], &Style::default()).unwrap();
    assert_unchanged("map", &map.svg);
}

#[test]
fn profile_figure_is_unchanged() {
    let samples = [0.01, 0.02, 0.05, 0.0].map(|loss| ProfileSample {
        loss,
        rtt_s: 0.1,
        throughput_pps: 50.0,
    });
    let profile = builtin("ns-reno").unwrap();
    let svg = profile_figure(&*profile, &samples, &Style::default())
        .unwrap()
        .svg;
    assert_unchanged("profile", &svg);
    // Three of the four have a position on a logarithmic axis.
    assert_eq!(svg.matches("<circle").count(), 3);
}

/// One link of one results directory is a dot next to its reference.
#[test]
fn burstiness_is_drawn_if_arrivals_are_known() {
    let place = tempfile::tempdir().unwrap();
    let window = HOSTILE.replace("{ profile = \"ns-reno\" }", "{ ns2-tcp = \"reno\" }");
    let counted = run_text(place.path(), &window, "counted", 0.5);
    let only = ["R->S".to_owned()];
    let style = Style::default();
    let drawn = results_figure(Figure::Burstiness, &[counted], &only, &style);
    let svg = drawn.unwrap().svg;
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(svg.contains("Poisson"));
    let fluid = run(place.path(), &scenario("topology.toml"), "fluid", 2.0);
    let error = results_figure(Figure::Burstiness, &[fluid], &[], &style).unwrap_err();
    assert!(matches!(error, Error::NothingToShow(_)), "{error}");
}

#[test]
fn names_are_escaped_in_figures() {
    let place = tempfile::tempdir().unwrap();
    let results = run_text(place.path(), HOSTILE, "hostile", 0.5);
    let style = Style::default();
    for figure in [Figure::Links, Figure::Connections, Figure::Delay] {
        let of = std::slice::from_ref(&results);
        let svg = results_figure(figure, of, &[], &style).unwrap().svg;
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }
    let map = map_figure(std::slice::from_ref(&results), &style)
        .unwrap()
        .svg;
    assert!(
        map.contains("&lt;b&gt;sink&lt;/b&gt;") && !map.contains("<b>"),
        "{map}"
    );
    let unknown = ["nobody".to_owned()];
    let error = results_figure(Figure::Links, &[results], &unknown, &style).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("no name in the results matches nobody; available: <script>"),
        "{error}"
    );
}

fn links(place: &Path, style: &Style) -> Result<Drawing, Error> {
    let results = place.join("one");
    if !results.exists() {
        run(place, &scenario("topology.toml"), "one", 2.0);
    }
    results_figure(Figure::Links, &[results], &["N5->*".to_owned()], style)
}

/// A PDF and a PNG have the same bytes on every platform, because their font is bundled.
#[test]
#[cfg(feature = "pdf")]
fn figures_convert_to_pdf_and_png() {
    let place = tempfile::tempdir().unwrap();
    let style = Style {
        width: 500,
        height: Some(300),
        ..Style::default()
    };
    let figure = links(place.path(), &style).unwrap();
    let pdf = figure.pdf().unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    assert!(contains(&pdf, b"NotoSans"), "text is text");
    let size = b"/MediaBox[0 0 500 300]";
    assert!(contains(&pdf, size), "{}", String::from_utf8_lossy(&pdf));
    let png = figure.png().unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(
        png[16..24],
        [0, 0, 5, 220, 0, 0, 3, 132],
        "three times 500 and 300"
    );
    for _ in 0..4 {
        let again = links(place.path(), &style).unwrap();
        assert!(again.pdf().unwrap() == pdf && again.png().unwrap() == png);
    }
}

#[cfg(feature = "pdf")]
fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}

#[test]
fn single_curve_figure_has_a_label() {
    let place = tempfile::tempdir().unwrap();
    let one = run(place.path(), &scenario("topology.toml"), "of-one", 2.0);
    let only = ["N1->N2".to_owned()];
    let drawn = results_figure(Figure::Links, &[one], &only, &Style::default()).unwrap();
    assert!(drawn.svg.contains("N1-&gt;N2"), "{}", drawn.svg);
}

#[test]
fn figure_style_is_applied() {
    let place = tempfile::tempdir().unwrap();
    let usual = links(place.path(), &Style::default()).unwrap();
    let own = Style {
        font: 20,
        legend: false,
        colours: vec![(1, 2, 3)],
        panels: vec!["utilization".to_owned()],
        ..Style::default()
    };
    let told = links(place.path(), &own).unwrap();
    assert!(usual.svg.contains("N5-&gt;N7") && !told.svg.contains("N5-&gt;N7"));
    assert!(told.svg.contains("#010203") && !usual.svg.contains("#010203"));
    assert!(usual.svg.contains("loss in %") && !told.svg.contains("loss in %"));
    let unknown = Style {
        panels: vec!["use".to_owned()],
        ..Style::default()
    };
    assert_eq!(
        links(place.path(), &unknown).unwrap_err().to_string(),
        "the figure has no panel `use`; allowed: queue, loss, utilization"
    );
}

/// The table has the points of the figure: without downsampling, the values of the series.
#[test]
fn figure_data_match_its_points() {
    let place = tempfile::tempdir().unwrap();
    let data = links(place.path(), &Style::default()).unwrap().data;
    let results = netflow_results::Results::open(place.path().join("one")).unwrap();
    let rows = results.links().unwrap().into_iter();
    let own = rows.filter(|row| &*row.link == "N5->N7");
    let own = own.map(|row| (row.time_s, row.values.queue_pkts));
    let drawn = data.lines().filter_map(|line| {
        let rest = line.strip_prefix("queue in pkt over time in s,N5->N7,")?;
        let mut cells = rest.split(',').map(str::parse);
        Some((cells.next()?.ok()?, cells.next()?.ok()?))
    });
    assert_eq!(data.lines().next(), Some("panel,curve,x,y,low,high"));
    assert_eq!(drawn.collect::<Vec<(f64, f64)>>(), own.collect::<Vec<_>>());
}

/// With several seeds, a point of the throughput figure has an error bar: Student's t with two degrees of
/// freedom is 4.303.
#[test]
fn throughput_over_seeds_has_bars() {
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("topology.toml"), "one", 2.0);
    let file = results.join("summary.json");
    let mut summary: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    summary["seeds"] = 3.into();
    summary["connections"][0]["mean_goodput_pps_std"] = 2.0.into();
    let mean = summary["connections"][0]["mean_goodput_pps"]
        .as_f64()
        .unwrap();
    fs::write(&file, summary.to_string()).unwrap();
    let of = std::slice::from_ref(&results);
    let only = [summary["connections"][0]["connection"]
        .as_str()
        .unwrap()
        .to_owned()];
    let figure = results_figure(Figure::Throughput, of, &only, &Style::default()).unwrap();
    let row = figure.data.lines().nth(1).unwrap();
    let mut cells = row.rsplit(',').map(|cell| cell.parse::<f64>().unwrap());
    let (high, low) = (cells.next().unwrap(), cells.next().unwrap());
    let half = 4.302_653 * 2.0 / 3_f64.sqrt();
    assert!(
        (high - mean - half).abs() < 1e-3 && (mean - low - half).abs() < 1e-3,
        "{row}"
    );
    assert_eq!(
        figure.svg.matches("<polyline").count(),
        1 + axes(place.path())
    );
}

/// Returns the number of lines of a figure without error bars.
fn axes(place: &Path) -> usize {
    let plain = run(place, &scenario("topology.toml"), "plain", 2.0);
    let figure = results_figure(
        Figure::Throughput,
        &[plain],
        &["c1".to_owned()],
        &Style::default(),
    );
    figure.unwrap().svg.matches("<polyline").count()
}

/// An empty panel is omitted unless it is selected.
#[test]
fn empty_panels_are_omitted() {
    const CONSTANT: &str = r#"
        [simulation]
        duration = "4 s"
        [[link]]
        from = "a"
        to = "b"
        bandwidth = "1 Mbit/s"
        delay = "5 ms"
        [[connection]]
        from = "a"
        to = "b"
        source = { constant = "10 pkt/s" }
    "#;
    let place = tempfile::tempdir().unwrap();
    let results = run_text(place.path(), CONSTANT, "constant", 1.0);
    let with = |panels: &[&str]| {
        let panels = panels.iter().map(|it| (*it).to_owned()).collect();
        let style = Style {
            panels,
            ..Style::default()
        };
        results_figure(
            Figure::Connections,
            std::slice::from_ref(&results),
            &[],
            &style,
        )
        .unwrap()
    };
    assert!(with(&[]).svg.contains("goodput in pkt/s") && !with(&[]).svg.contains("round-trip"));
    assert!(with(&["sent", "rtt"]).svg.contains("round-trip"));
    // The names of columns.
    for columns in [["send_pps", "rtt_s"], ["mean_send_pps", "mean_rtt_s"]] {
        assert_eq!(with(&columns).svg, with(&["sent", "rtt"]).svg);
    }
}
