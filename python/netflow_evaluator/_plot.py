"""Plots of results with matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import Results, Table

LABELS = {
    "queue_pkts": "queue in packets",
    "utilization": "utilization",
    "loss_probability": "loss probability",
    "sojourn_time_s": "sojourn time in s",
    "arrival_pps": "arrivals in packets/s",
    "departure_pps": "departures in packets/s",
    "send_pps": "sent in packets/s",
    "goodput_pps": "goodput in packets/s",
    "rtt_s": "round-trip time in s",
    "delay_s": "delay in s",
}


def plot_links(
    results: Results | Sequence[Results], links: Iterable[str] | None = None, *, column: str = "queue_pkts", ax: Any = None
) -> Any:
    """Plots one column of links over time. For several results, such as seeds, plots the mean and the range.

    Several results must have the same intervals. Default of `links`: the five links with the largest mean of `column`.
    Returns the matplotlib axes.
    """
    return _plot(_all(results), "links", "link", links, column, ax)


def plot_connections(
    results: Results | Sequence[Results],
    connections: Iterable[str] | None = None,
    *,
    column: str = "goodput_pps",
    ax: Any = None,
) -> Any:
    """Plots one column of connections over time, as `plot_links` does for links."""
    return _plot(_all(results), "connections", "connection", connections, column, ax)


def _all(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _series(table: Table, key: str, column: str) -> dict[str, tuple[list[float], list[float]]]:
    if column not in table.column_names:
        raise ValueError(f"unknown column `{column}`; the columns are {', '.join(table.column_names)}")
    series: dict[str, tuple[list[float], list[float]]] = {}
    for time_s, name, value in zip(table["time_s"], table[key], table[column]):
        times, values = series.setdefault(name, ([], []))
        times.append(time_s)
        values.append(float("nan") if value is None else value)
    return series


def _mean(known: list[float]) -> float:
    return sum(known) / len(known) if known else float("-inf")


def _intervals(times: list[float]) -> str:
    return f"{len(times)} intervals to {times[-1]:g} s" if times else "no intervals"


def _plot(runs: list[Any], table: str, key: str, names: Iterable[str] | None, column: str, ax: Any) -> Any:
    import matplotlib.pyplot as plt

    if not runs:
        raise ValueError("no results to plot")
    all_series = [_series(getattr(run, table), key, column) for run in runs]
    if names is None:
        first = all_series[0]
        means = {name: _mean([v for v in values if v == v]) for name, (_, values) in first.items()}
        names = sorted(means, key=lambda name: -means[name])[:5]
    axes = ax if ax is not None else plt.gca()
    for name in names:
        for series in all_series:
            if name not in series:
                raise ValueError(f"unknown {key} `{name}`")
        times = all_series[0][name][0]
        for place, series in enumerate(all_series):
            if series[name][0] != times:
                raise ValueError(
                    f"results {place} have {_intervals(series[name][0])}, but earlier results have {_intervals(times)}:"
                    " run all with the same interval to the same end"
                )
        rows = list(zip(*(series[name][1] for series in all_series)))
        middle = [sum(row) / len(row) for row in rows]
        (line,) = axes.plot(times, middle, label=name)
        if len(runs) > 1:
            lowest, highest = [min(row) for row in rows], [max(row) for row in rows]
            axes.fill_between(times, lowest, highest, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xlabel("time in s")
    axes.set_ylabel(LABELS.get(column, column))
    axes.legend()
    return axes
