//! Prediction of experiments: the same users, each over a simulated connection.

use netflow_tcpmodel::transfer_simulation::{Direction, Path, SessionRuns};
use netflow_workload::ResponseTimes;

use crate::cell::{Cell, Impairment};

/// Header size of a packet without options, and of a SYN packet, in bytes.
const HEADER_BYTES: u32 = 40;
const SYN_BYTES: f64 = 60.0;
const TIMESTAMPS_BYTES: u32 = 12;

/// Predicts an experiment: its sessions, `times` times with different losses.
///
/// Inputs are two measurements in seconds: the median time of the handshake `connect_s`, which is
/// the round-trip time, and the processing time of the hosts per file `service_s`.
///
/// # Errors
/// If a number is not valid for a path.
pub fn predict(
    cell: &Cell,
    connect_s: f64,
    service_s: f64,
    times: u64,
) -> Result<ResponseTimes, netflow_tcpmodel::Error> {
    let Some(stack) = cell.stack() else {
        return Ok(ResponseTimes::default());
    };
    let options_bytes = if stack.timestamps {
        TIMESTAMPS_BYTES
    } else {
        0
    };
    let mtu = u32::from(cell.mtu());
    let conversations = SessionRuns {
        mss_bytes: mtu - HEADER_BYTES - options_bytes,
        service_s,
        stack,
    };
    let seconds_per_byte = 8.0 / cell.bandwidth_bps();
    let direction = Direction {
        delay_s: (0.5 * connect_s - SYN_BYTES * seconds_per_byte).max(0.0),
        loss: match cell.impairment {
            Impairment::Loss(loss) => loss,
            _ => 0.0,
        },
        bit_error_rate: match cell.impairment {
            Impairment::BitErrors(rate) => rate,
            _ => 0.0,
        },
        bandwidth_bps: Some(cell.bandwidth_bps()),
        // Never full.
        buffer: None,
    };
    let path = Path {
        to_server: direction,
        to_client: direction,
    };
    let mut waits = ResponseTimes::default();
    for seed in 1..=cell.seeds {
        let sessions = cell.sessions(seed).unwrap_or_default();
        for time in 0..times {
            let losses = seed << 32 | time;
            waits.extend(
                conversations
                    .simulate(&sessions, losses, |_| path)?
                    .response_times,
            );
        }
    }
    Ok(waits)
}
