//! Arrays of a step, split between blocks for several threads.

use super::hop_transport::Arrivals;
use super::parallel::Divide;
use super::plan::Block;

/// Output of `arrive`, from `first_hop` on.
pub(super) struct ArriveWork<'a> {
    pub first_hop: usize,
    pub inflow: &'a mut [f64],
    pub arrivals: &'a mut [Arrivals],
}

impl Divide for ArriveWork<'_> {
    fn divide(self, block: &Block, index: usize) -> (Self, Self) {
        let cut = block.first_hop as usize;
        let (inflow_l, inflow_r) = self.inflow.split_at_mut(cut - self.first_hop);
        let (arrivals_l, arrivals_r) = self.arrivals.split_at_mut(index);
        let left = ArriveWork {
            first_hop: self.first_hop,
            inflow: inflow_l,
            arrivals: arrivals_l,
        };
        let right = ArriveWork {
            first_hop: cut,
            inflow: inflow_r,
            arrivals: arrivals_r,
        };
        (left, right)
    }
}

/// Output of `forward_for_next_step`, from `first_hop` on.
pub(super) struct ForwardWork<'a> {
    pub first_hop: usize,
    pub forwarded: &'a mut [f64],
}

impl Divide for ForwardWork<'_> {
    fn divide(self, block: &Block, _index: usize) -> (Self, Self) {
        let cut = block.first_hop as usize;
        let (left, right) = self.forwarded.split_at_mut(cut - self.first_hop);
        let part = |first_hop, forwarded| ForwardWork {
            first_hop,
            forwarded,
        };
        (part(self.first_hop, left), part(cut, right))
    }
}

/// Output of `share`, from the named hop and cells on.
pub(super) struct ShareWork<'a> {
    pub first_hop: usize,
    pub first_flight_cell: usize,
    pub forwarded: &'a mut [f64],
    pub content: &'a mut [f64],
    pub lost: &'a mut [f64],
    pub flight: &'a mut [f64],
}

impl Divide for ShareWork<'_> {
    fn divide(self, block: &Block, _index: usize) -> (Self, Self) {
        let hop = block.first_hop as usize - self.first_hop;
        let (forwarded_l, forwarded_r) = self.forwarded.split_at_mut(hop);
        let (content_l, content_r) = self.content.split_at_mut(hop);
        let (lost_l, lost_r) = self.lost.split_at_mut(hop);
        let (flight_l, flight_r) = self
            .flight
            .split_at_mut(block.first_flight_cell - self.first_flight_cell);
        let left = ShareWork {
            first_hop: self.first_hop,
            first_flight_cell: self.first_flight_cell,
            forwarded: forwarded_l,
            content: content_l,
            lost: lost_l,
            flight: flight_l,
        };
        let right = ShareWork {
            first_hop: block.first_hop as usize,
            first_flight_cell: block.first_flight_cell,
            forwarded: forwarded_r,
            content: content_r,
            lost: lost_r,
            flight: flight_r,
        };
        (left, right)
    }
}
