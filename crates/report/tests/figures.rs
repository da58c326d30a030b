//! Figures, and that they stay as they were when somebody last looked at them: `tests/figures`
//! holds them. With `NETFLOW_BLESS=1` they are drawn anew; look at them.

mod common;

use std::fs;
use std::path::Path;

use common::{HOSTILE, run, run_text, scenario};
use netflow_profile::builtin;
use netflow_report::{Error, Figure, ProfileSample, profile_figure, results_figure};

fn is_as_it_was(name: &str, svg: &str) {
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
fn figures_of_results_stay() {
    let place = tempfile::tempdir().unwrap();
    let one = run(place.path(), &scenario("topology.toml"), "one", 2.0);
    let two = run(place.path(), &scenario("link-halved.toml"), "two", 2.0);
    let of = |figure, all: &[_], only: &[&str]| {
        let only: Vec<String> = only.iter().map(|it| (*it).to_owned()).collect();
        let svg = results_figure(figure, all, &only).unwrap();
        assert_eq!(svg, results_figure(figure, all, &only).unwrap());
        svg
    };
    is_as_it_was(
        "links",
        &of(
            Figure::Links,
            std::slice::from_ref(&one),
            &["N5->N7", "N1->N2"],
        ),
    );
    is_as_it_was(
        "connections",
        &of(Figure::Connections, std::slice::from_ref(&one), &[]),
    );
    let both = of(Figure::Throughput, &[one, two], &[]);
    is_as_it_was("throughput", &both);
}

#[test]
fn the_figure_of_a_profile_stays() {
    let samples = [0.01, 0.02, 0.05, 0.0].map(|loss| ProfileSample {
        loss,
        rtt_s: 0.1,
        throughput_pps: 50.0,
    });
    let profile = builtin("ns-reno").unwrap();
    let svg = profile_figure(&*profile, &samples).unwrap();
    is_as_it_was("profile", &svg);
    // Three of the four have a place on a logarithmic axis.
    assert_eq!(svg.matches("<circle").count(), 3);
}

/// One link of one of the results is one dot beside its reference.
#[test]
fn burstiness_is_drawn_where_arrivals_were_counted() {
    let place = tempfile::tempdir().unwrap();
    let window = HOSTILE.replace("{ profile = \"ns-reno\" }", "{ window = \"reno\" }");
    let counted = run_text(place.path(), &window, "counted", 0.5);
    let only = ["R->S".to_owned()];
    let svg = results_figure(Figure::Burstiness, &[counted], &only).unwrap();
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(svg.contains("Poisson"));
    let fluid = run(place.path(), &scenario("topology.toml"), "fluid", 2.0);
    let error = results_figure(Figure::Burstiness, &[fluid], &[]).unwrap_err();
    assert!(matches!(error, Error::NothingToShow(_)), "{error}");
}

#[test]
fn names_are_text_in_figures_too() {
    let place = tempfile::tempdir().unwrap();
    let results = run_text(place.path(), HOSTILE, "hostile", 0.5);
    for figure in [Figure::Links, Figure::Connections] {
        let svg = results_figure(figure, std::slice::from_ref(&results), &[]).unwrap();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }
    let unknown = ["nobody".to_owned()];
    let error = results_figure(Figure::Links, &[results], &unknown).unwrap_err();
    assert_eq!(error.to_string(), "the results have nothing called nobody");
}
