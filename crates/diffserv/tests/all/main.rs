//! Meters, markers and droppers, from outside. One binary: it builds in a fraction of the time of one for each file.

mod faces;
mod properties;
mod refusals;
mod vectors;
