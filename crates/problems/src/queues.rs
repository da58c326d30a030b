//! Results of queueing theory for single queues.

/// Returns the loss probability and the mean number of packets (in service included) of M/D/1/K,
/// from the chain embedded at departures (Gross and Harris, Fundamentals of Queueing Theory,
/// section 5.1.7).
pub fn m_d_1_k(load: f64, room: usize) -> (f64, f64) {
    let mut poisson = vec![(-load).exp()];
    for j in 1..=room {
        poisson.push(poisson[j - 1] * load / j as f64);
    }
    // π from the balance equations: π_{j+1}·a_0 = π_j − π_0·a_j − Σ_{1≤i≤j} π_i·a_{j−i+1}
    let mut pi = vec![1.0];
    for j in 0..room - 1 {
        let from_others: f64 = (1..=j).map(|i| pi[i] * poisson[j - i + 1]).sum();
        pi.push((pi[j] - pi[0] * poisson[j] - from_others) / poisson[0]);
    }
    let sum: f64 = pi.iter().sum();
    let busy = pi[0] / sum + load;
    let loss = 1.0 - 1.0 / busy;
    let mean: f64 = pi
        .iter()
        .enumerate()
        .map(|(j, p)| j as f64 * p / sum / busy)
        .sum();
    (loss, mean + room as f64 * loss)
}

#[cfg(test)]
mod tests {
    use super::m_d_1_k;

    /// With K = 1, Erlang's loss formula for any service time. With large K, the
    /// Pollaczek-Khinchine mean.
    #[test]
    fn md1k_matches_erlang_and_pollaczek_khinchine() {
        for load in [0.1, 0.5, 0.9] {
            let (loss, mean) = m_d_1_k(load, 1);
            let erlang = load / (1.0 + load);
            assert!((loss - erlang).abs() < 1e-12 && (mean - erlang).abs() < 1e-12);
            let (loss, mean) = m_d_1_k(load, 150);
            let wanted = load + load * load / (2.0 * (1.0 - load));
            assert!(
                loss < 1e-9 && (mean - wanted).abs() < 1e-6 * wanted,
                "{mean} {wanted}"
            );
        }
    }
}
