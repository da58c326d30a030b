//! Settings that are a single value or a table.

/// Implements [`Read`](netflow_document::Read) for an enum of a single value with a range, and of a table.
macro_rules! scalar_or_table {
    ($setting:ident, $kind:literal, $scalar:ident($allowed:expr), $variant:ident($table:ty), $fallback:expr) => {
        impl netflow_document::Read for $setting {
            const KIND: &'static str = $kind;
            const TABLES: &'static [&'static [netflow_document::Key]] =
                &[<$table as netflow_document::Table>::KEYS];

            fn read(
                value: &netflow_document::Value<'_>,
                key: &str,
                findings: &mut netflow_document::Findings,
            ) -> Option<$setting> {
                if let netflow_document::ValueKind::Table(_) = value.kind {
                    let table: $table = netflow_document::read_table(value, key, findings)?;
                    return Some($setting::$variant(Box::new(table)));
                }
                let scalar = value.setting(key, &$allowed, findings)?;
                Some($setting::$scalar(*scalar))
            }

            fn fallback() -> $setting {
                $setting::$scalar($fallback)
            }
        }
    };
}

pub(super) use scalar_or_table;
