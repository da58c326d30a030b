"""What the package does to the process that it is in."""

import gc
import subprocess
import sys
from pathlib import Path

import netflow_evaluator as nf
import pytest
from conftest import TRIANGLE

HEAVY = ["numpy", "pandas", "polars", "pyarrow", "matplotlib", "networkx", "dask", "distributed"]


def test_importing_it_imports_nothing_heavy():
    code = f"import sys, netflow_evaluator; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")
def test_hundreds_of_runs_leave_no_memory_behind():
    def once():
        scenario = nf.Scenario.from_toml(TRIANGLE, set={"simulation.duration": "2 s"})
        scenario.run().links.to_rows()
        simulation = scenario.simulation(model="packet", routes={"ac": [["A", "B", "C"]]})
        simulation.advance(1)
        simulation.set_route("ac", ["A", "B", "C"])
        copy = simulation.copy()
        copy.advance(1)
        with pytest.raises(ValueError):
            copy.set_rate("ac", -1)

    def grown_by(runs):
        before = resident_bytes()
        for _ in range(runs):
            once()
        gc.collect()
        return resident_bytes() - before

    # Allocators keep what the first take, and give back what they like: what is left behind is left by every hundred.
    grown_by(100)
    grown = min(grown_by(100) for _ in range(4))
    assert grown < 100 * 4096, f"{grown / 100:.0f} B a run"
