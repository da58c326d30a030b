//! Integration tests of scenario files, in one binary, which builds much faster than one per file.

mod any_input;
mod circuits;
mod classes;
mod days;
mod demand_paths;
mod demand_queues;
mod demands;
mod ecmp;
mod export;
mod files;
mod generate;
mod model_limits;
mod reference;
mod round_trip;
mod schema;
mod shipped;
mod srlg;
mod stacks;
mod suspicious_settings;
mod valid;
mod workload;
