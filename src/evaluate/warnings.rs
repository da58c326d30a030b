//! Warnings about a run.

use netflow_network::{
    ACK_BYTES, Acks, ConnectionId, ConnectionTotals, DEFAULT_MAX_WINDOW_PKTS, LinkId, Network, Run,
    Source,
};
use netflow_profile::Provenance;
use netflow_results::{ConnectionSummary, Summary};
use netflow_simulation::Simulation;

use crate::number::{count, duration, percent};

/// Returns warnings with the number of connections outside the measured range of their profiles,
/// and of those so far outside that their rates are unreliable.
pub fn outside_profile(connections: &[ConnectionSummary]) -> Vec<String> {
    let warning = |of: &dyn Fn(&ConnectionSummary) -> f64, what: &str| {
        let some = connections
            .iter()
            .filter(|connection| of(connection) > ConnectionTotals::TRANSIENT_FRACTION);
        let most = some.clone().max_by(|a, b| of(a).total_cmp(&of(b)))?;
        Some(format!(
            "{} spent time {what}, {} most, {} of its time; use another profile or the packet model",
            count(some.count(), "connection"),
            most.connection,
            percent(of(most)),
        ))
    };
    let not_usable = Provenance::Unreliable.name();
    let unusable = |connection: &ConnectionSummary| match connection.profile_use.as_deref() {
        Some(rests_on) if rests_on == not_usable => connection.unreliable_fraction,
        _ => 0.0,
    };
    let warnings = [
        warning(
            &|connection| connection.extrapolated_fraction,
            "outside the measured range of the profile",
        ),
        warning(
            &unusable,
            "so far outside this range that rates are unreliable",
        ),
    ];
    warnings.into_iter().flatten().collect()
}

/// Returns a warning with the number of connections limited by the default maximum window.
pub fn limited_by_default_window(run: &Simulation) -> Option<String> {
    let network = run.network();
    let held = network.connections().filter(|&id| {
        let spec = network.connection_spec(id);
        let has_window = matches!(spec.source, Source::Ns2Tcp(_) | Source::Tcp(_));
        let is_default = has_window && spec.max_window_pkts.is_none();
        let most = |id| f64::from(run.max_in_flight_pkts(id).unwrap_or(0));
        is_default && most(id) >= DEFAULT_MAX_WINDOW_PKTS
    });
    let mut held = held.map(|id| network.connection_name(id));
    let first = held.next()?;
    Some(format!(
        "{} reached the default limit of {DEFAULT_MAX_WINDOW_PKTS} packets in flight, {first} first; \
         set another limit with `max-window`",
        count(1 + held.count(), "connection"),
    ))
}

/// Fraction of lost acknowledgements above which TCP with small windows times out, unlike in the
/// fluid model.
const MANY_LOST_ACKS: f64 = 0.1;

/// Returns a warning about connections of the fluid model that lose many acknowledgements, which
/// the model ignores. `queue_loss` is the loss probability of each queue at `at_s`.
pub fn lost_acks(
    network: &Network,
    at_s: f64,
    queue_loss: impl Fn(LinkId) -> f64,
) -> Option<String> {
    let lost = |id: ConnectionId| {
        let spec = network.connection_spec(id);
        if spec.acks == Acks::None || !matches!(spec.source, Source::Profile(_)) {
            return 0.0;
        }
        let pass = |link: LinkId| {
            let spec = network.link_spec(link);
            let ack_bytes = spec.overhead.wire_bytes(ACK_BYTES);
            let on_the_link = spec.loss.probability(ack_bytes);
            (1.0 - queue_loss(link)) * (1.0 - on_the_link)
        };
        let path = network.return_path_at(id, at_s.next_down());
        1.0 - path.into_iter().map(pass).product::<f64>()
    };
    let lossy = network.connections().map(|id| (id, lost(id)));
    let lossy: Vec<_> = lossy.filter(|(_, loss)| *loss >= MANY_LOST_ACKS).collect();
    let (first, _) = lossy.first()?;
    let most = lossy.iter().fold(0.0, |most: f64, it| most.max(it.1));
    let others = match lossy.len() - 1 {
        0 => String::new(),
        others => format!(" and {}", count(others, "other connection")),
    };
    Some(format!(
        "{}{others}: {} of the acknowledgements are lost, which the fluid model ignores; it overestimates small windows. Use \
         `tcp` sources and `--set simulation.model=packet`",
        network.connection_name(*first),
        percent(most),
    ))
}

/// Returns a warning if steps were longer than the recording intervals, which end with a step.
pub fn coarse_steps(steps_s: Option<(f64, f64)>, every_s: f64) -> Option<String> {
    let (_, longest_s) = steps_s.filter(|&(_, longest_s)| longest_s > every_s * (1.0 + 1e-9))?;
    Some(format!(
        "recording intervals cannot be shorter than time steps: some last {} instead of {}; set a shorter \
         `simulation.step`",
        duration(longest_s),
        duration(every_s),
    ))
}

/// Returns a warning if packets do not balance.
pub(super) fn imbalance(summary: &Summary) -> Option<String> {
    let gap = percent(summary.imbalance()?);
    Some(format!(
        "packets do not balance: {gap} of the packets sent are unaccounted for; use `model = \"fluid\"`"
    ))
}
