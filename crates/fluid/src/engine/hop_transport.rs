//! Mix of connections in a queue: arrivals, content, losses and departures of each hop. Packets leave in the mix of the
//! whole queue (\[Prof\] equation 7).
//!
//! Volumes are data packets (of a class, including its weight) in one step. The loops run over contiguous
//! slices without branches, so that the compiler can vectorize them.

use super::plan::HopRun;

/// Sum of the arrivals of one block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    pub pkts: f64,
    pub bits: f64,
}

impl std::ops::AddAssign for Arrivals {
    fn add_assign(&mut self, other: Arrivals) {
        self.pkts += other.pkts;
        self.bits += other.bits;
    }
}

/// Solution of a link as it applies to each of its hops.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueOutcome {
    /// Fractions of the arrivals.
    pub admitted: f64,
    pub refused: f64,
    /// Fractions of the available packets: queued before, or admitted now.
    pub keep: f64,
    pub leave: f64,
    pub flight: FlightOutcome,
}

/// Rows of the flight ring used in a step; the list of (row, weight) is stored elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlightOutcome {
    /// Row of the departures.
    pub row: u32,
    /// True if departures are added to the content of that row.
    pub adds: bool,
    /// Number of rows that are forwarded within the step.
    pub same_step: u32,
}

/// Row of a block's ring, with its weight.
pub(crate) type RowWeight = (u32, f64);

/// Gathers the arrivals: `inflow[h] = forwarded[up[h]]`. Returns the sum, always formed in the same order.
#[inline]
fn gather(up: &[u32], forwarded: &[f64], inflow: &mut [f64]) -> f64 {
    let mut sums = [0.0; 4];
    let mut ups = up.chunks_exact(4);
    let mut ins = inflow.chunks_exact_mut(4);
    for (up, inflow) in (&mut ups).zip(&mut ins) {
        for i in 0..4 {
            let v = forwarded[up[i] as usize];
            inflow[i] = v;
            sums[i] += v;
        }
    }
    let mut rest = 0.0;
    for (up, inflow) in ups.remainder().iter().zip(ins.into_remainder()) {
        let v = forwarded[*up as usize];
        *inflow = v;
        rest += v;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Gathers the arrivals of one block, run by run; sums are always formed in the same order.
pub(crate) fn arrive(
    runs: &[HopRun],
    up: &[u32],
    forwarded: &[f64],
    inflow: &mut [f64],
) -> Arrivals {
    let mut sum = Arrivals::default();
    let mut start = 0;
    for run in runs {
        let end = start + (run.end_hop - run.first_hop) as usize;
        let pkts = gather(&up[start..end], forwarded, &mut inflow[start..end]);
        sum.pkts += pkts * run.packets;
        sum.bits += pkts * run.bits;
        start = end;
    }
    sum
}

/// Adds dropped packets to the losses.
pub(crate) fn add_losses(fate: &QueueOutcome, inflow: &[f64], lost: &mut [f64]) {
    if fate.refused == 0.0 {
        return;
    }
    for (lost, v) in lost.iter_mut().zip(inflow) {
        *lost += v * fate.refused;
    }
}

/// Slices of one block with their random loss.
pub(crate) struct BlockWork<'a> {
    /// Packets of each hop in the queue.
    pub content: &'a mut [f64],
    /// Rows of departures.
    pub flight: &'a mut [f64],
    pub forwarded: &'a mut [f64],
    /// Delivered fraction of every hop on a link with random loss.
    pub pass: Option<&'a [f64]>,
    pub lost: &'a mut [f64],
}

/// Moves the packets of a block: every hop keeps and departs the same fraction of its packets. Departures go
/// into a row of the flight ring. Only the first `same_step` hops of the block forward now, the others before
/// the next step. Random loss applies at departure, so that later changes do not affect it.
pub(crate) fn move_block(
    fate: &QueueOutcome,
    inflow: &[f64],
    same_step: usize,
    weights: &[RowWeight],
    work: BlockWork<'_>,
) {
    let QueueOutcome {
        admitted,
        keep,
        leave,
        flight,
        ..
    } = *fate;
    let n = inflow.len();
    let row = &mut work.flight[flight.row as usize * n..][..n];
    if !flight.adds {
        row.fill(0.0);
    }
    let hops = inflow.iter().zip(work.content).zip(row);
    match work.pass {
        None => {
            for ((v, content), departures) in hops {
                let available = *content + v * admitted;
                *departures += available * leave;
                *content = available * keep;
            }
        }
        Some(pass) => {
            for ((((v, content), departures), pass), lost) in hops.zip(pass).zip(work.lost) {
                let available = *content + v * admitted;
                let departs = available * leave;
                let passes = departs * pass;
                *departures += passes;
                *lost += departs - passes;
                *content = available * keep;
            }
        }
    }
    weigh_rows(weights, work.flight, n, &mut work.forwarded[..same_step], 0);
}

/// Forwards packets of a block's departure rows, for the hops from `first` on.
pub(crate) fn forward(weights: &[RowWeight], flight: &[f64], first: usize, forwarded: &mut [f64]) {
    let n = forwarded.len();
    weigh_rows(weights, flight, n, &mut forwarded[first..], first);
}

/// Adds to the forwarded packets; `flight` begins at the first hop, in rows of `n` cells.
pub(crate) fn add_forwarded(
    weights: &[RowWeight],
    flight: &[f64],
    n: usize,
    forwarded: &mut [f64],
) {
    add_rows(weights, flight, n, forwarded);
}

/// `out[h] = Σ weight · rows[row][offset + h]` for rows of `n` cells.
#[inline]
pub(crate) fn weigh_rows(
    weights: &[RowWeight],
    rows: &[f64],
    n: usize,
    out: &mut [f64],
    offset: usize,
) {
    let len = out.len();
    let cells = |row: u32| &rows[row as usize * n + offset..][..len];
    match *weights {
        [] => out.fill(0.0),
        [(row, w)] => {
            for (out, cell) in out.iter_mut().zip(cells(row)) {
                *out = cell * w;
            }
        }
        [(a, wa), (b, wb), ref rest @ ..] => {
            for ((out, a), b) in out.iter_mut().zip(cells(a)).zip(cells(b)) {
                *out = a * wa + b * wb;
            }
            add_rows(rest, &rows[offset..], n, out);
        }
    }
}

/// `out[h] += Σ weight · rows[row][h]` for rows of `n` cells.
fn add_rows(weights: &[RowWeight], rows: &[f64], n: usize, out: &mut [f64]) {
    for &(row, w) in weights {
        let cells = &rows[row as usize * n..][..out.len()];
        for (out, cell) in out.iter_mut().zip(cells) {
            *out += cell * w;
        }
    }
}
