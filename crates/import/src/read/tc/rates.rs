//! Options of tbf, policers and htb (tc-tbf(8), tc-htb(8), `q_tbf.c`, `m_police.c` and `q_htb.c` of iproute2).

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bytes};

use super::objects::{Object, Word};
use super::options::{Options, inline_table, quoted, refused};
use super::units::{bytes, count, rate_bps, time_s};
use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Settings of a token bucket: tbf or police.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bucket {
    pub(super) rate_bps: f64,
    pub(super) burst_bytes: f64,
    pub(super) peak_bps: Option<f64>,
    /// Size of the queue in bytes.
    pub(super) limit_bytes: f64,
    /// True if the size of the queue is computed from a rounded latency.
    pub(super) has_rounded_limit: bool,
}

impl Bucket {
    /// Reads a token bucket filter.
    pub(super) fn tbf(object: &Object) -> ReadResult<Bucket> {
        let mut options = Options::of(object);
        let mut bucket = Bucket::default();
        let mut latency_s = None;
        let mut peak_burst_bytes = None;
        while let Some(key) = options.next() {
            match key.text.as_str() {
                "rate" => bucket.rate_bps = rate_bps(options.value(key)?)?,
                "burst" | "buffer" | "maxburst" => {
                    bucket.burst_bytes = bytes(options.value(key)?)?;
                }
                "peakrate" => bucket.peak_bps = Some(rate_bps(options.value(key)?)?),
                "minburst" | "mtu" => peak_burst_bytes = Some(bytes(options.value(key)?)?),
                "limit" => bucket.limit_bytes = bytes(options.value(key)?)?,
                "lat" | "latency" => latency_s = Some(time_s(options.value(key)?)?),
                "mpu" | "overhead" => no_overhead(key, options.value(key)?)?,
                "linklayer" => no_cells(options.value(key)?)?,
                _ => return Err(options.unknown(key)),
            }
        }
        if peak_burst_bytes.is_some() && bucket.peak_bps.is_none() {
            let first = Word {
                text: object.kind.clone(),
                span: object.span.clone(),
            };
            let message = "tc -j does not print `peakrate` of tbf";
            return Err(refused(&first, message, "use the output without -j"));
        }
        if bucket.rate_bps < 1.0 || bucket.burst_bytes < 1.0 {
            let message = "tbf needs a rate and a burst";
            return Err(ImportError::new(
                ProblemKind::Missing,
                object.span.clone(),
                message,
            ));
        }
        if bucket.limit_bytes == 0.0
            && let Some(latency_s) = latency_s
        {
            // Inverse of q_tbf.c of iproute2.
            let by_rate = latency_s * bucket.rate_bps / 8.0 + bucket.burst_bytes;
            let by_peak = bucket.peak_bps.map_or(f64::INFINITY, |peak| {
                latency_s * peak / 8.0 + peak_burst_bytes.unwrap_or(0.0)
            });
            bucket.limit_bytes = by_rate.min(by_peak).round();
            bucket.has_rounded_limit = !object.is_command;
        }
        Ok(bucket)
    }

    /// Reads a policer from the options of a filter, of which `police` is at `at`. Returns `None` if it does not drop.
    pub(super) fn police(object: &Object, at: usize) -> ReadResult<Bucket> {
        let first = &object.options[at];
        let mut options = Options {
            object,
            rest: &object.options[at + 1..],
        };
        let mut bucket = Bucket::default();
        let mut drops = false;
        while let Some(key) = options.next() {
            match key.text.as_str() {
                "rate" => bucket.rate_bps = rate_bps(options.value(key)?)?,
                "burst" | "buffer" | "maxburst" => {
                    bucket.burst_bytes = bytes(options.value(key)?)?;
                }
                "peakrate" | "avrate" | "pkts_rate" => return Err(options.unknown(key)),
                "mtu" | "mpu" | "linklayer" | "ref" | "bind" | "index" => {
                    options.value(key)?;
                }
                "overhead" => no_overhead(key, options.value(key)?)?,
                "action" | "conform-exceed" => {
                    let action = options.value(key)?;
                    drops |= matches!(action.text.split('/').next(), Some("drop" | "shot"));
                }
                "drop" | "shot" => drops = true,
                // Numbers of actions, and other classifiers' fields.
                _ => {}
            }
        }
        if !drops {
            let message = "only policers that drop can be imported";
            return Err(refused(
                first,
                message,
                "use `police rate RATE burst BYTES drop`",
            ));
        }
        if bucket.rate_bps < 1.0 || bucket.burst_bytes < 1.0 {
            let message = "the policer needs a rate and a burst";
            return Err(ImportError::new(
                ProblemKind::Missing,
                first.span.clone(),
                message,
            ));
        }
        Ok(bucket)
    }

    /// Returns the keys of a policer or a shaper.
    pub(super) fn keys(&self) -> String {
        inline_table(&vec![
            ("rate", quoted(BitsPerSecond(self.rate_bps))),
            ("burst", quoted(Bytes(self.burst_bytes))),
        ])
    }
}

fn no_overhead(key: &Word, value: &Word) -> ReadResult<()> {
    if bytes(value)? == 0.0 {
        return Ok(());
    }
    let message = format!("`{}` of a rate cannot be imported", key.text);
    Err(refused(
        key,
        message,
        "use a size table: `tc qdisc add … stab overhead BYTES`",
    ))
}

fn no_cells(value: &Word) -> ReadResult<()> {
    if matches!(value.text.as_str(), "ethernet" | "unspec") {
        return Ok(());
    }
    let message = "`linklayer` of a rate cannot be imported";
    Err(refused(
        value,
        message,
        "use a size table: `tc qdisc add … stab linklayer atm`",
    ))
}

/// Settings of an HTB class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HtbClass {
    pub(super) rate_bps: f64,
    pub(super) ceil_bps: f64,
    pub(super) burst_bytes: f64,
    pub(super) cburst_bytes: f64,
    pub(super) prio: u64,
    pub(super) quantum: Option<u64>,
}

impl HtbClass {
    pub(super) fn read(object: &Object) -> ReadResult<HtbClass> {
        let mut options = Options::of(object);
        let mut class = HtbClass {
            rate_bps: 0.0,
            ceil_bps: 0.0,
            burst_bytes: 1600.0,
            cburst_bytes: 1600.0,
            prio: 0,
            quantum: None,
        };
        while let Some(key) = options.next() {
            match key.text.as_str() {
                "rate" => class.rate_bps = rate_bps(options.value(key)?)?,
                "ceil" => class.ceil_bps = rate_bps(options.value(key)?)?,
                "burst" | "buffer" | "maxburst" => class.burst_bytes = bytes(options.value(key)?)?,
                "cburst" | "cbuffer" | "cmaxburst" => {
                    class.cburst_bytes = bytes(options.value(key)?)?;
                }
                "prio" => class.prio = count(options.value(key)?)?,
                "quantum" => class.quantum = Some(count(options.value(key)?)?).filter(|it| *it > 0),
                "overhead" | "mpu" | "mpu_rate" | "mpu_ceil" => {
                    no_overhead(key, options.value(key)?)?;
                }
                "linklayer" => no_cells(options.value(key)?)?,
                "mtu" | "level" | "burst_cell" | "cburst_cell" => {
                    options.value(key)?;
                }
                _ => return Err(options.unknown(key)),
            }
        }
        if class.rate_bps < 1.0 {
            let message = "the class has no rate";
            return Err(
                ImportError::new(ProblemKind::Missing, object.span.clone(), message)
                    .help("old versions of tc -j do not print it: use the output without -j"),
            );
        }
        if class.ceil_bps < class.rate_bps {
            class.ceil_bps = class.rate_bps;
        }
        Ok(class)
    }
}

/// Settings of HTB itself.
pub(super) struct Htb {
    /// Minor number of the class of packets without a class.
    pub(super) default: u32,
    pub(super) r2q: u64,
}

impl Htb {
    pub(super) fn read(object: &Object) -> ReadResult<Htb> {
        let mut options = Options::of(object);
        let mut htb = Htb {
            default: 0,
            r2q: 10,
        };
        while let Some(key) = options.next() {
            match key.text.as_str() {
                "default" => {
                    let word = options.value(key)?;
                    let digits = word.text.trim_start_matches("0x");
                    htb.default = u32::from_str_radix(digits, 16).map_err(|_| {
                        let message = format!("`{}` is not a class", truncate_text(&word.text));
                        ImportError::value(word.span.clone(), message)
                    })?;
                }
                "r2q" => htb.r2q = count(options.value(key)?)?.max(1),
                "direct_packets_stat" | "direct_qlen" | "ver" | "debug" => {
                    options.value(key)?;
                }
                "offload" => {}
                _ => return Err(options.unknown(key)),
            }
        }
        Ok(htb)
    }
}
