//! Population of generated networks that tests use.

/// Environment variable with the number of the population; default 0.
const VARIABLE: &str = "NETFLOW_POPULATION";

/// Returns the seed of generated networks that a test calls `seed`.
///
/// `NETFLOW_POPULATION=1`, 2, … selects entirely different networks, on which no tolerance was
/// tuned. They show which claims of tests hold in general.
///
/// # Panics
/// If the variable is not such a number.
pub fn population_seed(seed: u64) -> u64 {
    let Some(which) = std::env::var_os(VARIABLE) else {
        return seed;
    };
    let number = which.to_str().and_then(|it| it.parse::<u32>().ok());
    match number {
        Some(number) => seed.wrapping_add(u64::from(number) << 32),
        None => panic!("{VARIABLE} is {which:?}, but must be a number from 0"),
    }
}
