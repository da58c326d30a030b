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

# What is told of nodes and edges, if it is simple.
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
    """A scenario of a graph whose edges have a `bandwidth` (or `capacity`) and a `delay`.

    These are texts with a unit, or numbers, which are read as those of files: delays in ms, and bandwidths in bit/s if one
    of them is above 1e6, else in Mbit/s. What edges do not say is taken from `bandwidth` (bit/s) and `delay` (seconds), or
    from the places of their ends (`lat` and `lon`). `demands` are bit/s, or texts such as `"2 Mbit/s"`, by pairs of nodes.
    What was assumed is told by a warning.
    """
    ids = {node: str(node) for node in graph.nodes}
    if len(set(ids.values())) < len(ids):
        raise ValueError("two nodes of the graph have the same name as a text")
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
        # Nodes are called by their labels, where they have some.
        scenario, assumptions = _with_demands(scenario, assumptions, dict(zip(graph.nodes, names)), demands)
    for assumption in assumptions:
        warnings.warn(f"assumed: {assumption}", stacklevel=2)
    return scenario


def _simple(data: Mapping[str, Any], whose: str) -> dict[str, Any]:
    known = {key: plain(value) for key, value in data.items()}
    for key, value in known.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"`{key}` of {whose} is {value}: it must be finite, or not be there where it is not known")
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
                raise ValueError(f"a demand is of {node!r}, which is no node of the graph")
        text = rate if isinstance(rate, str) else f"{float(rate)!r} bit/s"
        builder.demand(names[a], names[b], rate=text)
    # The connection that stands there as an example goes.
    kept = scenario.text.split("\n[[connection]]")[0]
    assumptions = [text for text in assumptions if not text.startswith("no traffic is known")]
    return Scenario.from_toml(f"{kept}\n{builder.text}", name="graph.toml"), assumptions
