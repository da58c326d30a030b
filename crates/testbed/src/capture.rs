//! Writing packets down, on a thread of its own: files must not delay the link. The format is pcap: a header of the
//! file, then every packet with its own, <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-07.html>.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::{Capture, Error};

/// A file that grows.
#[derive(Debug)]
pub(crate) struct CaptureWriter {
    packets: SyncSender<Taken>,
    path: PathBuf,
    /// Writes until the first error, which it returns.
    thread: JoinHandle<io::Result<()>>,
    snap_bytes: usize,
    /// Packets that there was no room for.
    missing: u64,
}

/// Packets that wait to be written at most; a slow disk makes holes and not delays.
const MOST_WAITING: usize = 100_000;

/// The outcome of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureReport {
    /// Packets that are missing because the disk was too slow.
    pub missing_pkts: u64,
    /// The error that ended the file before the run, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CaptureError>,
}

/// A capture that could not be written to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureError {
    /// The file.
    pub path: PathBuf,
    /// The system's reason, such as a full disk.
    pub reason: String,
}

impl CaptureReport {
    /// Checks that the capture was written to its end.
    ///
    /// # Errors
    /// [`Error::File`] with the first error.
    pub fn check(&self) -> Result<(), Error> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(Error::File {
                path: error.path.clone(),
                source: io::Error::other(error.reason.clone()),
            }),
        }
    }

    /// The sum over several captures, with the first error.
    pub(crate) fn merge(self, other: CaptureReport) -> CaptureReport {
        CaptureReport {
            missing_pkts: self.missing_pkts + other.missing_pkts,
            error: self.error.or(other.error),
        }
    }
}

struct Taken {
    time_ns: u64,
    len: usize,
    start: Vec<u8>,
}

impl Taken {
    /// The packet as a record, of a link whose time began then.
    fn write(&self, began: Duration, file: &mut impl Write) -> io::Result<()> {
        let time = began + Duration::from_nanos(self.time_ns);
        let too_large = |_| io::ErrorKind::InvalidData;
        let header = [
            u32::try_from(time.as_secs()).map_err(too_large)?,
            time.subsec_nanos(),
            u32::try_from(self.start.len()).map_err(too_large)?,
            u32::try_from(self.len).map_err(too_large)?,
        ];
        file.write_all(header.map(u32::to_le_bytes).as_flattened())?;
        file.write_all(&self.start)
    }
}

/// What the file begins with: little-endian, nanoseconds, raw IP.
fn file_header(snap_bytes: u32) -> [u8; 24] {
    const MAGIC: u32 = 0xa1b2_3c4d;
    const VERSION: u32 = 2 | 4 << 16;
    const LINKTYPE_RAW: u32 = 101;
    let mut header = [0; 24];
    let words = [MAGIC, VERSION, 0, 0, snap_bytes, LINKTYPE_RAW];
    header.copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
    header
}

impl CaptureWriter {
    /// A file with a header. The time of day is asked for once, here; from then on times are those
    /// of the clock that nobody sets.
    pub(crate) fn new(capture: &Capture) -> Result<CaptureWriter, Error> {
        let cannot = |source| Error::File {
            path: capture.path.clone(),
            source,
        };
        let file = File::create(&capture.path).map_err(cannot)?;
        let mut writer = BufWriter::new(file);
        writer
            .write_all(&file_header(capture.snap_bytes))
            .map_err(cannot)?;
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (packets, taken) = sync_channel::<Taken>(MOST_WAITING);
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || {
                // After an error the packets that follow are discarded: the sender must not wait.
                let mut written = Ok(());
                for packet in taken {
                    written = written.and_then(|()| packet.write(began, &mut writer));
                }
                written.and_then(|()| writer.flush())
            })
            .map_err(|error| Error::system("start a thread", error))?;
        Ok(CaptureWriter {
            path: capture.path.clone(),
            packets,
            thread,
            snap_bytes: capture.snap_bytes as usize,
            missing: 0,
        })
    }

    /// Takes a packet at this time of the link.
    pub(crate) fn take(&mut self, time_ns: u64, packet: &[u8]) {
        let start = packet.get(..self.snap_bytes).unwrap_or(packet).to_vec();
        let taken = self.packets.try_send(Taken {
            time_ns,
            len: packet.len(),
            start,
        });
        self.missing += u64::from(taken.is_err());
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> CaptureReport {
        drop(self.packets);
        let written = self.thread.join();
        let written = written.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        let error = |error: io::Error| CaptureError {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        CaptureReport {
            missing_pkts: self.missing,
            error: written.err().map(error),
        }
    }
}
