//! Evaluation of cases into a directory, chunk by chunk.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::directory::{ChecksumWriter, ChunkReceipt, SweepDirectory};
use crate::evaluator::CaseEvaluator;
use crate::tables::TableWriters;
use crate::{Error, ScenarioLoader, Shard, Sweep};

/// Options for writing a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Shard to write.
    pub shard: Shard,
    /// True to remove the files of another sweep from the directory.
    pub force: bool,
}

/// Result of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// Cases of the shard, all of which are now in the directory.
    pub cases: u64,
    /// Cases that already existed.
    pub reused: u64,
    /// Cases without a result, which have a reason instead.
    pub without_result: u64,
    /// Rows of the shard.
    pub rows: u64,
    /// Files that did not match their receipts; their chunks were computed again.
    pub damaged: Vec<String>,
    /// Chunks of other shards that do not exist yet.
    pub missing_chunks: u64,
}

impl Sweep {
    /// Evaluates the missing cases on the threads of the current rayon pool, and reports the completed
    /// fraction (0–1) to `on_progress`. It ends soon after `stop` returns true; finished chunks remain.
    ///
    /// # Errors
    /// The directory contains something else or cannot be written, the scenario changed meanwhile, or the
    /// sweep was stopped.
    pub fn write(
        &self,
        directory: &Path,
        options: &WriteOptions,
        load: &ScenarioLoader<'_>,
        on_progress: &mut (dyn FnMut(f64) + Send),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<WriteSummary, Error> {
        let directory = SweepDirectory::open(directory, self, options.force)?;
        let shard = options.shard;
        let is_own = |chunk: u64| shard.contains(chunk);
        self.write_into(&directory, &is_own, load, on_progress, stop)
    }

    /// Prepares the directory and returns the chunks that are complete in it. With `force`, the files of
    /// another sweep in it are removed.
    ///
    /// # Errors
    /// The directory contains something else or cannot be written.
    pub fn prepare(&self, directory: &Path, force: bool) -> Result<Vec<u64>, Error> {
        let directory = SweepDirectory::open(directory, self, force)?;
        let there = directory.receipts()?.into_par_iter();
        let whole = there.filter(|&chunk| directory.receipt(chunk).is_ok());
        Ok(whole.collect())
    }

    /// Writes only these chunks; otherwise like [`write`](Self::write).
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_chunks(
        &self,
        directory: &Path,
        chunks: &[u64],
        load: &ScenarioLoader<'_>,
        on_progress: &mut (dyn FnMut(f64) + Send),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<WriteSummary, Error> {
        let directory = SweepDirectory::open(directory, self, false)?;
        let is_own = |chunk: u64| chunks.contains(&chunk);
        self.write_into(&directory, &is_own, load, on_progress, stop)
    }

    fn write_into(
        &self,
        directory: &SweepDirectory,
        is_own: &(dyn Fn(u64) -> bool + Sync),
        load: &ScenarioLoader<'_>,
        on_progress: &mut (dyn FnMut(f64) + Send),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<WriteSummary, Error> {
        let chunks = self.chunks();
        let is_own = |chunk: u64| chunk < chunks.count() && is_own(chunk);
        directory.clear_partial(is_own)?;
        let there = directory.receipts()?;
        let own_there: Vec<u64> = there.into_iter().filter(|&chunk| is_own(chunk)).collect();
        let found = own_there.par_iter().map(|&chunk| directory.receipt(chunk));
        let found: Vec<_> = found.collect();
        let mut written = WriteSummary::default();
        let mut is_there = vec![false; usize::try_from(chunks.count()).unwrap_or(usize::MAX)];
        for (&chunk, receipt) in own_there.iter().zip(found) {
            match receipt {
                Ok(receipt) => {
                    is_there[chunk as usize] = true;
                    written.add(&receipt);
                }
                Err(path) => written.damaged.push(path.display().to_string()),
            }
        }
        written.reused = written.cases;
        let left = (0..chunks.count()).filter(|&chunk| is_own(chunk) && !is_there[chunk as usize]);
        let left: Vec<u64> = left.collect();
        let to_do: u64 = left.iter().map(|&chunk| self.cases_in(chunk)).sum();
        let done = AtomicU64::new(0);
        let finished = AtomicU64::new(written.reused);
        let on_progress = Mutex::new(on_progress);
        let on_case = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Ok(mut on_progress) = on_progress.try_lock() {
                on_progress(done as f64 / to_do as f64);
            }
        };
        let receipts: Result<Vec<ChunkReceipt>, Error> = left
            .par_iter()
            .with_max_len(1)
            .map(|&chunk| {
                let receipt = self.write_chunk(directory, chunk, load, &on_case, stop);
                let receipt = match receipt {
                    Ok(Some(receipt)) => receipt,
                    Ok(None) => return Err(Error::Stopped { done: 0, cases: 0 }),
                    Err(error) => return Err(error),
                };
                finished.fetch_add(receipt.cases, Ordering::Relaxed);
                Ok(receipt)
            })
            .collect();
        let receipts = receipts.map_err(|error| match error {
            Error::Stopped { .. } => Error::Stopped {
                done: finished.load(Ordering::Relaxed),
                cases: written.reused + to_do,
            },
            error => error,
        })?;
        receipts.iter().for_each(|receipt| written.add(receipt));
        written.missing_chunks = chunks
            .count()
            .saturating_sub(directory.receipts()?.len() as u64);
        Ok(written)
    }

    fn cases_in(&self, chunk: u64) -> u64 {
        let cases = self.chunks().cases(chunk);
        cases.end - cases.start
    }

    /// Writes one chunk. Returns `None` without any output if it was stopped.
    fn write_chunk(
        &self,
        directory: &SweepDirectory,
        chunk: u64,
        load: &ScenarioLoader<'_>,
        on_case: &(dyn Fn() + Sync),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<ChunkReceipt>, Error> {
        if stop() {
            return Ok(None);
        }
        let path = directory.path(chunk);
        let (format, axes) = (self.request().format, self.request().axes.len());
        let files = directory.begin_chunk(chunk)?;
        let writers = TableWriters::new(files, format, self.tables(), axes);
        let mut writers = writers.map_err(Error::write(&path))?;
        let mut evaluator = CaseEvaluator::new(self, load, stop);
        let mut without_answer = 0;
        for index in self.chunks().cases(chunk) {
            let case = self.cases().case(index);
            let Some(result) = evaluator.evaluate(&case)? else {
                return Ok(None);
            };
            without_answer += u64::from(result.is_err());
            writers
                .add(&self.cells(&case), &result)
                .map_err(Error::write(&path))?;
            on_case();
            if stop() {
                return Ok(None);
            }
        }
        let rows = writers.rows();
        let files = writers.finish().map_err(Error::write(&path))?;
        let receipt = ChunkReceipt {
            cases: self.cases_in(chunk),
            without_answer,
            rows,
            files: files.each_ref().map(ChecksumWriter::size),
        };
        directory.finish_chunk(chunk, files.map(ChecksumWriter::into_inner), &receipt)?;
        Ok(Some(receipt))
    }
}

impl WriteSummary {
    fn add(&mut self, receipt: &ChunkReceipt) {
        self.cases += receipt.cases;
        self.without_result += receipt.without_answer;
        self.rows += receipt.rows;
    }
}
