//! Integration tests of the steady-state solver, in one binary, which builds much faster than one
//! per file.

mod availability;
mod closed_forms;
mod derivatives;
mod events;
mod failures;
mod headroom;
mod invalid_inputs;
mod networks;
mod settled_runs;
