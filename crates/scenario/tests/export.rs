//! Scenarios as ns-2 scripts, run by a real ns-2 where there is one.

#[path = "export/ns.rs"]
mod ns;

#[path = "export/counts.rs"]
mod counts;
#[path = "export/errors.rs"]
mod errors;
#[path = "export/names.rs"]
mod names;
#[path = "export/script.rs"]
mod script;
