//! Integration tests of scenario files, in one binary, which builds much faster than one per file.

mod any_input;
mod circuits;
mod classes;
mod days;
mod demand_queues;
mod demand_ways;
mod demands;
mod ecmp;
mod export;
mod files;
mod new;
mod reference;
mod risks;
mod round_trip;
mod schema;
mod shipped;
mod slips;
mod stacks;
mod untold;
mod valid;
mod workload;
