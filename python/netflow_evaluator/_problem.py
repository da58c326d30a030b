"""Errors and warnings about an input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Problem:
    """An error or a warning, with its location and a suggestion."""

    severity: Literal["error", "warning"]
    message: str
    file: str | None
    line: int | None
    """From 1."""
    column: int | None
    """In characters, from 1."""
    help: str | None

    def __str__(self) -> str:
        parts = [part for part in (self.file, self.line, self.column) if part is not None]
        place = ":".join(str(part) for part in parts)
        text = f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"
        return f"{text}\n  help: {self.help}" if self.help else text
