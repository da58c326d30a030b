//! Export to ns-2 scripts, run by a real ns-2 if installed.

mod ns2;

mod counts;
mod delays;
mod errors;
mod losses;
mod names;
mod script;
