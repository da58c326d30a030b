"""The extension module. Times are seconds, rates bit/s or packets/s, as the names' endings say."""

import os
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
    """A scenario, a setting or another input is wrong."""

    problems: list[Problem]
    """Everything that is wrong or suspicious, with its place."""

class EvaluationError(RuntimeError):
    """The scenario is right, but the engine could not evaluate it, or not to the end."""

class InternalError(RuntimeError):
    """A fault of netflow itself: please report it with the place that it names."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C."""

    results: Results | None
    """What was done until then."""

@final
class Table:
    """Rows of named columns, which Arrow's readers (polars, pandas, DuckDB, pyarrow) take without a copy."""

    @property
    def column_names(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: str | int) -> Any:
        """A column by its name, as a list, or a row by its place, as a dict. What is not known is None."""
    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by their names."""
    def to_rows(self) -> list[dict[str, Any]]:
        """The rows."""
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
    """A network, its traffic and how to evaluate it."""

    @staticmethod
    def from_toml(
        text: str, *, name: str = "scenario.toml", directory: _Path = ".", set: Mapping[str, _Setting] | None = None
    ) -> Scenario:
        """A scenario from the text of a scenario file; messages call it `name`, and paths in it are relative to `directory`."""
    def set(self, key: str, value: _Setting) -> None:
        """Changes a setting of this scenario, as `--set` does: `set("link.A->B.bandwidth", "20 Mbit/s")`.

        Numbers of times, rates and sizes are seconds, bit/s and bytes. Where a number may be of other units as well (a buffer, the
        rate of a source), only a text is taken.
        What is refused changes nothing. The files of a scenario are read again for it: they must be what they were. Several threads
        may call it.
        """
    def copy(self) -> Scenario:
        """One that can be changed by itself."""
    def check(self) -> list[Problem]:
        """What is suspicious about it. (What is wrong was refused.)"""
    @property
    def nodes(self) -> list[str]: ...
    @property
    def links(self) -> list[str]:
        """The names of all links, `FROM->TO`."""
    @property
    def connections(self) -> list[str]: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def model(self) -> Literal["fluid", "fluid-literal", "packets"]: ...
    @property
    def seed(self) -> int: ...
    @property
    def is_random(self) -> bool:
        """Whether runs depend on the seed: packets and users do."""
    @property
    def settings(self) -> list[str]:
        """What was set, as `KEY=VALUE`."""
    @property
    def digest(self) -> str:
        """SHA-256 of the files that it was read from."""
    @property
    def text(self) -> str:
        """The scenario file, without what was set."""
    def run(
        self,
        *,
        model: str | None = None,
        seeds: int = 1,
        every: _Quantity | None = None,
        start: _Quantity | None = None,
        end: _Quantity | None = None,
        by_event: bool = False,
        classes: bool = False,
        threads: int | None = None,
        progress: _Progress = None,
        out: _Path | None = None,
        format: str = "csv",
    ) -> Results:
        """Evaluates it to its end, as `netflow run` does, to the same bits.

        `model` is `fluid`, `packets` or `fluid-literal`; without it, the scenario's. `seeds` runs have the scenario's
        seed and those after it; series are their means. Series have an interval of `every` (0.5 s), and 2e7 rows at
        most. The summary is of what lies between `start` (the scenario's warmup) and `end`; with `by_event` of every
        period between events, too. `classes` keeps the series of every connection at every link. `progress` is True,
        for a line on the standard error, or is called with the part that is done, at most ten times a second. `out` is a results
        directory to write as well, with series as `csv`, `jsonl` or `parquet`.

        Ctrl-C raises Interrupted, whose `results` has what was done until then.
        """
    def solve(self, *, at: _Quantity | None = None, starts: int = 10, threads: int | None = None) -> SteadyState:
        """The steady state, as `netflow solve` finds it, at a time (the end of the run), with so many random starts."""
    def sensitivities(
        self, *, of: str | None = None, at: _Quantity | None = None, threads: int | None = None
    ) -> Sensitivities:
        """What a little more of every link and demand would change, as `netflow solve --where` tells it; for what all get, or all
        parts of the demand or connection called `of`."""
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
        """How many times the demands, or all parts of the one called `scale`, may be what they are within these bounds."""
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
        """What happens if links, nodes or shared-risk groups fail (all, if none is said), one or two at a time."""
    def simulation(
        self,
        *,
        model: str | None = None,
        bandwidths: Mapping[str, Iterable[_Quantity]] | None = None,
        delays: Mapping[str, Iterable[_Quantity]] | None = None,
        routes: Mapping[str, Iterable[Iterable[str]]] | None = None,
        rates: Mapping[str, Iterable[_Quantity]] | None = None,
    ) -> Simulation:
        """The scenario at time 0, to be moved step by step.

        `bandwidths` has, of links whose bandwidth is to be set on the way, the least and the most of it; `delays` the same of delays; `routes` the
        paths that connections may take besides their own, each the names of its nodes from sender to receiver; `rates` the
        least and the most of constant and Poisson sources: packets/s, or texts as in scenario files, of each of their `count`.
        """
    @staticmethod
    def _again(
        path: _Path, text: tuple[str, str] | None, outside: bool, settings: list[str], digest: str
    ) -> Scenario: ...
    def __copy__(self) -> Scenario: ...
    def __deepcopy__(self, _memo: object) -> Scenario: ...

def load(path: _Path, *, set: Mapping[str, _Setting] | None = None, allow_outside: bool = False) -> Scenario:
    """Reads and checks a scenario file; `set` has settings that are different this time.

    Raises ScenarioError, or OSError for a file that cannot be read. Files that it names must be below its folder,
    unless `allow_outside`.
    """

@final
class Results:
    """Means, maxima and totals of a run, and its series."""

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json has."""
    @property
    def summary_json(self) -> str: ...
    @property
    def link_means(self) -> Table:
        """A row for every link: means, maxima and totals over what is summarized.

        Of several seeds their standard deviations stand beside, as `_std`; and as `_seeds` how many have a number that not all have.
        """
    @property
    def connection_means(self) -> Table:
        """A row for every connection, likewise."""
    @property
    def links(self) -> Table:
        """Every link in every interval, as links.csv."""
    @property
    def connections(self) -> Table:
        """Every connection in every interval, as connections.csv."""
    @property
    def classes(self) -> Table:
        """Every connection at every link in every interval, as classes.csv, of a run with `classes=True`."""
    @property
    def waits(self) -> Table:
        """What users waited, as waits.csv."""
    @property
    def warnings(self) -> list[str]: ...
    @property
    def time_s(self) -> float:
        """How far the run came."""
    @property
    def steps(self) -> int: ...
    @property
    def seeds(self) -> int: ...
    @property
    def is_complete(self) -> bool:
        """Whether the run came to its end."""
    def report(self, path: _Path) -> None:
        """Writes the run's page. A run that was not written to a directory (`out`), or whose directory another run has by now, is
        repeated for it.
        """
    def _repr_html_(self) -> str: ...

@final
class SteadyState:
    """A network at rest."""

    at_s: float
    residual: float
    """How far from rest it is: the largest relative difference of a link's load."""
    newton_steps: int
    starts: int
    starts_led_to_rest: int
    equilibria: int
    """Different steady states that were met."""
    rate_pps: float
    goodput_pps: float
    goodput_bps: float
    loss_probability: float
    delay_s: float
    links: Table
    connections: Table
    transfers: Table
    """How long the transfers of demands take."""
    notes: list[str]
    """What is left out, or not what the scenario asks for."""

@final
class Sensitivities:
    """What a little more of every link and demand would change."""

    at_s: float
    of: str | None
    goodput_bps: float
    delay_s: float | None
    """None of what comes in bursts, alone."""
    delay_p95_s: float
    loss_probability: float
    one_sided_because_of: list[str]
    """Connections whose profile or limit bends right there, whose transfers cross links of the same bandwidth, or whose
    packets all take the 95th percentile as those of others do."""
    links: Table
    """What gains most goodput stands first."""
    connections: Table
    """By a factor of each demand, which is 1; what adds most loss stands first."""

@final
class Headroom:
    """How many times demands may be what they are."""

    at_s: float
    factor: float | None
    """None, if bounds are broken however small demands are."""
    scaled: str
    rate_pps: float
    goodput_bps: float
    loss_probability: float
    binding: str | None
    """`utilization`, `delay` or `loss`; None, if no bound is met."""
    binding_at: str | None
    links: Table
    connections: Table

@final
class Failures:
    """A network under failures."""

    at_s: float
    possible_cases: int
    cases_not_at_rest: int
    goodput_bps: float
    """Of the intact network."""
    max_load: float | None
    """Of the intact network."""
    cases: Table
    """The worst first."""
    links: Table
    down_already: list[str]
    def report(self, path: _Path) -> None:
        """Writes a page, as `netflow failures -o` does: maps of what a failure costs and of how busy links get, and tables."""
    def _repr_html_(self) -> str: ...

@final
class Simulation:
    """A network on its way through time, which is read between steps."""

    def step(self) -> None:
        """One step of the engine."""
    def advance(self, time: _Quantity) -> float:
        """Goes on for so long; returns the time in seconds that it is then."""
    def run_until(self, time: _Quantity) -> float:
        """Goes on until this time."""
    def copy(self) -> Simulation:
        """One that goes on by itself, with the same bits."""
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
        """The link has this bandwidth from now on, within `bandwidths_bps`: what is queued takes longer or shorter."""
    def set_loss(self, link: str, loss: float) -> None:
        """The link loses packets on the way with this probability from now on, and by nothing else."""
    def set_delay(self, link: str, delay: _Quantity) -> None:
        """The link has this delay from now on, within `delays_s`: of what leaves its queue later, which may overtake what is on the way."""
    def delays_s(self, link: str) -> tuple[float, float]:
        """The shortest and the longest delay that a link may have."""
    def bandwidths_bps(self, link: str) -> tuple[float, float]:
        """The least and the most bandwidth that a link may have."""
    def set_route(self, connection: str, path: Iterable[str] | None) -> None:
        """The connection's data goes along these nodes from now on, one of `paths`; None: where routing leads it.

        What is under way keeps to its path. If a link of the path fails later, what is sent there is lost.
        """
    def path(self, connection: str) -> list[str]:
        """The nodes along which a connection's data is sent from now on; none while failures leave no way."""
    def paths(self, connection: str) -> list[list[str]]:
        """The paths that a connection may be set to: its own first; none if `routes` has none."""
    def set_rate(self, connection: str, rate: _Quantity) -> None:
        """Each of a connection's `count` sends at this rate from now on, within `rates_pps`: a number is in packets/s."""
    def rates_pps(self, connection: str) -> tuple[float, float] | None:
        """The least and the most that a connection may be set to; None of TCP and users, which decide themselves."""
    def set_marker(self, aggregate: str, committed: _Quantity, *, peak: _Quantity | None = None) -> None:
        """The marker of an aggregate, or of the one that a connection is in, has these rates from now on.

        Without `peak` its peak rate, if it looks at one, stays.
        """
    def marker_rates_bps(self, aggregate: str) -> tuple[float, float | None]:
        """The committed and the peak rate of a marker as they are now; None if it looks at none."""
    def queue_pkts(self, link: str) -> float:
        """Packets in the queue now."""
    def blocking(self, link: str) -> float:
        """Probability that a packet that arrives now is refused."""
    def utilization(self, link: str) -> float: ...
    def rate_pps(self, connection: str) -> float:
        """What a connection sends now."""
    @property
    def links(self) -> Table:
        """Every link since the last `advance` or `run_until` began, with the columns of links.csv; of a `step` it tells nothing."""
    @property
    def connections(self) -> Table:
        """Every connection likewise."""
    @property
    def totals(self) -> tuple[float, float, float]:
        """Packets of data sent, delivered and lost so far."""

@final
class Profile:
    """A profile over numbers; the package's own is over arrays, too."""

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
    """The names of all built-in profiles."""

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
    """What a packet trace shows."""

    format: str
    links: Table
    """Every link in every interval, as links.csv; of captures there are none."""
    connections: Table
    """What every sender sent, as connections.csv."""
    samples: Table
    """What every sender saw over k packets: loss, round-trip time, throughput."""

def trace(path: _Path, *, every: _Quantity | None = None, k: int = 100) -> Trace:
    """Reads a trace to its end: ns-2, pcap or pcapng, compressed or not, in intervals of `every` (0.5 s).

    A warning tells what was malformed in it.
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
        every: _Quantity | None = None,
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
