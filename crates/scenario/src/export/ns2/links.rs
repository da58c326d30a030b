//! Section of an ns-2 script with the links.

use std::fmt::Write;

use netflow_network::{Buffer, Change, DropPolicy, LinkId, LinkLoss, LinkSpec, Red};

use super::super::ExportError;
use super::super::tcl::quote_word;
use super::{Export, Warnings};

const LOSSY: &str = include_str!("lossy.tcl");

/// Units of the error model's losses.
pub(super) const UNITS: [&str; 2] = ["pkt", "byte"];

/// Largest `limit_` of a queue.
const MAX_QUEUE_LIMIT: f64 = i32::MAX as f64;

/// Smallest threshold: ns-2 interprets 0 as automatic.
const MIN_THRESHOLD_PKTS: f64 = 1e-9;

/// Data packets that cross a link at the start.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    connections: f64,
    bytes: f64,
    /// Size of the largest one, with the index of its connection.
    largest: Option<(f64, usize)>,
}

impl Export<'_> {
    pub(super) fn links(&self, warnings: &mut Warnings) -> Result<String, ExportError> {
        let loads = self.loads();
        let network = self.network;
        let mut rows = vec![["# from", "to", "bit/s", "delay s", "queue"].map(str::to_owned)];
        for (id, load) in network.links().zip(&loads) {
            // Exhaustive, so that every new setting of a link must be translated here.
            let &LinkSpec {
                from,
                to,
                ref circuit,
                bandwidth_bps,
                delay_s,
                overhead,
                buffer: _,
                queue: _, // both in `queue`
                policer: _,
                shaper: _,
                loss: _, // in `losses`
                trace: _,
                series: _,
                delay_line: _,  // all four rejected
                metric: _,      // in the routes
                calibration: _, // of fluids
            } = network.link_spec(id);
            if circuit.is_some() {
                let link = network.link_name(id).to_owned();
                return Err(ExportError::ParallelLink { link });
            }
            if !overhead.is_none() {
                let link = network.link_name(id).to_owned();
                return Err(ExportError::Overhead { link });
            }
            if let Some(element) = network.link_spec(id).elements().next() {
                let link = network.link_name(id).to_owned();
                return Err(ExportError::LinkElement { link, element });
            }
            rows.push([
                format!("link {}", quote_word(network.node_name(from))),
                quote_word(network.node_name(to)),
                bandwidth_bps.to_string(),
                delay_s.to_string(),
                self.queue(id, load, warnings)?,
            ]);
        }
        Ok(format!(
            "\n# ---- links; the limit of a queue is its buffer size, the packet in service included\n\
             # (RED does not count that packet)\n\n{}",
            aligned(&rows)
        ))
    }

    /// Returns the error models of lossy links.
    pub(super) fn losses(&self) -> Result<String, ExportError> {
        let network = self.network;
        let mut lines = String::new();
        for id in network.links() {
            let (ends, rates) = (
                self.end_names(id),
                self.loss_rates(id, &network.link_spec(id).loss)?,
            );
            let ever = self.lossy_units(id)?;
            for ((unit, rate), _) in UNITS.iter().zip(rates).zip(ever).filter(|(_, ever)| *ever) {
                let _ = writeln!(lines, "lossy {ends} {unit} {rate}");
            }
        }
        if lines.is_empty() {
            Ok(lines)
        } else {
            Ok(format!("\n# ---- losses after the queue\n{LOSSY}\n{lines}"))
        }
    }

    /// Returns the loss rates of a link per packet and per byte, as [`UNITS`].
    pub(super) fn loss_rates(&self, id: LinkId, loss: &LinkLoss) -> Result<[f64; 2], ExportError> {
        let in_bursts = || ExportError::BurstyLoss {
            link: self.network.link_name(id).to_owned(),
        };
        let byte = match loss.bit_errors.map(|errors| errors.rate()) {
            None => 0.0,
            // Converted to whole bytes, which the error model counts.
            Some((rate, true)) => -libm::expm1(8.0 * libm::log1p(-rate)),
            Some((_, false)) => return Err(in_bursts()),
        };
        if loss.is_correlated() {
            return Err(in_bursts());
        }
        Ok([loss.random, byte])
    }

    /// Returns which of [`UNITS`] a link loses at any time.
    pub(super) fn lossy_units(&self, id: LinkId) -> Result<[bool; 2], ExportError> {
        let later = self.events_before_end().filter(|event| event.link == id);
        let later = later.filter_map(|event| match event.change {
            Change::Loss(loss) => Some(loss),
            Change::Bandwidth(_) | Change::Pause | Change::Delay(_) | Change::Down | Change::Up => {
                None
            }
        });
        let mut ever = [false; 2];
        for loss in std::iter::once(self.network.link_spec(id).loss).chain(later) {
            for (ever, rate) in ever.iter_mut().zip(self.loss_rates(id, &loss)?) {
                *ever |= rate > 0.0;
            }
        }
        Ok(ever)
    }

    fn loads(&self) -> Vec<Load> {
        let network = self.network;
        let mut loads = vec![Load::default(); network.link_count()];
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let (count, bytes) = (f64::from(spec.count), spec.packet_size_bytes);
            for link in network.path(id) {
                let Some(load) = loads.get_mut(link.index()) else {
                    continue;
                };
                load.connections += count;
                load.bytes += count * bytes;
                if load.largest.is_none_or(|(largest, _)| bytes > largest) {
                    load.largest = Some((bytes, id.index()));
                }
            }
        }
        loads
    }

    /// Returns the queue's class in ns-2, and its variables.
    fn queue(
        &self,
        id: LinkId,
        load: &Load,
        warnings: &mut Warnings,
    ) -> Result<String, ExportError> {
        let network = self.network;
        let buffer_pkts = network.buffer_pkts(id);
        if buffer_pkts < 2.0 {
            return Err(ExportError::BufferTooSmall {
                link: network.link_name(id).to_owned(),
                buffer_pkts,
            });
        }
        let whole_pkts = buffer_pkts.floor().min(MAX_QUEUE_LIMIT);
        let spec = network.link_spec(id);
        let mut in_packets = |why: &str| {
            if whole_pkts != buffer_pkts {
                let link = quote_word(network.link_name(id));
                warnings.add(format!(
                    "link {link}: its buffer is {whole_pkts} pkt, not {buffer_pkts}{why}"
                ));
            }
        };
        match (spec.queue, spec.buffer) {
            (DropPolicy::Red(red), buffer) => {
                in_packets(match buffer {
                    Buffer::Bytes(_) | Buffer::Time(_) => ": RED counts packets here",
                    Buffer::Packets(_) | Buffer::BandwidthDelay => "",
                });
                Ok(red_queue(&red, whole_pkts, load))
            }
            (DropPolicy::Managed(aqm), _) => Err(ExportError::UnsupportedQueue {
                link: network.link_name(id).to_owned(),
                discipline: aqm.name(),
            }),
            (DropPolicy::Rio(_), _) => Err(ExportError::DropPrecedences {
                link: network.link_name(id).to_owned(),
            }),
            (DropPolicy::DropTail, Buffer::Packets(_) | Buffer::BandwidthDelay) => {
                in_packets("");
                Ok(format!("{{DropTail limit_ {whole_pkts}}}"))
            }
            (DropPolicy::DropTail, Buffer::Bytes(_) | Buffer::Time(_)) => {
                let bytes = spec.buffer.bytes(spec.bandwidth_bps).unwrap_or_default();
                self.queue_in_bytes(id, bytes, bytes / buffer_pkts, load)
            }
        }
    }

    /// Returns a queue limited in bytes. ns-2 drops a packet with which the waiting bytes would
    /// reach the limit; the buffer minus a mean packet in service may wait.
    fn queue_in_bytes(
        &self,
        id: LinkId,
        buffer_bytes: f64,
        mean_bytes: f64,
        load: &Load,
    ) -> Result<String, ExportError> {
        let waiting_bytes = (buffer_bytes - mean_bytes)
            .floor()
            .min(MAX_QUEUE_LIMIT - 1.0);
        let limit = waiting_bytes + 1.0;
        if let Some((packet_bytes, connection)) = load.largest
            && packet_bytes > waiting_bytes
        {
            let mut connections = self.network.connections();
            let name = connections.nth(connection).map_or_else(String::new, |id| {
                self.network.connection_name(id).to_owned()
            });
            return Err(ExportError::LargePacket {
                link: self.network.link_name(id).to_owned(),
                connection: name,
                packet_bytes,
            });
        }
        Ok(format!(
            "{{DropTail limit_ {limit} queue_in_bytes_ true mean_pktsize_ 1}}"
        ))
    }
}

/// Returns a RED queue without automatic settings. `mean_pktsize_` gives the number of packets that
/// might have been sent while the queue was empty.
fn red_queue(red: &Red, buffer_pkts: f64, load: &Load) -> String {
    let mean_bytes = if load.connections > 0.0 {
        (load.bytes / load.connections).round().max(1.0)
    } else {
        40.0
    };
    format!(
        "{{RED limit_ {} thresh_ {} maxthresh_ {} linterm_ {} q_weight_ {} gentle_ {} \
         mean_pktsize_ {mean_bytes} bytes_ false queue_in_bytes_ false adaptive_ 0}}",
        buffer_pkts - 1.0,
        red.min_pkts.max(MIN_THRESHOLD_PKTS),
        red.max_pkts,
        1.0 / red.max_p,
        red.weight,
        red.gentle,
    )
}

/// Formats rows in aligned columns; the first row is a comment.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths);
        let line: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text += line.join(" ").trim_end();
        text.push('\n');
    }
    text
}
