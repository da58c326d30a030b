//! Names and numbers as Tcl literals, whatever they contain.

/// Returns a Tcl word, valid in a command and in a list, that evaluates to exactly these bytes.
///
/// It has no quotes if no character is special in Tcl. Bytes that are not printable ASCII are
/// escaped, so that the script does not depend on the locale.
pub(super) fn quote_word(name: &str) -> String {
    if !name.is_empty() && name.bytes().all(is_plain) {
        return name.to_owned();
    }
    let mut word = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'\\' | b'"' | b'$' | b'[' | b']' | b'{' | b'}' => {
                word.push('\\');
                word.push(char::from(byte));
            }
            b' '..=b'~' => word.push(char::from(byte)),
            // Three digits end the escape, whatever follows.
            _ => word += &format!("\\{byte:03o}"),
        }
    }
    word.push('"');
    word
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.:/+@<>=,".contains(&byte)
}

/// Returns a list of words as one word.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = names.into_iter().map(quote_word).collect();
    format!("{{{}}}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_bare() {
        assert_eq!(quote_word("N5->N7"), "N5->N7");
        assert_eq!(list(["N1", "host.example"]), "{N1 host.example}");
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(quote_word("[exec touch x]"), r#""\[exec touch x\]""#);
        assert_eq!(quote_word("$a;b"), r#""\$a;b""#);
        assert_eq!(quote_word("a\"{}\\"), r#""a\"\{\}\\""#);
        assert_eq!(quote_word("#"), "\"#\"");
        assert_eq!(quote_word(""), "\"\"");
        // A newline (octal 12) before a digit; u-umlaut is C3 BC in UTF-8.
        assert_eq!(quote_word("\n1\u{fc}"), r#""\0121\303\274""#);
    }
}
