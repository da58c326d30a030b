//! Readers: one stream of events above every format.
