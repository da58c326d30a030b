//! Source locations in the files that were read.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// The index of a file (or a `--set` option) in [`Sources`](crate::Sources), in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The document itself, which is always read first.
    pub const FIRST: FileId = FileId(0);
    const NONE: FileId = FileId(u32::MAX);
}

/// A byte range in a file. Files are limited to 4 GiB by 32-bit offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceSpan {
    file: FileId,
    start: u32,
    end: u32,
}

impl SourceSpan {
    /// The place of a value without a source: made by a program, or a placeholder for an invalid value.
    pub const NONE: SourceSpan = SourceSpan {
        file: FileId::NONE,
        start: 0,
        end: 0,
    };

    /// Returns the place of these bytes of a file.
    pub fn new(file: FileId, span: Range<usize>) -> SourceSpan {
        let narrow = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        SourceSpan {
            file,
            start: narrow(span.start),
            end: narrow(span.end),
        }
    }

    /// Returns the range from the start of `self` to the end of `last`, in the same file.
    pub(crate) fn extend_to(self, last: SourceSpan) -> SourceSpan {
        SourceSpan {
            end: last.end,
            ..self
        }
    }

    /// Returns the file.
    pub fn file(self) -> FileId {
        self.file
    }

    /// Returns the byte range.
    pub fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns whether there is no source.
    pub fn is_unknown(self) -> bool {
        self.file == FileId::NONE
    }
}

/// A value with its place. Equality compares only the values.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<T> {
    value: T,
    place: SourceSpan,
}

impl<T> Spanned<T> {
    /// Returns a value with its place.
    pub fn new(value: T, place: SourceSpan) -> Self {
        Spanned { value, place }
    }

    /// Returns the place. A value made by a program has [`SourceSpan::NONE`].
    pub fn place(&self) -> SourceSpan {
        self.place
    }

    /// Returns the value without its place.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns whether the value was read, in contrast to a placeholder for an invalid value.
    pub fn is_valid(&self) -> bool {
        !self.place.is_unknown()
    }
}

/// Conversion of a value made by a program.
impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Self {
        Spanned::new(value, SourceSpan::NONE)
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
