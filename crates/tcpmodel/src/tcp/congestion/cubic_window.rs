//! The cubic window function of CUBIC (RFC 9438), for windows in whole packets and in fractions.

/// C (5), in packets per cubic second.
const C: f64 = 0.4;

/// Returns K (figure 2): the time in seconds after which a window of `cwnd` packets reaches `max`; 0 if it
/// is larger.
pub(crate) fn k_s(max: f64, cwnd: f64) -> f64 {
    libm::cbrt((max - cwnd).max(0.0) / C)
}

/// Returns the deviation of the window from its maximum in packets, `t_s` seconds after the epoch began
/// (figure 1).
pub(crate) fn window_deviation(t_s: f64, k_s: f64) -> f64 {
    C * (t_s - k_s).powi(3)
}

/// Returns the new W_max after a loss with fast convergence (4.7). `cwnd` is the window at the loss and
/// `beta` the decrease factor. A window that did not reach the last maximum releases bandwidth to other
/// flows.
pub(crate) fn w_max_after_loss(cwnd: f64, last_max: f64, beta: f64) -> f64 {
    if cwnd < last_max {
        cwnd * (1.0 + beta) / 2.0
    } else {
        cwnd
    }
}

/// Returns α (figure 4), in packets per round trip. With it, the mean window equals that of Reno.
pub(crate) fn reno_alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}
