//! Which wires have packets that arrive in which step.

/// How many steps ahead it looks: a power of two.
const DAYS: u64 = 4096;

/// A ring over the next steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    days: Vec<Vec<u32>>,
    /// An emptied list, to be filled again.
    empty: Vec<u32>,
}

impl Calendar {
    pub fn clear(&mut self) {
        self.days.resize_with(DAYS as usize, Vec::new);
        self.days.iter_mut().for_each(Vec::clear);
    }

    /// Notes a wire at this step, or at `earliest` if that is later. What is too far off is looked
    /// at earlier, and noted again.
    #[inline]
    pub fn add(&mut self, wire: u32, step: u64, earliest: u64) {
        let day = step.clamp(earliest, earliest + DAYS - 2);
        if let Some(day) = self.days.get_mut((day % DAYS) as usize) {
            day.push(wire);
        }
    }

    /// The wires of a step.
    pub fn take(&mut self, step: u64) -> Vec<u32> {
        let empty = std::mem::take(&mut self.empty);
        match self.days.get_mut((step % DAYS) as usize) {
            Some(day) => std::mem::replace(day, empty),
            None => empty,
        }
    }

    /// Takes the emptied list back.
    pub fn give_back(&mut self, day: Vec<u32>) {
        self.empty = day;
    }
}
