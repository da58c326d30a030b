//! Reader of TOML documents and CSV tables whose keys are declared once.
//!
//! A struct is a table and its fields are the keys. [`table`] generates the following from them:
//!
//! - the reader, and the check of allowed values
//! - the columns of a CSV table ([`columns`])
//! - the keys of `--set` options ([`Overrides`])
//! - the writer and the JSON schema (by `serde` and `schemars`)
//! - the reference documentation ([`Key`])
//!
//! [`macro@one_of`] does the same for a tagged union, and [`keyword_enum`] for an enum of keywords.
//!
//! Reading continues after an error, so that all errors are reported at once. They are collected in
//! [`Findings`] with their [`SourceSpan`]s. [`Problems`] adds file, line, column, the allowed values, and the
//! most similar name to a misspelt one.
//!
//! ```
//! use netflow_document::{Allowed, Findings, Quantity, Sources, Spanned, Table, read_document, table};
//! use netflow_units::Seconds;
//!
//! const DELAY: Allowed<Quantity<Seconds>> = Allowed {
//!     test: |delay| (0.0..=3600.0).contains(&delay.get()),
//!     text: "0 s to 1 h",
//! };
//!
//! /// A wire.
//! #[table(plain)]
//! struct Wire {
//!     /// Where it ends.
//!     #[key(example = "B")]
//!     to: Spanned<String>,
//!     /// How long a bit takes. Default: 0 s.
//!     #[key(allowed = DELAY, example = "20 ms")]
//!     delay: Option<Spanned<Quantity<Seconds>>>,
//! }
//!
//! let mut sources = Sources::default();
//! let mut findings = Findings::default();
//! let (file, text) = sources.add("wire.toml".as_ref(), "dely = \"2 h\"".to_owned());
//! let wire: Option<Wire> = read_document(&text, file, &mut findings);
//! let problems = findings.into_problems(sources).into_vec();
//! assert_eq!(problems[0].message, "the file has no `to`");
//! assert_eq!(problems[1].message, "unknown key `dely` in the file");
//! assert_eq!(Wire::KEYS[1].allowed, "0 s to 1 h");
//! ```
#![warn(missing_docs)]

mod csv;
mod former_names;
mod key;
mod load;
mod one_of;
mod overrides;
mod problem;
mod quantity;
mod section;
mod source_span;
mod sources;
mod suggest;
mod table;
mod value;
mod words;

pub use csv::{CsvReader, CsvRow, read_header};
pub use former_names::{FormerName, FormerNames, RemovedKey};
pub use key::{Allowed, Column, Key, any, columns, kind_of};
pub use load::{io_error_text, load, report_not_utf8, unreadable_file};
pub use netflow_document_derive::{keyword_enum, one_of, table};
pub use one_of::{UnionDeclaration, one_of};
pub use overrides::{OverrideTarget, Overrides, matches_link_name, replaces_all};
pub use problem::{Finding, Findings, Problem, ProblemKind, Problems, Severity};
pub use quantity::Quantity;
pub use section::Section;
pub use source_span::{FileId, SourceSpan, Spanned};
pub use sources::Sources;
pub use table::{Element, Setting, Table, parse, parse_renamed, read_document, read_table};
pub use value::{Fields, List, Read, Value, ValueKind, Verbatim};
pub use words::{Word, Words, read_keyword, word};
