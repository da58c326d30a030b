//! Mix of connections in a queue: arrivals, content, losses and departures of each hop.
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
    pub fifo: FifoOutcome,
}

/// Rows used by FIFO transport; the lists of (row, weight) are stored elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FifoOutcome {
    /// Row of the arrivals, and the factor applied to that row before the addition.
    pub arrival_row: u32,
    pub arrival_memory: f64,
    pub departures: u32,
    pub flight_row: u32,
    /// True if departures are added to the content of that row.
    pub flight_adds: bool,
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

/// Applies the random loss of a link; `pass` is the delivered fraction of every hop.
pub(crate) fn apply_link_loss(pass: &[f64], forwarded: &mut [f64], lost: &mut [f64]) {
    for ((pass, forwarded), lost) in pass.iter().zip(forwarded).zip(lost) {
        let arrives = *forwarded * pass;
        *lost += *forwarded - arrives;
        *forwarded = arrives;
    }
}

/// Well-mixed: every hop keeps and forwards the same fraction.
pub(crate) fn mix_block(
    fate: &QueueOutcome,
    inflow: &[f64],
    content: &mut [f64],
    forwarded: &mut [f64],
) {
    let QueueOutcome {
        admitted,
        keep,
        leave,
        ..
    } = *fate;
    for ((v, content), forwarded) in inflow.iter().zip(content).zip(forwarded) {
        let available = *content + v * admitted;
        *forwarded = available * leave;
        *content = available * keep;
    }
}

/// Rings of one block.
pub(crate) struct Rings<'a> {
    /// `queue_slots` rows of arrivals.
    pub queue: &'a mut [f64],
    /// `flight_slots` rows of departures.
    pub flight: &'a mut [f64],
}

/// Departures and forwarded packets of a link in this step, as weights of rows.
pub(crate) struct Weights<'a> {
    pub departures: &'a [RowWeight],
    pub same_step: &'a [RowWeight],
}

/// FIFO: departures have the mix of their arrival slots, and forwarded packets the mix of their departure
/// steps. Only the first `same_step` hops of the block forward now, the others before the next step. The loss
/// in transit (`on_the_way`: delivered fraction and loss count of every hop) applies at departure, so that
/// later changes do not affect it.
pub(crate) fn transport_fifo(
    fate: &QueueOutcome,
    inflow: &[f64],
    same_step: usize,
    weights: &Weights<'_>,
    on_the_way: Option<(&[f64], &mut [f64])>,
    rings: Rings<'_>,
    forwarded: &mut [f64],
) {
    let n = inflow.len();
    let row = |i: u32| i as usize * n..(i as usize + 1) * n;
    let FifoOutcome {
        arrival_row,
        arrival_memory,
        flight_row,
        flight_adds,
        ..
    } = fate.fifo;
    let arrivals = &mut rings.queue[row(arrival_row)];
    if arrival_memory == 0.0 {
        for (cell, v) in arrivals.iter_mut().zip(inflow) {
            *cell = v * fate.admitted;
        }
    } else {
        for (cell, v) in arrivals.iter_mut().zip(inflow) {
            *cell = *cell * arrival_memory + v * fate.admitted;
        }
    }
    let flight = &mut rings.flight[row(flight_row)];
    if let Some((pass, lost)) = on_the_way {
        if !flight_adds {
            flight.fill(0.0);
        }
        add_rows_that_pass(weights.departures, rings.queue, pass, flight, lost);
    } else if flight_adds {
        add_rows(weights.departures, rings.queue, n, flight);
    } else {
        weigh_rows(weights.departures, rings.queue, n, flight, 0);
    }
    weigh_rows(
        weights.same_step,
        rings.flight,
        n,
        &mut forwarded[..same_step],
        0,
    );
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
fn weigh_rows(weights: &[RowWeight], rows: &[f64], n: usize, out: &mut [f64], offset: usize) {
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

/// `out[h] += Σ weight · rows[row][h] · pass[h]`, and to `lost[h]` the rest.
fn add_rows_that_pass(
    weights: &[RowWeight],
    rows: &[f64],
    pass: &[f64],
    out: &mut [f64],
    lost: &mut [f64],
) {
    let n = out.len();
    for &(row, w) in weights {
        let cells = &rows[row as usize * n..][..n];
        for (((out, lost), cell), pass) in out.iter_mut().zip(&mut *lost).zip(cells).zip(pass) {
            let departs = cell * w;
            let passes = departs * pass;
            *out += passes;
            *lost += departs - passes;
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
