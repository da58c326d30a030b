//! Writing packets down, on a thread of its own: files must not delay the link.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};

use crate::{Capture, Error};

/// A file that grows.
#[derive(Debug)]
pub(crate) struct CaptureWriter {
    packets: SyncSender<Taken>,
    /// Gives the number of packets that could not be written.
    thread: JoinHandle<u64>,
    snap_bytes: usize,
    /// Packets that there was no room for.
    missing: u64,
}

/// Packets that wait to be written at most; a slow disk makes holes and not delays.
const MOST_WAITING: usize = 100_000;

struct Taken {
    time_ns: u64,
    len: usize,
    start: Vec<u8>,
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
        let header = PcapHeader {
            snaplen: capture.snap_bytes,
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(BufWriter::new(file), header)
            .map_err(|error| cannot(std::io::Error::other(error)))?;
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (packets, taken) = sync_channel::<Taken>(MOST_WAITING);
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || {
                let mut failures = 0;
                for packet in taken {
                    let packet = PcapPacket {
                        timestamp: began + Duration::from_nanos(packet.time_ns),
                        orig_len: u32::try_from(packet.len).unwrap_or(u32::MAX),
                        data: Cow::Owned(packet.start),
                    };
                    failures += u64::from(writer.write_packet(&packet).is_err());
                }
                let flushed = std::io::Write::flush(&mut writer.into_writer());
                failures + u64::from(flushed.is_err())
            })
            .map_err(|error| Error::system("start a thread", error))?;
        Ok(CaptureWriter {
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

    /// Completes the file; how many packets it lacks.
    pub(crate) fn finish(self) -> u64 {
        drop(self.packets);
        let failures = self.thread.join().unwrap_or(u64::MAX);
        self.missing.saturating_add(failures)
    }
}
