//! Tests of the page in a browser: clicks, displayed content and absence of requests. With
//! `NETFLOW_PICTURES=DIR` they save screenshots there.
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

/// Checks that the page itself is the only request, and that the console is empty.
fn assert_no_violations(browser: &Browser, file: &Path) {
    let offences = &browser.offences;
    assert!(offences.errors.is_empty(), "{:?}", offences.errors);
    assert_eq!(offences.requests, [format!("file://{}", file.display())]);
}

fn save_screenshot(browser: &mut Browser, name: &str) {
    if let Some(directory) = std::env::var_os("NETFLOW_PICTURES") {
        let picture = STANDARD.decode(browser.picture()).unwrap();
        fs::write(Path::new(&directory).join(format!("{name}.png")), picture).unwrap();
    }
}

#[test]
fn link_is_highlighted_and_slider_updates_the_map() {
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

    // The bottleneck is the first row. A click on it in the map highlights everything related.
    assert_eq!(browser.text("#links tbody td"), "N5->N7");
    assert!(
        browser
            .text("#links tbody td:nth-child(5)")
            .starts_with("~6")
    );
    assert!(
        browser
            .text("#notes")
            .contains("queues that TCP fills are estimates")
    );
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

    // The slider at both ends: nothing is sent at the start, and the bottleneck is busy at the end.
    let utilization = "Number([...document.querySelectorAll('.hit')].find((it) => it.dataset.name === 'N5->N7').dataset.utilization)";
    browser.click("#slider");
    browser.press("Home", 36);
    assert_eq!(browser.text("#clock"), "0.5\u{a0}s");
    let before = browser.ask(utilization).as_f64().unwrap();
    browser.press("End", 35);
    assert_eq!(browser.text("#clock"), "60\u{a0}s");
    let after = browser.ask(utilization).as_f64().unwrap();
    assert!(before < 0.3 && after > 0.9, "{before} {after}");

    // A connection highlights its path; Esc clears it.
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
    assert_no_violations(&browser, &file);

    browser.ask("(() => { const s = document.querySelector('#links input'); s.value = ''; s.dispatchEvent(new Event('input')); scrollTo(0, 0); })()");
    browser.ask("document.querySelector('#links tbody tr').click()");
    for (name, width, height) in [
        ("wide", 1440, 1100),
        ("laptop", 1200, 900),
        ("tablet", 820, 1180),
        ("phone", 390, 844),
    ] {
        for dark in [false, true] {
            browser.look(width, height, dark);
            save_screenshot(
                &mut browser,
                &format!("{name}-{}", if dark { "dark" } else { "light" }),
            );
            // Nothing extends beyond the page width.
            assert_eq!(
                browser.ask("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{name}"
            );
            let cut = "[...document.querySelectorAll('.scroll')].filter((it) => it.scrollWidth > it.clientWidth).length";
            assert_eq!(browser.ask(cut), 0, "{name}");
        }
    }
    assert_no_violations(&browser, &file);
}

#[test]
fn hostile_names_are_escaped() {
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
    save_screenshot(&mut browser, "two");

    // An injected script does not run, and nothing can be fetched.
    let offences = browser.offences.errors.len();
    browser.ask("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); })()");
    assert_eq!(browser.ask("window.ran === undefined"), true);
    assert_eq!(offences, 0);
    assert_eq!(browser.offences.requests.len(), 1);
}

#[test]
fn small_results_cause_no_console_messages() {
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
    assert_no_violations(&browser, &file);

    for series in ["links.csv", "connections.csv"] {
        let path = one.join(series);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    }
    // Stopped before the end of the first interval.
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
    assert_no_violations(&browser, &file);
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
    // The aim is one second on an idle machine.
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_no_violations(&browser, &file);
    browser.look(1280, 880, false);
    save_screenshot(&mut browser, "hundred");
    browser.look(1440, 1100, true);
    browser.click("#links tbody tr");
    save_screenshot(&mut browser, "hundred-dark");
}

/// A chart for each workload with a curve for each kind of response time; none without users.
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
        assert_no_violations(&browser, &file);
        browser.offences.requests.clear();
    }
}

const DOWN: &str =
    "[...document.querySelectorAll('.link.down .hit')].map((it) => it.dataset.name).sort()";

/// A failed link is dashed and crossed out while it is down, and connections use other routes meanwhile.
#[test]
fn failures_are_marked_on_map_slider_and_curves() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("link-failure.toml"), "failure", 0.5);
    let file = write(place.path(), &[results], None);
    browser.open(&file);
    assert_eq!(
        browser.ask("document.querySelectorAll('#marks .mark').length"),
        2
    );
    assert_eq!(browser.text("#events button"), "20\u{a0}s: R–S down");
    browser.click("#events button:nth-child(1)");
    assert_eq!(browser.text("#clock"), "20.5\u{a0}s");
    assert_eq!(browser.ask(DOWN), json!(["R->S", "S->R"]));
    assert_eq!(
        browser.ask("document.querySelectorAll('.cross.shown').length"),
        2,
        "on the map and in the legend"
    );

    // The route at the time of the slider: around the failure, and then the original one.
    browser.click("#connections tbody tr");
    let way = "[...document.querySelectorAll('#related .chips')][0].textContent";
    assert_eq!(browser.ask(way), "A->RR->TT->SS->B");
    assert_eq!(
        browser.ask("document.querySelectorAll('.link.related').length"),
        4
    );
    browser.click("#events button:nth-child(2)");
    assert_eq!(browser.text("#clock"), "40.5\u{a0}s");
    assert_eq!(browser.ask(DOWN), json!([]));
    assert_eq!(browser.ask(way), "A->RR->SS->B");
    assert_eq!(
        browser.ask("document.querySelectorAll('.link.related').length"),
        3
    );
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.text("#clock"), "40\u{a0}s");
    assert_eq!(browser.ask(DOWN), json!(["R->S", "S->R"]));
    assert_no_violations(&browser, &file);
}

/// The four tiles agree with the tables of the page.
#[test]
fn tiles_respond_to_clicks() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("link-failure.toml"), "failure", 0.5);
    let file = write(place.path(), &[results], None);
    browser.open(&file);
    let tiles = browser.ask("[...document.querySelectorAll('.tile')].map((it) => it.textContent)");
    let tiles: Vec<&str> = tiles
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    assert_eq!(tiles.len(), 4, "{tiles:?}");
    // No profile was extrapolated, so it is not mentioned.
    assert!(!tiles.iter().any(|it| it.contains("profile")), "{tiles:?}");
    assert!(tiles[0].contains("worst moment: loss at R->S"), "{tiles:?}");
    assert!(tiles[1].contains("transfers"), "{tiles:?}");
    assert!(
        tiles[2].contains("ms") && tiles[2].contains("transfers"),
        "{tiles:?}"
    );
    assert!(tiles[3].contains("Mbit/s"), "{tiles:?}");
    browser.click(".tile");
    assert_eq!(browser.text("#details-title"), "Link R->S");
    assert_no_violations(&browser, &file);
}

/// Arrow keys move between nodes, and with Shift to a link; the time stays.
#[test]
fn map_is_accessible_by_keyboard() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let text = HOSTILE.to_owned()
        + "\n[[node]]\nname = \"R\"\nx = 0\ny = 0\n\n[[node]]\nname = \"B\"\nx = 0\ny = -3\n\n[[node]]\nname = \"SCRIPT\"\nx = -4\ny = 0\n";
    let results = run_text(place.path(), &text, "placed", 0.5);
    let file = write(place.path(), &[results], None);
    browser.open(&file);
    assert_eq!(
        browser.ask("document.querySelectorAll('#map [tabindex=\"0\"]').length"),
        1
    );
    browser.ask("document.querySelector('#map [tabindex=\"0\"]').focus()");
    let clock = browser.text("#clock");
    let focus = "document.activeElement.getAttribute('aria-label')";
    // From the sink on the right to R in the middle, down to B and back.
    while browser.ask(focus) != "Node <b>sink</b> (S)" {
        browser.press("ArrowRight", 39);
    }
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.ask(focus), "Node R");
    browser.press("ArrowDown", 40);
    assert_eq!(browser.ask(focus), "Node B");
    browser.press("Enter", 13);
    assert_eq!(browser.text("#details-title"), "Node B");
    browser.press_with_shift("ArrowUp", 38);
    assert_eq!(browser.text("#details-title"), "Link B->R");
    assert_eq!(browser.text("#clock"), clock);
    assert_no_violations(&browser, &file);
}

/// One metric at a time. Fractions differ by percentage points, other metrics relative to the first.
#[test]
fn results_are_compared() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(scenario("topology.toml")).unwrap();
    let one = run_text(place.path(), &text, "one", 0.5);
    let two = run_text(
        place.path(),
        &text.replace("8 Mbit/s", "4 Mbit/s"),
        "two",
        0.5,
    );
    let file = write(place.path(), &[one, two], None);
    browser.open(&file);
    let head = "[...document.querySelectorAll('#compare-table th')].map((it) => it.textContent)";
    assert_eq!(
        browser.ask(head),
        json!(["connection", "one", "two", "difference"])
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('#compare-table tbody tr').length"),
        4
    );
    let first = "document.querySelector('#compare-table tbody td:last-child').textContent";
    let by = browser.ask(first);
    assert!(
        by.as_str().unwrap().starts_with('−') && by.as_str().unwrap().ends_with('%'),
        "{by}"
    );
    browser.ask("(() => { const s = document.getElementById('metric'); s.value = [...s.options].findIndex((it) => it.textContent === 'utilization of links'); s.dispatchEvent(new Event('change')); })()");
    assert_eq!(
        browser.ask("document.querySelectorAll('#compare-table tbody tr').length"),
        14
    );
    assert!(browser.ask(first).as_str().unwrap().ends_with("points"));
    browser.click("#compare-table tbody tr");
    assert_eq!(
        browser.ask("document.querySelectorAll('#compare-table tr.chosen').length"),
        1
    );
    browser.look(1440, 1100, false);
    save_screenshot(&mut browser, "compared");
    assert_no_violations(&browser, &file);
}

/// Accessibility of pages with all elements: contrast AA, a name for every control, and nothing beyond the
/// page width.
#[test]
fn pages_are_readable_and_have_names() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    for name in [
        "link-failure.toml",
        "web.toml",
        "diffserv.toml",
        "hundred-nodes/topology.toml",
    ] {
        let results = run(place.path(), &scenario(name), &name.replace('/', "-"), 0.5);
        let file = write(place.path(), &[results], None);
        browser.offences.requests.clear();
        browser.open(&file);
        browser.ask("document.querySelector('#links tbody tr:nth-child(2)').click()");
        for (width, height) in [(1400, 1000), (820, 1180), (390, 844)] {
            for dark in [false, true] {
                browser.look(width, height, dark);
                let low = browser.ask(LOW_CONTRAST);
                assert_eq!(low, json!([]), "{name} {width} {dark}");
                assert_eq!(
                    browser.ask("document.documentElement.scrollWidth <= innerWidth"),
                    true,
                    "{name} {width}"
                );
                let picture = format!(
                    "{}-{width}-{}",
                    name.replace(['/', '.'], "-"),
                    if dark { "dark" } else { "light" }
                );
                save_screenshot(&mut browser, &picture);
            }
        }
        // At most three columns on a phone.
        let columns = "Math.max(...['links', 'connections'].map((id) => [...document.querySelectorAll(`#${id} thead th`)].filter((it) => it.offsetWidth > 0).length))";
        assert_eq!(browser.ask(columns), 3, "{name}");
        assert_eq!(browser.ask(UNNAMED_CONTROLS), json!([]), "{name}");
        assert_no_violations(&browser, &file);
    }
}

/// Visible elements whose text has a contrast below 4.5 (3 for large text).
const LOW_CONTRAST: &str = "(() => {
    const parse = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
    const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
    const back = (it) => { for (; it; it = it.parentElement) { const c = parse(getComputedStyle(it).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
    const low = [];
    for (const it of document.querySelectorAll('body *')) {
        if (it.closest('script, style, noscript') || ![...it.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== '')) continue;
        const box = it.getBoundingClientRect(), style = getComputedStyle(it);
        if (box.width === 0 || box.height === 0 || style.visibility === 'hidden' || box.right < 0) continue;
        const colour = parse(it instanceof SVGElement ? style.fill : style.color);
        const [a, b] = [light(colour), light(back(it))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
        if (contrast < (large ? 3 : 4.5)) low.push(`${it.tagName} ${it.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
    }
    return low;
})()";

/// Controls without a name.
const UNNAMED_CONTROLS: &str = "[...document.querySelectorAll('button, input, select, [role=button], [role=group], a[href]')].filter((it) => !(it.hidden || it.getAttribute('aria-label') || it.textContent.trim() || it.closest('label'))).map((it) => it.outerHTML.slice(0, 80))";

/// A printed page has all content, and nothing beyond the paper.
#[test]
fn page_can_be_printed() {
    let Some(mut browser) = browser() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let results = run(place.path(), &scenario("link-failure.toml"), "failure", 0.5);
    let file = write(place.path(), &[results], None);
    browser.open(&file);
    let pdf = browser.call("Page.printToPDF", json!({"printBackground": false}));
    let pdf = STANDARD.decode(pdf["data"].as_str().unwrap()).unwrap();
    assert!(
        pdf.starts_with(b"%PDF") && pdf.len() > 20_000,
        "{}",
        pdf.len()
    );
    if let Some(directory) = std::env::var_os("NETFLOW_PICTURES") {
        fs::write(Path::new(&directory).join("printed.pdf"), &pdf).unwrap();
    }
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": false}),
    );
    assert_eq!(
        browser.ask("document.documentElement.scrollWidth <= innerWidth"),
        true
    );
    assert_eq!(browser.ask("[...document.querySelectorAll('#slider, .more, input')].every((it) => it.offsetWidth === 0)"), true);
    assert_no_violations(&browser, &file);
}
