//! Scenarios in the languages of other tools.
