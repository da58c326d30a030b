//! Estimate of the size and the run time of a sweep from a few of its cases.

use std::io;
use std::time::{Duration, Instant};

use crate::directory::Measured;
use crate::tables::Sheets;
use crate::worker::Worker;
use crate::{Error, Load, Shard, Sweep};

/// Estimated size and run time of a sweep or a shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of cases (exact).
    pub cases: u64,
    /// Number of cases evaluated for the estimate.
    pub tried: u64,
    /// Rows of all tables.
    pub rows: f64,
    /// Bytes of all tables.
    pub bytes: f64,
    /// CPU time in seconds.
    pub time_s: f64,
}

/// Number of sampled blocks and of cases in each.
const BLOCKS: u64 = 4;
const BLOCK: u64 = 4;
/// Maximum time for the sample.
const PATIENCE: Duration = Duration::from_secs(10);

impl Sweep {
    /// Evaluates up to 16 cases at four positions of the sweep, and extrapolates to all cases.
    ///
    /// # Errors
    /// The scenario changed meanwhile, or the estimate was stopped before its first case.
    pub fn estimate(
        &self,
        shard: Shard,
        load: &Load<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Estimate, Error> {
        let chunks = self.chunks();
        let own: Vec<u64> = (0..chunks.count())
            .filter(|&chunk| shard.has(chunk))
            .collect();
        let in_chunk = |&chunk: &u64| chunks.cases(chunk).end - chunks.cases(chunk).start;
        let cases: u64 = own.iter().map(in_chunk).sum();
        let began = Instant::now();
        let (empty, _, _) = self.try_cases(&[], load, stop, began)?;
        let all = self.cases().count();
        let mut indices: Vec<u64> = (0..BLOCKS)
            .flat_map(|block| (0..BLOCK).map(move |i| block * all / BLOCKS + i))
            .filter(|&index| index < all)
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let began = Instant::now();
        let (bytes, rows, tried) = self.try_cases(&indices, load, stop, began)?;
        let time_s = began.elapsed().as_secs_f64();
        if tried == 0 {
            return Err(Error::Stopped { done: 0, cases });
        }
        let part = cases as f64 / tried as f64;
        Ok(Estimate {
            cases,
            tried,
            rows: rows as f64 * part,
            bytes: bytes.saturating_sub(empty) as f64 * part + empty as f64 * own.len() as f64,
            time_s: time_s * part,
        })
    }

    /// Returns the bytes and rows of these cases, and the number of cases evaluated in time.
    fn try_cases(
        &self,
        indices: &[u64],
        load: &Load<'_>,
        stop: &(dyn Fn() -> bool + Sync),
        began: Instant,
    ) -> Result<(u64, u64, u64), Error> {
        let request = self.request();
        let nowhere = || Measured::new(io::sink());
        let to = [nowhere(), nowhere(), nowhere()];
        let sheets = Sheets::new(to, request.format, self.tables(), request.axes.len());
        let mut sheets = sheets.map_err(Error::write("a table"))?;
        let mut worker = Worker::new(self, load, stop);
        let mut tried = 0;
        for &index in indices {
            let case = self.cases().case(index);
            let Some(outcome) = worker.evaluate(&case)? else {
                break;
            };
            sheets
                .add(&self.cells(&case), &outcome)
                .map_err(Error::write("a table"))?;
            tried += 1;
            if began.elapsed() > PATIENCE || stop() {
                break;
            }
        }
        let rows = sheets.rows();
        let files = sheets.finish().map_err(Error::write("a table"))?;
        let bytes = files.iter().map(|file| file.size().bytes).sum();
        Ok((bytes, rows, tried))
    }
}
