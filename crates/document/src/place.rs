//! Where something stands in the files that were read.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A file (or a `--set` option) in [`Sources`](crate::Sources), in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The document itself is always read first.
    pub const FIRST: FileId = FileId(0);
    const NOWHERE: FileId = FileId(u32::MAX);
}

/// A range of bytes in a file. Files are limited to what 32 bits can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    file: FileId,
    start: u32,
    end: u32,
}

impl Place {
    /// Of what stands nowhere: made by a program, or put in the place of something wrong.
    pub const NOWHERE: Place = Place {
        file: FileId::NOWHERE,
        start: 0,
        end: 0,
    };

    /// Of these bytes of a file.
    pub fn new(file: FileId, span: Range<usize>) -> Place {
        let narrow = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Place {
            file,
            start: narrow(span.start),
            end: narrow(span.end),
        }
    }

    /// From where this begins to where `last`, of the same file, ends.
    pub(crate) fn to(self, last: Place) -> Place {
        Place {
            end: last.end,
            ..self
        }
    }

    /// The file.
    pub fn file(self) -> FileId {
        self.file
    }

    /// The bytes.
    pub fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether it stands nowhere.
    pub fn is_nowhere(self) -> bool {
        self.file == FileId::NOWHERE
    }
}

/// A value and where it stands. Two of them are equal if their values are.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<T> {
    value: T,
    place: Place,
}

impl<T> Spanned<T> {
    /// A value that stands there.
    pub fn new(value: T, place: Place) -> Self {
        Spanned { value, place }
    }

    /// Where it stands. What a program made stands nowhere; its place is of no use.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Whether it was read, and not put in the place of something that could not be.
    pub fn is_sound(&self) -> bool {
        !self.place.is_nowhere()
    }
}

/// A value that a program made.
impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Self {
        Spanned::new(value, Place::NOWHERE)
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
