//! Values of arguments.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use netflow::document::Words;
use netflow::results::Format;
use netflow::scenario::export::Tcp;
use netflow::units::{
    BitsPerSecond, Bytes, Packets, Probability, Rate, Room, Seconds, Size, UnitError,
};
use netflow_ipb::ServerOptions;
#[cfg(target_os = "linux")]
use netflow_testbed::GilbertElliott;

/// One of the values of a type that the library names and describes.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    description: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let value = |&it: &T| PossibleValue::new(name(it)).help(description(it));
    PossibleValuesParser::new(all.iter().map(value)).try_map(move |given| {
        let found = all.iter().copied().find(|&it| name(it) == given);
        found.ok_or("there is no such value")
    })
}

/// One of the words of scenario files.
pub fn word<T: Words + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::WORDS.iter();
    PossibleValuesParser::new(words.map(|it| PossibleValue::new(it.word).help(it.about)))
        .try_map(|given| T::named(&given).ok_or("there is no such value"))
}

/// The formats of a sweep's tables.
pub fn table_format() -> impl TypedValueParser<Value = Format> {
    let names = [Format::Parquet, Format::Csv].map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// The TCPs that an export can choose.
pub fn tcp() -> impl TypedValueParser<Value = Tcp> {
    PossibleValuesParser::new(Tcp::ALL.map(Tcp::name)).try_map(|name| name.parse::<Tcp>())
}

/// What a value of an argument is called.
pub fn name_of(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A quantity with its unit.
pub fn quantity<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnitError| match error.help() {
        "" => error.to_string(),
        help => format!("{error}; {help}"),
    })
}

/// The value, or why it is none that is allowed.
fn allow<T>(value: T, allowed: impl FnOnce(&T) -> bool, otherwise: &str) -> Result<T, String> {
    match allowed(&value) {
        true => Ok(value),
        false => Err(otherwise.to_owned()),
    }
}

fn not_negative(value: f64) -> Result<f64, String> {
    allow(value, |value| *value >= 0.0, "it must not be negative")
}

fn above_zero(value: f64) -> Result<f64, String> {
    allow(value, |value| *value > 0.0, "it must be above 0")
}

fn time(text: &str) -> Result<f64, String> {
    quantity::<Seconds>(text).map(Seconds::get)
}

/// A time above zero, in seconds.
pub fn positive_time(text: &str) -> Result<f64, String> {
    allow(time(text)?, |time_s| *time_s > 0.0, "it must be above 0 s")
}

/// A time that is not negative.
pub fn time_from_zero(text: &str) -> Result<f64, String> {
    not_negative(time(text)?)
}

/// A round-trip time above that which the fastest link itself takes for a few packets.
#[cfg(target_os = "linux")]
pub fn round_trip(text: &str) -> Result<f64, String> {
    let rtt_s = positive_time(text)?;
    allow(rtt_s, |rtt_s| *rtt_s >= 1e-3, "it must be at least 1 ms")
}

/// A probability: `0.05` or `5%`.
pub fn probability(text: &str) -> Result<f64, String> {
    let probability = quantity::<Probability>(text)?.get();
    allow(
        probability,
        |it| (0.0..=1.0).contains(it),
        "it must be from 0 to 1",
    )
}

/// A probability with which a link loses packets, which lets some of them through.
pub fn loss(text: &str) -> Result<f64, String> {
    allow(
        probability(text)?,
        |it| *it < 1.0,
        "nothing would arrive; a percent is `1%`, or 0.01",
    )
}

/// A size above zero.
pub fn positive_size(text: &str) -> Result<Size, String> {
    allow(
        quantity(text)?,
        |size: &Size| size.get() > 0.0,
        "it must be above 0",
    )
}

/// Bytes that are not negative.
pub fn bytes(text: &str) -> Result<f64, String> {
    not_negative(quantity::<Bytes>(text)?.get())
}

/// Packets that are not negative.
pub fn packets(text: &str) -> Result<f64, String> {
    not_negative(quantity::<Packets>(text)?.get())
}

/// Bits per second that are not negative.
pub fn bits_per_s(text: &str) -> Result<f64, String> {
    not_negative(quantity::<BitsPerSecond>(text)?.get())
}

/// Room of a queue above zero.
pub fn room(text: &str) -> Result<Room, String> {
    let above_0 = |room: &Room| match room {
        Room::Size(size) => size.get() > 0.0,
        Room::Time(time) => time.get() > 0.0,
    };
    allow(quantity(text)?, above_0, "it must be above 0")
}

/// What one of a rate without a unit is: `Mbit/s`, or `100 kbit/s`, in bit/s.
pub fn rate_unit(text: &str) -> Result<f64, String> {
    bandwidth(&one(text))
}

/// What one of a time without a unit is: `ms`, in seconds.
pub fn time_unit(text: &str) -> Result<f64, String> {
    positive_time(&one(text))
}

/// `1 ms` of `ms`.
fn one(text: &str) -> String {
    match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => text.to_owned(),
        false => format!("1 {text}"),
    }
}

/// A factor of at least 1.
pub fn factor_from_1(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "write a number".to_owned())?;
    allow(
        factor,
        |factor| (1.0..=100.0).contains(factor),
        "it must be from 1 to 100",
    )
}

/// Bits per second above zero.
pub fn bandwidth(text: &str) -> Result<f64, String> {
    above_zero(quantity::<BitsPerSecond>(text)?.get())
}

/// A whole number from 1 on.
pub fn from_1<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| "write a whole number, at least 1".to_owned())
}

/// The bandwidth of a link: `N5->N7=8 Mbit/s`.
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

/// A directory for several tables: whoever gives it the name of one file has something else in mind.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    const OF_FILES: [&str; 9] = [
        "csv", "tsv", "json", "parquet", "html", "svg", "pdf", "png", "toml",
    ];
    if text.is_empty() {
        return Err("it is empty: name a directory, `.` for this one".to_owned());
    }
    let path = PathBuf::from(text);
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    match OF_FILES.iter().any(|it| ending == *it) && !path.is_dir() {
        true => {
            Err("this is the name of a file, and several are written: name a directory".to_owned())
        }
        false => Ok(path),
    }
}

/// The payload of a packet in bytes, with or without their unit.
pub fn mss(text: &str) -> Result<u32, String> {
    let bytes = match text.parse::<f64>() {
        Ok(bytes) => bytes,
        Err(_) => quantity::<Bytes>(text)?.get(),
    };
    match bytes.fract() == 0.0 && (1.0..=65_535.0).contains(&bytes) {
        true => Ok(bytes as u32),
        false => Err("it must be a whole number of bytes from 1 to 65535".to_owned()),
    }
}

/// A size in bytes that the kernel takes for a buffer.
#[cfg(target_os = "linux")]
pub fn buffer_bytes(text: &str) -> Result<u32, String> {
    let bytes = quantity::<Bytes>(text)?.get();
    let bytes = allow(
        bytes,
        |it| (1024.0..=1e9).contains(it),
        "it must be from 1 KiB to 1 GB",
    )?;
    Ok(bytes as u32)
}

/// Packets per second of one of several links that two processors carry, with `most` together.
#[cfg(target_os = "linux")]
pub fn link_rate(text: &str, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(pps) if (100.0..=most / 2.0).contains(&pps) => Ok(pps),
        _ => Err(format!("it must be from 100 to {} packets/s", most / 2.0)),
    }
}

/// Losses in bursts: `p=1%,r=25%,bad=100%,good=0%`; the last two may be left out.
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
            other => return Err(format!("there is no `{other}`; allowed: p, r, bad, good")),
        }
    }
    match (p, r) {
        (Some(p), Some(r)) => {
            GilbertElliott::new(p, r, good, bad).map_err(|error| error.to_string())
        }
        _ => Err("it needs p and r, as in p=1%,r=25%".to_owned()),
    }
}

/// The values of one axis of a grid.
#[derive(Clone, Debug)]
pub enum Axis {
    Sizes(Vec<Size>),
    DelaysS(Vec<f64>),
    Losses(Vec<f64>),
}

/// `loss=0%,1%,5%`
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

/// How many users come per second: `2/s`, `30/min` or `5/h`.
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
    allow(
        rate,
        |rate| *rate > 0.0 && *rate <= 1e6,
        "it must be above 0 and at most 1000000/s",
    )
}

/// A server's address, or its name, with or without a port.
pub fn server(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, ServerOptions::PORT));
    }
    let found = match text.contains(':') {
        true => text.to_socket_addrs(),
        false => (text, ServerOptions::PORT).to_socket_addrs(),
    };
    let mut found = found.map_err(|_| "write an address, such as 10.0.0.2:4050".to_owned())?;
    found.next().ok_or("it has no address".to_owned())
}
