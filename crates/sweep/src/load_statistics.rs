//! Statistics of link loads over all cases of a sweep, for example over many traffic matrices: mean, percentile and
//! maximum.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use crate::evaluator::CaseEvaluator;
use crate::tables::CaseResult;
use crate::{Case, Error, ScenarioLoader, Sweep};

/// Maximum number of loads that are kept: links times cases.
const MAX_LOADS: u64 = 50_000_000;

/// Loads of all links over all cases.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadStatistics {
    /// Links, highest percentile first.
    pub links: Vec<LinkLoads>,
    /// Number of cases with a steady state.
    pub cases: u64,
    /// Cases without a steady state, with the reason of the first.
    pub without_result: Option<(u64, String)>,
}

/// Load of one link over all cases.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkLoads {
    /// `FROM->TO`.
    pub link: String,
    /// Mean of the load: demand over bandwidth.
    pub mean: f64,
    /// Percentile of the load.
    pub percentile: f64,
    /// Percentile of the demand in bit/s on the wire.
    pub percentile_bps: f64,
    /// The highest load.
    pub max: f64,
    /// Case with the highest load, the first of equal ones.
    pub worst_case: Case,
}

/// Load and demand of each link in one case.
struct CaseLoads {
    /// Names of the links; most cases share them.
    links: Arc<[String]>,
    loads: Vec<[f64; 2]>,
}

impl Sweep {
    /// Computes the steady state of all cases on the threads of the current rayon pool. `percentile` is
    /// from 0 to 100; its load is the smallest one that is not exceeded in this percentage of the cases (nearest rank).
    ///
    /// # Errors
    /// [`Error::TooManyLoads`], [`Error::Changed`], [`Error::Stopped`].
    pub fn load_statistics(
        &self,
        percentile: f64,
        load: &ScenarioLoader<'_>,
        on_progress: &mut (dyn FnMut(f64) + Send),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<LoadStatistics, Error> {
        let cases = self.cases().count();
        let loads = cases.saturating_mul(self.base().network.link_count() as u64);
        if loads > MAX_LOADS {
            return Err(Error::TooManyLoads {
                loads,
                most: MAX_LOADS,
            });
        }
        let base = &self.base().network;
        let links: Arc<[String]> = base
            .links()
            .map(|id| base.link_name(id).to_owned())
            .collect();
        let done = AtomicU64::new(0);
        let on_progress = Mutex::new(on_progress);
        let chunks: Vec<u64> = (0..self.chunks().count()).collect();
        let evaluated: Result<Vec<Vec<_>>, Error> = (chunks.par_iter())
            .with_max_len(1)
            .map(|&chunk| {
                let mut evaluator = CaseEvaluator::new(self, load, stop);
                let mut loads = Vec::new();
                for index in self.chunks().cases(chunk) {
                    let result = evaluator.evaluate(&self.cases().case(index))?;
                    let finished = done.load(Ordering::Relaxed);
                    let Some(result) = result.filter(|_| !stop()) else {
                        return Err(Error::Stopped {
                            done: finished,
                            cases,
                        });
                    };
                    loads.push(result.map(|it| loads_of(it, &links)));
                    let finished = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if let Ok(mut on_progress) = on_progress.try_lock() {
                        on_progress(finished as f64 / cases as f64);
                    }
                }
                Ok(loads)
            })
            .collect();
        Ok(self.statistics(percentile, evaluated?.into_iter().flatten()))
    }

    fn statistics(
        &self,
        percentile: f64,
        evaluated: impl Iterator<Item = Result<CaseLoads, String>>,
    ) -> LoadStatistics {
        let mut found = LoadStatistics {
            links: Vec::new(),
            cases: 0,
            without_result: None,
        };
        // Cases can have different links: their loads, with the index of the case.
        let mut names: Vec<String> = Vec::new();
        let mut by_link: Vec<Vec<(u64, [f64; 2])>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (case, result) in (0..).zip(evaluated) {
            let loads = match result {
                Ok(loads) => loads,
                Err(reason) => {
                    found.without_result.get_or_insert((0, reason)).0 += 1;
                    continue;
                }
            };
            found.cases += 1;
            for (link, load) in loads.links.iter().zip(loads.loads) {
                let place = match places.get(link) {
                    Some(&place) => place,
                    None => {
                        places.insert(link.clone(), by_link.len());
                        names.push(link.clone());
                        by_link.push(Vec::new());
                        by_link.len() - 1
                    }
                };
                by_link[place].push((case, load));
            }
        }
        for (link, loads) in names.into_iter().zip(by_link) {
            let ranked = |column: usize| {
                let mut sorted: Vec<f64> = loads.iter().map(|it| it.1[column]).collect();
                sorted.sort_by(f64::total_cmp);
                let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
                sorted[rank.clamp(1, sorted.len()) - 1]
            };
            let worst = loads.iter().fold(
                loads[0],
                |worst, &it| {
                    if it.1[0] > worst.1[0] { it } else { worst }
                },
            );
            found.links.push(LinkLoads {
                link,
                mean: loads.iter().map(|it| it.1[0]).sum::<f64>() / loads.len() as f64,
                percentile: ranked(0),
                percentile_bps: ranked(1),
                max: worst.1[0],
                worst_case: self.cases().case(worst.0),
            });
        }
        // The sort is stable: equal links keep their order.
        (found.links).sort_by(|a, b| b.percentile.total_cmp(&a.percentile));
        found
    }
}

/// Returns the loads of a case, with these names if they are those of its links.
fn loads_of(result: CaseResult, known: &Arc<[String]>) -> CaseLoads {
    match result {
        CaseResult::Steady(network, steady) => {
            let names = || network.links().map(|id| network.link_name(id));
            let links = if names().eq(known.iter()) {
                Arc::clone(known)
            } else {
                names().map(str::to_owned).collect()
            };
            CaseLoads {
                links,
                loads: steady
                    .links
                    .iter()
                    .map(|it| [it.load, it.load_bps])
                    .collect(),
            }
        }
        // Only steady states have demands of links.
        CaseResult::Run(_) => CaseLoads {
            links: Arc::from([]),
            loads: Vec::new(),
        },
    }
}
