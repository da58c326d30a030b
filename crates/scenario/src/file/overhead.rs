//! `overhead` in `[[link]]` and `[simulation]`

use netflow_document::{Quantity, Spanned, keyword_enum, table};
use netflow_queues::{Cells, Overhead};
use netflow_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::scalar_or_table::scalar_or_table;
use super::{ByteSize, allowed};

/// Bytes added to each IP packet on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OverheadSetting {
    /// The same number for each packet: `"38 B"`.
    Bytes(Quantity<Bytes>),
    /// With a minimum frame size, or cells: `{ bytes = "10 B", cells = "atm" }`.
    Frame(Box<Frame>),
}

/// Frame of a packet on the wire: `bytes` are added to the IP packet, shorter frames are padded to `minimum`, and
/// the frame is divided into `cells`. Linux's tc-stab and CAKE use the same scheme; their numbers for link types
/// apply.
#[table]
pub struct Frame {
    /// Bytes added to each packet. Default: 0 B.
    #[key(allowed = allowed::OVERHEAD, example = "38 B")]
    pub bytes: Option<ByteSize>,
    /// Minimum frame size, `bytes` included. Default: 0 B.
    #[key(allowed = allowed::OVERHEAD, example = "84 B")]
    pub minimum: Option<ByteSize>,
    /// Cells of the frame. `atm`: cells of 53 B with a payload of 48 B each, the last one padded (ADSL). `ptm`:
    /// one more byte for each 64 B, rounded up (VDSL2). Default: none.
    #[key(example = "atm")]
    pub cells: Option<Spanned<CellsSetting>>,
}

/// Cells on the wire.
#[keyword_enum]
#[schemars(rename = "Cells")]
pub enum CellsSetting {
    /// ATM cells of 53 B with a payload of 48 B each, the last one padded (ADSL).
    Atm,
    /// PTM with 64b/65b coding: one more byte for each 64 B, rounded up (VDSL2).
    Ptm,
}

impl OverheadSetting {
    /// As links have it.
    pub fn to_overhead(&self) -> Overhead {
        let frame = match self {
            OverheadSetting::Bytes(bytes) => return Overhead::of(bytes.get()),
            OverheadSetting::Frame(frame) => frame,
        };
        let Frame {
            bytes,
            minimum,
            cells,
        } = &**frame;
        let size = |size: &Option<ByteSize>| size.as_ref().map_or(0.0, |size| size.get());
        Overhead {
            bytes: size(bytes),
            minimum_bytes: size(minimum),
            cells: match cells.as_deref() {
                None => Cells::None,
                Some(CellsSetting::Atm) => Cells::Atm,
                Some(CellsSetting::Ptm) => Cells::Ptm,
            },
        }
    }
}

scalar_or_table!(
    OverheadSetting,
    "a size in bytes, or a table",
    Bytes(allowed::OVERHEAD),
    Frame(Frame),
    Quantity(Bytes(0.0))
);
