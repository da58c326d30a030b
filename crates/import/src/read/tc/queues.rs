//! Options of queues (`q_fifo.c`, `q_codel.c`, `q_fq_codel.c`, `q_pie.c`, `q_red.c` and `q_cake.c` of iproute2).

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bytes, Seconds};

use super::objects::{Object, Word};
use super::options::{Frame, Keys, Options, inline_table, quoted, refused};
use super::units::{bytes, count, integer, rate_bps, time_s};
use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

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
