//! What users waited for.

use crate::Times;

/// How long users waited, by what for; all in seconds and in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// For a connection: from the attempt until requests can be sent.
    pub connect_s: Vec<f64>,
    /// For a file: from sending its request until its reply is complete. For a pipelined file that
    /// includes the replies ahead of it.
    pub file_s: Vec<f64>,
    /// For a page: from sending its first request until its last reply is complete; the opening of
    /// the connection is not part of it.
    pub page_s: Vec<f64>,
    /// For an echo: from sending a keystroke until its echo is complete.
    pub echo_s: Vec<f64>,
}

impl Waits {
    /// Adds those of other users.
    pub fn extend(&mut self, other: Waits) {
        self.connect_s.extend(other.connect_s);
        self.file_s.extend(other.file_s);
        self.page_s.extend(other.page_s);
        self.echo_s.extend(other.echo_s);
    }

    /// By name, in the order of the fields: `connect`, `file`, `page`, `echo`; what nobody waited
    /// for is left out.
    pub fn times(&self) -> Vec<(&'static str, Times)> {
        [
            ("connect", &self.connect_s),
            ("file", &self.file_s),
            ("page", &self.page_s),
            ("echo", &self.echo_s),
        ]
        .into_iter()
        .map(|(name, times_s)| (name, Times::new(times_s.clone())))
        .filter(|(_, times)| times.count() > 0)
        .collect()
    }
}
