//! TCP profiles as functions of loss and round-trip time.

use std::sync::Arc;

use netflow::profile::{self as library, builtin_names};
use netflow::resolve_name;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;

/// A profile: steady-state throughput as a function of loss probability and round-trip time.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Profile(Arc<dyn library::Profile>);

/// Returns the names of all built-in profiles.
#[pyfunction]
pub fn profiles() -> Vec<&'static str> {
    builtin_names().to_vec()
}

/// Returns a built-in profile by name or alias, or reads a profile file.
#[pyfunction]
pub fn profile(py: Python<'_>, name: &str) -> PyResult<Profile> {
    let found = resolve_name::profile(name);
    let profile = found.map_err(|error| errors::find(py, "profile", name, &error))?;
    Ok(Profile(profile))
}

/// Returns a profile from the text of a profile file.
#[pyfunction]
pub fn profile_from_toml(text: &str) -> PyResult<Profile> {
    let profile = library::from_toml(text).map_err(|error| errors::value(error.to_string()))?;
    Ok(Profile(profile))
}

#[pymethods]
impl Profile {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn description(&self) -> &str {
        self.0.description()
    }

    /// Measured ranges of the loss probability and of the round-trip time in seconds.
    #[getter]
    fn domain(&self) -> ((f64, f64), (f64, f64)) {
        let domain = self.0.domain();
        (
            (domain.loss_min, domain.loss_max),
            (domain.rtt_min_s, domain.rtt_max_s),
        )
    }

    #[getter]
    fn max_window_pkts(&self) -> Option<f64> {
        self.0.window_limit_pkts()
    }

    /// Returns packets/s at one point.
    fn throughput(&self, loss: f64, rtt_s: f64) -> PyResult<f64> {
        check(loss, rtt_s)?;
        Ok(self.0.throughput(loss, rtt_s))
    }

    /// Returns packets/s at many points, as native-endian doubles. Both arguments have the same length.
    fn throughputs<'py>(
        &self,
        py: Python<'py>,
        loss: &[u8],
        rtt_s: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (loss, rtt_s) = (doubles(loss), doubles(rtt_s));
        if loss.len() != rtt_s.len() {
            return Err(errors::value(
                "losses and round-trip times must have the same length",
            ));
        }
        for (&loss, &rtt_s) in loss.iter().zip(&rtt_s) {
            check(loss, rtt_s)?;
        }
        let mut all = vec![0.0; loss.len()];
        py.detach(|| self.0.throughputs(&loss, &rtt_s, &mut all));
        let bytes: Vec<u8> = all.iter().flat_map(|it: &f64| it.to_ne_bytes()).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the basis of the rate at a point: `measured`, `extended` …
    fn rests_on(&self, loss: f64, rtt_s: f64) -> PyResult<&'static str> {
        check(loss, rtt_s)?;
        Ok(self.0.provenance(loss, rtt_s).name())
    }

    fn to_toml(&self) -> PyResult<String> {
        library::to_toml(&*self.0)
            .ok_or_else(|| errors::value("a profile file cannot describe this profile"))
    }

    fn __repr__(&self) -> String {
        format!("<Profile {}: {}>", self.0.name(), self.0.description())
    }

    /// Pickles the text of the profile file, so that the original file is not needed.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let native = py.import("netflow_evaluator._native")?;
        Ok((native.getattr("profile_from_toml")?, (self.to_toml()?,)))
    }
}

fn check(loss: f64, rtt_s: f64) -> PyResult<()> {
    if !(0.0..=1.0).contains(&loss) {
        return Err(errors::value(format!(
            "a loss probability must be from 0 to 1, not {loss}"
        )));
    }
    if !(rtt_s > 0.0 && rtt_s.is_finite()) {
        return Err(errors::value(format!(
            "a round-trip time must be above 0 s, not {rtt_s}"
        )));
    }
    Ok(())
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    let doubles = bytes.chunks_exact(8);
    doubles
        .map(|it| f64::from_ne_bytes(it.try_into().unwrap_or_default()))
        .collect()
}
