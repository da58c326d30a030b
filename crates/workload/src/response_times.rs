//! Response times of users by event.

use crate::{ResponseEvent, TimeSample};

/// Response times in seconds by event, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseTimes {
    /// Times of [`ResponseEvent::Connect`].
    pub connect_s: Vec<f64>,
    /// Times of [`ResponseEvent::File`].
    pub file_s: Vec<f64>,
    /// Times of [`ResponseEvent::Page`].
    pub page_s: Vec<f64>,
    /// Times of [`ResponseEvent::Echo`].
    pub echo_s: Vec<f64>,
    /// Times of [`ResponseEvent::Play`].
    pub play_s: Vec<f64>,
    /// Times of [`ResponseEvent::Stall`].
    pub stall_s: Vec<f64>,
}

impl ResponseTimes {
    /// Adds a time.
    pub fn push(&mut self, kind: ResponseEvent, wait_s: f64) {
        match kind {
            ResponseEvent::Connect => self.connect_s.push(wait_s),
            ResponseEvent::File => self.file_s.push(wait_s),
            ResponseEvent::Page => self.page_s.push(wait_s),
            ResponseEvent::Echo => self.echo_s.push(wait_s),
            ResponseEvent::Play => self.play_s.push(wait_s),
            ResponseEvent::Stall => self.stall_s.push(wait_s),
        }
    }

    /// Returns the times of an event in seconds.
    pub fn of(&self, kind: ResponseEvent) -> &[f64] {
        match kind {
            ResponseEvent::Connect => &self.connect_s,
            ResponseEvent::File => &self.file_s,
            ResponseEvent::Page => &self.page_s,
            ResponseEvent::Echo => &self.echo_s,
            ResponseEvent::Play => &self.play_s,
            ResponseEvent::Stall => &self.stall_s,
        }
    }

    /// Adds the times of other users.
    pub fn extend(&mut self, other: ResponseTimes) {
        for kind in ResponseEvent::ALL {
            other
                .of(kind)
                .iter()
                .for_each(|&wait_s| self.push(kind, wait_s));
        }
    }

    /// Returns the times by name, in the order of [`ResponseEvent::ALL`], without events that did not occur.
    pub fn samples(&self) -> Vec<(&'static str, TimeSample)> {
        let times =
            ResponseEvent::ALL.map(|kind| (kind.name(), TimeSample::new(self.of(kind).to_vec())));
        times
            .into_iter()
            .filter(|(_, times)| times.count() > 0)
            .collect()
    }
}
