//! Assembly of the HTML page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::colours;

/// Marker near the beginning of every page.
pub const PAGE_MARK: &str = "<meta name=\"generator\" content=\"netflow\">";

/// Known file extensions of pages.
pub const PAGE_ENDINGS: &[&str] = &["html", "htm"];

const TEMPLATE: &str = include_str!("page/page.html");
const STYLES: [&str; 3] = [
    include_str!("../vendor/uplot/uPlot.min.css"),
    colours::STYLE,
    include_str!("page/page.css"),
];
const LICENCE: &str = include_str!("../vendor/uplot/LICENSE");
const SCRIPTS: [&str; 2] = [
    include_str!("../vendor/uplot/uPlot.iife.min.js"),
    // One script in several files, which share a scope that is invisible to others.
    concat!(
        "\n\"use strict\";\n(() => {\n",
        include_str!("page/script/base.js"),
        include_str!("page/script/numbers.js"),
        include_str!("page/script/network.js"),
        include_str!("page/script/labels.js"),
        include_str!("page/script/map.js"),
        include_str!("page/script/time.js"),
        include_str!("page/script/curves.js"),
        include_str!("page/script/selection.js"),
        include_str!("page/script/tables.js"),
        include_str!("page/script/compare.js"),
        include_str!("page/script/headline.js"),
        include_str!("page/script/users.js"),
        include_str!("page/script/facts.js"),
        include_str!("page/script/begin.js"),
        "})();\n",
    ),
];

/// Returns a page with this title and the JSON data.
pub fn page(title: &str, json: &str) -> String {
    let style = STYLES.concat();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        SCRIPTS.map(digest).join(" "),
        digest(&style),
    );
    let scripts = SCRIPTS.map(|script| format!("<script>{script}</script>"));
    let parts = [
        ("title", escaped(title)),
        ("policy", policy),
        ("style", format!("<style>{style}</style>")),
        ("licence", escaped(LICENCE)),
        ("data", escape_json(json)),
        ("scripts", scripts.join("\n")),
    ];
    fill_template(TEMPLATE, &parts)
}

/// Fills the `{{places}}` of a template. Inserted text is not scanned again, because a name may look like a
/// place.
pub fn fill_template(template: &str, parts: &[(&str, String)]) -> String {
    let length: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let mut page = String::with_capacity(template.len() + length);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        if let Some((_, part)) = parts.iter().find(|(known, _)| *known == name) {
            page += part;
        }
        rest = after;
    }
    page + rest
}

/// Returns a source of the Content-Security-Policy that allows exactly this text.
pub fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Escapes text for HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes JSON for a script element, so that it cannot end the element or start a comment. Outside of
/// strings, JSON has none of these characters.
fn escape_json(json: &str) -> String {
    let mut escaped_json = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped_json += &format!("\\u{:04x}", u32::from(c));
            }
            c => escaped_json.push(c),
        }
    }
    escaped_json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_close_script_element() {
        for script in SCRIPTS {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLES.concat().to_lowercase().contains("</style"));
        let evil = "</script><!-- & \u{2028}{{scripts}}";
        let json = escape_json(&serde_json::to_string(evil).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), evil);
        let page = page(evil, &json);
        assert_eq!(page.matches("</script>").count(), 3);
        assert_eq!(page.matches("<!--").count(), 0);
    }

    #[test]
    fn digest_matches_known_value() {
        // printf abc | openssl dgst -sha256 -binary | base64
        assert_eq!(
            digest("abc"),
            "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"
        );
    }
}
