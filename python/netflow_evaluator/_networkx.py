"""Networks from NetworkX."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._native import Scenario, import_topology
from ._numbers import plain

if TYPE_CHECKING:
    import networkx

# Types of node and edge attributes that are kept.
_SIMPLE = (str, int, float, bool)


def from_networkx(
    graph: networkx.Graph[Any],
    *,
    demands: Mapping[tuple[Any, Any], float | str] | None = None,
    bandwidth: float | str | None = None,
    delay: float | str | None = None,
    buffer: str | None = None,
    detour: float | None = None,
) -> Scenario:
    """Converts a graph whose edges have a `bandwidth` (or `capacity`) and a `delay` to a scenario.

    Attributes are texts with a unit, or numbers: delays in ms, bandwidths in bit/s if one of them is above 1e6, otherwise
    in Mbit/s. Missing attributes are taken from `bandwidth` (bit/s) and `delay` (seconds), or from the coordinates of the
    nodes (`lat` and `lon`). `demands` maps pairs of nodes to bit/s, or to texts such as `"2 Mbit/s"`. Each assumption is
    reported as a warning.
    """
    ids = {node: str(node) for node in graph.nodes}
    if len(set(ids.values())) < len(ids):
        raise ValueError("two nodes of the graph have the same name after conversion to text")
    document = {
        "directed": graph.is_directed(),
        "multigraph": graph.is_multigraph(),
        "graph": {},
        "nodes": [
            {**_simple(data, f"node {node!r}"), "id": ids[node]} for node, data in graph.nodes(data=True)
        ],
        "edges": [
            {**_simple(data, f"edge ({a!r}, {b!r})"), "source": ids[a], "target": ids[b]}
            for a, b, data in graph.edges(data=True)
        ],
    }
    scenario, assumptions, names = import_topology(
        ["graph.json"],
        text=json.dumps(document),
        format="node-link",
        bandwidth=bandwidth,
        delay=delay,
        buffer=buffer,
        detour=detour,
    )
    if demands is not None:
        # Nodes are named by their labels, if any.
        scenario, assumptions = _with_demands(scenario, assumptions, dict(zip(graph.nodes, names)), demands)
    for assumption in assumptions:
        warnings.warn(f"assumed: {assumption}", stacklevel=2)
    return scenario


def _simple(data: Mapping[str, Any], whose: str) -> dict[str, Any]:
    known = {key: plain(value) for key, value in data.items()}
    for key, value in known.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"`{key}` of {whose} is {value}: it must be finite; leave it out if it is unknown")
    return {key: value for key, value in known.items() if isinstance(value, _SIMPLE)}


def _with_demands(
    scenario: Scenario,
    assumptions: list[str],
    names: Mapping[Any, str],
    demands: Mapping[tuple[Any, Any], float | str],
) -> tuple[Scenario, list[str]]:
    from ._builder import Builder

    builder = Builder()
    for (a, b), rate in demands.items():
        for node in (a, b):
            if node not in names:
                raise ValueError(f"demand of {node!r}: it is not a node of the graph")
        text = rate if isinstance(rate, str) else f"{float(rate)!r} bit/s"
        builder.demand(names[a], names[b], rate=text)
    # Removes the example connection and its comments, and a list of assumptions that becomes empty.
    kept = scenario.text.split("\n[[connection]]")[0].split("\n# The file has no traffic")[0]
    lines = [line for line in kept.splitlines() if not line.startswith("# - the file has no traffic")]
    kept = "\n".join(lines).replace("#\n# Assumptions, also at each link below:\n\n", "\n") + "\n"
    assumptions = [text for text in assumptions if not text.startswith("the file has no traffic")]
    return Scenario.from_toml(f"{kept}\n{builder.text}", name="graph.toml"), assumptions
