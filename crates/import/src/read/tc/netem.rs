//! Options of netem (tc-netem(8), `q_netem.c` of iproute2).

use netflow_units::{Bytes, Seconds};

use super::objects::{Object, Word};
use super::options::{Keys, Options, quoted, refused};
use super::units::{count, fraction, integer, is_number, rate_bps, time_s};
use crate::attributes::truncate_text;
use crate::errors::ReadResult;

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
