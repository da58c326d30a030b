"""The extension module. The ending of a name states the unit: `_s`, `_bps`, `_pps`, `_pkts`."""

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, final

import pandas
import polars
import pyarrow

from ._problem import Problem

_Path = str | os.PathLike[str]
_Quantity = float | str
_Setting = str | float | int | bool
_Progress = bool | Callable[[float], object] | None

class ScenarioError(ValueError):
    """A scenario, a setting or another input is invalid."""

    problems: list[Problem]
    """All errors and warnings, with their locations."""

class EvaluationError(RuntimeError):
    """The scenario is valid, but its evaluation failed."""

class InternalError(RuntimeError):
    """A bug in netflow. Please report it with the location in the message."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C."""

    results: Results | None
    """Results until the interruption, or None."""

@final
class Table:
    """Rows of named columns. Arrow readers (polars, pandas, DuckDB, pyarrow) use them without a copy."""

    @property
    def column_names(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: str | int) -> Any:
        """Returns a column by name as a list, or a row by index as a dict. Missing values are None."""
    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns by name."""
    def to_rows(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts."""
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_arrow(self) -> pyarrow.Table: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...
    @staticmethod
    def _again(bytes: bytes) -> Table: ...

@final
class Scenario:
    """A network, its traffic and its model."""

    @staticmethod
    def from_toml(
        text: str, *, name: str = "scenario.toml", directory: _Path = ".", set: Mapping[str, _Setting] | None = None
    ) -> Scenario:
        """Reads a scenario from the text of a scenario file. Messages use `name`; paths in the text are relative to `directory`."""
    def set(self, key: str, value: _Setting) -> None:
        """Changes a setting of this scenario, as `--set` does: `set("link.A->B.bandwidth", "20 Mbit/s")`.

        Numbers of times, rates and sizes are seconds, bit/s and bytes. If a key accepts several units (a buffer, the rate of a
        source), write a text with a unit. A rejected setting changes nothing. The files of the scenario are read again and must
        be unchanged. The method is thread-safe.
        """
    def copy(self) -> Scenario:
        """Returns an independent copy."""
    def check(self) -> list[Problem]:
        """Returns all warnings about the scenario. (Errors are raised when it is loaded.)"""
    @property
    def nodes(self) -> list[str]: ...
    @property
    def links(self) -> list[str]:
        """Names of all links, `FROM->TO`."""
    @property
    def connections(self) -> list[str]: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def model(self) -> Literal["fluid", "fluid-literal", "packet"]: ...
    @property
    def seed(self) -> int: ...
    @property
    def is_random(self) -> bool:
        """True if runs depend on the seed: in the packet model and with users."""
    @property
    def settings(self) -> list[str]:
        """Settings as `KEY=VALUE`."""
    @property
    def digest(self) -> str:
        """SHA-256 of the scenario's files."""
    @property
    def text(self) -> str:
        """Text of the scenario file, without settings."""
    def run(
        self,
        *,
        model: str | None = None,
        seeds: int = 1,
        interval: _Quantity | None = None,
        start: _Quantity | None = None,
        end: _Quantity | None = None,
        by_event: bool = False,
        classes: bool = False,
        threads: int | None = None,
        progress: _Progress = None,
        out: _Path | None = None,
        format: str = "csv",
        every: _Quantity | None = None,
    ) -> Results:
        """Evaluates the scenario to its end, with the same results as `netflow run`.

        `model` is `fluid`, `packet` or `fluid-literal`; default: the scenario's model. `seeds` is the number of runs, with
        consecutive seeds from the scenario's seed; series are means over the runs. `interval` is that of the series (default
        0.5 s; at most 2e7 rows); `every` is its former name. The summary covers the time from `start` (default: the
        scenario's warm-up) to `end`; with `by_event` it also covers every period between events. `classes` keeps the series
        of every connection at every link. `progress=True` prints a line on the standard error; a function is called with the
        completed fraction at most ten times per second. `out` is a results directory to write, with series in `format` `csv`, `jsonl` or `parquet`.

        Ctrl-C raises Interrupted; its `results` contains the results until then.
        """
    def solve(self, *, at: _Quantity | None = None, starts: int = 10, threads: int | None = None) -> SteadyState:
        """Computes the steady state at a time (default: the end of the run), as `netflow solve` does, from `starts` random starting points."""
    def sensitivities(
        self, *, of: str | None = None, at: _Quantity | None = None, threads: int | None = None
    ) -> Sensitivities:
        """Computes the sensitivities to every link and demand, as `netflow solve --sensitivity` does.

        `of` selects one demand or connection; default: the total of all.
        """
    def headroom(
        self,
        *,
        max_utilization: float | None = None,
        max_delay: _Quantity | None = None,
        max_loss: float | None = None,
        scale: str | None = None,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> Headroom:
        """Computes the largest factor of all demands, or of the demand `scale`, within the given limits."""
    def failures(
        self,
        *,
        links: bool | None = None,
        nodes: bool | None = None,
        srlgs: bool | None = None,
        pairs: bool = False,
        sample: int | None = None,
        seed: int | None = None,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> Failures:
        """Simulates failures of links, nodes and shared-risk link groups (default: all three), one or two at a time."""
    def headroom_under_failures(
        self,
        *,
        max_utilization: float | None = None,
        max_delay: _Quantity | None = None,
        max_loss: float | None = None,
        links: bool | None = None,
        nodes: bool | None = None,
        srlgs: bool | None = None,
        pairs: bool = False,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> HeadroomUnderFailures:
        """Computes the largest factor of all demands within the limits, without failures and after each failure."""
    def plan(
        self,
        modules: _Path,
        *,
        candidates: _Path | None = None,
        growth: float = 1.0,
        max_utilization: float | None = None,
        max_utilization_intact: float | None = None,
        max_delay: _Quantity | None = None,
        max_loss: float | None = None,
        failures: bool = True,
        links: bool | None = None,
        nodes: bool | None = None,
        srlgs: bool | None = None,
        pairs: bool = False,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> Plan:
        """Finds the cheapest modules and new links for demands times `growth`, as `netflow plan` does.

        `modules` is a CSV table with `capacity`, `cost` and `link`; `candidates` one with `from`, `to`, `delay`, `metric` and
        `cost`. Without a limit, no link is loaded above 100 %.
        """
    def weights(
        self,
        *,
        max_changes: int | None = None,
        iterations: int = 500,
        seed: int = 1,
        failures: bool = True,
        links: bool | None = None,
        nodes: bool | None = None,
        srlgs: bool | None = None,
        pairs: bool = False,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> Weights:
        """Searches for routing metrics that lower the largest load of a link, as `netflow weights` does."""
    def availability(
        self,
        *,
        served: float = 0.99,
        slo: float | None = None,
        rest: float = 1e-6,
        states: int = 10_000,
        sample: int = 0,
        seed: int | None = None,
        at: _Quantity | None = None,
        threads: int | None = None,
    ) -> Availability:
        """Computes the fraction of the time in which each demand is served, if links, nodes and groups fail at random."""
    def simulation(
        self,
        *,
        model: str | None = None,
        bandwidths: Mapping[str, Iterable[_Quantity]] | None = None,
        delays: Mapping[str, Iterable[_Quantity]] | None = None,
        routes: Mapping[str, Iterable[Iterable[str]]] | None = None,
        rates: Mapping[str, Iterable[_Quantity]] | None = None,
    ) -> Simulation:
        """Returns a simulation of the scenario at time 0, to advance step by step.

        Declare the values to be set during the simulation: `bandwidths` and `delays` have the minimum and the maximum of
        links. `routes` has the additional paths of connections, each a list of node names from sender to receiver. `rates`
        has the minimum and the maximum of constant and Poisson sources, for each of their `count`: packets/s, or texts as in
        scenario files.
        """
    @staticmethod
    def _again(
        path: _Path, text: tuple[str, str] | None, outside: bool, settings: list[str], digest: str
    ) -> Scenario: ...
    def __copy__(self) -> Scenario: ...
    def __deepcopy__(self, _memo: object) -> Scenario: ...

def load(path: _Path, *, set: Mapping[str, _Setting] | None = None, allow_outside: bool = False) -> Scenario:
    """Reads and checks a scenario file. `set` changes settings, as `--set` does.

    Raises ScenarioError, or OSError if a file cannot be read. Files named in the scenario must be below its directory,
    unless `allow_outside` is True.
    """

@final
class Results:
    """Summary and time series of a run."""

    @property
    def summary(self) -> dict[str, Any]:
        """Contents of summary.json."""
    @property
    def summary_json(self) -> str: ...
    @property
    def link_means(self) -> Table:
        """A row for every link: means, maxima and totals over the summarized time.

        With several seeds, columns `_std` have the standard deviations. Columns `_seeds` have the number of seeds with a value,
        if some seeds have none.
        """
    @property
    def connection_means(self) -> Table:
        """A row for every connection, with columns as in `link_means`."""
    @property
    def links(self) -> Table:
        """A row for every link and interval, as in links.csv."""
    @property
    def connections(self) -> Table:
        """A row for every connection and interval, as in connections.csv."""
    @property
    def classes(self) -> Table:
        """A row for every connection, link and interval, as in classes.csv; requires `run(classes=True)`."""
    @property
    def waits(self) -> Table:
        """Response times of users, as in waits.csv."""
    @property
    def warnings(self) -> list[str]: ...
    @property
    def time_s(self) -> float:
        """Simulated time at the end of the run."""
    @property
    def steps(self) -> int: ...
    @property
    def seeds(self) -> int: ...
    @property
    def is_complete(self) -> bool:
        """True if the run finished."""
    def report(self, path: _Path) -> None:
        """Writes the report page of the run.

        If the run was not written to a directory (`out`), or another run has replaced it there, the run is repeated.
        """
    def _repr_html_(self) -> str: ...

@final
class SteadyState:
    """A network in steady state."""

    at_s: float
    residual: float
    """Residual: the largest relative difference of a link's load."""
    newton_steps: int
    starts: int
    starts_led_to_rest: int
    equilibria: int
    """Number of different steady states found."""
    rate_pps: float
    goodput_pps: float
    goodput_bps: float
    loss_probability: float
    delay_s: float
    links: Table
    connections: Table
    transfers: Table
    """Durations of the transfers of demands."""
    notes: list[str]
    """Differences between the model and the scenario."""

@final
class Sensitivities:
    """Sensitivities: derivatives of the results by the parameters of links and demands."""

    at_s: float
    of: str | None
    goodput_bps: float
    delay_s: float | None
    """None if `of` is bursty traffic."""
    delay_p95_s: float
    loss_probability: float
    one_sided_because_of: list[str]
    """Connections that make derivatives one-sided. Causes: a kink in a profile, a limit, links of equal bandwidth, or equal
    95th percentiles of delay."""
    links: Table
    """Links, largest gain of goodput first."""
    connections: Table
    """Derivatives by a factor of each demand, which is now 1. The largest increase of loss is first."""

@final
class Headroom:
    """The largest factor of demands within given limits."""

    at_s: float
    factor: float | None
    """None if a limit is exceeded even for the smallest demands."""
    scaled: str
    rate_pps: float
    goodput_bps: float
    loss_probability: float
    binding: str | None
    """The limit that is reached: `utilization`, `delay` or `loss`. None if no limit is reached."""
    binding_at: str | None
    links: Table
    connections: Table

@final
class Failures:
    """Results of a failure analysis."""

    at_s: float
    possible_cases: int
    cases_not_at_rest: int
    goodput_bps: float
    """Value of the network without failures."""
    max_load: float | None
    """Value of the network without failures."""
    cases: Table
    """Failure cases, worst first."""
    links: Table
    down_already: list[str]
    def report(self, path: _Path) -> None:
        """Writes a page, as `netflow failures -o` does: maps of the goodput loss and of link utilization, and tables."""
    def _repr_html_(self) -> str: ...

@final
class HeadroomUnderFailures:
    """The largest factor of all demands within given limits, without failures and after each failure."""

    at_s: float
    factor: float | None
    """None if a limit is exceeded even for the smallest demands."""
    failure: str | None
    """Failed elements in the case that limits the factor; None for the network without failures."""
    binding: str | None
    """The limit that is reached: `utilization`, `delay` or `loss`. None if no limit is reached."""
    binding_at: str | None
    intact_factor: float | None
    intact_binding: str | None
    intact_binding_at: str | None
    cases: int
    possible_cases: int
    disconnecting_cases: int
    """Failures in which connections lose their route; limits do not apply to them."""
    cases_without_steady_state: int
    cases_rerouted_unsplit: int

@final
class Plan:
    """The cheapest upgrades and new links."""

    at_s: float
    cost: float
    lower_bound: float
    is_optimal: bool
    cases: int
    links: Table
    def write(self, path: _Path) -> list[pathlib.Path]:
        """Writes the scenario with the plan, and its table of links next to it. Returns the files."""

@final
class Weights:
    """Routing metrics that lower the largest load of a link."""

    at_s: float
    cases: int
    max_load: float
    changes: int
    lower_bound: float
    """No routing has a lower largest load."""
    bounding_failure: str | None
    settings: Table
    """The best metrics by the number of changes."""
    metrics: Table
    """Changed metrics, with loads before and after."""
    def write(self, path: _Path) -> list[pathlib.Path]:
        """Writes the scenario with the new metrics, and its table of links next to it. Returns the files."""

@final
class Availability:
    """Availability of demands."""

    at_s: float
    network: Table
    """One row: all demands together, and the evaluated states."""
    demands: Table
    """Demands, lowest availability first."""
    down_already: list[str]

@final
class Simulation:
    """A simulation in progress. Read and change the network between steps."""

    def step(self) -> None:
        """Advances by one step of the engine."""
    def advance(self, time: _Quantity) -> float:
        """Advances by a duration. Returns the new time in seconds."""
    def run_until(self, time: _Quantity) -> float:
        """Advances to a time. Returns the new time in seconds."""
    def copy(self) -> Simulation:
        """Returns an independent copy, which continues with identical results."""
    def __copy__(self) -> Simulation: ...
    def __deepcopy__(self, _memo: object) -> Simulation: ...
    @property
    def time_s(self) -> float: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def is_done(self) -> bool: ...
    @property
    def steps(self) -> int: ...
    def set_bandwidth(self, link: str, bandwidth: _Quantity) -> None:
        """Sets the bandwidth of a link from now on, within `bandwidths_bps`. It also applies to queued packets."""
    def set_loss(self, link: str, loss: float) -> None:
        """Sets the probability of random loss in transit on a link from now on. It replaces the link's loss model."""
    def set_delay(self, link: str, delay: _Quantity) -> None:
        """Sets the delay of a link from now on, within `delays_s`. Packets that leave the queue later may overtake packets in flight."""
    def delays_s(self, link: str) -> tuple[float, float]:
        """Minimum and maximum delay of a link in seconds."""
    def bandwidths_bps(self, link: str) -> tuple[float, float]:
        """Minimum and maximum bandwidth of a link in bit/s."""
    def set_route(self, connection: str, path: Iterable[str] | None) -> None:
        """Sets the path of a connection's data from now on: one of `paths`, or None for routing.

        Packets in flight keep their path. If a link of the path fails later, packets sent on it are lost.
        """
    def path(self, connection: str) -> list[str]:
        """Returns the nodes of a connection's current path; empty if failures leave no route."""
    def paths(self, connection: str) -> list[list[str]]:
        """Returns the paths for `set_route`, the original path first; empty if `routes` has none for the connection."""
    def set_rate(self, connection: str, rate: _Quantity) -> None:
        """Sets the rate of each of a connection's `count` from now on, within `rates_pps`. Numbers are packets/s."""
    def rates_pps(self, connection: str) -> tuple[float, float] | None:
        """Returns the minimum and maximum rate for `set_rate`; None for TCP and users, which control their rate."""
    def set_marker(self, aggregate: str, committed: _Quantity, *, peak: _Quantity | None = None) -> None:
        """Sets the rates of the marker of an aggregate, or of a connection's aggregate, from now on.

        Without `peak` the peak rate, if any, does not change.
        """
    def marker_rates_bps(self, aggregate: str) -> tuple[float, float | None]:
        """Returns the current committed and peak rate of a marker; the peak rate is None if the marker has none."""
    def queue_pkts(self, link: str) -> float:
        """Returns the number of packets in the queue now."""
    def blocking(self, link: str) -> float:
        """Returns the probability that the queue drops a packet that arrives now."""
    def utilization(self, link: str) -> float: ...
    def rate_pps(self, connection: str) -> float:
        """Returns the current sending rate of a connection in packets/s."""
    @property
    def links(self) -> Table:
        """Means of every link over the last `advance` or `run_until`, with the columns of links.csv; not updated by `step`."""
    @property
    def connections(self) -> Table:
        """Means of every connection over the last `advance` or `run_until`, with the columns of connections.csv."""
    @property
    def totals(self) -> tuple[float, float, float]:
        """Numbers of data packets sent, delivered and lost so far."""

@final
class Profile:
    """A profile as a function of numbers. The package's class `Profile` also supports arrays."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def domain(self) -> tuple[tuple[float, float], tuple[float, float]]: ...
    @property
    def max_window_pkts(self) -> float | None: ...
    def throughput(self, loss: float, rtt_s: float) -> float: ...
    def throughputs(self, loss: bytes, rtt_s: bytes) -> bytes: ...
    def rests_on(self, loss: float, rtt_s: float) -> str: ...
    def to_toml(self) -> str: ...

def profile(name: str) -> Profile: ...
def profiles() -> list[str]:
    """Returns the names of all built-in profiles."""

def latency(
    sizes: Sequence[_Quantity],
    delays: Sequence[_Quantity],
    losses: Sequence[float],
    *,
    model: str = "rounds",
    stack: str | None = None,
    congestion: str | None = None,
    mss: int | None = None,
    bandwidth: _Quantity | None = None,
    samples: int | None = None,
    threads: int | None = None,
) -> Table: ...
def import_topology(
    files: Sequence[_Path],
    *,
    text: str | None = None,
    format: str | None = None,
    bandwidth: _Quantity | None = None,
    delay: _Quantity | None = None,
    buffer: str | None = None,
    detour: float | None = None,
    kind: str | None = None,
    ecmp: bool | None = None,
) -> tuple[Scenario, list[str], list[str]]: ...

@final
class Trace:
    """Measurements from a packet trace."""

    format: str
    links: Table
    """A row for every link and interval, as in links.csv; empty for captures."""
    connections: Table
    """A row for every sender and interval, as in connections.csv."""
    samples: Table
    """Samples of every sender over k packets: loss, round-trip time, throughput."""

def trace(
    path: _Path, *, interval: _Quantity | None = None, k: int = 100, every: _Quantity | None = None
) -> Trace:
    """Reads a trace: ns-2, pcap or pcapng, possibly compressed. `interval` is 0.5 s by default; `every` is its
    former name.

    Malformed data in the trace is reported as a warning.
    """

def fit_profile(traces: Sequence[_Path], *, name: str = "fitted", method: str = "long-run", k: int = 100) -> str: ...
def profile_from_toml(text: str) -> Profile: ...
def mark(
    times_s: Sequence[float],
    sizes_bytes: Sequence[float],
    conditioner: str,
    committed_rate: _Quantity,
    *,
    windows_pkts: Sequence[float] | None = None,
    precedences: Sequence[int] | None = None,
    peak_rate: _Quantity | None = None,
    averaging: _Quantity | None = None,
    committed_burst: _Quantity | None = None,
    excess_burst: _Quantity | None = None,
    peak_burst: _Quantity | None = None,
    rtt: _Quantity | None = None,
    min_rtt: _Quantity | None = None,
    rto: _Quantity | None = None,
    min_rto: _Quantity | None = None,
    small_window: float | None = None,
    seed: int = 1,
) -> bytes: ...

@final
class Sweep:
    def __init__(
        self,
        scenario: Scenario,
        vary: Mapping[str, Any],
        *,
        fail: str | None = None,
        model: str = "solve",
        at: _Quantity | None = None,
        seeds: int = 1,
        interval: _Quantity | None = None,
        format: str = "parquet",
        threads: int | None = None,
        tried: tuple[str, bool] | None = None,
    ) -> None: ...
    @property
    def tried(self) -> tuple[str, bool]: ...
    @property
    def cases(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    def estimate_s(self) -> float: ...
    def prepare(self, directory: _Path, *, force: bool = False) -> int: ...
    def complete_chunks(self, directory: _Path) -> list[int]: ...
    def write(
        self, directory: _Path, *, force: bool = False, threads: int | None = None, progress: _Progress = None
    ) -> dict[str, Any]: ...
    def write_chunks(self, directory: _Path, chunks: Sequence[int], *, threads: int | None = None) -> None: ...

def unit(key: str) -> str | None: ...
def command(arguments: Sequence[str]) -> int: ...
def version() -> str: ...
def panic_for_a_test() -> None: ...
