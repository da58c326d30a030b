//! Summaries, link and connection series, burstiness.
