//! Integration tests of scenario files, in one binary, which builds much faster than one per file.

mod any_input;
mod bundles;
mod classes;
mod demand_paths;
mod demand_queues;
mod demands;
mod diurnal;
mod ecmp;
mod export;
mod fallback_paths;
mod files;
mod former_names;
mod generate;
mod model_limits;
mod parallel_links;
mod profiles_of_packets;
mod reference;
mod round_trip;
mod schema;
mod shipped;
mod srlg;
mod stacks;
mod suspicious_settings;
mod unavailability;
mod valid;
mod workload;
