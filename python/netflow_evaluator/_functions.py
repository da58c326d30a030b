"""Profiles over arrays, transfer times, imports and packet marking."""

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
    """Imports a network from GraphML, SNDlib, CSV, containerlab, OSPF and other formats, as `netflow import` does.

    The first file contains the network, further files contain demands. Missing values are taken from `bandwidth`, `delay`,
    `buffer`, `detour`, `kind` (of demands) and `ecmp`. Each assumption is reported as a warning and as a comment in the
    scenario's `text`.
    """
    if not files:
        raise ValueError("no file to import")
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
    """Computes the duration of short TCP transfers.

    Returns a row for every combination of `size`, `delay` (one-way) and `loss` (probability in each direction). Sizes are
    bytes, or texts such as `"10 KB"` and `"20 pkt"`. Delays are seconds, or texts such as `"50 ms"`. `congestion` replaces
    the congestion control of the stack in the model `"rounds"`.
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
    """A TCP profile: steady-state throughput in packets/s as a function of loss probability and round-trip time."""

    def __init__(self, native: _native.Profile) -> None:
        self._native = native

    def __call__(self, loss: Any, rtt: Any) -> Any:
        """Returns packets/s for loss probabilities and round-trip times in seconds: numbers, or arrays that broadcast."""
        if is_number(loss) and is_number(rtt):
            return self._native.throughput(float(loss), float(rtt))
        import numpy as np

        losses, rtts = np.broadcast_arrays(np.asarray(loss, dtype=np.float64), np.asarray(rtt, dtype=np.float64))
        found = self._native.throughputs(losses.tobytes(), rtts.tobytes())
        return np.frombuffer(found, dtype=np.float64).reshape(losses.shape).copy()

    @property
    def name(self) -> str:
        """Name of the profile in scenario files."""
        return self._native.name

    @property
    def description(self) -> str:
        """Description and origin of the profile."""
        return self._native.description

    @property
    def domain(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Measured ranges of the loss probability and of the round-trip time in seconds."""
        return self._native.domain

    @property
    def max_window_pkts(self) -> float | None:
        """Largest window in packets, or None."""
        return self._native.max_window_pkts

    def rests_on(self, loss: float, rtt: float) -> str:
        """Returns the basis of the throughput at a point: `measured`, or the kind of extrapolation."""
        return self._native.rests_on(loss, rtt)

    def to_toml(self) -> str:
        """Returns the text of the profile file."""
        return self._native.to_toml()

    def __repr__(self) -> str:
        return repr(self._native)


def profile(name: str) -> Profile:
    """Returns a built-in profile by name or alias (see `profiles()`), or reads a profile file."""
    return Profile(_native.profile(name))


def fit_profile(
    *traces: str | os.PathLike[str], name: str = "fitted", method: str = "long-run", k: int = 100
) -> Profile:
    """Fits a profile to packet traces captured at a sender (ns-2, pcap, pcapng), as `netflow profile fit` does.

    Each sample covers `k` packets. `method` is `long-run` or `paper`.
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
    """Marks a stream of packets with a DiffServ conditioner, as `netflow mark` does.

    Returns the drop precedence (0, 1 or 2) of each packet: a NumPy array if `times` is one, otherwise a list. `times` are
    arrival times in seconds in nondecreasing order, `sizes` are bytes. `windows` are the congestion windows of the senders
    in packets, `precedences` the precedences on arrival. `settings` are the options of `netflow mark`: `peak_rate`,
    `averaging`, `committed_burst`, `excess_burst`, `peak_burst`, `rtt`, `min_rtt`, `rto`, `min_rto`, `small_window`, `seed`.
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
