//! A scenario evaluated by netflow and run by ns-2, side by side.
#![warn(missing_docs)]
