"""Functions of a few numbers: profiles over arrays, times of transfers, imports."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

from . import _native
from ._native import Scenario, Table
from ._numbers import is_number


def import_topology(
    *files: str | os.PathLike[str],
    format: str | None = None,
    bandwidth: float | str | None = None,
    delay: float | str | None = None,
    buffer: str | None = None,
    detour: float | None = None,
    kind: str | None = None,
    ecmp: bool | None = None,
) -> Scenario:
    """A scenario of a network that another program's file has (GraphML, GML, SNDlib, Repetita, node-link JSON, CSV, ns-2).

    More files have demands. What the files do not say is taken from `bandwidth`, `delay`, `buffer`, `detour`, the `kind` of
    demands and `ecmp`, as `netflow import` does; each assumption is told by a warning, and stands in the scenario's `text`.
    """
    if not files:
        raise ValueError("there is no file to import")
    scenario, assumptions, _ = _native.import_topology(
        [os.fspath(file) for file in files],
        format=format,
        bandwidth=bandwidth,
        delay=delay,
        buffer=buffer,
        detour=detour,
        kind=kind,
        ecmp=ecmp,
    )
    for assumption in assumptions:
        warnings.warn(f"assumed: {assumption}", stacklevel=2)
    return scenario


def latency(
    size: Any,
    delay: Any,
    loss: float | Iterable[float] = 0.0,
    *,
    model: str = "rounds",
    stack: str | None = None,
    congestion: str | None = None,
    mss: int | None = None,
    bandwidth: float | str | None = None,
    samples: int | None = None,
    threads: int | None = None,
) -> Table:
    """How long short TCP transfers take: a row for every combination of `size`, `delay` (one way) and `loss` (each way).

    Sizes are bytes, or texts such as `"10 KB"` and `"20 pkt"`; delays are seconds, or texts such as `"50 ms"`.
    `congestion` is that of the model `"rounds"`, instead of the stack's.
    """
    return _native.latency(
        _all(size),
        _all(delay),
        [float(it) for it in _all(loss)],
        model=model,
        stack=stack,
        congestion=congestion,
        mss=mss,
        bandwidth=bandwidth,
        samples=samples,
        threads=threads,
    )


def _all(given: Any) -> list[Any]:
    if isinstance(given, str) or is_number(given):
        return [given]
    return list(given)


class Profile:
    """A TCP profile: the throughput in packets/s that a source settles at, by loss probability and round-trip time."""

    def __init__(self, native: _native.Profile) -> None:
        self._native = native

    def __call__(self, loss: Any, rtt: Any) -> Any:
        """Packets/s at these loss probabilities and round-trip times in seconds: numbers, or arrays that broadcast."""
        if is_number(loss) and is_number(rtt):
            return self._native.throughput(float(loss), float(rtt))
        import numpy as np

        losses, rtts = np.broadcast_arrays(np.asarray(loss, dtype=np.float64), np.asarray(rtt, dtype=np.float64))
        found = self._native.throughputs(losses.tobytes(), rtts.tobytes())
        return np.frombuffer(found, dtype=np.float64).reshape(losses.shape).copy()

    @property
    def name(self) -> str:
        """The name by which scenarios refer to it."""
        return self._native.name

    @property
    def description(self) -> str:
        """What it is and where it was measured."""
        return self._native.description

    @property
    def domain(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The loss probabilities, and the round-trip times in seconds, that it was measured between."""
        return self._native.domain

    @property
    def max_window_pkts(self) -> float | None:
        """The largest window in packets, where the profile has one."""
        return self._native.max_window_pkts

    def rests_on(self, loss: float, rtt: float) -> str:
        """What the throughput at a point rests on: `measured`, or how far it is extended from there."""
        return self._native.rests_on(loss, rtt)

    def to_toml(self) -> str:
        """The profile file."""
        return self._native.to_toml()

    def __repr__(self) -> str:
        return repr(self._native)


def profile(name: str) -> Profile:
    """A built-in profile by its name or alias (`profiles()` has all names), or that of a profile file."""
    return Profile(_native.profile(name))


def fit_profile(
    *traces: str | os.PathLike[str], name: str = "fitted", method: str = "long-run", k: int = 100
) -> Profile:
    """A profile fitted to packet traces made at a sender (ns-2, pcap, pcapng), as `netflow profile fit` does.

    Samples are of `k` packets; `method` is `long-run` or `paper`.
    """
    text = _native.fit_profile([os.fspath(trace) for trace in traces], name=name, method=method, k=k)
    return Profile(_native.profile_from_toml(text))


def mark(
    times: Iterable[float],
    sizes: Iterable[float],
    *,
    committed_rate: float | str,
    conditioner: str = "standard",
    windows: Iterable[float] | None = None,
    precedences: Iterable[int] | None = None,
    **settings: Any,
) -> Any:
    """The drop precedence (0, 1 or 2) that a DiffServ conditioner gives each packet of a stream, as `netflow mark` does.

    Packets come at `times` in seconds, which do not fall, with `sizes` in bytes; `windows` are those of their connections in
    packets, `precedences` what they come with. `settings` are those of `netflow mark`: `peak_rate`, `averaging`,
    `committed_burst`, `excess_burst`, `peak_burst`, `rtt`, `min_rtt`, `rto`, `min_rto`, `small_window`, `seed`.
    Of a NumPy array of times there is an array, otherwise a list.
    """
    found = _native.mark(
        [float(time) for time in times],
        [float(size) for size in sizes],
        conditioner,
        committed_rate,
        windows_pkts=None if windows is None else [float(window) for window in windows],
        precedences=None if precedences is None else [int(precedence) for precedence in precedences],
        **settings,
    )
    if type(times).__module__ == "numpy":
        import numpy as np

        return np.frombuffer(found, dtype=np.uint8).copy()
    return list(found)
