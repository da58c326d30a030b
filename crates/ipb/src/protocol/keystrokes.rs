//! Scripts of terminal connections: the lengths of the keystrokes that follow and of their echoes.

use std::collections::VecDeque;

use crate::DropReason;

/// Maximum number of runs of a script.
pub const MAX_RUNS: u32 = 4096;

/// First byte of a script.
pub(super) const SCRIPT_TAG: u8 = b'T';

/// Run-length encoded sequence of equal keystrokes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeystrokeRun {
    /// Number of keystrokes.
    pub keystrokes: u32,
    /// Bytes of each keystroke.
    pub keystroke_bytes: u32,
    /// Bytes of each echo.
    pub echo_bytes: u32,
}

/// Writes a script with at most the first [`MAX_RUNS`] runs.
pub fn write_script(runs: &[KeystrokeRun], to: &mut Vec<u8>) {
    let runs = runs.get(..MAX_RUNS as usize).unwrap_or(runs);
    to.push(SCRIPT_TAG);
    write(runs.len() as u32, to);
    for run in runs {
        write(run.keystrokes, to);
        write(run.keystroke_bytes, to);
        write(run.echo_bytes, to);
    }
}

fn write(mut number: u32, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Incremental LEB128 parser of a script after its first byte.
#[derive(Debug, Default)]
pub(super) struct Reader {
    number: u32,
    shift: u32,
    /// Remaining runs; `None` before their number is known.
    runs: Option<u32>,
    fields: [u32; 3],
    field: usize,
}

impl Reader {
    /// Consumes a byte. Returns `true` when the script is complete.
    pub fn take(
        &mut self,
        byte: u8,
        script: &mut VecDeque<KeystrokeRun>,
    ) -> Result<bool, DropReason> {
        let low = u32::from(byte & 0x7f);
        // The fifth byte contains the last four of 32 bits.
        if self.shift == 28 && byte > 0x0f {
            return Err(DropReason::Malformed);
        }
        self.number |= low << self.shift;
        if byte & 0x80 != 0 {
            self.shift += 7;
            return Ok(false);
        }
        let number = std::mem::take(&mut self.number);
        self.shift = 0;
        if number == 0 {
            return Err(DropReason::Malformed);
        }
        let Some(runs) = self.runs else {
            self.runs = Some(number);
            return if number <= MAX_RUNS {
                Ok(false)
            } else {
                Err(DropReason::HeadTooLong)
            };
        };
        if let Some(field) = self.fields.get_mut(self.field) {
            *field = number;
        }
        self.field += 1;
        if self.field < self.fields.len() {
            return Ok(false);
        }
        self.field = 0;
        let [keystrokes, keystroke_bytes, echo_bytes] = self.fields;
        script.push_back(KeystrokeRun {
            keystrokes,
            keystroke_bytes,
            echo_bytes,
        });
        self.runs = Some(runs - 1);
        Ok(runs == 1)
    }
}
