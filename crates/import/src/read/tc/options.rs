//! Options of the qdiscs and classes of `tc`.

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bytes, Seconds};

use super::objects::{Object, Word};
use super::units::{bytes, count, fraction, integer, is_number, rate_bps, time_s};
use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Options of an object, read one after the other.
pub(super) struct Options<'o> {
    object: &'o Object,
    rest: &'o [Word],
}

impl<'o> Options<'o> {
    pub(super) fn of(object: &'o Object) -> Options<'o> {
        let rest = &object.options;
        Options { object, rest }
    }

    fn next(&mut self) -> Option<&'o Word> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Returns the value that follows a key.
    fn value(&mut self, key: &Word) -> ReadResult<&'o Word> {
        self.next().ok_or_else(|| {
            let message = format!("`{}` has no value", truncate_text(&key.text));
            ImportError::new(ProblemKind::Missing, key.span.clone(), message)
        })
    }

    /// Returns the next word if it is a number.
    fn next_number(&mut self) -> Option<&'o Word> {
        let first = self.rest.first()?;
        is_number(&first.text).then(|| self.next()).flatten()
    }

    /// Returns the value of the next word if this is one of the names.
    fn named(&mut self, name: &str) -> ReadResult<Option<&'o Word>> {
        match self.rest.first() {
            Some(key) if key.text == name => {
                self.next();
                self.value(key).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn unknown(&self, key: &Word) -> ImportError {
        let message = format!(
            "option `{}` of {} is not supported",
            truncate_text(&key.text),
            self.object.kind
        );
        ImportError::new(ProblemKind::NotAvailable, key.span.clone(), message)
            .help("remove the option, and describe its effect in the scenario if it has one there")
    }
}

/// Returns the error of a feature that links of a scenario do not have.
pub(super) fn refused(word: &Word, message: impl Into<String>, help: &str) -> ImportError {
    ImportError::new(ProblemKind::NotAvailable, word.span.clone(), message).help(help)
}

/// Keys of a table of a scenario, with their values as TOML.
pub(super) type Keys = Vec<(&'static str, String)>;

/// Returns a quantity as TOML.
pub(super) fn quoted(value: impl std::fmt::Display) -> String {
    format!("\"{value}\"")
}

/// Returns keys as an inline table.
pub(super) fn inline_table(keys: &Keys) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

/// Loss of netem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gilbert {
    pub(super) p: f64,
    pub(super) r: f64,
    pub(super) good: f64,
    pub(super) bad: f64,
}

/// Settings of netem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Netem {
    pub(super) limit: u64,
    pub(super) delay_s: f64,
    pub(super) jitter_s: f64,
    pub(super) jitter_correlation: f64,
    /// Distribution of the delays; only commands state it.
    pub(super) distribution: Option<String>,
    pub(super) loss: f64,
    pub(super) gilbert: Option<Gilbert>,
    pub(super) corrupt: f64,
    pub(super) duplicate: f64,
    pub(super) reorder: f64,
    pub(super) gap: u64,
    pub(super) rate_bps: Option<f64>,
    pub(super) packet_overhead: i64,
    pub(super) cell_bytes: u64,
    pub(super) cell_overhead: i64,
    pub(super) slots: Option<Keys>,
    /// Correlations that have no counterpart.
    pub(super) ignored_correlations: Vec<&'static str>,
}

/// Rate of netem in bit/s from which it limits no interface, and only keeps the order of packets.
const ORDER_ONLY_BPS: f64 = 1e12;

impl Netem {
    /// Returns the rate, if it limits the interface.
    pub(super) fn limiting_bps(&self) -> Option<f64> {
        self.rate_bps.filter(|bps| *bps < ORDER_ONLY_BPS)
    }

    pub(super) fn read(object: &Object) -> ReadResult<Netem> {
        let mut options = Options::of(object);
        let mut netem = Netem {
            limit: 1000,
            ..Netem::default()
        };
        while let Some(key) = options.next() {
            match key.text.as_str() {
                "limit" => netem.limit = count(options.value(key)?)?,
                "delay" | "latency" => {
                    netem.delay_s = time_s(options.value(key)?)?;
                    if let Some(jitter) = options.next_number() {
                        netem.jitter_s = time_s(jitter)?;
                        if let Some(correlation) = options.next_number() {
                            netem.jitter_correlation = fraction(correlation)?;
                        }
                    }
                }
                "distribution" => {
                    netem.distribution = Some(distribution(options.value(key)?)?);
                }
                "loss" | "drop" => netem.read_loss(key, &mut options)?,
                "corrupt" => netem.corrupt = netem.probability(key, "corrupt", &mut options)?,
                "duplicate" => {
                    netem.duplicate = netem.probability(key, "duplicate", &mut options)?
                }
                "reorder" => netem.reorder = netem.probability(key, "reorder", &mut options)?,
                "gap" => netem.gap = count(options.value(key)?)?,
                "rate" => {
                    netem.rate_bps = Some(rate_bps(options.value(key)?)?);
                    if let Some(overhead) = options.rest.first()
                        && (is_number(&overhead.text) || overhead.text.starts_with('-'))
                    {
                        options.next();
                        netem.packet_overhead = integer(overhead)?;
                        if let Some(cell) = options.next_number() {
                            netem.cell_bytes = count(cell)?;
                        }
                        if let Some(overhead) = options.next_number() {
                            netem.cell_overhead = integer(overhead)?;
                        }
                    }
                }
                "packetoverhead" => netem.packet_overhead = integer(options.value(key)?)?,
                "cellsize" => netem.cell_bytes = count(options.value(key)?)?,
                "celloverhead" => netem.cell_overhead = integer(options.value(key)?)?,
                "slot" => netem.read_slots(key, &mut options)?,
                "ecn" => {
                    let message = "netem with `ecn` marks packets instead of losing them, which links cannot do";
                    let help = "remove `ecn`, or use a queue that marks, such as codel with ecn";
                    return Err(refused(key, message, help));
                }
                "seed" => {
                    options.value(key)?;
                }
                _ => return Err(options.unknown(key)),
            }
        }
        // `tc` sets a gap of 1 if packets are reordered, and reorders all packets that have a gap.
        match (netem.reorder > 0.0, netem.gap) {
            (true, 0) => netem.gap = 1,
            (false, 1..) => netem.reorder = 1.0,
            _ => {}
        }
        if netem.reorder > 0.0 && netem.delay_s == 0.0 {
            netem.reorder = 0.0;
        }
        Ok(netem)
    }

    fn read_loss(&mut self, key: &Word, options: &mut Options<'_>) -> ReadResult<()> {
        let first = options.value(key)?;
        let mut numbers = |names: &[&str]| -> ReadResult<Vec<f64>> {
            let mut found = Vec::new();
            for name in names {
                if options.rest.first().is_some_and(|it| it.text == *name) {
                    options.next();
                }
                match options.next_number() {
                    Some(number) => found.push(fraction(number)?),
                    None => break,
                }
            }
            Ok(found)
        };
        match first.text.as_str() {
            "state" => {
                let all = numbers(&["p13", "p31", "p32", "p23", "p14"])?;
                let at = |i: usize, default| all.get(i).copied().unwrap_or(default);
                let p13 = at(0, 0.0);
                if at(2, 0.0) > 0.0 || at(4, 0.0) > 0.0 {
                    let message = "`loss state` has more than two states, but links have two";
                    let help = "use `loss state P13 P31`, or `loss gemodel`";
                    return Err(refused(first, message, help));
                }
                self.gilbert = Some(Gilbert {
                    p: p13,
                    r: at(1, 1.0 - p13),
                    good: 0.0,
                    bad: 1.0,
                });
            }
            "gemodel" => {
                let all = numbers(&["p", "r", "1-h", "1-k"])?;
                let at = |i: usize, default| all.get(i).copied().unwrap_or(default);
                let p = at(0, 0.0);
                self.gilbert = Some(Gilbert {
                    p,
                    r: at(1, 1.0 - p),
                    good: at(3, 0.0),
                    bad: at(2, 1.0),
                });
            }
            word => {
                let number = match word {
                    "random" => options.value(first)?,
                    _ => first,
                };
                self.loss = fraction(number)?;
                if let Some(correlation) = options.next_number()
                    && fraction(correlation)? > 0.0
                {
                    let message = "the correlation of `loss` also changes the number of losses, and links do not have it";
                    let help = "use `loss gemodel` for bursts of losses";
                    return Err(refused(correlation, message, help));
                }
            }
        }
        if self.gilbert.is_some_and(|it| it.r == 0.0) {
            let message = "the bursts of losses never end";
            return Err(refused(
                first,
                message,
                "give a probability r or p31 above 0",
            ));
        }
        Ok(())
    }

    fn probability(
        &mut self,
        key: &Word,
        name: &'static str,
        options: &mut Options<'_>,
    ) -> ReadResult<f64> {
        let probability = fraction(options.value(key)?)?;
        if let Some(correlation) = options.next_number()
            && fraction(correlation)? > 0.0
        {
            self.ignored_correlations.push(name);
        }
        Ok(probability)
    }

    fn read_slots(&mut self, key: &Word, options: &mut Options<'_>) -> ReadResult<()> {
        let first = options.value(key)?;
        if first.text == "distribution" {
            let message = "slots with a distribution cannot be imported";
            return Err(refused(
                first,
                message,
                "use `slot MIN MAX`, which is uniform",
            ));
        }
        let shortest_s = time_s(first)?;
        let longest_s = options.next_number().map(time_s).transpose()?;
        let mut keys: Keys = vec![("interval", quoted(Seconds(shortest_s)))];
        if let Some(longest_s) = longest_s.filter(|it| *it > shortest_s) {
            keys.push(("longest", quoted(Seconds(longest_s))));
        }
        if let Some(packets) = options.named("packets")? {
            let packets = count(packets)?;
            keys.extend((packets > 0).then(|| ("packets", packets.to_string())));
        }
        if let Some(size) = options.named("bytes")? {
            let size = count(size)?;
            keys.extend((size > 0).then(|| ("bytes", quoted(Bytes(size as f64)))));
        }
        self.slots = Some(keys);
        Ok(())
    }
}

fn distribution(word: &Word) -> ReadResult<String> {
    let name = match word.text.as_str() {
        "paretonormal" => "pareto-normal",
        name @ ("uniform" | "normal" | "pareto") => name,
        name => {
            let message = format!("the distribution `{}` is not known", truncate_text(name));
            let help = "known are uniform, normal, pareto and paretonormal; in the scenario, `distribution` can also list delays";
            return Err(refused(word, message, help));
        }
    };
    Ok(name.to_owned())
}

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

/// Queue of a link or a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Discipline, if it is not drop-tail.
    pub(super) discipline: Option<String>,
    pub(super) buffer: Option<String>,
    /// Overhead of each packet that CAKE counts on top of its IP bytes, with the minimum and the cells.
    pub(super) overhead: Option<Frame>,
    pub(super) assumptions: Vec<String>,
}

/// Bytes of a packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) bytes: i64,
    pub(super) minimum: u64,
    pub(super) cells: Option<&'static str>,
}

impl Queue {
    /// Reads a queue; `None` for a qdisc that is not a queue.
    pub(super) fn read(object: &Object) -> ReadResult<Option<Queue>> {
        let queue = match object.kind.as_str() {
            "pfifo" | "bfifo" | "pfifo_head_drop" => fifo(object)?,
            "pfifo_fast" => Queue {
                buffer: Some(quoted("1000 pkt")),
                assumptions: vec![
                    "tc does not print the size of pfifo_fast: 1000 packets, the default of `txqueuelen`; its bands by \
                     type of service are one queue"
                        .to_owned(),
                ],
                ..Queue::default()
            },
            "noqueue" => Queue {
                assumptions: vec!["noqueue: the link has a drop-tail queue of the default size".to_owned()],
                ..Queue::default()
            },
            "codel" | "fq_codel" => codel(object)?,
            "pie" => pie(object)?,
            "red" => red(object)?,
            "cake" => cake(object)?,
            _ => return Ok(None),
        };
        Ok(Some(queue))
    }
}

/// Returns a number of packets as a buffer size: managed queues need at least 2.
fn packets(word: &Word) -> ReadResult<Option<String>> {
    Ok(Some(quoted(format_args!("{} pkt", count(word)?.max(2)))))
}

fn fifo(object: &Object) -> ReadResult<Queue> {
    let mut options = Options::of(object);
    let mut queue = Queue::default();
    while let Some(key) = options.next() {
        match (key.text.as_str(), object.kind.as_str()) {
            ("limit", "bfifo") => {
                let size = bytes(options.value(key)?)?;
                queue.buffer = Some(quoted(Bytes(size)));
            }
            ("limit", _) => {
                let limit = count(options.value(key)?)?.max(1);
                queue.buffer = Some(quoted(format_args!("{limit} pkt")));
            }
            _ => return Err(options.unknown(key)),
        }
    }
    if object.kind == "pfifo_head_drop" {
        let text = "pfifo_head_drop drops at the head of a full queue: the link drops at its end";
        queue.assumptions.push(text.to_owned());
    }
    Ok(queue)
}

fn codel(object: &Object) -> ReadResult<Queue> {
    let is_fair = object.kind == "fq_codel";
    let (mut target_s, mut interval_s, mut ce_threshold_s) = (0.005, 0.1, None);
    let (mut flows, mut quantum, mut ecn) = (1024, 1514, object.is_command && is_fair);
    let mut queue = Queue {
        buffer: Some(quoted(if is_fair { "10240 pkt" } else { "1000 pkt" })),
        ..Queue::default()
    };
    let mut options = Options::of(object);
    while let Some(key) = options.next() {
        match key.text.as_str() {
            "limit" => queue.buffer = packets(options.value(key)?)?,
            "target" => target_s = time_s(options.value(key)?)?,
            "interval" => interval_s = time_s(options.value(key)?)?,
            "ce_threshold" => ce_threshold_s = Some(time_s(options.value(key)?)?),
            "flows" if is_fair => flows = count(options.value(key)?)?,
            "quantum" if is_fair => quantum = count(options.value(key)?)?,
            "ecn" => ecn = true,
            "noecn" => ecn = false,
            "memory_limit" if is_fair => {
                let size = bytes(options.value(key)?)?;
                if size != 33_554_432.0 {
                    queue.assumptions.push(format!(
                        "memory_limit of fq_codel ({}) is not represented: only its limit in packets is",
                        Bytes(size)
                    ));
                }
            }
            "drop_batch" if is_fair => {
                let batch = count(options.value(key)?)?;
                if batch != 64 {
                    queue.assumptions.push(format!(
                        "drop_batch of fq_codel ({batch}) is not represented: the link has 64"
                    ));
                }
            }
            _ => return Err(options.unknown(key)),
        }
    }
    let mut keys: Keys = vec![
        (
            "discipline",
            quoted(if is_fair { "fq-codel" } else { "codel" }),
        ),
        ("target", quoted(Seconds(target_s))),
        ("interval", quoted(Seconds(interval_s))),
        ("ecn", ecn.to_string()),
    ];
    if let Some(threshold_s) = ce_threshold_s {
        keys.push(("ce-threshold", quoted(Seconds(threshold_s))));
    }
    if is_fair {
        keys.push(("flows", flows.to_string()));
        keys.push(("quantum", quoted(Bytes(quantum as f64))));
    }
    queue.discipline = Some(inline_table(&keys));
    Ok(queue)
}

fn pie(object: &Object) -> ReadResult<Queue> {
    let (mut target_s, mut update_s, mut ecn) = (0.015, 0.015, false);
    let mut queue = Queue {
        buffer: Some(quoted("1000 pkt")),
        ..Queue::default()
    };
    let mut options = Options::of(object);
    while let Some(key) = options.next() {
        match key.text.as_str() {
            "limit" => queue.buffer = packets(options.value(key)?)?,
            "target" => target_s = time_s(options.value(key)?)?,
            "tupdate" => update_s = time_s(options.value(key)?)?,
            "alpha" | "beta" => {
                let word = options.value(key)?;
                let default = if key.text == "alpha" { 2 } else { 20 };
                if count(word)? != default {
                    let message = format!("`{}` of pie must be {default}", key.text);
                    return Err(refused(word, message, "links have the gains of RFC 8033"));
                }
            }
            "ecn" => ecn = true,
            "noecn" | "nobytemode" | "no_dq_rate_estimator" => {}
            "bytemode" => return Err(options.unknown(key)),
            "dq_rate_estimator" | "dq-rate-estimator" => queue.assumptions.push(
                "pie measures the delay of each packet, not the departure rate (dq_rate_estimator)"
                    .to_owned(),
            ),
            _ => return Err(options.unknown(key)),
        }
    }
    queue.discipline = Some(inline_table(&vec![
        ("discipline", quoted("pie")),
        ("target", quoted(Seconds(target_s))),
        ("update", quoted(Seconds(update_s))),
        ("ecn", ecn.to_string()),
    ]));
    Ok(queue)
}

fn red(object: &Object) -> ReadResult<Queue> {
    let (mut limit, mut min, mut max) = (0.0, 0.0, 0.0);
    let (mut log_weight, mut probability) = (None, None);
    let (mut average_packet, mut burst) = (1000.0, None);
    let (mut ecn, mut hard_drop) = (false, false);
    let mut options = Options::of(object);
    while let Some(key) = options.next() {
        match key.text.as_str() {
            "limit" => limit = bytes(options.value(key)?)?,
            "min" => min = bytes(options.value(key)?)?,
            "max" => max = bytes(options.value(key)?)?,
            "ewma" => log_weight = Some(count(options.value(key)?)?),
            "probability" => {
                let word = options.value(key)?;
                let number = word.text.parse().ok();
                let number = number.filter(|it| *it > 0.0 && *it <= 1.0);
                probability = Some(number.ok_or_else(|| {
                    let message = format!("`{}` is not a probability", truncate_text(&word.text));
                    ImportError::value(word.span.clone(), message)
                })?);
            }
            "avpkt" => average_packet = bytes(options.value(key)?)?,
            "burst" => burst = Some(count(options.value(key)?)?),
            "ecn" => ecn = true,
            "harddrop" => hard_drop = true,
            "Scell_log" | "bandwidth" => {
                options.value(key)?;
            }
            // `adaptive`, `nodrop` and `Plog` among others.
            _ => return Err(options.unknown(key)),
        }
    }
    if !(min > 0.0 && max > min && limit > 0.0) {
        let message = "red needs `limit`, `min` and `max`";
        return Err(ImportError::new(
            ProblemKind::Missing,
            object.span.clone(),
            message,
        ));
    }
    let mut assumptions = vec![
        "red compares packets, not bytes, with its thresholds, which are converted at the packet size"
            .to_owned(),
    ];
    if object.is_command {
        let burst = burst.unwrap_or(((2.0 * min + max) / (3.0 * average_packet)) as u64);
        log_weight = Some(red_log_weight(min, burst, average_packet));
        probability = probability.or(Some(0.02));
    } else if log_weight.is_none() || probability.is_none() {
        let text = "tc prints the weight and the probability of red only with -d: 1/512 and 0.02";
        assumptions.push(text.to_owned());
    }
    let weight = libm::exp2(-(log_weight.unwrap_or(9) as f64));
    Ok(Queue {
        discipline: Some(inline_table(&vec![
            ("discipline", quoted("red")),
            ("min", quoted(Bytes(min))),
            ("max", quoted(Bytes(max))),
            ("max-p", probability.unwrap_or(0.02).to_string()),
            ("weight", weight.to_string()),
            ("ecn", ecn.to_string()),
            ("hard-drop", hard_drop.to_string()),
        ])),
        buffer: Some(quoted(Bytes(limit))),
        overhead: None,
        assumptions,
    })
}

/// Returns the logarithm of the weight that `tc` computes (`tc_red_eval_ewma` of iproute2).
fn red_log_weight(min_bytes: f64, burst: u64, average_packet: f64) -> u64 {
    let burst = burst as f64;
    let a = burst + 1.0 - min_bytes / average_packet;
    let fits = |log: &u64| {
        let weight = libm::exp2(-(*log as f64));
        a <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
    };
    (1..32).find(fits).unwrap_or(9)
}

fn cake(object: &Object) -> ReadResult<Queue> {
    let mut queue = Queue::default();
    let mut keys: Keys = vec![("discipline", quoted("cake"))];
    let (mut is_raw, mut frame) = (object.is_command, Frame::default());
    let mut options = Options::of(object);
    while let Some(key) = options.next() {
        match key.text.as_str() {
            "bandwidth" => {
                let rate = options.value(key)?;
                if rate.text != "unlimited" {
                    keys.push(("bandwidth", quoted(BitsPerSecond(rate_bps(rate)?))));
                }
            }
            "rtt" => keys.push(("rtt", quoted(Seconds(time_s(options.value(key)?)?)))),
            "datacentre" | "lan" | "metro" | "regional" | "internet" | "oceanic" | "satellite" => {
                keys.push(("rtt", quoted(&key.text)));
            }
            "besteffort" | "precedence" | "diffserv3" | "diffserv4" | "diffserv8" => {
                keys.push(("tins", quoted(&key.text)));
            }
            "flowblind" | "srchost" | "dsthost" | "hosts" | "flows" | "dual-srchost"
            | "dual-dsthost" | "triple-isolate" => keys.push(("isolation", quoted(&key.text))),
            "ack-filter" => keys.push(("ack-filter", quoted("on"))),
            "ack-filter-aggressive" => keys.push(("ack-filter", quoted("aggressive"))),
            "wash" => queue.assumptions.push(
                "cake removes code points (wash): packets keep theirs on the link".to_owned(),
            ),
            "raw" => is_raw = true,
            "noatm" => is_raw = false,
            "atm" | "ptm" => {
                is_raw = false;
                frame.cells = Some(if key.text == "atm" { "atm" } else { "ptm" });
            }
            "overhead" => {
                let word = options.value(key)?;
                frame.bytes = integer(word)?;
                is_raw &= !object.is_command;
            }
            "mpu" => frame.minimum = count(options.value(key)?)?,
            "memlimit" => {
                queue.buffer = Some(quoted(Bytes(bytes(options.value(key)?)?)));
                queue.assumptions.push(
                    "memlimit of cake limits the memory of packets: on the link, their bytes on the wire"
                        .to_owned(),
                );
            }
            "ingress" | "autorate-ingress" => {
                let message = format!("`{}` of cake cannot be imported", key.text);
                let help = "remove it: links do not count dropped packets, and have a fixed rate";
                return Err(refused(key, message, help));
            }
            "fwmark" => {
                options.value(key)?;
            }
            "unlimited" | "nat" | "nonat" | "nowash" | "no-ack-filter" | "split-gso"
            | "no-split-gso" | "egress" => {}
            _ => return Err(options.unknown(key)),
        }
    }
    if !is_raw {
        queue.overhead = Some(frame);
    }
    queue.discipline = Some(inline_table(&keys));
    Ok(queue)
}

/// Reads a size table (`tc-stab`): bytes on top of the frame that Linux counts.
pub(super) fn size_table(object: &Object) -> ReadResult<Frame> {
    let mut options = Options {
        object,
        rest: &object.size_table,
    };
    let mut frame = Frame::default();
    while let Some(key) = options.next() {
        let value = options.value(key)?;
        match key.text.as_str() {
            "overhead" => frame.bytes = integer(value)?,
            "mpu" => frame.minimum = count(value)?,
            "linklayer" => match value.text.as_str() {
                "atm" | "adsl" => frame.cells = Some("atm"),
                "ethernet" | "unspec" => {}
                _ => return Err(options.unknown(key)),
            },
            _ => {}
        }
    }
    Ok(frame)
}
