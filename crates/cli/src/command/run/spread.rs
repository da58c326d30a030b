//! Means over seeds, with how far the seeds differ.

use netflow::results::{Beside, Spread};

/// With several seeds, the standard deviation over them of a number.
pub fn std_of(spread: &Spread, name: &str) -> Option<f64> {
    spread.get(&format!("{name}_std")).and_then(Beside::one)
}

/// A mean as `text` writes it, with its standard deviation beside it where that is known.
pub fn beside(mean: f64, std: Option<f64>, text: fn(f64) -> String) -> String {
    match std {
        Some(std) => format!("{} ± {}", text(mean), text(std)),
        None => text(mean),
    }
}
