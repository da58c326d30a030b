//! Python exceptions.

use std::ffi::CString;
use std::path::Path;

use netflow::evaluate::Error;
use netflow::report::PAGE_ENDINGS;
use netflow::resolve_name::ResolveError;
use netflow::scenario::{Problem, Problems, Severity};
use netflow::steady::SteadyError;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyDeprecationWarning, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyList;

create_exception!(
    netflow_evaluator,
    ScenarioError,
    PyValueError,
    "A scenario, a setting or another input is invalid. `problems` has all errors and warnings with their locations."
);
create_exception!(
    netflow_evaluator,
    EvaluationError,
    PyRuntimeError,
    "The scenario is valid, but its evaluation failed."
);
create_exception!(
    netflow_evaluator,
    InternalError,
    PyRuntimeError,
    "A bug in netflow. Please report it with the location in the message."
);
create_exception!(
    netflow_evaluator,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C. `results` has the results until the interruption, or None."
);

/// Converts a problem to the Python class.
pub fn problem<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyAny>> {
    let class = py
        .import("netflow_evaluator._problem")?
        .getattr("Problem")?;
    let file = problem.file.as_ref().map(|file| file.display().to_string());
    class.call1((
        problem.severity.name(),
        &problem.message,
        file,
        problem.line,
        problem.column,
        &problem.help,
    ))
}

/// Returns an error with all problems: the complete list in `problems`, the first few in the
/// message.
pub fn scenario(py: Python<'_>, problems: &Problems) -> PyErr {
    const SHOWN: usize = 10;
    let first = problems.iter().next();
    let is_of_the_file = first.is_some_and(|it| it.line.is_none());
    if problems.is_unreadable() && is_of_the_file && problems.iter().count() == 1 {
        let file = first.and_then(|it| it.file.as_deref());
        return unreadable(file, problems.to_string());
    }
    let errors = problems
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .count();
    let mut text: Vec<String> = problems
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .take(SHOWN)
        .map(ToString::to_string)
        .collect();
    if errors > SHOWN {
        text.push(format!("and {} more: see `problems`", errors - SHOWN));
    }
    let all = problems.into_iter().map(|it| problem(py, it));
    with_problems(py, text.join("\n"), all)
}

/// Returns a `ScenarioError` with these problems.
fn with_problems<'py>(
    py: Python<'py>,
    message: String,
    problems: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyErr {
    let error = ScenarioError::new_err(message);
    let all = PyList::empty(py);
    for it in problems {
        let added = it.and_then(|it| all.append(it));
        if let Err(error) = added {
            return error;
        }
    }
    match error.value(py).setattr("problems", all) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Returns an error about the value of a setting that is not from a file.
pub fn invalid_setting(py: Python<'_>, message: &str, help: &str) -> PyErr {
    let none: Option<u32> = None;
    let class = py.import("netflow_evaluator._problem");
    let class = class.and_then(|it| it.getattr("Problem"));
    let problem = class.and_then(|it| it.call1(("error", message, none, none, none, help)));
    with_problems(py, format!("{message}: {help}"), std::iter::once(problem))
}

/// Returns an error about a file that cannot be read: `FileNotFoundError` if it does not exist.
pub fn unreadable(file: Option<&Path>, message: String) -> PyErr {
    match file {
        Some(file) if !file.exists() => PyFileNotFoundError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

/// Returns an error about a value that is not from a file.
pub fn value(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// Rejects a path without the file name suffix of a page.
pub fn check_page(path: &Path) -> PyResult<()> {
    match path.extension() {
        Some(ending)
            if !PAGE_ENDINGS
                .iter()
                .any(|it| ending.eq_ignore_ascii_case(it)) =>
        {
            Err(value(format!(
                "a page cannot have the suffix `.{}`: end the name with .{}",
                ending.display(),
                PAGE_ENDINGS.join(" or .")
            )))
        }
        _ => Ok(()),
    }
}

/// Returns an error with a help text.
pub fn value_with(message: &str, help: Option<&str>) -> PyErr {
    match help {
        Some(help) => value(format!("{message}; {help}")),
        None => value(message),
    }
}

/// Returns the exception for an evaluation error.
pub fn evaluation(error: &Error) -> PyErr {
    match error {
        Error::Period(_) => value(error.to_string()),
        Error::TooManyRows { enough_s, .. } => value(format!("{error}; use interval={enough_s}")),
        Error::Results(_) => PyOSError::new_err(error.to_string()),
        _ => EvaluationError::new_err(error.to_string()),
    }
}

/// Issues a `DeprecationWarning` about a former name.
pub fn warn_renamed(py: Python<'_>, former: &str, name: &str) -> PyResult<()> {
    let message = format!("{former} is now {name}").replace('\0', " ");
    let text = CString::new(message).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), &text, 1)
}

/// Returns the exception for a steady-state error.
pub fn steady(error: &SteadyError) -> PyErr {
    match error {
        SteadyError::BadOption { .. }
        | SteadyError::BadTime { .. }
        | SteadyError::NothingToFail
        | SteadyError::NoUnavailability
        | SteadyError::TooManyCases { .. }
        | SteadyError::NothingToScale
        | SteadyError::NoTraffic { .. } => value(error.to_string()),
        _ => EvaluationError::new_err(error.to_string()),
    }
}

/// Returns an error about an unknown name, with the nearest known one.
pub fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    value(is_unknown(what, name, known))
}

/// Returns the same as a text.
pub fn is_unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let message = format!("unknown {what} `{name}`");
    let known: Vec<&str> = known.collect();
    match netflow::units::nearest_name(name, known.into_iter(), &[]) {
        Some(nearest) => format!("{message}; the nearest name is `{nearest}`"),
        None => message,
    }
}

/// Returns an error about an unknown or invalid profile or stack.
pub fn find(py: Python<'_>, what: &str, name: &str, error: &ResolveError) -> PyErr {
    match error {
        ResolveError::Unknown(names) => unknown(what, name, names.iter().copied()),
        ResolveError::Invalid(problems) => scenario(py, problems),
    }
}
