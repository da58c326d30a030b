//! JSON output. All JSON is written here.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Writes a value as indented JSON.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Creates an object with these fields in this order: `object! { link: name, loss: 0.1 }`.
macro_rules! object {
    ($key:ident: $value:expr $(, $($rest:tt)*)?) => {
        $crate::output::json::Field {
            key: stringify!($key),
            value: $value,
            rest: $crate::output::json::object! { $($($rest)*)? },
        }
    };
    () => {
        $crate::output::json::Empty
    };
}
pub(crate) use object;

/// The first field of an object, and the rest.
pub struct Field<V, R> {
    pub key: &'static str,
    pub value: V,
    pub rest: R,
}

/// An object without fields.
pub struct Empty;

pub trait Fields {
    /// Writes the fields into an open map.
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl Fields for Empty {
    fn put<M: SerializeMap>(&self, _: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

impl<V: Serialize, R: Fields> Fields for Field<V, R> {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(self.key, &self.value)?;
        self.rest.put(map)
    }
}

impl<V: Serialize, R: Fields> Serialize for Field<V, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.put(&mut map)?;
        map.end()
    }
}
