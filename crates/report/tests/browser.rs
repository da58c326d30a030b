//! The page in a real browser: what is clicked, what is shown, and that nothing is asked of
//! anybody. With `NETFLOW_PICTURES=DIR` it leaves pictures to look at there.
#![cfg(unix)]

mod common;
#[path = "common/browser.rs"]
mod driver;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{HOSTILE, run, run_text, scenario};
use driver::{Browser, chromium};
use netflow_needs::{Need, skip};
use netflow_report::Report;
use serde_json::json;

fn browser() -> Option<Browser> {
    let found = chromium();
    if found.is_none() {
        skip(
            Need::Chromium,
            "chromium is not installed: the page is not tried in a browser",
        );
    }
    found.map(|program| Browser::start(&program, 1440, 1100))
}

fn write(place: &Path, directories: &[PathBuf], against: Option<&Path>) -> PathBuf {
    let file = place.join("report.html");
    let report = Report::read(directories, against).unwrap();
    fs::write(&file, report.html()).unwrap();
    file
}

/// One request, for the page itself, and a silent console.
fn is_innocent(browser: &Browser, file: &Path) {
    let offences = &browser.offences;
    assert!(offences.errors.is_empty(), "{:?}", offences.errors);
    assert_eq!(offences.requests, [format!("file://{}", file.display())]);
}

fn keep(browser: &mut Browser, name: &str) {
    if let Some(directory) = std::env::var_os("NETFLOW_PICTURES") {
        let picture = STANDARD.decode(browser.picture()).unwrap();
        fs::write(Path::new(&directory).join(format!("{name}.png")), picture).unwrap();
    }
}

#[test]
fn a_link_lights_up_and_the_slider_moves_the_map() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("topology.toml"), "topology", 0.5);
    let file = write(place.path(), &[results], None);
    browser.open(&file);
    assert_eq!(browser.text("#title"), "topology.toml");
    assert_eq!(browser.text("#details-title"), "Whole network");
    assert_eq!(
        browser.ask("document.querySelectorAll('#map .wire').length"),
        14
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('#charts canvas').length"),
        3
    );

    // The bottleneck is the first row; clicked on the map, everything about it lights up.
    assert_eq!(browser.text("#links tbody td"), "N5->N7");
    assert!(
        browser
            .text("#links tbody td:nth-child(3)")
            .starts_with("~5")
    );
    assert!(browser.text("#estimate").starts_with("~ an estimate"));
    browser.click_at(
        "(() => { const hit = [...document.querySelectorAll('.hit')].find((it) => it.dataset.name === 'N5->N7'); \
         const r = hit.getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()",
    );
    let title = browser.text("#details-title");
    assert!(title == "Link N5->N7" || title == "Link N7->N5", "{title}");
    browser.click("#links tbody tr");
    assert_eq!(browser.text("#details-title"), "Link N5->N7");
    assert_eq!(browser.text("#links tr.chosen td"), "N5->N7");
    assert_eq!(
        browser.ask("document.querySelectorAll('.link.chosen').length"),
        1
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('#connections tr.related').length"),
        4
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('#charts canvas').length"),
        4
    );
    assert!(browser.text("#about").contains("8\u{a0}Mbit/s"));

    // The slider, at both ends: nothing is sent at the start, the bottleneck is busy at the end.
    let utilization = "Number([...document.querySelectorAll('.hit')].find((it) => it.dataset.name === 'N5->N7').dataset.utilization)";
    browser.click("#slider");
    browser.press("Home", 36);
    assert_eq!(browser.text("#clock"), "0.5\u{a0}s");
    let before = browser.ask(utilization).as_f64().unwrap();
    browser.press("End", 35);
    assert_eq!(browser.text("#clock"), "60\u{a0}s");
    let after = browser.ask(utilization).as_f64().unwrap();
    assert!(before < 0.3 && after > 0.9, "{before} {after}");

    // A connection lights up its path; Esc clears.
    browser.click("#connections tbody tr");
    assert_eq!(browser.text("#details-title"), "Connection c1");
    assert_eq!(
        browser.ask("document.querySelectorAll('.link.related').length"),
        3
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('.link.back').length"),
        3
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('#links tr.related').length"),
        6
    );
    browser.press("Escape", 27);
    assert_eq!(browser.text("#details-title"), "Whole network");
    assert_eq!(
        browser.ask("document.querySelectorAll('.related').length"),
        0
    );

    // The same by keyboard.
    browser.ask("document.querySelector('#links tbody tr').focus()");
    browser.press("ArrowDown", 40);
    browser.press("Enter", 13);
    assert_eq!(browser.text("#details-title"), "Link N1->N2");
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.text("#clock"), "59.5\u{a0}s");
    browser.press("Escape", 27);
    browser.press("/", 191);
    assert_eq!(
        browser.ask("document.activeElement === document.querySelector('#links input')"),
        true
    );

    // Searching and sorting.
    browser.ask("(() => { const s = document.querySelector('#links input'); s.value = 'n8'; s.dispatchEvent(new Event('input')); })()");
    assert_eq!(
        browser.ask("document.querySelectorAll('#links tbody tr').length"),
        2
    );
    browser.click("#connections thead th:first-child button");
    assert_eq!(browser.text("#connections tbody td"), "c1");
    browser.click("#connections thead th:first-child button");
    assert_eq!(browser.text("#connections tbody td"), "c4");
    is_innocent(&browser, &file);

    browser.ask("(() => { const s = document.querySelector('#links input'); s.value = ''; s.dispatchEvent(new Event('input')); scrollTo(0, 0); })()");
    browser.ask("document.querySelector('#links tbody tr').click()");
    for (name, width, height) in [
        ("wide", 1440, 1100),
        ("tablet", 820, 1180),
        ("phone", 390, 844),
    ] {
        for dark in [false, true] {
            browser.look(width, height, dark);
            keep(
                &mut browser,
                &format!("{name}-{}", if dark { "dark" } else { "light" }),
            );
            // Nothing sticks out to the side.
            assert_eq!(
                browser.ask("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{name}"
            );
        }
    }
    is_innocent(&browser, &file);
}

#[test]
fn hostile_names_are_only_names() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run_text(place.path(), HOSTILE, "hostile", 0.5);
    let other = run_text(
        place.path(),
        &HOSTILE.replace("25 pkt", "10 pkt"),
        "smaller",
        0.5,
    );
    let file = write(place.path(), &[results, other], None);
    browser.open(&file);
    let names = "[...document.querySelectorAll('#connections tbody tr')].map((row) => row.cells[0].textContent).sort()";
    let names = browser.ask(names);
    let expected = [
        "</script><img src=x onerror=alert(2)>",
        "plain",
        "{{scripts}}&amp;\u{2028}'\"",
    ];
    assert_eq!(names, json!(expected));
    for row in 1..=3 {
        browser.click(&format!("#connections tbody tr:nth-child({row})"));
    }
    browser.click("#links tbody tr");
    assert_eq!(
        browser.ask("document.querySelectorAll('img, script:not([type])').length"),
        2
    );
    assert!(browser.text("#map").contains("<b>sink</b>"));
    assert!(browser.text("#warnings").contains("<i>careful</i>"));

    // Two results: a button and a curve for each.
    assert_eq!(
        browser.ask("document.querySelectorAll('#runs button').length"),
        2
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('.chart:first-child .u-series').length"),
        3
    );
    browser.click("#runs button:nth-child(2)");
    assert_eq!(browser.text("#title"), "smaller.toml");
    keep(&mut browser, "two");

    // Script that comes in another way is not run, and nothing can be fetched.
    let offences = browser.offences.errors.len();
    browser.ask("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); })()");
    assert_eq!(browser.ask("window.ran === undefined"), true);
    assert_eq!(offences, 0);
    assert_eq!(browser.offences.requests.len(), 1);
}

#[test]
fn little_is_shown_without_a_word_on_the_console() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let one = run(place.path(), &scenario("topology.toml"), "one", 100.0);
    let file = write(place.path(), std::slice::from_ref(&one), None);
    browser.open(&file);
    browser.click("#links tbody tr");
    assert_eq!(browser.text("#clock"), "60\u{a0}s");
    browser.click("#connections tbody tr");
    is_innocent(&browser, &file);

    for series in ["links.csv", "connections.csv"] {
        let path = one.join(series);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    }
    // Stopped before the first interval was over.
    for file in ["summary.json", "manifest.json"] {
        let path = one.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let stopped = text.replacen("\"duration_s\": 60.0", "\"duration_s\": 0.0", 1);
        fs::write(&path, stopped).unwrap();
    }
    let file = write(place.path(), &[one], None);
    browser.offences.requests.clear();
    browser.open(&file);
    browser.click("#links tbody tr");
    assert_eq!(browser.text("#clock"), "no samples");
    assert!(browser.text("#charts").contains("No samples."));
    is_innocent(&browser, &file);
}

#[test]
fn a_large_run_opens_quickly() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run(
        place.path(),
        &scenario("hundred-nodes/topology.toml"),
        "hundred",
        0.05,
    );
    let file = write(place.path(), &[results], None);
    let took = browser.open(&file);
    eprintln!(
        "opened in {took:?}, {} bytes",
        fs::metadata(&file).unwrap().len()
    );
    // Two seconds are the aim, on a machine that does nothing else.
    assert!(took < Duration::from_secs(6), "{took:?}");
    is_innocent(&browser, &file);
    browser.look(1280, 880, false);
    keep(&mut browser, "hundred");
    browser.look(1440, 1100, true);
    browser.click("#links tbody tr");
    keep(&mut browser, "hundred-dark");
}

/// A picture for each workload, with a curve for everything that is waited for; none without users.
#[test]
fn users_have_distributions() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    for (name, pictures, curves) in [("web.toml", 2, 5), ("topology.toml", 0, 0)] {
        let results = run(place.path(), &scenario(name), name, 0.5);
        let file = write(place.path(), &[results], None);
        browser.open(&file);
        let count = |what: &str| format!("document.querySelectorAll('{what}').length");
        assert_eq!(browser.ask(&count("#waits svg")), pictures);
        assert_eq!(browser.ask(&count("#waits path.cdf")), curves);
        assert_eq!(
            browser.ask("document.getElementById('users').hidden"),
            pictures == 0
        );
        is_innocent(&browser, &file);
        browser.offences.requests.clear();
    }
}
