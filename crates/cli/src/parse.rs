//! Parsers of the values of arguments.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use netflow::document::Words;
use netflow::results::Format;
use netflow::scenario::export::Ns2Tcp;
use netflow::units::{
    BitsPerSecond, BufferSize, Bytes, Packets, Probability, Rate, Seconds, Size, UnitError,
};
use netflow_ipb::ServerOptions;
#[cfg(target_os = "linux")]
use netflow_testbed::GilbertElliott;

/// Returns a parser of the values of a type that the library names and describes. `packets` is the former name
/// of `packet`.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    description: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    const FORMER: (&str, &str) = ("packets", "packet");
    let value = |&it: &T| {
        let value = PossibleValue::new(name(it)).help(description(it));
        if name(it) == FORMER.1 {
            value.alias(FORMER.0)
        } else {
            value
        }
    };
    PossibleValuesParser::new(all.iter().map(value)).try_map(move |given| {
        let given = if given == FORMER.0 { FORMER.1 } else { &given };
        let found = all.iter().copied().find(|&it| name(it) == given);
        found.ok_or("unknown value")
    })
}

/// Returns a parser of keywords of scenario files.
pub fn word<T: Words + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::WORDS.iter();
    PossibleValuesParser::new(words.map(|it| PossibleValue::new(it.word).help(it.about)))
        .try_map(|given| T::named(&given).ok_or("unknown value"))
}

/// Returns a parser of the formats of a sweep's tables.
pub fn table_format() -> impl TypedValueParser<Value = Format> {
    let names = [Format::Parquet, Format::Csv].map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Returns a parser of the TCP variants of an export.
pub fn tcp() -> impl TypedValueParser<Value = Ns2Tcp> {
    PossibleValuesParser::new(Ns2Tcp::ALL.map(Ns2Tcp::name)).try_map(|name| name.parse::<Ns2Tcp>())
}

/// Returns the name of a value of an argument.
pub fn name_of(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Parses a quantity with its unit.
pub fn quantity<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnitError| match error.help() {
        "" => error.to_string(),
        help => format!("{error}; {help}"),
    })
}

/// Returns the value if it is allowed, otherwise the message.
fn validated<T>(value: T, allowed: impl FnOnce(&T) -> bool, otherwise: &str) -> Result<T, String> {
    if allowed(&value) {
        Ok(value)
    } else {
        Err(otherwise.to_owned())
    }
}

fn non_negative(value: f64) -> Result<f64, String> {
    validated(value, |value| *value >= 0.0, "it must not be negative")
}

fn positive(value: f64) -> Result<f64, String> {
    validated(value, |value| *value > 0.0, "it must be above 0")
}

fn time(text: &str) -> Result<f64, String> {
    quantity::<Seconds>(text).map(Seconds::get)
}

/// Parses a time above 0, in seconds.
pub fn positive_time(text: &str) -> Result<f64, String> {
    validated(time(text)?, |time_s| *time_s > 0.0, "it must be above 0 s")
}

/// Parses a time of at least 0, in seconds.
pub fn time_from_zero(text: &str) -> Result<f64, String> {
    non_negative(time(text)?)
}

/// Parses a round-trip time. It must exceed the transmission time of a few packets on the fastest link.
#[cfg(target_os = "linux")]
pub fn round_trip(text: &str) -> Result<f64, String> {
    let rtt_s = positive_time(text)?;
    validated(rtt_s, |rtt_s| *rtt_s >= 1e-3, "it must be at least 1 ms")
}

/// Parses a probability: `0.05` or `5%`.
pub fn probability(text: &str) -> Result<f64, String> {
    let probability = quantity::<Probability>(text)?.get();
    validated(
        probability,
        |it| (0.0..=1.0).contains(it),
        "it must be from 0 to 1",
    )
}

/// Parses a percentile.
pub fn percentile(text: &str) -> Result<f64, String> {
    let percentile = text.parse().map_err(|_| "it is not a number".to_owned())?;
    validated(
        percentile,
        |it| *it > 0.0 && *it <= 100.0,
        "it must be above 0 and at most 100",
    )
}

/// Parses a loss probability of a link, which must be below 1.
pub fn loss(text: &str) -> Result<f64, String> {
    validated(
        probability(text)?,
        |it| *it < 1.0,
        "it must be below 1; one per cent is `1%` or 0.01",
    )
}

/// Parses a size above 0.
pub fn positive_size(text: &str) -> Result<Size, String> {
    validated(
        quantity(text)?,
        |size: &Size| size.get() > 0.0,
        "it must be above 0",
    )
}

/// Parses a number of bytes of at least 0.
pub fn bytes(text: &str) -> Result<f64, String> {
    non_negative(quantity::<Bytes>(text)?.get())
}

/// Parses a number of packets of at least 0.
pub fn packets(text: &str) -> Result<f64, String> {
    non_negative(quantity::<Packets>(text)?.get())
}

/// Parses a rate of at least 0, in bit/s.
pub fn bits_per_s(text: &str) -> Result<f64, String> {
    non_negative(quantity::<BitsPerSecond>(text)?.get())
}

/// Parses a buffer size above 0.
pub fn room(text: &str) -> Result<BufferSize, String> {
    let above_0 = |room: &BufferSize| match room {
        BufferSize::Size(size) => size.get() > 0.0,
        BufferSize::Time(time) => time.get() > 0.0,
    };
    validated(quantity(text)?, above_0, "it must be above 0")
}

/// Parses a unit of rates in bit/s: `Mbit/s`, or `100 kbit/s`.
pub fn rate_unit(text: &str) -> Result<f64, String> {
    bandwidth(&one(text))
}

/// Parses a unit of times in seconds: `ms`.
pub fn time_unit(text: &str) -> Result<f64, String> {
    positive_time(&one(text))
}

/// Completes a unit to a quantity: `1 ms` for `ms`.
fn one(text: &str) -> String {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.to_owned()
    } else {
        format!("1 {text}")
    }
}

/// Parses a factor from 1 to 100.
pub fn factor_from_1(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "write a number".to_owned())?;
    validated(
        factor,
        |factor| (1.0..=100.0).contains(factor),
        "it must be from 1 to 100",
    )
}

/// Parses a rate above 0, in bit/s.
pub fn bandwidth(text: &str) -> Result<f64, String> {
    positive(quantity::<BitsPerSecond>(text)?.get())
}

/// Parses an integer of at least 1.
pub fn from_1<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| "write a whole number, at least 1".to_owned())
}

/// Parses the bandwidth of a link: `N5->N7=8 Mbit/s`.
pub fn link_bandwidth(text: &str) -> Result<(String, f64), String> {
    let (link, rate) = text
        .rsplit_once('=')
        .ok_or("write LINK=RATE, such as N5->N7=8 Mbit/s")?;
    match rate.trim().parse::<Rate>() {
        Ok(Rate::BitsPerSecond(BitsPerSecond(bps))) if bps > 0.0 => {
            Ok((link.trim().to_owned(), bps))
        }
        Ok(_) => Err("the rate must be above 0 and in bit/s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a directory for several tables. The name of a single file is most likely a mistake.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    const FILE_EXTENSIONS: [&str; 9] = [
        "csv", "tsv", "json", "parquet", "html", "svg", "pdf", "png", "toml",
    ];
    if text.is_empty() {
        return Err("it is empty; write a directory, such as `.`".to_owned());
    }
    let path = PathBuf::from(text);
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    if FILE_EXTENSIONS.iter().any(|it| ending == *it) && !path.is_dir() {
        Err("this is a file name, but several files are written; write a directory".to_owned())
    } else {
        Ok(path)
    }
}

/// Parses the payload of a packet in bytes, with or without a unit.
pub fn mss(text: &str) -> Result<u32, String> {
    let bytes = match text.parse::<f64>() {
        Ok(bytes) => bytes,
        Err(_) => quantity::<Bytes>(text)?.get(),
    };
    if bytes.fract() == 0.0 && (1.0..=65_535.0).contains(&bytes) {
        Ok(bytes as u32)
    } else {
        Err("it must be a whole number of bytes from 1 to 65535".to_owned())
    }
}

/// Parses a buffer size in bytes that the kernel accepts.
#[cfg(target_os = "linux")]
pub fn buffer_bytes(text: &str) -> Result<u32, String> {
    let bytes = quantity::<Bytes>(text)?.get();
    let bytes = validated(
        bytes,
        |it| (1024.0..=1e9).contains(it),
        "it must be from 1 KiB to 1 GB",
    )?;
    Ok(bytes as u32)
}

/// Parses the rate in packets/s of one of several links. Two processors can forward `most` packets/s in
/// total.
#[cfg(target_os = "linux")]
pub fn link_rate(text: &str, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(pps) if (100.0..=most / 2.0).contains(&pps) => Ok(pps),
        _ => Err(format!("it must be from 100 to {} packets/s", most / 2.0)),
    }
}

/// Parses losses in bursts: `p=1%,r=25%,bad=100%,good=0%`. The last two are optional.
#[cfg(target_os = "linux")]
pub fn gilbert(text: &str) -> Result<GilbertElliott, String> {
    let (mut p, mut r, mut good, mut bad) = (None, None, 0.0, 1.0);
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not NAME=PROBABILITY"))?;
        let value = probability(value.trim())?;
        match name.trim() {
            "p" => p = Some(value),
            "r" => r = Some(value),
            "good" => good = value,
            "bad" => bad = value,
            other => return Err(format!("unknown name `{other}`; allowed: p, r, bad, good")),
        }
    }
    match (p, r) {
        (Some(p), Some(r)) => {
            GilbertElliott::new(p, r, good, bad).map_err(|error| error.to_string())
        }
        _ => Err("p and r are required, as in p=1%,r=25%".to_owned()),
    }
}

/// The values of one axis of a grid.
#[derive(Clone, Debug)]
pub enum Axis {
    Sizes(Vec<Size>),
    DelaysS(Vec<f64>),
    Losses(Vec<f64>),
}

/// Parses an axis: `loss=0%,1%,5%`.
pub fn axis(text: &str) -> Result<Axis, String> {
    let (name, values) = text
        .split_once('=')
        .ok_or("write AXIS=VALUE,…, such as loss=0%,1%,5%")?;
    match name.trim() {
        "size" => Ok(Axis::Sizes(list(values, positive_size)?)),
        "delay" => Ok(Axis::DelaysS(list(values, time_from_zero)?)),
        "loss" => Ok(Axis::Losses(list(values, probability)?)),
        other => Err(format!(
            "unknown axis `{other}`; allowed: size, delay, loss"
        )),
    }
}

fn list<T>(values: &str, read: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let read = |value: &str| read(value).map_err(|error| format!("`{value}`: {error}"));
    values.split(',').map(|value| read(value.trim())).collect()
}

/// Parses an arrival rate of users per second: `2/s`, `30/min` or `5/h`.
pub fn users_per_s(text: &str) -> Result<f64, String> {
    const HELP: &str = "write a number with /s, /min or /h, such as 2/s";
    let (number, unit) = text.split_once('/').ok_or(HELP)?;
    let period_s = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(HELP.to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| HELP)?;
    let rate = number / period_s;
    validated(
        rate,
        |rate| *rate > 0.0 && *rate <= 1e6,
        "it must be above 0 and at most 1000000/s",
    )
}

/// Parses the address or name of a server, with or without a port.
pub fn server(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, ServerOptions::PORT));
    }
    let found = if text.contains(':') {
        text.to_socket_addrs()
    } else {
        (text, ServerOptions::PORT).to_socket_addrs()
    };
    let mut found = found.map_err(|_| "write an address, such as 10.0.0.2:4050".to_owned())?;
    found.next().ok_or("it has no address".to_owned())
}
