"""What notebooks show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Failures, Results, Table

SHOWN = 10


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))


def _rows(rows: list[dict[str, object]], columns: list[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in columns) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(it: Table) -> str:
    """The first rows of a table."""
    rows = [it[i] for i in range(min(SHOWN, len(it)))]
    more = f"<p>… and {len(it) - SHOWN} more rows</p>" if len(it) > SHOWN else ""
    return _rows(rows, it.column_names) + more


def results(it: Results) -> str:
    """The busiest links and the fastest connections of a run, and what was suspicious about it."""
    links = sorted(it.link_means.to_rows(), key=lambda row: -row["utilization"])
    connections = sorted(it.connection_means.to_rows(), key=lambda row: -row["mean_goodput_pps"])
    seeds = "" if it.seeds == 1 else f", means over {it.seeds} seeds"
    parts = [
        f"<p><b>{it.time_s:g} s of network time{seeds}</b></p>",
        _some(links, ["link", "utilization", "mean_queue_pkts", "max_queue_pkts", "loss_probability"], "links"),
        _some(connections, ["connection", "mean_goodput_pps", "loss_probability", "mean_rtt_s", "mean_delay_s"], "connections"),
    ]
    if it.warnings:
        parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in it.warnings) + "</ul>")
    return "".join(parts)


def failures(it: Failures) -> str:
    """The failures that are worst, and which of them have no rest."""
    cases = it.cases.to_rows()
    parts = [
        f"<p><b>{len(cases)} of {it.possible_cases} cases at {it.at_s:g} s</b>; ",
        f"{it.goodput_bps / 1e6:.4g} Mbit/s of goodput where nothing fails</p>",
    ]
    if it.down_already:
        parts.append(f"<p>down already: {escape(', '.join(it.down_already))}</p>")
    if it.cases_not_at_rest:
        parts.append(f"<p>{it.cases_not_at_rest} do not come to rest: nothing is known of those</p>")
    columns = ["failure", "max_load", "max_load_link", "max_loss", "lost_goodput", "blocked_connections", "hardest_hit"]
    parts.append(_some(cases, columns, "cases"))
    return "".join(parts)


def _some(rows: list[dict[str, object]], columns: list[str], noun: str) -> str:
    known = [name for name in columns if not rows or name in rows[0]]
    more = f"<p>… and {len(rows) - SHOWN} more {noun}</p>" if len(rows) > SHOWN else ""
    return _rows(rows[:SHOWN], known) + more
