//! Execution with a given number of threads.

use netflow::evaluate;

use crate::failure::Failure;

/// Runs work that is shared among the threads of the current pool, with `threads` of them; `None` uses
/// all cores.
pub fn on_threads<T: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let done = evaluate::on_threads(threads.map(usize::from), work);
    done.map_err(|error| Failure::Evaluation(error.to_string()))
}
