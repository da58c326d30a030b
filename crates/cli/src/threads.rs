//! Work on as many threads as an option allows.

use netflow::evaluate;

use crate::failure::Failure;

/// Does some work that is shared among the threads of the current pool, with so many of them; with all cores
/// without a number.
pub fn on_threads<T: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let done = evaluate::on_threads(threads.map(usize::from), work);
    done.map_err(|error| Failure::Evaluation(error.to_string()))
}
