//! Response times of users by event.

use crate::{Times, WaitFor};

/// Response times in seconds by event, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// Times of [`WaitFor::Connect`].
    pub connect_s: Vec<f64>,
    /// Times of [`WaitFor::File`].
    pub file_s: Vec<f64>,
    /// Times of [`WaitFor::Page`].
    pub page_s: Vec<f64>,
    /// Times of [`WaitFor::Echo`].
    pub echo_s: Vec<f64>,
    /// Times of [`WaitFor::Play`].
    pub play_s: Vec<f64>,
    /// Times of [`WaitFor::Stall`].
    pub stall_s: Vec<f64>,
}

impl Waits {
    /// Adds a time.
    pub fn push(&mut self, kind: WaitFor, wait_s: f64) {
        match kind {
            WaitFor::Connect => self.connect_s.push(wait_s),
            WaitFor::File => self.file_s.push(wait_s),
            WaitFor::Page => self.page_s.push(wait_s),
            WaitFor::Echo => self.echo_s.push(wait_s),
            WaitFor::Play => self.play_s.push(wait_s),
            WaitFor::Stall => self.stall_s.push(wait_s),
        }
    }

    /// Returns the times of an event in seconds.
    pub fn of(&self, kind: WaitFor) -> &[f64] {
        match kind {
            WaitFor::Connect => &self.connect_s,
            WaitFor::File => &self.file_s,
            WaitFor::Page => &self.page_s,
            WaitFor::Echo => &self.echo_s,
            WaitFor::Play => &self.play_s,
            WaitFor::Stall => &self.stall_s,
        }
    }

    /// Adds the times of other users.
    pub fn extend(&mut self, other: Waits) {
        for kind in WaitFor::ALL {
            other
                .of(kind)
                .iter()
                .for_each(|&wait_s| self.push(kind, wait_s));
        }
    }

    /// Returns the times by name, in the order of [`WaitFor::ALL`], without events that did not occur.
    pub fn times(&self) -> Vec<(&'static str, Times)> {
        let times = WaitFor::ALL.map(|kind| (kind.name(), Times::new(self.of(kind).to_vec())));
        times
            .into_iter()
            .filter(|(_, times)| times.count() > 0)
            .collect()
    }
}
