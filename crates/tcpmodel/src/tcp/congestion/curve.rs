//! CUBIC's curve (RFC 9438), which windows of whole packets and of fractions have in common.

/// C (5): packets per cubic second.
const C: f64 = 0.4;

/// Figure 2: in how many seconds a window of `cwnd` packets is back at `max`; 0 where it is beyond.
pub(crate) fn k_s(max: f64, cwnd: f64) -> f64 {
    libm::cbrt((max - cwnd).max(0.0) / C)
}

/// Figure 1: by how many packets the window is off its maximum, so many seconds after it began to grow.
pub(crate) fn off(t_s: f64, k_s: f64) -> f64 {
    C * (t_s - k_s).powi(3)
}

/// 4.7, fast convergence: what is remembered as the maximum of a window of `cwnd` packets that loses, of which `beta` is left. One that
/// did not get back to the last maximum leaves room for others.
pub(crate) fn remembered(cwnd: f64, last_max: f64, beta: f64) -> f64 {
    match cwnd < last_max {
        true => cwnd * (1.0 + beta) / 2.0,
        false => cwnd,
    }
}

/// Figure 4: packets a round trip, with which the mean window is that of halving and one a round trip.
pub(crate) fn reno_alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}
