//! Simulation of one transfer.

use crate::tcp::NEVER;

use super::{
    CompletionCriterion,
    configuration::Configuration,
    connection::{Connection, LISTENER, Notification, OPENER, RecoveryCost},
    loss_model::LossModel,
    path::LinkDirection,
};

/// The result of one transfer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransferResult {
    /// The time from the first SYN to the end, in seconds.
    pub latency_s: f64,
    /// The time and number of repairs, handshake included.
    pub recovery: RecoveryCost,
}

/// Simulates a transfer to its end.
pub(super) fn simulate_transfer<C: LossModel>(
    setting: &Configuration,
    losses: &mut C,
) -> TransferResult {
    let direction = LinkDirection::new(setting.delay_s, setting.bandwidth_bps);
    let directions = [direction.clone(), direction];
    let mut connection = Connection::new(&setting.stack, setting.mss_bytes, directions, losses);
    let mut now_ns = 0;
    connection.write(OPENER, now_ns, setting.bytes[OPENER]);
    connection.open(now_ns);
    while !is_over(setting, &connection) {
        let next = connection.next_event();
        if next.0 == NEVER {
            break;
        }
        now_ns = next.0;
        if connection.process(next) == Some(Notification::Delivered(LISTENER))
            && connection.delivered(LISTENER) == setting.bytes[OPENER]
        {
            // The request is complete: send the reply.
            connection.write(LISTENER, now_ns, setting.bytes[LISTENER]);
        }
    }
    TransferResult {
        latency_s: 1e-9 * now_ns as f64,
        recovery: connection.recovery(),
    }
}

fn is_over<C: LossModel>(setting: &Configuration, connection: &Connection<'_, C>) -> bool {
    let source = setting.source;
    let all = setting.bytes[source];
    match setting.until {
        CompletionCriterion::Delivered => connection.delivered(1 - source) >= all,
        CompletionCriterion::Acknowledged => connection.acknowledged(source) >= all,
    }
}
