//! Declarations of keys.

/// The declaration of a key of a table, generated from a field.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key in documents.
    pub name: &'static str,
    /// Its description and default.
    pub doc: &'static str,
    /// Type of its values: `"time"`, `"a table"`, or the allowed words.
    pub kind: &'static str,
    /// Description of the allowed values; empty if all are allowed.
    pub allowed: &'static str,
    /// An example value in TOML; empty if there is none.
    pub example: &'static str,
    /// True if the key is required.
    pub required: bool,
    /// True if it is an array of tables.
    pub many: bool,
    /// True if the columns of the keys of its table omit its name.
    pub flat: bool,
    /// True if a cell of a CSV table can contain it.
    pub is_cell: bool,
    /// Keys of its table, which may combine several tables; empty if it is not a table.
    pub tables: &'static [&'static [Key]],
    /// Keys that select the variant of a tagged union.
    pub kinds: &'static [&'static str],
}

/// The allowed values of a key.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<T> {
    /// Test of a value.
    pub test: fn(&T) -> bool,
    /// Description of the allowed values.
    pub text: &'static str,
}

/// Returns a declaration that allows every value.
pub const fn any<T>() -> Allowed<T> {
    Allowed {
        test: |_| true,
        text: "",
    }
}

/// A column of a CSV table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in the header: `queue.min`.
    pub name: String,
    /// Path of keys: `queue`, `min`.
    pub path: Vec<&'static str>,
}

/// Returns all keys of a table without duplicates. Several variants of a tagged union may declare the
/// same key.
pub(crate) fn distinct_keys(
    tables: &'static [&'static [Key]],
) -> impl Iterator<Item = &'static Key> + Clone {
    let keys = tables.iter().copied().flatten();
    keys.enumerate()
        .filter(move |(i, key)| !earlier(tables, *i).any(|other| other.name == key.name))
        .map(|(_, key)| key)
}

/// Returns the key that selects the variant with these keys. It is the key that all variants share, with
/// its words, or a key that only this variant has. `None` if each key is a variant of its own.
pub fn kind_of(tables: &'static [&'static [Key]], keys: &'static [Key]) -> Option<String> {
    let first = keys.first()?;
    let name = |table: &&'static [Key]| table.first().map(|key| key.name);
    if tables.iter().all(|table| name(table) == Some(first.name)) {
        Some(format!("`{}` {}", first.name, first.kind))
    } else {
        first.required.then(|| format!("`{}`", first.name))
    }
}

fn earlier(tables: &'static [&'static [Key]], i: usize) -> impl Iterator<Item = &'static Key> {
    tables.iter().copied().flatten().take(i)
}

/// Returns the columns of a CSV table of elements with these keys: every key that a cell can contain.
/// Keys of nested tables are joined with points.
pub fn columns(keys: &'static [Key]) -> Vec<Column> {
    let mut columns = Vec::new();
    for key in keys.iter().filter(|key| !key.many) {
        add_columns(key, &mut Vec::new(), "", &mut columns);
    }
    // A short name that is also a key of the element refers to that key.
    for key in keys.iter().filter(|key| key.flat) {
        for column in &mut columns {
            if let [first, rest @ ..] = column.path.as_slice()
                && *first == key.name
                && !keys.iter().any(|own| rest == [own.name])
            {
                column.name = rest.join(".");
            }
        }
    }
    columns
}

fn add_columns(
    key: &'static Key,
    path: &mut Vec<&'static str>,
    prefix: &str,
    columns: &mut Vec<Column>,
) {
    path.push(key.name);
    let name = format!("{prefix}{}", key.name);
    if key.is_cell {
        columns.push(Column {
            name: name.clone(),
            path: path.clone(),
        });
    }
    for inner in distinct_keys(key.tables) {
        add_columns(inner, path, &format!("{name}."), columns);
    }
    path.pop();
}
