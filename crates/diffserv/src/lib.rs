//! DiffServ: meters, markers and droppers, packet by packet and in expectation.
#![warn(missing_docs)]
