//! What a TCP sender's own trace tells: retransmissions, round-trip times, samples.
