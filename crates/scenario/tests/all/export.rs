//! Scenarios as ns-2 scripts, run by a real ns-2 where there is one.

mod ns;

mod counts;
mod delays;
mod errors;
mod losses;
mod names;
mod script;
