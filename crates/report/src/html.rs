//! Puts the page together.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::colours;

/// What every page says near its beginning.
pub const PAGE_MARK: &str = "<meta name=\"generator\" content=\"netflow\">";

/// What the names of pages end with, if they end with anything.
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
    // One script of many files: what one declares the others see, and nobody else.
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

/// A page with this title that shows what the JSON says.
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
        ("data", harmless(json)),
        ("scripts", scripts.join("\n")),
    ];
    filled(TEMPLATE, &parts)
}

/// A template with its `{{places}}` filled. What is put in is not looked at again: a name may look like a place for
/// something.
pub fn filled(template: &str, parts: &[(&str, String)]) -> String {
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

/// A source of the policy: exactly this text.
pub fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Text in HTML.
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

/// JSON in a script element: nothing in it can end the element or begin a comment. Outside of
/// strings JSON has none of these characters.
fn harmless(json: &str) -> String {
    let mut harmless = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                harmless += &format!("\\u{:04x}", u32::from(c));
            }
            c => harmless.push(c),
        }
    }
    harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_its_element_early() {
        for script in SCRIPTS {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLES.concat().to_lowercase().contains("</style"));
        let evil = "</script><!-- & \u{2028}{{scripts}}";
        let json = harmless(&serde_json::to_string(evil).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), evil);
        let page = page(evil, &json);
        assert_eq!(page.matches("</script>").count(), 3);
        assert_eq!(page.matches("<!--").count(), 0);
    }

    #[test]
    fn the_policy_has_the_digest_of_a_known_text() {
        // printf abc | openssl dgst -sha256 -binary | base64
        assert_eq!(
            digest("abc"),
            "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"
        );
    }
}
