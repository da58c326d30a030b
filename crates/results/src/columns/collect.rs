//! A serde serializer that flattens a row into its scalar fields.
//!
//! A nested field is named `outer.inner`. Lists are left out.

use std::fmt;

use serde::ser::{self, Impossible, Serialize, SerializeMap, SerializeStruct};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A missing or unknown value.
    Nothing,
    /// A number.
    Number(f64),
    /// A whole number from 0.
    Whole(u64),
    /// True or false.
    Flag(bool),
    /// A string.
    Text(&'a str),
}

/// Receiver of the fields of a row.
pub(super) trait CellSink {
    fn put(&mut self, name: &str, cell: Cell<'_>);
}

/// Passes every field of a row to a sink, in order.
pub(super) fn row(row: &impl Serialize, sink: &mut dyn CellSink) {
    // Serialization cannot fail: fields that are not scalar are skipped.
    let _ = row.serialize(Fields { sink, outer: None });
}

/// An uninhabited error type, because the serializer cannot fail.
#[derive(Debug)]
pub(super) struct Never;

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no row")
    }
}

impl std::error::Error for Never {}

impl ser::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Never {
        Never
    }
}

/// Serializer of the fields of a struct or map. `outer` is the name of the enclosing field.
struct Fields<'s> {
    sink: &'s mut dyn CellSink,
    outer: Option<&'s str>,
}

/// Serializer of one field after the other. Each map key precedes its value.
struct FieldSerializer<'s> {
    fields: Fields<'s>,
    name: String,
}

impl Fields<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Never> {
        let sink = &mut *self.sink;
        // A value that is not scalar reports this by an error, which is ignored.
        let _ = match self.outer {
            None => value.serialize(CellSerializer { sink, name }),
            Some(outer) => value.serialize(CellSerializer {
                sink,
                name: &format!("{outer}.{name}"),
            }),
        };
        Ok(())
    }
}

impl SerializeStruct for FieldSerializer<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.fields.field(name, value)
    }

    fn end(self) -> Result<(), Never> {
        Ok(())
    }
}

impl SerializeMap for FieldSerializer<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Never> {
        struct Name<'a>(&'a mut String);
        impl CellSink for Name<'_> {
            fn put(&mut self, _: &str, cell: Cell<'_>) {
                if let Cell::Text(text) = cell {
                    self.0.clear();
                    self.0.push_str(text);
                }
            }
        }
        key.serialize(CellSerializer {
            sink: &mut Name(&mut self.name),
            name: "",
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
        self.fields.field(&self.name, value)
    }

    fn end(self) -> Result<(), Never> {
        Ok(())
    }
}

/// Serializer of one field, which is scalar or has fields of its own.
struct CellSerializer<'s> {
    sink: &'s mut dyn CellSink,
    name: &'s str,
}

impl CellSerializer<'_> {
    fn put(self, cell: Cell<'_>) -> Result<(), Never> {
        self.sink.put(self.name, cell);
        Ok(())
    }
}

macro_rules! simple {
    ($($method:ident: $type:ty => $cell:expr;)*) => {
        $(fn $method(self, value: $type) -> Result<(), Never> {
            let cell: fn($type) -> Cell<'static> = $cell;
            self.put(cell(value))
        })*
    };
}

/// Methods that both serializers share: lists and similar values are skipped.
macro_rules! passed_over {
    () => {
        type Ok = ();
        type Error = Never;
        type SerializeSeq = Impossible<(), Never>;
        type SerializeTuple = Impossible<(), Never>;
        type SerializeTupleStruct = Impossible<(), Never>;
        type SerializeTupleVariant = Impossible<(), Never>;
        type SerializeStructVariant = Impossible<(), Never>;

        fn serialize_bytes(self, _: &[u8]) -> Result<(), Never> {
            Ok(())
        }
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<(), Never> {
            Ok(())
        }
        fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Never> {
            Err(Never)
        }
        fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Never> {
            Err(Never)
        }
        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, Never> {
            Err(Never)
        }
        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, Never> {
            Err(Never)
        }
        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, Never> {
            Err(Never)
        }
        fn serialize_newtype_struct<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            value: &T,
        ) -> Result<(), Never> {
            value.serialize(self)
        }
        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
            value.serialize(self)
        }
    };
}

impl<'s> ser::Serializer for CellSerializer<'s> {
    passed_over!();
    type SerializeMap = FieldSerializer<'s>;
    type SerializeStruct = FieldSerializer<'s>;

    simple! {
        serialize_bool: bool => Cell::Flag;
        serialize_i8: i8 => |it| Cell::Number(it.into());
        serialize_i16: i16 => |it| Cell::Number(it.into());
        serialize_i32: i32 => |it| Cell::Number(it.into());
        serialize_i64: i64 => |it| Cell::Number(it as f64);
        serialize_u8: u8 => |it| Cell::Whole(it.into());
        serialize_u16: u16 => |it| Cell::Whole(it.into());
        serialize_u32: u32 => |it| Cell::Whole(it.into());
        serialize_u64: u64 => Cell::Whole;
        serialize_f32: f32 => |it| Cell::Number(it.into());
        serialize_f64: f64 => Cell::Number;
    }

    fn serialize_char(self, value: char) -> Result<(), Never> {
        self.put(Cell::Text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Result<(), Never> {
        self.put(Cell::Text(value))
    }

    fn serialize_none(self) -> Result<(), Never> {
        self.put(Cell::Nothing)
    }

    fn serialize_unit(self) -> Result<(), Never> {
        self.put(Cell::Nothing)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Never> {
        self.put(Cell::Text(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<FieldSerializer<'s>, Never> {
        Ok(FieldSerializer::within(self))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<FieldSerializer<'s>, Never> {
        Ok(FieldSerializer::within(self))
    }
}

impl<'s> FieldSerializer<'s> {
    fn within(one: CellSerializer<'s>) -> FieldSerializer<'s> {
        FieldSerializer {
            fields: Fields {
                sink: one.sink,
                outer: Some(one.name),
            },
            name: String::new(),
        }
    }
}

/// Methods for values that are not rows, because only structs and maps are.
macro_rules! no_row {
    ($($method:ident: $type:ty;)*) => {
        $(fn $method(self, _: $type) -> Result<(), Never> {
            Ok(())
        })*
    };
}

impl<'s> ser::Serializer for Fields<'s> {
    passed_over!();
    type SerializeMap = FieldSerializer<'s>;
    type SerializeStruct = FieldSerializer<'s>;

    no_row! {
        serialize_bool: bool;
        serialize_i8: i8;
        serialize_i16: i16;
        serialize_i32: i32;
        serialize_i64: i64;
        serialize_u8: u8;
        serialize_u16: u16;
        serialize_u32: u32;
        serialize_u64: u64;
        serialize_f32: f32;
        serialize_f64: f64;
        serialize_char: char;
        serialize_str: &str;
        serialize_unit_struct: &'static str;
    }

    fn serialize_none(self) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<FieldSerializer<'s>, Never> {
        Ok(self.each())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<FieldSerializer<'s>, Never> {
        Ok(self.each())
    }
}

impl<'s> Fields<'s> {
    fn each(self) -> FieldSerializer<'s> {
        FieldSerializer {
            fields: self,
            name: String::new(),
        }
    }
}
