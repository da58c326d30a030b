//! Estimate of the size and the run time of a sweep from a few of its cases.

use std::io;
use std::time::{Duration, Instant};

use crate::directory::ChecksumWriter;
use crate::evaluator::CaseEvaluator;
use crate::tables::TableWriters;
use crate::{Error, ScenarioLoader, Shard, Sweep};

/// Estimated size and run time of a sweep or a shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of cases (exact).
    pub cases: u64,
    /// Number of cases evaluated for the estimate.
    pub sampled: u64,
    /// Rows of all tables.
    pub rows: f64,
    /// Bytes of all tables.
    pub bytes: f64,
    /// CPU time in seconds.
    pub time_s: f64,
}

/// Number of sampled blocks and of cases in each.
const SAMPLE_BLOCKS: u64 = 4;
const SAMPLE_BLOCK_CASES: u64 = 4;
/// Maximum time for the sample.
const MAX_SAMPLE_TIME: Duration = Duration::from_secs(10);

impl Sweep {
    /// Evaluates up to 16 cases at four positions of the sweep, and extrapolates to all cases.
    ///
    /// # Errors
    /// The scenario changed meanwhile, or the estimate was stopped before its first case.
    pub fn estimate(
        &self,
        shard: Shard,
        load: &ScenarioLoader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Estimate, Error> {
        let chunks = self.chunks();
        let own: Vec<u64> = (0..chunks.count())
            .filter(|&chunk| shard.contains(chunk))
            .collect();
        let in_chunk = |&chunk: &u64| chunks.cases(chunk).end - chunks.cases(chunk).start;
        let cases: u64 = own.iter().map(in_chunk).sum();
        let began = Instant::now();
        let (empty, _, _) = self.sample_cases(&[], load, stop, began)?;
        let all = self.cases().count();
        let mut indices: Vec<u64> = (0..SAMPLE_BLOCKS)
            .flat_map(|block| (0..SAMPLE_BLOCK_CASES).map(move |i| block * all / SAMPLE_BLOCKS + i))
            .filter(|&index| index < all)
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let began = Instant::now();
        let (bytes, rows, sampled) = self.sample_cases(&indices, load, stop, began)?;
        let time_s = began.elapsed().as_secs_f64();
        if sampled == 0 {
            return Err(Error::Stopped { done: 0, cases });
        }
        let part = cases as f64 / sampled as f64;
        Ok(Estimate {
            cases,
            sampled,
            rows: rows as f64 * part,
            bytes: bytes.saturating_sub(empty) as f64 * part + empty as f64 * own.len() as f64,
            time_s: time_s * part,
        })
    }

    /// Returns the bytes and rows of these cases, and the number of cases evaluated in time.
    fn sample_cases(
        &self,
        indices: &[u64],
        load: &ScenarioLoader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
        began: Instant,
    ) -> Result<(u64, u64, u64), Error> {
        let request = self.request();
        let nowhere = || ChecksumWriter::new(io::sink());
        let to = [nowhere(), nowhere(), nowhere()];
        let writers = TableWriters::new(to, request.format, self.tables(), request.axes.len());
        let mut writers = writers.map_err(Error::write("a table"))?;
        let mut evaluator = CaseEvaluator::new(self, load, stop);
        let mut sampled = 0;
        for &index in indices {
            let case = self.cases().case(index);
            let Some(result) = evaluator.evaluate(&case)? else {
                break;
            };
            writers
                .add(&self.cells(&case), &result)
                .map_err(Error::write("a table"))?;
            sampled += 1;
            if began.elapsed() > MAX_SAMPLE_TIME || stop() {
                break;
            }
        }
        let rows = writers.rows();
        let files = writers.finish().map_err(Error::write("a table"))?;
        let bytes = files.iter().map(|file| file.size().bytes).sum();
        Ok((bytes, rows, sampled))
    }
}
