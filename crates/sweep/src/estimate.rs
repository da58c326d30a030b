//! How much a sweep will be, told from a few of its cases.

use std::io;
use std::time::{Duration, Instant};

use crate::directory::Measured;
use crate::tables::Sheets;
use crate::worker::Worker;
use crate::{Error, Load, Shard, Sweep};

/// How much a sweep, or a shard of it, will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its cases: a known number.
    pub cases: u64,
    /// How many of them were evaluated for what follows.
    pub tried: u64,
    /// Rows of all tables.
    pub rows: f64,
    /// Bytes of all tables.
    pub bytes: f64,
    /// Seconds of one processor.
    pub time_s: f64,
}

/// Cases that are tried, as many times in a row as they are long.
const BLOCKS: u64 = 4;
const BLOCK: u64 = 4;
/// Nobody waits longer for what is to tell how long it takes.
const PATIENCE: Duration = Duration::from_secs(10);

impl Sweep {
    /// Evaluates up to 16 cases, in four places of the whole, and says what all of them would be.
    ///
    /// # Errors
    /// If the scenario was changed meanwhile, or nothing was tried when it was to stop.
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

    /// Bytes and rows of these cases, and how many there was time for.
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
