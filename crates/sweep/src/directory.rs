//! Output directory of a sweep: its description and its complete chunks.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use netflow_files::{
    DirectoryLock, FileKind, PartialFile, create_dirs_inside, publish, read_text, write_atomically,
};
use netflow_results::{
    Format, SWEEP_FILE, SWEEP_RECEIPTS, SweepColumns, SweepTable, chunk_file, is_results,
    sweep_mark,
};
use netflow_scenario::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Axis, Error, Model, Sweep};

/// Suffix of incomplete files.
const PARTIAL: &str = ".partial";

/// Description of a sweep in `sweep.json`: the settings that determine its tables, and its origin for
/// readers.
#[derive(Serialize)]
struct Description<'a> {
    program: &'static str,
    version: &'static str,
    digest: &'a str,
    scenario: String,
    /// Warnings of the scenario and of some values.
    warnings: Vec<String>,
    #[serde(flatten)]
    identity: Identity<'a>,
}

/// Settings that determine the tables.
#[derive(Serialize)]
struct Identity<'a> {
    scenario_digest: &'a str,
    settings: &'a [String],
    vary: &'a [Axis],
    fail: &'a [String],
    model: Model,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_s: Option<f64>,
    seed: u64,
    seeds: u32,
    interval_s: f64,
    format: Format,
    cases: u64,
    chunks: u64,
    cases_of_a_chunk: u64,
    tables: &'a SweepColumns,
}

/// Record of a complete chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkReceipt {
    /// Number of cases.
    pub cases: u64,
    /// Number of cases without a result.
    pub without_answer: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Its tables, in the order of [`SweepTable::ALL`].
    pub files: [Size; 3],
}

/// Expected size and checksum of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    pub bytes: u64,
    pub crc32: u32,
}

/// Directory of a sweep, ready for its chunks.
pub(crate) struct SweepDirectory {
    path: PathBuf,
    /// Start of the digest of all settings that determine the tables.
    mark: String,
    format: Format,
}

impl SweepDirectory {
    /// Creates the directory, or opens it if it contains the same sweep. With `force`, the files of another
    /// sweep in it are removed.
    pub(crate) fn open(path: &Path, sweep: &Sweep, force: bool) -> Result<SweepDirectory, Error> {
        let request = sweep.request();
        let identity = Identity {
            scenario_digest: sweep.scenario_digest(),
            settings: &request.settings,
            vary: &request.axes,
            fail: sweep.failures(),
            model: request.model,
            at_s: request.at_s,
            seed: sweep.base().options.seed,
            seeds: request.seeds,
            interval_s: request.every_s,
            format: request.format,
            cases: sweep.cases().count(),
            chunks: sweep.chunks().count(),
            cases_of_a_chunk: sweep.chunks().size(),
            tables: sweep.tables(),
        };
        let version = env!("CARGO_PKG_VERSION");
        // Serialization cannot fail: keys are strings, and NaN becomes null.
        let text = serde_json::to_string(&identity).unwrap_or_default();
        let digest = digest([version, &text].into_iter());
        let first = sweep.base().sources.iter().next();
        let description = Description {
            program: "netflow",
            version,
            digest: &digest,
            scenario: first.map_or_else(String::new, |path| path.display().to_string()),
            warnings: all_warnings(sweep),
            identity,
        };
        let description = serde_json::to_value(&description).unwrap_or_default();
        let directory = SweepDirectory {
            path: path.to_owned(),
            mark: sweep_mark(&digest).to_owned(),
            format: request.format,
        };
        if is_results(path) {
            let path = path.to_owned();
            return Err(Error::ContainsResults { path });
        }
        directory.create()?;
        let _claim = directory.lock()?;
        let file = path.join(SWEEP_FILE);
        if force {
            directory.clear()?;
        } else if file.exists() {
            check_same_sweep(path, &file, &description)?;
            return Ok(directory);
        }
        let text = serde_json::to_string_pretty(&description).unwrap_or_default() + "\n";
        write_atomically(&file, text.as_bytes()).map_err(Error::write(&file))?;
        Ok(directory)
    }

    fn subdirectories() -> impl Iterator<Item = &'static str> {
        SweepTable::ALL
            .map(SweepTable::name)
            .into_iter()
            .chain([SWEEP_RECEIPTS])
    }

    fn create(&self) -> Result<(), Error> {
        if self.path.is_file() {
            return Err(Error::write(&self.path)(
                io::ErrorKind::NotADirectory.into(),
            ));
        }
        fs::create_dir_all(&self.path).map_err(Error::write(&self.path))?;
        for part in SweepDirectory::subdirectories() {
            create_dirs_inside(&self.path, Path::new(part))
                .map_err(|(path, source)| Error::Write { path, source })?;
        }
        Ok(())
    }

    /// Waits for a lock on the directory. Other processes hold it only briefly.
    fn lock(&self) -> Result<DirectoryLock, Error> {
        const LOCK_ATTEMPTS: u32 = 500;
        let mut tries = 0;
        loop {
            match DirectoryLock::acquire(&self.path) {
                Ok(claim) => return Ok(claim),
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy && tries < LOCK_ATTEMPTS =>
                {
                    tries += 1;
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    let path = self.path.clone();
                    return Err(Error::InUse { path });
                }
                Err(error) => return Err(Error::write(&self.path)(error)),
            }
        }
    }

    /// Removes the files of any sweep. Receipts are first, because no chunk is complete without one.
    fn clear(&self) -> Result<(), Error> {
        let parts: Vec<&str> = SweepDirectory::subdirectories().collect();
        for part in parts.into_iter().rev() {
            for (name, path) in files(&self.path.join(part))? {
                if chunk_of(&name).is_some() {
                    fs::remove_file(&path).map_err(Error::write(&path))?;
                }
            }
        }
        Ok(())
    }

    fn name(&self, chunk: u64, extension: &str) -> String {
        chunk_file(chunk, &self.mark, extension)
    }

    /// Returns the path of a chunk for messages: its table of links.
    pub(crate) fn path(&self, chunk: u64) -> PathBuf {
        self.table_path(SweepTable::Links, chunk)
    }

    fn receipt_path(&self, chunk: u64) -> PathBuf {
        self.path
            .join(SWEEP_RECEIPTS)
            .join(self.name(chunk, "json"))
    }

    fn table_path(&self, table: SweepTable, chunk: u64) -> PathBuf {
        self.path
            .join(table.name())
            .join(self.name(chunk, self.format.name()))
    }

    /// Returns the chunks of this sweep with receipts.
    pub(crate) fn receipts(&self) -> Result<Vec<u64>, Error> {
        let end = format!("-{}.json", self.mark);
        let found = files(&self.path.join(SWEEP_RECEIPTS))?;
        let complete = found.iter().filter(|(name, _)| name.ends_with(&end));
        let mut chunks: Vec<u64> = complete.filter_map(|(name, _)| chunk_of(name)).collect();
        chunks.sort_unstable();
        Ok(chunks)
    }

    /// Returns the receipt of a chunk if its files match it, otherwise the path of a file that does not.
    pub(crate) fn receipt(&self, chunk: u64) -> Result<ChunkReceipt, PathBuf> {
        let path = self.receipt_path(chunk);
        let text = read_text(&path, FileKind::Summary).map_err(|_| path.clone())?;
        let receipt: ChunkReceipt = serde_json::from_str(&text).map_err(|_| path)?;
        for (table, size) in SweepTable::ALL.into_iter().zip(receipt.files) {
            let path = self.table_path(table, chunk);
            match size_and_checksum(&path, size.bytes) {
                Ok(found) if found == size => {}
                _ => return Err(path),
            }
        }
        Ok(receipt)
    }

    /// Removes the incomplete files that killed processes have left for these chunks.
    pub(crate) fn clear_partial(&self, is_own: impl Fn(u64) -> bool) -> Result<(), Error> {
        for part in SweepDirectory::subdirectories() {
            for (name, path) in files(&self.path.join(part))? {
                let Some(begun) = name.strip_prefix('.').filter(|_| name.ends_with(PARTIAL)) else {
                    continue;
                };
                if chunk_of(begun).is_some_and(&is_own) {
                    // The file may have been renamed or removed meanwhile.
                    let _ = fs::remove_file(&path);
                }
            }
        }
        Ok(())
    }

    /// Creates the table files of a chunk.
    pub(crate) fn begin_chunk(
        &self,
        chunk: u64,
    ) -> Result<[ChecksumWriter<PartialFile>; 3], Error> {
        let begin = |table: SweepTable| {
            let name = self.name(chunk, self.format.name());
            PartialFile::create(&self.path.join(table.name()), &name)
                .map(ChecksumWriter::new)
                .map_err(Error::write(self.table_path(table, chunk)))
        };
        let [links, connections, network] = SweepTable::ALL;
        Ok([begin(links)?, begin(connections)?, begin(network)?])
    }

    /// Renames the table files of a chunk to their final names, then the receipt.
    pub(crate) fn finish_chunk(
        &self,
        chunk: u64,
        tables: [PartialFile; 3],
        receipt: &ChunkReceipt,
    ) -> Result<(), Error> {
        let text = serde_json::to_string(receipt).unwrap_or_default() + "\n";
        let path = self.receipt_path(chunk);
        let name = self.name(chunk, "json");
        let receipt =
            PartialFile::with_contents(&self.path.join(SWEEP_RECEIPTS), &name, text.as_bytes());
        let receipt = receipt.map_err(Error::write(path))?;
        publish(&[], tables.into_iter().chain([receipt]))
            .map_err(|(path, source)| Error::Write { path, source })
    }
}

/// Returns all warnings of a sweep.
fn all_warnings(sweep: &Sweep) -> Vec<String> {
    let problems = sweep.base().warnings.iter().chain(sweep.warnings());
    problems
        .map(ToString::to_string)
        .chain(sweep.notes())
        .collect()
}

/// Returns the names and paths of the entries of a directory.
fn files(path: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let cannot = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if let Ok(name) = entry.file_name().into_string() {
            files.push((name, entry.path()));
        }
    }
    Ok(files)
}

/// Returns the chunk of a file, from its name.
fn chunk_of(name: &str) -> Option<u64> {
    let (chunk, rest) = name.strip_prefix('.').unwrap_or(name).split_once('-')?;
    let (mark, _) = rest.split_once('.')?;
    let is_mark = mark.len() == 12 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    chunk.parse().ok().filter(|_| is_mark)
}

/// Checks that the description in the directory is of the same sweep.
fn check_same_sweep(directory: &Path, file: &Path, ours: &Value) -> Result<(), Error> {
    let not_one = |reason: String| Error::InvalidDescription {
        path: file.to_owned(),
        reason,
    };
    let text =
        read_text(file, FileKind::Summary).map_err(|refusal| not_one(refusal.to_string()))?;
    let theirs: Value = serde_json::from_str(&text).map_err(|error| not_one(error.to_string()))?;
    let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) else {
        return Err(not_one("it is not an object".to_owned()));
    };
    if !theirs.contains_key("digest") {
        return Err(not_one("it has no `digest`".to_owned()));
    }
    if theirs.get("digest") == ours.get("digest") {
        return Ok(());
    }
    let is_compared = |key: &&String| !["digest", "scenario", "warnings"].contains(&key.as_str());
    let differs = ours
        .iter()
        .filter(|(key, value)| theirs.get(*key) != Some(value));
    let differs: Vec<String> = differs
        .map(|(key, _)| key)
        .filter(is_compared)
        .map(|key| format!("`{key}`"))
        .collect();
    Err(Error::OtherSweep {
        path: directory.to_owned(),
        differs: if differs.is_empty() {
            "the digests".to_owned()
        } else {
            differs.join(", ")
        },
    })
}

/// Returns the size and the checksum of a file. A file of another size is not read.
fn size_and_checksum(path: &Path, bytes: u64) -> io::Result<Size> {
    let mut file = fs::File::open(path)?;
    if file.metadata()?.len() != bytes {
        return Ok(Size::default());
    }
    let mut to = ChecksumWriter::new(io::sink());
    let mut part = vec![0; 256 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(to.size()),
            read => to.write_all(&part[..read])?,
        }
    }
}

/// Writer that computes the size and the checksum of its output.
pub(crate) struct ChecksumWriter<W> {
    to: W,
    bytes: u64,
    crc32: crc32fast::Hasher,
}

impl<W> ChecksumWriter<W> {
    pub(crate) fn new(to: W) -> ChecksumWriter<W> {
        ChecksumWriter {
            to,
            bytes: 0,
            crc32: crc32fast::Hasher::new(),
        }
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            bytes: self.bytes,
            crc32: self.crc32.clone().finalize(),
        }
    }

    pub(crate) fn into_inner(self) -> W {
        self.to
    }
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        self.crc32.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
