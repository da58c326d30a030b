//! Documentation pages with generated tables.

/// Returns the page with `table` between `<!-- study: NAME -->` and the next `<!-- end -->`.
///
/// # Errors
/// If one of these marks is missing.
pub fn fill_page(page: &str, name: &str, table: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- study: {name} -->"), "<!-- end -->");
    let missing = |mark: &str| format!("there is no `{mark}`");
    let (before, rest) = page.split_once(&begin).ok_or(missing(&begin))?;
    let (_, after) = rest.split_once(end).ok_or(missing(end))?;
    Ok(format!("{before}{begin}\n\n{table}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_replaces_previous_table() {
        let page = |table: &str| format!("a\n<!-- study: x -->\n\n{table}\n<!-- end -->\nb\n");
        assert_eq!(
            fill_page(&page("old\n"), "x", "new\n").unwrap(),
            page("new\n")
        );
        assert!(fill_page("nothing", "x", "new").is_err());
    }
}
