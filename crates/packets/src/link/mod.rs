//! Links: queue, queue discipline, class scheduler, transmission, random loss and changes.

pub mod changes;
pub mod class_scheduler;
pub mod edge_marker;
pub mod queue;
pub mod queue_disc;
pub mod service;
pub mod wire;
