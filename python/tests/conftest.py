"""What tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"

BOTTLENECK = """
simulation = { duration = "10 s" }
link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
connection = [{ from = "A", to = "B", name = "c", source = { profile = "ns-reno" } }]
"""

# Two ways from A to C, with traffic that has a rate of its own.
TRIANGLE = """
simulation = { duration = "20 s" }
link = [
  { from = "A", to = "B", bandwidth = "4 Mbit/s", delay = "5 ms", buffer = "50 pkt" },
  { from = "B", to = "C", bandwidth = "4 Mbit/s", delay = "5 ms", buffer = "50 pkt" },
  { from = "A", to = "C", bandwidth = "2 Mbit/s", delay = "5 ms", buffer = "50 pkt" },
]
connection = [
  { from = "A", to = "C", name = "ac", source = { poisson = "1 Mbit/s" } },
  { from = "A", to = "B", name = "ab", source = { poisson = "1 Mbit/s" } },
]
"""


@pytest.fixture
def bottleneck():
    import netflow_evaluator as nf

    return nf.Scenario.from_toml(BOTTLENECK)


@pytest.fixture
def triangle():
    import netflow_evaluator as nf

    return nf.Scenario.from_toml(TRIANGLE)
