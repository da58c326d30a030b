//! What is declared of a key.

/// A key of a table: what its field declares.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key as documents write it.
    pub name: &'static str,
    /// What it says, and its default.
    pub doc: &'static str,
    /// What its values are: `"time"`, `"a table"`, or the words it may be.
    pub kind: &'static str,
    /// Which of these values are allowed; empty if all are.
    pub allowed: &'static str,
    /// A value in TOML; empty if there is no example.
    pub example: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// Whether it is an array of tables.
    pub many: bool,
    /// Whether the keys of its table are columns without its name in front.
    pub flat: bool,
    /// Whether a cell of a CSV table can hold it.
    pub is_cell: bool,
    /// The keys of its table, which may be put together from several; empty if it is none.
    pub tables: &'static [&'static [Key]],
    /// Of a value of one of several kinds, the keys that say which.
    pub kinds: &'static [&'static str],
}

/// Which values a key may have.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<T> {
    /// Whether it may have this one.
    pub test: fn(&T) -> bool,
    /// The same for people.
    pub text: &'static str,
}

/// Every value that can be read is allowed.
pub const fn any<T>() -> Allowed<T> {
    Allowed {
        test: |_| true,
        text: "",
    }
}

/// A column of a CSV table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What the first row calls it: `queue.min`.
    pub name: String,
    /// The keys that lead to it: `queue`, `min`.
    pub path: Vec<&'static str>,
}

/// All keys of a table, in which some may be declared twice: of several kinds of value, for each.
pub(crate) fn all(tables: &'static [&'static [Key]]) -> impl Iterator<Item = &'static Key> + Clone {
    let keys = tables.iter().copied().flatten();
    keys.enumerate()
        .filter(move |(i, key)| !earlier(tables, *i).any(|other| other.name == key.name))
        .map(|(_, key)| key)
}

/// What makes a value of several kinds the one with these keys: the key that all kinds have, and its words; or
/// the key that only this kind has. `None` if each of its keys is a kind of its own.
pub fn kind_of(tables: &'static [&'static [Key]], keys: &'static [Key]) -> Option<String> {
    let first = keys.first()?;
    let name = |table: &&'static [Key]| table.first().map(|key| key.name);
    match tables.iter().all(|table| name(table) == Some(first.name)) {
        true => Some(format!("`{}` {}", first.name, first.kind)),
        false => first.required.then(|| format!("`{}`", first.name)),
    }
}

fn earlier(tables: &'static [&'static [Key]], i: usize) -> impl Iterator<Item = &'static Key> {
    tables.iter().copied().flatten().take(i)
}

/// The columns of a CSV table of elements with these keys: every key that a cell can hold, and those
/// inside tables with a point between.
pub fn columns(keys: &'static [Key]) -> Vec<Column> {
    let mut columns = Vec::new();
    for key in keys.iter().filter(|key| !key.many) {
        add(key, &mut Vec::new(), "", &mut columns);
    }
    // A name that the element itself has means its own key.
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

fn add(key: &'static Key, path: &mut Vec<&'static str>, prefix: &str, columns: &mut Vec<Column>) {
    path.push(key.name);
    let name = format!("{prefix}{}", key.name);
    if key.is_cell {
        columns.push(Column {
            name: name.clone(),
            path: path.clone(),
        });
    }
    for inner in all(key.tables) {
        add(inner, path, &format!("{name}."), columns);
    }
    path.pop();
}
