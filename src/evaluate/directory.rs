//! Results directory of an evaluation.

use std::path::PathBuf;
use std::time::Instant;

use netflow_results::{Format, Manifest, Stop, Writer};
use netflow_scenario::FileAccess;

use super::scenario_copies::{self, ScenarioCopies};
use super::{End, Error, Evaluation, EvaluationRun, warnings};

/// Location and format of an evaluation's results.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Path of the directory, which is created if it does not exist.
    pub path: PathBuf,
    /// Format of the series.
    pub format: Format,
    /// If true, also write the series of every connection at every link; one seed only.
    pub classes: bool,
    /// Start of the wall-clock time in the manifest; `None`: the start of the evaluation.
    pub began: Option<Instant>,
}

impl Directory {
    /// Returns a directory with series in CSV.
    pub fn at(path: impl Into<PathBuf>) -> Directory {
        Directory {
            path: path.into(),
            format: Format::Csv,
            classes: false,
            began: None,
        }
    }
}

impl EvaluationRun<'_> {
    /// Creates the results writer, if results are requested.
    pub fn writer(&self) -> Result<Option<Writer>, Error> {
        let Some(directory) = &self.settings.directory else {
            return Ok(None);
        };
        let network = &self.scenario.network;
        let (path, format) = (&directory.path, directory.format);
        let classes = directory.classes && self.seeds == 1;
        let mut writer = Writer::create(path, network, format, classes)?;
        for note in &self.scenario.node_annotations {
            let topology = writer.topology();
            topology.set_node_details(note.node, note.label.clone(), note.position);
        }
        Ok(Some(writer))
    }

    /// Adds the warnings of the run and writes the remaining results.
    pub fn finish(
        &self,
        mut evaluation: Evaluation,
        writer: Option<Writer>,
    ) -> Result<Evaluation, Error> {
        let summary = &mut evaluation.summary;
        (evaluation.warnings).extend(warnings::outside_profile(&summary.connections));
        (evaluation.warnings).extend(self.scenario.model_warnings(false, f64::INFINITY));
        if writer.is_some() || self.settings.keep_series {
            let coarse = warnings::coarse_steps(evaluation.steps_s, self.settings.every_s);
            evaluation.warnings.extend(coarse);
        }
        (evaluation.warnings).extend(warnings::imbalance(summary));
        summary.warnings.extend_from_slice(&evaluation.warnings);
        if let (Some(writer), Some(directory)) = (writer, &self.settings.directory) {
            let kept = scenario_copies::copy_scenario(self.scenario, &directory.path)?;
            let manifest = self.manifest(directory, &evaluation, &writer, &kept);
            if let Err(error) = writer.finish(&evaluation.summary, &manifest) {
                kept.undo();
                return Err(error.into());
            }
        }
        Ok(evaluation)
    }

    fn manifest(
        &self,
        directory: &Directory,
        evaluation: &Evaluation,
        writer: &Writer,
        kept: &ScenarioCopies,
    ) -> Manifest {
        let scenario = self.scenario;
        let sources = scenario.sources.iter();
        let sources: Vec<String> = sources.map(|path| path.display().to_string()).collect();
        let stop = match &evaluation.end {
            End::Finished => None,
            End::Stopped(reason) | End::Failed(reason) => Some(Stop {
                stopped_at_s: evaluation.time_s,
                reason: reason.clone(),
            }),
        };
        let scope = &evaluation.measurement_window;
        Manifest {
            program: "netflow".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format_version: Manifest::FORMAT_VERSION,
            scenario: sources.first().cloned().unwrap_or_default(),
            digest: scenario.digest.clone(),
            sources,
            scenario_copy: kept.scenario.clone(),
            overrides: scenario.overrides.clone(),
            allow_outside: scenario.file_access == FileAccess::Unrestricted,
            seed: scenario.seed,
            seeds: evaluation.summary.seeds,
            options: scenario.options,
            interval_s: self.settings.every_s,
            from_s: scope.from_s,
            to_s: Some(scope.to_s).filter(|&to_s| to_s < scenario.options.duration_s),
            format: directory.format,
            files: writer.files(),
            events: evaluation.summary.events.clone(),
            steps: evaluation.steps,
            threads: self.settings.max_threads(),
            wall_time_s: self.began.elapsed().as_secs_f64(),
            complete: stop.is_none(),
            stop,
        }
    }
}
