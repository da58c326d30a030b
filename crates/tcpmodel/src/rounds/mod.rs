//! Transfers that proceed in whole round trips.
