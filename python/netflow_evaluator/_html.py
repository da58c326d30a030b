"""HTML output for notebooks."""

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
    """Returns the first rows of a table."""
    rows = [it[i] for i in range(min(SHOWN, len(it)))]
    more = f"<p>… and {len(it) - SHOWN} more rows</p>" if len(it) > SHOWN else ""
    return _rows(rows, it.column_names) + more


def results(it: Results) -> str:
    """Returns the busiest links, the fastest connections and the warnings of a run."""
    links = sorted(it.link_means.to_rows(), key=lambda row: -row["utilization"])
    connections = sorted(it.connection_means.to_rows(), key=lambda row: -row["mean_goodput_pps"])
    seeds = "" if it.seeds == 1 else f", means over {it.seeds} seeds"
    parts = [
        f"<p><b>{it.time_s:g} s of simulated time{seeds}</b></p>",
        _some(links, ["link", "utilization", "mean_queue_pkts", "max_queue_pkts", "loss_probability"], "links"),
        _some(connections, ["connection", "mean_goodput_pps", "loss_probability", "mean_rtt_s", "mean_delay_s"], "connections"),
    ]
    if it.warnings:
        parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in it.warnings) + "</ul>")
    return "".join(parts)


def failures(it: Failures) -> str:
    """Returns the worst failures and the number of cases without a steady state."""
    cases = it.cases.to_rows()
    parts = [
        f"<p><b>{len(cases)} of {it.possible_cases} cases at {it.at_s:g} s</b>; ",
        f"{it.goodput_bps / 1e6:.4g} Mbit/s of goodput without failures</p>",
    ]
    if it.down_already:
        parts.append(f"<p>already down: {escape(', '.join(it.down_already))}</p>")
    if it.cases_not_at_rest:
        parts.append(f"<p>{it.cases_not_at_rest} cases have no steady state and no results</p>")
    columns = ["failure", "max_load", "max_load_link", "max_loss", "lost_goodput", "unroutable_connections", "worst_affected"]
    parts.append(_some(cases, columns, "cases"))
    return "".join(parts)


def _some(rows: list[dict[str, object]], columns: list[str], noun: str) -> str:
    known = [name for name in columns if not rows or name in rows[0]]
    more = f"<p>… and {len(rows) - SHOWN} more {noun}</p>" if len(rows) > SHOWN else ""
    return _rows(rows[:SHOWN], known) + more
