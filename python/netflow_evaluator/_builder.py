"""Scenarios created in code, with the tables and keys of scenario files (`max_window` for `max-window`)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._native import Scenario, ScenarioError, unit
from ._numbers import plain
from ._problem import Problem

Value = Union[str, int, float, bool, "Sequence[Value]", "Mapping[str, Value]"]

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class Builder:
    """Collects the tables of a scenario.

    Every method takes the keys of the table of the same name (docs/reference/scenario-file.md), with `_` for `-`. A key that is a
    Python keyword has a `_` at the end: `from_`. Numbers of times, rates and sizes are seconds, bit/s and bytes. If a key
    accepts several units (a buffer, the rate of a source), write a text with a unit. `scenario()` reports errors with
    their line in `text`.
    """

    def __init__(self, **simulation: Value) -> None:
        self._tables: list[tuple[str, bool, dict[str, Any]]] = []
        if simulation:
            self._tables.append(("simulation", False, _keys(simulation)))

    def node(self, name: str, **keys: Value) -> Builder:
        """Adds a node with attributes. Nodes without attributes exist by being an end of a link."""
        return self.table("node", name=name, **keys)

    def link(self, from_: str, to: str, **keys: Value) -> Builder:
        """Adds a link in both directions, unless `duplex=False`."""
        return self.table("link", from_=from_, to=to, **keys)

    def connection(self, from_: str, to: str, **keys: Value) -> Builder:
        """Adds a connection, or `count` equal connections."""
        return self.table("connection", from_=from_, to=to, **keys)

    def demand(self, from_: str, to: str, rate: Value, **keys: Value) -> Builder:
        """Adds a traffic demand between two nodes."""
        return self.table("demand", from_=from_, to=to, rate=rate, **keys)

    def workload(self, **keys: Value) -> Builder:
        """Adds a workload: users with sessions of limited duration."""
        return self.table("workload", **keys)

    def event(self, **keys: Value) -> Builder:
        """Adds an event during the run."""
        return self.table("event", **keys)

    def aggregate(self, **keys: Value) -> Builder:
        """Adds an aggregate: connections with a common DiffServ conditioner."""
        return self.table("aggregate", **keys)

    def day(self, name: str, factors: Value) -> Builder:
        """Adds a daily pattern of demands: 24 hourly factors."""
        return self.table("day", name=name, factors=factors)

    def srlg(self, name: str, **keys: Value) -> Builder:
        """Adds the unavailability of a shared-risk link group, whose links name it in `srlg`."""
        return self.table("srlg", name=name, **keys)

    def include(self, **keys: Value) -> Builder:
        """Includes CSV tables with links, connections or demands."""
        self._tables.append(("include", False, _keys(keys)))
        return self

    def table(self, _name: str, /, **keys: Value) -> Builder:
        """Adds a table `[[name]]` with these keys."""
        self._tables.append((_name, True, _keys(keys)))
        return self

    @property
    def text(self) -> str:
        """Text of the scenario file."""
        lines: list[str] = []
        counts: Counter[str] = Counter()
        for name, is_array, keys in self._tables:
            lines.append(f"[[{name}]]" if is_array else f"[{name}]")
            place = f"{name}.{counts[name]}" if is_array else name
            counts[name] += 1
            lines.extend(f"{_key(key)} = {_value(value, f'{place}.{key}')}" for key, value in keys.items())
            lines.append("")
        return "\n".join(lines)

    def scenario(self, *, name: str = "scenario.toml", directory: str = ".") -> Scenario:
        """Reads and checks the scenario. Raises ScenarioError."""
        return Scenario.from_toml(self.text, name=name, directory=directory)


def _keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in keys.items())
    return {key: value for key, value in named if value is not None}


def _key(key: str) -> str:
    return key if _BARE.match(key) else _text(key)


def _value(value: object, place: str) -> str:
    """Formats a value at a key, such as `link.0.delay`."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            message, help = f"`{place}`: {value} is not a valid value of a setting", "write a finite number"
            error = ScenarioError(f"{message}: {help}")
            error.problems = [Problem("error", message, None, None, None, help)]
            raise error
        of = unit(place)
        return f'"{value!r} {of}"' if of else repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(it, f'{place}.{key}')}" for key, it in _keys(value).items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(it, f"{place}.{i}") for i, it in enumerate(value)) + "]"
    raise TypeError(f"`{place}`: a setting must be a text, a number, a list or a dict, not {type(value).__name__}")


def _text(text: str) -> str:
    shown = "".join(_character(character) for character in text)
    return f'"{shown}"'


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if ord(character) < 32 or ord(character) == 127:
        return f"\\u{ord(character):04X}"
    return character
