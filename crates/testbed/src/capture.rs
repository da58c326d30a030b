//! Packet capture on a thread of its own, so that files do not delay the link. The format is pcap: a file
//! header and records with a header each,
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-07.html>.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::{Capture, Error};

/// Capture file that is being written.
#[derive(Debug)]
pub(crate) struct CaptureWriter {
    packets: SyncSender<CapturedPacket>,
    path: PathBuf,
    /// Writer thread, which returns its first error.
    thread: JoinHandle<io::Result<()>>,
    snap_bytes: usize,
    /// Packets that found the queue full.
    missing: u64,
}

/// Maximum number of packets that wait to be written. A slow disk causes gaps in the file, not delays.
const MAX_WAITING_PKTS: usize = 100_000;

/// Outcome of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureReport {
    /// Number of packets that are missing because the disk was too slow.
    pub missing_pkts: u64,
    /// Error that ended the file before the run, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CaptureError>,
}

/// Capture that could not be written to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the operating system, for example a full disk.
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

    /// Adds another report; keeps the first error.
    pub(crate) fn merge(self, other: CaptureReport) -> CaptureReport {
        CaptureReport {
            missing_pkts: self.missing_pkts + other.missing_pkts,
            error: self.error.or(other.error),
        }
    }
}

struct CapturedPacket {
    time_ns: u64,
    len: usize,
    start: Vec<u8>,
}

impl CapturedPacket {
    /// Writes the packet as a record. `began` is time 0 of the link as Unix time.
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

/// Returns the file header: little-endian, nanoseconds, raw IP.
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
    /// Creates a file with a header. Reads the time of day once; later times are monotonic.
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
        let (packets, taken) = sync_channel::<CapturedPacket>(MAX_WAITING_PKTS);
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || {
                // After an error, packets are discarded, because the sender must not wait.
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

    /// Queues a packet that arrived at `time_ns` of the link.
    pub(crate) fn take(&mut self, time_ns: u64, packet: &[u8]) {
        let start = packet.get(..self.snap_bytes).unwrap_or(packet).to_vec();
        let taken = self.packets.try_send(CapturedPacket {
            time_ns,
            len: packet.len(),
            start,
        });
        self.missing += u64::from(taken.is_err());
    }

    /// Writes the queued packets and closes the file.
    pub(crate) fn finish(self) -> CaptureReport {
        drop(self.packets);
        let written = self.thread.join();
        let written =
            written.unwrap_or_else(|_| Err(io::Error::other("the capture thread panicked")));
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
