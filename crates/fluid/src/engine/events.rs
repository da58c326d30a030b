//! Events of links: bandwidth changes, failures and repairs, new routes.

use netflow_network::Change;
use netflow_network::compiled::NO_CLASS_PATH;

use super::queue::EMPTY_LN_RHO;
use super::{Scratch, Setup};
use crate::state::{PAUSED_BPS, State};

impl Setup {
    /// Returns the branch of a class in a routing epoch, given its control values.
    pub fn branch_of(&self, state: &State, epoch: usize, class: u32) -> u32 {
        let inner = self.network.tables();
        let place = inner.control_index(inner.classes[class as usize].connection);
        let set = place.and_then(|place| state.set.get(place));
        let path = set.and_then(|it| it.now.path);
        let class_path = inner.class_path_of(epoch, class, path);
        class_path.unwrap_or(NO_CLASS_PATH)
    }

    /// Returns the branch of a class in the step that begins now.
    pub fn branch_now(&self, state: &State, class: u32) -> u32 {
        let epoch = self.network.tables().epoch_at(state.time_s());
        self.branch_of(state, epoch, class)
    }

    /// Returns the time of the next event or route change; infinite if there is none.
    pub fn next_change_s(&self, state: &State) -> f64 {
        state.changes.next_s(self.network.tables())
    }

    /// Applies all events that are due.
    pub fn apply_events(&self, state: &mut State, scratch: &mut Scratch) {
        let inner = self.network.tables();
        let (mut changed, mut lose_other) = (false, false);
        let time_s = state.time_s();
        while let Some(e) = state.changes.next(inner, |at_s| at_s <= time_s) {
            let rank = self.plan.rank[e.link as usize] as usize;
            match e.change {
                Change::Delay(delay_s) => {
                    self.set_delay(state, rank, delay_s);
                }
                Change::Bandwidth(bps) => state.links[rank].bandwidth_bps = bps,
                Change::Pause => state.links[rank].bandwidth_bps = PAUSED_BPS,
                Change::Loss(loss) => lose_other |= state.set_loss(rank, loss),
                Change::Down => self.fail(state, rank),
                Change::Up => state.links[rank].down = false,
            }
            changed = true;
        }
        while let Some(next) = inner.epochs.get(state.epoch + 1) {
            if next.at_s > state.time_s() {
                break;
            }
            state.epoch += 1;
            changed = true;
        }
        if changed {
            scratch.links_changed(self, state);
        }
        if lose_other {
            scratch.on_the_way.update(&self.plan, state);
        }
    }

    /// Fails a link: queued packets are lost, packets in flight arrive.
    fn fail(&self, state: &mut State, rank: usize) {
        let l = &self.plan.links[rank];
        for block in self.plan.blocks_at(l) {
            for hop in block.first_hop..block.end_hop {
                let hop = hop as usize;
                state.lost[hop] += state.content[hop];
                state.content[hop] = 0.0;
            }
        }
        let link = &mut state.links[rank];
        link.lost_pkts += link.queue_pkts;
        link.queue_pkts = 0.0;
        link.queue_bits = 0.0;
        link.ln_rho = EMPTY_LN_RHO;
        link.down = true;
    }

    /// Returns the data packets of one hop in flight on the link.
    pub fn in_flight(&self, state: &State, hop: usize) -> f64 {
        let (rank, block) = self.block_of(hop);
        let l = &self.plan.links[rank];
        let flight = &state.flights.links[rank];
        let done = if hop as u32 >= l.next_step_hop {
            flight.next_step
        } else {
            flight.same_step
        };
        let n = block.hops();
        let cells = &state.flights.cells[block.first_flight_cell..];
        let batches = done.batch..flight.begun;
        let on_the_way: f64 = batches
            .map(|batch| {
                let row = l.flight_row(batch) as usize;
                let part = if batch == done.batch {
                    1.0 - done.fraction
                } else {
                    1.0
                };
                part * cells[row * n + hop - block.first_hop as usize]
            })
            .sum();
        let earlier = state.flights.earlier.iter();
        let earlier = earlier.filter(|it| it.rank as usize == rank);
        let earlier: f64 = earlier.map(|it| it.in_flight(&self.plan, hop)).sum();
        on_the_way + earlier
    }

    fn block_of(&self, hop: usize) -> (usize, &super::plan::Block) {
        let blocks = &self.plan.blocks;
        let i = blocks.partition_point(|b| b.end_hop as usize <= hop);
        (blocks[i].rank as usize, &blocks[i])
    }
}
