//! Which of all generated networks a test is about.

/// Names the population whose networks tests generate: a number, 0 unless set.
const VARIABLE: &str = "NETFLOW_POPULATION";

/// The seed of generated networks that a test calls `seed`. With `NETFLOW_POPULATION=1`, 2, … they are others altogether,
/// on which nobody has looked before; tests then say what holds in general, and what was true of a few.
///
/// # Panics
/// If the variable is not such a number.
pub fn population(seed: u64) -> u64 {
    let Some(which) = std::env::var_os(VARIABLE) else {
        return seed;
    };
    let number = which.to_str().and_then(|it| it.parse::<u32>().ok());
    match number {
        Some(number) => seed.wrapping_add(u64::from(number) << 32),
        None => panic!("{VARIABLE} is {which:?}, and not a number from 0 on"),
    }
}
