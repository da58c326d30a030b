//! Several values of an argument.

use netflow::units::Size;

use super::size;
use crate::args::{probability, time_from_zero};
use crate::failure::Failure;

/// The values of one axis.
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
        "size" => Ok(Axis::Sizes(list(values, size)?)),
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

/// The axes that are given.
#[derive(Default)]
pub struct Axes {
    pub sizes: Option<Vec<Size>>,
    pub delays_s: Option<Vec<f64>>,
    pub losses: Option<Vec<f64>>,
}

impl Axes {
    pub fn new(given: &[Axis]) -> Result<Axes, Failure> {
        let mut axes = Axes::default();
        for axis in given.iter().cloned() {
            let (name, twice) = match axis {
                Axis::Sizes(sizes) => ("size", axes.sizes.replace(sizes).is_some()),
                Axis::DelaysS(delays_s) => ("delay", axes.delays_s.replace(delays_s).is_some()),
                Axis::Losses(losses) => ("loss", axes.losses.replace(losses).is_some()),
            };
            if twice {
                return Err(Failure::usage(format!("--grid {name}=… is given twice")));
            }
        }
        Ok(axes)
    }
}
